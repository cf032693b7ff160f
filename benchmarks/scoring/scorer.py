"""What a scorer is, and what every scorer does with a reply it could not read."""

from typing import Literal, Protocol, runtime_checkable

from toolablate.benchmarks.answer_extraction.announcements import ExtractedAnswer
from toolablate.traces.records import Question, Score

Unparsed = Literal["wrong", "exclude"]


class Named(Protocol):
    """`name` holds the options that differ from the defaults; `version` rises where scores change."""

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> int: ...


class Scorer(Named, Protocol):
    """Scores answers by itself, at once."""

    def score(self, question: Question, trial_id: str, answer: str | None) -> Score:
        """Scores the final reply of a trial, or None where it ended without one. Never raises for what a reply holds:
        that is a verdict; nor for a target that cannot be scored: that is the verdict `unscored`."""
        ...


@runtime_checkable
class AsyncScorer(Named, Protocol):
    """Scores answers with something that has to be opened: a process, a kernel. Several scores may be asked for at
    once."""

    def refusal(self, question: Question) -> str:
        """Why it does not score the question; "" where it does."""
        ...

    async def open(self) -> None:
        """Tries what it needs. Raises ScoringError where that cannot be had. `score` opens it by itself."""
        ...

    async def score(self, question: Question, trial_id: str, answer: str | None) -> Score:
        """As a `Scorer` does. Raises ScoringError for what is no fault of the reply: there is no score then."""
        ...

    async def close(self) -> None:
        """Ends what was opened. Safe to call twice."""
        ...


def named(name: str, **options: str | bool) -> str:
    """`choice`, or `choice[partial_credit,unparsed=exclude]`: scores under different options are told apart."""
    shown = [key if value is True else f"{key}={value}" for key, value in options.items() if value not in (False, "")]
    return f"{name}[{','.join(shown)}]" if shown else name


def unscored(scorer: Named, trial_id: str, reason: str) -> Score:
    return Score(
        trial=trial_id,
        scorer=scorer.name,
        scorer_version=scorer.version,
        value=None,
        verdict="unscored",
        reason=reason,
    )


def unparsed(scorer: Named, trial_id: str, reading: ExtractedAnswer, policy: Unparsed) -> Score:
    return Score(
        trial=trial_id,
        scorer=scorer.name,
        scorer_version=scorer.version,
        value=0.0 if policy == "wrong" else None,
        verdict="unparsed",
        reason=reading.reason,
    )


def scored(scorer: Named, trial_id: str, value: float, extracted: tuple[str, ...]) -> Score:
    return Score(
        trial=trial_id,
        scorer=scorer.name,
        scorer_version=scorer.version,
        value=value,
        verdict="correct" if value == 1 else "wrong" if value == 0 else "partial",
        extracted=extracted,
    )


def not_for(scorer: Named, question: Question) -> str:
    return f"the scorer {scorer.name!r} does not score a target of kind {question.target.kind!r}"
