"""A store that cannot be opened, read or written says so once, and nothing is lost, left behind or changed."""

import asyncio
import itertools
import os
import shutil
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.traces.samples import as_rows, attempt, begun, filled, plan, score, trials

from toolablate.traces.database import UNRELEASED_ID, network_file_system
from toolablate.traces.errors import StoreError
from toolablate.traces.records import Answer
from toolablate.traces.store import SCHEMA_VERSION, Recorder, Store, verify


def _text(path: Path) -> None:
    path.write_text("model,score\nx,1\n" * 500)


def _empty(path: Path) -> None:
    path.touch()


def _folder(path: Path) -> None:
    path.mkdir()


def _other_database(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.executescript("CREATE TABLE cookies (name TEXT); PRAGMA user_version = 1;")
    connection.close()


def _other_database_with_wal(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.executescript("PRAGMA journal_mode = WAL; CREATE TABLE cookies (name TEXT);")
    connection.close()


def _truncated_header(path: Path) -> None:
    path.write_bytes(b"SQLite format 3\x00\x10\x00")


def _fifo(path: Path) -> None:
    os.mkfifo(path)


def _dangling_link(path: Path) -> None:
    path.symlink_to(path.with_name("nowhere"))


NO_STORES = [_text, _empty, _folder, _other_database, _other_database_with_wal, _truncated_header, _fifo]
OPENERS: list[Callable[[Path], object]] = [Store, verify, Recorder]


def _contents(folder: Path) -> dict[str, bytes | None]:
    return {str(path): path.read_bytes() if path.is_file() else None for path in sorted(folder.rglob("*"))}


def _names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


@pytest.mark.parametrize("opener", OPENERS)
@pytest.mark.parametrize("make", NO_STORES)
def test_what_is_no_store_is_refused_and_left_alone(
    tmp_path: Path, opener: Callable[[Path], object], make: Callable[[Path], None]
) -> None:
    path = tmp_path / "s.db"
    make(path)
    before = _contents(tmp_path)
    with pytest.raises(StoreError, match="not a toolablate store") as caught:
        opener(path)
    assert caught.value.code == "not_a_store"
    assert str(path) in caught.value.message
    assert caught.value.hint
    assert _contents(tmp_path) == before


@pytest.mark.parametrize("opener", OPENERS[:2])
@pytest.mark.parametrize("name", ["missing.db", "no/such/folder/s.db", "a\x00b", "x" * 300])
def test_what_is_not_there_is_not_created(tmp_path: Path, opener: Callable[[Path], object], name: str) -> None:
    with pytest.raises(StoreError) as caught:
        opener(tmp_path / name)
    assert caught.value.code in ("not_found", "cannot_open")
    assert _contents(tmp_path) == {}


@pytest.mark.parametrize("name", ["file/s.db", "a\x00b", "x" * 300])
def test_a_store_that_cannot_be_created_leaves_nothing(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    before = _contents(tmp_path)
    with pytest.raises(StoreError, match="Cannot"):
        Recorder(tmp_path / name)
    assert _contents(tmp_path) == before


def test_a_link_that_leads_nowhere_is_no_store(tmp_path: Path) -> None:
    _dangling_link(tmp_path / "s.db")
    with pytest.raises(StoreError, match="no store"):
        Store(tmp_path / "s.db")


def test_a_folder_is_made_for_a_new_store(tmp_path: Path) -> None:
    with Recorder(tmp_path / "runs" / "today" / "s.db") as recorder:
        plan(recorder)
    assert verify(tmp_path / "runs" / "today" / "s.db").pending == len(trials())


CHANGES = {
    "recursive view": "ALTER TABLE trials RENAME TO t; CREATE VIEW trials AS WITH RECURSIVE n(key) AS"
    " (SELECT 1 UNION ALL SELECT key + 1 FROM n) SELECT key, '' AS id, 1 AS question, 1 AS model, 1 AS condition,"
    " 0 AS repeat, NULL AS current, NULL AS outcome FROM n",
    "trigger": "CREATE TRIGGER quiet AFTER INSERT ON scores BEGIN UPDATE scores SET value = 1; END",
    "table": "CREATE TABLE more (a)",
    "index": "CREATE INDEX more ON trials (lower(id))",
    "column": "ALTER TABLE scores ADD COLUMN more TEXT",
    "missing table": "DROP TABLE labels",
}


@pytest.mark.parametrize("change", CHANGES)
async def test_a_store_whose_tables_were_changed_is_neither_read_nor_written(tmp_path: Path, change: str) -> None:
    path = tmp_path / "s.db"
    await filled(path, 1)
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(CHANGES[change])
    before = _contents(tmp_path)
    for opener in (Store, Recorder):
        with pytest.raises(StoreError, match="does not have the layout of a store") as caught:
            opener(path)
        assert caught.value.code == "changed_layout"
    (problem,) = verify(path).problems
    assert "does not have the layout of a store" in problem.what
    assert _contents(tmp_path) == before


async def test_a_store_of_a_development_version_says_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    await filled(path, 1)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA application_id = {UNRELEASED_ID}")
    with pytest.raises(StoreError, match=r"from before the first release(.|\n)*run its plan again") as caught:
        Store(path)
    assert caught.value.code == "older_version"


@pytest.mark.parametrize("opener", OPENERS)
@pytest.mark.parametrize(
    ("version", "age", "advice"),
    [(99, "a newer", "Upgrade"), (0, "an older", "run its plan again"), (-1, "an older", "")],
)
async def test_another_version_is_refused_and_left_alone(
    tmp_path: Path, opener: Callable[[Path], object], version: int, age: str, advice: str
) -> None:
    path = tmp_path / "s.db"
    await filled(path, 1)
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {version}")
    connection.close()
    before = _contents(tmp_path)
    said = rf"{age} toolablate: its version is {version}, this one reads {SCHEMA_VERSION}(.|\n)*{advice}"
    with pytest.raises(StoreError, match=said) as caught:
        opener(path)
    assert caught.value.code == f"{age.split()[1]}_version"
    assert _contents(tmp_path) == before


async def test_a_database_that_someone_else_locks_gives_an_error_and_no_endless_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("toolablate.traces.store.file.BUSY_SECONDS", 0.05)
    path = tmp_path / "s.db"
    await filled(path, 1)
    with Recorder(path) as recorder:
        stranger = sqlite3.connect(path, isolation_level=None)
        stranger.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="another program holds it"):
            plan(recorder, identity="run-2")
        with pytest.raises(StoreError, match="another program holds it"):
            await begun(recorder, trials()[0])
        stranger.close()
    assert verify(path).finished == 1


def _mount(folder: Path, options: str) -> None:
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "none", str(folder)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        pytest.skip(f"no tmpfs can be mounted here: {done.stderr.strip()}")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A real file system of 600 kB; only root may mount one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if shutil.which("mount") is None:
        pytest.skip("there is no mount command")
    _mount(folder, "size=600k")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def _remount(folder: Path, mode: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{mode}", str(folder)], check=True)


async def test_a_full_disk_ends_with_one_error_and_keeps_what_was_finished(small_disk: Path) -> None:
    path = small_disk / "s.db"
    finished, errors = [], []
    with Recorder(path) as recorder:
        planned = plan(recorder, trials(repeats=100))
        for number, trial in enumerate(planned):
            try:
                trace = await attempt(recorder, trial, turns=8, salt=os.urandom(200).hex() + str(number))
                finished.append(trace)
                await recorder.score([score(trial)])
            except StoreError as error:
                errors.append(error)
                if len(errors) == 3:
                    break
    assert [error.code for error in errors] == ["disk_full"] * 3
    assert "the disk is full" in errors[0].message
    assert "Free some space" in errors[0].hint
    assert finished
    with Store(path) as store:
        assert {trace.trial.id for trace in finished} <= store.finished_trials()
        assert [store.trace(trace.trial.id) for trace in finished] == finished
    assert verify(path).ok
    _remount(small_disk, "size=20m")
    with Recorder(path) as recorder:
        await attempt(recorder, planned[-1])
    assert verify(path).ok


async def test_events_that_nobody_waits_for_report_a_full_disk_too(small_disk: Path) -> None:
    path = small_disk / "s.db"
    with Recorder(path) as recorder:
        session = await begun(recorder, plan(recorder)[0])

        def record_without_end() -> None:
            for number in itertools.count():
                session.record(Answer(at=number, text=os.urandom(2_000).hex()))

        with pytest.raises(StoreError, match="the disk is full"):
            record_without_end()
    assert verify(path).ok


async def test_an_error_that_nobody_was_told_of_is_raised_on_closing(small_disk: Path) -> None:
    path = small_disk / "s.db"
    recorder = Recorder(path)
    session = await begun(recorder, plan(recorder)[0])
    session.record(Answer(at=0, text=os.urandom(2_000_000).hex()))
    with pytest.raises(StoreError, match="the disk is full"):
        recorder.close()
    recorder.close()
    assert "s.db-lock" not in _names(small_disk)


def test_a_disk_without_room_for_a_new_store_is_left_clean(small_disk: Path) -> None:
    (small_disk / "filler").write_bytes(b"x" * 550_000)
    with pytest.raises(StoreError, match="Cannot write the store"):
        Recorder(small_disk / "s.db")
    assert _names(small_disk) == ["filler"]


async def test_a_read_only_disk_can_be_read_and_not_written(small_disk: Path) -> None:
    path = small_disk / "s.db"
    written = await filled(path, 2)
    _remount(small_disk, "ro")
    before = _contents(small_disk)
    for target in (path, small_disk / "new.db", small_disk / "folder" / "new.db"):
        with pytest.raises(StoreError, match="Read-only file system"):
            Recorder(target)
    with Store(path) as store:
        assert list(store.traces()) == written
    assert verify(path).ok
    assert _contents(small_disk) == before


async def test_a_store_of_a_killed_run_on_a_read_only_disk_says_what_to_do(small_disk: Path) -> None:
    path = small_disk / "s.db"
    recorder = Recorder(path)
    try:
        await attempt(recorder, plan(recorder)[0])
        for name in ("s.db", "s.db-wal"):
            shutil.copy(small_disk / name, small_disk / f"killed-{name}")
    finally:
        recorder.close()
    _remount(small_disk, "ro")
    with pytest.raises(StoreError, match=r"did not close it(.|\n)*Copy killed-s.db and killed-s.db-wal"):
        Store(small_disk / "killed-s.db")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write to read-only files")
async def test_a_read_only_file_is_refused(tmp_path: Path) -> None:
    await filled(tmp_path / "s.db", 1)
    (tmp_path / "s.db").chmod(0o444)
    with pytest.raises(StoreError, match="read-only"):
        Recorder(tmp_path / "s.db")


@pytest.fixture
def protected(tmp_path: Path) -> Iterator[Path]:
    """A store that is a read-only mount of itself in a writable folder, which holds for root too."""
    path = tmp_path / "s.db"
    asyncio.run(filled(path, 1))
    bound = subprocess.run(["mount", "--bind", str(path), str(path)], capture_output=True, check=False)
    if bound.returncode:
        pytest.skip("bind mounts need root")
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", str(path)], check=True)
        yield path
    finally:
        subprocess.run(["umount", str(path)], check=True)


def test_a_write_protected_file_in_a_writable_folder_is_refused(protected: Path) -> None:
    with pytest.raises(StoreError, match="the file is read-only") as caught:
        Recorder(protected)
    assert caught.value.code == "read_only"
    with Store(protected) as store:
        assert len(list(store.traces())) == 1
    assert _names(protected.parent) == ["s.db"]


@pytest.mark.parametrize(
    ("statement", "what"),
    [
        ("UPDATE texts SET body = x'00' WHERE encoding = 1", r"text \d+"),
        ("UPDATE parts SET body = x'00'", "the block of"),
    ],
    ids=["text", "block"],
)
async def test_what_is_damaged_is_named_when_it_is_read(tmp_path: Path, statement: str, what: str) -> None:
    path = tmp_path / "s.db"
    (trace,) = await filled(path, 1)
    if "texts" in statement:
        as_rows(path)
    connection = sqlite3.connect(path)
    connection.execute(statement)
    connection.commit()
    connection.close()
    with Store(path) as store, pytest.raises(StoreError, match=rf"damaged: {what}(.|\n)*verify"):
        store.trace(trace.trial.id)


async def test_a_full_queue_makes_callers_wait_and_not_the_memory_grow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("toolablate.traces.store.writer.MAX_PENDING_JOBS", 2)
    monkeypatch.setattr("toolablate.traces.store.writer.MAX_PENDING_CHARS", 100)
    with Recorder(tmp_path / "s.db") as recorder:
        session = await begun(recorder, plan(recorder)[0])
        for number in range(500):
            session.record(Answer(at=number, text="x" * 300 + str(number)))
        trace = await session.finish("answered", 1.0)
    with Store(tmp_path / "s.db") as store:
        assert store.trace(trace.trial.id) == trace


MOUNTS = r"""
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 22 0:40 / /home rw - nfs4 server:/home rw,vers=4.2
31 30 8:2 / /home/me/scratch rw - xfs /dev/sdb1 rw
32 22 0:41 / /mnt/two\040words rw master:3 - lustre mds@tcp:/l rw
33 22 0:42 / /proc/fs/nfsd rw - nfsd nfsd rw
""".strip()


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/srv/run.sqlite", ""),
        ("/home/me/run.sqlite", "nfs4"),
        ("/homework/run.sqlite", ""),
        ("/home/me/scratch/runs/run.sqlite", ""),
        ("/mnt/two words/run.sqlite", "lustre"),
        ("/proc/fs/nfsd/x", ""),
    ],
)
def test_a_path_on_a_network_file_system_is_told_by_its_nearest_mount(path: str, kind: str) -> None:
    assert network_file_system(Path(path), MOUNTS) == kind


def test_a_store_on_a_network_file_system_is_refused_before_anything_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # No such file system can be mounted here.
    monkeypatch.setattr("toolablate.traces.store.file.network_file_system", lambda path: "nfs4")
    with pytest.raises(StoreError, match=r"network file system \(nfs4\)") as caught:
        Recorder(tmp_path / "runs" / "run.sqlite")
    assert caught.value.code == "network_disk"
    assert not list(tmp_path.iterdir())


def test_the_disk_of_the_tests_is_local(tmp_path: Path) -> None:
    assert network_file_system(tmp_path) == ""
