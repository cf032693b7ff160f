"""Where a running agent meets toolablate: the calls of chat models and tools of LangChain, caught below all ways in
which an agent can make them.

The methods are replaced once in a process, and pass straight through where no trial is under way. They may be called
from a coroutine of any loop and from any thread but the trial's own, where no agent runs.
"""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol, TypeVar

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatResult
from langchain_core.tools import BaseTool
from langgraph.pregel._loop import PregelLoop

from toolablate.tools.function import outcome_of

T = TypeVar("T")


class AgentStopped(BaseException):
    """Raised inside an agent whose trial is over. No Exception: agents try again after these."""


@dataclass(frozen=True, slots=True)
class ModelAsked:
    """A request that the agent makes; `own` asks the model itself, with these messages and arguments."""

    chat: BaseChatModel
    messages: Sequence[BaseMessage]
    kwargs: Mapping[str, Any]
    own: Callable[[Sequence[BaseMessage], Mapping[str, Any]], Awaitable[ChatResult]]


@dataclass(frozen=True, slots=True)
class ToolAsked:
    """A call that the agent makes; `own` runs the tool itself. `call_id` is that of the model's call, where the agent
    gives it. `writes` fills with what the tool writes into the graph's state beside its result."""

    tool: BaseTool
    given: str | dict[str, Any]
    call_id: str | None
    own: Callable[[], Awaitable[Any]]
    writes: list[Any]


class Watching(Protocol):
    """A trial that watches its agent."""

    @property
    def loop(self) -> asyncio.AbstractEventLoop: ...
    async def model(self, asked: ModelAsked) -> ChatResult: ...
    async def tool(self, asked: ToolAsked) -> Any: ...
    def reach(self) -> None:
        """Notes the task that this runs in, which ends with the trial."""
        ...


TRIAL: ContextVar[Watching | None] = ContextVar("trial", default=None)
INSIDE_MODEL: ContextVar[bool] = ContextVar("inside_model", default=False)
INSIDE_TOOL: ContextVar[bool] = ContextVar("inside_tool", default=False)


@cache
def install() -> None:
    """Replaces the methods, once."""
    _catch_models()
    _catch_tools()
    _leave_out_caches()


