"""How much of a text comes back in a continuation: ROUGE-L and the longest verbatim run, in tokens.

A token is a run of letters and digits, lower-cased, or one Han or kana character: those scripts write no blanks, and
the tokenizer that rouge-score brings along drops them.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any

from toolablate.traces.errors import InputError
from toolablate.traces.installing import to_install

MOST_TOKENS = 500
"""Of a rest, which are compared; the time that a comparison takes grows by the square: 60 ms of so many."""

LONG_RUN = 13
"""Tokens in a row that pass for a sign of contamination since GPT-3 (Brown et al. 2020, "Language Models are Few-Shot
Learners", appendix C)."""

_UNSPACED = "\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
IS_UNSPACED = re.compile(rf"[{_UNSPACED}]")
_TOKEN = re.compile(rf"[{_UNSPACED}]|[^\W_{_UNSPACED}]+")


@dataclass(frozen=True, slots=True)
class Overlap:
    """Of a rest with a continuation that was cut to as many tokens.

    `rouge_l` is the F-measure of their longest common subsequence, with its `precision` (of the continuation) and
    `recall` (of the rest), each in percent; `run` is the longest run of tokens that both have, of `tokens` in the rest.
    """

    rouge_l: float
    precision: float
    recall: float
    run: int
    tokens: int


def token_ends(text: str) -> Iterator[int]:
    """Where each token of a text ends."""
    return (found.end() for found in _TOKEN.finditer(text))


def tokens_of(text: str, most: int = MOST_TOKENS) -> list[str]:
    """The first tokens of a text."""
    return [found.group().lower() for found in islice(_TOKEN.finditer(text), most)]


def overlap(rest: str, continuation: str, most: int = MOST_TOKENS) -> Overlap:
    """Of the first `most` tokens of the rest with as many of the continuation, so that a model that goes on and on is
    not marked down for it.

    ROUGE-L after Lin (2004), "ROUGE: A Package for Automatic Evaluation of Summaries", section 3, with equal weight of
    precision and recall, as rouge-score computes it. Raises InputError where that is not installed.
    """
    wanted = tokens_of(rest, min(most, MOST_TOKENS))
    came = tokens_of(continuation, len(wanted))
    score = open_rouge().score(" ".join(wanted), " ".join(came))["rougeL"]
    return Overlap(
        rouge_l=100 * score.fmeasure,
        precision=100 * score.precision,
        recall=100 * score.recall,
        run=longest_run(wanted, came),
        tokens=len(wanted),
    )


def longest_run(one: Sequence[str], other: Sequence[str]) -> int:
    """The length of the longest run of tokens that stands in both."""
    places: dict[str, list[int]] = defaultdict(list)
    for place, token in enumerate(other):
        places[token].append(place)
    longest, before = 0, dict[int, int]()
    for token in one:
        # How long a run ends here, by where it ends in the other.
        here = {place: before.get(place - 1, 0) + 1 for place in places.get(token, ())}
        longest = max(longest, *here.values()) if here else longest
        before = here
    return longest


class _Blanks:
    """What was tokenized already."""

    def tokenize(self, text: str) -> list[str]:
        return text.split()


@lru_cache(maxsize=1)
def open_rouge() -> Any:
    """Raises InputError where rouge-score is not installed; it brings nltk along, which takes most of a second."""
    try:
        from rouge_score.rouge_scorer import RougeScorer
    except ImportError:
        raise InputError(
            "the exposure test needs the package rouge-score, which is not installed",
            hint=to_install("exposure"),
            code="no_rouge",
        ) from None
    return RougeScorer(["rougeL"], tokenizer=_Blanks())
