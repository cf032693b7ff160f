"""The index's file is a cache: whatever is found in its place, pages answer and a refresh fills it."""

import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from tests.viewer.index.stores import Made, make, refreshed

from toolablate.analysis.effect import Accuracy
from toolablate.analysis.findings import ArmScore, Findings
from toolablate.analysis.selection import Selection
from toolablate.traces.errors import StoreError
from toolablate.viewer.index import ViewerIndex

_DIES = """
import os, sys
from pathlib import Path
from toolablate.viewer.index.file import writer
with writer(Path(sys.argv[1])) as connection:
    connection.execute("DELETE FROM trials")
    connection.execute("UPDATE questions SET name = printf('%.*c', 20000, 'x')")
    connection.execute("PRAGMA cache_spill = 1")
    os.kill(os.getpid(), 9)
"""
_FINDINGS = Findings(
    baseline="none",
    models=("m",),
    conditions=("none",),
    simulated=frozenset({"m"}),
    arms=(),
    comparisons=(),
    floors=(),
    flips=(),
    by_domain=(),
    waterfalls=(),
    notes=("one",),
)


@pytest.fixture
async def made(tmp_path: Path) -> Made:
    return await make(tmp_path / "s.db", count=4)


def _pages(index: ViewerIndex) -> tuple[object, ...]:
    return index.questions(Selection(), size=1000), index.arms(), index.facets(), index.findings()


def _spoil_header(path: Path) -> None:
    path.write_bytes(b"no database" * 1000)


def _spoil_middle(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(os.urandom(path.stat().st_size - 8192))


def _cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _other_version(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 99")
        connection.execute("DROP TABLE arms")


def _another_database(path: Path) -> None:
    path.unlink()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE trials (key)")


@pytest.mark.parametrize(
    "spoil", [Path.unlink, _empty, _spoil_header, _spoil_middle, _cut, _other_version, _another_database]
)
def test_what_cannot_be_used_is_made_anew(tmp_path: Path, made: Made, spoil: Callable[[Path], object]) -> None:
    index = refreshed(ViewerIndex.open(tmp_path / "i.db"), made.path)
    whole, version = _pages(index), index.version()
    spoil(index.path)
    assert index.questions(Selection()).total == 0
    assert not index.filled()
    assert index.version() > version
    assert _pages(refreshed(index, made.path)) == whole
    assert index.filled()


def test_opening_makes_anew_what_cannot_be_used(tmp_path: Path, made: Made) -> None:
    path = tmp_path / "i.db"
    refreshed(ViewerIndex.open(path), made.path)
    _spoil_middle(path)
    assert not ViewerIndex.open(path).filled()


async def test_another_store_takes_nothing_over(tmp_path: Path, made: Made) -> None:
    index = refreshed(ViewerIndex.open(tmp_path / "i.db"), made.path)
    index.put_attributions(made.attributions)
    index.put_findings(_FINDINGS)
    assert index.facets().mechanisms
    other = await make(tmp_path / "other.db", count=4, identity="run-2")
    refreshed(index, other.path)
    assert index.questions(Selection()).total == 4
    assert (index.findings(), dict(index.facets().mechanisms)) == (None, {})


@pytest.mark.deep
def test_a_writer_that_is_killed_leaves_what_was_there(tmp_path: Path, made: Made) -> None:
    index = refreshed(ViewerIndex.open(tmp_path / "i.db"), made.path)
    whole = _pages(index)
    done = subprocess.run([sys.executable, "-c", _DIES, str(index.path)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert _pages(index) == whole
    assert _pages(ViewerIndex.open(index.path)) == whole


def test_findings_come_back_as_they_were(tmp_path: Path) -> None:
    index = ViewerIndex.open(tmp_path / "i.db")
    assert index.findings() is None
    arm = ArmScore("m", "none", Accuracy(3, 2, float("nan"), (float("-inf"), float("inf")), small=True))
    for given in (_FINDINGS, replace(_FINDINGS, arms=(arm,))):
        index.put_findings(given)
        version = index.version()
        assert repr(index.findings()) == repr(given)
        index.put_findings(given)
        assert index.version() == version


def test_where_it_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="viewer's index"):
        ViewerIndex.open(tmp_path / "file" / "i.db")


def test_its_folder_may_be_deleted_while_it_is_used(tmp_path: Path, made: Made) -> None:
    index = refreshed(ViewerIndex.open(tmp_path / "cache" / "view" / "i.db"), made.path)
    shutil.rmtree(tmp_path / "cache")
    assert not index.filled()
    assert index.path.parent.stat().st_mode & 0o777 == 0o700
    assert refreshed(index, made.path).filled()


def test_what_ends_on_a_full_disk_is_told_all_the_same(tmp_path: Path) -> None:
    index = ViewerIndex.open(tmp_path / "i.db")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        with pytest.raises(StoreError, match="space left"):
            index.put_trouble("first")
        index.put_last_trouble("second")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert index.trouble() == "second"


def test_a_place_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    index = ViewerIndex.open(tmp_path / "i.db")
    index.path.unlink()
    index.path.mkdir()
    for use in (index.version, lambda: index.put_findings(_FINDINGS)):
        with pytest.raises(StoreError, match="viewer's index"):
            use()
