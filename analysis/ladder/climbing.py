"""Ladders over the trials of a store."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace

from toolablate.analysis.effect import Effect
from toolablate.analysis.ladder.arms import Ladder, Rung
from toolablate.analysis.ladder.paired import Drawing, Trials
from toolablate.analysis.ladder.shapley import shapley
from toolablate.analysis.ladder.waterfall import Step, Waterfall
from toolablate.analysis.noise import Chance
from toolablate.analysis.statistics import RESAMPLES, holm
from toolablate.traces.store import Observation

Test = tuple[str, str, str, tuple[str, ...]]
"""What a p-value is of: a model, two arms and the questions that count. The same test is one comparison, however often
it is shown."""


def waterfalls(
    observations: Iterable[Observation], ladders: Sequence[Ladder], *, seed: int = 0, resamples: int = RESAMPLES
) -> list[Waterfall]:
    """One for each model and ladder, by model name, then in the order of the ladders.

    A model that did not run a ladder's first or last arm, or none between, has none; of the others those that it did
    not run are merged as if the store lacked them. P-values are corrected (Holm) over all steps returned: rungs, totals
    and bounds. The result depends on the observations and the seed alone, not on their order.
    """
    by_model: dict[str, list[Observation]] = defaultdict(list)
    for seen in observations:
        by_model[seen.model].append(seen)
    found = []
    for model in sorted(by_model):
        trials = Trials(by_model[model], Drawing(seed, resamples))
        kept = (ladder.among(trials.labels) for ladder in ladders)
        found += [_waterfall(model, trials, ladder) for ladder in kept if ladder is not None]
    return _corrected(found)


def _waterfall(model: str, trials: Trials, ladder: Ladder) -> tuple[Waterfall, list[Test]]:
    arms = tuple(ladder.arms.values())
    questions = tuple(trials.scored(arms))
    ends = (arms[0], arms[-1])
    whole, flips = trials.compared(*ends, questions)
    bounds = {kind: tuple(trials.scored((*arms, label))) for kind, label in ladder.bounds.items()}
    found = Waterfall(
        model=model,
        simulated=trials.simulated,
        ladder=ladder.toolset,
        arms=arms,
        missing=ladder.missing,
        unscored=tuple(label for label in arms if not trials.scored([label])),
        excluded_questions=len(trials.asked(arms)) - len(questions),
        rungs=tuple(_step(rung, *trials.compared(rung.before, rung.after, questions)) for rung in ladder.rungs),
        total=_step(Rung("total", *ends), whole, flips),
        relative=whole.delta_relative,
        relative_ci95=whole.delta_relative_ci95,
        bounds=tuple(
            _step(Rung(kind, ladder.below, label), *trials.compared(ladder.below, label, bounds[kind]))
            for kind, label in ladder.bounds.items()
        ),
        comparisons=0,
        shapley=shapley(trials, ladder),
        lacking=ladder.missing_unprompted if ladder.prompted else (),
    )
    over = [questions] * (len(found.rungs) + 1) + list(bounds.values())
    return found, [(model, step.before, step.after, each) for step, each in zip(found.steps, over, strict=True)]


def _step(between: Rung, found: Effect, flips: Chance) -> Step:
    return Step(
        name=between.name,
        before=between.before,
        after=between.after,
        questions=found.questions,
        clusters=found.clusters,
        small=found.small,
        before_score=found.baseline_score,
        score=found.score,
        points=found.delta_points,
        ci95=found.ci95,
        p_value=found.p_value,
        p_holm=None,
        detectable_points=found.detectable_points,
        **asdict(flips),
    )


def _corrected(found: Sequence[tuple[Waterfall, list[Test]]]) -> list[Waterfall]:
    tests = {
        test: step.p_value
        for each, tests in found
        for step, test in zip(each.steps, tests, strict=True)
        if step.p_value is not None
    }
    corrected = dict(zip(tests, holm(list(tests.values())), strict=True))
    return [_with_holm(each, [corrected.get(test) for test in own], len(tests)) for each, own in found]


def _with_holm(waterfall: Waterfall, p_values: Sequence[float | None], comparisons: int) -> Waterfall:
    steps = [replace(step, p_holm=p) for step, p in zip(waterfall.steps, p_values, strict=True)]
    rungs = len(waterfall.rungs)
    return replace(
        waterfall,
        rungs=tuple(steps[:rungs]),
        total=steps[rungs],
        bounds=tuple(steps[rungs + 1 :]),
        comparisons=comparisons,
    )
