"""Runs whose trials are on workers: the same trials, one pace, and no trial lost or scored by a worker that dies."""

import asyncio
import hashlib
import platform
import shutil
import sys
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import WritePlan
from tests.experiments.plan_files import KERNELS, answered, call, endpoint_plan, right
from tests.servers.chat_server import ChatServer, Slow, Step, Until
from tests.tools.archive.samples import filled

from toolablate.agents import Line
from toolablate.experiments.cluster import fleet as driver
from toolablate.experiments.cluster.fleet import FleetExecutor
from toolablate.experiments.cluster.in_process import InProcess
from toolablate.experiments.cluster.lent import Lent
from toolablate.experiments.cluster.opening import PlanOpener, opens_of, questions_read, refuse_other_environment
from toolablate.experiments.environment.environment import fingerprint_of
from toolablate.experiments.node_checks import examine_nodes
from toolablate.experiments.plans.plan import Plan, load_plan
from toolablate.experiments.replay.on_workers import PlanOfReplays, ReplayOpener
from toolablate.experiments.running.execution import Opens, RunExecutor
from toolablate.experiments.running.launch import Launched, launch
from toolablate.experiments.running.progress import RunProgress
from toolablate.tools.archive import seal
from toolablate.traces.errors import InputError, StoreError
from toolablate.traces.records import Condition
from toolablate.traces.store import DriverLock, Store


class Engine:
    def __init__(self, opener: PlanOpener, lines: Mapping[str, bool]) -> None:
        self.opener, self.lines, self.started = opener, lines, list[InProcess]()

    def places(self) -> Sequence[str]:
        return ("here",)

    def shown(self) -> str:
        return "here"

    async def start(self, avoiding: Collection[str]) -> InProcess:
        self.started.append(InProcess(self.opener, self.lines))
        return self.started[-1]


def on_workers(workers: int, retries: int = 1, engines: list[Engine] | None = None) -> Opens:
    async def opens(
        plan: Plan,
        conditions: Sequence[Condition],
        fingerprint: Mapping[str, str],
        stack: AsyncExitStack,
        *,
        lines: Mapping[str, Line],
        **_: Any,
    ) -> RunExecutor:
        opener = PlanOpener(plan, tuple(conditions), fingerprint, plan.file)
        engine = Engine(opener, {name: line.counts_tokens for name, line in lines.items()})
        if engines is not None:
            engines.append(engine)
        fleet = FleetExecutor(engine, lines, workers=workers, kernels=1, retries=retries, warn=lambda _: None)
        stack.push_async_callback(fleet.close)
        await fleet.open()
        return fleet

    return opens


def run(path: Path, store: Path, opens: Opens | None = None) -> Launched:
    plan, text = load_plan(path)
    with RunProgress() as progress:
        plan = plan.with_changes(store=store)
        return launch(plan, text, progress, opens=opens or opens_of(plan))


def told(store: Path) -> dict[str, tuple[Any, ...]]:
    clock = {"at", "seconds"}
    with Store(store) as opened:
        traces = list(opened.traces())
        verdicts = {seen.trial: seen.verdict for seen in opened.summaries()}
    return {
        trace.trial.id: (
            trace.outcome,
            trace.environment,
            verdicts[trace.trial.id],
            [each.model_dump(exclude=clock) for each in trace.events],
        )
        for trace in traces
    }


@pytest.mark.deep
def test_trials_on_workers_are_the_same_trials(write_plan: WritePlan, tmp_path: Path) -> None:
    path = write_plan(
        {
            ("q1", "none"): answered("Answer: 2"),
            ("q1", "python"): [call("x = 20"), call("print(x + 1)"), {"content": "Answer: {{last_tool_output}}"}],
            ("q2", "python"): answered("Answer: 4"),
        }
    )
    assert run(path, tmp_path / "there.sqlite", on_workers(2)).missing == 1
    assert run(path, tmp_path / "here.sqlite").missing == 1
    assert told(tmp_path / "there.sqlite") == told(tmp_path / "here.sqlite")


def test_workers_together_keep_to_what_the_endpoint_takes(chat_server: ChatServer, tmp_path: Path) -> None:
    came = now = most = 0

    def counted(request: dict[str, Any]) -> Step:
        """None is answered before three are there. The next may come once a reply is sent: it counts no more by then."""
        nonlocal came, now, most
        came, now = came + 1, now + 1
        most, three = max(most, now), came + -came % 3

        def together() -> bool:
            nonlocal now
            if came < three:
                return False
            now -= 1
            return True

        return Until(together, right(request))

    chat_server.answers(counted)
    path = endpoint_plan(tmp_path, chat_server.url, count=18, concurrency=3)
    assert run(path, tmp_path / "run.sqlite", on_workers(3)).missing == 0
    assert most == 3


