"""The difference that one trial makes, taken apart into consecutive differences that sum to it."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Literal, get_args

from toolablate.analysis.attribution.ledger.chain import Chain, Replay, Scores
from toolablate.analysis.pairing import mean

Term = Literal[
    "format", "budget", "tool_fault", "luck", "content", "use", "calling", "availability", "prompt", "unresolved"
]
Level = Literal[
    "observed",
    "mended",
    "extended",
    "repaired",
    "resampled",
    "swapped",
    "placebo",
    "sham",
    "offered",
    "scaffold",
    "bare",
    "none",
]

TERMS: tuple[Term, ...] = get_args(Term)
LEVELS: tuple[Level, ...] = get_args(Level)

BELOW: Mapping[Level, Term] = {
    "observed": "format",
    "mended": "budget",
    "extended": "tool_fault",
    "repaired": "luck",
    "resampled": "content",
    "swapped": "use",
    "placebo": "use",
    "sham": "calling",
    "offered": "availability",
    "scaffold": "prompt",
    "bare": "format",
}
"""What the difference of a level and the next one is. From `mended` to `bare` every level has its formats mended, so
that `format` is what the trial loses by its form more than the question does without tools."""


def terms(chain: Chain, replay: Replay | None, *, calling: bool) -> dict[Term, float]:
    """Of the trial's score less the mean without tools, by what is known with this replay, or without any.

    Each term is a difference of neighbouring levels, so that they sum to it whatever the levels are. Where levels are
    missing, the difference of their neighbours is `unresolved`, never another term, unless every step between belongs
    to one term: use, with or without the placebo arm. Terms that no pair of levels shows are not among those returned.
    Without `calling`, where the condition has no sham arm, use is all from the offered tools to placebo results.
    """
    known = dict(_levels(chain, replay))
    order = [level for level in LEVELS if calling or level != "sham"]
    found: dict[Term, float] = defaultdict(float)
    for above, below in pairwise(level for level in order if level in known):
        between = order[order.index(above) : order.index(below)]
        of: set[Term] = {BELOW[level] for level in between}
        found[of.pop() if len(of) == 1 else "unresolved"] += known[above] - known[below]
    return dict(found)


def points(chain: Chain) -> dict[Term, float]:
    """What one trial adds to an effect, in percentage points, as far as its own replays and arms tell; it counts in the
    ledger with the weight of its lot."""
    own = terms(chain, chain.replay, calling=bool(chain.arms.sham))
    return {name: 100 * value for name, value in own.items()}


def _levels(chain: Chain, replay: Replay | None) -> Iterator[tuple[Level, float]]:
    yield "observed", chain.score
    mended = replay.mended if chain.mended is None and replay is not None else ()
    if chain.mended is not None or mended:
        yield "mended", mean(mended) if chain.mended is None else chain.mended
    arms = chain.arms
    runs: dict[Level, Scores] = {
        "placebo": arms.placebo,
        "sham": arms.sham,
        "offered": arms.offered,
        "scaffold": arms.scaffold,
        "bare": () if arms.bare is None else arms.bare or arms.none,
        "none": arms.none,
    }
    if replay is not None:
        runs["extended"], runs["repaired"] = replay.extended, replay.repaired
        runs["resampled"] = replay.rollouts.get(frozenset(), ())
        runs["swapped"] = replay.rollouts.get(chain.tools, ())
    yield from ((level, mean(scores)) for level, scores in runs.items() if scores)
