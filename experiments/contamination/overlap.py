"""How much of a prompt models can continue: ROUGE-L, longest verbatim run, and what chance would give."""

import json
import math
import random
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from itertools import combinations, islice
from typing import TYPE_CHECKING, Any

from toolablate.analysis.effect import FEW_CLUSTERS
from toolablate.analysis.pairing import Unit
from toolablate.analysis.statistics.intervals import RESAMPLES, bootstrap_interval, by_unit, effective_clusters
from toolablate.benchmarks.scoring.rouge import UNSPACED
from toolablate.traces.errors import InputError
from toolablate.traces.installing import to_install
from toolablate.traces.records import Continuation, PromptScore

if TYPE_CHECKING:
    from toolablate.experiments.contamination.perplexity import PerplexityResult


@dataclass(frozen=True, slots=True)
class Figure:
    """A mean, or a difference of two, with its 95 % interval; None where the data cannot tell that."""

    value: float
    ci95: tuple[float, float] | None


def mean_of(values: Sequence[float], units: Sequence[Unit], *, seed: int = 0, resamples: int = RESAMPLES) -> Figure:
    """Over questions; the interval is by a bootstrap over independent units. Raises ValueError of no question."""
    if not values:
        raise ValueError("there is no mean of no question")
    sums, sizes = by_unit(units, values, [1.0] * len(values))
    found = bootstrap_interval(sums, sizes, seed=seed, resamples=resamples)
    return Figure(math.fsum(values) / len(values), found)


def difference_of(one: Figure, other: Figure) -> Figure:
    """`one` minus `other`, of independent questions.

    The interval is put together from those of both, lopsided as they are: the distance of its lower end is the root of
    the squared distances of the lower end of the one and the upper end of the other, and so above. Zou and Donner
    (2008), "Construction of confidence limits about effect measures: a general approach", Statistics in Medicine 27.
    """
    value = one.value - other.value
    if one.ci95 is None or other.ci95 is None:
        return Figure(value, None)
    below = math.hypot(one.value - one.ci95[0], other.ci95[1] - other.value)
    above = math.hypot(one.ci95[1] - one.value, other.value - other.ci95[0])
    return Figure(value, (value - below, value + above))


def strangers(units: Sequence[Unit], seed: int = 0) -> list[Iterator[int]] | None:
    """For each question the places of others, all of other units. The first of each is drawn by the seed, and no two
    have the same first.

    Units stand one after the other in random order; a question's strangers begin as far behind it as the largest unit
    is long. None where one unit has more than half of the questions, so that there is no such order.
    """
    members: dict[Unit, list[int]] = defaultdict(list)
    for place, unit in enumerate(units):
        members[unit].append(place)
    step = max(map(len, members.values()), default=0)
    if not units or 2 * step > len(units):
        return None
    drawn = random.Random(seed)  # noqa: S311 - an order, not a secret
    groups = list(members.values())
    drawn.shuffle(groups)
    for group in groups:
        drawn.shuffle(group)
    order = [place for group in groups for place in group]
    positions = {place: position for position, place in enumerate(order)}

    def behind(place: int) -> Iterator[int]:
        for away in range(step, len(order)):
            other = order[(positions[place] + away) % len(order)]
            if units[other] != units[place]:
                yield other

    return [behind(place) for place in range(len(units))]


# How much of a text comes back in a continuation: ROUGE-L and the longest verbatim run, in tokens.


MOST_TOKENS = 500
"""Of a rest, which are compared; the time that a comparison takes grows by the square: 60 ms of so many."""

LONG_RUN = 13
"""Tokens in a row that pass for a sign of contamination since GPT-3 (Brown et al. 2020, "Language Models are Few-Shot
Learners", appendix C)."""

NGRAMS = (8, 13)
"""Tokens in a row: as PaLM's authors count overlap (Chowdhery et al. 2023, "PaLM", section 8), and GPT-3's."""

IS_UNSPACED = re.compile(rf"[{UNSPACED}]")
_TOKEN = re.compile(rf"[{UNSPACED}]|[^\W_{UNSPACED}]+")


@dataclass(frozen=True, slots=True)
class Overlap:
    """Of a rest with a continuation that was cut to as many tokens.

    `rouge_l` is the F-measure of their longest common subsequence, with its `precision` (of the continuation) and
    `recall` (of the rest), each in percent; `run` is the longest run of tokens that both have, of `tokens` in the rest.
    `ngrams` has for each of NGRAMS the share of the rest's runs of so many tokens that stand in the continuation, in
    percent; None of a rest with fewer tokens.
    """

    rouge_l: float
    precision: float
    recall: float
    run: int
    tokens: int
    ngrams: tuple[float | None, ...]


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
        ngrams=tuple(ngram_share(wanted, came, length) for length in NGRAMS),
    )


