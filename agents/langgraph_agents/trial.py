"""What happens to each call of an agent's models and tools within a trial: it goes through the trial's session."""

import asyncio
import json
import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NoReturn

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatResult
from langchain_core.runnables.config import var_child_runnable_config
from langchain_core.tools import BaseTool

from toolablate.agents.endpoint.requirements import blanking_all
from toolablate.agents.langgraph_agents.opening import Agent
from toolablate.agents.langgraph_agents.past import DIRECT, Past, Wanted, sent
from toolablate.agents.langgraph_agents.requests import (
    Conversations,
    barred,
    choice_of,
    offered,
    result_of,
    results_in,
    specs_of,
)
from toolablate.agents.langgraph_agents.seam import (
    INSIDE_TOOL,
    WITHIN,
    AgentStopped,
    ModelAsked,
    ToolAsked,
    require_own,
)
from toolablate.agents.langgraph_agents.source import ORIGINAL, Original, identity_of, keys_of
from toolablate.agents.langgraph_agents.tools import PENDING, Pending, arguments_of
from toolablate.agents.langgraph_agents.tools import result_of as result_of_tool
from toolablate.agents.pacing import LetGo
from toolablate.agents.pacing.waits import is_blocking_others
from toolablate.agents.session import NOT_EXECUTED, Progress, TrialFailed, TrialSession
from toolablate.tools.tool import ToolResult
from toolablate.traces.errors import ModelError, ToolablateError
from toolablate.traces.records import (
    Condition,
    Event,
    Failure,
    Limit,
    ModelCall,
    ModelReply,
    ModelRequest,
    ToolCall,
    ToolRequest,
    digest_json,
)


@dataclass(frozen=True, slots=True)
class Last:
    """The last request that was answered, with its reply. `inside` tells that a tool made it."""

    inside: bool
    asked: ModelAsked
    request: ModelRequest
    reply: ModelReply
    message: BaseMessage


