"""One trial of an agent of the user's own: its graph runs, and each call of its models and tools goes through the
trial's session."""

import asyncio
import inspect
import json
import random
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    convert_to_messages,
)
from langchain_core.outputs import ChatResult
from langchain_core.runnables.config import var_child_runnable_config
from langgraph.errors import GraphRecursionError
from langgraph.types import Command
from langsmith.run_helpers import tracing_context

from toolablate.agents.chat import ChatModel, RetryPolicy
from toolablate.agents.langchain.clients import is_blocking
from toolablate.agents.langgraph_agents.opening import Agent
from toolablate.agents.langgraph_agents.requests import (
    Conversations,
    barred,
    choice_of,
    offered,
    result_of,
    results_in,
    specs_of,
    without_tools,
)
from toolablate.agents.langgraph_agents.seam import (
    BLOCKING,
    INSIDE_TOOL,
    TRIAL,
    AgentStopped,
    Errands,
    ModelAsked,
    OwnThreads,
    ToolAsked,
    install,
)
from toolablate.agents.langgraph_agents.source import ORIGINAL, Original
from toolablate.agents.langgraph_agents.tools import PENDING, Pending, SeenTools, arguments_of
from toolablate.agents.resuming import FINAL_REQUEST
from toolablate.agents.run import AgentResult
from toolablate.agents.session import NOT_ALLOWED, Tools, TrialFailed, TrialSession
from toolablate.agents.spending import Spending
from toolablate.tools.function import outcome_of
from toolablate.tools.text import one_line
from toolablate.tools.tool import ToolResult
from toolablate.traces.errors import ModelError, ToolablateError
from toolablate.traces.records import (
    Condition,
    Event,
    Failure,
    InputCut,
    Limit,
    ModelCall,
    ModelReply,
    ModelRequest,
    Outcome,
    Price,
    ToolCall,
    ToolRequest,
)


@dataclass(frozen=True, slots=True)
class _Last:
    """The last request that was answered, with its reply."""

    asked: ModelAsked
    request: ModelRequest
    reply: ModelReply
    message: BaseMessage


