"""A log that was read through, before anything of it is written."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from pydantic import ValidationError

from toolablate.formats.imports.log import Log, Sample
from toolablate.formats.imports.questions import Questions
from toolablate.traces.errors import InputError
from toolablate.traces.records import ImportedLog, Question, Trace, Trial

_MOST_REPEATS = 2**31
_MOST_TOKENS = 2**62
_MOST_SECONDS = 1e9


@dataclass(slots=True)
class Arm:
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


def read_arm(log: Log, questions: Questions) -> Arm:
    """Reads a log through. Raises InputError for a sample that cannot be taken, or that is there twice."""
    arm, of_log, seen = Arm(log), questions.of_log(), set()
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
    return InputError(f"{sample.where} cannot be taken: {said}", code="bad_sample")


def place_arms(arms: Sequence[Arm], earlier: Sequence[ImportedLog], trials: Iterable[Trial]) -> None:
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
