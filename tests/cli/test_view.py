"""`toolablate view` by the real command: what it serves, to whom, and how it ends."""

import os
import signal
import socket
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.experiments.nursery import nursery
from tests.experiments.plan_files import endpoint_plan, right, wait_for
from tests.servers.chat_server import ChatServer, Hang, Slow, reply
from tests.servers.ports import free_port
from tests.traces.samples import filled, plan
from tests.viewer.keeping.reading import read_findings
from tests.viewer.keeping.viewer import keepers, lives, unexpected, view, viewing

from toolablate.traces.installing import to_install
from toolablate.traces.store import Recorder, Store, standing, verify


@pytest.fixture
async def store(tmp_path: Path) -> Path:
    await filled(tmp_path / "s.sqlite")
    return tmp_path / "s.sqlite"


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    """A store that a viewer can be opened on before a run begins, so that it sees all of it."""
    with Recorder(tmp_path / "s.sqlite"):
        pass
    return tmp_path / "s.sqlite"


@pytest.mark.deep
def test_serves_the_store_to_who_was_given_the_address(store: Path) -> None:
    with viewing(store) as viewer:
        assert viewer.url.startswith("http://127.0.0.1:")
        assert len(viewer.url.partition("token=")[2]) >= 40
        assert viewer.get(token=False)[0] == 403
        assert viewer.get("/?token=guessed", token=False)[0] == 403
        assert viewer.get("/" + viewer.url.rpartition("/")[2], token=False)[0] == 303
        status, page = viewer.get()
        assert (status, "gpt-x" in page) == (200, True)
        assert (viewer.live()["planned"], viewer.live()["ended"]) == (8, 8)
        assert viewer.get("/questions")[0] == 200
        with Store(store) as opened:
            trial = opened.summaries()[1].trial
        assert viewer.get(f"/trial/{trial}")[0] == 200
        assert viewer.get("/nowhere")[0] == 404


@pytest.mark.deep
def test_listens_on_this_machine_alone(store: Path) -> None:
    with viewing(store) as viewer:
        port = int(viewer.base.rpartition(":")[2])
        listening = [
            line.split()[1].partition(":")
            for table in ("tcp", "tcp6")
            for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]
            if line.split()[3] == "0A"
        ]
        assert [address for address, _, at in listening if int(at, 16) == port] == ["0100007F"]


@pytest.mark.deep
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ends_cleanly_with_all_that_it_started(store: Path, number: signal.Signals) -> None:
    with viewing(store) as viewer:
        children = keepers(viewer.process.pid)
        assert len(children) == 1
        viewer.process.send_signal(number)
        assert viewer.process.wait(timeout=60) == 0
        assert not any(map(lives, children))


def test_what_it_started_ends_with_it_when_it_is_killed(store: Path) -> None:
    with viewing(store) as viewer:
        children = keepers(viewer.process.pid)
        viewer.process.kill()
        viewer.process.wait()
        wait_for(lambda: not any(map(lives, children)))
    assert verify(store).ok


@pytest.mark.deep
def test_says_where_tables_are_no_longer_kept(store: Path) -> None:
    with viewing(store) as viewer:
        os.kill(*keepers(viewer.process.pid), signal.SIGKILL)
        wait_for(lambda: "signal 9" in viewer.live()["trouble"])
        assert viewer.get()[0] == 200


@pytest.mark.deep
def test_says_why_they_are_no_longer_kept(store: Path, tmp_path: Path) -> None:
    with viewing(store, env={"XDG_CACHE_HOME": str(tmp_path / "cache")}) as viewer:
        (index,) = (tmp_path / "cache" / "toolablate" / "view").glob("*.sqlite")
        wait_for(lambda: viewer.live()["version"])
        (tmp_path / "cache").rename(tmp_path / "gone")
        (tmp_path / "cache").touch()
        wait_for(lambda: not any(map(lives, keepers(viewer.process.pid))))
        (tmp_path / "cache").unlink()
        wait_for(lambda: viewer.get("/live")[0] == 200)
        # It is told by what watches the process, a moment after that has ended.
        why = "until the viewer is started again: StoreError: Cannot write"
        wait_for(lambda: why in viewer.live()["trouble"])
        assert index.exists()


