"""Plans whose model is an agent of the user's own: LangGraph graphs and functions with tools of their own."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.browser.hostile import png
from tests.experiments.agent_files import agent_plan, run, shown
from tests.servers import anthropic as api
from tests.servers.chat_server import ChatServer

from toolablate.agents.langchain.clients import close_clients
from toolablate.agents.langgraph_agents.threads import agents_loop
from toolablate.agents.pacing import line
from toolablate.experiments.plans.plan import plan_at
from toolablate.experiments.running.execution import LocalExecutor
from toolablate.reports.html.events import event_cards
from toolablate.traces.errors import InputError
from toolablate.traces.records import Failure
from toolablate.traces.store import Store

FEW = "runner = { attempts = 1 }"
AGENT = "agent = create_agent(Rules(wants=[PRODUCT]), [multiply, divide])\n"


def test_every_arm_acts_on_the_agents_own_tools(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(
        "from toolablate.tools import Call, ToolResult, intervention\n"
        "@intervention\n"
        "def doubled(result: ToolResult, call: Call) -> ToolResult:\n"
        '    """Says everything twice."""\n'
        "    from dataclasses import replace\n"
        "    return replace(result, output=result.output * 2)\n",
        encoding="utf-8",
    )
    ran = run(
        agent_plan(
            tmp_path,
            AGENT,
            """['none', 'agent', 'agent:offered', 'agent:sham', 'agent:oracle',
            {name = 'other', tools = ['divide']}, {name = 'own', tools = ['multiply'], interventions = ['own:doubled']},
            {name = 'told', tools = ['multiply'], prompt = 'Be quick.'}]""",
        )
    )
    assert ran.answer("none") == ran.answer("other") == "Answer: 7"
    assert ran.requests("none")[0].request.tools == ()
    assert [spec.name for spec in ran.requests("other")[0].request.tools] == ["divide"]
    assert shown(ran.calls("agent")) == [("multiply", "42", "ok")]
    assert ran.calls("agent")[0].call.arguments == '{"a": 6, "b": 7}'
    assert ran.answer("agent") == "Answer: 42"
    assert [event.node for event in ran.requests("agent")] == ["model", "model"]
    assert event_cards(ran.traces["agent"].events)[1].notes[0] == "tools"
    assert ran.calls("agent")[0].node == "tools"
    (barred,) = ran.calls("agent:offered")
    assert (barred.status, barred.error) == ("invalid", "not_allowed")
    assert ran.requests("agent:offered")[0].request.tool_choice == "none"
    (sham,) = ran.calls("agent:sham")
    assert sham.changes[0].intervention == "sham"
    assert sham.output in ran.answer("agent:sham")
    assert "42" in ran.calls("agent:oracle")[0].output
    (doubled,) = ran.calls("own")
    assert doubled.output == "4242"
    assert doubled.original is not None
    assert ran.answer("own") == "Answer: 4242"
    assert ran.requests("told")[0].request.messages[0].content == "Be quick."
    assert ran.requests("agent")[0].reply.usage.input_tokens == 10


def test_an_agent_is_given_the_images_of_its_question(tmp_path: Path) -> None:
    plan = agent_plan(tmp_path, AGENT, "['none', 'agent']")
    path = tmp_path / "questions.jsonl"
    rows = [json.loads(line) | {"image": f"data:image/png;base64,{png()}"} for line in path.read_text().splitlines()]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    (asked,) = run(plan).requests("none")
    assert [(each.role, len(each.images), each.items) for each in asked.request.messages] == [("user", 1, ())]


def test_a_tool_may_give_the_answer_itself_whatever_its_model_says_before(tmp_path: Path) -> None:
    code = """
@tool(return_direct=True)
def product(a: int, b: int) -> str:
    \"\"\"Multiply.\"\"\"
    return f"Answer: {a * b}"
