"""Lets models continue prompts, keeps what they return, and shows progress."""

import asyncio
import math
import random
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from toolablate.agents import EndpointLine, PacedSource, RetryPolicy, lines_of
from toolablate.agents.chat import ModelSource, ask
from toolablate.agents.endpoint.text_completions import NOT_SCORED, NOT_SERVED, TextEndpoint
from toolablate.agents.pacing import LetGo, pressures
from toolablate.experiments.contamination.overlap import Continued, open_rouge
from toolablate.experiments.contamination.perplexity import ScoredPrompts
from toolablate.experiments.contamination.prompts import Beginning, ContaminationPlan, Prompts, read_prompts
from toolablate.experiments.record_file import RecordFile
from toolablate.experiments.running.launch import told_at_the_end
from toolablate.experiments.running.runner import EndpointStanding, first_error
from toolablate.reports.numbers import counted
from toolablate.traces.errors import ModelError
from toolablate.traces.records import (
    Condition,
    Continuation,
    Message,
    ModelReply,
    ModelRequest,
    OpenAIModel,
    PromptScore,
    Question,
)
from toolablate.traces.terminal_text import one_line

# What each line begins with; what does not was not written here, and is never cut off.
_HEAD = b'{"version":1,"model":"'


class ContinuationFile(RecordFile[Continuation]):
    """The continuations by what was asked, of two the first."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            path,
            Continuation,
            lambda each: each.asked,
            head=_HEAD,
            what="continuation of a prompt",
            in_use="name another file in the plan",
        )


class ScoreFile(RecordFile[PromptScore]):
    """The scores by what was asked."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            path, PromptScore, lambda each: each.asked, head=_HEAD, what="score of a prompt", in_use="name another file"
        )


# Lets models continue what has no continuation yet.


# Characters of a continuation that are kept; the tokens that are compared are long ones to have so many.
MOST_CHARACTERS = 20_000
# Requests are alike but for their texts, so what one after the other is refused is no matter of a text.
_IN_VAIN = frozenset({"bad_request"})
_NO_TOOLS = Condition(name="contamination")


class Watching(Protocol):
    """Is told how far it is."""

    def begin(self, model: str, asked: int, done: int) -> None: ...

    def advance(self, model: str) -> None: ...


@dataclass(frozen=True, slots=True)
class Ran:
    """`parts` are all models and benchmarks of the plan; `notes` say in a sentence each what went wrong with requests,
    or was waited for; `file` holds the continuations. `scored` is empty where the plan does not ask for perplexity."""

    parts: tuple[Continued, ...]
    notes: tuple[str, ...]
    file: Path
    scored: tuple[ScoredPrompts, ...] = ()

    @property
    def missing(self) -> int:
        continued = sum(part.prompts - part.too_short - len(part.continuations) for part in self.parts)
        return continued + sum(part.prompts - len(part.scores) for part in self.scored)


def continue_prompts(plan: ContaminationPlan, watching: Watching) -> Ran:
    """Asks for what the plan's file does not hold yet. What came is in it at once, so that the same plan goes on where
    it was stopped or killed. Raises ToolablateError where nothing can be asked or kept, KeyboardInterrupt at Ctrl-C."""
    prompts = read_prompts(plan)
    open_rouge()
    return asyncio.run(_continue_all(plan, prompts, watching))


