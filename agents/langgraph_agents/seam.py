"""Where a running agent meets toolablate: the calls of chat models and tools of LangChain, caught below all ways in
which an agent can make them.

The methods are replaced once in a process, and pass straight through where no trial is under way. They may be called
from a coroutine of any loop and from any thread but the trial's own, where no agent runs. The trial is known by the
context; a call of an agent's part that has none is made by nobody's trial, or by one that cannot be told.
"""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol, TypeVar

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatResult
from langchain_core.tools import BaseTool
from langgraph.pregel._loop import PregelLoop

from toolablate.agents.langgraph_agents.threads import give_threads_context, in_thread_of_agent, without_exit
from toolablate.agents.pacing.waits import blocking
from toolablate.tools.function import outcome_of
from toolablate.traces.errors import ModelError

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
    """A trial that watches its agent. `workers` are threads that the agent started and that made calls; `is_settled`
    tells that it has ended, and that these were looked at."""

    agent: Any
    workers: set[threading.Thread]
    is_settled: bool

    @property
    def loop(self) -> asyncio.AbstractEventLoop: ...
    async def model(self, asked: ModelAsked) -> ChatResult: ...
    async def tool(self, asked: ToolAsked) -> Any: ...
    def reach(self) -> None:
        """Notes the task that this runs in, which ends with the trial."""
        ...

    def has(self, part: BaseChatModel | BaseTool) -> bool:
        """Whether it is one of its agent's."""
        ...

    def asks_in(self, messages: Sequence[BaseMessage], *, by_text: bool) -> bool:
        """Whether its question is among the messages: the message itself, or one with the same text."""
        ...

    def fail(self, error: ModelError) -> None:
        """Ends it as failed. From its own loop."""
        ...


TRIAL: ContextVar[Watching | None] = ContextVar("trial", default=None)
INSIDE_MODEL: ContextVar[bool] = ContextVar("inside_model", default=False)
# Within a tool that a condition let run, whose own calls of others no condition acts on.
INSIDE_TOOL: ContextVar[bool] = ContextVar("inside_tool", default=False)
# The id of the call whose tool runs, "" outside of all.
WITHIN: ContextVar[str] = ContextVar("within", default="")


# The trials whose agents run.
_OPEN: set[Watching] = set()


@contextmanager
def under_way(trial: Watching) -> Iterator[None]:
    """While its agent runs."""
    install()
    token = TRIAL.set(trial)
    _OPEN.add(trial)
    try:
        yield
    finally:
        _OPEN.discard(trial)
        TRIAL.reset(token)


def require_nobodys(part: BaseChatModel | BaseTool) -> None:
    """Of a call that has no trial. Raises AgentStopped where it is an agent's that runs in one: which of them made it
    cannot be told, so that all fail."""
    if concerned := [trial for trial in tuple(_OPEN) if trial.has(part)]:
        name = part.name if isinstance(part, BaseTool) else type(part).__name__
        error = ModelError(
            f"{name!r} of the agent was called where its trial cannot be told, so that no condition could act on it and"
            " nothing would be recorded",
            hint="make threads, pools and queues where the agent is called, and not when its module is imported; while"
            " a plan runs, use its agent nowhere else in the process",
            code="call_outside_trial",
        )
        _fail_all(concerned, error)
        raise AgentStopped(error.message)


def require_own(trial: Watching, messages: Sequence[BaseMessage]) -> None:
    """Raises AgentStopped for a request in this trial's context with the question of another one that is under way:
    a worker that was started in one trial serves another. Both fail."""
    others = [other for other in tuple(_OPEN) if other is not trial]
    for by_text in (False, True):
        if trial.asks_in(messages, by_text=by_text):
            return
        if concerned := [other for other in others if other.asks_in(messages, by_text=by_text)]:
            error = ModelError(
                "a task or thread that the agent started in one trial asked a model for another one",
                hint="start workers and queues anew each time that the agent is called: what they do cannot be told"
                " apart",
                code="call_of_another_trial",
            )
            _fail_all([trial, *concerned], error)
            raise AgentStopped(error.message)


# A thread whose work is done may be there for an instant.
_GRACE_SECONDS = 1.0
_POLL_SECONDS = 0.02


