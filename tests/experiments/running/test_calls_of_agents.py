"""Calls of an agent that reach toolablate by threads, workers and time-outs: each stands in its own trial, or fails it."""

import sys
import threading
from pathlib import Path

import pytest
from tests.experiments.agent_files import agent_plan, run, shown
from tests.experiments.cluster.test_runs import on_workers

from toolablate.agents.langgraph_agents import blocked
from toolablate.experiments.running.execution import Opens, open_executor
from toolablate.traces.records import Answer, Failure
from toolablate.traces.store import Store

ONCE = "runner = { attempts = 1 }"


@pytest.mark.parametrize(
    "code",
    [
        """
from concurrent.futures import ThreadPoolExecutor
def agent(messages):
    with ThreadPoolExecutor(2) as pool:
        said = list(pool.map(lambda _: model.invoke(messages).text, range(2)))
        given = pool.submit(multiply.invoke, {"a": 6, "b": 7}).result()
    return f"{said[0]}; Answer: {given}"
""",
        """
import asyncio
async def agent(messages):
    loop = asyncio.get_running_loop()
    said = [await loop.run_in_executor(None, model.invoke, messages) for _ in range(2)]
    given = await loop.run_in_executor(None, lambda: multiply.invoke({"a": 6, "b": 7}))
    return f"{said[0].text}; Answer: {given}"
""",
        """
import threading
def agent(messages):
    said = []
    for work in (lambda: model.invoke(messages), lambda: model.invoke(messages), lambda: multiply.invoke(dict(a=6, b=7))):
        thread = threading.Thread(target=lambda: said.append(work()))
        thread.start()
        thread.join()
    return f"{said[0].text}; Answer: {said[-1]}"
""",
    ],
)
def test_calls_of_threads_belong_to_their_trial(tmp_path: Path, code: str) -> None:
    ran = run(agent_plan(tmp_path, f"model = Rules()\n{code}", "['none', 'agent', 'agent:sham']"))
    for condition in ("none", "agent", "agent:sham"):
        assert len(ran.requests(condition)) == 2
        assert len(ran.calls(condition)) == 1
    assert shown(ran.calls("agent")) == [("multiply", "42", "ok")]
    assert ran.answer("agent").endswith("Answer: 42")
    assert "42" not in ran.answer("none") + ran.answer("agent:sham")


def test_calls_that_have_no_trial_fail_those_that_are_under_way(tmp_path: Path) -> None:
    """A worker of the module, from before any trial, serves all of them."""
    code = """
import queue, threading
from concurrent.futures import Future
asked = queue.Queue()
def serve():
    while True:
        work, given = asked.get()
        try:
            given.set_result(work())
        except BaseException as error:
            given.set_exception(error)
threading.Thread(target=serve, daemon=True).start()
model = Rules()
def agent(messages):
    for work in (lambda: multiply.invoke({"a": 6, "b": 7}), lambda: model.invoke(messages)):
        given = Future()
        asked.put((work, given))
        try:
            given.result()
        except BaseException:
            pass
    return "Answer: 7"
"""
    ran = run(agent_plan(tmp_path, code, "['agent']", extra=ONCE, name="agent_with_a_worker"))
    assert ran.failure("agent").code == "call_outside_trial"
    assert not ran.requests("agent")
    assert not sys.modules["agent_with_a_worker"].RAN


# A thread that the agent starts once, and keeps for all trials. The first lasts until the others have ended.
KEPT = """
import queue, threading, time
from concurrent.futures import Future
asked, model, first = None, Rules(), threading.Lock()
def serve():
    while True:
        work, given = asked.get()
        try:
            given.set_result(work())
        except BaseException as error:
            given.set_exception(RuntimeError(repr(error)))
def agent(messages):
    global asked
    is_first = first.acquire(blocking=False)
    if is_first:
        asked = queue.Queue()
        threading.Thread(target=serve, daemon=True).start()
    while asked is None:
        time.sleep(.01)
    given = Future()
    asked.put((lambda: multiply.invoke({"a": 6, "b": 7}), given))
    said = given.result()
    time.sleep(1.5 if is_first else 0)
    return f"Answer: {said}"
"""


def test_a_thread_that_is_kept_for_other_trials_fails_them(tmp_path: Path) -> None:
    run(agent_plan(tmp_path, KEPT, "['none', 'agent', 'agent:sham']", extra=ONCE))
    with Store(tmp_path / "store.sqlite") as opened:
        traces = list(opened.traces())
    assert {trace.outcome for trace in traces} == {"failed"}
    codes = {each.code for trace in traces for each in trace.events if isinstance(each, Failure)}
    assert "worker_outlives_trial" in codes
    assert codes <= {"worker_outlives_trial", "call_outside_trial"}