class Chatty(Rules):
    def _reply(self, messages, offered):
        reply = super()._reply(messages, offered)
        return reply.model_copy(update={"content": "I will calculate that."}) if reply.tool_calls else reply
agent = create_agent(Chatty(wants=[("product", {"a": 6, "b": 7})]), [product])
"""
    assert run(agent_plan(tmp_path, code, "['agent']")).answer("agent") == "Answer: 42"


def test_a_key_that_an_endpoint_repeats_is_in_no_request(tmp_path: Path) -> None:
    code = """
from pydantic import SecretStr
class Echo(Rules):
    key: SecretStr = SecretStr("sk-secret-of-somebody")
    def _reply(self, messages, offered):
        reply = super()._reply(messages, offered)
        return reply.model_copy(update={"content": "with sk-secret-of-somebody"}) if reply.tool_calls else reply
agent = create_agent(Echo(wants=[PRODUCT]), [multiply, divide])
"""
    ran = run(agent_plan(tmp_path, code, "['agent']"))
    assert "sk-secret" not in str(ran.traces)
    assert ran.requests("agent")[1].request.messages[1].content.startswith("with ")


def test_secrets_of_the_plans_env_are_in_no_trace(tmp_path: Path) -> None:
    """Neither what an agent's tools raise or give, nor what its model and it itself say of that."""
    (tmp_path / ".env").write_text(
        "SERVICE_TOKEN=of-the-service-42\nPLACE=postgres://me:of-mine-42@host/db\nSERVICE=the-service-itself\n"
    )
    code = """
import os
@tool
def fetch(a: int, b: int) -> str:
    "Fetch it."
    raise ConnectionError(f"{os.environ['SERVICE']} refused {os.environ['SERVICE_TOKEN']} at {os.environ['PLACE']}")
@tool
def told() -> str:
    "Tell it."
    return os.environ["SERVICE_TOKEN"]
graph = create_agent(Rules(wants=[("fetch", {"a": 1, "b": 2}), ("told", {})]), [fetch, told])
def agent(messages):
    said = graph.invoke({"messages": messages})["messages"][-1].text
    if "of-the-service-42" in said:
        raise RuntimeError(f"it gave {os.environ['SERVICE_TOKEN']} away")
    return said
"""
    conditions = "['none', {name = 'both', tools = ['fetch', 'told']}]"
    ran = run(agent_plan(tmp_path, code, conditions, extra=FEW))
    assert ran.calls("both")[0].output == "ConnectionError: the-service-itself refused [key] at [key]"
    assert "RuntimeError: it gave [key] away" in ran.failure("both").message
    assert "of-the-service" not in str(ran.traces)
    assert "of-mine" not in str(ran.traces)


