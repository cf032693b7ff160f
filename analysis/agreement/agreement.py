"""How far two scorers agree on the same trials."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from toolablate.analysis.agreement.gradings import Both, Gradings, arms, correct, side_by_side
from toolablate.analysis.agreement.kappa import Table, cohens_kappa, kappa_interval
from toolablate.analysis.effect import FEW_CLUSTERS, FEW_DIFFERING, Effect, effect
from toolablate.analysis.pairing import Unit, mean, unit
from toolablate.analysis.statistics import bootstrap_interval, effective_clusters


@dataclass(frozen=True, slots=True)
class Agreement:
    """Two scorers on the trials to which both gave a value: of one model under one condition, or where these are None
    of all.

    trials, questions,   that it rests on; questions that share a cluster are one
      clusters
    small                clusters worth fewer of one weight than FEW_CLUSTERS, or fewer than FEW_DIFFERING of them with
                         a trial on which the two differ, one that both call correct, or one that neither does, so that
                         the intervals may cover the truth less often than they say
    both, first_only,    trials by who calls them correct; a graded score is correct where it is 1
      second_only,
      neither
    agreement            percent of the trials on which they say the same, with its 95 % interval
    kappa                Cohen's, over trials, with its 95 % interval; None where both say the same of all trials
    first_score,         percent: the mean over questions of each question's mean over its trials, as each scorer has it
      second_score
    difference_points    second_score - first_score, with its 95 % interval
    first_unparsed,      of the trials those from which a scorer could read no answer, and which it so counts as wrong
      second_unparsed
    first_unscored,      trials that do not count, since this scorer looked at them and gave no value, and the other did
      second_unscored
    unscored             those that both looked at, and neither gave a value
    first_absent,        those to which the other gave a value, and at which this scorer has not looked
      second_absent

    Intervals are from a bootstrap over clusters; None where the data cannot tell.
    """

    first: str
    second: str
    model: str | None
    condition: str | None
    simulated: bool
    trials: int
    questions: int
    clusters: int
    small: bool
    both: int
    first_only: int
    second_only: int
    neither: int
    agreement: float | None
    agreement_ci95: tuple[float, float] | None
    kappa: float | None
    kappa_ci95: tuple[float, float] | None
    first_score: float | None
    second_score: float | None
    difference_points: float | None
    difference_ci95: tuple[float, float] | None
    first_unparsed: int
    second_unparsed: int
    first_unscored: int
    second_unscored: int
    unscored: int
    first_absent: int
    second_absent: int


def agreements(
    found: Gradings, pairs: Sequence[tuple[str, str]], *, order: Sequence[str] = (), seed: int = 0
) -> list[Agreement]:
    """Of each pair of scorers that have looked at the same trials: a row for all of these, then one for each model and
    condition, by model name, then in the `order` of conditions. One arm alone has no row of its own."""
    return [row for first, second in pairs for row in _rows(found, first, second, order, seed)]


def _rows(found: Gradings, first: str, second: str, order: Sequence[str], seed: int) -> Iterator[Agreement]:
    seen = side_by_side(found, first, second)
    if not seen:
        return
    by_arm = list(arms(seen, order))
    if len(by_arm) > 1:
        yield _row(first, second, None, None, seen, seed)
    for model, condition, trials in by_arm:
        yield _row(first, second, model, condition, trials, seed)


def _row(first: str, second: str, model: str | None, condition: str | None, seen: list[Both], seed: int) -> Agreement:
    counted = [each for each in seen if each.counts]
    tables = list(_by_unit(counted).values())
    total = sum(tables, Table(0, 0, 0, 0))
    sizes = [float(each.trials) for each in tables]
    agreed = bootstrap_interval([float(each.agreed) for each in tables], sizes, seed=seed)
    scores = _scores(counted, seed)
    return Agreement(
        first=first,
        second=second,
        model=model,
        condition=condition,
        simulated=any(each.first.simulated for each in seen),
        trials=total.trials,
        questions=scores.questions,
        clusters=len(tables),
        small=scores.small or _too_few(tables, sizes),
        both=total.both,
        first_only=total.first_only,
        second_only=total.second_only,
        neither=total.neither,
        agreement=100 * total.agreed / total.trials if total.trials else None,
        agreement_ci95=None if agreed is None else (100 * agreed[0], 100 * agreed[1]),
        kappa=cohens_kappa([total.margins]),
        kappa_ci95=kappa_interval([each.margins for each in tables], seed=seed),
        first_score=scores.baseline_score,
        second_score=scores.score,
        difference_points=scores.delta_points,
        difference_ci95=scores.ci95,
        first_unparsed=sum(each.first.verdict == "unparsed" for each in counted),
        second_unparsed=sum(each.second.verdict == "unparsed" for each in counted),
        **_left_out(seen),
    )


def _left_out(seen: Sequence[Both]) -> dict[str, int]:
    """The trials that do not count, by why."""
    others = [each for each in seen if not each.counts]
    sides = [
        side for each in others for side in (("first", each.first, each.second), ("second", each.second, each.first))
    ]
    lacking = Counter(
        f"{name}_{'absent' if own.verdict is None else 'unscored'}"
        for name, own, other in sides
        if own.value is None and other.value is not None
    )
    neither = sum(each.looked and each.first.value is None and each.second.value is None for each in others)
    names = ("first_unscored", "second_unscored", "first_absent", "second_absent")
    return {name: lacking[name] for name in names} | {"unscored": neither}


def _by_unit(counted: Sequence[Both]) -> dict[Unit, Table]:
    cells: dict[Unit, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for each in counted:
        cells[unit(each.first)][2 * (not correct(each.first)) + (not correct(each.second))] += 1
    return {of: Table(*found) for of, found in cells.items()}


def _scores(counted: Sequence[Both], seed: int) -> Effect:
    """What the second scorer says of the questions, less what the first says of the same trials."""
    questions: dict[str, list[Both]] = defaultdict(list)
    for each in counted:
        questions[each.first.question].append(each)
    return effect(
        [mean([each.first.value or 0.0 for each in trials]) for trials in questions.values()],
        [mean([each.second.value or 0.0 for each in trials]) for trials in questions.values()],
        [unit(trials[0].first) for trials in questions.values()],
        seed=seed,
    )


def _too_few(tables: Sequence[Table], sizes: Sequence[float]) -> bool:
    """Kappa wants some of each kind: where one label is rare it rests on the few trials that have it."""
    differing = sum(each.agreed < each.trials for each in tables)
    kinds = differing, sum(each.both > 0 for each in tables), sum(each.neither > 0 for each in tables)
    return effective_clusters(sizes) < FEW_CLUSTERS or min(kinds) < FEW_DIFFERING
