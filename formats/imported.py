"""What a log of another harness holds, as records of ours."""

import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from pydantic import ValidationError

from toolablate.traces.errors import InputError
from toolablate.traces.records import (
    ChoiceTarget,
    Condition,
    Environment,
    Event,
    ImportedLog,
    Label,
    Model,
    NumberTarget,
    Outcome,
    Question,
    ReferenceTarget,
    Score,
    Target,
    TextTarget,
    Trace,
    Trial,
    Usage,
    Verdict,
    clean_text,
    digest_json,
)
from toolablate.traces.terminal_text import one_line

# What a log of another harness says, in our records.


@dataclass(frozen=True, slots=True)
class Sample:
    """One attempt at a question, as a log has it.

    `name` is what the log calls the question, unique in it; `where` says which sample of which file it is. `scores`
    name no trial and no answer key yet: those are known once it is known which question of the store it is; `labels`,
    in the order in which people gave them, name none either. `left_out` has, by scorer, why a value is no score.
    """

    name: str
    where: str
    question: Question
    repeat: int
    outcome: Outcome
    started_at: datetime
    seconds: float
    events: tuple[Event, ...]
    usage: Usage
    cost_usd: float | None
    environment: Environment
    scores: tuple[Score, ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()
    labels: tuple[Label, ...] = ()


@dataclass(frozen=True, slots=True)
class Log:
    """One arm: what one model did under one condition.

    `id` tells the log from others of its harness. `samples` reads them anew each time that it is called, one at a time,
    and raises InputError for one that cannot be taken. `preferred` are the scorers whose scores the log shows first;
    several count together, each for its kind of question. `baseline` is "" where it names none; `place` is that of
    model and condition among those of the study that the log was written of.
    """

    harness: str
    file: Path
    id: str
    model: Model
    condition: Condition
    samples: Callable[[], Iterator[Sample]]
    preferred: tuple[str, ...] = ()
    baseline: str = ""
    place: tuple[int, int] = (0, 0)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Imported:
    """What came of one log: `added` of its samples and `labels` of people are new to the store, `failed` samples ended
    without an answer. Tables show the scores of `scorers`; `others` are kept beside them, and `left_out` says what
    could not be taken, and why."""

    file: Path
    model: str
    condition: str
    samples: int
    added: int
    failed: int
    labels: int
    scorers: tuple[str, ...]
    others: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


# How what is imported is called.


_CHARS = 200


def name_of(text: str, otherwise: str) -> str:
    """A name for a table: one line without controls, `otherwise` where nothing is left of it."""
    return one_line(text, max_chars=_CHARS) or otherwise


# Answer keys of other harnesses as ours.


_NUMBER = re.compile(r"\s*[+-]?\d{1,15}(?:\.\d{1,15})?\s*")
_NONE = "(none)"


def choice_target(letters: Sequence[str]) -> ChoiceTarget:
    return ChoiceTarget(letters=tuple(sorted(letters)))


def target_of(answers: Sequence[str]) -> Target:
    """One number, a reference in words, or several texts of which any is right."""
    said = tuple(clean_text(answer) for answer in answers if answer)
    if len(said) > 1:
        return TextTarget(answers=said)
    if len(answers) == 1 and _NUMBER.fullmatch(answers[0]) and math.isfinite(float(answers[0])):
        return NumberTarget(value=float(answers[0]))
    return ReferenceTarget(answer="".join(said) or _NONE)


# What a number says of an answer.


def verdict_of(value: float | None) -> Verdict:
    """Of a value in [0, 1], or of None: not scored."""
    if value is None:
        return "unscored"
    return "correct" if value == 1 else "wrong" if value == 0 else "partial"


# The same question in two logs is one question.


def content_of(question: Question) -> str:
    """Digest of what is asked, whatever the question is called and however it is scored."""
    return digest_json(
        [question.prompt, list(question.choices), question.target.kind, question.language, question.metadata]
    )


class Questions:
    """The questions of a store by what they ask; those of further logs are taken in."""

    def __init__(self, known: Iterable[Question]) -> None:
        self._by_content: dict[str, list[Question]] = defaultdict(list)
        for question in known:
            self._by_content[content_of(question)].append(question)

    def of_log(self) -> "QuestionsOfLog":
        return QuestionsOfLog(self._by_content)


class QuestionsOfLog:
    """Tells which question each sample of one log is. Two samples that the log tells apart are two questions, even
    where they ask the same."""

    def __init__(self, by_content: dict[str, list[Question]]) -> None:
        self._by_content = by_content
        self._found: dict[tuple[str, str], Question] = {}
        self._taken: dict[str, set[str]] = defaultdict(set)

    def find(self, sample: Sample) -> Question:
        """Raises InputError where it is known with another answer key, since its scores could not be compared."""
        content = content_of(sample.question)
        key = content, sample.name
        if key not in self._found:
            self._found[key] = self._match(sample.question, content)
            self._taken[content].add(self._found[key].identity())
        question = self._found[key]
        if question.key_identity() != sample.question.key_identity():
            raise InputError(
                f"{sample.where}: the same question, {one_line(question.id, max_chars=80)!r},"
                " is known with another key",
                hint="Scores by different keys cannot be compared: import this log into another store (--store).",
                code="other_key",
            )
        return question

    def _match(self, question: Question, content: str) -> Question:
        known = self._by_content[content]
        free = [each for each in known if each.identity() not in self._taken[content]]
        named = [each for each in free if each.id == question.id]
        if named or free:
            return (named or free)[0]
        known.append(question)
        return question


# A log that was read through, before anything of it is written.


_MOST_REPEATS = 2**31
_MOST_TOKENS = 2**62
_MOST_SECONDS = 1e9


@dataclass(slots=True)
class ImportedArm:
    """A log that was read through once: the trials of its samples in their order, by repeats of the log itself."""

    log: Log
    questions: list[Question] = field(default_factory=list)
    repeats: list[int] = field(default_factory=list)
    failed: int = 0
    scorers: dict[str, None] = field(default_factory=dict)
    left_out: dict[str, tuple[str, str]] = field(default_factory=dict)
    first_repeat: int = 0

    def trials(self) -> list[Trial]:
        model, condition = self.log.model.identity(), self.log.condition.identity()
        identities = {id(question): question.identity() for question in self.questions}
        return [
            Trial(
                question=identities[id(question)],
                model=model,
                condition=condition,
                repeat=self.first_repeat + repeat,
            )
            for question, repeat in zip(self.questions, self.repeats, strict=True)
        ]

    def listed(self) -> ImportedLog:
        return ImportedLog(
            harness=self.log.harness,
            log=self.log.id,
            file=self.log.file.name,
            model=self.log.model.identity(),
            condition=self.log.condition.identity(),
            samples=len(self.questions),
            first_repeat=self.first_repeat,
            repeats=max(self.repeats, default=0) + 1,
        )


def read_arm(log: Log, questions: Questions) -> ImportedArm:
    """Reads a log through. Raises InputError for a sample that cannot be taken, or that is there twice."""
    arm, of_log, seen = ImportedArm(log), questions.of_log(), set()
    for sample in log.samples():
        question = of_log.find(sample)
        _require_sound(sample)
        if (id(question), sample.repeat) in seen:
            raise InputError(f"{sample.where} is in the log twice", code="twice")
        seen.add((id(question), sample.repeat))
        arm.questions.append(question)
        arm.repeats.append(sample.repeat)
        arm.failed += sample.outcome == "failed"
        arm.scorers |= dict.fromkeys(score.scorer for score in sample.scores)
        for name, reason in sample.left_out:
            arm.scorers[name] = None
            arm.left_out.setdefault(name, (sample.where, reason))
    if not arm.questions:
        raise InputError(f"{log.file} holds no samples", code="no_samples")
    return arm


def _require_sound(sample: Sample) -> None:
    """Raises InputError for what no store can hold, since it would be found when half of the log is written."""
    try:
        trace = Trace(
            trial=Trial(question="", model="", condition="", repeat=sample.repeat),
            attempt=1,
            outcome=sample.outcome,
            started_at=sample.started_at,
            seconds=sample.seconds,
            usage=sample.usage,
            cost_usd=sample.cost_usd,
            environment=sample.environment,
            events=sample.events,
        )
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        raise _unsound(sample, f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    longest = max([trace.seconds, *(event.at + event.seconds for event in trace.events)])
    tokens = [count for count in trace.usage.model_dump().values() if count is not None]
    if longest > _MOST_SECONDS:
        raise _unsound(sample, f"it took {longest:g} seconds")
    if sample.repeat >= _MOST_REPEATS:
        raise _unsound(sample, f"it is number {sample.repeat:g} of its question")
    if any(not 0 <= count <= _MOST_TOKENS for count in tokens):
        raise _unsound(sample, f"its tokens are {', '.join(f'{count:g}' for count in tokens)}")
    if (trace.cost_usd or 0) < 0:
        raise _unsound(sample, f"it cost {trace.cost_usd:g} dollars")


def _unsound(sample: Sample, said: str) -> InputError:
    return InputError(f"{sample.where} is invalid: {said}", code="bad_sample")


def place_arms(arms: Sequence[ImportedArm], earlier: Sequence[ImportedLog], trials: Iterable[Trial]) -> None:
    """Gives a log that repeats an arm of another one, earlier or among these, the repeats after those."""
    listed, held = list(earlier), {trial.id for trial in trials}
    for arm in arms:
        mine = arm.listed()
        known = [each for each in listed if log_key(each) == log_key(mine)]
        if known:
            arm.first_repeat = known[0].first_repeat
        elif held.intersection(trial.id for trial in arm.trials()):
            same = [each for each in listed if (each.model, each.condition) == (mine.model, mine.condition)]
            arm.first_repeat = max(each.first_repeat + each.repeats for each in same)
        listed.append(arm.listed())
        held.update(trial.id for trial in arm.trials())


def log_key(log: ImportedLog) -> tuple[str, str, str, str]:
    """What tells a log from others of a store."""
    return log.harness, log.log, log.model, log.condition
