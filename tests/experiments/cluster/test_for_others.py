"""What others learn of a run on workers while it goes on, and what is left of it where its machine is lost."""

import errno
import json
import os
import shutil
import sqlite3
from collections.abc import Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, closing
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Cli
from tests.experiments.cluster.fleets import until
from tests.experiments.cluster.test_runs import Engine, run
from tests.experiments.plan_files import endpoint_plan, right, wait_for
from tests.servers.chat_server import ChatServer, Step, Until
from tests.traces.samples import WHEN, filled

import toolablate as tb
from toolablate.experiments.cluster import fleet as driver
from toolablate.experiments.cluster import for_others, joining, on_ray
from toolablate.experiments.cluster.in_process import InProcess
from toolablate.experiments.cluster.messages import WorkerLost
from toolablate.experiments.cluster.opening import PlanOpener, opens_of
from toolablate.experiments.plans.plan import load_plan
from toolablate.experiments.plans.sections import ClusterSection
from toolablate.experiments.running.launch import launch
from toolablate.experiments.running.progress import RunProgress
from toolablate.reports.terminal.status import worker_told
from toolablate.traces.errors import InputError, StoreError
from toolablate.traces.records import Label
from toolablate.traces.store import DriverLock, NoWorker, Recorder, Store, WorkerStanding, standing, write_workers
from toolablate.traces.store.merging import merge
from toolablate.traces.store.workers import read_workers, workers_file


@pytest.fixture
def engines(monkeypatch: pytest.MonkeyPatch) -> list[Engine]:
    """Of runs whose workers are in this process in place of Ray's."""
    made: list[Engine] = []

    def open_here(
        section: ClusterSection, opener: PlanOpener, lines: Mapping[str, bool], stack: AsyncExitStack, tell: object
    ) -> Engine:
        made.append(Engine(opener, lines))
        made[-1].workers = 2  # type: ignore[attr-defined]
        return made[-1]

    monkeypatch.setattr("toolablate.experiments.cluster.on_ray.open_ray", open_here)
    monkeypatch.setattr(driver, "FIRST_REST_SECONDS", 0.001)
    monkeypatch.setattr(for_others, "TELL_SECONDS", 0.01)
    return made


def until_told(store: Path, states: list[str], ended: int) -> tuple[WorkerStanding, ...]:
    """Workers as another process sees them, once they stand so, one of them has a trial, and all have ended as many."""
    told: tuple[WorkerStanding, ...] = ()

    def stand_so() -> bool:
        nonlocal told
        told = standing(store).workers
        running, all_ended = sum(each.running for each in told), sum(each.ended for each in told)
        return sorted(each.state for each in told) == states and (running, all_ended) == (1, ended)

    wait_for(stand_so)
    return told


def test_status_lists_workers_while_they_run_and_no_longer(
    chat_server: ChatServer, tmp_path: Path, engines: list[Engine], cli: Cli
) -> None:
    lost: list[WorkerStanding] = []
    shown: list[str] = []
    asked = 0

    def looks(request: dict[str, Any]) -> Step:
        nonlocal asked
        asked += 1
        if asked == 2:
            until_told(store, ["ready", "ready"], ended=1)
            busy = next(each for each in engines[0].started if each.worker._trials)
            busy._running.get_loop().call_soon_threadsafe(busy.kill)
        if asked == 4:
            lost.extend(until_told(store, ["lost", "ready", "ready"], ended=2))
            shown.extend((cli("status", store).stdout, cli("status", store, "--json").stdout))
        return right(request)

    chat_server.answers(looks)
    path = endpoint_plan(tmp_path, chat_server.url, count=4, concurrency=1, extra="[cluster]\naddress = 'local'")
    store = tmp_path / "run.sqlite"
    assert run(path, store).missing == 0
    assert [each.lost for each in lost if each.state == "lost"] == [1]
    assert f"process {os.getpid()}: lost " in shown[0]
    assert "1 running" in shown[0]
    assert [each["state"] for each in json.loads(shown[1])["workers"]] == [each.state for each in lost]
    assert standing(store).workers == ()
    assert {file.name for file in tmp_path.glob("run.sqlite*")} == {"run.sqlite"}


