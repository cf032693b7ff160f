"""Trials of agents of the user's own, taken up again at their events, and with recorded replies."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.experiments.agent_files import agent_plan, run, shown

from toolablate.agents.langgraph_agents import past, running
from toolablate.agents.langgraph_agents.trial import Recording
from toolablate.experiments.replay.batch import replay
from toolablate.traces.records import (
    AnswerNow,
    Drop,
    Event,
    Extend,
    Failure,
    ModelCall,
    Rebuilt,
    ReplayChange,
    Rerun,
    Say,
    ShownResult,
    Swap,
    ToolCall,
    Trace,
)
from toolablate.traces.records.conditions import Again, Budget
from toolablate.traces.store import Store, verify

TWICE = """
class Sums(Rules):
    def _reply(self, messages, offered):
        if messages[-1].type == "human" and messages[-1].text == "Think again.":
            return AIMessage("Answer: 99")
        return super()._reply(messages, offered)
agent = create_agent(Sums(wants=[PRODUCT, ("divide", {"a": 84, "b": 2})]), [multiply, divide])
"""


def _trial(store: Path, condition: str) -> str:
    with Store(store) as opened:
        return next(each.trial for each in opened.summaries() if each.condition == condition)


def _trace(store: Path, trial: str) -> Trace:
    with Store(store) as opened:
        return opened.trace(trial)


def _again(store: Path, trial: str, event: int, change: ReplayChange, *, live: bool = True) -> Trace:
    return _trace(store, replay(store, trial, event, change, live=live).trials[0])


def test_an_agent_is_taken_up_at_any_event_with_any_change(tmp_path: Path) -> None:
    run(agent_plan(tmp_path, TWICE, "['agent', {name = 'short', tools = ['agent'], budget = { tool_calls = 1 }}]"))
    store = tmp_path / "store.sqlite"
    trial = _trial(store, "agent")
    recorded = _trace(store, trial)
    kinds = [event.kind for event in recorded.events]
    assert kinds == ["model_call", "tool_call", "model_call", "tool_call", "model_call", "answer"]
    for event in range(len(kinds)):
        trace = _again(store, trial, event, Again(), live=False)
        assert (trace.outcome, trace.answer) == (recorded.outcome, recorded.answer)
        own = [each for each in trace.events if not isinstance(each, Rebuilt)]
        assert [each.kind for each in own] == kinds[event:]
    swapped = _again(store, trial, 3, Swap(content="text", text="5"))
    assert (shown(swapped.events), swapped.answer) == ([("divide", "5", "ok")], "Answer: 5")
    earlier = _again(store, trial, 4, Rerun(shown=(ShownResult(event=1, text="43"),)))
    (asked,) = [each for each in earlier.events if isinstance(each, ModelCall)]
    assert [each.content for each in asked.request.messages if each.role == "tool"] == ["43", "42.0"]
    assert _again(store, trial, 4, Say(text="Think again.")).answer == "Answer: 99"
    dropped = _again(store, trial, 3, Drop())
    assert [each.call.name for each in dropped.events if isinstance(each, ToolCall)] == ["divide"]
    (first, *_) = [each for each in dropped.events if isinstance(each, ModelCall)]
    assert [each.role for each in first.request.messages] == ["user", "assistant", "tool"]
    probe = _again(store, trial, 2, AnswerNow())
    assert [each.kind for each in probe.events] == ["model_call", "answer"]
    assert probe.answer == "Answer: 13"
    short = _trial(store, "short")
    end = len(_trace(store, short).events) - 2
    extended = _again(store, short, end, Extend(budget=Budget(tool_calls=5)))
    assert (extended.outcome, extended.answer) == ("answered", "Answer: 42.0")
    assert verify(store).ok


def test_what_an_agent_keeps_besides_its_messages_is_there_again(tmp_path: Path) -> None:
    code = """
from deepagents import create_deep_agent
class Deep(Rules):
    def _reply(self, messages, offered):
        given = [each.name for each in messages if each.type == "tool"]
        for name, args in (
            ("write_file", {"file_path": "/notes.txt", "content": "the sum is 42"}),
            ("multiply", {"a": 2, "b": 3}),
            ("read_file", {"file_path": "/notes.txt"}),
        ):
            if name not in given:
                return call(name, **args)
        return AIMessage("Answer: " + [each for each in messages if each.type == "tool"][-1].text)