@pytest.mark.parametrize("retries", [0, 1])
def test_a_trial_whose_worker_was_lost_is_tried_again_and_never_scored_for_it(
    chat_server: ChatServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, retries: int
) -> None:
    monkeypatch.setattr(driver, "FIRST_REST_SECONDS", 0.001)
    engines: list[Engine] = []
    asked = 0

    def dies(request: dict[str, Any]) -> Step:
        nonlocal asked
        asked += 1
        if asked == 1:
            worker = next(each for each in engines[0].started if each.worker._trials)
            worker._running.get_loop().call_soon_threadsafe(worker.kill)
        return right(request) if asked > 1 else Slow(1, right(request))

    chat_server.answers(dies)
    path, store = endpoint_plan(tmp_path, chat_server.url, count=5, concurrency=1), tmp_path / "run.sqlite"
    ran = run(path, store, on_workers(2, retries, engines))
    with Store(store) as opened:
        seen = Counter((each.outcome, each.verdict) for each in opened.summaries())
    assert ran.missing == 1 - retries
    assert [(each.code, each.count) for each in ran.failures] == [("worker_lost", 1)] * (1 - retries)
    assert seen == (
        Counter({("answered", "correct"): 5}) if retries else {("answered", "correct"): 4, ("failed", None): 1}
    )
    assert run(path, store).missing == 0
    assert asked == 6


async def test_a_world_that_differs_is_named(write_plan: WritePlan) -> None:
    plan, _ = load_plan(write_plan({("q1", "none"): answered()}, conditions='["python"]'))
    conditions = plan.resolved_conditions()
    fingerprint = {**fingerprint_of(plan, conditions), "tool mine:add": "12ab"}
    async with AsyncExitStack() as stack:
        with pytest.raises(InputError, match="tool mine:add: nothing there, 12ab at the driver"):
            await PlanOpener(plan, conditions, fingerprint, plan.file).open(stack, {})
        assert plan.file is not None
        (plan.file.parent / "script.jsonl").write_text("", encoding="utf-8")
        with pytest.raises(InputError, match="code of the model 'recorded' is another"):
            await PlanOpener(plan, conditions, fingerprint, plan.file).open(stack, {})


def with_a_file(folder: Path, url: str) -> Path:
    """A plan with `python`, whose questions bring one file."""
    path = endpoint_plan(folder, url, count=2, extra=KERNELS)
    path.write_text(path.read_text(encoding="utf-8").replace("['none']", "['python']"), encoding="utf-8")
    (folder / "table.csv").write_text("a,1\n", encoding="utf-8")
    questions = folder / "questions.jsonl"
    lines = questions.read_text(encoding="utf-8").splitlines()
    questions.write_text("\n".join(line[:-1] + ', "files": ["table.csv"]}' for line in lines), encoding="utf-8")
    return path