@dataclass(eq=False)
class AgentTrial:
    """What the seam is told of while the agent runs.

    `waiting` are calls of its models without results, `shown` the texts that others got, by their ids. `limit` is what
    has run out, `wanted` the request that it kept from being made, `last` the one that was answered last. `failures`
    are recorded when it has ended. `over` tells that no more calls are answered, `let_go` that this is because a
    request need not wait for its turn any more; `stopped` is set when the agent is to end. `past` is what it is given
    again, `events` are those of this attempt. `number` has interventions number a call before it is made; `known` are
    the chat models whose keys are kept out of the record; `asking` are the requests that are under way or wait for
    room. `question` is the message that the agent is given, whose id tells this trial's requests from those of others.
    `equal` counts requests that ask the same; `replied` is set when a request is out no more.
    """

    agent: Agent
    condition: Condition
    session: TrialSession
    loop: asyncio.AbstractEventLoop
    conversations: Conversations = field(default_factory=Conversations)
    waiting: list[ToolRequest] = field(default_factory=list)
    shown: dict[str, str] = field(default_factory=dict)
    limit: Limit | None = None
    failed: bool = False
    failures: list[Failure] = field(default_factory=list)
    let_go: bool = False
    over: bool = False
    last: Last | None = None
    past: Past | None = None
    events: list[Event] = field(default_factory=list)
    number: Callable[[ToolRequest], None] = lambda _: None
    wanted: ModelAsked | None = None
    known: dict[int, BaseChatModel] = field(default_factory=dict)
    equal: Counter[str] = field(default_factory=Counter)
    replied: asyncio.Event = field(default_factory=asyncio.Event)
    in_flight: int = 0
    asking: set[Progress] = field(default_factory=set)
    question: BaseMessage = field(default_factory=lambda: HumanMessage(""))
    direct: int = 0
    workers: set[threading.Thread] = field(default_factory=set)
    is_settled: bool = False
    tasks: "set[asyncio.Task[Any]]" = field(default_factory=set)
    stopped: asyncio.Event = field(default_factory=asyncio.Event)

    # What the seam tells.

    def reach(self) -> None:
        task = asyncio.current_task()
        if task is not None:
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)

    def has(self, part: BaseChatModel | BaseTool) -> bool:
        if isinstance(part, BaseTool):
            return any(part is each for each in self.agent.parts.tools.values())
        return id(part) in self.known or any(part is each for each in self.agent.parts.models)

    def asks_in(self, messages: Sequence[BaseMessage], *, by_text: bool) -> bool:
        if by_text:
            return any(each.type == "human" and each.content == self.question.content for each in messages)
        return any(each.id == self.question.id for each in messages)

    def fail(self, error: ModelError) -> None:
        if not self.over and not self.failed:
            self.record_failure(error)
            self._end()

    async def model(self, asked: ModelAsked) -> ChatResult:
        """Raises AgentStopped where there is to be no reply."""
        require_own(self, asked.messages)
        self._require_going_on()
        barring = self.condition.tool_choice == "none"
        kwargs = offered(asked.kwargs, self._is_offered)
        self._keep_secret(asked.chat)
        request = ModelRequest(
            messages=self.conversations.written(asked.messages),
            tools=specs_of(kwargs),
            tool_choice="none" if barring and specs_of(kwargs) else choice_of(kwargs),
        )
        self._take_results(asked.messages)
        self._refuse_unknown(asked)
        identity = identity_of(asked.chat, kwargs, self.conversations.blank)
        number = self._number_of(request, identity)
        if (recorded := await self._recorded(Wanted(request, node_now(), digest_json(identity)))) is not None:
            result = result_of(recorded.reply)
            self._note(asked, request, recorded.reply, result)
            return result
        if self._answers_now:
            self._stop(None, asked)
        messages = sent(self.past, request.messages, asked.messages)
        request = request.model_copy(update={"messages": self.conversations.written(messages)})
        progress = Progress()
        if barring and all(not self.agent.is_kept(spec.name) for spec in request.tools):
            kwargs = barred(asked.chat, kwargs)
        asking = partial(_ask, asked, messages, kwargs)
        original = Original(asked.chat, asking, identity, self.conversations.blank, number)
        self.asking.add(progress)
        try:
            await self._take_turn(asked, request)
            reply = await self._reply(original, request, progress)
        finally:
            self.asking.discard(progress)
        if not isinstance(reply, ModelReply):
            self._stop(reply, asked)
        result = original.result if original.result is not None else result_of(reply)
        self._note(asked, request, reply, result)
        return result

    async def tool(self, asked: ToolAsked) -> Any:
        """What the agent is given. Raises AgentStopped; what the tool raised, where no model had called it."""
        self._require_going_on()
        called = self._called(asked)
        if called is None and INSIDE_TOOL.get() and asked.call_id is None:
            # One tool calls another by itself, and no model did.
            return await asked.own()
        request, name = called or self._direct(asked), asked.tool.name
        kept = self.agent.is_kept(name)
        # What a kept tool calls is called by the agent: conditions act on it.
        asked = replace(asked, own=_inside(request.id, asked.own, silent=not kept))
        pending = Pending(asked, self.conversations.blank)
        if self.past is not None and (again := await self._again(self.past, pending, request)):
            return again[0]
        if self._answers_now:
            self._end()
            raise AgentStopped
        # A kept tool has no limit of its own: the trial's ends it.
        self.in_flight += not kept
        token = PENDING.set(pending)
        try:
            if kept:
                return await self._passed(pending, request)
            if name not in self.agent.tools:
                self._fail(
                    f"the agent called a tool {name!r} that it did not show before it ran, so no condition can name it",
                    "put it into a ToolNode or a list of the module, or let it pass by keep_tools of the model",
                    "unknown_tool",
                )
            return await self._run(pending, request, called=called is not None)
        finally:
            PENDING.reset(token)
            self.in_flight -= not kept
            if self.past is not None and not self.past.over:
                self.past.forget_within(request.id)

    def run_again_in_thread(self) -> None:
        """Makes ready for the agent to be run from its beginning once more; what it did is given to it again."""
        self.agent.in_thread, self.over = True, False
        if self.past is None:
            self.past = Past.so_far(self.events)
        self.past.again()
        self.waiting.clear()
        self.equal.clear()

    @property
    def _answers_now(self) -> bool:
        """Whether what comes behind the record is a last request: of the agent that asks next, or of the one that asked
        last where a call would come next."""
        return self.past is not None and self.past.start.node == "final"

    # Models.

    async def _recorded(self, wanted: Wanted) -> ModelCall | None:
        if self.past is None:
            return None
        try:
            return await self.past.reply_to(wanted)
        except ModelError as error:
            self.record_failure(error)
            self._end()
            raise AgentStopped from None

    def _keep_secret(self, chat: BaseChatModel) -> None:
        """What an endpoint gave back may hold a key; the agent repeats it in its next request."""
        if id(chat) not in self.known:
            self.known[id(chat)] = chat
            self.conversations.blank = blanking_all(keys_of(chat), self.conversations.blank)

    def _is_offered(self, name: str) -> bool:
        named = {spec.name for spec in self.session.specs}
        return name in named or name not in self.agent.tools

    def _refuse_unknown(self, asked: ModelAsked) -> None:
        """Fails where the model is offered what nobody knew before, and what is no form of a reply."""
        has_form = "ls_structured_output_format" in asked.kwargs
        for spec in specs_of(asked.kwargs):
            # A form has a schema, which what a provider runs has not.
            known = has_form and bool(spec.parameters)
            known = known or spec.name in self.agent.tools or spec.name in self.agent.parts.bound
            if known or self.agent.is_kept(spec.name):
                continue
            if not (spec.parameters or spec.description):
                self._fail(
                    f"the agent offers its model {spec.name!r}, which its provider runs: no condition can take it out",
                    f'let it pass, into every condition, by keep_tools = ["{spec.name}"] of the model; or leave it out'
                    " of the agent",
                    "unknown_tool",
                )
            self._fail(
                f"the agent offers its model a tool {spec.name!r} that it did not show before it ran, so no condition"
                " can name it",
                "bind it where the agent is made; or let it pass by keep_tools of the model",
                "unknown_tool",
            )

    def _number_of(self, request: ModelRequest, identity: dict[str, Any]) -> int:
        """Of the request among those of the trial that ask the same, from 0: each has a recorded reply of its own."""
        content = digest_json([identity, request.model_dump(mode="json", exclude_defaults=True)])
        self.equal[content] += 1
        return self.equal[content] - 1

    async def _take_turn(self, asked: ModelAsked, request: ModelRequest) -> None:
        """Takes a turn of the budget before it is used: of requests that are made at once, those for which it might
        have no room wait for the others. One that blocks these would wait for ever, and is the end."""
        spending = self.session.spending
        while True:
            self._require_going_on()
            limit = self.limit or spending.reached_before_turn(self.session.worked())
            beside = limit or spending.reached_beside(self.session.worked())
            if beside is None:
                break
            if (limit is not None and not spending.out) or is_blocking_others():
                self._stop(beside, asked)
            # One that the agent ends meanwhile would have met the limit.
            await self.replied.wait()
        spending.out.append(request)

    def _give_turn_back(self, request: ModelRequest) -> None:
        # Turns that were used are counted by the session.
        self.session.spending.out.remove(request)
        before, self.replied = self.replied, asyncio.Event()
        before.set()

    async def _reply(self, original: Original, request: ModelRequest, progress: Progress) -> ModelReply | Limit:
        token = ORIGINAL.set(original)
        self.in_flight += 1
        try:
            reply = await self.session.ask(request, "ask", progress)
            if isinstance(reply, ModelReply):
                for each in self.asking:
                    each.outrun = True
            return reply
        except asyncio.CancelledError:
            self._require_not_given_up([progress])
            raise
        except TrialFailed:
            self.failed = True
            self._end()
            raise AgentStopped from None
        except LetGo:
            # Inside the agent it would be an error of the agent's.
            self.let_go = True
            self._end()
            raise AgentStopped from None
        finally:
            self.in_flight -= 1
            self._give_turn_back(request)
            ORIGINAL.reset(token)

    def require_awaited(self, ended: bool) -> None:
        """Fails the trial where its agent has `ended` by itself and left a request that was held up."""
        if ended:
            self._require_not_given_up(self.asking)

    def _require_not_given_up(self, requests: Iterable[Progress]) -> None:
        """Fails the trial where one of these was held up, and lost no race against one that has its reply."""
        if why := next((each.held_up for each in requests if each.held_up and not each.outrun), ""):
            self.fail(_gave_up(why))

    def _note(self, asked: ModelAsked, request: ModelRequest, reply: ModelReply, result: ChatResult) -> None:
        self.conversations.note(reply)
        self.waiting += reply.message.tool_calls
        for call in reply.message.tool_calls:
            # Numbered as they stand in the reply: which of them comes first is chance.
            self.number(call)
        inside = WITHIN.get() != ""
        # The agent's own conversation, and not one that a tool has with a model, is closed by a last request.
        if not inside or self.last is None or self.last.inside or (self.past is not None and self.past.inside):
            self.last = Last(inside, asked, request, reply, result.generations[0].message)

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
            text = self.conversations.blank(str(message.text))
            self._answered(found, text)
            if found.name in self.agent.kept | self.agent.parts.bound:
                continue
            if self.past is not None and self.past.result_for(found) is not None:
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
                text,
                status="invalid" if unknown else "error",
                error="unknown_tool" if unknown else "refused_by_agent",
            )
            self.session.spending.tool_calls += 1
            self.session.record_call(found, result, self.session.elapsed())

    # Tools.

    def _called(self, asked: ToolAsked) -> ToolRequest | None:
        """The call of a model that this is, the latest that has no result."""
        name, written = asked.tool.name, None if asked.call_id else _parsed(arguments_of(asked))
        for request in reversed(self.waiting):
            parsed = _parsed(request.arguments)
            alone = isinstance(parsed, dict) and list(parsed.values()) == [asked.given]
            same = request.id == asked.call_id if asked.call_id else alone or parsed == written
            if request.name == name and same:
                self.waiting.remove(request)
                return request
        return None

    def _direct(self, asked: ToolAsked) -> ToolRequest:
        self.direct += 1
        call_id = asked.call_id or f"{DIRECT}{self.direct}"
        arguments = self.conversations.blank(arguments_of(asked))
        return ToolRequest(id=call_id, name=asked.tool.name, arguments=arguments)

    def _answered(self, request: ToolRequest, text: str) -> None:
        if request in self.waiting:
            self.waiting.remove(request)
        self.shown[request.id] = text

    async def _again(self, past: Past, pending: Pending, request: ToolRequest) -> tuple[Any] | None:
        """What a call before the event gave, None for a call that comes later. What changed the agent's state is done
        again, for its effect."""
        recorded = past.result_for(request)
        if recorded is None and not past.is_dropped(request):
            return None
        text = recorded.output if recorded else NOT_EXECUTED
        self.shown[request.id] = text
        if recorded is not None and (recorded.to_state or self.agent.is_kept(request.name)):
            with past.running_again():
                return (await pending.asked.own(),)
        past.forget_within(recorded.call.id if recorded else request.id, recorded)
        pending.shown = ToolResult(text, status=recorded.status if recorded else "invalid")
        return (pending.given_back(),)

    async def _passed(self, pending: Pending, request: ToolRequest) -> Any:
        """A tool by which the agent works: it runs and is recorded, and no condition acts on it."""
        at = self.session.elapsed()
        pending.raw = await pending.asked.own()
        result = pending.blanked(result_of_tool(pending.raw, pending.asked.call_id))
        self.shown[request.id] = self.session.record_call(request, result, at).text
        return pending.raw

    async def _run(self, pending: Pending, request: ToolRequest, *, called: bool) -> Any:
        if self.condition.tool_choice == "none":
            ((text, _),) = self.session.refuse_all((request,))
            pending.shown = ToolResult(text, status="invalid")
        else:
            try:
                ((text, _),), limit = await self.session.call_all((request,))
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

    def _stop(self, limit: Limit | None, asked: ModelAsked) -> NoReturn:
        self.limit = limit
        if not WITHIN.get() or self.last is None:
            self.wanted = asked
        self._end()
        raise AgentStopped

    def _fail(self, message: str, hint: str, code: str) -> NoReturn:
        self.record_failure(ModelError(message, hint=hint, code=code))
        self._end()
        raise AgentStopped

    def record_failure(self, error: ToolablateError) -> None:
        """As the trial's last event: requests that are out meanwhile are cut off by it, and not the reason."""
        self.failed = True
        self.failures.append(Failure.of(error, at=self.session.elapsed(), seconds=0.0, retried=False))

    def _end(self) -> None:
        self.over = True
        self.stopped.set()


