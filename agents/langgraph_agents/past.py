"""A trial that is taken up again at an event: until then the agent is given the replies and results of the record, so
that it comes to stand where it stood, whatever state it keeps."""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from pydantic_core import to_json

from toolablate.agents.langchain.messages import written_message
from toolablate.agents.resuming import Start
from toolablate.reports.numbers import counted
from toolablate.traces.errors import ModelError
from toolablate.traces.records import (
    Again,
    Drop,
    Event,
    Message,
    ModelCall,
    ModelRequest,
    ReplayChange,
    Rerun,
    Say,
    ToolCall,
    ToolRequest,
)

# The ids of calls that no model made begin with it.
DIRECT = "direct_"
# What is allowed at least for an agent to ask what it asked before.
SPARE_SECONDS = 5.0

# What is to be done where an agent does not come to stand where it stood.
CHANCE = (
    "it draws at random, reads a clock, or keeps something from trial to trial; only an agent that does the same with"
    " the same replies can be replayed"
)
OLDER = "run the plan again into a new store, and replay its trials there"


@dataclass(frozen=True, slots=True)
class Wanted:
    """A request of the agent's; `node` and `asked` are those of `ModelCall`."""

    request: ModelRequest
    node: str = ""
    asked: str = ""


@dataclass(slots=True)
class Past:
    """`replies` and `results` are those before the event that the agent has not asked for yet, `later` those of the
    record from the event on. `splice` are the messages that stand at the beginning of the agent's requests, and
    those that are sent in their place. `dropped` is a call that no model is to see. `inside` tells that the event
    stands within a call."""

    start: Start
    change: ReplayChange
    later: tuple[ModelCall, ...]
    replies: list[ModelCall]
    results: list[ToolCall]
    dropped: ToolRequest | None = None
    inside: bool = False
    over: bool = False
    again_running: int = 0
    splice: tuple[tuple[Message, ...], tuple[Message, ...]] | None = None
    _moved: asyncio.Event = field(default_factory=asyncio.Event)

    @classmethod
    def of(cls, start: Start, conversation: Sequence[Event], change: ReplayChange) -> "Past":
        at = conversation[len(start.before)] if len(start.before) < len(conversation) else None
        return cls(
            start,
            change,
            tuple(each for each in conversation[len(start.before) :] if isinstance(each, ModelCall)),
            [each for each in start.before if isinstance(each, ModelCall)],
            [each for each in start.before if isinstance(each, ToolCall)],
            at.call if isinstance(change, Drop) and isinstance(at, ToolCall) else None,
            isinstance(at, ModelCall | ToolCall) and at.within != "",
        )

    @classmethod
    def so_far(cls, events: Sequence[Event]) -> "Past":
        """Of an attempt whose agent is run once more from its beginning, in another way."""
        return cls.of(Start((), before=tuple(events)), events, Again())

    def again(self) -> None:
        """From the beginning."""
        self.replies = [each for each in self.start.before if isinstance(each, ModelCall)]
        self.results = [each for each in self.start.before if isinstance(each, ToolCall)]
        self.over, self.splice = False, None

    async def reply_to(self, wanted: Wanted) -> ModelCall | None:
        """The recorded reply; None where the record ends, and the model is to be asked. Raises ModelError where the
        agent asks something else than it did."""
        while not self.over:
            for recorded in self.replies:
                if self._is_same(recorded, wanted):
                    self._require_told(recorded, wanted)
                    self.replies.remove(recorded)
                    self._tell()
                    return recorded
            if not self.replies:
                self._begin(wanted.request)
                break
            if not any(self._is_same(each, wanted) for each in self.later):
                raise self._untold() or self._diverged(wanted.request, [each.request for each in self.replies])
            # Of nodes that work at once, one may be further than the other was.
            try:
                async with asyncio.timeout(self._patience):
                    await self._moved.wait()
            except TimeoutError:
                if not self.again_running:
                    raise self.unasked() from None
        return None

    @contextmanager
    def running_again(self) -> Iterator[None]:
        """While a tool runs once more for its effect, which may take longer than it took."""
        self.again_running += 1
        try:
            yield
        finally:
            self.again_running -= 1
            self._tell()

    def _is_same(self, recorded: ModelCall, wanted: Wanted) -> bool:
        """An agent may ask several of its models the same at once. Where its models are not those of the record, by
        another address for instance, which of them is asked tells nothing."""
        before, request = recorded.request, wanted.request
        if (before.messages, before.tools, before.tool_choice) != (
            request.messages,
            request.tools,
            request.tool_choice,
        ):
            return False
        known = {each.asked for each in (*self.start.before, *self.later) if isinstance(each, ModelCall)}
        return recorded.node == wanted.node and (wanted.asked not in known or recorded.asked in (wanted.asked, ""))

    def _require_told(self, recorded: ModelCall, wanted: Wanted) -> None:
        """Raises ModelError where an older record does not tell which of several replies is wanted. Those to requests
        that were made one after the other come in their order."""
        if recorded.asked:
            return
        others = (each for each in (*self.replies, *self.later) if _overlap(each, recorded))
        if any(each.reply.message != recorded.reply.message and self._is_same(each, wanted) for each in others):
            raise self._diverged_by(
                "the trial was recorded before requests named their model, and models that were asked the same at once"
                " replied differently: whose reply is whose cannot be told",
                OLDER,
            )

    def _untold(self) -> ModelError | None:
        """Why what is left of the record is not asked again, where an older one does not tell that a tool asked it:
        its tool does not run again."""
        given = [
            each
            for each in self.start.before
            if isinstance(each, ToolCall) and not any(each is one for one in self.results)
        ]
        for left in self.replies:
            if not left.asked and (tool := next((each for each in given if _is_during(left, each)), None)):
                return self._diverged_by(
                    "the trial was recorded by an older version, which did not tell what a tool asks a model, as"
                    f" {tool.call.name!r} seems to have done",
                    OLDER,
                )
        return None

    @property
    def _patience(self) -> float:
        """Seconds in which an agent comes as far as it did, also on a machine that is busy."""
        return 2 * max((each.at + each.seconds for each in self.start.before), default=0.0) + SPARE_SECONDS

    def unasked(self) -> ModelError:
        """Why the agent does not come to stand where it stood: it goes on without what is left of the record."""
        if untold := self._untold():
            return untold
        left = next((each.request.messages[-1].content for each in self.replies if each.request.messages), "")
        return self._diverged_by(
            f"it does not ask again what it asked before this event: {counted(len(self.replies), 'request')}, the first"
            f" of which ended with {left[:80]!r}"
        )

    def result_for(self, request: ToolRequest) -> ToolCall | None:
        """The recorded result of a call before the event."""
        found = next((each for each in self.results if _is_call(each.call, request)), None)
        if found is not None:
            self.results = [each for each in self.results if each is not found]
            changed = dict(zip(self._last_calls(), self._given(), strict=True)).get(request.id)
            if changed is not None and changed != found.output:
                return found.model_copy(update={"output": changed})
        return found

    def forget_within(self, call_id: str, until: ToolCall | None = None) -> None:
        """What was asked and called within a call is not asked for any more: it is over, or its tool is not run again.
        `until` is the call's event, where a later one may have the same id."""
        inside, gone = {call_id}, list[Event]()
        for event in reversed(self.start.before):
            if until is not None and not (
                isinstance(event, ToolCall) and (event.call, event.at) == (until.call, until.at)
            ):
                continue
            until = None
            if isinstance(event, ModelCall | ToolCall) and event.within in inside:
                gone.append(event)
                if isinstance(event, ToolCall):
                    inside.add(event.call.id)
        if gone:
            self.replies = [each for each in self.replies if not any(each is one for one in gone)]
            self.results = [each for each in self.results if not any(each is one for one in gone)]
            self._tell()

    def is_dropped(self, request: ToolRequest) -> bool:
        return self.dropped is not None and self.dropped == request and not self.over

    def _last_calls(self) -> list[str]:
        calls = self.start.messages[-1].tool_calls if self.start.node == "act" else ()
        return [call.id for call in calls]

    def _given(self) -> list[str | None]:
        given = (self.start.results.get(place) for place in range(len(self._last_calls())))
        return [shown.text if shown else None for shown in given]

    def _tell(self) -> None:
        moved, self._moved = self._moved, asyncio.Event()
        moved.set()

    def _begin(self, request: ModelRequest) -> None:
        """The first request behind the event: from here on the model is asked."""
        self.over = True
        self._tell()
        wanted, node = self.start.messages, self.start.node
        if node == "final" or self.dropped is not None or not wanted:
            return
        there = request.messages if node == "ask" else request.messages[: len(wanted)]
        if there == wanted:
            return
        if not (isinstance(self.change, Say) or (isinstance(self.change, Rerun) and self.change.shown)):
            if node == "act" and self._is_of_another(request):
                return
            raise self._diverged(request, [each.request for each in self.later[:1]])
        self.splice = there, wanted

    def _is_of_another(self, request: ModelRequest) -> bool:
        """Whether another agent goes on, with messages of its own, as it did in the record: behind a handoff."""
        recorded = next((each.request.messages for each in self.later), ())
        return bool(recorded) and _before_results(recorded) == _before_results(request.messages)

    def _diverged(self, request: ModelRequest, recorded: Iterable[ModelRequest]) -> ModelError:
        return self._diverged_by(
            "with the recorded replies and results it asks its model something else than in the record"
            f"{_difference(request, recorded)}"
        )

    def _diverged_by(self, why: str, hint: str = CHANCE) -> ModelError:
        return ModelError(f"the agent cannot be brought back to this event: {why}", hint=hint, code="agent_diverged")


