"""TAT-QA's own metric: exact match and F1 of texts and of numbers with their scale.

The protocol is that of `TaTQAEmAndF1` in `tatqa_metric.py` and `tatqa_utils.py` (TAT-QA, Zhu et al. 2021,
github.com/NExTplusplus/TAT-QA; Program of Thoughts, Chen et al. 2022, evaluates with a copy), its oddities included:

- A number may have currency signs, commas, brackets, a percent sign, and a scale as its second word: "$1,496.5 million"
  is 1,496,500,000 and "13.98%" is 0.1398. Its digits are the last ones of the text. Brackets around digits and points
  alone are a minus sign: "(134.12)" is negative, "(1,496.5)" is not.
- A number is rounded to two decimals and multiplied by its scale; one with a percent sign already has it. A text is
  followed by the scale. The items are sorted as they are written and joined: their order does not matter.
- A single number without a scale is also compared unrounded, so that 0.2342 is right where 23.42 percent is wanted.
- The bare number 0, given as a number and not as a text or in a list, is no answer.
- The joined text is taken word by word: in lower case, without punctuation and the articles "a", "an" and "the". Exact
  match is equality, F1 that of the sets of words, to two decimals.

Not followed is that it takes words such as ".5" and ".7" for equal, and that it fails on digits without end.
"""

import re
import string
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Literal

from toolablate.benchmarks.answer_extraction.spans import read_scaled_spans
from toolablate.benchmarks.scoring.scorer import Unparsed, named, not_for, scored, unparsed, unscored
from toolablate.traces.records import NumberTarget, Question, Score, SpansTarget, with_scale

_FACTORS = {"hundred": 100, "thousand": 1_000, "million": 1_000_000, "billion": 1_000_000_000, "percent": 0.01}
_AROUND_DIGITS = str.maketrans("", "", "'\"\\$€£¥%(),[]")
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_DIGITS = re.compile(r"[+-]?\d+(?:\.\d+)?|[+-]?\.\d+")
_ARTICLE = re.compile(r"\b(?:a|an|the)\b")
# Pieces of one or two characters, where the published patterns look for runs: the same finds, in linear time.
_SCALED = re.compile(r"[\d.]\s?([a-zA-Z]+)")
_PERCENT = re.compile(r"[\d.\s]%")
_BRACKETED = re.compile(r"\([\d.\s]+\)")
_LARGEST = 1e250
"""Larger numbers are texts: times a billion, no float holds them."""

_COMPUTED = ("arithmetic", "count")
"""The types of answers, in TAT-QA's words, of which F1 is the exact match."""


@dataclass(frozen=True, slots=True)
class TatqaScorer:
    """TAT-QA's exact match ("em") or F1 ("f1"), for targets of spans, with their scale, and of plain numbers.

    A reply gives a list of texts with the scale in each ("$1,496.5 million"), or, as the benchmark's predictions do,
    apart: `{"answer": [1496.5], "scale": "million"}`. What is neither is one text: the announced line or the whole
    reply. F1 is the exact match where the target is a number, or where the question's metadata say that its
    `answer_type` is "arithmetic" or "count".
    """

    metric: Literal["em", "f1"] = "em"
    unparsed: Unparsed = "wrong"

    @property
    def name(self) -> str:
        name = "tatqa" if self.metric == "em" else "tatqa-f1"
        return named(name, unparsed="exclude" if self.unparsed == "exclude" else "")

    @property
    def version(self) -> int:
        return 1

    def score(self, question: Question, trial_id: str, answer: str | None) -> Score:
        target = question.target
        if isinstance(target, SpansTarget):
            wanted, wanted_scale = target.spans, target.scale
        elif isinstance(target, NumberTarget):
            wanted, wanted_scale = (f"{Decimal(repr(target.value)):f}",), ""
        else:
            return unscored(self, trial_id, not_for(self, question))
        reading, scale = read_scaled_spans(answer)
        if reading.value is None:
            return unparsed(self, trial_id, reading, self.unparsed)
        exact, f1 = em_and_f1(reading.value, wanted, scale=scale, wanted_scale=wanted_scale)
        computed = target.kind == "number" or question.metadata.get("answer_type") in _COMPUTED
        value = exact if self.metric == "em" or computed else f1
        return scored(self, trial_id, value, tuple(with_scale(text, scale) for text in reading.value))


TatqaF1Scorer = partial(TatqaScorer, metric="f1")


def em_and_f1(
    given: Sequence[str], wanted: Sequence[str], *, scale: str = "", wanted_scale: str = ""
) -> tuple[float, float]:
    """Exact match and F1, each in [0, 1], of answers that are given apart from their scale ("" for none)."""
    if not given or not wanted:
        return 0.0, 0.0
    readings = [_joined(given, scale)]
    number = _number(given[0]) if len(given) == 1 and not scale and "%" not in given[0] else None
    if number is not None:
        readings.append(f"{number:.4f}")
    right = _words(_joined(wanted, wanted_scale))
    return max((float(words == right), _f1(set(words), set(right))) for words in map(_words, readings))


def _joined(texts: Sequence[str], scale: str) -> str:
    return " ".join(_amount(text, scale) for text in sorted(texts))


def _amount(text: str, scale: str) -> str:
    number = _number(text)
    if number is None:
        return f"{text} {scale}" if scale else text
    return f"{number if '%' in text else round(number, 2) * _factor(scale):.4f}"


def _is_number(text: str) -> bool:
    words = [bare for word in text.split() if (bare := word.translate(_AROUND_DIGITS))]
    try:
        return bool(words) and float(words[0]) == float(words[0]) and (len(words) == 1 or _factor(words[1]) != 1)
    except ValueError:
        return False


def _number(text: str) -> float | None:
    """With its own scale, sign and percent sign, to four decimals; None where the text is none."""
    if not _is_number(text):
        return None
    digits = _DIGITS.findall(text.translate(_AROUND_DIGITS))
    if not digits or digits[-1].lstrip("+-").startswith("."):
        return None
    try:
        number = float(digits[-1]) if "." in digits[-1] else int(digits[-1])
    except ValueError:  # Python reads no whole number of more than 4,300 digits.
        return None
    if abs(number) > _LARGEST:
        return None
    scaled = _SCALED.search(text)
    sign = -1 if _BRACKETED.search(text) else 1
    percent = 0.01 if _PERCENT.search(text.strip()) else 1
    return round(number * (_factor(scaled[1]) if scaled else 1) * sign * percent, 4)


def _factor(scale: str) -> float:
    words = scale.lower()
    return next((factor for name, factor in _FACTORS.items() if name in words), 1)


def _words(text: str) -> list[str]:
    return [part for word in text.lower().split(" ") for part in _normal(word).split()]


def _normal(word: str) -> str:
    if not _is_number(word):
        word = word.translate(_PUNCTUATION)
    number = _number(word)
    return _ARTICLE.sub(" ", word) if number is None else str(number)


def _f1(given: set[str], wanted: set[str]) -> float:
    common = len(given & wanted)
    precision = common / len(given) if given else 1.0
    recall = common / len(wanted) if wanted else 1.0
    return round(2 * precision * recall / (precision + recall), 2) if precision + recall else 0.0
