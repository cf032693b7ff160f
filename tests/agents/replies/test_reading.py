"""Reading leaves the file and its folder as they were, on a read-only disk too."""

import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.agents.replies.samples import kept, question

from toolablate.agents.replies import ResponseCache, info, read_root, verify
from toolablate.traces.errors import InputError


@pytest.fixture
async def path(tmp_path: Path) -> Path:
    file = tmp_path / "own" / "replies.sqlite"
    async with ResponseCache(file, write=True) as cache:
        await cache.keep(question(1), kept("one"))
    return file


@pytest.fixture
def disk(path: Path) -> Iterator[Path]:
    """The folder of the cache, to be made read-only with `_freeze`; only root may."""
    done = subprocess.run(["mount", "--bind", path.parent, path.parent], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"nothing can be mounted here: {done.stderr.strip()}")
    try:
        yield path.parent
    finally:
        subprocess.run(["umount", path.parent], check=True)


def _freeze(disk: Path) -> None:
    subprocess.run(["mount", "-o", "remount,bind,ro", disk], check=True)


@pytest.mark.parametrize("read", [read_root, info, verify])
def test_looking_leaves_nothing_beside_the_file(path: Path, read: Callable[[Path], object]) -> None:
    before = path.read_bytes()
    read(path)
    assert [file.name for file in path.parent.iterdir()] == [path.name]
    assert path.read_bytes() == before


async def test_replays_leave_nothing_beside_the_file(path: Path) -> None:
    async with ResponseCache(path) as first, ResponseCache(path) as second:
        assert first.get(question(1)) == second.get(question(1)) == kept("one")
    assert [file.name for file in path.parent.iterdir()] == [path.name]


async def test_one_who_leaves_takes_nothing_from_those_who_stay(path: Path) -> None:
    async with ResponseCache(path, write=True) as recording:
        async with ResponseCache(path) as reading:
            async with ResponseCache(path):
                pass
            await recording.keep(question(2), kept("two"))
            assert reading.get(question(2)) is None
        verify(path)
        await recording.keep(question(3), kept("three"))
    assert [file.name for file in path.parent.iterdir()] == [path.name]
    assert verify(path).replies == 3


async def test_what_a_killed_recorder_left_is_read_and_left(path: Path, tmp_path: Path) -> None:
    async with ResponseCache(path, write=True) as recording:
        await recording.keep(question(2), kept("two"))
        shutil.copytree(path.parent, tmp_path / "killed")
    (tmp_path / "killed" / "replies.sqlite-shm").unlink()
    copy = tmp_path / "killed" / "replies.sqlite"
    before = copy.read_bytes()
    async with ResponseCache(copy) as reading:
        assert reading.get(question(2)) == kept("two")
    assert copy.read_bytes() == before
    assert copy.with_name("replies.sqlite-wal").stat().st_size


async def test_a_read_only_disk_is_read_beside_an_empty_file_of_what_was_to_be_written(path: Path, disk: Path) -> None:
    path.with_name("replies.sqlite-wal").touch()
    _freeze(disk)
    async with ResponseCache(path) as reading:
        assert reading.get(question(1)) == kept("one")
    assert verify(path).problems == ()


async def test_what_was_not_closed_on_a_read_only_disk_is_told_with_what_to_copy(
    path: Path, disk: Path, tmp_path: Path
) -> None:
    async with ResponseCache(path, write=True) as recording:
        await recording.keep(question(2), kept("two"))
        shutil.copy(path.with_name("replies.sqlite-wal"), tmp_path / "wal")
    shutil.copy(tmp_path / "wal", path.with_name("replies.sqlite-wal"))
    _freeze(disk)
    with pytest.raises(InputError, match="the last recording did not close them") as caught:
        ResponseCache(path)
    assert "replies.sqlite-wal" in caught.value.hint