async def _continue_all(plan: ContaminationPlan, prompts: Sequence[Prompts], watching: Watching) -> Ran:
    lines = lines_of(plan.models)
    async with AsyncExitStack() as stack:
        endpoints = []
        for model in plan.models:
            endpoints.append(TextEndpoint(model))
            stack.push_async_callback(endpoints[-1].close)
        # All that can be refused comes before.
        kept = stack.enter_context(ContinuationFile(Path(plan.file)))
        continuers = [
            _Continuer(model, endpoint, lines[model.name], _left(model, prompts, kept, plan.seed), kept, watching)
            for model, endpoint in zip(plan.models, endpoints, strict=True)
        ]
        scores: Mapping[tuple[object, ...], PromptScore] = {}
        if plan.perplexity:
            scored = stack.enter_context(ScoreFile(Path(plan.file).with_suffix(".perplexity.jsonl")))
            scores = scored.found
            continuers += [
                _Scorer(
                    model, endpoint, lines[model.name], _unscored(model, prompts, scored, plan.seed), scored, watching
                )
                for model, endpoint in zip(plan.models, endpoints, strict=True)
            ]
        asked = sum(len(each.beginnings) for each in prompts)
        for each in continuers:
            watching.begin(each.name, asked, asked - len(each.left))
        await _work(continuers)
        told = told_at_the_end(pressures(lines.values()))
    parts = tuple(_part(model, each, kept.found) for model in plan.models for each in prompts)
    notes = (*(note for each in continuers for note in each.notes()), *told)
    own = [(model, each) for model in plan.models for each in prompts] if plan.perplexity else []
    return Ran(parts, notes, kept.path, tuple(_scored(model, each, scores) for model, each in own))


def _left(model: OpenAIModel, prompts: Sequence[Prompts], kept: ContinuationFile, seed: int) -> "deque[Beginning]":
    """In random order, so that a drift of the endpoint hits all benchmarks alike."""
    left = [each for part in prompts for each in part.beginnings if each.asked_of(model) not in kept.found]
    random.Random(seed).shuffle(left)  # noqa: S311 - an order, not a secret
    return deque(left)


def _unscored(model: OpenAIModel, prompts: Sequence[Prompts], kept: ScoreFile, seed: int) -> "deque[Beginning]":
    left = [each for part in prompts for each in part.beginnings if each.scored_as(model) not in kept.found]
    random.Random(seed).shuffle(left)  # noqa: S311 - an order, not a secret
    return deque(left)


def _scored(model: OpenAIModel, prompts: Prompts, found: Mapping[tuple[object, ...], PromptScore]) -> ScoredPrompts:
    keys = [each.scored_as(model) for each in prompts.beginnings]
    return ScoredPrompts(model.name, prompts.benchmark, len(keys), tuple(found[key] for key in keys if key in found))


async def _work(continuers: Sequence["_Continuer"]) -> None:
    with first_error():
        async with asyncio.TaskGroup() as group:
            for each in continuers:
                for _ in range(min(each.model.concurrency, len(each.left))):
                    group.create_task(each.work())


def _part(model: OpenAIModel, prompts: Prompts, found: Mapping[tuple[object, ...], Continuation]) -> Continued:
    asked = len(prompts.beginnings) + prompts.too_short
    return Continued(model.name, prompts.benchmark, asked, prompts.too_short, prompts.continued(model, found))


