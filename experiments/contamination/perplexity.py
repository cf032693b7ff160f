"""How likely a model finds the rest of a prompt, given its beginning: perplexity and bits per byte."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from toolablate.analysis.effect import FEW_CLUSTERS
from toolablate.analysis.pairing import Unit
from toolablate.analysis.statistics.intervals import bootstrap_intervals, by_unit, effective_clusters
from toolablate.experiments.contamination.overlap import Figure, unit_of
from toolablate.traces.records import PromptScore


@dataclass(frozen=True, slots=True)
class ScoredPrompts:
    """What one model said of one benchmark, of whose `prompts` some may have no score yet."""

    model: str
    benchmark: str
    prompts: int
    scores: tuple[PromptScore, ...]


@dataclass(frozen=True, slots=True)
class PerplexityResult:
    """One model on one benchmark, over all tokens of the rests of its prompts.

    questions, clusters   that were scored; questions that share a cluster are one
    missing               prompts without a score
    small                 clusters worth fewer of one weight than FEW_CLUSTERS
    perplexity            exp of the mean negative log probability of a token: of models with other tokens another scale
    bits_per_byte         the same in bits, by UTF-8 bytes: models, and languages of one script, can be compared
    """

    model: str
    benchmark: str
    questions: int
    clusters: int
    missing: int
    small: bool
    perplexity: Figure | None
    bits_per_byte: Figure | None


def perplexity_result(part: ScoredPrompts, *, seed: int = 0) -> PerplexityResult:
    units = [unit_of(each) for each in part.scores]
    _, sizes = by_unit(units, [0.0] * len(units), [1.0] * len(units))
    nats, bits = _ratios(part.scores, units, seed) if part.scores else (None, None)
    return PerplexityResult(
        part.model,
        part.benchmark,
        questions=len(part.scores),
        clusters=len(sizes),
        missing=part.prompts - len(part.scores),
        small=effective_clusters(sizes) < FEW_CLUSTERS,
        perplexity=nats and Figure(math.exp(nats.value), nats.ci95 and _exp(nats.ci95)),
        bits_per_byte=bits,
    )


def _exp(ends: tuple[float, float]) -> tuple[float, float]:
    return math.exp(ends[0]), math.exp(ends[1])


def _ratios(scores: Sequence[PromptScore], units: Sequence[Unit], seed: int) -> tuple[Figure, Figure]:
    """Nats per token and bits per byte, with intervals by a bootstrap over independent units."""
    nats = [-each.logprob for each in scores]
    bits = [each / math.log(2) for each in nats]
    tokens, sizes = [float(each.tokens) for each in scores], [float(each.bytes) for each in scores]
    summed = by_unit(units, nats, tokens, bits, sizes)
    of_tokens, of_bytes = bootstrap_intervals([(summed[0], summed[1]), (summed[2], summed[3])], seed=seed)
    return (
        Figure(math.fsum(nats) / math.fsum(tokens), of_tokens),
        Figure(math.fsum(bits) / math.fsum(sizes), of_bytes),
    )