def _catch_models() -> None:
    generate, agenerate = BaseChatModel._generate_with_cache, BaseChatModel._agenerate_with_cache

    def caught(self: BaseChatModel, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> Any:
        trial = _watching_models(self)
        if trial is None:
            return generate(self, messages, stop, run_manager, **kwargs)

        async def own(messages: Any, kwargs: Any) -> ChatResult:
            result: ChatResult = await _in_thread(lambda: generate(self, messages, run_manager=run_manager, **kwargs))
            return result

        kwargs = _with_stop(kwargs, stop)
        return _wait_for(trial, lambda: trial.model(ModelAsked(self, messages, kwargs, own)))

    async def acaught(
        self: BaseChatModel, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> Any:
        trial = _watching_models(self)
        if trial is None:
            return await agenerate(self, messages, stop, run_manager, **kwargs)

        async def here(messages: Any, kwargs: Any) -> ChatResult:
            return await agenerate(self, messages, run_manager=run_manager, **kwargs)

        own, kwargs = _there(here), _with_stop(kwargs, stop)
        return await _across(trial, lambda: trial.model(ModelAsked(self, messages, kwargs, own)))

    BaseChatModel._generate_with_cache = caught  # type: ignore[method-assign]
    BaseChatModel._agenerate_with_cache = acaught  # type: ignore[method-assign]
    for name in ("_should_stream", "_should_use_protocol_streaming"):
        if method := getattr(BaseChatModel, name, None):
            setattr(BaseChatModel, name, _whole(method))


def _with_stop(kwargs: dict[str, Any], stop: Any) -> dict[str, Any]:
    return kwargs if stop is None else {**kwargs, "stop": stop}


def _whole(method: Callable[..., bool]) -> Callable[..., bool]:
    """Replies come whole in a trial: what streams goes another way."""

    def streams(self: BaseChatModel, *args: Any, **kwargs: Any) -> bool:
        return TRIAL.get() is None and method(self, *args, **kwargs)

    return streams


def _watching_models(chat: BaseChatModel) -> Watching | None:
    trial = TRIAL.get()
    if trial is not None:
        # A cache would give a trial what another got. It stays off in this process.
        vars(chat)["cache"] = False
    # A chat model that asks another one is one model.
    return None if INSIDE_MODEL.get() else trial


def _catch_tools() -> None:
    run, arun = BaseTool.run, BaseTool.arun

    def caught(self: BaseTool, tool_input: Any, *args: Any, **kwargs: Any) -> Any:
        trial, call_id = TRIAL.get(), kwargs.get("tool_call_id")
        if trial is None:
            return run(self, tool_input, *args, **kwargs)

        kwargs, writes = _noting_writes(kwargs)

        async def own() -> Any:
            return await _in_thread(lambda: run(self, tool_input, *args, **kwargs))

        return _wait_for(trial, lambda: trial.tool(ToolAsked(self, tool_input, call_id, own, writes)))

    async def acaught(self: BaseTool, tool_input: Any, *args: Any, **kwargs: Any) -> Any:
        trial, call_id = TRIAL.get(), kwargs.get("tool_call_id")
        if trial is None:
            return await arun(self, tool_input, *args, **kwargs)

        kwargs, writes = _noting_writes(kwargs)

        async def here() -> Any:
            return await arun(self, tool_input, *args, **kwargs)

        own = _there(here)
        return await _across(trial, lambda: trial.tool(ToolAsked(self, tool_input, call_id, own, writes)))

    BaseTool.run = caught  # type: ignore[method-assign]
    BaseTool.arun = acaught  # type: ignore[method-assign]


def _leave_out_caches() -> None:
    """A graph's cache of what its nodes gave (`compile(cache=...)`) would give a trial what another got."""
    begin = PregelLoop.__init__

    def begun(self: PregelLoop, *args: Any, **kwargs: Any) -> None:
        begin(self, *args, **kwargs if TRIAL.get() is None else {**kwargs, "cache": None})

    PregelLoop.__init__ = begun  # type: ignore[method-assign]


# The key under which LangGraph's configuration has what writes into a graph's state.
_WRITE = "__pregel_send"


def _noting_writes(kwargs: dict[str, Any]) -> tuple[dict[str, Any], list[Any]]:
    """The arguments of a call, and a list that fills with what it writes into the graph's state by itself."""
    writes: list[Any] = []
    config = kwargs.get("config")
    held = config.get("configurable") if isinstance(config, Mapping) else None
    if not isinstance(config, Mapping) or not isinstance(held, Mapping) or not callable(write := held.get(_WRITE)):
        return kwargs, writes

    def noted(update: Any) -> Any:
        writes.append(update)
        return write(update)

    return {**kwargs, "config": {**config, "configurable": {**held, _WRITE: noted}}}, writes


async def _in_thread(function: Callable[[], T]) -> T:
    value, error = await outcome_of(function)
    if error is not None:
        raise error
    result: T = value
    return result


# Agents run on a loop of their own, so that what blocks it never keeps the trial's loop from answering.


@cache
def agents_loop() -> asyncio.AbstractEventLoop:
    """One for all agents of this process, in a thread that lasts as long: their clients keep connections."""
    loop = asyncio.new_event_loop()
    loop.set_default_executor(_OwnThreads())
    threading.Thread(target=loop.run_forever, name="agents", daemon=True).start()
    return loop


def on_agents_loop(work: Coroutine[Any, Any, T]) -> "asyncio.Future[T]":
    """Runs it there; the future is one of the loop that runs now."""
    return asyncio.wrap_future(asyncio.run_coroutine_threadsafe(_without_exit(work), agents_loop()))


async def _without_exit(work: Coroutine[Any, Any, T]) -> T:
    """An exit that a coroutine raises would end the loop, and with it all agents."""
    try:
        return await work
    except (SystemExit, KeyboardInterrupt) as error:
        raise RuntimeError(f"it ended in {type(error).__name__}") from None


def _there(here: Callable[..., Coroutine[Any, Any, T]]) -> Callable[..., Awaitable[T]]:
    """Runs it on the loop that it is called from, whose connections it may use."""
    loop = asyncio.get_running_loop()

    async def there(*args: Any) -> T:
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(_without_exit(here(*args)), loop))

    return there


async def _across(trial: Watching, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(_noted(trial, work), trial.loop))


def _wait_for(trial: Watching, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Blocks until it is done."""
    try:
        return asyncio.run_coroutine_threadsafe(_noted(trial, work), trial.loop).result()
    except (CancelledError, asyncio.CancelledError):
        raise AgentStopped from None


async def _noted(trial: Watching, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    trial.reach()
    return await work()


class _OwnThreads(ThreadPoolExecutor):
    """A thread for each call: those of agents wait for each other, and one that hangs must not keep the process."""

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        future: Future[T] = Future()

        def run() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                future.set_result(fn(*args, **kwargs))
            except BaseException as error:  # noqa: BLE001 - it is the caller's
                future.set_exception(error)

        threading.Thread(target=run, name="agent", daemon=True).start()
        return future