def ngram_share(one: Sequence[str], other: Sequence[str], length: int) -> float | None:
    """In percent of the runs of `length` tokens in `one`, those that stand in `other`; None where it has none."""
    runs = list(_runs(one, length))
    if not runs:
        return None
    there = set(_runs(other, length))
    return 100 * sum(run in there for run in runs) / len(runs)


def _runs(tokens: Sequence[str], length: int) -> Iterator[tuple[str, ...]]:
    return (tuple(tokens[start : start + length]) for start in range(len(tokens) - length + 1))


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
            "the contamination test needs the package rouge-score, which is not installed",
            hint=to_install("contamination"),
            code="no_rouge",
        ) from None
    return RougeScorer(["rougeL"], tokenizer=_Blanks())


# How much of the prompts of benchmarks models can go on with: the contamination test.


@dataclass(frozen=True, slots=True)
class Continued:
    """What one model made of one benchmark. `prompts` are those of the benchmark; `too_short` of them could not be cut
    in two and were not asked."""

    model: str
    benchmark: str
    prompts: int
    too_short: int
    continuations: tuple[Continuation, ...]


@dataclass(frozen=True, slots=True)
class QuestionOverlap:
    """`own` is the overlap of the continuation with the rest of its own prompt, `chance` that with another's."""

    question: str
    own: Overlap
    chance: Overlap | None


@dataclass(frozen=True, slots=True)
class NgramOverlap:
    """The mean share of `length` tokens in a row that came back, over the `questions` whose rest has as many; of `own`
    rests and `by_chance` of those of other questions. None of no question."""

    length: int
    questions: int
    own: Figure | None
    by_chance: Figure | None


@dataclass(frozen=True, slots=True)
class ContaminationResult:
    """One model on one benchmark; figures are means over questions, in percent.

    questions, clusters   that were continued; questions that share a cluster are one
    too_short, missing    prompts that could not be cut in two; those that have no continuation yet
    empty                 continuations without a token, which count as 0
    small                 clusters worth fewer of one weight than FEW_CLUSTERS, whose intervals are not to be relied on
    rouge_l               None of no question, like all figures
    by_chance             the same continuations against rests of other questions of the benchmark, as long as their
                          own; None where more than half of the questions share one cluster
    above_chance          `rouge_l` less `by_chance`, question by question; as each rest serves on both sides, its
                          interval is too wide where some rests are easier to hit by chance than others
    long_runs             of `able` questions, whose rest has LONG_RUN tokens or more, those of which that many come
                          back in a row; `chance_runs` of another question's
    longest_run           in tokens
    ngrams                one of each length
    """

    model: str
    benchmark: str
    questions: int
    clusters: int
    too_short: int
    missing: int
    empty: int
    small: bool
    rouge_l: Figure | None
    precision: float | None
    recall: float | None
    by_chance: Figure | None
    above_chance: Figure | None
    able: int
    long_runs: int
    chance_runs: int | None
    longest_run: int
    ngrams: tuple[NgramOverlap, ...]
    of_questions: tuple[QuestionOverlap, ...]


@dataclass(frozen=True, slots=True)
class ContaminationDifference:
    """One benchmark less another under one model, in points, over different questions."""

    model: str
    benchmark: str
    other: str
    rouge_l: Figure
    above_chance: Figure | None


@dataclass(frozen=True, slots=True)
class ContaminationResults:
    """`share` is how much of a prompt was given. `perplexities` are there where the plan asked for them; see
    `perplexity.PerplexityResult`."""

    share: float
    results: tuple[ContaminationResult, ...]
    differences: tuple[ContaminationDifference, ...]
    perplexities: tuple["PerplexityResult", ...] = ()


def contamination_results(
    parts: Sequence[Continued], share: float, perplexities: Sequence["PerplexityResult"] = (), *, seed: int = 0
) -> ContaminationResults:
    """Of each model and benchmark, in their order. Raises InputError where rouge-score is not installed."""
    found = tuple(_result(part, seed) for part in parts)
    pairs = [pair for pair in combinations(found, 2) if pair[0].model == pair[1].model]
    differences = [_difference(one, other) for one, other in pairs]
    told = tuple(each for each in differences if each is not None)
    return ContaminationResults(share, found, told, tuple(perplexities))