agent = create_deep_agent(model=Deep(), tools=[multiply])
"""
    run(agent_plan(tmp_path, code, "['agent']"))
    store = tmp_path / "store.sqlite"
    trial = _trial(store, "agent")
    events = _trace(store, trial).events
    wrote, read = [
        next(i for i, e in enumerate(events) if isinstance(e, ToolCall) and e.call.name == name)
        for name in ("write_file", "read_file")
    ]
    assert events[wrote].to_state  # type: ignore[union-attr]
    for event in (0, wrote, wrote + 1, read):
        # A call that is made anew reads what was written.
        trace = _again(store, trial, event, Say(text="Go on.") if event == wrote + 1 else Again())
        assert "the sum is 42" in (trace.answer or ""), event


@pytest.mark.filterwarnings("ignore:create_react_agent has been moved")
def test_a_supervisor_is_taken_up_within_one_of_its_agents(tmp_path: Path) -> None:
    code = """
from langgraph_supervisor import create_supervisor
class Math(Rules):
    def _reply(self, messages, offered):
        return super()._reply([each for each in messages if each.name != "transfer_to_math"], offered)
math = create_agent(Math(wants=[PRODUCT]), [multiply, divide], name="math")
class Boss(Rules):
    def _reply(self, messages, offered):
        if "final answer now" in messages[-1].text:
            return AIMessage("Answer: 14")
        if messages[-1].type == "human":
            return call("transfer_to_math")
        return AIMessage([each for each in messages if each.type == "ai" and each.name == "math" and each.text][0].text)
agent = create_supervisor([math], model=Boss()).compile()
"""
    # What it works by, the handoff, is no call of a tool, in a replay neither.
    run(agent_plan(tmp_path, code, "[{name = 'tight', tools = ['agent'], budget = {tool_calls = 1}}]"))
    store = tmp_path / "store.sqlite"
    trial = _trial(store, "tight")
    events = _trace(store, trial).events
    place = next(i for i, each in enumerate(events) if isinstance(each, ToolCall) and each.call.name == "multiply")
    swapped = _again(store, trial, place, Swap(content="text", text="5"))
    assert swapped.answer == "Answer: 5"
    assert [each.node for each in swapped.events if isinstance(each, ModelCall)] == ["math/model", "supervisor/agent"]
    # Whoever is at work answers early: at the handoff the supervisor, at a tool of an agent this one.
    handoff = next(i for i, each in enumerate(events) if isinstance(each, ToolCall))
    early = {event: _again(store, trial, event, AnswerNow()) for event in (handoff, handoff + 1, place, place + 1)}
    assert [each.answer for each in early.values()] == ["Answer: 14", *["Answer: 13"] * 3]
    assert [[event.kind for event in each.events] for each in early.values()] == [["model_call", "answer"]] * 4
    for event in (place, len(events) - 2):
        ended = _again(store, trial, event, Again())
        assert (ended.outcome, ended.answer) == ("answered", "Answer: 42")


def test_an_agent_that_does_not_repeat_itself_says_so(tmp_path: Path) -> None:
    code = """
import itertools
drawn = itertools.count()
model = Rules(wants=[PRODUCT]).bind_tools([multiply])
def agent(messages):
    messages = [SystemMessage(f"It is the hour {next(drawn)}."), *messages]
    reply = model.invoke(messages)
    return model.invoke([*messages, reply, multiply.invoke(reply.tool_calls[0])])
"""
    run(agent_plan(tmp_path, code, "['agent']"))
    store = tmp_path / "store.sqlite"
    trace = _again(store, _trial(store, "agent"), 2, Again())
    assert trace.outcome == "failed"
    failure = trace.events[-1]
    assert isinstance(failure, Failure)
    assert failure.code == "agent_diverged"
    assert "'It is the hour 0.' and is 'It is the hour 1.'" in failure.message


@pytest.mark.filterwarnings("ignore:create_react_agent has been moved")
def test_a_supervisor_is_taken_up_at_a_handoff_and_blocks_with_ids_of_chance_are_the_same(tmp_path: Path) -> None:
    code = """