@dataclass(eq=False)
class AgentTrial:
    """What the seam is told of while the agent runs.

    `blocking_chat` asks where the loop stands still. `waiting` are calls without results, `answered` the numbers of
    those that went through here, by id. `limit` is what has run out, `stopped` is set when the agent has to end.
    """

    agent: Agent
    condition: Condition
    session: TrialSession
    blocking_chat: ChatModel
    loop: asyncio.AbstractEventLoop
    thread: int
    errands: Errands = field(default_factory=Errands)
    conversations: Conversations = field(default_factory=Conversations)
    waiting: list[ToolRequest] = field(default_factory=list)
    shown: dict[str, str] = field(default_factory=dict)
    limit: Limit | None = None
    failed: bool = False
    over: bool = False
    last: _Last | None = None
    wanted: ModelAsked | None = None
    in_flight: int = 0
    direct: int = 0
    tasks: "set[asyncio.Task[Any]]" = field(default_factory=set)
    stopped: asyncio.Event = field(default_factory=asyncio.Event)

    # What the seam tells.

    def reach(self) -> None:
        task = asyncio.current_task()
        if task is not None:
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)

    async def model(self, asked: ModelAsked) -> ChatResult:
        """Raises AgentStopped where there is to be no reply."""
        self._require_going_on()
        barring = self.condition.tool_choice == "none"
        kwargs = offered(asked.kwargs, self._is_offered)
        request = ModelRequest(
            messages=self.conversations.written(asked.messages),
            tools=specs_of(kwargs),
            tool_choice="none" if barring and specs_of(kwargs) else choice_of(kwargs),
        )
        self._take_results(asked.messages)
        self._refuse_unknown(asked)
        limit = self.limit or self.session.spending.reached_before_turn(self.session.worked())
        if limit is not None:
            self._stop(limit, asked)
        if barring and all(not self.agent.is_kept(spec.name) for spec in request.tools):
            kwargs = barred(asked.chat, kwargs)
        original = Original(asked.chat, partial(_ask, asked, asked.messages, kwargs))
        reply = await self._reply(original, request)
        if not isinstance(reply, ModelReply):
            self._stop(reply, asked)
        result = original.result if original.result is not None else result_of(reply)
        self._note(asked, request, reply, result)
        return result

    async def tool(self, asked: ToolAsked) -> Any:
        """What the agent is given. Raises AgentStopped; what the tool raised, where no model had called it."""
        self._require_going_on()
        called = self._called(asked)
        request = called or self._direct(asked)
        pending = Pending(asked)
        name = asked.tool.name
        self.in_flight += 1
        tokens = PENDING.set(pending), INSIDE_TOOL.set(True)
        try:
            if self.agent.is_kept(name):
                return await self._passed(pending, request)
            if name not in self.agent.tools:
                self._fail(
                    f"the agent called a tool {name!r} that it did not show before it ran, so no condition can name it",
                    "put it into a ToolNode or a list of the module, or let it pass by keep_tools of the model",
                    "unknown_tool",
                )
            return await self._run(pending, request, called=called is not None)
        finally:
            PENDING.reset(tokens[0])
            INSIDE_TOOL.reset(tokens[1])
            self.in_flight -= 1

    # Models.

    def _is_offered(self, name: str) -> bool:
        named = {spec.name for spec in self.session.specs}
        return name in named or name not in self.agent.tools

    def _refuse_unknown(self, asked: ModelAsked) -> None:
        """Fails where the model is offered what nobody knew before, and what is no form of a reply."""
        if "ls_structured_output_format" in asked.kwargs:
            return
        for spec in specs_of(asked.kwargs):
            known = spec.name in self.agent.tools or spec.name in self.agent.parts.bound
            if not known and not self.agent.is_kept(spec.name):
                self._fail(
                    f"the agent offers its model a tool {spec.name!r} that it did not show before it ran, so no"
                    " condition can name it",
                    "bind it where the agent is made; or let it pass by keep_tools of the model",
                    "unknown_tool",
                )

    async def _reply(self, original: Original, request: ModelRequest) -> ModelReply | Limit:
        token = ORIGINAL.set(original)
        self.in_flight += 1
        try:
            return await self.session.ask(request, "ask")
        except TrialFailed:
            self.failed = True
            self._end()
            raise AgentStopped from None
        finally:
            self.in_flight -= 1
            ORIGINAL.reset(token)

    def _note(self, asked: ModelAsked, request: ModelRequest, reply: ModelReply, result: ChatResult) -> None:
        self.conversations.note(reply)
        self.waiting += reply.message.tool_calls
        self.last = _Last(asked, request, reply, result.generations[0].message)

    def _take_results(self, messages: Sequence[BaseMessage]) -> None:
        """Notes results that came from elsewhere: the answer to a name that no tool has, and what a part of the agent
        answered in place of a tool."""
        names = {
            call["id"]: call["name"] for each in messages if isinstance(each, AIMessage) for call in each.tool_calls
        }
        for message in results_in(messages):
            found = next((each for each in self.waiting if each.id == message.tool_call_id), None)
            if found is None or found.name != names.get(message.tool_call_id):
                continue
            self._answered(found, str(message.text))
            if found.name in self.agent.kept | self.agent.parts.bound:
                continue
            if found.name in self.agent.tools and message.status != "error":
                self._fail(
                    f"the agent gave a result of its tool {found.name!r} that was not got by invoke or ainvoke, so that"
                    " the condition could not act on it",
                    "have the agent call its tools by invoke, or by a ToolNode",
                    "tool_bypassed",
                )
            unknown = found.name not in self.agent.tools
            result = ToolResult(
                str(message.text),
                status="invalid" if unknown else "error",
                error="unknown_tool" if unknown else "refused_by_agent",
            )
            self.session.spending.tool_calls += 1
            self.session._record_call(found, result, self.session.elapsed())

    # Tools.

    def _called(self, asked: ToolAsked) -> ToolRequest | None:
        """The call of a model that this is, the latest that has no result."""
        name, written = asked.tool.name, None if asked.call_id else _parsed(arguments_of(asked))
        for request in reversed(self.waiting):
            same = request.id == asked.call_id if asked.call_id else _parsed(request.arguments) == written
            if request.name == name and same:
                self.waiting.remove(request)
                return request
        return None

    def _direct(self, asked: ToolAsked) -> ToolRequest:
        self.direct += 1
        call_id = asked.call_id or f"direct_{self.direct}"
        return ToolRequest(id=call_id, name=asked.tool.name, arguments=arguments_of(asked))

    def _answered(self, request: ToolRequest, text: str) -> None:
        if request in self.waiting:
            self.waiting.remove(request)
        self.shown[request.id] = text

    async def _passed(self, pending: Pending, request: ToolRequest) -> Any:
        """A tool by which the agent works: it runs and is recorded, and no condition acts on it."""
        from toolablate.agents.langgraph_agents.tools import result_of as given

        at = self.session.elapsed()
        pending.raw = await pending.asked.own()
        result = given(pending.raw, pending.asked.call_id)
        self.shown[request.id] = self.session._record_call(request, result, at)
        return pending.raw

    async def _run(self, pending: Pending, request: ToolRequest, *, called: bool) -> Any:
        if self.condition.tool_choice == "none":
            (text,) = self.session.refuse_all((request,))
            pending.shown = ToolResult(text, status="invalid")
        else:
            try:
                (text,), limit = await self.session.call_all((request,))
            except TrialFailed:
                self.failed = True
                self._end()
                raise AgentStopped from None
            self.limit = self.limit or limit
            if pending.shown is None or text != pending.shown.output:
                pending.shown = ToolResult(text, status="error")
        self.shown[request.id] = text
        if pending.error is not None and not called:
            raise pending.error
        return pending.given_back()

    # The end.

    def _require_going_on(self) -> None:
        if self.over or self.failed:
            raise AgentStopped

    def _stop(self, limit: Limit, asked: ModelAsked) -> None:
        self.limit, self.wanted = limit, asked
        self._end()
        raise AgentStopped

    def _fail(self, message: str, hint: str, code: str) -> None:
        self.record_failure(ModelError(message, hint=hint, code=code))
        self._end()
        raise AgentStopped

    def record_failure(self, error: ToolablateError) -> None:
        self.failed = True
        at = self.session.elapsed()
        self.session.record(Failure.of(error, at=at, seconds=0.0, retried=False))

    def _end(self) -> None:
        self.over = True
        if threading.get_ident() == self.thread:
            self.stopped.set()
        else:
            self.loop.call_soon_threadsafe(self.stopped.set)


