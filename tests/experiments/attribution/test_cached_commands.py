"""Commands take what was read of traces from where it is kept: they say what they would say if they read all again."""

import asyncio
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.experiments.attribution.test_readings_cache import PLANNED, changed
from tests.traces.samples import filled

from toolablate.cli import group
from toolablate.experiments.attribution.readings_cache import readings_of
from toolablate.traces.records import Trace
from toolablate.traces.store import Store

COMMANDS = {
    "attribute": ("attribute", "s.sqlite", "--json", "--run", "all"),
    "report": ("report", "s.sqlite", "-o", "r.html", "--run", "all"),
    "jsonl": ("export", "jsonl", "s.sqlite", "-o", "r.jsonl"),
}
WRITTEN = {"report": "r.html", "jsonl": "r.jsonl"}


@pytest.fixture(autouse=True)
def _at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The trials whose signals are read, as they are."""
    of_trials: list[str] = []
    original = Store.trace

    def trace(self: Store, trial: str, *, attempt: int | None = None) -> Trace:
        if attempt is not None:
            of_trials.append(trial)
        return original(self, trial, attempt=attempt)

    monkeypatch.setattr(Store, "trace", trace)
    return of_trials


def said(name: str) -> str:
    result = CliRunner().invoke(group, [*COMMANDS[name]], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return Path(WRITTEN[name]).read_text(encoding="utf-8") if name in WRITTEN else result.stdout


def said_anew(name: str) -> str:
    """As by one whose caches are empty."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(Path(f"empty-{name}")))
        found = said(name)
    kept = list(Path(f"empty-{name}").rglob("*.sqlite"))
    for path in kept:
        path.unlink()
    return found


@pytest.mark.deep
def test_a_store_that_grows_is_told_as_if_all_were_read_again(read: list[str]) -> None:
    asyncio.run(filled(Path("s.sqlite"), 7))
    for more in (
        [],
        [("answered", PLANNED[-1], False)],
        [("diagnosed", PLANNED[0], True), ("scored", PLANNED[1], True)],
    ):
        if more:
            asyncio.run(changed(Path("s.sqlite"), more))
        for name in COMMANDS:
            whole = said_anew(name)
            assert said(name) == whole
            read.clear()
            assert said(name) == whole
            # A report reads what it shows.
            assert name == "report" or read == []


def test_what_one_command_has_read_another_need_not(read: list[str]) -> None:
    asyncio.run(filled(Path("s.sqlite"), 7))
    # Of right trials nothing has to be read.
    asyncio.run(changed(Path("s.sqlite"), [("answered", PLANNED[-1], False)]))
    said("attribute")
    assert len(read) == len(set(read)) > 0
    read.clear()
    said("jsonl")
    assert read == []
    place = readings_of(Path("s.sqlite"))
    assert place is not None
    assert (place.parent.stat().st_mode & 0o777, place.stat().st_mode & 0o777) == (0o700, 0o600)


@pytest.mark.parametrize("name", COMMANDS)
def test_where_nothing_can_be_kept_all_is_read(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asyncio.run(filled(Path("s.sqlite"), 7))
    whole = said(name)
    Path("file").write_text("no folder", encoding="utf-8")
    monkeypatch.setenv("XDG_CACHE_HOME", "file")
    assert said(name) == whole