from uuid import uuid4
from langgraph_supervisor import create_supervisor
@tool
def product(a: int, b: int) -> list:
    "Multiply, as a tool of MCP gives it."
    return [{"type": "text", "text": str(a * b), "id": f"lc_{uuid4()}"}]
class Math(Rules):
    def _reply(self, messages, offered):
        return super()._reply([each for each in messages if each.name != "transfer_to_math"], offered)
math = create_agent(Math(wants=[("product", {"a": 6, "b": 7})]), [product], name="math")
class Boss(Rules):
    def _reply(self, messages, offered):
        if messages[-1].type == "human":
            return call("transfer_to_math")
        said = [each for each in messages if each.type == "ai" and each.name == "math" and each.text]
        return AIMessage(said[0].text)
agent = create_supervisor([math], model=Boss(), prompt="Route.").compile()
"""
    run(agent_plan(tmp_path, code, "['agent']"))
    store = tmp_path / "store.sqlite"
    trial = _trial(store, "agent")
    events = _trace(store, trial).events
    calls = [number for number, event in enumerate(events) if isinstance(event, ToolCall)]
    assert [events[number].call.name for number in calls] == ["transfer_to_math", "product"]  # type: ignore[union-attr]
    for event in (*calls, calls[1] + 1):
        assert _again(store, trial, event, Again()).answer == "Answer: 42"
    # The model is asked in place of the call.
    assert _again(store, trial, calls[1], AnswerNow()).answer == "Answer: 13"


def test_recorded_replies_of_an_agents_models_are_given_again(tmp_path: Path) -> None:
    code = """
class Once(Rules):
    def _reply(self, messages, offered):
        import pathlib
        if pathlib.Path(__file__).with_name("down").exists():
            raise ConnectionError("no model is asked in a replay")
        return super()._reply(messages, offered)
agent = create_agent(Once(wants=[PRODUCT]), [multiply, divide])
"""
    plan = agent_plan(tmp_path, code, "['none', 'agent']", extra="replies = { mode = 'record', file = 'r.sqlite' }")
    first = run(plan)
    (tmp_path / "down").touch()
    (tmp_path / "store.sqlite").unlink()
    plan.write_text(plan.read_text(encoding="utf-8").replace("'record'", "'replay'"), encoding="utf-8")
    again = run(plan)
    for condition in ("none", "agent"):
        assert again.answer(condition) == first.answer(condition)
        requests = [[each.request for each in ran.requests(condition)] for ran in (first, again)]
        assert requests[0] == requests[1]
        assert again.requests(condition)[0].reply.usage.input_tokens == 10


def test_equal_requests_to_several_models_of_an_agent_have_replies_of_their_own(tmp_path: Path) -> None:
    code = """
class Named(Rules):
    model: str = ""
    asked: int = 0
    api_key: str = "sk-in-a-plain-field"
    def _reply(self, messages, offered):
        self.asked += 1
        return AIMessage(f"{self.model} {self.asked}")
    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        result = super()._generate(messages, stop, run_manager, **kwargs)
        result.generations[0].message.content += f" {kwargs.get('temperature', '')}"
        return result
one, two = Named(model="one"), Named(model="two")
def agent(messages):
    said = [each.invoke(messages).text for each in (one, two, one.bind(temperature=0.5), one, one.bind(stop=["."]))]
    return f"Answer: {', '.join(said)}"
"""
    plan = agent_plan(tmp_path, code, "['none']", extra="replies = { mode = 'record', file = 'r.sqlite' }")
    # Equal requests are draws of their own.
    told = "Answer: one 1 , two 1 , one 2 0.5, one 3 , one 4 "
    assert run(plan).answer("none") == told
    (tmp_path / "store.sqlite").unlink()
    plan.write_text(plan.read_text(encoding="utf-8").replace("'record'", "'replay'"), encoding="utf-8")
    assert run(plan).answer("none") == told
    assert b"sk-in-a-plain-field" not in (tmp_path / "r.sqlite").read_bytes()


def test_placebos_of_an_agents_tools_are_results_of_the_store_itself(tmp_path: Path) -> None:
    code = """