def _is_call(recorded: ToolRequest, request: ToolRequest) -> bool:
    """Calls that no model made are numbered as they come, which is chance where several come at once."""
    if recorded.id.startswith(DIRECT) and request.id.startswith(DIRECT):
        return (recorded.name, recorded.arguments) == (request.name, request.arguments)
    return recorded == request


def _overlap(one: ModelCall, other: ModelCall) -> bool:
    return one.at < other.at + other.seconds and other.at < one.at + one.seconds


def _is_during(asked: ModelCall, call: ToolCall) -> bool:
    return call.at <= asked.at and asked.at + asked.seconds <= call.at + call.seconds


def _before_results(messages: Sequence[Message]) -> list[Message]:
    kept = list(messages)
    while kept and kept[-1].role == "tool":
        kept.pop()
    return kept


def _difference(request: ModelRequest, recorded: Iterable[ModelRequest]) -> str:
    """Where it first differs from the nearest of these."""

    def alike(other: ModelRequest) -> int:
        pairs = zip(other.messages, request.messages, strict=False)
        return next((place for place, (left, right) in enumerate(pairs) if left != right), len(other.messages))

    nearest = max(recorded, key=alike, default=None)
    if nearest is None:
        return ""
    place = alike(nearest)
    if nearest.messages == request.messages:
        return ": the same messages, with other tools, to another of its models, or from another of its nodes"
    was, now = (each.messages[place] if place < len(each.messages) else None for each in (nearest, request))
    # Messages of the same words may differ in their calls or in what a class keeps beside the words.
    parts = [] if was is None or now is None else [name for name, value in was if getattr(now, name) != value]
    if was is None or now is None or "content" in parts:
        return f": message {place} was {_shown(was and was.content)} and is {_shown(now and now.content)}"
    name = parts[0]
    return f": {name} of message {place} was {_shown(getattr(was, name))} and is {_shown(getattr(now, name))}"


