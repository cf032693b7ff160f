"""One trial's dealings with its model and its tools: timed, recorded, retried, charged, shortened where too long."""

import asyncio
import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, Protocol

from toolablate.agents.chat import ChatModel, NoReplyError, RetryPolicy, Tries
from toolablate.agents.pacing.waits import Waited, counting_waits
from toolablate.agents.plots import Shown, shown_of
from toolablate.agents.provider_tools import calls_of_provider
from toolablate.agents.spending import Spending, estimated_tokens
from toolablate.tools.tool import ToolResult
from toolablate.traces.errors import ModelError, SandboxError, ToolablateError, ToolError
from toolablate.traces.records import (
    Answer,
    Condition,
    Event,
    Failure,
    InputCut,
    Limit,
    Message,
    ModelCall,
    ModelReply,
    ModelRequest,
    Refusal,
    ToolCall,
    ToolRequest,
    ToolSpec,
    clean_text,
)

LEFT_OUT = "[This result was left out, because the conversation had become too long.]"


def can_be_shortened(request: ModelRequest) -> bool:
    """Whether it holds a tool result that is worth leaving out."""
    return bool(_results(request.messages))


def shortened(request: ModelRequest, tokens: int) -> ModelRequest:
    """The request with the oldest tool results left out: at least one, and as many as bring it down to about so many
    tokens, or all of them. Each keeps its place and its call's id."""
    messages = list(request.messages)
    for position in _results(request.messages):
        messages[position] = messages[position].model_copy(update={"content": LEFT_OUT, "images": ()})
        request = request.model_copy(update={"messages": tuple(messages)})
        if estimated_tokens(request) <= tokens:
            break
    return request