def test_a_secret_of_the_plans_env_is_in_no_answer(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("SERVICE_TOKEN=of-the-service-42\n")
    code = "import os\ndef agent(messages):\n    return f'Answer: 42 {os.environ[\"SERVICE_TOKEN\"]}'\n"
    assert run(agent_plan(tmp_path, code, "['none']")).answer("none") == "Answer: 42 [key]"


def test_an_agent_that_was_edited_is_another_model_and_its_new_code_runs(tmp_path: Path) -> None:
    code = "from {0} import said\ndef agent(messages):\n    return f'Answer: {{said}}'\n"
    ran: list[tuple[str, str]] = []
    for folder, said in (("first", 1), ("first", 2), ("second", 3)):
        place = tmp_path / folder
        place.mkdir(exist_ok=True)
        (place / f"{tmp_path.name}_said.py").write_text(f"said = {said}\n", encoding="utf-8")
        plan = agent_plan(place, code.format(f"{tmp_path.name}_said"), "['none']", name=f"{tmp_path.name}_agent")
        ran.append((run(plan).answer("none"), plan_at(plan)[0].models[0].identity()))
        (place / "store.sqlite").unlink()
    assert [answer for answer, _ in ran] == ["Answer: 1", "Answer: 2", "Answer: 3"]
    assert len({identity for _, identity in ran}) == 3


def test_a_placebo_comes_from_an_earlier_run(tmp_path: Path) -> None:
    code = """
class Asked(Rules):
    def _reply(self, messages, offered):
        if "multiply" in offered and messages[-1].type == "human":
            return call("multiply", a=int(messages[-1].text[0]), b=100)
        return super()._reply(messages, offered)
agent = create_agent(Asked(), [multiply, divide])
"""
    first = agent_plan(tmp_path, code, "['agent']", questions=3)
    run(first)
    (tmp_path / "store.sqlite").rename(tmp_path / "pilot.sqlite")
    conditions = "['agent/divide', {name = 'other', tools = ['multiply'], interventions = ['placebo']}]"
    ran = run(agent_plan(tmp_path, code, conditions, questions=3, model="[placebo]\nstore = 'pilot.sqlite'"))
    (call,) = ran.calls("other")
    assert call.changes[0].intervention == "placebo"


def test_what_an_agent_or_its_tools_do_wrong(tmp_path: Path) -> None:
    """What a tool raises is data for the model, what does not fit too, and a name that no tool has."""
    wants = "Rules(wants=[('divide', {'a': 1, 'b': 0}), ('multiply', {'a': 'x'}), ('power', {}), PRODUCT])"
    code = f"""
class Bold({wants.partition("(")[0]}):
    def _reply(self, messages, offered):
        return super()._reply(messages, [*offered, "power"])
agent = create_agent(Bold{wants.removeprefix("Rules")}, [multiply, divide])
"""
    ran = run(agent_plan(tmp_path, code, "['agent']"))
    assert ran.answer("agent") == "Answer: 42"
    found = [(each.call.name, each.status, each.error) for each in ran.calls("agent")]
    assert found == [
        ("divide", "error", "ZeroDivisionError"),
        ("multiply", "invalid", "invalid_arguments"),
        ("power", "invalid", "unknown_tool"),
        ("multiply", "ok", ""),
    ]
    assert "division by zero" in ran.requests("agent")[1].request.messages[-1].content


def test_a_budget_ends_in_one_last_request_without_tools(tmp_path: Path) -> None:
    code = "agent = create_agent(Rules(wants=[PRODUCT] * 9), [multiply, divide])\n"
    budgets = {"turns": "turns = 2", "calls": "tool_calls = 1", "tokens": "tokens = 20"}
    conditions = ", ".join(
        f"{{name = '{name}', tools = ['agent'], budget = {{ {limit} }}}}" for name, limit in budgets.items()
    )
    ran = run(agent_plan(tmp_path, code, f"[{conditions}]"))
    limits = {"turns": "turns", "calls": "tool_calls", "tokens": "tokens"}
    for name, limit in limits.items():
        assert ran.traces[name].outcome == "budget"
        assert ran.traces[name].events[-1].limit == limit  # type: ignore[union-attr]
        assert ran.answer(name) == "Answer: 13"
        last = ran.requests(name)[-1]
        assert (last.purpose, last.request.tools, last.request.tool_choice) == ("final", (), "none")
    assert len(ran.calls("calls")) == 1
    assert "no further tool calls" in ran.requests("calls")[-1].request.messages[-2].content


@pytest.mark.parametrize(
    "code",
    [
        pytest.param(
            """
model = Rules(wants=[PRODUCT])
tools = {"multiply": multiply}
def ask(state: MessagesState):
    return {"messages": [model.bind_tools([multiply, divide]).invoke(state["messages"])]}
def act(state: MessagesState):
    found = [(each["id"], tools[each["name"]].invoke(each["args"])) for each in state["messages"][-1].tool_calls]
    return {"messages": [ToolMessage(str(given), tool_call_id=each) for each, given in found]}
def more(state: MessagesState):
    return "act" if state["messages"][-1].tool_calls else END
graph = StateGraph(MessagesState)
graph.add_node("ask", ask); graph.add_node("act", act)
graph.add_edge(START, "ask"); graph.add_conditional_edges("ask", more); graph.add_edge("act", "ask")
agent = graph.compile()
""",
            id="nodes of the user's own, plain",
        ),
        pytest.param(
            """
model = Rules(wants=[PRODUCT]).bind_tools([multiply, divide])
async def ask(state: MessagesState):
    return {"messages": [model.invoke(state["messages"])]}
async def act(state: MessagesState):
    each = state["messages"][-1].tool_calls[0]
    return {"messages": [multiply.invoke(each)]}
graph = StateGraph(MessagesState)
graph.add_node("ask", ask); graph.add_node("act", act)
graph.add_edge(START, "ask"); graph.add_edge("act", "ask")
graph.add_conditional_edges("ask", lambda state: "act" if state["messages"][-1].tool_calls else END)
agent = graph.compile()
""",
            id="coroutines that block",
        ),
        pytest.param(
            """
model = Rules(wants=[PRODUCT]).bind_tools([multiply, divide])
def agent(messages):
    messages = [*messages, model.invoke(messages)]
    while messages[-1].tool_calls:
        messages += [multiply.invoke(each) for each in messages[-1].tool_calls]
        messages.append(model.invoke(messages))
    return messages[-1].text
""",
            id="a function",
        ),
        pytest.param(
            """
model = Rules(wants=[PRODUCT]).bind_tools([multiply, divide])
async def agent(messages):
    reply = None
    async for reply in model.astream(messages): pass
    if reply.tool_calls:
        result = await multiply.ainvoke(reply.tool_calls[0])
        return [*messages, reply, result, await model.ainvoke([*messages, reply, result])]
    return [*messages, reply]
""",
            id="a coroutine function",
        ),
        pytest.param(
            """
import asyncio
inner = create_agent(Rules(wants=[PRODUCT]), [multiply, divide])
def agent(messages):
    return asyncio.run(inner.ainvoke({"messages": messages}))
""",
            id="a loop of its own",
        ),
        pytest.param(
            """
inner = create_agent(Rules(wants=[PRODUCT]), [multiply, divide])
def solve(state: MessagesState):
    return {"messages": inner.invoke(state)["messages"][-1:]}
graph = StateGraph(MessagesState)
graph.add_node("solve", solve); graph.add_edge(START, "solve")
def agent():
    return graph
""",
            id="a plain node with an agent, made by a function",
        ),
        pytest.param(
            """
inner = create_agent(Rules(wants=[PRODUCT]), [multiply, divide])
async def agent(messages):
    return inner.invoke({"messages": messages})
""",
            id="a coroutine that blocks on a graph, whose tools run in threads",
        ),
        pytest.param(
            """
from langchain.agents.middleware import wrap_tool_call
@wrap_tool_call
def passing(request, handler):
    return handler(request)
agent = create_agent(Rules(wants=[PRODUCT]), [multiply, divide], middleware=[passing])
""",
            id="a middleware without a coroutine",
        ),
        pytest.param(
            """
async def ask(state: MessagesState):
    import threading
    reply = await Rules(wants=[PRODUCT]).bind_tools([multiply, divide]).ainvoke(state["messages"])
    if threading.current_thread().name == "agents":
        raise NotImplementedError("no coroutine")
    return {"messages": [reply]}
def asked(state: MessagesState):
    return {"messages": [Rules(wants=[PRODUCT]).bind_tools([multiply, divide]).invoke(state["messages"])]}
from langchain_core.runnables import RunnableLambda
graph = StateGraph(MessagesState)
graph.add_node("ask", RunnableLambda(asked, afunc=ask)); graph.add_node("act", ToolNode([multiply, divide]))
graph.add_edge(START, "ask"); graph.add_edge("act", "ask")
graph.add_conditional_edges("ask", lambda state: "act" if state["messages"][-1].tool_calls else END)
agent = graph.compile()
""",
            id="a graph that turns out to have no coroutine",
        ),
    ],
)
def test_agents_in_whatever_way_they_call(tmp_path: Path, code: str) -> None:
    ran = run(agent_plan(tmp_path, code, "['none', 'agent', 'agent:sham']"))
    assert ran.answer("none") == "Answer: 7"
    assert shown(ran.calls("agent")) == [("multiply", "42", "ok")]
    assert ran.answer("agent") == "Answer: 42"
    assert ran.answer("agent:sham") == f"Answer: {ran.calls('agent:sham')[0].output}"
    assert len(ran.requests("agent")) == 2


# Agents of packages that nobody here wrote.


@pytest.mark.filterwarnings("ignore:create_react_agent has been moved")
def test_langgraph_supervisor(tmp_path: Path) -> None:
    code = """
from langgraph_supervisor import create_supervisor
class Math(Rules):
    def _reply(self, messages, offered):
        return super()._reply([each for each in messages if each.name != "transfer_to_math"], offered)
math = create_agent(Math(wants=[PRODUCT]), [multiply, divide], name="math")
class Boss(Rules):
    def _reply(self, messages, offered):
        if messages[-1].type == "human":
            return call("transfer_to_math")
        said = [each for each in messages if each.type == "ai" and each.name == "math" and each.text]
        return AIMessage(said[0].text)
agent = create_supervisor([math], model=Boss()).compile()
"""
    ran = run(agent_plan(tmp_path, code, "['none', {name = 'tools', tools = ['multiply', 'divide']}, 'agent:sham']"))
    assert ran.answer("none") == "Answer: 7"
    assert ran.answer("tools") == "Answer: 42"
    assert [each.call.name for each in ran.calls("tools")] == ["transfer_to_math", "multiply"]
    assert [each.node for each in ran.requests("tools")] == [
        "supervisor/agent",
        "math/model",
        "math/model",
        "supervisor/agent",
    ]
    assert ran.calls("tools")[1].node == "math/tools"
    assert ran.calls("agent:sham")[1].changes


def test_langgraph_swarm(tmp_path: Path) -> None:
    code = """
from langgraph_swarm import create_handoff_tool, create_swarm
from langgraph.checkpoint.memory import InMemorySaver
host = create_agent(Rules(wants=[("transfer_to_math", {})]), [create_handoff_tool(agent_name="math")], name="host")
class Late(Rules):
    def _reply(self, messages, offered):
        return super()._reply([each for each in messages if getattr(each, "name", "") != "transfer_to_math"], offered)
math = create_agent(Late(wants=[PRODUCT]), [multiply, create_handoff_tool(agent_name="host")], name="math")
agent = create_swarm([host, math], default_active_agent="host").compile(checkpointer=InMemorySaver())
"""
    ran = run(agent_plan(tmp_path, code, "['none', 'agent', 'agent:offered']"))
    assert ran.answer("none") == "Answer: 7"
    assert ran.answer("agent") == "Answer: 42"
    assert [each.status for each in ran.calls("agent:offered")] == ["ok", "invalid"]


def test_deepagents(tmp_path: Path) -> None:
    code = """
from deepagents import create_deep_agent
class Deep(Rules):
    def _reply(self, messages, offered):
        given = {each.name for each in messages if each.type == "tool"}
        for name, args in (
            ("write_file", {"file_path": "/notes.txt", "content": "42"}),
            ("read_file", {"file_path": "/notes.txt"}),
        ):
            if name in offered and name not in given:
                return call(name, **args)
        last = [each for each in messages if each.type == "tool"]
        return AIMessage("Answer: " + last[-1].text if last else "Answer: 7")
agent = create_deep_agent(model=Deep(), tools=[multiply])
"""
    conditions = """['none', {name = 'files', tools = ['multiply', 'write_file', 'read_file']},
    {name = 'sham', tools = ['agent'], interventions = [{name = 'sham', options = {tools = ['read_file']}}]}]"""
    ran = run(agent_plan(tmp_path, code, conditions))
    assert ran.answer("none") == "Answer: 7"
    assert [spec.name for spec in ran.requests("none")[0].request.tools] == []
    assert [each.call.name for each in ran.calls("files")] == ["write_file", "read_file"]
    assert "42" in ran.answer("files")
    assert "42" not in ran.answer("sham")


# What is refused.


@pytest.mark.parametrize(
    ("code", "conditions", "said", "wrong"),
    [
        (AGENT, "['none', {name = 'm', tools = ['multiply']}]", "no condition names 'divide'", "unknown_tool"),
        (AGENT, "['agent', {name = 'm', tools = ['multply']}]", "no tool 'multply'", "unknown_tool"),
        (AGENT, "['agent', 'python']", "'python' is no tool of an agent", "unknown_tool"),
        (
            AGENT,
            "[{name = 'a', tools = ['agent'], tool_choice = 'required'}]",
            "sets tool_choice",
            "missing_capability",
        ),
        ("agent = Rules()\n", "['none']", "it is a chat model", "bad_agent"),
        ("agent = multiply\n", "['none']", "it is a tool", "bad_agent"),
        ("class agent: pass\n", "['none']", "it is no graph but a class", "bad_agent"),
        ("agnt = 1\n", "['none']", "there is no 'agent'", "unknown_agent"),
        ("import os\nos.environ['NO_SUCH_API_KEY']\n", "['none']", "want of a key", "missing_key"),
        ("import no_such_package\n", "['none']", "needs the module 'no_such_package'", "missing_package"),
        (
            """
from typing import TypedDict
class Told(TypedDict):
    question: str
    answer: str
graph = StateGraph(Told)
graph.add_node("n", lambda state: {"answer": "1"})
graph.add_edge(START, "n")
agent = graph.compile()
""",
            "['none']",
            "its keys are answer, question",
            "no_messages",
        ),
    ],
)
def test_what_is_refused_before_any_request(tmp_path: Path, code: str, conditions: str, said: str, wrong: str) -> None:
    with pytest.raises(InputError) as refused:
        run(agent_plan(tmp_path, code, conditions))
    assert refused.value.code == wrong
    assert said in refused.value.message
    assert not (tmp_path / "store.sqlite").exists()


@pytest.mark.parametrize(
    ("code", "wrong"),
    [
        ("def agent(messages):\n    raise RuntimeError('lost')\n", "agent_failed"),
        ("def agent(messages):\n    return messages\n", "no_answer"),
        ("def agent(messages):\n    return ''\n", "empty_reply"),
        ("async def agent(messages):\n    raise SystemExit(1)\n", "agent_failed"),
        ("async def agent(messages):\n    raise BaseException('of a compiled library')\n", "agent_failed"),
        (
            "class Panics(Rules):\n    async def _agenerate(self, *given, **more): raise BaseException('of a library')\n"
            "agent = create_agent(Panics(), [])\n",
            "agent_failed",
        ),
        (
            "class Down(Rules):\n    def _reply(self, messages, offered): raise ConnectionError('down')\n"
            "agent = create_agent(Down(), [])\n",
            "disconnected",
        ),
        (
            "from langgraph.types import interrupt\n"
            "def ask(state: MessagesState): return {'messages': [AIMessage(interrupt('which?'))]}\n"
            "graph = StateGraph(MessagesState)\ngraph.add_node('ask', ask)\ngraph.add_edge(START, 'ask')\n"
            "agent = graph.compile()\n",
            "agent_interrupted",
        ),
        (
            "def agent(messages):\n    circle = {}\n    circle['in'] = circle\n"
            "    return {'structured_response': circle}\n",
            "agent_failed",
        ),
        (
            "class Bad:\n    @property\n    def messages(self): raise ValueError('none')\n"
            "def agent(messages):\n    return Bad()\n",
            "agent_failed",
        ),
        (
            "def agent(messages):\n    tools = [{'type': 'web_search'}]\n"
            "    return Rules().bind(tools=tools, ls_structured_output_format={}).invoke(messages)\n",
            "unknown_tool",
        ),
        (
            "def later():\n    @tool\n    def late(x: int) -> int:\n        'Late.'\n        return x\n    return late\n"
            "def agent(messages):\n    return Rules(wants=[]).bind_tools([later()]).invoke(messages)\n",
            "unknown_tool",
        ),
        (
            "def agent(messages):\n    model = Rules(wants=[PRODUCT]).bind_tools([multiply])\n"
            "    reply = model.invoke(messages)\n    given = multiply.func(6, 7)\n"
            "    return model.invoke([*messages, reply, ToolMessage(str(given), tool_call_id='multiply_0')])\n",
            "tool_bypassed",
        ),
    ],
)
def test_what_fails_in_a_trial_says_why(tmp_path: Path, code: str, wrong: str) -> None:
    conditions = "['agent']" if "multiply" in code else "['none']"
    ran = run(agent_plan(tmp_path, code, conditions, extra="runner = { attempts = 1 }"))
    assert ran.failure(conditions[2:-2]).code == wrong


def test_what_is_no_exception_of_python_costs_its_trial_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the panic of a compiled library, wherever it is raised."""

    async def panics(*given: object) -> None:
        raise BaseException("of a compiled library")

    monkeypatch.setattr(LocalExecutor, "run", panics)
    ran = run(agent_plan(tmp_path, "def agent(messages):\n    return 'so'\n", "['none']"))
    assert ran.failure("none").code == "internal_error"


def test_a_tool_that_a_provider_runs_says_how_it_passes(tmp_path: Path) -> None:
    code = """
class Searching(Rules):
    def bind_tools(self, tools, **kwargs): return self.bind(tools=tools, **kwargs)
    def _generate(self, messages, stop=None, run_manager=None, **kwargs): return super()._generate(messages)
agent = create_agent(Searching(), [{"google_search": {}}])
"""
    failure = run(agent_plan(tmp_path, code, "['none']", extra="runner = { attempts = 1 }")).failure("none")
    assert failure.code == "unknown_tool"
    assert "which its provider runs" in failure.message
    assert 'keep_tools = ["google_search"]' in failure.message
    assert "bind it where" not in failure.message
    (tmp_path / "store.sqlite").unlink()
    kept = run(agent_plan(tmp_path, code, "['none']", model="keep_tools = ['google_search']"))
    assert kept.answer("none") == "Answer: 7"


def test_an_agent_whose_endpoint_is_not_there_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One trial says why; those that waited for their turn are released, also where an agent catches all errors."""
    monkeypatch.setattr(line, "FIRST_BACKOFF_SECONDS", 0.01)
    code = """
import httpx
class Away(Rules):
    def _reply(self, messages, offered): raise httpx.ConnectError("refused")
graph = create_agent(Away(), [])
async def agent(messages):
    try:
        return await graph.ainvoke({"messages": messages})
    except Exception as error:
        return f"Answer: {error}"
"""
    run(agent_plan(tmp_path, code, "['none']", questions=12))
    with Store(tmp_path / "store.sqlite") as store:
        (ended,) = [trace.events[-1] for trace in store.traces()]
    assert isinstance(ended, Failure)
    assert ended.code == "unreachable"


def test_tools_are_taken_out_of_the_form_of_any_provider() -> None:
    from langchain_anthropic import ChatAnthropic
    from langchain_core.tools import tool
    from langchain_google_genai import ChatGoogleGenerativeAI

    from toolablate.agents.langgraph_agents.requests import offered, tool_names_of

    @tool
    def one(a: int) -> int:
        """One."""
        return a

    @tool
    def two(b: int) -> int:
        """Two."""
        return b

    forms = [
        ChatAnthropic(model="c", api_key="k").bind_tools([one, two]).kwargs,  # type: ignore[attr-defined,call-arg]
        ChatGoogleGenerativeAI(model="g", api_key="k").bind_tools([one, two]).kwargs,  # type: ignore[attr-defined]
        {
            "toolConfig": {
                "tools": [{"toolSpec": {"name": each, "inputSchema": {"json": {}}}} for each in ("one", "two")]
            }
        },
    ]
    for kwargs in forms:
        assert tool_names_of(kwargs) == ["one", "two"]
        assert tool_names_of(offered(kwargs, lambda name: name == "two")) == ["two"]
        assert offered(kwargs, lambda name: True) == kwargs
        assert tool_names_of(offered(kwargs, lambda name: False)) == []
        assert "one" not in json.dumps(offered(kwargs, lambda name: name == "two"), default=str)
    google = ChatGoogleGenerativeAI(model="g", api_key="k")
    for own in ({"google_search": {}}, {"code_execution": {}}):
        (name,) = own
        for kwargs in (google.bind_tools([own]).kwargs, google.bind_tools([one, own]).kwargs, {"tools": [own]}):  # type: ignore[attr-defined]
            assert name in tool_names_of(kwargs)
            assert name not in tool_names_of(offered(kwargs, lambda found: found == "one"))
            assert tool_names_of(offered(kwargs, lambda found: found != "one")) == [name]


KEY = "sk-of-the-test-0123456789"


def test_an_agent_that_asks_anthropics_api(
    tmp_path: Path, chat_server: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)

    def decide(body: dict[str, Any]) -> Any:
        results = [
            block
            for message in body["messages"]
            if isinstance(message["content"], list)
            for block in message["content"]
            if block["type"] == "tool_result"
        ]
        if "final answer now" in json.dumps(body["messages"][-1]):
            return api.message(api.text("Answer: 13"))
        if results:
            return api.message(api.text(f"Answer: {results[-1]['content']}"))
        if body.get("tools") and body.get("tool_choice") != {"type": "none"}:
            return api.message(api.thinking("A tool.", "signed"), api.tool_use("multiply", {"a": 6, "b": 7}))
        return api.message(api.text("Answer: 7"))

    chat_server.answers(decide)
    code = f"""
from langchain_anthropic import ChatAnthropic
model = ChatAnthropic(model="claude-x", base_url="{chat_server.address}", max_retries=0)
agent = create_agent(model, [multiply, divide])
"""
    conditions = "['none', 'agent', 'agent:offered', {name = 'short', tools = ['agent'], budget = { turns = 1 }}]"
    price = "price = { input = 3, output = 15 }"
    ran = run(agent_plan(tmp_path, code, conditions, model=price, name="asks_anthropic"))
    closing = close_clients(sys.modules["asks_anthropic"].model)
    asyncio.run_coroutine_threadsafe(closing, agents_loop()).result(30)
    answers = {name: ran.answer(name) for name in ran.traces}
    assert answers == {
        "none": "Answer: 7",
        "agent": "Answer: 42",
        "agent:offered": "Answer: 7",
        "short": "Answer: 13",
    }
    assert ran.requests("agent")[0].reply.message.reasoning == "A tool."
    assert ran.requests("agent")[1].request.messages[1] == ran.requests("agent")[0].reply.message
    assert ran.traces["agent"].cost_usd
    assert sum("tools" not in body for body in chat_server.requests) == 1
    last = next(body for body in chat_server.requests if "final answer now" in json.dumps(body["messages"][-1]))
    assert last["tool_choice"] == {"type": "none"}
    assert KEY.encode() not in (tmp_path / "store.sqlite").read_bytes()