def test_while_no_worker_is_ready_status_says_so_and_forecasts_nothing(
    chat_server: ChatServer, tmp_path: Path, engines: list[Engine], cli: Cli
) -> None:
    shown: list[str] = []
    asked = 0

    async def no_node(avoiding: Collection[str]) -> InProcess:
        if not shown:
            raise WorkerLost("no node")
        return await Engine.start(engines[0], avoiding)

    def looks(request: dict[str, Any]) -> Step:
        nonlocal asked
        asked += 1
        if asked == 3:
            until_told(store, ["ready", "ready"], ended=2)
            engines[0].start = no_node  # type: ignore[method-assign]
            for each in engines[0].started:
                each._running.get_loop().call_soon_threadsafe(each.kill)
            wait_for(lambda: standing(store).no_worker is not None)
            shown.extend((cli("status", store).stdout, cli("status", store, "--json").stdout))
        return right(request)

    chat_server.answers(looks)
    path = endpoint_plan(tmp_path, chat_server.url, count=4, concurrency=1, extra="[cluster]\naddress = 'local'")
    store = tmp_path / "run.sqlite"
    assert run(path, store).missing == 0
    words, told = " ".join(shown[0].split()), json.loads(shown[1])
    assert "no worker: none has been ready for " in words
    assert "the run ends if none is ready within " in words
    assert "for the rest" not in words
    assert (told["seconds_left"], told["no_worker"]["patience_seconds"]) == (None, driver.PATIENCE_SECONDS)


def test_what_a_killed_driver_told_is_not_believed_and_silence_grows(tmp_path: Path) -> None:
    store = tmp_path / "run.sqlite"
    worker = WorkerStanding("node \x1b[2J7", "ready", 3, 1200, 0, 40.0)
    with DriverLock(store):
        assert read_workers(store) == ((), None)
        write_workers(store, [worker])
        (found,), none = read_workers(store)
        assert none is None
        assert 40.0 <= found.silent_seconds < 100
        for damaged in ("[1]", "{", '{"clock": 0, "workers": [{"name": "x", "state": "ready", "more": 1}]}'):
            workers_file(store).write_text(damaged)
            assert read_workers(store) == ((), None)
        write_workers(store, [worker], NoWorker(20.0, 300.0))
        _, none = read_workers(store)
        assert none is not None
        assert 20.0 <= none.seconds < 100
    assert read_workers(store) == ((), None)
    assert worker_told(worker).endswith("7: 3 running, 1,200 ended, silent for 40 s")
    assert "\x1b" not in worker_told(worker)
    assert worker_told(WorkerStanding("n", "left out")).startswith("worker n: left out, because")