def with_answer_line(text: str) -> str:
    """A reply in JSON with its `answer` once more, on a line of the form that scorers read; any other as it is."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return text
    if not isinstance(found, dict) or found.get("answer") is None:
        return text
    answer = found["answer"]
    return f"{text}\n\nAnswer: {answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)}"


def _results(messages: tuple[Message, ...]) -> list[int]:
    """Where the results are that have not been left out, the oldest first."""
    return [
        position
        for position, message in enumerate(messages)
        if message.role == "tool" and (len(message.content) > len(LEFT_OUT) or message.images)
    ]


# The last request is made even when the time is up, and a slow model needs some to answer at all.
FINAL_SECONDS = 120.0

# The code of a request that was out when it was ended from outside, for instance by the deadline of its trial.
CUT_OFF = "cut_off"

# The error of a call that the time of its trial ran out under.
OUT_OF_TIME = "out_of_time"

NOT_EXECUTED = "This call was not executed: no further tool calls are possible for this question."
NOT_ALLOWED = "This call was not executed: tools cannot be called for this question."
INTERRUPTED = "This call was interrupted: the time for this question is up."


def is_of_tool(event: ToolCall) -> bool:
    """Whether it says what a tool of ours gave; some were refused, or the time of their trial ran out under them, and
    the provider's own are nobody's to call again."""
    return not event.by_provider and event.error != OUT_OF_TIME and event.output != NOT_ALLOWED


class Tools(Protocol):
    """The tools of one trial. `call` answers a request that names no tool or does not fit with a result of status
    `invalid`, and raises ToolError or SandboxError only where infrastructure failed."""

    @property
    def specs(self) -> tuple[ToolSpec, ...]: ...

    async def call(self, request: ToolRequest) -> ToolResult: ...


@dataclass(slots=True, eq=False)
class Progress:
    """How far a request has come: `failed` once a try did, `waited` the waits of the present one; `outrun` once one
    that was under way at the same time has its reply."""

    failed: bool = False
    waited: Waited = field(default_factory=Waited)
    outrun: bool = False

    @property
    def held_up(self) -> str:
        """What kept its reply from coming, where that is not the model; goes on "it". "" for nothing."""
        if self.failed:
            return "was tried again after a failure"
        return f"waited {self.waited.why or 'for its turn'}" if self.waited.in_line else ""


class TrialFailed(Exception):
    """Infrastructure failed for good. The failure is in the record already."""


@dataclass(slots=True)
class TrialSession:
    """`idle` are the times that went into failed attempts and waits, none of which touch: neither an outage nor a queue
    must use up a budget, and where several wait at once that counts once. `taken` is the last request that the model
    took. `worked_before` are the seconds that count against the budget of what came before, where a conversation is
    taken up again. `input_cut` is for the first reply's record."""

    model: ChatModel
    tools: Tools
    condition: Condition
    record: Callable[[Event], None]
    spending: Spending
    retry: RetryPolicy
    clock: Callable[[], float]
    rng: random.Random
    began: float
    worked_before: float = 0.0
    idle: list[tuple[float, float]] = field(default_factory=list)
    taken: ModelRequest | None = None
    input_cut: InputCut | None = None
    specs: tuple[ToolSpec, ...] = field(init=False)

    def __post_init__(self) -> None:
        self.specs = tuple(self.tools.specs)

    def elapsed(self) -> float:
        """Seconds since the trial began, by the wall, to the microsecond."""
        return round(max(0.0, self.clock() - self.began), 6)

    def since(self, at: float) -> float:
        return round(max(0.0, self.elapsed() - at), 6)

    def worked(self) -> float:
        """Seconds that count against the budget."""
        return self.worked_before + self.elapsed() - sum(end - begin for begin, end in self.idle)

    def _note_idle(self, begin: float, end: float) -> None:
        joined = [each for each in self.idle if begin <= each[1] and each[0] <= end]
        self.idle = [each for each in self.idle if each not in joined]
        self.idle.append((min([begin, *(each[0] for each in joined)]), max([end, *(each[1] for each in joined)])))

    def left(self) -> float:
        return self.spending.budget.seconds - self.worked()

    async def ask(
        self, request: ModelRequest, purpose: Literal["ask", "final"], progress: Progress | None = None
    ) -> ModelReply | Limit:
        """The model's reply, or the limit that kept it from coming: `seconds`, where the trial's own time ran out while
        it was writing, and `context_length`, where the tools' results have made the request too long. Raises
        TrialFailed."""
        tries, progress = Tries(self.retry), progress or Progress()
        while True:
            at, came = await self._request(request, purpose, progress)
            if isinstance(came, ModelReply):
                return self._replied(request, came, at, purpose)
            progress.failed = True
            limit = self._limit_behind(came, request, purpose)
            again = tries.again(came, self.elapsed()) and limit is None
            cost = self.spending.charge(request, came.reply, of_use=False) if isinstance(came, NoReplyError) else None
            asked_shorter = limit == "context_length" and purpose == "final"
            self._record_failure(came, at, tries.number, retried=again or asked_shorter, cost=cost)
            if again:
                await asyncio.sleep(tries.delay(came, self.rng))
            if limit != "seconds":
                self._note_idle(at, self.elapsed())
            if limit is not None:
                return limit
            if not again:
                raise TrialFailed

    async def ask_at_last(self, request: ModelRequest, limit: Limit | None) -> tuple[ModelRequest, ModelReply]:
        """The last request as it was sent, and its reply. Results of tools that make it too long are left out, the
        oldest first: as many as bring it to the length of the last request that the model took, then to half of that,
        and so on."""
        tokens = estimated_tokens(self.taken) if self.taken else 0
        if limit == "context_length":
            request = shortened(request, tokens)
        while not isinstance(reply := await self.ask(request, "final"), ModelReply):
            tokens = min(tokens, estimated_tokens(request)) // 2
            request = shortened(request, tokens)
        return request, reply

    async def _request(
        self, request: ModelRequest, purpose: Literal["ask", "final"], progress: Progress
    ) -> tuple[float, ModelReply | ModelError]:
        """When the request was sent, which is after the wait for its turn, and what came of it."""
        at = self.elapsed()
        allowed = self.left() if purpose == "ask" else max(self.left(), FINAL_SECONDS)
        came: ModelReply | ModelError
        with counting_waits() as waited:
            progress.waited = waited
            try:
                came = await self.model.complete(request, seconds=max(allowed, 0.001))
            except ModelError as error:
                came = error
            except asyncio.CancelledError:
                if not waited.in_line:
                    self._record_cut_off(round(at + waited.seconds, 6))
                raise
        sent = round(at + waited.seconds, 6)
        self._note_idle(at, sent)
        return sent, came

    def _record_cut_off(self, at: float) -> None:
        """The request is ended from outside while it is out, by the end of its trial or by an agent of the user's own;
        no more is known of it than that."""
        error = ModelError(f"no reply had come after {self.since(at):.1f} s when the request was ended", code=CUT_OFF)
        self._record_failure(error, at, 1, retried=False)

    def _replied(
        self, request: ModelRequest, reply: ModelReply, at: float, purpose: Literal["ask", "final"]
    ) -> ModelReply:
        seconds = self.since(at)
        self.spending.turns += purpose == "ask"
        cost = self.spending.charge(request, reply)
        self.taken = request
        for call in calls_of_provider(reply.message):
            self.spending.tool_calls += 1
            self.record(call.event(at))
        cut, self.input_cut = self.input_cut, None
        self.record(
            ModelCall(
                at=at, seconds=seconds, purpose=purpose, request=request, reply=reply, cost_usd=cost, input_cut=cut
            )
        )
        return reply

    def _limit_behind(self, error: ModelError, request: ModelRequest, purpose: Literal["ask", "final"]) -> Limit | None:
        if error.code == "timeout" and purpose == "ask" and self.left() <= 0:
            return "seconds"
        return "context_length" if error.code == "context_length" and can_be_shortened(request) else None

    async def call_all(self, calls: tuple[ToolRequest, ...]) -> tuple[tuple[Shown, ...], Limit | None]:
        """What the model is shown for each of its calls, in their order, and the limit that was reached, if any.

        The calls run concurrently. Where one fails for good the others are still awaited, so that what they did is in
        the record before TrialFailed is raised.
        """
        limit = self.spending.reached(self.worked())
        allowed = 0 if limit else self.spending.budget.tool_calls - self.spending.tool_calls
        running = calls[: max(allowed, 0)]
        self.spending.tool_calls += len(running)
        done = await asyncio.gather(*(self._call(call) for call in running), return_exceptions=True)
        failed = [result for result in done if isinstance(result, BaseException)]
        if failed:
            # A bug says more than a failure that is in the record already.
            raise next((error for error in failed if not isinstance(error, TrialFailed)), failed[0])
        finished = [result for result in done if not isinstance(result, BaseException)]
        if len(running) < len(calls):
            limit = limit or "tool_calls"
        return (*finished, *[Shown(NOT_EXECUTED)] * (len(calls) - len(running))), limit

    def refuse_all(self, calls: tuple[ToolRequest, ...]) -> tuple[Shown, ...]:
        """Answers calls that a model made although it was told that it cannot, without running anything."""
        offered = {spec.name for spec in self.specs}
        for call in calls:
            refusal: Refusal = "not_allowed" if call.name in offered else "unknown_tool"
            result = ToolResult(NOT_ALLOWED, status="invalid", error=refusal)
            self.record_call(call, result, self.elapsed())
            self.spending.tool_calls += 1
        return tuple(Shown(NOT_ALLOWED) for _ in calls)

    def answer(self, text: str, limit: Limit | None) -> None:
        if self.condition.answer_schema:
            text = with_answer_line(text)
        self.record(Answer(at=self.elapsed(), text=text, limit=limit))

    async def _call(self, call: ToolRequest) -> Shown:
        for attempt in range(1, self.retry.tool_attempts + 1):
            at = self.elapsed()
            try:
                result = await self._call_in_time(call)
            except (ToolError, SandboxError) as error:
                await self._wait_or_fail(error, at, attempt, self.retry.tool_attempts)
                continue
            return self.record_call(call, result, at)
        raise TrialFailed

    async def _call_in_time(self, call: ToolRequest) -> ToolResult:
        deadline = asyncio.timeout(max(self.left(), 0.0))
        try:
            async with deadline:
                return await self.tools.call(call)
        except TimeoutError:
            if not deadline.expired():
                raise
            return ToolResult(INTERRUPTED, status="error", error=OUT_OF_TIME)

    def record_call(self, call: ToolRequest, result: ToolResult, at: float) -> Shown:
        self.record(
            ToolCall(
                at=at,
                seconds=self.since(at),
                call=call,
                output=clean_text(result.output),
                status=result.status,
                error=clean_text(result.error),
                truncated=result.truncated,
                artifacts=result.artifacts,
                lookup=result.lookup,
                markers=result.markers,
                changes=result.changes,
                original=result.original,
            )
        )
        return shown_of(result, self.condition)

    async def _wait_or_fail(self, error: ToolablateError, at: float, attempt: int, attempts: int) -> None:
        """Records a failed attempt that began at `at`, and waits."""
        retried = error.retryable and attempt < attempts
        self._record_failure(error, at, attempt, retried=retried)
        if not retried:
            raise TrialFailed
        await asyncio.sleep(self.retry.delay(attempt, error, self.rng))
        self._note_idle(at, self.elapsed())

    def _record_failure(
        self, error: ToolablateError, at: float, attempt: int, *, retried: bool, cost: float | None = None
    ) -> None:
        failure = Failure.of(error, at=at, seconds=self.since(at), attempt=attempt, retried=retried)
        if isinstance(error, NoReplyError):
            failure = failure.model_copy(update={"reply": error.reply, "cost_usd": cost})
        self.record(failure)
