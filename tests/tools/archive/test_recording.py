"""Many record at once, some are killed, and a disk runs full."""

import json
import random
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest
from tests.tools.archive.samples import at, exchange, key, warc_files

from toolablate.tools.archive import Archive, Missing, StoredExchange, info, open_archive, seal, verify
from toolablate.traces.database import connect
from toolablate.traces.errors import ToolError

PROJECT = Path(__file__).parents[3]

RACE = """
import json, random, sys
from tests.tools.archive.samples import at, exchange, key
from toolablate.tools.archive import open_archive

path, name = sys.argv[1:]
order = list(range(60))
random.Random(name).shuffle(order)
seen = {}
with open_archive(path, write=True) as archive:
    for step, number in enumerate(order):
        if step < 2:
            # Whatever else the machine does, nobody is through before all have begun.
            print("ready", flush=True)
            sys.stdin.readline()
        mine = f"{name} {number}".encode() * 20
        entry = archive.keep("search", key(number), "q", mine, at(0), failed=random.random() < 0.2)
        stored = archive.keep_exchange(key(number), exchange(body=mine))
        seen[number] = [entry.failed, entry.content.decode(), stored.payload_digest, stored.read().body.decode()]
print(json.dumps(seen))
"""


def python(code: str, *arguments: object) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=PROJECT)


def test_of_many_processes_one_wins_each_key_and_all_see_it(tmp_path: Path) -> None:
    path = tmp_path / "web"
    racers = [python(RACE, path, name) for name in "abcd"]
    for _ in range(2):
        for racer in racers:
            assert racer.stdout is not None
            racer.stdout.readline()
        for racer in racers:
            assert racer.stdin is not None
            racer.stdin.write("go\n")
            racer.stdin.flush()
    seen = [json.loads(racer.communicate(timeout=60)[0]) for racer in racers]
    with open_archive(path) as archive:
        for number in range(60):
            entry, stored = archive.find("search", key(number), ""), archive.find_exchange(key(number), "")
            assert not isinstance(entry, Missing)
            assert isinstance(stored, StoredExchange)
            now = [entry.content.decode(), stored.payload_digest, stored.read().body.decode()]
            told = [one[str(number)] for one in seen]
            assert all(one[2:] == now[1:] for one in told)
            assert all(failed or content == now[0] for failed, content, *_ in told)
    assert len({one[str(number)][3][0] for one in seen for number in range(60)}) > 1, "one process was first everywhere"
    assert len(warc_files(path)) > 1
    assert info(path).counts["exchange"] == 60
    report = verify(path)
    assert (report.problems, report.notes) == ((), ())
    seal(path)
    assert verify(path).problems == ()


def test_of_many_threads_one_wins_each_key(tmp_path: Path) -> None:
    with open_archive(tmp_path / "web", write=True) as archive:

        def race(name: int) -> list[bytes]:
            order = list(range(40))
            random.Random(name).shuffle(order)
            found = {}
            for number in order:
                stored = archive.keep_exchange(key(number), exchange(body=b"%d" % name))
                entry = archive.keep("search", key(number), "q", stored.read().body, at(0))
                found[number] = entry.content
                assert archive.find("search", key(number), "") == entry
            return [found[number] for number in range(40)]

        with ThreadPoolExecutor(8) as pool:
            results = list(pool.map(race, range(8)))
    assert all(result == results[0] for result in results)
    assert len(warc_files(tmp_path / "web")) == 1
    assert verify(tmp_path / "web").problems == ()


@pytest.mark.deep
def test_killed_again_and_again_it_goes_on_and_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "web"
    command = [sys.executable, "-m", "tests.tools.archive.killing", str(path)]
    told = json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, cwd=PROJECT).stdout)
    assert (told["problems"], told["kills"]) == ([], 24)
    kept = told["kept"]
    assert len(kept) > 20
    with open_archive(path, write=True) as archive:
        check_all(archive, kept)
        archive.keep("search", "last", "q", b"goes on", at(0))
    # A tail as a kill in the middle of a write leaves it, since whether one of the kills hit there is left to chance.
    with warc_files(path)[0].open("ab") as file:
        file.write(warc_files(path)[0].read_bytes()[:700])
    assert verify(path).notes
    seal(path)
    report = verify(path)
    assert (report.problems, report.notes) == ((), ())
    with open_archive(path) as archive:
        check_all(archive, kept)
    command = [sys.executable, "-c", "from warcio.cli import main; main()", "check", *map(str, warc_files(path))]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stdout) == (0, "")


def check_all(archive: Archive, kept: list[int]) -> None:
    for number in kept:
        stored, entry = archive.find_exchange(key(number), ""), archive.find("search", key(number), "")
        assert isinstance(stored, StoredExchange)
        assert not isinstance(entry, Missing)
        assert stored.read().body == b"%d" % number * 2_000
        assert entry.content == b"%d" % number * 500


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A real file system of 600 kB; only root may mount one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if shutil.which("mount") is None:
        pytest.skip("there is no mount command")
    mount = ["mount", "-t", "tmpfs", "-o", "size=600k", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("mounting needs root")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_is_told_and_what_was_kept_is_kept(small_disk: Path) -> None:
    path, kept, generator = small_disk / "web", 0, random.Random(1)
    with open_archive(path, write=True) as archive:
        while shutil.disk_usage(small_disk).free > 60_000:
            archive.keep_exchange(key(kept), exchange(body=generator.randbytes(10_000)))
            kept += 1
        assert kept > 5
        with pytest.raises(ToolError, match=r"cannot be written: (the disk is full|No space left on device)"):
            archive.keep_exchange(key(kept), exchange(body=generator.randbytes(100_000)))
        with pytest.raises(ToolError, match="cannot be written"):
            archive.keep("search", key(1), "q", generator.randbytes(600_000), at(0))
        assert isinstance(archive.find_exchange(key(kept), ""), Missing)
        subprocess.run(["mount", "-o", "remount,size=5m", str(small_disk)], check=True)
        archive.keep_exchange(key(kept), exchange(body=b"there is room again"))
    assert verify(path).problems == ()
    assert len(warc_files(path)) == 2
    assert seal(path).counts == {"exchange": kept + 1}
    assert verify(path).problems == ()


def test_what_is_locked_for_too_long_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolablate.tools.archive.index.connect", partial(connect, busy_seconds=0.1))
    with open_archive(tmp_path / "web", write=True) as archive:
        other = sqlite3.connect(tmp_path / "web" / "index.sqlite", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(ToolError, match="cannot be written: another program holds it"):
            archive.keep("search", key(1), "q", b"", at(0))
        other.execute("ROLLBACK")
        other.close()
        assert archive.keep("search", key(1), "q", b"", at(0)).content == b""


FORK = """
import os, sys
from tests.tools.archive.samples import at, key
from toolablate.tools.archive import open_archive
from toolablate.traces.errors import InternalError

archive = open_archive(sys.argv[1], write=True)
child = os.fork()
if child == 0:
    try:
        archive.keep("search", key(1), "q", b"", at(0))
    except InternalError as error:
        os._exit(7)
    os._exit(1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
archive.keep("search", key(1), "q", b"", at(0))
archive.close()
"""


def test_a_forked_process_may_not_write_with_its_parents_hands(tmp_path: Path) -> None:
    with python(FORK, tmp_path / "web") as process:
        assert process.communicate(timeout=60)[0] == "7\n"
    assert process.returncode == 0
    assert verify(tmp_path / "web").problems == ()