async def _ask(asked: ModelAsked, messages: Sequence[BaseMessage], kwargs: dict[str, Any]) -> ChatResult:
    return await asked.own(messages, kwargs)


def _parsed(arguments: str) -> Any:
    try:
        return json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments


# Where in the agent something happened.


def node_now() -> str:
    """The node that runs, behind the names of the subgraphs around it; "" outside of a graph."""
    config = var_child_runnable_config.get()
    metadata = (config or {}).get("metadata") or {}
    space = str(metadata.get("langgraph_checkpoint_ns") or metadata.get("langgraph_node") or "")
    names = [part.partition(":")[0] for part in space.split("|")]
    return "/".join(name for name in names if name and not name.isdecimal())


@dataclass(frozen=True, slots=True)
class _Recording:
    """Events with the node that they happened in, recorded by the thread of the trial's loop."""

    record: Callable[[Event], None]
    thread: int
    errands: Errands

    def __call__(self, event: Event) -> None:
        if isinstance(event, ModelCall | ToolCall):
            pending = PENDING.get()
            update: dict[str, Any] = {"node": node_now()}
            if isinstance(event, ToolCall) and pending is not None:
                update["to_state"] = pending.to_state
            event = event.model_copy(update=update)
        if threading.get_ident() == self.thread:
            self.record(event)
        else:
            self.errands.do(partial(self.record, event))


@dataclass(frozen=True, slots=True)
class _Chats:
    """The model of a trial, and the one that is asked while the loop stands still and no line can be waited in."""

    usual: ChatModel
    blocking: ChatModel

    async def complete(self, request: ModelRequest, *, seconds: float) -> ModelReply:
        chat = self.blocking if BLOCKING.get() else self.usual
        return await chat.complete(request, seconds=seconds)


