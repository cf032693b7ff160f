"""The demo's conditions over a web that is recorded once, sealed, and replayed where there is no network at all."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.experiments.library import Library

from toolablate.traces.records import ToolCall
from toolablate.traces.store import Store

pytestmark = pytest.mark.deep

PLAN = """
name = "frozen"
seed = 3
conditions = ["search", "all"]

[questions]
file = "builtin"
limit = 8

[search]
provider = "searxng"
endpoint = "{url}"

[web]
mode = "{mode}"
archive = "web-archive"
allow = ["{host}"]
delay_seconds = 0

[[models]]
provider = "simulated"
playbook = "builtin"
name = "steady"
seed = 1
ability = 0.5
confidence = 0.5
trust = 1.5
concurrency = 4
"""

# Whoever is root needs no user namespace for it, and sandboxes could not nest in one that maps root alone.
WITHOUT_NETWORK = ("unshare", "--net") if os.geteuid() == 0 else ("unshare", "--user", "--map-current-user", "--net")
"""A namespace without any interface that is up, not even a loopback."""

At = tuple[str, str, str]
"""A call's question, condition and id in its trial; calls of one turn end in any order."""

Seen = dict[At, tuple[str, str, str]]


def toolablate(folder: Path, *arguments: str, without_network: bool = False) -> subprocess.CompletedProcess[str]:
    prefix = WITHOUT_NETWORK if without_network else ()
    return subprocess.run(
        [*prefix, sys.executable, "-m", "toolablate", *arguments],
        capture_output=True,
        text=True,
        cwd=folder,
        timeout=110,
        env=os.environ | {"NO_PROXY": "*"},
    )


def calls(store: Path) -> Iterator[tuple[At, ToolCall]]:
    """The calls of all trials, except those of `python`, which ask no web."""
    with Store(store) as opened:
        conditions = {condition.identity(): condition.name for condition in opened.conditions()}
        for trace in opened.traces():
            for event in trace.events:
                if isinstance(event, ToolCall) and event.call.name != "python":
                    yield (trace.trial.question, conditions[trace.trial.condition], event.call.id), event


def seen(store: Path) -> Seen:
    return {at: (event.call.name, event.call.arguments, event.output) for at, event in calls(store)}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Library]:
    """A folder with a sealed archive and the store of the run that recorded it; its web is gone."""
    folder = tmp_path_factory.mktemp("frozen")
    with Library().running() as library:
        plan = PLAN.format(url=library.url, host=library.host, mode="record")
        (folder / "record.toml").write_text(plan, encoding="utf-8")
        (folder / "replay.toml").write_text(plan.replace('mode = "record"', 'mode = "replay"'), encoding="utf-8")
        ran = toolablate(folder, "run", "record.toml", "--store", "recorded.sqlite", "--json")
        assert ran.returncode == 0, ran.stderr + ran.stdout
    refused = toolablate(folder, "run", "replay.toml", "--store", "early.sqlite")
    assert refused.returncode == 2
    assert "toolablate web seal" in refused.stderr
    assert not (folder / "early.sqlite").exists()
    sealed = toolablate(folder, "web", "seal", "web-archive", "--json")
    assert sealed.returncode == 0, sealed.stderr
    return folder, library


@pytest.fixture(scope="module")
def replayed(recorded: tuple[Path, Library]) -> list[Path]:
    """The stores of two runs of the same plan that replay the archive."""
    folder, _ = recorded
    stores = [folder / "replayed.sqlite", folder / "again.sqlite"]
    for store in stores:
        ran = toolablate(folder, "run", "replay.toml", "--store", store.name, "--json", without_network=True)
        assert ran.returncode == 0, ran.stderr + ran.stdout
    return stores


def test_replays_without_a_network_are_byte_for_byte_the_recording(
    recorded: tuple[Path, Library], replayed: list[Path]
) -> None:
    folder, library = recorded
    first = seen(folder / "recorded.sqlite")
    names = [name for name, _, _ in first.values()]
    assert names.count("web_search") >= 8
    assert names.count("browser_open") >= 4
    assert any(f"{library.url}/pages/" in output for _, _, output in first.values())
    for store in replayed:
        assert seen(store) == first
        assert all(event.lookup and not event.lookup.miss for _, event in calls(store))


def test_one_page_is_the_same_for_all_trials_although_the_web_drifts(recorded: tuple[Path, Library]) -> None:
    folder, library = recorded
    outputs: dict[tuple[str, str], set[str]] = {}
    for name, arguments, output in seen(folder / "recorded.sqlite").values():
        outputs.setdefault((name, arguments), set()).add(output)
    assert all(len(different) == 1 for different in outputs.values())
    assert len(library.requests) == len(set(library.requests))


def test_what_was_replayed_is_named_in_every_trace(recorded: tuple[Path, Library], replayed: list[Path]) -> None:
    folder, _ = recorded
    root = json.loads(toolablate(folder, "status", "web-archive", "--json").stdout)["sealed"]["root"]
    with Store(replayed[0]) as opened:
        (run,) = opened.runs()
        assert root in run.fingerprint["web"]
        assert all(root in trace.environment.search for trace in opened.traces())


REPLAYING = """
import asyncio, sys
from contextlib import AsyncExitStack
from pathlib import Path
from toolablate.experiments.plans.plan import load_plan
from toolablate.experiments.environment.web import open_web

async def read():
    async with AsyncExitStack() as stack:
        web = await open_web(load_plan(Path("replay.toml"))[0], frozenset({"search", "pages"}), stack)
        return (await web.pages.read(sys.argv[1])).text

assert "This page was read" in asyncio.run(read())
print(sorted({"httpx", "httpx2", "ddgs", "primp", "mcp", "requests", "aiohttp"} & set(sys.modules)))
"""


def test_what_replays_loads_nothing_that_could_ask_a_network(recorded: tuple[Path, Library]) -> None:
    folder, library = recorded
    page = next(path for path in library.requests if path.startswith("/doc/"))
    command = [sys.executable, "-c", REPLAYING, library.url + page]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=100)
    assert (ran.stdout, ran.stderr) == ("[]\n", "")


def test_trials_of_another_web_are_refused(recorded: tuple[Path, Library]) -> None:
    folder, _ = recorded
    refused = toolablate(folder, "run", "replay.toml", "--store", "recorded.sqlite")
    assert refused.returncode == 2
    assert "web = 'record web-archive" in refused.stderr
