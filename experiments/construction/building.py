"""Builds: does of a pipeline what its workbench lacks, stage by stage."""

from collections import defaultdict
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import Any

from toolablate.agents import ChatModel, ModelSource, RetryPolicy
from toolablate.agents.chat import NoReplyError
from toolablate.agents.replies.reply_sources import REFUSALS
from toolablate.benchmarks.judging.answers import Ask
from toolablate.experiments.construction.json_replies import EMPTY, StaysUnreadError
from toolablate.experiments.construction.kinds import load_items, stages_of
from toolablate.experiments.construction.pipeline import Pipeline, asked_of
from toolablate.experiments.construction.question_items import forums_named
from toolablate.experiments.construction.reading import Read
from toolablate.experiments.construction.review import Review
from toolablate.experiments.construction.stages import (
    NOT_ASKED,
    REFUSED,
    UNREAD,
    Content,
    Dropped,
    Kept,
    Outcome,
    Role,
    Stage,
    Waiting,
    going_on,
)
from toolablate.experiments.construction.workbench import Paid, Workbench
from toolablate.experiments.pair_judging import PairWork, cost_told, end_told, estimated_requests, have_asked
from toolablate.experiments.running.grading import JudgeCalls
from toolablate.experiments.running.progress import RunProgress
from toolablate.reports.numbers import counted
from toolablate.traces.errors import ModelError, ToolablateError
from toolablate.traces.records import (
    Condition,
    JudgeCall,
    ModelReply,
    ModelRequest,
    Question,
    ReferenceTarget,
    digest_json,
)
from toolablate.traces.terminal_text import one_line

REPLY_TOKENS = 600
"""What a reply is taken to have. Those of a model that thinks at length have more."""
READING_TOKENS = 3_000
"""Of a reply that repeats a thread."""
_OF_ONE_REQUEST = REFUSALS | {"request_too_large", "bad_image"}
"""Codes of errors that say nothing of other requests, nor of a later time: no outage."""
_OF_REQUEST_OR_ENDPOINT = frozenset({"bad_request", "forbidden"})
"""Of errors that are of one request where the endpoint takes others, and else of the endpoint."""


@dataclass(frozen=True, slots=True)
class Step:
    """One item at one stage. `id` is the digest of all that its outcome depends on; by `asked` its replies are kept, so
    that what is asked in the same words again is not paid again."""

    id: str
    asked: str
    stage: Stage
    item: str
    content: Content
    context: object


@dataclass(frozen=True, slots=True)
class Lacking:
    """A step whose model was not asked yet: what is to be asked first, and the replies to go on from. `before` counts
    how often it was asked in the same words, of which recorded replies are told apart. `why` is what kept its model
    from being asked the last time, "" where that was not tried."""

    step: Step
    request: ModelRequest
    paid: Sequence[JudgeCall]
    before: int = 0
    why: str = ""


@dataclass(frozen=True, slots=True)
class Passed:
    """One stage: the items that came, what became of them, and the steps whose models were not asked yet."""

    stage: Stage
    steps: Mapping[str, Step]
    outcomes: Mapping[str, Outcome]
    lacking: Sequence[Lacking]

    @property
    def kept(self) -> dict[str, Content]:
        """What goes on to the next stage."""
        found: dict[str, Content] = {}
        for item, each in self.outcomes.items():
            if isinstance(each, Kept):
                for part, content in going_on(item, each.content):
                    # Of equal statements of two regions the first counts.
                    found.setdefault(part, content)
        # Who wrote in a forum is known once its pages are read.
        return forums_named(found) if isinstance(self.stage, Read) else found

    @property
    def contents(self) -> dict[str, Content]:
        """As the items came."""
        return {item: step.content for item, step in self.steps.items()}

    @property
    def waiting(self) -> dict[str, Waiting]:
        return {item: each for item, each in self.outcomes.items() if isinstance(each, Waiting)}


