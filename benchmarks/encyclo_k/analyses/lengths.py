"""How long replies are that are right, and those that are wrong."""

import math
from collections import defaultdict
from collections.abc import Sequence
from statistics import median

from toolablate.analysis.effect import FEW_CLUSTERS
from toolablate.analysis.pairing import Unit, unit
from toolablate.analysis.statistics.intervals import bootstrap_interval, effective_clusters
from toolablate.benchmarks.encyclo_k.analyses.replies import Arm, Reply
from toolablate.benchmarks.encyclo_k.figures import Length, ReplyLength


def reply_length(arm: Arm, *, seed: int = 0) -> ReplyLength:
    right = [reply for reply in arm.composed if reply.right]
    wrong = [reply for reply in arm.composed if not reply.right and not reply.missed]
    missed = [reply for reply in arm.composed if reply.missed]
    return ReplyLength(
        model=arm.model,
        condition=arm.condition,
        right=_length(right, seed),
        wrong=_length(wrong, seed),
        missed=_length(missed, seed),
        unknown=sum(reply.tokens is None for reply in arm.composed),
    )


def _length(replies: Sequence[Reply], seed: int) -> Length:
    sums: dict[Unit, float] = defaultdict(float)
    sizes: dict[Unit, float] = defaultdict(float)
    tokens = []
    for reply in replies:
        if reply.tokens is not None:
            sums[unit(reply.seen)] += reply.tokens
            sizes[unit(reply.seen)] += 1
            tokens.append(reply.tokens)
    return Length(
        replies=len(tokens),
        mean=math.fsum(tokens) / len(tokens) if tokens else None,
        ci95=bootstrap_interval(list(sums.values()), list(sizes.values()), seed=seed),
        median=float(median(tokens)) if tokens else None,
        small=effective_clusters(list(sizes.values())) < FEW_CLUSTERS,
    )
