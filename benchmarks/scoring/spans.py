"""Scores sets of spans by a named rule."""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from toolablate.benchmarks.extraction import Wanted, read_spans
from toolablate.benchmarks.scoring.scorer import Unparsed, named, not_for, scored, unparsed, unscored
from toolablate.traces.errors import ScoringError
from toolablate.traces.records import Question, Score, SpansTarget

Rule = Callable[[Sequence[str], Sequence[str]], bool]
"""Whether the given spans (first) are the wanted ones (second)."""


def exact(given: Sequence[str], wanted: Sequence[str]) -> bool:
    """Equal as multisets, whatever the case, the width of characters, blanks, quotes around and a full stop after."""
    return Counter(map(_normalised, given)) == Counter(map(_normalised, wanted))


def tatqa(given: Sequence[str], wanted: Sequence[str]) -> bool:
    """The rule under which the Program-of-Thoughts authors' outputs on TAT-QA give their published accuracies.

    An item that is a number once `,`, `$` and `%` are removed is compared rounded to two decimals, any other as
    stripped, lower-cased text without trailing full stops. Equal as multisets is right. So is a first item within 1 %
    of the first wanted one where both are numbers as they stand, with nothing removed. The second clause is lenient
    with years: 2018 is within 1 % of 2019. It is kept, since the published figures rest on it.
    """
    if Counter(map(_tatqa_item, given)) == Counter(map(_tatqa_item, wanted)):
        return True
    if not given or not wanted:
        return False
    number, reference = _number(given[0]), _number(wanted[0])
    return number is not None and reference is not None and abs(number - reference) <= 0.01 * abs(reference)


RULES: Mapping[str, Rule] = {"exact": exact, "tatqa": tatqa}


@dataclass(frozen=True, slots=True)
class SpansScorer:
    """Right is what `rule` says. `unannounced` is for replies that announce no answer: `unparsed`, or the `whole`.

    Under `exact`, an announced answer that is no list is unparsed where the target has several texts and the answer
    may be several. Under `tatqa` it is one text, as the authors of the recorded outputs read it.
    """

    rule: str = "exact"
    unannounced: Literal["unparsed", "whole"] = "unparsed"
    unparsed: Unparsed = "wrong"

    def __post_init__(self) -> None:
        if self.rule not in RULES:
            raise ScoringError(
                f"there is no rule {self.rule!r} for spans",
                hint=f"Allowed are {', '.join(RULES)}.",
                code="unknown_rule",
            )

    @property
    def name(self) -> str:
        rule = "" if self.rule == "exact" else self.rule
        unannounced = "" if self.unannounced == "unparsed" else self.unannounced
        return named(
            "spans", rule=rule, unannounced=unannounced, unparsed="exclude" if self.unparsed == "exclude" else ""
        )

    @property
    def version(self) -> int:
        return 2 if self.rule == "exact" else 1

    def score(self, question: Question, trial_id: str, answer: str | None) -> Score:
        if question.target.kind != "spans":
            return unscored(self, trial_id, not_for(self, question))
        reading = read_spans(answer, wanted=self._wanted(question.target), unannounced=self.unannounced)
        if reading.value is None:
            return unparsed(self, trial_id, reading, self.unparsed)
        right = RULES[self.rule](reading.value, question.target.spans)
        return scored(self, trial_id, 1.0 if right else 0.0, reading.value)

    def _wanted(self, target: SpansTarget) -> Wanted:
        if self.rule != "exact":
            return "any"
        return "several" if len(target.spans) > 1 else "one"


def _normalised(text: str) -> str:
    plain = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    return plain.strip("\"'“”‘’ ").rstrip(".。 ")


def _tatqa_item(text: str) -> tuple[str, float | str]:
    number = _number(re.sub("[,$%]", "", text))
    return ("text", text.strip().lower().rstrip(".")) if number is None else ("number", round(number, 2))


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