def passed(
    pipeline: Pipeline, bench: Workbench, stage: Stage, contents: Mapping[str, Content], *, again: bool = False
) -> Passed:
    """What is known of a stage: kept in the workbench, or made anew where no model has to be asked for it. Nothing is
    written. With `again` items whose replies could not be used lack theirs, as do those whose request was refused."""
    known, failures = bench.steps(stage.name), bench.failures()
    context = stage.context(contents)
    steps = {item: _step(pipeline, stage, item, content, context.get(item)) for item, content in contents.items()}
    outcomes: dict[str, Outcome] = {}
    lacking = []
    for item, step in steps.items():
        found = known.get(step.id) or _found(step, bench.calls(step.asked), pipeline, again=again)
        if isinstance(found, Lacking):
            # Earlier versions kept it by the step.
            why = failures.get(_failure_key(step, found.request), failures.get(step.id, ""))
            if not again and why.partition(": ")[0] in _OF_ONE_REQUEST | {REFUSED}:
                outcomes[item] = Waiting(REFUSED, why.removeprefix(f"{REFUSED}: "))
            else:
                lacking.append(replace(found, why=why))
        else:
            outcomes[item] = found
    return Passed(stage, steps, outcomes, lacking)


def _found(step: Step, paid: Sequence[JudgeCall], pipeline: Pipeline, *, again: bool) -> Outcome | Lacking:
    try:
        return _at_once(_taken(step, paid, _refuse, pipeline))
    except _NotPaidError as error:
        before = sum(_is_filtered(call) and call.request == error.request for call in paid)
        return Lacking(step, error.request, paid, before)
    except StaysUnreadError as error:
        if not again:
            return Waiting(UNREAD, error.fault)
        tried = {request.identity() for request in error.tried}
        left = [call for call in paid if call.request.identity() not in tried]
        before = sum(call.request == error.tried[0] for call in paid)
        return Lacking(step, error.tried[0], left, before)


def _step(pipeline: Pipeline, stage: Stage, item: str, content: Content, context: object) -> Step:
    model = pipeline.model_of(stage.role).identity() if stage.role else ""
    depends = [stage.name, stage.version, dict(stage.settings()), model, item, content, context]
    asked = digest_json([stage.name, model, item])
    return Step(digest_json(depends), asked, stage, item, content, context)


def _failure_key(step: Step, request: ModelRequest) -> str:
    """A failure is of a request, as a reply is: where only a licence changes it is not made again."""
    return digest_json([step.asked, request.identity()])


async def _taken(step: Step, paid: Iterable[JudgeCall], ask: Ask, pipeline: Pipeline) -> Outcome:
    """What was paid is given again, of one request the latest reply: `--again` asks anew, and two like texts are asked
    for once, other than in `PaidInTurn`. What had an empty reply is asked in the same words, `asks` times in all. An
    item that is too long for a request waits: no endpoint would take it. Raises StaysUnreadError."""
    known = defaultdict[str, list[JudgeCall]](list)
    for call in paid:
        if not _is_filtered(call):
            known[call.request.identity()].append(call)

    async def asked(request: ModelRequest) -> JudgeCall:
        calls = known[request.identity()]
        if not calls and sum(len(message.content) for message in request.messages) > pipeline.request_chars:
            raise _TooLongError
        while not calls or _is_empty(calls[-1]):
            if len(calls) >= pipeline.asks:
                raise StaysUnreadError(EMPTY, (request,))
            calls.append(await ask(request))
        return calls[-1]

    try:
        return await step.stage.take(step.item, step.content, step.context, asked)
    except _TooLongError:
        return Waiting("longer than request_chars")


def _is_empty(call: JudgeCall) -> bool:
    """Of what a model ended by itself: a reply that was cut off before its first word has another fault."""
    message = call.reply.message
    ended = call.reply.finish_reason not in ("length", "paused")
    return ended and not message.content.strip() and not message.tool_calls


def _is_filtered(call: JudgeCall) -> bool:
    return call.reply.finish_reason == "content_filter"


