"""From a model's record to its agent: each way in which that cannot be had is told before any request."""

import asyncio
import contextvars
import importlib
import inspect
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import cached_property, partial
from typing import Any, TypeVar

from langchain_core.language_models import BaseLanguageModel
from langchain_core.runnables import Runnable, RunnableBinding
from langchain_core.tools import BaseTool
from langgraph.graph import StateGraph
from langgraph.pregel import Pregel

from toolablate.agents.endpoint.requirements import blanking_all
from toolablate.agents.langgraph_agents.discovery import Parts, is_handoff, parts_of
from toolablate.agents.langgraph_agents.threads import agents_loop, without_exit
from toolablate.agents.langgraph_agents.tools import AgentTool
from toolablate.tools.registry import of_agent
from toolablate.tools.text import one_line
from toolablate.traces.errors import InputError
from toolablate.traces.records import AgentModel, Condition

T = TypeVar("T")

_KEY_WORDS = ("api_key", "api key", "apikey", "credential", "access token")


@dataclass
class Agent:
    """An opened agent: `graph`, or else `function`. `tools` are those that conditions name; `kept` names those that
    always pass, forms of replies among them. `in_thread` is set once a part of the graph was found to have no
    coroutine, such as a middleware with plain functions alone. `blank` takes the plan's secrets out of a text."""

    model: AgentModel
    graph: Runnable[Any, Any] | None
    function: Callable[..., Any] | None
    parts: Parts
    tools: Mapping[str, AgentTool]
    kept: frozenset[str]
    in_thread: bool = False
    blank: Callable[[str], str] = str

    def is_kept(self, name: str) -> bool:
        return name in self.kept or any(fnmatchcase(name, pattern) for pattern in self.model.keep_tools)

    @cached_property
    def recursion_limit(self) -> int:
        """The agent's own, 0 where it sets none."""
        config = getattr(self.graph, "config", None)
        found = config.get("recursion_limit") if isinstance(config, Mapping) else None
        return found if isinstance(found, int) else 0


def open_agent(model: AgentModel, secrets: Iterable[str] = ()) -> Agent:
    """Nothing that is recorded of its trials has one of the `secrets`. Raises InputError; it makes no request."""
    blank = blanking_all(secrets)
    try:
        found = _made(model, _found(model))
    except InputError as error:
        error.message = blank(error.message)
        raise
    graph, function = (found, None) if isinstance(found, Runnable) else (None, found)
    if graph is not None:
        _require_messages(model, graph)
    parts = parts_of(found, vars(sys.modules[model.module]))
    kept = {name for name, tool in parts.tools.items() if is_handoff(tool)} | parts.schemas
    tools = {
        name: AgentTool(tool)
        for name, tool in parts.tools.items()
        if name not in kept and not any(fnmatchcase(name, pattern) for pattern in model.keep_tools)
    }
    return Agent(model, graph, function, parts, tools, frozenset(kept), parts.blocks, blank)