def test_threads_that_others_watch_start_in_each_trial(tmp_path: Path) -> None:
    """As Sentry and OpenTelemetry do it: the method is wrapped while an agent runs, for good."""
    code = """
import threading
model, before = Rules(), None
def agent(messages):
    global before
    if before is None:
        before = threading.Thread.start
        threading.Thread.start = lambda self: before(self)
    said = []
    thread = threading.Thread(target=lambda: said.append(model.invoke(messages).text))
    thread.start()
    thread.join()
    return "Answer: 7"
"""
    before = threading.Thread.start
    try:
        ran = run(agent_plan(tmp_path, code, "['none', 'agent']", model="concurrency = 1"))
    finally:
        threading.Thread.start = before  # type: ignore[method-assign]
    assert [len(ran.requests(condition)) for condition in ("none", "agent")] == [1, 1]


WORKER = """
import asyncio
asked = None
async def serve():
    while True:
        messages, given = await asked.get()
        try:
            given.set_result(await model.ainvoke(messages))
        except BaseException as error:
            given.set_exception(RuntimeError(repr(error)))
both, model = None, Rules()
async def agent(messages):
    global asked, both, worker
    if asked is None:
        asked, both = asyncio.Queue(), asyncio.Barrier(2)
        worker = asyncio.create_task(serve())
    await both.wait()
    given = asyncio.get_running_loop().create_future()
    await asked.put((messages, given))
    await asyncio.wait([given])
    try:
        return given.result()
    finally:
        await both.wait()
"""


def test_a_worker_that_serves_several_trials_fails_them(tmp_path: Path) -> None:
    ran = run(agent_plan(tmp_path, WORKER, "['none', { name = 'again', prompt = 'Be quick.' }]", extra=ONCE))
    with Store(tmp_path / "store.sqlite") as opened:
        codes = {each.code for trace in opened.traces() for each in trace.events if isinstance(each, Failure)}
        outcomes = {trace.outcome for trace in opened.traces()}
    assert (codes, outcomes) == ({"call_of_another_trial"}, {"failed"})
    assert ran


HELD_UP = """
import asyncio
tried = []
class Once(Rules):
    def _reply(self, messages, offered):
        if not tried:
            tried.append(1)
            raise ConnectionError("refused")
        return super()._reply(messages, offered)
model = Once()
async def agent(messages):
    try:
        return await asyncio.wait_for(model.ainvoke(messages), 0.2)
    except TimeoutError:
        return "I do not know."
"""
PACED = """
import asyncio
model = Rules()
async def agent(messages):
    try:
        return [await asyncio.wait_for(model.ainvoke(messages), 0.2) for _ in range(2)][-1]
    except TimeoutError:
        return "I do not know."
"""
SLOW = PACED.replace(
    "model = Rules()", "import time\nclass Slow(Rules):\n    def _reply(self, *_): time.sleep(0.5)\nmodel = Slow()"
)


LEFT = """
import asyncio
model = Rules()
async def agent(messages):
    asked = asyncio.create_task(model.ainvoke(messages))
    while not tried:
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.2)
    return "I do not know."
"""
CROWDED = """
import asyncio
class Endless(Rules):
    async def _agenerate(self, messages, stop=None, run_manager=None, **kwargs):
        out.set()
        await asyncio.Event().wait()
async def agent(messages):
    global out
    out = asyncio.Event()
    asked = asyncio.create_task(Endless().ainvoke(messages))
    await out.wait()
    try:
        return await asyncio.wait_for(Rules().ainvoke(messages), 0.1)
    except TimeoutError:
        return "I do not know."
"""


@pytest.mark.parametrize(
    ("code", "model", "why"),
    [
        (HELD_UP, "", "was tried again after a failure"),
        (PACED, "requests_per_minute = 6", "waited for the rate that the plan allows"),
        (LEFT.replace("model = Rules()", HELD_UP.split("async def")[0]), "", "was tried again after a failure"),
        (CROWDED, "concurrency = 1", "waited behind others"),
    ],
)
def test_an_agent_that_gives_up_what_was_held_up_has_no_answer(tmp_path: Path, code: str, model: str, why: str) -> None:
    ran = run(agent_plan(tmp_path, code, "['none']", extra="runner = { attempts = 2 }", model=model))
    failure = ran.failure("none")
    assert failure.code == "agent_gave_up"
    assert why in failure.message


RACE = """
import asyncio
class Endless(Rules):
    async def _agenerate(self, messages, stop=None, run_manager=None, **kwargs):
        await asyncio.Event().wait()
async def agent(messages):
    racing = [asyncio.create_task(each.ainvoke(messages)) for each in (Rules(), Endless(), Endless())]
    won, lost = await asyncio.wait(racing, return_when="FIRST_COMPLETED")
    for each in lost:
        each.cancel()
    return won.pop().result()
"""