def test_a_backup_is_made_at_the_end_and_a_run_goes_on_from_it_elsewhere(
    chat_server: ChatServer, tmp_path: Path, engines: list[Engine], monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    monkeypatch.setattr(for_others, "BACKUP_SECONDS", 0.01)
    backup, store = tmp_path / "shared" / "run.sqlite", tmp_path / "here" / "run.sqlite"
    backup.parent.mkdir()
    within: list[bool] = []

    def looks(request: dict[str, Any]) -> Step:
        within.append(True)
        return Until(backup.exists, right(request))

    chat_server.answers(looks)
    cluster = "[cluster]\naddress = 'local'\nbackup = 'shared/run.sqlite'"
    path = endpoint_plan(tmp_path, chat_server.url, count=3, extra=cluster)
    assert run(path, store).missing == 0
    assert (len(within), {file.name for file in backup.parent.iterdir()}) == (3, {"run.sqlite"})
    assert cli("verify", backup).returncode == 0
    assert cli("verify", backup, "--same-as", store).returncode == 0
    # One that is gone, or could not be made, is made by the same command.
    backup.unlink()
    assert run(path, store).done_before == 3
    assert (len(engines), cli("verify", backup, "--same-as", store).returncode) == (1, 0)
    # The machine is lost. Who forgets to copy the backup is stopped before it is replaced.
    elsewhere = tmp_path / "elsewhere" / "run.sqlite"
    with pytest.raises(InputError, match=r"cluster\.backup: .*has 3 finished trials.* that the store .* lacks"):
        run(path, elsewhere)
    assert not elsewhere.exists()
    shutil.copy(backup, elsewhere)
    again = run(path, elsewhere)
    assert (again.done_before, again.missing, len(within)) == (3, 0, 3)


def test_a_backup_that_fails_is_told_once_and_ends_nothing(
    chat_server: ChatServer, tmp_path: Path, engines: list[Engine], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(for_others, "BACKUP_SECONDS", 0.001)
    shared = tmp_path / "shared"
    shared.mkdir()

    def unmounted(request: dict[str, Any]) -> Step:
        # At once, so that no copy is made meanwhile.
        if shared.exists():
            shared.rename(tmp_path / "unmounted")
        return right(request)

    chat_server.answers(unmounted)
    cluster = "[cluster]\naddress = 'local'\nbackup = 'shared/run.sqlite'"
    plan, text = load_plan(endpoint_plan(tmp_path, chat_server.url, count=12, concurrency=1, extra=cluster))
    warned: list[str] = []
    with RunProgress() as progress:
        monkeypatch.setattr(progress, "warn", warned.append)
        launched = launch(plan, text, progress, opens=opens_of(plan))
    assert launched.missing == 0
    assert len(warned) == 1
    assert "cluster.backup: Cannot write the store" in warned[0]


def test_a_store_on_a_network_file_system_is_refused_before_a_worker_is_started(
    chat_server: ChatServer, tmp_path: Path, engines: list[Engine], monkeypatch: pytest.MonkeyPatch
) -> None:
    # No such file system can be mounted here.
    monkeypatch.setattr("toolablate.traces.store.file.network_file_system", lambda path: "lustre")
    path = endpoint_plan(tmp_path, chat_server.url, count=1, extra="[cluster]\naddress = 'local'")
    with pytest.raises(StoreError, match=r"network file system \(lustre\)") as refused:
        run(path, tmp_path / "new" / "run.sqlite")
    assert (refused.value.code, engines) == ("network_disk", [])
    assert not (tmp_path / "new").exists()


async def test_a_backup_in_the_place_of_something_else_is_refused(tmp_path: Path) -> None:
    store, other = tmp_path / "run.sqlite", tmp_path / "questions.jsonl"
    other.write_text('{"id": "q1"}\n' * 100)
    with pytest.raises(StoreError, match="not a toolablate store") as in_the_way:
        for_others.require_backup_of(store, other)
    assert "move it away, or name another file" in in_the_way.value.hint
    await filled(tmp_path / "changed.db", 1)
    with closing(sqlite3.connect(tmp_path / "changed.db")) as connection:
        connection.execute("CREATE TABLE more (a)")
    with pytest.raises(StoreError, match="does not have the layout of a store") as in_the_way:
        for_others.require_backup_of(store, tmp_path / "changed.db")
    assert "move it away, or name another file" in in_the_way.value.hint
    with pytest.raises(InputError, match="is not there"):
        for_others.require_backup_of(store, tmp_path / "unmounted" / "run.sqlite")
    (tmp_path / "lost.sqlite").symlink_to(tmp_path / "unmounted" / "run.sqlite")
    with pytest.raises(InputError, match="unmounted is not there"):
        for_others.require_backup_of(store, tmp_path / "lost.sqlite")
    (tmp_path / "loop.sqlite").symlink_to(tmp_path / "loop.sqlite")
    with pytest.raises(InputError, match="leads to itself"):
        for_others.require_backup_of(store, tmp_path / "loop.sqlite")
    with pytest.raises(InputError, match="names the store itself"):
        for_others.require_backup_of(store, tmp_path / "." / "run.sqlite")
    with pytest.raises(InputError, match="names the store by a file of its own"):
        for_others.require_backup_of(tmp_path / "copy.sqlite.new", tmp_path / "copy.sqlite")
    for name in ("-wal", "-shm", "-lock", "-driver", "-workers", "-workers.new", "-recorder-1", "-batches", "-new"):
        with pytest.raises(InputError, match=r"names that begin with run\.sqlite- are for the store's own files"):
            for_others.require_backup_of(store, tmp_path / f"run.sqlite{name}")
    await filled(other.with_suffix(".db"), 2)
    with pytest.raises(InputError, match=r"has 2 finished trials, .* that the store") as refused:
        for_others.require_backup_of(store, other.with_suffix(".db"))
    assert "toolablate merge" in refused.value.hint
    Recorder(store).close()
    for_others.require_backup_of(store, store.with_name("new.sqlite"))


async def test_what_people_put_into_the_copy_is_not_replaced(tmp_path: Path) -> None:
    store, backup = tmp_path / "run.sqlite", tmp_path / "copy.sqlite"
    await filled(store, 2)
    warned: list[str] = []
    with ThreadPoolExecutor(1) as thread:
        copies = for_others._Copies(store, backup, warned.append, thread)
        await copies.make()
        with Recorder(backup) as recorder:
            trial = min(recorder.finished_trials())
            # Else its copy would be taken for the file that it writes.
            await copies.make()
            assert "is written by another process" in warned.pop()
            copies._warned = False
            recorder.label(Label(trial=trial, person="ada", at=WHEN, mechanism=None))
        await copies.make()
        await copies.make()
    assert len(warned) == 1
    assert "has 1 label that the store" in warned[0]
    assert f"toolablate merge {store} {backup} -o NEW" in warned[0]
    with Store(backup) as opened:
        assert [label.person for label in opened.labels()] == ["ada"]
    with pytest.raises(InputError, match="has 1 label that the store"):
        for_others.require_backup_of(store, backup)
    merge([store, backup], tmp_path / "joined.sqlite")
    for_others.require_backup_of(tmp_path / "joined.sqlite", backup)


async def test_scores_by_an_answer_key_that_was_mended_since_hold_no_copy_up(tmp_path: Path) -> None:
    store, backup = tmp_path / "run.sqlite", tmp_path / "copy.sqlite"
    await filled(store, 2)
    shutil.copy(store, backup)
    with closing(sqlite3.connect(store)) as connection:
        assert connection.execute("DELETE FROM scores").rowcount
        connection.commit()
    with pytest.raises(InputError, match=r"has \d+ scores? that the store"):
        for_others.require_backup_of(store, backup)
    with closing(sqlite3.connect(store)) as connection:
        connection.execute("UPDATE questions SET target = zeroblob(32)")
        connection.commit()
    for_others.require_backup_of(store, backup)


async def test_what_is_put_into_the_copy_while_the_next_is_made_is_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, backup = tmp_path / "run.sqlite", tmp_path / "copy.sqlite"
    await filled(store, 2)
    warned: list[str] = []
    plain = for_others.back_up

    def label_meanwhile(*given: Any) -> None:
        with Recorder(backup) as recorder:
            trial = min(recorder.finished_trials())
            recorder.label(Label(trial=trial, person="ada", at=WHEN, mechanism=None))
        plain(*given)

    with ThreadPoolExecutor(1) as thread:
        copies = for_others._Copies(store, backup, warned.append, thread)
        await copies.make()
        monkeypatch.setattr(for_others, "back_up", label_meanwhile)
        await copies.make()
    assert "has 1 label that the store" in warned[0]
    with Store(backup) as opened:
        assert len(opened.labels()) == 1


async def test_a_store_that_is_damaged_replaces_no_backup(tmp_path: Path) -> None:
    """Its tables can be counted all the same."""
    store, backup = tmp_path / "run.sqlite", tmp_path / "copy.sqlite"
    await filled(store, 200)
    warned: list[str] = []
    with ThreadPoolExecutor(1) as thread:
        copies = for_others._Copies(store, backup, warned.append, thread)
        await copies.make()
        whole = backup.read_bytes()
        with closing(sqlite3.connect(store)) as opened:
            (page,) = opened.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'texts'").fetchone()
            (size,) = opened.execute("PRAGMA page_size").fetchone()
        with store.open("r+b") as file:
            file.seek((page - 1) * size)
            file.write(b"\xff" * size)
        await copies.make()
    assert "The copy is damaged, as the store may be (" in warned[0]
    assert "the backup before it is still there" in warned[0]
    assert backup.read_bytes() == whole


async def test_a_backup_whose_disk_goes_and_comes_back_is_told_of_once_and_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a share that is away Python raises other errors than those of a file that is not there."""
    store, backup = tmp_path / "run.sqlite", tmp_path / "share" / "copy.sqlite"
    backup.parent.mkdir()
    await filled(store, 2)
    warned: list[str] = []
    stat, away = Path.stat, False

    def stale(path: Path, **options: bool) -> os.stat_result:
        if away and path.is_relative_to(backup.parent):
            raise OSError(errno.ESTALE, os.strerror(errno.ESTALE), str(path))
        return stat(path, **options)

    monkeypatch.setattr(Path, "stat", stale)
    monkeypatch.setattr(for_others, "BACKUP_SECONDS", 0.001)
    async with for_others.backed_up(store, backup, lambda _: None, warned.append):
        await until(backup.exists)
        away = True
        await until(lambda: warned)
        backup.unlink()
        away = False
        await until(backup.exists)
    assert "Stale file handle" in warned[0]
    assert len(warned) == 1


async def test_what_is_put_into_a_copy_as_soon_as_it_has_its_name_is_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, backup = tmp_path / "run.sqlite", tmp_path / "copy.sqlite"
    await filled(store, 2)
    warned: list[str] = []

    def label_at_once(folder: Path) -> None:
        with Recorder(backup) as recorder:
            trial = min(recorder.finished_trials())
            recorder.label(Label(trial=trial, person="ada", at=WHEN, mechanism=None))

    with ThreadPoolExecutor(1) as thread:
        copies = for_others._Copies(store, backup, warned.append, thread)
        with monkeypatch.context() as patched:
            patched.setattr("toolablate.traces.store.backup._sync_folder", label_at_once)
            await copies.make()
        await copies.make()
    assert "has 1 label that the store" in warned[0]
    with Store(backup) as opened:
        assert len(opened.labels()) == 1


def test_a_run_that_begins_before_its_nodes_waits_for_them_and_then_ends(
    chat_server: ChatServer, tmp_path: Path, engines: list[Engine], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened, there = on_ray.open_ray, [("head (10.0.0.1)", 0.0)]
    looks: list[int] = []

    def open_once_there(section: ClusterSection, *given: Any) -> Any:
        looks.append(len(looks))
        if len(looks) < 3:
            raise joining.too_few_cpus(section, there)
        return opened(section, *given)

    monkeypatch.setattr("toolablate.experiments.cluster.on_ray.open_ray", open_once_there)
    monkeypatch.setattr(driver, "LOOK_SECONDS", 0.001)
    plan, text = load_plan(endpoint_plan(tmp_path, chat_server.url, count=1, extra="[cluster]\naddress = 'auto'"))
    told: list[str] = []
    chat_server.answers(right)
    with RunProgress() as progress:
        monkeypatch.setattr(progress, "tell", told.append)
        assert launch(plan, text, progress, opens=opens_of(plan)).missing == 0
    waits = [each for each in told if "Waiting" in each]
    assert len(waits) == 1
    assert "which needs 1 CPU (cluster.cpus): head (10.0.0.1) has 0 CPUs. Waiting 300 s" in waits[0]
    looks.clear()
    monkeypatch.setattr(driver, "PATIENCE_SECONDS", 0.0)
    with pytest.raises(InputError, match=r"head .* has 0 CPUs") as ended:
        run(plan.file, tmp_path / "other.sqlite")
    assert "start Ray on nodes" in ended.value.hint


def test_a_run_in_python_names_its_cluster(chat_server: ChatServer, tmp_path: Path, engines: list[Engine]) -> None:
    path = endpoint_plan(tmp_path, chat_server.url, count=1, extra="[cluster]\naddress = 'auto'")
    chat_server.answers(right)
    assert tb.run(path, cluster="none", progress=False).complete
    assert engines == []
    assert tb.run(path, store=tmp_path / "other.sqlite", cluster="local", progress=False).complete
    assert len(engines) == 1