async def settle(trial: Watching) -> None:
    """Of a trial whose agent has ended. A worker that the agent started, and that is still there, may have made the
    calls of other trials, in this one's context: all that are under way with this agent fail. So may have those of the
    others, which are waited for, until they are gone or their own trial is settled."""
    others = [other for other in tuple(_OPEN) if other is not trial and other.agent is trial.agent]
    theirs = [(other, thread) for other in others for thread in tuple(other.workers)]
    if await _outlive(trial.workers):
        error = ModelError(
            "a thread that the agent started called its models or tools, and is still there when the agent has ended:"
            " which trials it works for cannot be told",
            hint="end threads and pools before the agent returns, or start them anew each time that it is called",
            code="worker_outlives_trial",
        )
        sharing = [other for other in tuple(_OPEN) if other is not trial and other.agent is trial.agent]
        _fail_all([trial, *sharing], error)
    trial.is_settled = True
    for other, thread in theirs:
        while thread.is_alive() and other in _OPEN and not other.is_settled:  # noqa: ASYNC110 - a thread sets no event
            await asyncio.sleep(_POLL_SECONDS)
    # What the others asked for is done first.
    await asyncio.sleep(0)


async def _outlive(threads: set[threading.Thread]) -> bool:
    """Whether one is there yet after a while."""
    for _ in range(round(_GRACE_SECONDS / _POLL_SECONDS)):
        if not any(thread.is_alive() for thread in threads):
            return False
        await asyncio.sleep(_POLL_SECONDS)
    return True


def _fail_all(trials: Sequence[Watching], error: ModelError) -> None:
    for trial in trials:
        with suppress(RuntimeError):  # of a run that has ended meanwhile
            trial.loop.call_soon_threadsafe(trial.fail, error)


@cache
def install() -> None:
    """Replaces the methods, once."""
    _catch_models()
    _catch_tools()
    _leave_out_caches()
    give_threads_context()


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
        _watching_models(self)
        return TRIAL.get() is None and method(self, *args, **kwargs)

    return streams


def _watching_models(chat: BaseChatModel) -> Watching | None:
    if INSIDE_MODEL.get() or TRIAL.get() is not None:
        # A cache would give a trial what another got. It stays off in this process.
        vars(chat)["cache"] = False
    # A chat model that asks another one is one model; the last request has no trial any more.
    return None if INSIDE_MODEL.get() else _watching(chat)


def _watching(part: BaseChatModel | BaseTool) -> Watching | None:
    trial = TRIAL.get()
    if trial is None:
        require_nobodys(part)
    elif in_thread_of_agent():
        if trial not in _OPEN:
            require_nobodys(part)
        elif not _in_loop():
            # In a loop, a call has the context of who asked for it.
            trial.workers.add(threading.current_thread())
    return trial


def _in_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _catch_tools() -> None:
    run, arun = BaseTool.run, BaseTool.arun

    def caught(self: BaseTool, tool_input: Any, *args: Any, **kwargs: Any) -> Any:
        trial, call_id = _watching(self), kwargs.get("tool_call_id")
        if trial is None:
            return run(self, tool_input, *args, **kwargs)

        kwargs, writes = _noting_writes(kwargs)

        async def own() -> Any:
            return await _in_thread(lambda: run(self, tool_input, *args, **kwargs))

        return _wait_for(trial, lambda: trial.tool(ToolAsked(self, tool_input, call_id, own, writes)))

    async def acaught(self: BaseTool, tool_input: Any, *args: Any, **kwargs: Any) -> Any:
        trial, call_id = _watching(self), kwargs.get("tool_call_id")
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


# Across loops and threads.


def _there(here: Callable[..., Coroutine[Any, Any, T]]) -> Callable[..., Awaitable[T]]:
    """Runs it on the loop that it is called from, whose connections it may use."""
    loop = asyncio.get_running_loop()

    async def there(*args: Any) -> T:
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(without_exit(here(*args)), loop))

    return there


async def _across(trial: Watching, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(_noted(trial, work), trial.loop))


def _wait_for(trial: Watching, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Blocks until it is done; with the thread an event loop, which others of its requests may need."""
    try:
        with blocking(asyncio._get_running_loop() is not None):
            done = asyncio.run_coroutine_threadsafe(_noted(trial, work), trial.loop)
        return done.result()
    except (CancelledError, asyncio.CancelledError):
        raise AgentStopped from None


async def _noted(trial: Watching, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    trial.reach()
    return await work()