class Each(Rules):
    def _reply(self, messages, offered):
        number = int(messages[0].text.split()[0])
        if "multiply" in offered and messages[-1].type == "human":
            return call("multiply", a=number + 2, b=42)
        return AIMessage(f"Answer: {messages[-1].text}" if messages[-1].type == "tool" else "Answer: 7")
agent = create_agent(Each(), [multiply, divide])
"""
    run(agent_plan(tmp_path, code, "['agent']", questions=2))
    store = tmp_path / "store.sqlite"
    with Store(store) as opened:
        trials = {each.question: each.trial for each in opened.summaries()}
    for question, other in (("q0", "126"), ("q1", "84")):
        trial = trials[question]
        # Also where the tool may be called: it runs only inside of its agent.
        swapped = _trace(store, replay(store, trial, 1, "placebo", live=question == "q1").trials[0])
        assert shown(swapped.events) == [("multiply", other, "ok")]
        assert swapped.answer == f"Answer: {other}"
        anew = _again(store, trial, 0, Rerun(tools=("multiply",), substitute="placebo"), live=False)
        assert shown(anew.events) == [("multiply", other, "ok")]


def _asked(trace: Trace) -> int:
    return sum(isinstance(each, ModelCall) for each in trace.events)


def test_what_a_tool_asks_a_model_is_not_asked_again_with_its_result(tmp_path: Path) -> None:
    code = """
summing = Rules()
@tool
def read(page: int) -> str:
    \"\"\"Reads a page.\"\"\"
    RAN.append(page)
    return f"{len(RAN)} {summing.invoke(f'Sum up page {page}.').text}"
agent = create_agent(Rules(wants=[("read", {"page": 1}), ("read", {"page": 2})]), [read])
"""
    run(agent_plan(tmp_path, code, "['agent']"))
    store = tmp_path / "store.sqlite"
    trial = _trial(store, "agent")
    events = _trace(store, trial).events
    kinds = [each.kind for each in events]
    assert kinds == [*["model_call", "model_call", "tool_call"] * 2, "model_call", "answer"]
    assert [each.within != "" for each in events[:-1]] == [*[False, True, False] * 2, False]  # type: ignore[union-attr]
    for event, asked in ((3, 2), (5, 1), (6, 1)):
        # A later call, which is the same, gets its result as well, and its tool asks nothing.
        trace = _again(store, trial, event, Again())
        assert (trace.outcome, _asked(trace)) == ("answered", asked), trace.events
        assert shown(trace.events) == shown(events[event:])
    # Its result is another; its tool does not run, and what it asked is not waited for.
    swapped = _again(store, trial, 5, Swap(content="text", text="5"))
    assert (swapped.answer, _asked(swapped)) == ("Answer: 5", 1)
    dropped = _again(store, trial, 5, Drop())
    assert [each.call.arguments for each in dropped.events if isinstance(each, ToolCall)] == ['{"page": 2}']


def test_requests_and_calls_at_once_get_what_was_theirs(tmp_path: Path) -> None:
    code = """
import asyncio
class Expert(Rules):
    said: str = ""
    async def _agenerate(self, messages, stop=None, run_manager=None, **kwargs):
        if self.said == "math":
            await quicker.wait()
        quicker.set()
        return ChatResult(generations=[ChatGeneration(message=AIMessage(f"{self.said} {kwargs.get('seed', '')}"))])
quicker, order = asyncio.Event(), iter([(3, 2, 1), (1, 2, 3), (2, 3, 1)])
math, law, judge = Expert(said="math"), Expert(said="law"), Rules()
async def agent(messages):
    later = next(order)
    async def one(number):
        for _ in range(5 * later[number]):
            await asyncio.sleep(0)
        return str(await divide.ainvoke({"a": number, "b": 1}))
    found = await asyncio.gather(*(one(number) for number in range(3)))
    said = await asyncio.gather(math.ainvoke(messages), law.ainvoke(messages), law.bind(seed=1).ainvoke(messages))
    await judge.ainvoke([*messages, HumanMessage("Who is right?")])
    return f"{found}: {[each.text for each in said]}"
