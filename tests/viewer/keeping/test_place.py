"""Where indexes are kept, and whether a store has changed."""

import os
import time
from pathlib import Path

import pytest
from tests.traces.samples import plan

from toolablate.traces.kept import stamp_of
from toolablate.traces.store import Recorder
from toolablate.viewer.keeping.shown_trials import ViewScope, index_place
from toolablate.viewer.saved_views import SavedViews


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache/toolablate/view"


def _place(scope: ViewScope) -> Path:
    with index_place(scope) as place:
        return place


def test_each_view_of_a_store_has_its_own_file_that_nobody_else_reads(cache: Path, tmp_path: Path) -> None:
    scope = ViewScope(tmp_path / "s.sqlite")
    place = _place(scope)
    assert place.parent == cache
    assert (cache.stat().st_mode & 0o777, place.stat().st_mode & 0o777) == (0o700, 0o600)
    (tmp_path / "link.sqlite").symlink_to(tmp_path / "s.sqlite")
    assert _place(ViewScope(tmp_path / "link.sqlite")) == place
    others = [
        ViewScope(tmp_path / "other.sqlite"),
        ViewScope(scope.store, run="all"),
        ViewScope(scope.store, scorer="judge"),
        ViewScope(scope.store, baseline="python"),
    ]
    assert len({place, *map(_place, others)}) == 5


def test_a_home_that_cannot_be_written_is_done_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with index_place(ViewScope(tmp_path / "s.sqlite")) as place:
        assert place.exists()
        assert place.parent.stat().st_mode & 0o077 == 0
    assert not place.parent.exists()


def test_what_was_not_viewed_for_long_goes(cache: Path, tmp_path: Path) -> None:
    old, new = _place(ViewScope(tmp_path / "old.sqlite")), _place(ViewScope(tmp_path / "new.sqlite"))
    locks, views = [each.with_name(f"{each.name}-keeper") for each in (old, new)], SavedViews.beside(old).path
    for each in (old, *locks, views):
        each.touch()
        os.utime(each, (time.time() - 40 * 86_400,) * 2)
    _place(ViewScope(tmp_path / "s.sqlite"))
    # Views are people's work.
    assert [each.exists() for each in (old, new, *locks, views)] == [False, True, False, True, True]


def test_a_scope_goes_through_json(tmp_path: Path) -> None:
    scope = ViewScope(tmp_path / "ü.sqlite", "all", "judge", "none")
    assert ViewScope.from_json(scope.to_json()) == scope


def test_a_store_that_is_written_has_another_stamp(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    nothing = stamp_of(path)
    assert not nothing.changed_since(nothing)
    with Recorder(path) as recorder:
        before = stamp_of(path)
        assert before.changed_since(nothing)
        plan(recorder)
        assert stamp_of(path).changed_since(before)


def test_what_was_written_just_now_may_be_written_again_at_the_same_time(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    with Recorder(path):
        pass
    os.utime(path)
    fresh = stamp_of(path)
    assert stamp_of(path).changed_since(fresh)
    os.utime(path, (time.time() - 10,) * 2)
    settled = stamp_of(path)
    assert not stamp_of(path).changed_since(settled)