def paid_for(step: Step, calls: Sequence[tuple[JudgeCall, float]]) -> tuple[Paid, Paid]:
    """What was paid for the step as it is now, and what in other words before: `calls`, each with its seconds, are
    those of its item and model, whatever they were asked."""
    known = {call.request.identity(): call for call, _ in calls}
    asked = set[tuple[str, ...]]()

    async def given(request: ModelRequest) -> JudgeCall:
        asked.add(_opening(request))
        if (call := known.get(request.identity())) is None:
            raise _NotPaidError(request)
        return call

    with suppress(_NotPaidError, StaysUnreadError):
        _at_once(step.stage.take(step.item, step.content, step.context, given))
    now, before = Paid(), Paid()
    for call, seconds in calls:
        paid = Paid(1, call.cost_usd, seconds)
        if _opening(call.request) in asked:
            now += paid
        else:
            before += paid
    return now, before


def _opening(request: ModelRequest) -> tuple[str, ...]:
    """What was asked before any reply: all requests that mend a reply, and those of `--again`, have it in common."""
    return tuple(each.content for each in takewhile(lambda each: each.role != "assistant", request.messages))


class _TooLongError(Exception):
    pass


class _NotPaidError(Exception):
    def __init__(self, request: ModelRequest) -> None:
        super().__init__()
        self.request = request


def _at_once(work: Coroutine[Any, Any, Outcome]) -> Outcome:
    """What asks nobody never waits: an event loop for each item took longer than its work."""
    try:
        work.send(None)
    except StopIteration as end:
        outcome: Outcome = end.value
        return outcome
    raise AssertionError("it waits for something")


async def _refuse(request: ModelRequest) -> JudgeCall:
    raise _NotPaidError(request)


@dataclass(frozen=True, slots=True)
class StageWork:
    """What a stage's model did, and how many items still lack a reply."""

    stage: str
    role: Role
    work: PairWork
    lacking: int


@dataclass(frozen=True, slots=True)
class Built:
    """How far a pipeline is: its stages in order. `published` are the contents at the end, by item, None of a build
    that was stopped; `missing` counts the items whose model could not be asked. `work` says of the stages whose models
    were asked what they did."""

    stages: tuple[Passed, ...]
    published: Mapping[str, Content] | None
    work: tuple[StageWork, ...] = ()

    @property
    def review(self) -> Passed:
        """The last one, of what is published."""
        return self.reviews[-1]

    @property
    def reviews(self) -> tuple[Passed, ...]:
        """Where people decide."""
        return tuple(each for each in self.stages if isinstance(each.stage, Review))

    @property
    def missing(self) -> int:
        return sum(len(each.lacking) for each in self.stages)


@dataclass(frozen=True, slots=True)
class LostRepeat:
    """An item that was dropped since it repeats another, where that one is not at the end either: it was dropped at a
    stage for that reason, or waits there."""

    item: str
    repeats: str
    stage: str
    reason: str
    waits: bool


def lost_repeats(stages: Iterable[Passed]) -> list[LostRepeat]:
    """Of what repeats something that repeats a third, it is that third one."""
    left: dict[str, tuple[str, Dropped | Waiting]] = {}
    for passed in stages:
        name = passed.stage.name
        # What waits for people has not failed.
        gone = (Dropped,) if isinstance(passed.stage, Review) else (Dropped, Waiting)
        left |= {item: (name, each) for item, each in passed.outcomes.items() if isinstance(each, gone)}
        left |= {each.step.item: (name, Waiting(NOT_ASKED)) for each in passed.lacking}
    found = []
    for item in left:
        last = item
        while last in left and isinstance(fate := left[last][1], Dropped) and fate.repeats:
            last = fate.repeats
        if last != item and last in left:
            stage, why = left[last]
            found.append(LostRepeat(item, last, stage, why.reason, isinstance(why, Waiting)))
    return found


def seen_so_far(pipeline: Pipeline, bench: Workbench) -> Built:
    """Without asking or writing anything."""
    contents: Mapping[str, Content] = load_items(pipeline)
    stages = []
    for stage in stages_of(pipeline, bench):
        stages.append(found := passed(pipeline, bench, stage, contents))
        contents = found.kept
    return Built(tuple(stages), contents)