def test_a_tool_of_ones_own_that_is_another_is_named_with_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = "from toolablate.tools import tool\n\n@tool\ndef half(number: int) -> float:\n    'Halves.'\n    return number / 2\n"
    (tmp_path / "tools_of_a_node.py").write_text(own, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    path = endpoint_plan(tmp_path, "http://e/v1", count=1)
    conditions = "[{ name = 'own', tools = ['tools_of_a_node:half'] }]"
    path.write_text(path.read_text(encoding="utf-8").replace("['none']", conditions), encoding="utf-8")
    plan, _ = load_plan(path)
    ours = plan.resolved_conditions()
    with pytest.raises(InputError) as refused:
        refuse_other_environment(plan, ours, {"tool tools_of_a_node:half": "f" * 64}, path)
    assert refused.value.message.endswith(f"at the driver; look at {tmp_path / 'tools_of_a_node.py'}")


ARCHIVE = "[web]\nmode = 'replay'\narchive = 'kept'"
CORPUS = "[search]\nprovider = 'corpus'\ncorpus = 'documents.jsonl'"


@pytest.mark.parametrize(
    ("extra", "there", "told"),
    [
        (ARCHIVE, "another", r"its environment is another: web: replay \w+ there, replay \w+ at the driver"),
        (ARCHIVE, "nothing", "it has not what the driver has: There is no archive at .*kept"),
        (CORPUS, "another", r"its environment is another: search: corpus/\w+ there, corpus/\w+ at the driver"),
        (CORPUS, "nothing", "it has not what the driver has: there is no corpus at .*documents.jsonl"),
    ],
)
async def test_another_archive_or_corpus_is_named_and_so_is_one_that_is_not_there(
    tmp_path: Path, extra: str, there: str, told: str
) -> None:
    archive, corpus = tmp_path / "kept", tmp_path / "documents.jsonl"
    seal(filled(archive, 1))
    corpus.write_text('{"url": "https://a.example/", "title": "A", "text": "One."}\n', encoding="utf-8")
    path = endpoint_plan(tmp_path, "http://e/v1", count=1, extra=extra)
    tools = "[{ name = 'c', tools = ['browser_open'] }]"
    path.write_text(path.read_text(encoding="utf-8").replace("['none']", tools), encoding="utf-8")
    plan, _ = load_plan(path)
    conditions = plan.resolved_conditions()
    opener = PlanOpener(plan, conditions, fingerprint_of(plan, conditions), plan.file)
    shutil.rmtree(archive)
    corpus.unlink()
    if there == "another":
        seal(filled(archive, 2))
        corpus.write_text('{"url": "https://a.example/", "title": "A", "text": "Two."}\n', encoding="utf-8")
    async with AsyncExitStack() as stack:
        with pytest.raises(InputError, match=told) as refused:
            await opener.open(stack, {})
    assert refused.value.hint.startswith(
        "copy the plan's folder, and what else the plan names, to the same path on each"
    )


PLACEBO = "[{ name = 'c', tools = ['python'], interventions = ['placebo'] }]"


@pytest.mark.parametrize(
    ("conditions", "name", "there", "told"),
    [
        (
            "['python']",
            "table.csv",
            "another",
            "it has not what the driver has: the question's file table.csv has changed",
        ),
        (
            "['python']",
            "table.csv",
            "nothing",
            "it has not what the driver has: the question's file table.csv cannot be",
        ),
        (PLACEBO, "table.csv", "another", "the question's file table.csv is another there"),
        (PLACEBO, "table.csv", "nothing", "it has not what the driver has: .*table.csv. cannot be read"),
        (PLACEBO, "questions.jsonl", "another", r"the questions of .*questions.jsonl are others there"),
        (PLACEBO, "questions.jsonl", "another key", r"the questions of .*questions.jsonl are others there"),
        (PLACEBO, "questions.jsonl", "nothing", "it has not what the driver has: .*questions.jsonl"),
        ("['none']", "questions.jsonl", "nothing", ""),
    ],
)
async def test_what_trials_read_of_questions_files_is_looked_at_before_a_worker_is_ready(
    tmp_path: Path, conditions: str, name: str, there: str, told: str
) -> None:
    """Else each of them would end by itself. What no trial reads, a node need not have."""
    path = with_a_file(tmp_path, "http://e/v1")
    path.write_text(path.read_text(encoding="utf-8").replace("['python']", conditions), encoding="utf-8")
    plan, _ = load_plan(path)
    found = plan.resolved_conditions()
    fingerprint, read = fingerprint_of(plan, found), questions_read(plan, found)
    opener = PlanOpener(plan, found, fingerprint, plan.file, read=read)
    file = tmp_path / name
    old, new = ('"value": 1', '"value": 7') if there == "another key" else ("1", "2")
    file.unlink() if there == "nothing" else file.write_text(file.read_text(encoding="utf-8").replace(old, new))
    async with AsyncExitStack() as stack:
        if not told:
            assert (await opener.open(stack, {})).environment.versions
            return
        with pytest.raises(InputError, match=told) as refused:
            await opener.open(stack, {})
    assert refused.value.hint.startswith(
        "copy the plan's folder, and what else the plan names, to the same path on each"
    )


@pytest.mark.parametrize("conditions", ["['python']", PLACEBO])
async def test_a_worker_reads_each_file_of_questions_once_before_its_first_trial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, conditions: str
) -> None:
    path = with_a_file(tmp_path, "http://e/v1")
    path.write_text(path.read_text(encoding="utf-8").replace("['python']", conditions), encoding="utf-8")
    plan, _ = load_plan(path)
    found = plan.resolved_conditions()
    opener = PlanOpener(plan, found, fingerprint_of(plan, found), plan.file, read=questions_read(plan, found))
    read, digest = list[str](), hashlib.file_digest

    def digest_of(file: Any, kind: str) -> Any:
        read.append(Path(file.name).name)
        return digest(file, kind)

    monkeypatch.setattr(hashlib, "file_digest", digest_of)
    async with AsyncExitStack() as stack:
        await opener.open(stack, {})
    assert read.count("table.csv") == 1