async def _ask(
    asked: ModelAsked, messages: Sequence[BaseMessage], kwargs: dict[str, Any], _: ModelRequest
) -> ChatResult:
    return await asked.own(messages, kwargs)


def _inside(call_id: str, own: Callable[[], Awaitable[Any]], *, silent: bool) -> Callable[[], Awaitable[Any]]:
    """Runs a tool, so that what it asks and calls is known to be within its call."""

    async def inside() -> Any:
        tokens = INSIDE_TOOL.set(silent), WITHIN.set(call_id)
        try:
            return await own()
        finally:
            INSIDE_TOOL.reset(tokens[0])
            WITHIN.reset(tokens[1])

    return inside


def _gave_up(why: str) -> ModelError:
    return ModelError(
        f"the agent gave up a request to its model before its reply came: it {why}; so the answer does not depend on"
        " the agent alone",
        hint="leave time-outs to timeout_seconds of the model; where the agent needs its own, let it be longer than"
        " waits and retries take, or allow more with concurrency and requests_per_minute",
        code="agent_gave_up",
    )


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
class Recording:
    """Events with the node that they happened in."""

    record: Callable[[Event], None]
    events: list[Event]

    def __call__(self, event: Event) -> None:
        if isinstance(event, ModelCall | ToolCall):
            pending = PENDING.get()
            update: dict[str, Any] = {"node": node_now(), "within": WITHIN.get()}
            if isinstance(event, ModelCall) and (original := ORIGINAL.get()) is not None:
                update["asked"] = digest_json(original.identity)
            if isinstance(event, ToolCall) and pending is not None:
                update["to_state"] = pending.to_state
            event = event.model_copy(update=update)
        self.events.append(event)
        self.record(event)