# A trial from its question to its answer.


async def run_own_agent(
    *,
    agent: Agent,
    prompt: str,
    model: ChatModel,
    blocking_model: ChatModel,
    condition: Condition,
    tools: Tools,
    record: Callable[[Event], None],
    price: Price | None = None,
    retry: RetryPolicy | None = None,
    clock: Callable[[], float] = time.monotonic,
    seed: str = "",
    input_cut: InputCut | None = None,
) -> AgentResult:
    """Runs the agent until it ends, a limit of the condition's budget, or a failure for good. As `run_agent`;
    `blocking_model` is asked where the agent blocks the event loop."""
    install()
    loop, thread, errands = asyncio.get_running_loop(), threading.get_ident(), Errands()
    loop.set_default_executor(_threads(loop))
    spending = Spending(condition.budget, price)
    session = TrialSession(
        model=_Chats(model, blocking_model),
        tools=SeenTools(tools),
        condition=condition,
        record=_Recording(record, thread, errands),
        spending=spending,
        retry=retry or RetryPolicy(),
        clock=clock,
        rng=random.Random(seed),  # noqa: S311 - jitter, not a secret
        began=clock(),
        input_cut=input_cut,
    )
    trial = AgentTrial(agent, condition, session, blocking_model, loop, thread, errands)
    try:
        limit = await _to_its_end(trial, prompt)
        outcome: Outcome = "budget" if limit else "answered"
    except TrialFailed:
        outcome = "failed"
    return AgentResult(outcome, spending.usage, spending.cost_usd, session.elapsed())


def _threads(loop: asyncio.AbstractEventLoop) -> OwnThreads:
    held = getattr(loop, "_default_executor", None)
    return held if isinstance(held, OwnThreads) else OwnThreads()


async def _to_its_end(trial: AgentTrial, prompt: str) -> Limit | None:
    """The limit that ended it. Raises TrialFailed."""
    session = trial.session
    asked: list[BaseMessage] = [HumanMessage(prompt)]
    if trial.condition.prompt:
        asked.insert(0, SystemMessage(trial.condition.prompt))
    token = TRIAL.set(trial)
    try:
        with tracing_context(enabled=False):
            running = asyncio.ensure_future(_run(trial.agent, asked, session.spending.budget.turns))
    finally:
        TRIAL.reset(token)
    try:
        await _until_end(trial, running)
    finally:
        trial.over = True
        left = [task for task in (running, *trial.tasks) if not task.done()]
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
    ended = None if running.cancelled() else running.exception()
    if trial.failed:
        raise TrialFailed
    if isinstance(ended, GraphRecursionError):
        trial.limit = trial.limit or "turns"
    elif ended is not None and not isinstance(ended, AgentStopped):
        trial.record_failure(_agent_failed(trial.agent, ended))
        raise TrialFailed from ended
    limit = trial.limit or _cut(trial)
    if limit is None:
        text = _answer(running.result())
        if text is None:
            said = f"the agent {trial.agent.model.agent!r} ended without a message of its own"
            if _interrupted(running.result()):
                said = f"the agent {trial.agent.model.agent!r} stopped to ask a person (interrupt)"
                hint = "leave out what asks, such as HumanInTheLoopMiddleware, for measuring"
                trial.record_failure(ModelError(said, hint=hint, code="agent_interrupted"))
            else:
                trial.record_failure(ModelError(said, code="no_answer"))
            raise TrialFailed
        session.answer(text, None)
        return None
    session.answer(await _asked_at_last(trial, limit), limit)
    return limit


async def _run(agent: Agent, messages: list[BaseMessage], turns: int) -> Any:
    if agent.graph is None:
        assert agent.function is not None
        return await _called(agent.function, messages)
    config: Any = {
        "configurable": {"thread_id": f"toolablate-{uuid.uuid4().hex}"},
        "recursion_limit": max(agent.recursion_limit, 20 * turns + 50),
        "callbacks": [],
    }
    return await agent.graph.ainvoke({"messages": messages}, config)


async def _called(function: Callable[..., Any], messages: list[BaseMessage]) -> Any:
    first = next(iter(inspect.signature(function).parameters), "messages")
    given: Any = {"messages": messages} if first in ("state", "inputs", "input") else messages
    value, error = await outcome_of(function, given)
    if error is not None:
        raise error
    return value


