from collections.abc import Iterable, Sequence

from toolablate.benchmarks.encyclo_k.analyses.lengths import reply_length
from toolablate.benchmarks.encyclo_k.analyses.levels import arm_accuracy
from toolablate.benchmarks.encyclo_k.analyses.positions import position_biases
from toolablate.benchmarks.encyclo_k.analyses.replies import Reply, arms, joined
from toolablate.benchmarks.encyclo_k.analyses.seeds import rankings, stabilities
from toolablate.benchmarks.encyclo_k.analyses.single_composed import singles_and_composed
from toolablate.benchmarks.encyclo_k.figures import EncycloKTables


def tables(replies: Iterable[Reply], *, order: Sequence[str] = (), seed: int = 0) -> EncycloKTables:
    """All analyses of the replies to Encyclo-K's questions, by model and condition; `order` is that of the conditions.

    Replies to other questions, and those without a score, are left out.
    """
    found = arms(replies, order)
    composed = [arm for arm in found if arm.composed]
    over_seeds = stabilities(composed, seed=seed)
    pooled = [joined(arm) for arm in composed]
    return EncycloKTables(
        arms=tuple(arm_accuracy(arm, seed=seed) for arm in pooled),
        positions=tuple(position_biases(pooled, seed=seed)),
        stability=tuple(over_seeds),
        rankings=tuple(rankings(over_seeds)),
        lengths=tuple(reply_length(arm, seed=seed) for arm in pooled),
        single=tuple(singles_and_composed([joined(arm) for arm in found], seed=seed)),
    )