@dataclass(slots=True)
class _Continuer:
    """What one model is still to continue."""

    model: OpenAIModel
    endpoint: TextEndpoint
    line: EndpointLine
    left: deque[Beginning]
    kept: RecordFile[Any]
    watching: Watching
    failures: Counter[str] = field(default_factory=Counter)
    messages: dict[str, ModelError] = field(default_factory=dict)
    standing: EndpointStanding = field(default_factory=lambda: EndpointStanding(_IN_VAIN))
    given_up: str = ""

    async def work(self) -> None:
        """Until there is nothing left, or the endpoint was given up."""
        while self.left:
            beginning = self.left.popleft()
            try:
                record = await self._made(beginning)
            except LetGo:
                self.left.appendleft(beginning)
                return
            except ModelError as error:
                self._note(error)
            else:
                self.standing.succeeded()
                self.kept.append(record)
            self.watching.advance(self.name)

    @property
    def name(self) -> str:
        return self.model.name

    async def _made(self, beginning: Beginning) -> Continuation | PromptScore:
        room = beginning.max_tokens
        reply = await self._ask(self.endpoint.limited(room), beginning.question, beginning.given, room)
        return _continuation(self.model, beginning, reply)

    async def _ask(self, source: ModelSource, question: Question, text: str, most: int) -> ModelReply:
        chat = PacedSource(source, self.line, most).session(question, _NO_TOOLS, 0)
        request = ModelRequest(messages=(Message(role="user", content=text),))
        rng, clock = random.Random(), asyncio.get_running_loop().time  # noqa: S311 - jitter, not a secret
        seconds, retry = self.model.timeout_seconds, RetryPolicy(paced=True)
        return (await ask(chat, request, retry=retry, seconds=seconds, price=None, rng=rng, clock=clock)).reply

    def _note(self, error: ModelError) -> None:
        self.failures[error.code] += 1
        self.messages.setdefault(error.code, error)
        reason = self.standing.failed(error.code, error.message)
        if error.code in (NOT_SERVED, NOT_SCORED):
            reason = "it would refuse them all"
        if reason:
            # What was said is told by the notes on failures.
            why = reason.removesuffix(error.message).removesuffix(": ").removesuffix(", the last with")
            self._give_up(why or "it cannot be reached")

    def _give_up(self, why: str) -> None:
        if self.left:
            self.given_up = f"{self.name}: {len(self.left)} more were not asked: {why}"
            self.left.clear()

    def notes(self) -> list[str]:
        told = [f"{self.name}: {count} x {code}: {self.messages[code]}" for code, count in self.failures.most_common()]
        return [*told, *([self.given_up] if self.given_up else [])]


class _Scorer(_Continuer):
    """What one model is still to score: the whole prompt less its beginning, since tokens of a part of a character
    cannot be told by their place in the text."""

    __slots__ = ()

    @property
    def name(self) -> str:
        return f"{self.model.name} (perplexity)"

    async def _made(self, beginning: Beginning) -> Continuation | PromptScore:
        found = []
        for text in (beginning.given, beginning.given + beginning.rest):
            reply = await self._ask(self.endpoint.scoring(), beginning.question, text, 1)
            assert isinstance(reply.logprobs, list)
            found.append([each for each in reply.logprobs if isinstance(each, float)])
        given, whole = found
        if len(whole) <= len(given):
            raise ModelError("the whole prompt has no more tokens than its beginning", code="bad_reply")
        return PromptScore(
            model=self.model.identity(),
            benchmark=beginning.benchmark,
            question=beginning.question.id,
            cluster=beginning.question.cluster,
            given=beginning.given,
            rest=beginning.rest,
            logprob=min(math.fsum(whole) - math.fsum(given), 0.0),
            tokens=len(whole) - len(given),
            bytes=len(beginning.rest.encode()),
            served=reply.model,
            at=datetime.now(UTC),
        )


def _continuation(model: OpenAIModel, beginning: Beginning, reply: ModelReply) -> Continuation:
    return Continuation(
        model=model.identity(),
        benchmark=beginning.benchmark,
        question=beginning.question.id,
        cluster=beginning.question.cluster,
        given=beginning.given,
        rest=beginning.rest,
        max_tokens=beginning.max_tokens,
        text=reply.message.content[:MOST_CHARACTERS],
        finish_reason=reply.finish_reason,
        usage=reply.usage,
        served=reply.model,
        at=datetime.now(UTC),
    )


# Shows how far a contamination test is: a bar for each model in a terminal, a line at its beginning elsewhere.


class ContaminationProgress:
    def __init__(self, console: Console) -> None:
        self._console = console
        self._bars: dict[str, TaskID] = {}
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        self._progress = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def begin(self, model: str, asked: int, done: int) -> None:
        name = one_line(model)
        held = f" ({done} {'is' if done == 1 else 'are'} there already)" if done else ""
        self._console.print(f"{name}: {asked - done} of {counted(asked, 'prompt')} to continue{held}", markup=False)
        self._bars[model] = self._progress.add_task(escape(name), total=asked, completed=done)

    def advance(self, model: str) -> None:
        self._progress.advance(self._bars[model])