def _shown(value: object) -> str:
    text = value if isinstance(value, str) else to_json(value, fallback=str).decode() if value else ""
    return repr(text[:160])


# Messages as they are sent, from those that the agent wanted to send.


def sent(past: Past | None, records: Sequence[Message], messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """`records` are the messages as records, in order."""
    if past is None:
        return list(messages)
    if past.dropped is not None:
        return without_call(messages, past.dropped.id)
    if past.splice is None or tuple(records[: len(past.splice[0])]) != past.splice[0]:
        return list(messages)
    there, wanted = past.splice
    return [*in_place_of(wanted, there, messages), *messages[len(there) :]]


def in_place_of(
    wanted: Sequence[Message], records: Sequence[Message], messages: Sequence[BaseMessage]
) -> list[BaseMessage]:
    """The wanted ones, as the agent has them where it has them."""
    left = list(zip(records, messages, strict=False))
    found: list[BaseMessage] = []
    for each in wanted:
        place = next((place for place, (record, _) in enumerate(left) if record == each), None)
        found.append(written_message(each) if place is None else left.pop(place)[1])
    return found


def without_call(messages: Sequence[BaseMessage], call_id: str) -> list[BaseMessage]:
    """Without a call and its result, and without the message that called nothing else."""
    kept: list[BaseMessage] = []
    found = answered = False
    for message in messages:
        # The first: some models give a later call the same id.
        if isinstance(message, ToolMessage) and message.tool_call_id == call_id and not answered:
            answered = True
            continue
        if isinstance(message, AIMessage) and not found and any(call["id"] == call_id for call in message.tool_calls):
            found = True
            calls = [call for call in message.tool_calls if call["id"] != call_id]
            if not calls:
                continue
            content = message.content
            if isinstance(content, list):
                content = [each for each in content if not (isinstance(each, dict) and each.get("id") == call_id)]
            message = message.model_copy(update={"tool_calls": calls, "content": content})
        kept.append(message)
    return kept