def contamination_json(found: ContaminationResults) -> str:
    """The fields of the records, each question among them; what is unknown is null."""
    return json.dumps(asdict(found), ensure_ascii=False, indent=2)


def most_contaminated(found: ContaminationResults, count: int) -> list[tuple[ContaminationResult, QuestionOverlap]]:
    """Of all models and benchmarks the questions of which most came back: by ROUGE-L, then by their longest run."""
    rows = [(result, question) for result in found.results for question in result.of_questions]
    return sorted(rows, key=lambda row: (-row[1].own.rouge_l, -row[1].own.run, row[1].question))[:count]


def _result(part: Continued, seed: int) -> ContaminationResult:
    units = [unit_of(each) for each in part.continuations]
    questions = _questions(part.continuations, units, seed)
    own = [each.own for each in questions]
    chance = [each.chance for each in questions if each.chance is not None]
    _, sizes = by_unit(units, [0.0] * len(units), [1.0] * len(units))
    above = [mine.rouge_l - other.rouge_l for mine, other in zip(own, chance, strict=False)]
    rouge_l = _mean([each.rouge_l for each in own], units, seed)
    return ContaminationResult(
        model=part.model,
        benchmark=part.benchmark,
        questions=len(own),
        clusters=len(sizes),
        too_short=part.too_short,
        missing=part.prompts - part.too_short - len(own),
        empty=sum(not tokens_of(each.text, 1) for each in part.continuations),
        small=effective_clusters(sizes) < FEW_CLUSTERS,
        rouge_l=rouge_l,
        precision=sum(each.precision for each in own) / len(own) if own else None,
        recall=sum(each.recall for each in own) / len(own) if own else None,
        by_chance=_mean([each.rouge_l for each in chance], units, seed) if chance else None,
        above_chance=_mean(above, units, seed) if chance else None,
        able=sum(each.tokens >= LONG_RUN for each in own),
        long_runs=sum(each.run >= LONG_RUN for each in own),
        chance_runs=sum(each.run >= LONG_RUN for each in chance) if chance else None,
        longest_run=max((each.run for each in own), default=0),
        ngrams=tuple(_ngrams(place, own, chance, units, seed) for place in range(len(NGRAMS))),
        of_questions=questions,
    )


def _ngrams(
    place: int, own: Sequence[Overlap], chance: Sequence[Overlap], units: Sequence[Unit], seed: int
) -> NgramOverlap:
    of_own, of_chance = (
        [(share, unit) for each, unit in zip(found, units, strict=False) if (share := each.ngrams[place]) is not None]
        for found in (own, chance)
    )
    means = [_mean([share for share, _ in of], [unit for _, unit in of], seed) for of in (of_own, of_chance)]
    return NgramOverlap(NGRAMS[place], len(of_own), *means)


def unit_of(found: Continuation | PromptScore) -> Unit:
    return ("cluster", found.cluster) if found.cluster else ("question", found.question)


def _questions(found: Sequence[Continuation], units: Sequence[Unit], seed: int) -> tuple[QuestionOverlap, ...]:
    own = [overlap(each.rest, each.text) for each in found]
    others = strangers(units, seed)
    chance: list[Overlap | None] = [None] * len(found)
    if others is not None:
        rests = [(each.rest, mine.tokens) for each, mine in zip(found, own, strict=True)]
        chance = [
            overlap(_foreign(mine.tokens, (rests[place] for place in places)), each.text, most=mine.tokens)
            for each, mine, places in zip(found, own, others, strict=True)
        ]
    return tuple(
        QuestionOverlap(each.question, mine, other) for each, mine, other in zip(found, own, chance, strict=True)
    )


def _foreign(wanted: int, rests: Iterable[tuple[str, int]]) -> str:
    """The rest of a stranger, and where it has fewer tokens than are wanted, those of further ones behind it: of longer
    texts chance gives more."""
    told = []
    for rest, tokens in rests:
        told.append(rest)
        wanted -= tokens
        if wanted <= 0:
            break
    return " ".join(told)


def _mean(values: Sequence[float], units: Sequence[Unit], seed: int) -> Figure | None:
    return mean_of(values, units, seed=seed) if values else None


def _difference(one: ContaminationResult, other: ContaminationResult) -> ContaminationDifference | None:
    if one.rouge_l is None or other.rouge_l is None:
        return None
    above = None
    if one.above_chance is not None and other.above_chance is not None:
        above = difference_of(one.above_chance, other.above_chance)
    return ContaminationDifference(
        one.model, one.benchmark, other.benchmark, difference_of(one.rouge_l, other.rouge_l), above
    )