async def test_another_python_is_named_with_what_to_install(
    write_plan: WritePlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, _ = load_plan(write_plan({("q1", "none"): answered()}, conditions="['none']"))
    conditions = plan.resolved_conditions()
    there = fingerprint_of(plan, conditions)
    openers = (
        PlanOpener(plan, conditions, there, plan.file),
        ReplayOpener({0: PlanOfReplays(plan, conditions, there, plan.file, Lent())}, live=False),
    )
    monkeypatch.setattr(platform, "python_version", lambda: "3.12.4")
    for opener in openers:
        async with AsyncExitStack() as stack:
            with pytest.raises(InputError, match=r"its versions are others: python: 3\.12\.4 there, ") as refused:
                await opener.open(stack, {})
        assert "the same Python" in refused.value.hint


async def test_workers_work_in_the_drivers_folder_and_a_node_without_it_is_named(
    write_plan: WritePlan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, _ = load_plan(write_plan({("q1", "none"): answered()}, conditions="['none']"))
    conditions = plan.resolved_conditions()
    there = fingerprint_of(plan, conditions)
    driver, elsewhere = tmp_path / "driver", tmp_path / "elsewhere"
    driver.mkdir()
    elsewhere.mkdir()
    monkeypatch.chdir(driver)
    openers = (
        PlanOpener(plan, conditions, there, plan.file),
        ReplayOpener({0: PlanOfReplays(plan, conditions, there, plan.file, Lent())}, live=False),
    )
    for opener in openers:
        monkeypatch.chdir(elsewhere)
        async with AsyncExitStack() as stack:
            await opener.open(stack, {})
            assert Path.cwd() == driver
    monkeypatch.chdir(elsewhere)
    driver.rmdir()
    for opener in openers:
        async with AsyncExitStack() as stack:
            with pytest.raises(InputError, match=r"the command works, .*driver, cannot be entered: No such") as refused:
                await opener.open(stack, {})
        assert refused.value.code == "other_environment"


@pytest.mark.parametrize(
    ("cluster", "code", "said"),
    [
        ("address = '127.0.0.1:1'", "no_cluster", "no cluster to join at '127.0.0.1:1'"),
        ("address = 'auto'", "no_token", "this command, with RAY_AUTH_MODE='disabled', has none"),
        ("address = 'local'", "no_ray", "Ray is not installed"),
        ("address = 'auto'", "no_ray", "Ray is not installed"),
    ],
)
def test_a_cluster_that_cannot_be_had_is_refused_before_a_store_is_made(
    write_plan: WritePlan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cluster: str, code: str, said: str
) -> None:
    if code == "no_ray":
        monkeypatch.setitem(sys.modules, "ray", None)
    else:
        pytest.importorskip("ray")
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled" if code == "no_token" else "token")
    path, store = write_plan({}, conditions="['none']", extra=f"[cluster]\n{cluster}"), tmp_path / "run.sqlite"
    with pytest.raises(InputError, match=said) as refused:
        run(path, store)
    assert refused.value.code == code
    assert not store.exists()


@pytest.mark.parametrize("address", ["somewhere", "10.0.0.1:", "10.0.0.1:99999", "ray://10.0.0.1:10001", ""])
def test_an_address_that_is_none_names_the_key(write_plan: WritePlan, address: str) -> None:
    plan, _ = load_plan(write_plan({}))
    with pytest.raises(InputError, match=r"cluster\.address"):
        plan.on_cluster(address)
    assert plan.on_cluster("none").cluster is None
    assert asyncio.iscoroutinefunction(opens_of(plan))


def test_models_asked_in_batches_are_refused(chat_server: ChatServer, tmp_path: Path) -> None:
    cluster = "[cluster]\naddress = 'local'"
    path = endpoint_plan(tmp_path, chat_server.url, count=1, extra=cluster, model="batch = true")
    for asked in (
        lambda: run(path, tmp_path / "run.sqlite"),
        lambda: examine_nodes(load_plan(path)[0], "", tell=print),
    ):
        with pytest.raises(InputError, match="asked in batches cannot be on a cluster yet") as refused:
            asked()
        assert refused.value.code == "not_on_cluster"


def test_a_second_driver_of_a_store_is_refused_before_anything_is_started(
    write_plan: WritePlan, tmp_path: Path
) -> None:
    path, store = write_plan({}, conditions="['none']", extra="[cluster]\naddress = 'local'"), tmp_path / "run.sqlite"
    with DriverLock(store), pytest.raises(StoreError, match="already drives the store") as refused:
        run(path, store)
    assert refused.value.code == "driven"