@pytest.mark.parametrize("code", [RACE, RACE.replace("each.cancel()", "pass")])
@pytest.mark.parametrize("model", ["", "requests_per_minute = 6"])
def test_a_request_that_lost_a_race_is_none_that_was_given_up(tmp_path: Path, code: str, model: str) -> None:
    few = "{ name = 'few', prompt = 'Be quick.', budget = { turns = 2 } }"
    ran = run(agent_plan(tmp_path, code, f"[{few}]", extra=ONCE, model=model))
    assert (ran.answer("few"), len(ran.requests("few"))) == ("Answer: 7", 1)


def test_a_time_out_of_the_agents_own_for_a_slow_model_is_what_it_does(tmp_path: Path) -> None:
    ran = run(agent_plan(tmp_path, SLOW, "['none']", extra=ONCE))
    assert ran.answer("none") == "I do not know."
    assert [each.code for each in ran.of("none", Failure)] == ["cut_off"]


def test_a_kept_tool_lets_no_real_result_of_others_pass(tmp_path: Path) -> None:
    code = """
@tool
def task(what: str) -> str:
    \"\"\"A part of the agent.\"\"\"
    return str(multiply.invoke({"a": 6, "b": 7}))
agent = create_agent(Rules(wants=[("task", {"what": "sum"})]), [task])
"""
    ran = run(agent_plan(tmp_path, code, "['none', 'agent', 'agent:sham']", model="keep_tools = ['task']"))
    assert ran.answer("agent") == "Answer: 42"
    assert "42" not in ran.answer("none") + ran.answer("agent:sham")
    assert [each.call.name for each in ran.calls("agent:sham")] == ["multiply", "task"]
    assert [each.within for each in ran.calls("agent")] == [ran.calls("agent")[1].call.id, ""]


def test_the_last_request_closes_the_agents_own_conversation(tmp_path: Path) -> None:
    code = """
summing = Rules()
@tool
def read(page: int) -> str:
    \"\"\"Reads a page.\"\"\"
    return summing.invoke(f"Sum up page {page}.").text
agent = create_agent(Rules(wants=[("read", {"page": 1}), ("read", {"page": 2})]), [read])
"""
    conditions = "[{ name = 'few', tools = ['agent'], budget = { turns = 3 } },"
    ran = run(agent_plan(tmp_path, code, conditions + " { name = 'two', tools = ['agent'], budget = { turns = 2 } }]"))
    for name in ("few", "two"):
        last = ran.requests(name)[-1]
        assert last.purpose == "final"
        assert last.request.messages[0].content.startswith("0 times 6 times 7?")


@pytest.mark.parametrize("opens", [open_executor, on_workers(1)], ids=["here", "on a worker"])
def test_what_blocks_the_loop_does_not_wait_for_the_place_of_what_needs_it(tmp_path: Path, opens: Opens) -> None:
    code = """
import asyncio
class Slow(Rules):
    async def _agenerate(self, messages, stop=None, run_manager=None, **kwargs):
        began.set()
        await asyncio.sleep(0.05)
        return self._generate(messages)
model = Slow()
async def agent(messages):
    global began
    began = asyncio.Event()
    async def blocking():
        await began.wait()
        return model.invoke(messages)
    return (await asyncio.gather(model.ainvoke(messages), blocking()))[1]
"""
    conditions = "['none', { name = 'few', prompt = 'Be quick.', budget = { turns = 1 } }]"
    ran = run(agent_plan(tmp_path, code, conditions, extra=ONCE, model="concurrency = 1\ntimeout_seconds = 5"), opens)
    assert ran.answer("none") == "Answer: 7"
    assert len(ran.requests("none")) == 2
    assert not ran.of("none", Failure)
    # Nor for what the budget may have left by then.
    assert (ran.answer("few"), ran.of("few", Answer)[0].limit) == ("Answer: 13", "turns")


def test_an_agent_that_blocks_the_loop_of_all_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocked, "PATIENCE_SECONDS", 0.3)
    free = tmp_path / "free"
    code = f"""
import pathlib, time
model = Rules()
async def agent(messages):
    if messages[-1].text.startswith("0 times"):
        while not pathlib.Path({str(free)!r}).exists():
            time.sleep(0.01)
    return await model.ainvoke(messages)
"""
    few = "{ name = 'few', prompt = 'Be quick.', budget = { seconds = 0.5 } }"
    try:
        run(agent_plan(tmp_path, code, f"[{few}]", extra=ONCE, questions=2))
    finally:
        free.touch()
    with Store(tmp_path / "store.sqlite") as store:
        failures = [trace.events[-1] for trace in store.traces()]
    assert len(failures) == 2
    for failure in failures:
        assert isinstance(failure, Failure)
        assert failure.code == "loop_blocked"
        assert ".agent, line " in failure.message
