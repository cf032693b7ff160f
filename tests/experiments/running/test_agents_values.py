"""What agents of the user's own keep, ask at once and end with: caches, budgets, values, threads, and tools that a server
tells of."""

import sys
from pathlib import Path

from langchain_core.caches import InMemoryCache
from langchain_core.globals import set_llm_cache
from tests.experiments.agent_files import agent_plan, run, shown

from toolablate.traces.records import Answer
from toolablate.traces.store import Store

COUNTING = """
import itertools
from langgraph.cache.memory import InMemoryCache
from langgraph.types import CachePolicy
COUNT = itertools.count(1)
class Counting(Rules):
    def _reply(self, messages, offered):
        return AIMessage(f"Answer: {next(COUNT)}")
model = Counting(cache=True)
def ask(state: MessagesState):
    return {"messages": [model.invoke(state["messages"])]}
graph = StateGraph(MessagesState)
graph.add_node("ask", ask, cache_policy=CachePolicy(key_func=lambda state: "one"))
graph.add_edge(START, "ask")
agent = graph.compile(cache=InMemoryCache())
"""


def answers(folder: Path) -> list[str]:
    with Store(folder / "store.sqlite") as store:
        return sorted(each.text for trace in store.traces() for each in trace.events if isinstance(each, Answer))


def test_no_cache_gives_a_trial_what_another_got(tmp_path: Path) -> None:
    set_llm_cache(InMemoryCache())
    try:
        run(agent_plan(tmp_path, COUNTING, "['none']", extra="repeats = 3"))
        assert answers(tmp_path) == ["Answer: 1", "Answer: 2", "Answer: 3"]
        (tmp_path / "store.sqlite").unlink()
        name = f"chat_{tmp_path.name}"
        plain = COUNTING.replace("(cache=True)", "()")
        plan = agent_plan(tmp_path, plain, "['none']", extra="repeats = 3", name=name)
        own = f"provider = 'langchain'\nclass = '{name}:Counting'"
        plan.write_text(plan.read_text(encoding="utf-8").replace(f"agent = '{name}:agent'", own), encoding="utf-8")
        run(plan)
        assert answers(tmp_path) == ["Answer: 1", "Answer: 2", "Answer: 3"]
    finally:
        set_llm_cache(None)


def test_requests_that_are_made_at_once_are_held_to_the_budget_and_the_last_has_their_stop(tmp_path: Path) -> None:
    code = """
import asyncio
STOPS = []
class Stopping(Rules):
    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        STOPS.append(stop)
        return super()._generate(messages, stop, run_manager, **kwargs)
async def agent(messages):
    model = Stopping().bind(stop=["."])
    said = await asyncio.gather(*(model.ainvoke([*messages, HumanMessage(str(n))]) for n in range(6)))
    return said[0]
"""
    conditions = "['none', {name = 'short', tools = [], budget = { turns = 2 }}, {name = 'few', tools = [], budget = { tokens = 20 }}]"
    ran = run(agent_plan(tmp_path, code, conditions, name=f"stopping_{tmp_path.name}"))
    assert [each.purpose for each in ran.requests("none")] == ["ask"] * 6
    for condition in ("short", "few"):
        assert ran.traces[condition].outcome == "budget"
        assert [each.purpose for each in ran.requests(condition)] == ["ask", "ask", "final"]
        assert ran.answer(condition) == "Answer: 13"
    assert sys.modules[f"stopping_{tmp_path.name}"].STOPS == [["."]] * 12


def test_values_are_the_agents_own_and_recorded_as_texts(tmp_path: Path) -> None:
    code = """
@tool
def several(n: int):
    "Numbers."
    yield from range(n)
@tool
def raw(n: int) -> bytes:
    "Bytes."
    return b"\\xff\\x00"
def agent(messages):
    total, held = sum(several.invoke({"n": 5})), len(raw.invoke({"n": 1}))
    return {"structured_response": {"answer": f"{total} {held} \\ud800"}}
"""
    ran = run(agent_plan(tmp_path, code, "['agent']"))
    assert shown(ran.calls("agent")) == [("several", '"(generator)"', "ok"), ("raw", '"_wA="', "ok")]
    assert ran.answer("agent").endswith("Answer: 10 2 \ufffd")


def test_a_trial_leaves_no_thread_behind_and_tokens_that_no_reply_tells_are_unknown(tmp_path: Path) -> None:
    code = """
from langgraph.checkpoint.memory import InMemorySaver
saver = InMemorySaver()
class Partly(Rules):
    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        result = super()._generate(messages, stop, run_manager, **kwargs)
        if messages[-1].type == "tool":
            result.generations[0].message.usage_metadata = None
        return result
agent = create_agent(Partly(wants=[PRODUCT]), [multiply, divide], checkpointer=saver)
"""
    ran = run(agent_plan(tmp_path, code, "['none', 'agent']", name=f"saving_{tmp_path.name}"))
    assert ran.answer("agent") == "Answer: 42"
    assert not sys.modules[f"saving_{tmp_path.name}"].saver.storage
    assert ran.traces["none"].usage.output_tokens == 5
    assert ran.traces["agent"].usage.output_tokens is None


def test_tools_that_a_server_tells_of_are_asked_for_where_the_agent_is_made(tmp_path: Path) -> None:
    code = """
import asyncio
async def told():
    await asyncio.sleep(0)
    return [multiply, divide]
TOOLS = asyncio.run(told())
LOOPS = []
async def agent():
    LOOPS.append(asyncio.get_running_loop())
    return create_agent(Rules(wants=[PRODUCT]), await told())
"""
    ran = run(agent_plan(tmp_path, code, "['none', 'agent']"))
    assert ran.answer("none") == "Answer: 7"
    assert ran.answer("agent") == "Answer: 42"
