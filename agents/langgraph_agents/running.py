"""One trial of an agent of the user's own, from its question to its answer."""

import asyncio
import inspect
import json
import random
import time
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    convert_to_messages,
)
from langchain_core.outputs import ChatResult
from langchain_core.runnables import RunnableBinding
from langgraph.errors import GraphRecursionError
from langgraph.types import Command
from langsmith.run_helpers import tracing_context
from pydantic_core import to_jsonable_python

from toolablate.agents.chat import ChatModel, RetryPolicy
from toolablate.agents.langchain.clients import is_blocking
from toolablate.agents.langchain.messages import written_message
from toolablate.agents.langgraph_agents.blocked import require_loop
from toolablate.agents.langgraph_agents.opening import Agent
from toolablate.agents.langgraph_agents.past import Past, in_place_of, sent
from toolablate.agents.langgraph_agents.requests import Conversations, specs_of, without_tools
from toolablate.agents.langgraph_agents.seam import AgentStopped, settle, under_way
from toolablate.agents.langgraph_agents.source import ORIGINAL, Original, identity_of
from toolablate.agents.langgraph_agents.threads import on_agents_loop
from toolablate.agents.langgraph_agents.tools import SeenTools
from toolablate.agents.langgraph_agents.trial import AgentTrial, Recording
from toolablate.agents.pacing import LetGo
from toolablate.agents.resuming import FINAL_REQUEST
from toolablate.agents.run import AgentResult
from toolablate.agents.session import LEFT_OUT, NOT_EXECUTED, Tools, TrialFailed, TrialSession, with_answer_line
from toolablate.agents.spending import Spending, worked_seconds
from toolablate.tools import Toolset
from toolablate.tools.function import outcome_of
from toolablate.tools.text import one_line
from toolablate.traces.errors import ModelError
from toolablate.traces.records import (
    Condition,
    Event,
    InputCut,
    Limit,
    Message,
    ModelRequest,
    Outcome,
    Picture,
    Price,
    ToolCall,
    clean_text,
)


async def run_own_agent(
    *,
    agent: Agent,
    prompt: str,
    images: tuple[Picture, ...] = (),
    model: ChatModel,
    condition: Condition,
    tools: Tools,
    record: Callable[[Event], None],
    price: Price | None = None,
    retry: RetryPolicy | None = None,
    clock: Callable[[], float] = time.monotonic,
    seed: str = "",
    input_cut: InputCut | None = None,
    past: Past | None = None,
) -> AgentResult:
    """Runs the agent until it ends, a limit of the condition's budget, or a failure for good. As `run_agent`;
    with a `past` it goes on from there as `resume_agent` does. Raises LetGo as a model does."""
    events: list[Event] = []
    spending = Spending(condition.budget, price)
    before = past.start.before if past else ()
    # As in the trial itself, what an agent works by is no call of a tool.
    kept = [each for each in before if isinstance(each, ToolCall) and agent.is_kept(each.call.name)]
    spending.charge_before([each for each in before if each not in kept])
    session = TrialSession(
        model=model,
        tools=SeenTools(tools),
        condition=condition,
        record=Recording(record, events),
        spending=spending,
        retry=retry or RetryPolicy(),
        clock=clock,
        rng=random.Random(seed),  # noqa: S311 - jitter, not a secret
        began=clock(),
        worked_before=worked_seconds(before),
        taken=past.start.taken if past else None,
        input_cut=input_cut,
    )
    trial = AgentTrial(
        agent, condition, session, asyncio.get_running_loop(), Conversations(agent.blank), past=past, events=events
    )
    if isinstance(tools, Toolset) and condition.tool_choice != "none":
        trial.number = tools.pass_over
    try:
        limit = await _to_its_end(trial, Message(role="user", content=prompt, images=images))
        outcome: Outcome = "budget" if limit else "answered"
    except TrialFailed:
        outcome = "failed"
        for failure in trial.failures:
            session.record(failure)
    return AgentResult(outcome, spending.usage, spending.cost_usd, session.elapsed())


async def _to_its_end(trial: AgentTrial, question: Message) -> Limit | None:
    """The limit that ended it. Raises TrialFailed, LetGo."""
    session, past = trial.session, trial.past
    if past is not None and past.start.node == "end":
        session.answer(past.start.messages[-1].content, past.start.limit)
        return past.start.limit
    try:
        ended = await _ended(trial, question)
    except NotImplementedError:
        trial.run_again_in_thread()
        ended = await _ended(trial, question)
    if past is not None and (past.start.node == "final" or not past.over):
        return await _end_of_past(trial, past)
    limit = trial.limit or _cut(trial)
    text = _answer_of(trial, ended) if limit is None else await _asked_at_last(trial, limit)
    session.answer(text, limit)
    return limit