@pytest.mark.deep
def test_a_cache_that_is_deleted_meanwhile_is_filled_again(store: Path, tmp_path: Path) -> None:
    with viewing(store, env={"XDG_CACHE_HOME": str(tmp_path / "cache")}) as viewer:
        # In one step: what keeps it would make it anew while it is being emptied.
        (tmp_path / "cache").rename(tmp_path / "gone")
        wait_for(lambda: viewer.live()["ended"] == 8)
        assert (viewer.get()[0], viewer.live()["trouble"]) == (200, "")


@pytest.mark.deep
def test_leaves_nothing_behind_where_it_is_killed(store: Path, tmp_path: Path) -> None:
    with viewing(store, env={"TMPDIR": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}) as viewer:
        viewer.process.kill()
        viewer.process.wait()
    assert not list(tmp_path.glob("toolablate-view-*"))


@pytest.mark.deep
def test_prints_the_address_for_people_and_ends_in_silence(store: Path) -> None:
    process = view(store, "--no-open")
    assert process.stdout is not None
    assert process.stdout.readline().startswith("http://127.0.0.1:")
    process.send_signal(signal.SIGINT)
    assert process.stdout.readline() == "Ctrl-C ends it.\n"
    assert unexpected(*process.communicate(timeout=60)) == ""
    assert process.returncode == 0


@pytest.mark.deep
def test_leads_a_browser_there_without_naming_the_token_on_its_command_line(store: Path, tmp_path: Path) -> None:
    given, read = tmp_path / "given", tmp_path / "read"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {given}\ncat "${{1#file://}}" > {read}.new && mv {read}.new {read}\n')
    browser.chmod(0o755)
    process = view(store, "--json", env={"BROWSER": f"{browser} %s"})
    assert process.stdout is not None
    url = process.stdout.readline().split('"')[3]
    wait_for(read.exists)
    assert given.read_text().startswith("file://")
    assert url in read.read_text()
    folder = Path(given.read_text().strip().removeprefix("file://")).parent
    assert folder.stat().st_mode & 0o077 == 0
    process.terminate()
    process.communicate(timeout=60)
    assert not folder.exists()


def _refused(*arguments: str | Path, env: dict[str, str] | None = None) -> str:
    process = view(*arguments, "--no-open", env=env)
    said = process.communicate(timeout=60)
    assert (process.returncode, said[0]) == (2, "")
    assert "Traceback" not in said[1]
    return " ".join(said[1].split())


@pytest.mark.deep
def test_what_cannot_be_served_is_one_sentence(store: Path, tmp_path: Path) -> None:
    assert "There is no store at" in _refused(tmp_path / "none.sqlite")
    assert "is not one run of" in _refused(store, "--run", "ffff")
    assert "no scores by a scorer 'nobody'" in _refused(store, "--scorer", "nobody")
    assert "--person: the name has 0 characters 1 to 200" in _refused(store, "--person", " ")
    assert "there is no condition 'nowhere'" in _refused(store, "--baseline", "nowhere")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert f"--port: {port} is not available: Address already in use" in _refused(store, "--port", str(port))
    with closing(sqlite3.connect(store)) as connection:
        connection.execute("DROP TABLE labels")
    assert "added, changed or missing: index labels_by_trial, table labels" in _refused(store)


def test_names_what_is_to_be_installed(store: Path, tmp_path: Path) -> None:
    (tmp_path / "uvicorn.py").write_text("raise ImportError(name='uvicorn')")
    told = _refused(store, env={"PYTHONPATH": str(tmp_path)})
    assert f"not installed: uvicorn {to_install('view')}" in told