"""
    run(agent_plan(tmp_path, code, "['agent']"))
    store = tmp_path / "store.sqlite"
    trial = _trial(store, "agent")
    recorded = _trace(store, trial)
    assert recorded.answer == "['0.0', '1.0', '2.0']: ['math ', 'law ', 'law 1']"
    calls = [each.call.arguments for each in recorded.events if isinstance(each, ToolCall)]
    assert calls[0] == '{"a": 2, "b": 1}'
    for event in (len(recorded.events) - 2, 4):
        trace = _again(store, trial, event, Again())
        assert (trace.answer, shown(trace.events)) == (recorded.answer, []), trace.events


def test_an_agent_that_leaves_a_request_out_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(past, "SPARE_SECONDS", 0.1)
    code = """
model, again = Rules(), []
def agent(messages):
    again.append(1)
    if len(again) == 1:
        model.invoke([HumanMessage("Only at first.")])
    return model.invoke(messages)
"""
    run(agent_plan(tmp_path, code, "['none']"))
    store = tmp_path / "store.sqlite"
    for event in (1, 2):
        trace = _again(store, _trial(store, "none"), event, Say(text="Go on.") if event == 2 else Again())
        failure = trace.events[-1]
        assert isinstance(failure, Failure)
        assert failure.code == "agent_diverged"
        assert "Only at first." in failure.message


def _run_by_older_code(plan: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its records do not tell which model was asked, nor within which call."""

    def older(record: Callable[[Event], None], events: list[Event]) -> Recording:
        def untold(event: Event) -> None:
            update = {"asked": "", "within": ""} if isinstance(event, ModelCall) else {"within": ""}
            record(event.model_copy(update=update) if isinstance(event, ModelCall | ToolCall) else event)

        return Recording(untold, events)

    with monkeypatch.context() as patched:
        patched.setattr(running, "Recording", older)
        run(plan)


AT_ONCE = """
import asyncio
class Expert(Rules):
    said: str = ""
    async def _agenerate(self, messages, stop=None, run_manager=None, **kwargs):
        if self.said == "math":
            await quicker.wait()
        quicker.set()
        return ChatResult(generations=[ChatGeneration(message=AIMessage(self.said))])
quicker = asyncio.Event()
math, law, judge = Expert(said="math"), Expert(said="law"), Rules()
async def agent(messages):
    said = await asyncio.gather(math.ainvoke(messages), law.ainvoke(messages))
    await judge.ainvoke([*messages, HumanMessage("Who is right?")])
    return str([each.text for each in said])
"""
IN_ORDER = AT_ONCE.replace("await quicker.wait()", "pass").replace(
    "await asyncio.gather(math.ainvoke(messages), law.ainvoke(messages))",
    "[await math.ainvoke(messages), await law.ainvoke(messages)]",
)


def test_what_older_records_do_not_tell_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(past, "SPARE_SECONDS", 0.1)
    store = tmp_path / "store.sqlite"
    _run_by_older_code(agent_plan(tmp_path, IN_ORDER, "['none']"), monkeypatch)
    for event in (1, 2):
        # In order they can be told apart.
        assert _again(store, _trial(store, "none"), event, Again()).answer == "['math', 'law']"
    store.unlink()
    _run_by_older_code(agent_plan(tmp_path, AT_ONCE, "['none']"), monkeypatch)
    for event in (1, 2):
        failure = _again(store, _trial(store, "none"), event, Again()).events[-1]
        assert isinstance(failure, Failure)
        assert (failure.code, "before requests named their model" in failure.message) == ("agent_diverged", True)
    store.unlink()
    code = """
@tool
def read(page: int) -> str:
    \"\"\"Reads a page.\"\"\"
    return Rules().invoke(f"Sum up page {page}.").text
agent = create_agent(Rules(wants=[("read", {"page": 1})]), [read])
"""
    _run_by_older_code(agent_plan(tmp_path, code, "['agent']"), monkeypatch)
    trial = _trial(store, "agent")
    for change in (Again(), Say(text="Think again.")):
        failure = _again(store, trial, 3, change).events[-1]
        assert isinstance(failure, Failure)
        assert (failure.code, "by an older version" in failure.message) == ("agent_diverged", True), failure
    assert _again(store, trial, 0, Again()).answer == "Answer: Answer: 7"