async def _ended(trial: AgentTrial, question: Message) -> Any:
    """What the agent ended with; None where it was to end. Raises TrialFailed; LetGo; and NotImplementedError where
    the graph can only be run in a thread."""
    trial.question = written_message(question).model_copy(update={"id": f"question-{uuid.uuid4().hex}"})
    with under_way(trial):
        return await _ended_under_way(trial)


async def _ended_under_way(trial: AgentTrial) -> Any:
    asked = [trial.question]
    if trial.condition.prompt:
        asked.insert(0, SystemMessage(trial.condition.prompt))
    with tracing_context(enabled=False):
        # Another trial may find meanwhile that this agent needs a thread.
        in_thread = trial.agent.in_thread
        running = on_agents_loop(_run(trial.agent, asked, trial.session.spending.budget.turns, in_thread))
    try:
        await _until_end(trial, running)
    finally:
        trial.over = True
        left = [task for task in (running, *trial.tasks) if not task.done()]
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
    error = None if running.cancelled() else running.exception()
    if trial.let_go:
        raise LetGo
    if trial.failed:
        raise TrialFailed
    if trial.stopped.is_set():
        # Whatever came of it inside the agent.
        return None
    if error is None:
        return None if running.cancelled() else running.result()
    if isinstance(error, GraphRecursionError):
        trial.limit = trial.limit or "turns"
    elif isinstance(error, NotImplementedError) and trial.agent.graph is not None and not in_thread:
        raise error
    elif not isinstance(error, AgentStopped):
        trial.record_failure(_agent_failed(trial, error))
        raise TrialFailed from error
    return None


def _answer_of(trial: AgentTrial, ended: Any) -> str:
    """Raises TrialFailed where it is none."""
    try:
        text = _in_form(ended) or _answer(ended)
        text = None if text is None else clean_text(str(text))
    except Exception as error:
        trial.record_failure(_agent_failed(trial, error, "what it ended with cannot be read as an answer"))
        raise TrialFailed from error
    if text is not None:
        return _require_text(trial, text)
    agent = trial.agent.model.agent
    if _interrupted(ended):
        said = f"the agent {agent!r} stopped to ask a person (interrupt)"
        hint = "leave out what asks, such as HumanInTheLoopMiddleware, for measuring"
        trial.record_failure(ModelError(said, hint=hint, code="agent_interrupted"))
    else:
        trial.record_failure(ModelError(f"the agent {agent!r} ended without a message of its own", code="no_answer"))
    raise TrialFailed


def _require_text(trial: AgentTrial, text: str) -> str:
    """Within an agent an empty reply may be in order; as an answer it is none, as of any model. Raises TrialFailed."""
    if text.strip():
        return trial.conversations.blank(text)
    trial.record_failure(ModelError(f"the agent {trial.agent.model.agent!r} gave an empty answer", code="empty_reply"))
    raise TrialFailed


async def _end_of_past(trial: AgentTrial, past: Past) -> Limit | None:
    """The end of a trial whose agent asks nothing more: one last request, where there is to be one."""
    if past.start.node != "final":
        ended = ModelError(
            "the agent cannot be taken up here: it had ended, and asks its model nothing more",
            hint="name an earlier event: --from EVENT",
            code="agent_ended",
        )
        trial.record_failure(past.unasked() if past.replies else ended)
        raise TrialFailed
    trial.session.answer(await _asked_at_last(trial, past.start.limit), past.start.limit)
    return past.start.limit


async def _run(agent: Agent, messages: list[BaseMessage], turns: int, in_thread: bool) -> Any:
    if agent.graph is None:
        assert agent.function is not None
        return await _called(agent.function, messages)
    config: Any = {
        "configurable": {"thread_id": f"toolablate-{uuid.uuid4().hex}"},
        "recursion_limit": max(agent.recursion_limit, 20 * turns + 50),
        "callbacks": [],
    }
    graph = agent.graph
    try:
        if not in_thread:
            return await graph.ainvoke({"messages": messages}, config)
        value, error = await outcome_of(lambda: graph.invoke({"messages": messages}, config))
        if error is not None:
            raise error
        return value
    finally:
        await _forget(graph, config["configurable"]["thread_id"], in_thread)


async def _forget(graph: Any, thread: str, in_thread: bool) -> None:
    """Deletes the trial's thread from the agent's checkpointer, where it has one that can."""
    while isinstance(graph, RunnableBinding):
        graph = graph.bound
    saver = getattr(graph, "checkpointer", None)
    with suppress(Exception):
        if in_thread and (delete := getattr(saver, "delete_thread", None)):
            await outcome_of(lambda: delete(thread))
        elif not in_thread and (adelete := getattr(saver, "adelete_thread", None)):
            await adelete(thread)


