"""Reads a store for what an overview and a report show of it."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace

from toolablate.analysis.arms import ladders
from toolablate.analysis.attribution.report import AttributionReport
from toolablate.analysis.comparison import Comparison, compare
from toolablate.analysis.effect import accuracy
from toolablate.analysis.findings import ArmScore, Findings, FlipMatrix, PutDown, Why
from toolablate.analysis.flips import floors
from toolablate.analysis.ladder import waterfalls
from toolablate.analysis.pairing import RIGHT, Arm, Pair, mean, mean_scores, pairs, scored_in_both, unit
from toolablate.traces.records import Attribution, Condition
from toolablate.viewer.keeping.trials import Trials


def findings_of(trials: Trials, conditions: dict[str, Condition], *, seed: int = 0) -> Findings:
    """All but why; `conditions` are those of the trials, by their labels."""
    compared, within = _compared(trials, seed)
    of, order = (trials.observations, trials.baseline), trials.conditions
    return Findings(
        baseline=trials.baseline,
        models=trials.models,
        conditions=trials.conditions,
        simulated=frozenset(seen.model for seen in trials.observations if seen.simulated),
        arms=tuple(_arm_scores(trials, seed)),
        comparisons=compared,
        floors=tuple(floors(*of, order=order)) if trials.comparable else (),
        flips=tuple(map(_matrix, pairs(*of, order))) if trials.comparable else (),
        by_domain=within,
        waterfalls=tuple(waterfalls(trials.observations, ladders(conditions), seed=seed)),
        imported=any(each.imported for each in conditions.values()),
        notes=trials.notes,
    )


def with_why(found: Findings, report: AttributionReport) -> Findings:
    why = Why(
        ledgers=report.ledgers,
        put_down=tuple(_put_down(report)),
        floors=report.floors,
        judged=report.judged,
        errors=report.errors,
        unreplayed=report.unreplayed,
        notes=tuple(note for note in report.notes if note not in found.notes),
    )
    return replace(found, why=why)


def attributions_of(report: AttributionReport) -> Iterator[Attribution]:
    """Of the trials that are not right, each by the method to go by."""
    return (each.attribution for each in report.explained if each.attribution is not None)


def _put_down(report: AttributionReport) -> Iterator[PutDown]:
    """Of each model and condition, in their order, the mechanism of most trials first."""
    counts = Counter(
        (each.evidence.model, each.evidence.condition, each.attribution.mechanism, each.attribution.method)
        for each in report.explained
        if each.attribution is not None
    )
    arms = list(dict.fromkeys(key[:2] for key in counts))
    for key, trials in sorted(counts.items(), key=lambda each: (arms.index(each[0][:2]), -each[1], each[0][2:])):
        yield PutDown(*key, trials)


def _arm_scores(trials: Trials, seed: int) -> Iterator[ArmScore]:
    arms: dict[tuple[str, str], Arm] = defaultdict(lambda: defaultdict(list))
    for seen in trials.observations:
        arms[seen.model, seen.condition][seen.question].append(seen)
    for model in trials.models:
        for condition in trials.conditions:
            if (arm := arms.get((model, condition))) is not None:
                scores = mean_scores(arm)
                units = [unit(arm[question][0]) for question in scores]
                yield ArmScore(model, condition, accuracy(list(scores.values()), units, seed=seed))


def _compared(trials: Trials, seed: int) -> tuple[tuple[Comparison, ...], tuple[Comparison, ...]]:
    """Over all questions, and within domains; each corrected as the command that shows it alone does."""
    if not trials.comparable:
        return (), ()
    of, order = (trials.observations, trials.baseline), trials.conditions
    within = compare(*of, by="domain", seed=seed, order=order, harm=False)
    return (
        tuple(compare(*of, seed=seed, order=order)),
        tuple(row for row in within if row.by == "domain"),
    )


def _matrix(pair: Pair) -> FlipMatrix:
    both = scored_in_both(pair.scored_before, pair.scored_after)
    turns = Counter((mean(pair.scored_before[name]) >= RIGHT, mean(pair.scored_after[name]) >= RIGHT) for name in both)
    return FlipMatrix(
        *(pair.model, pair.baseline, pair.condition),
        both_right=turns[True, True],
        right_to_wrong=turns[True, False],
        wrong_to_right=turns[False, True],
        both_wrong=turns[False, False],
    )
