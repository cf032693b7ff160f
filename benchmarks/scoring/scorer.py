"""What a scorer is, and what every scorer does with a reply it could not read."""

from typing import Literal, Protocol

from toolablate.benchmarks.extraction import Reading
from toolablate.traces.records import Question, Score

Unparsed = Literal["wrong", "exclude"]


class Scorer(Protocol):
    """Scores answers. `name` holds the options that differ from the defaults; `version` rises where scores change."""

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> int: ...

    def score(self, question: Question, trial_id: str, answer: str | None) -> Score:
        """Scores the final reply of a trial, or None where it ended without one. Never raises for what a reply holds:
        that is a verdict; nor for a target that cannot be scored: that is the verdict `unscored`."""
        ...


def named(name: str, **options: str | bool) -> str:
    """`choice`, or `choice[partial_credit,unparsed=exclude]`: scores under different options are told apart."""
    shown = [key if value is True else f"{key}={value}" for key, value in options.items() if value not in (False, "")]
    return f"{name}[{','.join(shown)}]" if shown else name


def unscored(scorer: Scorer, trial_id: str, reason: str) -> Score:
    return Score(
        trial=trial_id,
        scorer=scorer.name,
        scorer_version=scorer.version,
        value=None,
        verdict="unscored",
        reason=reason,
    )


def unparsed(scorer: Scorer, trial_id: str, reading: Reading, policy: Unparsed) -> Score:
    return Score(
        trial=trial_id,
        scorer=scorer.name,
        scorer_version=scorer.version,
        value=0.0 if policy == "wrong" else None,
        verdict="unparsed",
        reason=reading.reason,
    )


def scored(scorer: Scorer, trial_id: str, value: float, extracted: tuple[str, ...]) -> Score:
    return Score(
        trial=trial_id,
        scorer=scorer.name,
        scorer_version=scorer.version,
        value=value,
        verdict="correct" if value == 1 else "wrong" if value == 0 else "partial",
        extracted=extracted,
    )


def not_for(scorer: Scorer, question: Question) -> str:
    return f"the scorer {scorer.name!r} does not score a target of kind {question.target.kind!r}"
