"""How far scorers agree on the same trials: rows, the whole report, and reading both from a store."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path

from toolablate.analysis.agreement.gradings import (
    Both,
    Disagreement,
    Gradings,
    arms,
    correct,
    disagreements,
    gradings,
    is_judge,
    ordered,
    scorer_pairs,
    side_by_side,
)
from toolablate.analysis.agreement.judge_noise import JudgeNoise, Regraded, judge_noise, regraded
from toolablate.analysis.agreement.kappa import CrossTable, cohens_kappa, kappa_interval
from toolablate.analysis.agreement.shift import Shift, shifts
from toolablate.analysis.effect import FEW_CLUSTERS, FEW_DIFFERING, Effect, effect
from toolablate.analysis.from_store import observe, paired, scorer_meant
from toolablate.analysis.pairing import Unit, mean, unit
from toolablate.analysis.statistics.intervals import bootstrap_interval, effective_clusters
from toolablate.traces.errors import InputError
from toolablate.traces.records import REPLIES, digest_text
from toolablate.traces.store import Store
from toolablate.traces.terminal_text import one_line


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
    total = sum(tables, CrossTable(0, 0, 0, 0))
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


def _by_unit(counted: Sequence[Both]) -> dict[Unit, CrossTable]:
    cells: dict[Unit, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for each in counted:
        cells[unit(each.first)][2 * (not correct(each.first)) + (not correct(each.second))] += 1
    return {of: CrossTable(*found) for of, found in cells.items()}


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


def _too_few(tables: Sequence[CrossTable], sizes: Sequence[float]) -> bool:
    """Kappa wants some of each kind: where one label is rare it rests on the few trials that have it."""
    differing = sum(each.agreed < each.trials for each in tables)
    kinds = differing, sum(each.both > 0 for each in tables), sum(each.neither > 0 for each in tables)
    return effective_clusters(sizes) < FEW_CLUSTERS or min(kinds) < FEW_DIFFERING


@dataclass(frozen=True, slots=True)
class AgreementReport:
    """Each part is empty where there is nothing to say."""

    agreements: tuple[Agreement, ...]
    shifts: tuple[Shift, ...]
    regraded: tuple[Regraded, ...]
    judge_noise: tuple[JudgeNoise, ...]


def agreement_report(
    found: Gradings,
    pairs: Sequence[tuple[str, str]],
    baseline: str,
    *,
    answers: Mapping[str, str],
    order: Sequence[str] = (),
    seed: int = 0,
) -> AgreementReport:
    """`answers` has for each trial its answer, or a digest of it. The result depends on the gradings and the seed
    alone, not on their order."""
    rates = regraded(found, answers, seed=seed)
    return AgreementReport(
        tuple(agreements(found, pairs, order=order, seed=seed)),
        tuple(shifts(found, pairs, baseline, order=order, seed=seed)),
        tuple(rates),
        tuple(judge_noise(found, rates, baseline, order=order, seed=seed)),
    )


def agreement_json(report: AgreementReport) -> str:
    """The fields of the records; what is unknown is null."""
    return json.dumps(asdict(report), ensure_ascii=False, indent=2)


def disagreements_json(found: Iterable[Disagreement]) -> str:
    """`{"disagreements": [...]}` with the fields of the records."""
    return json.dumps({"disagreements": [asdict(each) for each in found]}, ensure_ascii=False, indent=2)


# Reads what several scorers of a store made of the same trials: what `agreement` shows.


SECOND = (
    "Give the plan a second judge ([[judges]]), or let its judge grade everything twice (again = 1 under [judging]),"
    " and run it again: only the grading is done."
)


@dataclass(frozen=True, slots=True)
class Graded:
    """Trials with the scores of several scorers, the pairs of these to set side by side, the baseline's name and the
    order of the conditions. `answers` has for each trial that a judge has graded a digest of its answer, none where
    judges' replies are recorded; `left_out` counts ended trials of the store that the chosen run did not call for."""

    gradings: Gradings
    pairs: tuple[tuple[str, str], ...]
    baseline: str
    order: tuple[str, ...]
    answers: Mapping[str, str]
    left_out: int

    def report(self) -> AgreementReport:
        return agreement_report(self.gradings, self.pairs, self.baseline, answers=self.answers, order=self.order)

    def disagreements(self) -> list[Disagreement]:
        return disagreements(self.gradings, self.pairs, order=self.order)


def read_graded(path: Path, *, run: str = "latest", scorers: Sequence[str] = (), with_answers: bool = True) -> Graded:
    """The trials that one run called for (`latest`, or the beginning of its id), or `all` that the store holds, with
    the scores of all scorers or of those that are named. Without `with_answers` no trace is read, which is quicker, and
    answers of the same text are not known. Raises InputError where no trial has scores by two of them, StoreError."""
    with Store(path) as store, store.at_one_moment():
        known = store.scorers()
        if not known:
            raise InputError(f"{path} holds no score yet", hint="toolablate run PLAN", code="no_scorer")
        named = list(dict.fromkeys(scorer_meant(known, said) for said in scorers))
        if len(named) == 1:
            raise InputError(
                f"--scorer names one scorer alone: {one_line(named[0])}",
                hint="Name another beside it, or none to set all of them side by side.",
                code="usage",
            )
        chosen = named or ordered(known, [name for each in store.runs() for name in each.scorers])
        trials = paired(store, run=run, scorer=chosen[0])
        found = gradings({scorer: observe(store, run=run, scorer=scorer) for scorer in chosen})
        pairs = _pairs(path, found, combinations(found, 2) if scorers else scorer_pairs(found))
        answers = _answers(store, found) if with_answers and not _recorded(store) else {}
    return Graded(found, tuple(pairs), trials.baseline, trials.order, answers, trials.left_out)


def _pairs(path: Path, found: Gradings, pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Those that have looked at the same trials."""
    shared = [pair for pair in pairs if side_by_side(found, *pair)]
    if shared:
        return shared
    names = ", ".join(map(one_line, found))
    if len(found) > 1:
        told = f"No trial of {path} has scores by two of its scorers: {names}"
    else:
        told = (
            f"The trials of {path} have scores by one scorer alone: {names}" if found else f"No trial is scored: {path}"
        )
    raise InputError(told, hint=SECOND, code="one_scorer")


def _recorded(store: Store) -> bool:
    """Whether a judge's replies may be kept and shared by equal answers, of which two then say nothing of its noise."""
    return any(run.fingerprint.get(REPLIES, "live") != "live" for run in store.runs())


def _answers(store: Store, found: Gradings) -> dict[str, str]:
    """Of the trials that a judge has graded, where a question has several of them."""
    graded = {
        trial: seen.question
        for scorer, trials in found.items()
        for trial, seen in trials.items()
        if is_judge(scorer) and seen.value is not None
    }
    several = Counter(graded.values())
    traces = (store.trace(trial) for trial, question in graded.items() if several[question] > 1)
    return {trace.trial.id: digest_text(trace.answer) for trace in traces if trace.answer is not None}