def _found(model: AgentModel) -> object:
    module, _, name = model.agent.partition(":")
    try:
        found: object = _without_loop(partial(importlib.import_module, module))
    except (Exception, SystemExit) as error:
        raise _not_imported(model, module, error) from error
    for part in name.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            there = [key for key, value in vars(found).items() if isinstance(value, Pregel | StateGraph)]
            near = get_close_matches(part, [key for key in vars(found) if not key.startswith("_")], n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"its graphs are {', '.join(there)}" if there else ""
            raise _refused(model, f"there is no {part!r} in {module!r}", hint, "unknown_agent") from None
    return found


def _not_imported(model: AgentModel, module: str, error: BaseException) -> InputError:
    told = one_line(f"{type(error).__name__}: {error}", 300)
    absent = error.name if isinstance(error, ModuleNotFoundError) else None
    if absent is not None and (module == absent or module.startswith(f"{absent}.")):
        hint = "modules are looked for in the environment and in the plan's folder"
        return _refused(model, f"there is no module {absent!r}", hint, "unknown_agent")
    if absent is not None:
        hint = f"install the package that has it (pip install {absent.partition('.')[0].replace('_', '-')}?)"
        return _refused(
            model, f"{module!r} needs the module {absent!r}, which is not installed", hint, "missing_package"
        )
    if any(word in told.lower() for word in _KEY_WORDS) or (isinstance(error, KeyError) and "KEY" in told):
        hint = "set the environment variable that it names, for instance in a file .env beside the plan"
        return _refused(model, f"it cannot be made for want of a key: {told}", hint, "missing_key")
    return _refused(model, f"cannot import {module!r}: {told}", "", "bad_agent")


def _made(model: AgentModel, found: object) -> Runnable[Any, Any] | Callable[..., Any]:
    """The graph, or the function; what makes one is called."""
    if isinstance(found, BaseLanguageModel) or (isinstance(found, type) and issubclass(found, BaseLanguageModel)):
        raise _refused(
            model, "it is a chat model, and no agent", 'write provider = "langchain" and class = "module:Class"'
        )
    if isinstance(found, BaseTool) or (isinstance(found, type) and issubclass(found, BaseTool)):
        raise _refused(model, "it is a tool, and no agent", 'name a graph, as in agent = "my_agent:graph"')
    if inspect.isfunction(found) and _required(found) in ([], ["config"]):
        # As LangGraph's own server calls what makes a graph.
        found = _called(model, partial(found, *({} for _ in _required(found))))
    if isinstance(found, StateGraph):
        found = _called(model, found.compile)
    if isinstance(found, Runnable):
        return found
    if isinstance(found, type) or not callable(found):
        kind = f"a class ({found.__name__})" if isinstance(found, type) else f"of type {type(found).__name__}"
        hint = "name a compiled graph of LangGraph, or a function that takes messages and gives its answer"
        raise _refused(model, f"it is no graph but {kind}", hint)
    return found


def _required(function: Callable[..., Any]) -> list[str]:
    parameters = inspect.signature(function).parameters.values()
    return [each.name for each in parameters if each.default is each.empty and each.kind not in (each.VAR_KEYWORD,)]


def _called(model: AgentModel, function: Callable[[], Any]) -> Any:
    try:
        made = _without_loop(function)
        if inspect.iscoroutine(made):
            # On the agents' loop, whose connections its tools go on using.
            made = asyncio.run_coroutine_threadsafe(without_exit(made), agents_loop()).result()
    except (Exception, SystemExit) as error:
        raise _not_imported(model, model.module, error) from error
    return made


def _without_loop(function: Callable[[], T]) -> T:
    """In a thread of its own where a loop runs in this one: modules and functions that make agents may run one, for
    instance to be told an MCP server's tools."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return function()
    done: Future[T] = Future()

    def run() -> None:
        try:
            done.set_result(function())
        except BaseException as error:  # noqa: BLE001 - it is the caller's
            done.set_exception(error)

    threading.Thread(target=contextvars.copy_context().run, args=(run,), name="opening an agent", daemon=True).start()
    return done.result()


def _require_messages(model: AgentModel, graph: Runnable[Any, Any]) -> None:
    inner: Any = graph
    while isinstance(inner, RunnableBinding):
        inner = inner.bound
    if not isinstance(inner, Pregel):
        return
    builder = getattr(inner, "builder", None)
    keys = set(inner.channels)
    for schema in ("input_schema", "output_schema"):
        of_schema = getattr(builder, "schemas", {}).get(getattr(builder, schema, None))
        if isinstance(of_schema, Mapping):
            keys &= set(of_schema)
    if "messages" not in keys:
        there = ", ".join(sorted(key for key in keys if not key.startswith(("__", "branch:")))) or "none"
        hint = "its input and its output need a key `messages`, as those of MessagesState have; wrap it in a function"
        raise _refused(model, f"its state has no messages; its keys are {there}", hint, "no_messages")
    if inner.interrupt_before_nodes or inner.interrupt_after_nodes:
        raise _refused(model, "it stops at nodes to ask a person", "compile it without interrupt_before and _after")


def _refused(model: AgentModel, why: str, hint: str, code: str = "bad_agent") -> InputError:
    error = InputError(f"model {model.name!r}: agent {model.agent!r}: {why}", hint=hint, code=code)
    error.key = "agent"
    return error


# Whether a condition can be run by an agent.


_NOT_OF_AGENTS = "an agent asks its models in its own way"


def require_agent_condition(model: AgentModel, condition: Condition) -> None:
    """Raises InputError where the condition wants what only toolablate's own loop can do."""
    foreign = next((use.name for use in condition.tools if of_agent(use.name) is None), None)
    if foreign is not None:
        raise InputError(
            f"conditions: {condition.name!r}: the model {model.name!r} is an agent, and {one_line(foreign, 80)!r} is no"
            " tool of an agent",
            hint="name its own tools, or `agent` for all of them; a tool of its own with this name is written"
            f" agent/{one_line(foreign, 80)}",
            code="unknown_tool",
        )
    for key, is_set in (
        ("tool_choice", condition.tool_choice not in ("auto", "none")),
        ("parallel_tool_calls", condition.parallel_tool_calls is not None),
        ("answer_schema", bool(condition.answer_schema)),
        ("reasoning", condition.reasoning != "keep"),
        ("provider_tools", bool(condition.provider_tools)),
        ("show_plots", condition.show_plots),
    ):
        if is_set:
            raise InputError(
                f"conditions: {condition.name!r} sets {key}, and the model {model.name!r} is an agent",
                hint=f"leave it out: {_NOT_OF_AGENTS}",
                code="missing_capability",
            )


def require_known_tools(agent: Agent, conditions: Iterable[Condition]) -> None:
    """Raises InputError where the agent has tools that no condition of the plan names: nobody could say what they do
    to its answers."""
    used = [use.name for condition in conditions for use in condition.tools]
    named = {name for each in used if (name := of_agent(each)) is not None}
    left: Sequence[str] = () if "" in named else sorted(set(agent.tools) - named)
    if not left:
        _require_found(agent)
        return
    raise InputError(
        f"model {agent.model.name!r}: no condition names {', '.join(map(repr, left))} of the agent"
        f" {agent.model.agent!r}",
        hint=f"its tools are {', '.join(agent.tools)}; name them in conditions, as in tools = [{left[0]!r}], or all of"
        f' them by tools = ["agent"]; what belongs to how it works is named by keep_tools = [{left[0]!r}] of the model',
        code="unknown_tool",
    )


def _require_found(agent: Agent) -> None:
    left = sorted(name for name in agent.parts.bound if not agent.is_kept(name))
    if left:
        raise InputError(
            f"model {agent.model.name!r}: the agent {agent.model.agent!r} offers its model {left[0]!r}, which cannot be"
            " found as a tool of LangChain",
            hint="make it a tool (@tool of langchain_core.tools) that the agent calls by invoke; where it belongs to"
            f" how the agent works, or its provider runs it, name it by keep_tools = [{left[0]!r}] of the model",
            code="unknown_tool",
        )
