"""What a search of a store's texts found: hits, and how their share among flips compares with that among the rest."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from toolablate.analysis.statistics.p_values import fisher_p, holm


@dataclass(frozen=True, slots=True)
class Snippet:
    """A match in its context. `event` is its number as `show` counts, None in a question's text; `field` is where in
    it (`code`, `output`, `page`, `reply`, `answer`, `question`). All text is foreign."""

    event: int | None
    field: str
    before: str
    match: str
    after: str


@dataclass(frozen=True, slots=True)
class Hit:
    """A trial that is found. `flip` is `right_to_wrong` where it is wrong and its question mostly right under the
    baseline, else empty. `value` is in [0, 1], None without a score."""

    trial: str
    question: str
    model: str
    condition: str
    repeat: int
    verdict: str
    value: float | None
    flip: str
    snippets: tuple[Snippet, ...]


@dataclass(frozen=True, slots=True)
class Share:
    """`hits` of `trials`."""

    hits: int
    trials: int

    @property
    def percent(self) -> float | None:
        return 100 * self.hits / self.trials if self.trials else None


@dataclass(frozen=True, slots=True)
class ConditionHits:
    """Of the trials under one condition: how many are found, of how many questions. `flips` are those that are wrong
    while their question is mostly right under the baseline, `rest` the other scored ones. `expected` is how many of the
    flips would be found if these were like the rest. `p` tests whether both shares are the same, `corrected` is it
    after Holm over the conditions; None for the baseline, and where one of both groups is empty. `units` is how many
    independent trials the scored ones count as, since those of one question are alike."""

    condition: str
    all: Share
    questions: int
    flips: Share
    rest: Share
    expected: float
    units: float
    p: float | None
    corrected: float | None


@dataclass(frozen=True, slots=True)
class Found:
    """`all` counts the trials looked at, `by_condition` those of each condition in the plan's order. `questions` are
    those of the hits; `asked` names questions whose own text holds all words of the query, which are no hits:
    `asked_total` of them. Of a regular expression `read` of `candidates` were read, in a random order; what was not is
    in no count. `unindexed` trials are not in the index yet."""

    query: str
    baseline: str
    all: Share
    questions: int
    by_condition: tuple[ConditionHits, ...]
    hits: tuple[Hit, ...]
    asked: tuple[str, ...] = ()
    asked_total: int = 0
    read: int | None = None
    candidates: int | None = None
    unindexed: int = 0
    simulated: bool = False


Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


def design_effect(hit: Bools, flip: Bools, cluster: Ints) -> float:
    """By how much trials of one cluster that are alike in both respects inflate the variance of the association of
    both, at least 1: 1 + (m - 1) r s, with the two intraclass correlations r and s and the mean size m of the cluster
    of a trial.

    Source: Moulton (1990), "An illustration of a pitfall in estimating the effects of aggregate variables on micro
    units", Review of Economics and Statistics 72.
    """
    sizes = np.bincount(np.unique(cluster, return_inverse=True)[1])
    if not len(hit) or sizes.max() == 1:
        return 1.0
    mean_size = float((sizes**2).sum() / sizes.sum())
    return 1 + (mean_size - 1) * _alike(hit, cluster) * _alike(flip, cluster)


def _alike(values: Bools, cluster: Ints) -> float:
    """The intraclass correlation by analysis of variance, in [0, 1]."""
    places = np.unique(cluster, return_inverse=True)[1]
    sizes = np.bincount(places)
    count, clusters = len(values), len(sizes)
    if count == clusters or clusters < 2:
        return 1.0
    means = np.bincount(places, weights=values) / sizes
    grand = float(values.mean())
    between = float((sizes * (means - grand) ** 2).sum()) / (clusters - 1)
    within = float(((values - means[places]) ** 2).sum()) / (count - clusters)
    size = (count - float((sizes**2).sum()) / count) / (clusters - 1)
    spread = between + (size - 1) * within
    return min(1.0, max(0.0, (between - within) / spread)) if spread > 0 else 0.0


def share_test(hit: Bools, flip: Bools, cluster: Ints) -> tuple[float | None, float]:
    """Whether flips are found as often as the rest: the p-value of Fisher's exact test on counts divided by the design
    effect, rounded, and how many independent trials they count as. None where there are no flips, or nothing else."""
    units = len(hit) / design_effect(hit, flip, cluster) if len(hit) else 0.0
    if not flip.any() or flip.all():
        return None, units
    by = len(hit) / units
    flips, rest = ((round((hit & of).sum() / by), max(1, round(of.sum() / by))) for of in (flip, ~flip))
    return fisher_p(flips, rest), units


def by_condition(
    conditions: Sequence[str], baseline: str, *, condition: Ints, hit: Bools, flip: Bools, scored: Bools, question: Ints
) -> tuple[ConditionHits, ...]:
    """One each; the arrays are of trials, `condition` and `question` by their places."""
    made, tests = [], []
    for place, name in enumerate(conditions):
        own = condition == place
        counted = own & scored
        p, units = share_test(hit[counted], flip[counted], question[counted]) if name != baseline else (None, 0.0)
        flips, rest = (Share(int((of & hit).sum()), int(of.sum())) for of in (counted & flip, counted & ~flip))
        made.append((name, own, flips, rest, units, p))
        tests += [] if p is None else [p]
    corrected = iter(holm(tests))
    return tuple(
        ConditionHits(
            condition=name,
            all=Share(int((own & hit).sum()), int(own.sum())),
            questions=len(np.unique(question[own & hit])),
            flips=flips,
            rest=rest,
            expected=flips.trials * rest.hits / rest.trials if rest.trials else 0.0,
            units=units,
            p=p,
            corrected=None if p is None else next(corrected),
        )
        for name, own, flips, rest, units, p in made
    )
