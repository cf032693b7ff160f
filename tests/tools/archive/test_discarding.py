"""Archives that were opened for writing by what then failed."""

import contextlib
from pathlib import Path

import pytest
from tests.tools.archive.samples import at, contents, filled, key

from toolablate.tools.archive import open_archive, unmade_if_unused


def spoil(path: Path, *kinds: str) -> None:
    """Opens it, keeps one entry of each kind, and fails."""
    with contextlib.suppress(ZeroDivisionError), unmade_if_unused(path), open_archive(path, write=True) as archive:
        for kind in kinds:
            archive.keep(kind, key(1), "asked", b"content" * 50, at(0))  # type: ignore[arg-type]
        raise ZeroDivisionError


@pytest.mark.parametrize("kinds", [(), ("mcp_tools",)])
def test_one_that_was_made_for_nothing_is_gone(tmp_path: Path, kinds: tuple[str, ...]) -> None:
    spoil(tmp_path / "web", *kinds)
    assert not list(tmp_path.iterdir())
    (tmp_path / "web").mkdir()
    spoil(tmp_path / "web", *kinds)
    assert [path.name for path in tmp_path.rglob("*")] == ["web"]


def test_what_was_kept_stays(tmp_path: Path) -> None:
    spoil(tmp_path / "web", "search")
    with open_archive(tmp_path / "web") as archive:
        assert archive.find("search", key(1), "asked").kind == "search"


def test_one_that_was_there_before_stays(tmp_path: Path) -> None:
    open_archive(tmp_path / "empty", write=True).close()
    for path in tmp_path / "empty", filled(tmp_path / "web", 1):
        before = contents(path)
        spoil(path)
        assert contents(path) == before


def test_one_that_another_uses_stays(tmp_path: Path) -> None:
    other = []
    with contextlib.suppress(ZeroDivisionError), unmade_if_unused(tmp_path / "web"):
        open_archive(tmp_path / "web", write=True).close()
        other.append(open_archive(tmp_path / "web", write=True))
        raise ZeroDivisionError
    with other[0] as archive:
        archive.keep("search", key(1), "asked", b"content", at(0))


def test_nothing_is_unmade_where_nothing_failed(tmp_path: Path) -> None:
    with unmade_if_unused(tmp_path / "web"):
        open_archive(tmp_path / "web", write=True).close()
    open_archive(tmp_path / "web").close()


def test_the_error_that_ended_it_is_told(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), unmade_if_unused(tmp_path / "web"):
        raise ZeroDivisionError
