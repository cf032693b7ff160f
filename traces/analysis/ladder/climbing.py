"""Ladders over the trials of a store."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from toolablate.traces.analysis.ladder.arms import Ladder
from toolablate.traces.analysis.ladder.paired import Chance, Trials, percent
from toolablate.traces.analysis.ladder.shapley import shapley
from toolablate.traces.analysis.ladder.waterfall import Step, Waterfall
from toolablate.traces.analysis.statistics import RESAMPLES
from toolablate.traces.analysis.statistics.multiplicity import holm
from toolablate.traces.store import Observation


def waterfalls(
    observations: Iterable[Observation], ladders: Sequence[Ladder], *, seed: int = 0, resamples: int = RESAMPLES
) -> list[Waterfall]:
    """One for each model and ladder, by model name, then in the order of the ladders.

    A model that did not run a ladder's first or last arm has none; of the others those that it did not run are merged
    as if the store lacked them. P-values are corrected (Holm) over all steps returned: rungs, totals and bounds. The
    result depends on the observations and the seed alone, not on their order.
    """
    by_model: dict[str, list[Observation]] = defaultdict(list)
    for seen in observations:
        by_model[seen.model].append(seen)
    chance = Chance(seed, resamples)
    found = []
    for model in sorted(by_model):
        trials = Trials(by_model[model])
        kept = (ladder.among(trials.labels) for ladder in ladders)
        found += [_waterfall(model, trials, ladder, chance) for ladder in kept if ladder is not None]
    return _corrected(found)


def _waterfall(model: str, trials: Trials, ladder: Ladder, chance: Chance) -> Waterfall:
    arms = tuple(ladder.arms.values())
    questions = trials.scored(arms)
    total = _step(trials, "total", (arms[0], arms[-1]), questions, chance)
    rungs = tuple(_step(trials, rung.name, (rung.before, rung.after), questions, chance) for rung in ladder.rungs)
    bounds = tuple(
        _step(trials, kind, (ladder.below, label), trials.scored((*arms, label)), chance)
        for kind, label in ladder.bounds.items()
    )
    return Waterfall(
        model=model,
        simulated=trials.simulated,
        ladder=ladder.toolset,
        arms=arms,
        missing=ladder.missing,
        unscored=tuple(label for label in arms if not trials.scores(label)),
        excluded_questions=len(trials.asked(arms)) - len(questions),
        rungs=rungs,
        total=total,
        relative=100 * total.points / total.before_score if total.points is not None and total.before_score else None,
        bounds=bounds,
        shapley=shapley(trials, ladder, chance),
        lacking=ladder.missing_unprompted if ladder.prompted else (),
    )


def _step(trials: Trials, name: str, arms: tuple[str, str], questions: Sequence[str], chance: Chance) -> Step:
    before, after = ([trials.scores(label)[question] for question in questions] for label in arms)
    differences = [new - old for old, new in zip(before, after, strict=True)]
    return Step(
        name=name,
        before=arms[0],
        after=arms[1],
        questions=len(questions),
        clusters=trials.clusters(questions),
        small=trials.few(questions, differences),
        before_score=percent(before),
        score=percent(after),
        points=percent(differences),
        ci95=trials.interval(questions, differences, chance),
        p_value=trials.p_value(questions, differences, chance) if questions else None,
    )


def _corrected(found: list[Waterfall]) -> list[Waterfall]:
    """With Holm's p-values. The same two arms over the same questions are one comparison, however often shown."""
    tests = {_test(each, step): step.p_value for each in found for step in _steps(each) if step.p_value is not None}
    corrected = dict(zip(tests, holm(list(tests.values())), strict=True))

    def with_holm(each: Waterfall, steps: Iterable[Step]) -> tuple[Step, ...]:
        return tuple(replace(step, p_holm=corrected.get(_test(each, step))) for step in steps)

    return [
        replace(
            each,
            rungs=with_holm(each, each.rungs),
            total=with_holm(each, [each.total])[0],
            bounds=with_holm(each, each.bounds),
        )
        for each in found
    ]


def _steps(waterfall: Waterfall) -> tuple[Step, ...]:
    return (*waterfall.rungs, waterfall.total, *waterfall.bounds)


def _test(waterfall: Waterfall, step: Step) -> tuple[str, str, str, int, float | None]:
    return waterfall.model, step.before, step.after, step.questions, step.p_value