async def _called(function: Callable[..., Any], messages: list[BaseMessage]) -> Any:
    first = next(iter(inspect.signature(function).parameters), "messages")
    given: Any = {"messages": messages} if first in ("state", "inputs", "input") else messages
    if inspect.iscoroutinefunction(function):
        return await function(given)
    # In a function of its own, since an object that can be called has no name.
    value, error = await outcome_of(lambda: function(given))
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
    trial.require_awaited(running.done())
    if running.done():
        await settle(trial)


def _cut(trial: AgentTrial) -> Limit | None:
    """Whether the last reply, with which the agent ended, broke off at the greatest length."""
    last = trial.last
    cut = last is not None and last.reply.finish_reason == "length" and not last.reply.message.tool_calls
    return "reply_length" if cut else None


async def _asked_at_last(trial: AgentTrial, limit: Limit | None) -> str:
    """The text of one more reply, without tools. Raises TrialFailed."""
    try:
        await require_loop()
    except ModelError as error:
        trial.record_failure(error)
        raise TrialFailed from None
    if trial.wanted is not None:
        asked = trial.wanted
        messages = sent(trial.past, trial.conversations.written(asked.messages), asked.messages)
    elif trial.last is not None:
        asked = trial.last.asked
        calls = trial.last.reply.message.tool_calls
        results = [ToolMessage(trial.shown.get(call.id, NOT_EXECUTED), tool_call_id=call.id) for call in calls]
        messages = [*asked.messages, trial.last.message, *results]
    else:
        trial.record_failure(ModelError("the agent used up its budget and asked no model", code="no_answer"))
        raise TrialFailed
    closing = FINAL_REQUEST
    if trial.past is not None and trial.past.start.node == "final":
        wanted, closing = trial.past.start.messages, trial.past.start.closing
        messages = in_place_of(wanted, trial.conversations.written(messages), messages)
    messages.append(HumanMessage(closing))
    kwargs = without_tools(asked.chat, asked.kwargs)
    final = ModelRequest(messages=trial.conversations.written(messages), tools=specs_of(kwargs), tool_choice="none")

    def ask(request: ModelRequest) -> "asyncio.Future[ChatResult]":
        return on_agents_loop(_own_now(asked.chat, _shortened(messages, request), kwargs))

    blank = trial.conversations.blank
    token = ORIGINAL.set(Original(asked.chat, ask, identity_of(asked.chat, kwargs, blank), blank))
    try:
        with tracing_context(enabled=False):
            _, reply = await trial.session.ask_at_last(final, limit)
    finally:
        ORIGINAL.reset(token)
    return _require_text(trial, reply.message.content)


def _shortened(messages: Sequence[BaseMessage], request: ModelRequest) -> list[BaseMessage]:
    """The messages without the results that are left out of the request, which has one for each of them."""
    return [
        message.model_copy(update={"content": LEFT_OUT}) if asked.content == LEFT_OUT else message
        for message, asked in zip(messages, request.messages, strict=True)
    ]


async def _own_now(chat: BaseChatModel, messages: Sequence[BaseMessage], kwargs: dict[str, Any]) -> ChatResult:
    """What the agent's chat model replies: the coroutine or thread that asked it before is gone."""
    if not is_blocking(chat):
        return await chat._agenerate_with_cache(list(messages), **kwargs)
    value, error = await outcome_of(lambda: chat._generate_with_cache(list(messages), **kwargs))
    if error is not None:
        raise error
    assert isinstance(value, ChatResult)
    return value


_OWN_CODE = "its own code raised this, outside of its models and tools"


def _agent_failed(trial: AgentTrial, error: BaseException, hint: str = _OWN_CODE) -> ModelError:
    told = one_line(trial.conversations.blank(f"{type(error).__name__}: {error}"), 300)
    return ModelError(
        f"the agent {trial.agent.model.agent!r} failed: {told}",
        hint=hint,
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
    said = next((each for each in reversed(messages) if isinstance(each, AIMessage)), None)
    if said is None:
        return None
    # What a tool gave to the last message's call is the answer, where the agent ends with it.
    last, calls = messages[-1], {call["id"] for call in said.tool_calls}
    of_tool = isinstance(last, ToolMessage) and (last.tool_call_id in calls or not str(said.text))
    return str(last.text if of_tool else said.text)


def _in_form(ended: Any) -> str:
    """The reply in the form that the agent asks of it, with its `answer` on a line that scorers read; "" for none."""
    form = ended.get("structured_response") if isinstance(ended, dict) else None
    if form is None:
        return ""
    if isinstance(form, str):
        return with_answer_line(form)
    plain = to_jsonable_python(form, fallback=str, bytes_mode="base64")
    return with_answer_line(json.dumps(plain, ensure_ascii=False, separators=(",", ":")))


def _answer_of_message(message: dict[str, Any]) -> str:
    return str(convert_to_messages([message])[0].text)