@pytest.mark.deep
def test_a_port_can_be_chosen(store: Path) -> None:
    port = free_port()
    with viewing(store, "--port", str(port)) as viewer:
        assert viewer.base == f"http://127.0.0.1:{port}"


@pytest.mark.deep
def test_a_store_whose_run_is_about_to_begin_can_be_viewed(empty: Path) -> None:
    with viewing(empty) as viewer:
        assert viewer.get()[0] == 200
        assert viewer.live()["planned"] == 0
        with Recorder(empty) as recorder:
            plan(recorder)
            wait_for(lambda: viewer.live()["planned"] == 8)


@pytest.mark.deep
def test_pages_follow_a_run(chat_server: ChatServer, tmp_path: Path, empty: Path) -> None:
    chat_server.answers(lambda request: Slow(0.25, right(request)))
    written = endpoint_plan(tmp_path, chat_server.url, count=12)
    written.write_text(written.read_text().replace("['none']", "['none', { name = 'brief', prompt = 'Be brief.' }]"))
    seen = set[tuple[int, int]]()
    with viewing(empty) as viewer, nursery(tmp_path) as runs:
        run = runs.start(written, empty)

        def all_ended() -> bool:
            live = viewer.live()
            seen.add((live["ended"], live["version"]))
            assert viewer.get("/questions")[0] == 200
            return live["ended"] == 24

        wait_for(all_ended)
        assert runs.wait(run) == 0
        assert len({ended for ended, _ in seen}) > 2
        assert len({version for _, version in seen}) > 2
        wait_for(lambda: "brief" in viewer.get()[1])
    assert verify(empty).ok
    assert read_findings(empty).comparisons[0].questions == 12


@pytest.mark.deep
def test_a_label_is_kept_beside_a_run(chat_server: ChatServer, tmp_path: Path) -> None:
    # Wrong, so that there is a cause to name; the last trial never ends.
    chat_server.answers(lambda request: Hang() if len(chat_server.requests) > 3 else reply("Answer: 99"))
    path = tmp_path / "s.sqlite"
    with nursery(tmp_path) as runs:
        run = runs.start(endpoint_plan(tmp_path, chat_server.url, count=4, concurrency=1), path)
        wait_for(lambda: path.exists() and sum(each.ended for each in standing(path).recorders) == 3)
        with viewing(path, "--person", "Ada") as viewer:
            with Store(path) as opened:
                trial = opened.summaries()[0].trial
            form = {"action": "correct", "mechanism": "own_error", "note": "It cannot count."}
            assert viewer.post(f"/trial/{trial}/label", form)[0] == 303
            assert standing(path).recorders[0].running == 1
            assert "Ada" in viewer.get(f"/trial/{trial}")[1]
        with Store(path) as opened:
            assert [(each.person, each.mechanism, each.note) for each in opened.labels()] == [
                ("Ada", "own_error", "It cannot count.")
            ]
        os.kill(run, signal.SIGKILL)
        runs.wait(run)
    assert verify(path).ok


@pytest.mark.deep
def test_a_run_and_its_viewer_that_are_killed_leave_a_whole_store(
    chat_server: ChatServer, tmp_path: Path, empty: Path
) -> None:
    chat_server.answers(lambda request: Slow(0.2, right(request)))
    with nursery(tmp_path) as runs:
        with viewing(empty) as viewer:
            run = runs.start(endpoint_plan(tmp_path, chat_server.url, count=400), empty)
            wait_for(lambda: viewer.live()["ended"] >= 3 and viewer.live()["running"] > 0)
            os.kill(run, signal.SIGKILL)
            assert runs.wait(run) == -signal.SIGKILL
            # What had begun runs no more, though nothing was written that says so.
            wait_for(lambda: viewer.live()["running"] == 0)
            viewer.process.kill()
            viewer.process.wait()
        assert verify(empty).ok
        with viewing(empty) as viewer:
            assert viewer.live()["ended"] >= 3