async def _until_end(trial: AgentTrial, running: "asyncio.Future[Any]") -> None:
    """Until the agent ends, is to end, or its time is up while no call is under way, which has a limit of its own."""
    stopped = asyncio.ensure_future(trial.stopped.wait())
    try:
        while not running.done() and not stopped.done():
            left = max(trial.session.left(), 0.05)
            await asyncio.wait({running, stopped}, timeout=left, return_when=asyncio.FIRST_COMPLETED)
            if trial.session.left() <= 0 and not trial.in_flight:
                trial.limit = trial.limit or "seconds"
                return
    finally:
        stopped.cancel()


def _cut(trial: AgentTrial) -> Limit | None:
    """Whether the last reply, with which the agent ended, broke off at the greatest length."""
    last = trial.last
    cut = last is not None and last.reply.finish_reason == "length" and not last.reply.message.tool_calls
    return "reply_length" if cut else None


async def _asked_at_last(trial: AgentTrial, limit: Limit) -> str:
    """The text of one more reply, without tools. Raises TrialFailed."""
    if trial.wanted is not None:
        asked = trial.wanted
        messages = list(asked.messages)
    elif trial.last is not None:
        asked = trial.last.asked
        calls = trial.last.reply.message.tool_calls
        results = [ToolMessage(trial.shown.get(call.id, NOT_ALLOWED), tool_call_id=call.id) for call in calls]
        messages = [*asked.messages, trial.last.message, *results]
    else:
        trial.record_failure(ModelError("the agent used up its budget and asked no model", code="no_answer"))
        raise TrialFailed
    messages.append(HumanMessage(FINAL_REQUEST))
    kwargs = without_tools(asked.chat, asked.kwargs)
    final = ModelRequest(messages=trial.conversations.written(messages), tools=specs_of(kwargs), tool_choice="none")
    own = partial(_own_now, asked)
    token = ORIGINAL.set(Original(asked.chat, partial(own, messages, kwargs)))
    try:
        with tracing_context(enabled=False):
            _, reply = await trial.session.ask_at_last(final, limit)
    finally:
        ORIGINAL.reset(token)
    return reply.message.content


async def _own_now(asked: ModelAsked, messages: Sequence[BaseMessage], kwargs: dict[str, Any]) -> ChatResult:
    """The agent's chat model, on this loop: the coroutine or thread that asked it before is gone."""
    chat = asked.chat
    if not is_blocking(chat):
        return await chat._agenerate_with_cache(list(messages), **kwargs)
    value, error = await outcome_of(lambda: chat._generate_with_cache(list(messages), **kwargs))
    if error is not None:
        raise error
    assert isinstance(value, ChatResult)
    return value


def _agent_failed(agent: Agent, error: BaseException) -> ModelError:
    told = one_line(f"{type(error).__name__}: {error}", 300)
    return ModelError(
        f"the agent {agent.model.agent!r} failed: {told}",
        hint="its own code raised this, outside of its models and tools",
        code="agent_failed",
    )


def _interrupted(ended: Any) -> bool:
    return isinstance(ended, dict) and bool(ended.get("__interrupt__"))


def _answer(ended: Any) -> str | None:
    """The text of the last message that is the agent's; None where there is none."""
    if _interrupted(ended):
        return None
    if isinstance(ended, Command):
        ended = ended.update
    if not isinstance(ended, str | BaseMessage | list | tuple):
        held = ended.get("messages") if isinstance(ended, dict) else getattr(ended, "messages", None)
        if held is None:
            return _answer_of_message(ended) if isinstance(ended, dict) and "content" in ended else None
        ended = held
    if isinstance(ended, str):
        return ended
    if isinstance(ended, BaseMessage):
        return str(ended.text)
    try:
        messages = convert_to_messages(ended)
    except (ValueError, TypeError, NotImplementedError):
        return None
    return next((str(each.text) for each in reversed(messages) if isinstance(each, AIMessage)), None)


def _answer_of_message(message: dict[str, Any]) -> str:
    return str(convert_to_messages([message])[0].text)