@dataclass
class _Budget:
    """US dollars that may be spent yet; None for any."""

    left: float | None
    begun: bool = False

    def book(self, work: PairWork) -> None:
        if self.left is not None:
            self.left = max(0.0, self.left - sum(each.cost_usd for each in work.judges))


def build(
    pipeline: Pipeline,
    bench: Workbench,
    items: Mapping[str, Content],
    *,
    max_cost: float | None = None,
    again: bool = False,
    progress: RunProgress | None = None,
) -> Built:
    """Does what the workbench lacks. Each reply and each step is kept at once: a killed build goes on where it was, and
    asks for nothing again that was replied to. With `again` it asks once more for items whose replies could not be
    used, or whose request was refused. What the pipeline needs is there, and `items` are its own (`require`). Raises
    ToolablateError where nothing can be asked or kept."""
    progress = progress or RunProgress()
    contents = items
    budget, stages, work = _Budget(max_cost), list[Passed](), list[StageWork]()
    for stage in stages_of(pipeline, bench):
        found = passed(pipeline, bench, stage, contents, again=again)
        _keep(bench, found)
        if found.lacking:
            asking = _Log()
            done = _ask(pipeline, bench, found, budget, progress, asking)
            budget.book(done)
            if not (done.stopped or done.capped):
                _keep_failures(bench, found, done, asking)
            _keep_own_refusals(bench, found, asking)
            found = passed(pipeline, bench, stage, contents)
            assert stage.role is not None
            work.append(StageWork(stage.name, stage.role, done, len(found.lacking)))
        stages.append(found)
        contents = found.kept
        if work and (work[-1].work.stopped or work[-1].work.capped):
            break
    else:
        return Built(tuple(stages), contents, tuple(work))
    return Built((*stages, *_rest(pipeline, bench, len(stages), contents)), None, tuple(work))


def _rest(pipeline: Pipeline, bench: Workbench, done: int, contents: Mapping[str, Content]) -> list[Passed]:
    """Of a build that was stopped, the stages that it did not get to, as they are."""
    stages = []
    for stage in stages_of(pipeline, bench)[done:]:
        stages.append(found := passed(pipeline, bench, stage, contents))
        contents = found.kept
    return stages


def _keep(bench: Workbench, found: Passed) -> None:
    known = bench.steps(found.stage.name)
    for item, outcome in found.outcomes.items():
        step = found.steps[item]
        if step.id not in known and not isinstance(outcome, Waiting):
            bench.keep_step(step.id, item, found.stage.name, outcome)


@dataclass(frozen=True, slots=True)
class _Log:
    """How an asking went, by the ids of steps: those that were begun, those that had any reply, why others failed with
    the key of that failure."""

    begun: set[str] = field(default_factory=set)
    replied: set[str] = field(default_factory=set)
    failed: dict[str, tuple[str, str]] = field(default_factory=dict)


def _keep_own_refusals(bench: Workbench, tried: Passed, asking: _Log) -> None:
    """A plain refusal is of one item where the model replied to another of the stage: in this asking; or ever, where
    nothing else was asked. An endpoint that was given up, or replied to none, refuses all."""
    refused = {
        step: each for step, each in asking.failed.items() if each[1].partition(": ")[0] in _OF_REQUEST_OR_ENDPOINT
    }
    if not refused or len(asking.begun) < len(tried.lacking):
        return
    paid = bench.paid() if len(asking.begun) == 1 else {}
    for step, (key, why) in refused.items():
        before = any(each.asked in paid for each in tried.steps.values() if each.id != step)
        if asking.replied - {step} or before:
            bench.keep_failure(key, f"{REFUSED}: {why}")


def _keep_failures(bench: Workbench, tried: Passed, done: PairWork, asking: _Log) -> None:
    """Of items that were not begun either, since so many before them had failed. An earlier build's failure is no
    longer the last one."""
    made = bench.steps(tried.stage.name)
    for why in (_why(each.code, each.message) for work in done.judges for each in work.ungraded[:1]):
        for lacking in tried.lacking:
            if lacking.step.id not in made and lacking.step.id not in asking.failed:
                bench.keep_failure(_failure_key(lacking.step, lacking.request), why)


