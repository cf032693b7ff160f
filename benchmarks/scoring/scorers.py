"""Scorers by name; those of letters, numbers and spans."""

import inspect
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from toolablate.benchmarks.answer_extraction.announcements import normalised
from toolablate.benchmarks.answer_extraction.letters import read_letters
from toolablate.benchmarks.answer_extraction.numbers import read_number
from toolablate.benchmarks.answer_extraction.spans import read_spans
from toolablate.benchmarks.prompt import letters_for
from toolablate.benchmarks.registry import refuse_built_in_scorer, scorer_factory, scorer_names, told_broken
from toolablate.benchmarks.scoring.code import CodeScorer
from toolablate.benchmarks.scoring.math import MathScorer
from toolablate.benchmarks.scoring.scorer import (
    AsyncScorer,
    Scorer,
    Unparsed,
    named,
    not_for,
    scored,
    unparsed,
    unscored,
)
from toolablate.benchmarks.scoring.texts import ContainsScorer, ExactScorer, F1Scorer, RegexScorer
from toolablate.sandbox import Sandbox
from toolablate.traces.errors import ScoringError
from toolablate.traces.records import NumberTarget, Question, Score


@dataclass(frozen=True, slots=True)
class ChoiceScorer:
    """Right is exactly the set of right letters.

    With `partial_credit` an answer without a wrong letter earns its share of the right ones.
    """

    unparsed: Unparsed = "wrong"
    partial_credit: bool = False

    @property
    def name(self) -> str:
        excluded = "exclude" if self.unparsed == "exclude" else ""
        return named("choice", partial_credit=self.partial_credit, unparsed=excluded)

    @property
    def version(self) -> int:
        return 4

    def score(self, question: Question, trial_id: str, answer: str | None) -> Score:
        if question.target.kind != "choice":
            return unscored(self, trial_id, not_for(self, question))
        allowed = letters_for(question)
        right = set(question.target.letters)
        if strange := sorted(right - set(allowed)):
            return unscored(self, trial_id, f"the target names {', '.join(strange)}, which is none of its choices")
        reading = read_letters(answer, allowed, question.choices)
        if reading.value is None:
            return unparsed(self, trial_id, reading, self.unparsed)
        given = set(reading.value)
        value = 1.0 if given == right else 0.0
        if self.partial_credit and given < right:
            value = len(given) / len(right)
        return scored(self, trial_id, value, reading.value)


@dataclass(frozen=True, slots=True)
class NumberScorer:
    """Right is a number within the target's tolerance, both ends included, compared exactly as decimals.

    A percent sign is taken off, not divided by: whether 50 or 0.5 is meant is for the question to say.
    """

    unparsed: Unparsed = "wrong"

    @property
    def name(self) -> str:
        return named("number", unparsed="exclude" if self.unparsed == "exclude" else "")

    @property
    def version(self) -> int:
        return 2

    def score(self, question: Question, trial_id: str, answer: str | None) -> Score:
        if question.target.kind != "number":
            return unscored(self, trial_id, not_for(self, question))
        reading = read_number(answer)
        if reading.value is None:
            return unparsed(self, trial_id, reading, self.unparsed)
        right = within(Fraction(reading.value[0]), question.target)
        return scored(self, trial_id, 1.0 if right else 0.0, reading.value)


def within(number: Fraction, target: NumberTarget) -> bool:
    """Whether the number is within the larger of the target's two tolerances. The float 0.1 means 1/10."""
    wanted, relative, absolute = (Fraction(repr(x)) for x in (target.value, target.relative, target.absolute))
    return abs(number - wanted) <= max(absolute, relative * abs(wanted))


# Scores sets of texts.


@dataclass(frozen=True, slots=True)
class SpansScorer:
    """Right are the same texts as multisets, whatever the case, the width of characters, blanks, quotes around and a
    full stop after. Where the target has a scale, so has each text ("$1,496.5 million").

    An announced answer that is no list is unparsed where the target has several texts and the answer may be several.
    """

    unparsed: Unparsed = "wrong"

    @property
    def name(self) -> str:
        return named("spans", unparsed="exclude" if self.unparsed == "exclude" else "")

    @property
    def version(self) -> int:
        return 3

    def score(self, question: Question, trial_id: str, answer: str | None) -> Score:
        if question.target.kind != "spans":
            return unscored(self, trial_id, not_for(self, question))
        wanted = question.target.stated
        reading = read_spans(answer, wanted="several" if len(wanted) > 1 else "one")
        if reading.value is None:
            return unparsed(self, trial_id, reading, self.unparsed)
        right = Counter(map(normalised, reading.value)) == Counter(map(normalised, wanted))
        return scored(self, trial_id, 1.0 if right else 0.0, reading.value)


SCORERS: Mapping[str, Callable[..., Scorer | AsyncScorer]] = {
    "choice": ChoiceScorer,
    "number": NumberScorer,
    "spans": SpansScorer,
    "math": MathScorer,
    "code": CodeScorer,
    "exact": ExactScorer,
    "contains": ContainsScorer,
    "regex": RegexScorer,
    "f1": F1Scorer,
}


JUDGE = "judge"
"""What `questions.scorer` of a plan names where judges grade; `scorer_for` does not make them."""


def scorer_for(name: str, *, sandbox: Callable[[], Sandbox] | None = None, **options: Any) -> Scorer | AsyncScorer:
    """Builds a scorer by its name, or by the kind of a question's target, which is the name
    of its default scorer, but for `text`, where that is `exact`. A scorer that runs code does so in what `sandbox`
    opens.

    Options of all: `unparsed` ("wrong" or "exclude"). Of `choice`: `partial_credit`. Of `regex`: `pattern`. Raises
    ScoringError for an unknown name or option, and InputError for a scorer of a benchmark that cannot be loaded, and
    for a name that a benchmark has taken from a built-in scorer.
    """
    name = "exact" if name == "text" else name
    if name in SCORERS:
        refuse_built_in_scorer(name)
    make = SCORERS.get(name) or scorer_factory(name)
    if make is None:
        known = f"Allowed are {', '.join([*SCORERS, *scorer_names(), JUDGE])}."
        raise ScoringError(
            f"there is no scorer {name!r}", hint=f"{known} {told_broken()}".strip(), code="unknown_scorer"
        )
    allowed = inspect.signature(make).parameters
    if "unparsed" not in allowed and options.get("unparsed") == "wrong":
        del options["unparsed"]  # the default of every plan
    for option in options:
        if option not in allowed:
            raise ScoringError(
                f"the scorer {name!r} has no option {option!r}",
                hint=f"Allowed are {', '.join(allowed)}.",
                code="unknown_option",
            )
    if options.get("unparsed", "wrong") not in ("wrong", "exclude"):
        raise ScoringError(
            f"'unparsed' cannot be {options['unparsed']!r}", hint="Allowed are wrong, exclude.", code="bad_option"
        )
    if "sandbox" in allowed:
        options["sandbox"] = sandbox
    return make(**options)
