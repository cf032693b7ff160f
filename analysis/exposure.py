"""How much of the prompts of benchmarks models can go on with: the exposure test.

After LPFQA's second version (2026), section 4.2.2, where a base model without a chat template is given 40 % of a prompt
and ROUGE-L tells how much of the rest it writes; with what chance would give beside it, and what it does not have:
intervals and verbatim runs.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations

from toolablate.analysis.effect import FEW_CLUSTERS
from toolablate.analysis.exposure_figures import Figure, difference_of, mean_of, strangers
from toolablate.analysis.exposure_overlap import LONG_RUN, Overlap, overlap, tokens_of
from toolablate.analysis.pairing import Unit
from toolablate.analysis.statistics.intervals import by_unit, effective_clusters
from toolablate.traces.records import Continuation


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
class QuestionExposure:
    """`own` is the overlap of the continuation with the rest of its own prompt, `chance` that with another's."""

    question: str
    own: Overlap
    chance: Overlap | None


@dataclass(frozen=True, slots=True)
class Exposure:
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
    of_questions: tuple[QuestionExposure, ...]


@dataclass(frozen=True, slots=True)
class ExposureDifference:
    """One benchmark less another under one model, in points, over different questions."""

    model: str
    benchmark: str
    other: str
    rouge_l: Figure
    above_chance: Figure | None


@dataclass(frozen=True, slots=True)
class Exposures:
    """`share` is how much of a prompt was given."""

    share: float
    exposures: tuple[Exposure, ...]
    differences: tuple[ExposureDifference, ...]


def exposures(parts: Sequence[Continued], share: float, *, seed: int = 0) -> Exposures:
    """Of each model and benchmark, in their order. Raises InputError where rouge-score is not installed."""
    found = tuple(_exposure(part, seed) for part in parts)
    pairs = [pair for pair in combinations(found, 2) if pair[0].model == pair[1].model]
    differences = [_difference(one, other) for one, other in pairs]
    return Exposures(share, found, tuple(each for each in differences if each is not None))


def exposures_json(found: Exposures) -> str:
    """The fields of the records, each question among them; what is unknown is null."""
    return json.dumps(asdict(found), ensure_ascii=False, indent=2)


def worst_exposed(found: Exposures, count: int) -> list[tuple[Exposure, QuestionExposure]]:
    """Of all models and benchmarks the questions of which most came back: by ROUGE-L, then by their longest run."""
    rows = [(exposure, question) for exposure in found.exposures for question in exposure.of_questions]
    return sorted(rows, key=lambda row: (-row[1].own.rouge_l, -row[1].own.run, row[1].question))[:count]


def _exposure(part: Continued, seed: int) -> Exposure:
    units = [_unit(each) for each in part.continuations]
    questions = _questions(part.continuations, units, seed)
    own = [each.own for each in questions]
    chance = [each.chance for each in questions if each.chance is not None]
    _, sizes = by_unit(units, [0.0] * len(units), [1.0] * len(units))
    above = [mine.rouge_l - other.rouge_l for mine, other in zip(own, chance, strict=False)]
    rouge_l = _mean([each.rouge_l for each in own], units, seed)
    return Exposure(
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
        of_questions=questions,
    )


def _unit(continuation: Continuation) -> Unit:
    return ("cluster", continuation.cluster) if continuation.cluster else ("question", continuation.question)


def _questions(found: Sequence[Continuation], units: Sequence[Unit], seed: int) -> tuple[QuestionExposure, ...]:
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
        QuestionExposure(each.question, mine, other) for each, mine, other in zip(found, own, chance, strict=True)
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


def _difference(one: Exposure, other: Exposure) -> ExposureDifference | None:
    if one.rouge_l is None or other.rouge_l is None:
        return None
    above = None
    if one.above_chance is not None and other.above_chance is not None:
        above = difference_of(one.above_chance, other.above_chance)
    return ExposureDifference(
        one.model, one.benchmark, other.benchmark, difference_of(one.rouge_l, other.rouge_l), above
    )