def _ask(
    pipeline: Pipeline, bench: Workbench, found: Passed, budget: _Budget, progress: RunProgress, asking: _Log
) -> PairWork:
    role = found.stage.role
    assert role is not None
    model = pipeline.model_of(role)

    def maker(sources: Mapping[str, ModelSource], retry: RetryPolicy) -> "_Asking":
        return _Asking(bench, sources[model.name], retry, pipeline, asking)

    tokens = READING_TOKENS if role == "reader" else REPLY_TOKENS
    requests = [(each.request, tokens) for each in found.lacking]
    told = f"{found.stage.name}: {counted(len(found.lacking), 'item')}"
    asked = asked_of(pipeline)
    if budget.left is not None and budget.begun:
        cost = estimated_requests(asked, model, requests)
        if cost is None or cost > budget.left:
            return PairWork(capped=True)
    budget.begun = True
    return have_asked(asked, model, found.lacking, requests, maker, progress, "build", told, budget.left)


@dataclass(frozen=True, slots=True)
class _WholeChat:
    """Gives what came also where it is none: it was paid for."""

    chat: ChatModel

    async def complete(self, request: ModelRequest, *, seconds: float) -> ModelReply:
        try:
            return await self.chat.complete(request, seconds=seconds)
        except NoReplyError as error:
            if error.code not in ("empty_reply", "content_filter"):
                raise
            return error.reply


@dataclass(frozen=True, slots=True)
class _Asking:
    bench: Workbench
    source: ModelSource
    retry: RetryPolicy
    pipeline: Pipeline
    log: _Log

    async def __call__(self, lacking: Lacking) -> tuple[str | None, bool]:
        step = lacking.step
        self.log.begun.add(step.id)
        assert step.stage.role is not None
        model = self.pipeline.model_of(step.stage.role)
        # What scripted models and recorded replies are found by.
        question = Question(id=step.item, prompt=step.item, as_is=True, target=ReferenceTarget(answer="-"))
        chat = self.source.session(question, Condition(name=f"build {step.stage.name}"), lacking.before)
        calls = JudgeCalls(_WholeChat(chat), model, self.retry, seed=step.id)
        last = lacking.request

        async def ask(request: ModelRequest) -> JudgeCall:
            nonlocal last
            last = request
            call, seconds = await calls.timed(request)
            self.bench.keep_call(step.asked, call, seconds)
            self.log.replied.add(step.id)
            if _is_filtered(call):
                raise ModelError("the endpoint's content filter stopped the reply", code="content_filter")
            return call

        try:
            outcome = await _taken(step, lacking.paid, ask, self.pipeline)
        except StaysUnreadError as error:
            return error.fault, True
        except ToolablateError as error:
            key, why = _failure_key(step, last), _why(error.code, error.message)
            self.log.failed[step.id] = key, why
            self.bench.keep_failure(key, why)
            if error.code in _OF_ONE_REQUEST:
                return REFUSED, True
            raise
        if isinstance(outcome, Waiting):
            return outcome.reason, True
        self.bench.keep_step(step.id, step.item, step.stage.name, outcome)
        return None, True


def work_told(done: StageWork) -> list[str]:
    """What a stage's model did and cost, and what kept the rest; plain lines for a terminal."""
    lines = []
    for each in done.work.judges:
        who = f"{done.stage}, {done.role} {one_line(each.judge)}"
        if each.requests:
            empty = f", of which {each.empty} had no reply in words" if each.empty else ""
            asked = f"{counted(each.requests, 'request')}{empty}"
            lines.append(f"{who}: {counted(each.graded, 'item')} done ({asked}, {cost_told(each)})")
        if each.ungraded and done.lacking:
            why = "; ".join(one_line(_why(of.code, of.message)) for of in each.ungraded)
            lines.append(f"{who}: {counted(done.lacking, 'item')} could not be asked for: {why}")
    return [*lines, *end_told(done.work)]


def _why(code: str, message: str) -> str:
    return f"{_CODES.get(code, code)}: {message}"


_CODES = {"no_grade": "no reply can be used"}
"""Of errors that judges have."""
