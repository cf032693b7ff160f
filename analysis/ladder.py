"""Ladders of conditions, from no tools to real tools one factor at a time: effects of each step, and Shapley values."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from toolablate.analysis.arms import ArmKind, Contrast, Ladder, has_ladder, ladders
from toolablate.analysis.effect import Effect, arms_effect, too_few
from toolablate.analysis.flips import Chance, chance, right
from toolablate.analysis.from_store import paired, require_ended
from toolablate.analysis.pairing import Arm, Scored, Unit, mean, scored, unit
from toolablate.analysis.shapley import Subset, inserted, shares_of
from toolablate.analysis.spreadsheets import csv_text, ends
from toolablate.analysis.statistics.intervals import RESAMPLES, Floats, bootstrap_intervals, by_unit
from toolablate.analysis.statistics.p_values import holm
from toolablate.traces.errors import InputError
from toolablate.traces.records import Condition
from toolablate.traces.store import Store
from toolablate.traces.store.summaries import TrialSummary
from toolablate.traces.terminal_text import one_line


@dataclass(frozen=True, slots=True)
class LadderStep:
    """From one arm to another, paired over questions. What figures rest on is said in `Comparison`.

    name               of a contrast: the factors that differ ("availability + calling" where the arm between is
                         missing); else `total`, `oracle` or `adversarial`
    before, after      labels of the two conditions
    questions          questions that count; `clusters`: independent units that interval and p-value rest on
    small              too few of these, or too few that differ, for an interval that covers what it says (`effect`)
    before_score,      percent: the mean over questions of each question's mean over its repeats; None without a
      score              question
    points             score - before_score, in percentage points
    ci95               95 % interval of points; None where the data cannot tell
    p_value            two-sided sign-flip test of points = 0
    p_holm             the same, corrected over all steps of all waterfalls that were made together; the same two arms
                         over the same questions count once
    detectable_points  the true difference that would have been found with probability 80 % at level .05
    flips_..., noise_  questions that flip between single runs, and what chance alone gives, in the arm before and in
      condition_noise_   the arm after: see `Chance`
    """

    name: str
    before: str
    after: str
    questions: int
    clusters: int
    small: bool
    before_score: float | None
    score: float | None
    points: float | None
    ci95: tuple[float, float] | None
    p_value: float | None
    p_holm: float | None
    detectable_points: float | None
    flips_right_to_wrong: float
    flips_wrong_to_right: float
    noise_flips: float | None
    noise_questions: int
    condition_noise_flips: float | None
    condition_noise_questions: int


@dataclass(frozen=True, slots=True)
class ShapleyValue:
    """Shapley value of a contrast, over all places of the prompt among the others, in points, with its 95 % interval.
    `own` is the contrast in the ladder's own order, over the same questions; `moved_ci95` is the interval of how far
    the value is from that. `small` as in LadderStep."""

    name: str
    small: bool
    points: float
    ci95: tuple[float, float] | None
    own: float
    moved_ci95: tuple[float, float] | None

    @property
    def moved(self) -> float:
        """How far the ladder's own order is from it, in points."""
        return self.points - self.own

    @property
    def order_matters(self) -> bool:
        """Whether the interval of `moved` leaves 0 out."""
        return not self.small and self.moved_ci95 is not None and not self.moved_ci95[0] <= 0 <= self.moved_ci95[1]


@dataclass(frozen=True, slots=True)
class Shapley:
    """One value for each contrast, over the `questions` scored in all arms with and without prompt; their sum is
    `total`, the real arm less `none`, in points."""

    questions: int
    clusters: int
    values: tuple[ShapleyValue, ...]
    total: float


@dataclass(frozen=True, slots=True)
class Waterfall:
    """The contrasts of one ladder for one model, over the questions that are scored in all its arms: they sum to the
    total.

    ladder               label of the condition whose ladder it is
    arms                 labels, in order
    missing              arms that were not run; the contrasts on both sides of such an arm are one
    unscored             labels of arms that were run and have no question that is scored
    excluded_questions   questions that were asked in an arm and do not count, for want of a score in one
    relative             the total in percent of the score under `none`; None where that is 0. `relative_ci95`: its 95 %
                           interval
    bounds               the arm just below the real one against oracle and adversarial content, over those of the
                           questions that are scored under these too; no part of the sum
    comparisons          how many there are among the steps of all waterfalls that were made together: what p_holm is
                           corrected for
    shapley              None where an arm without prompt is lacking (`lacking` says which) or there is no prompt

    `simulated`: a simulated model, no measurement.
    """

    model: str
    simulated: bool
    ladder: str
    arms: tuple[str, ...]
    missing: tuple[ArmKind, ...]
    unscored: tuple[str, ...]
    excluded_questions: int
    contrasts: tuple[LadderStep, ...]
    total: LadderStep
    relative: float | None
    relative_ci95: tuple[float, float] | None
    bounds: tuple[LadderStep, ...]
    comparisons: int
    shapley: Shapley | None
    lacking: tuple[ArmKind, ...]

    @property
    def steps(self) -> tuple[LadderStep, ...]:
        """All of them: contrasts, total, bounds."""
        return (*self.contrasts, self.total, *self.bounds)


def waterfalls_json(waterfalls: Iterable[Waterfall]) -> str:
    """`{"waterfalls": [...]}` with the fields of the records; what is unknown is null."""
    return json.dumps({"waterfalls": [asdict(each) for each in waterfalls]}, ensure_ascii=False, indent=2)


def waterfalls_csv(waterfalls: Iterable[Waterfall]) -> str:
    """A line for each step (`kind` contrast, total or bound) with its waterfall's model and ladder; what is unknown is
    empty. The columns `shapley...` belong to contrasts, `relative` and `excluded_questions` to totals."""
    return csv_text(_COLUMNS, waterfall_rows(waterfalls))


def waterfall_rows(waterfalls: Iterable[Waterfall]) -> Iterator[dict[str, Any]]:
    """The lines of `waterfalls_csv`."""
    return ({name: line.get(name) for name in _COLUMNS} for each in waterfalls for line in _lines(each))


_COLUMNS = (
    *("model", "simulated", "ladder", "kind", "name", "before", "after", "questions", "clusters", "small"),
    *("excluded_questions", "before_score", "score", "points", "ci95_low", "ci95_high", "p_value", "p_holm"),
    *("detectable_points", "flips_right_to_wrong", "flips_wrong_to_right", "noise_flips", "noise_questions"),
    *("condition_noise_flips", "condition_noise_questions"),
    *("relative", "relative_ci95_low", "relative_ci95_high"),
    *("shapley_points", "shapley_ci95_low", "shapley_ci95_high", "shapley_small", "shapley_questions"),
)


def _lines(waterfall: Waterfall) -> Iterator[dict[str, Any]]:
    shapley = waterfall.shapley
    for place, contrast in enumerate(waterfall.contrasts):
        line = _line(waterfall, "contrast", contrast)
        if shapley is not None:
            value = shapley.values[place]
            line |= {"shapley_points": value.points, "shapley_small": value.small}
            line |= {"shapley_questions": shapley.questions, **ends("shapley_ci95", value.ci95)}
        yield line
    of_total = {"relative": waterfall.relative, **ends("relative_ci95", waterfall.relative_ci95)}
    of_total |= {"excluded_questions": waterfall.excluded_questions}
    yield _line(waterfall, "total", waterfall.total) | of_total
    yield from (_line(waterfall, "bound", bound) for bound in waterfall.bounds)


def _line(waterfall: Waterfall, kind: str, step: LadderStep) -> dict[str, Any]:
    fields = asdict(step)
    interval = fields.pop("ci95")
    whose = {"model": waterfall.model, "simulated": waterfall.simulated, "ladder": waterfall.ladder, "kind": kind}
    return {**whose, **fields, **ends("ci95", interval)}


# Arms of one model, question by question.


@dataclass(frozen=True, slots=True)
class Resampling:
    """How chance is drawn: the seed of bootstrap and permutations, and how many of each."""

    seed: int
    resamples: int


@dataclass(frozen=True, slots=True)
class KnownMean:
    """A mean in points, its 95 % interval, and whether that rests on too few questions to cover what it says."""

    points: float
    ci95: tuple[float, float] | None
    small: bool


class Trials:
    """All ended trials of one model, by the labels of conditions."""

    def __init__(self, summaries: Iterable[TrialSummary], drawing: Resampling) -> None:
        arms: dict[str, Arm] = defaultdict(lambda: defaultdict(list))
        self._units: dict[str, Unit] = {}
        self._drawing = drawing
        self.simulated = False
        for seen in summaries:
            arms[seen.condition][seen.question].append(seen)
            self._units[seen.question] = unit(seen)
            self.simulated = self.simulated or seen.simulated
        self._asked = {label: frozenset(arm) for label, arm in arms.items()}
        self._scored: dict[str, Scored] = {label: scored(arm) for label, arm in arms.items()}

    def asked(self, labels: Iterable[str]) -> set[str]:
        """The questions that were asked under any of these."""
        return {question for label in labels for question in self._asked[label]}

    def scored(self, labels: Iterable[str]) -> list[str]:
        """The questions that are scored under all of these, by name."""
        return sorted(set.intersection(*(set(self._scored[label]) for label in labels)))

    def means(self, label: str, questions: Sequence[str]) -> list[float]:
        """The score of each question under one condition, in [0, 1]."""
        return [mean(self._scored[label][question]) for question in questions]

    def clusters(self, questions: Iterable[str]) -> int:
        """How many independent ones they are."""
        return len(set(self._units_of(questions)))

    def compared(self, before: str, after: str, questions: Sequence[str]) -> tuple[Effect, Chance]:
        """One condition against another, over questions that are scored under both: the effect, and the flips."""
        sides = self._scored[before], self._scored[after]
        found = arms_effect(
            *sides,
            questions,
            self._units_of(questions),
            seed=self._drawing.seed,
            resamples=self._drawing.resamples,
        )
        return found, chance(*(right([side[question] for question in questions]) for side in sides))

    def means_known(self, questions: Sequence[str], columns: Sequence[Sequence[float]]) -> list[KnownMean]:
        """Of columns of values in [-1, 1], one for each question: what is known of their means, all from the same
        resamples."""
        sizes, *sums = by_unit(self._units_of(questions), [1.0] * len(questions), *columns)
        intervals = bootstrap_intervals(
            [(each, sizes) for each in sums], seed=self._drawing.seed, resamples=self._drawing.resamples
        )
        return [
            KnownMean(
                points=100 * mean(values),
                ci95=None if interval is None else (100 * interval[0], 100 * interval[1]),
                small=too_few(each, sizes),
            )
            for values, interval, each in zip(columns, intervals, sums, strict=True)
        ]

    def _units_of(self, questions: Iterable[str]) -> list[Unit]:
        return [self._units[question] for question in questions]


# Shapley values of contrasts, over the orders of factors.


def shapley(trials: Trials, ladder: Ladder) -> Shapley | None:
    """The Shapley value of each contrast, of those that the ladder has; None where an arm is lacking.

    There is no calling without availability and no content without calling, so that these factors form a chain; the
    prompt may come at any place in it. The value is the mean of a factor's marginal contributions over these orders,
    all equally likely (five, where the chain has four factors).
    """
    if not ladder.prompted or ladder.missing_unprompted:
        return None
    prompted, unprompted = _levels(ladder)
    questions = trials.scored({*prompted, *unprompted})
    if not questions:
        return None
    with_prompt, without = ([trials.means(label, questions) for label in labels] for labels in (prompted, unprompted))
    scores = np.array([*with_prompt, *without])
    shares = shares_of(inserted(len(ladder.contrasts)))
    values = [(_weights(each, len(prompted)) @ scores).tolist() for each in shares]
    own = [_differences(trials, contrast.before, contrast.after, questions) for contrast in ladder.contrasts]
    moved = [[value - here for value, here in zip(*both, strict=True)] for both in zip(values, own, strict=True)]
    total = _differences(trials, unprompted[0], prompted[-1], questions)
    known = trials.means_known(questions, [*values, *moved])
    return Shapley(
        questions=len(questions),
        clusters=trials.clusters(questions),
        values=tuple(
            ShapleyValue(contrast.name, value.small, value.points, value.ci95, 100 * mean(here), away.ci95)
            for contrast, here, value, away in zip(
                ladder.contrasts, own, known[: len(own)], known[len(own) :], strict=True
            )
        ),
        total=100 * mean(total),
    )


def _differences(trials: Trials, before: str, after: str, questions: Sequence[str]) -> list[float]:
    return [new - old for old, new in zip(*(trials.means(label, questions) for label in (before, after)), strict=True)]


def _levels(ladder: Ladder) -> tuple[list[str], list[str]]:
    """The labels along the chain, with the prompt and without it."""
    chain: list[ArmKind] = [kind for kind in ladder.arms if kind not in ("none", "scaffold")]
    prompted = [ladder.arms["scaffold"], *(ladder.arms[kind] for kind in chain)]
    return prompted, [ladder.arms["none"], *(ladder.unprompted[kind] for kind in chain)]


def _weights(shares: Mapping[Subset, float], levels: int) -> Floats:
    """By level of the chain, first with the prompt (factor 0), then without it."""
    found = np.zeros(2 * levels)
    for at, share in shares.items():
        found[len(at - {0}) + (0 if 0 in at else levels)] = share
    return found


# Ladders over the trials of a store.


Test = tuple[str, str, str, tuple[str, ...]]
"""What a p-value is of: a model, two arms and the questions that count. The same test is one comparison, however often
it is shown."""


def waterfalls(
    summaries: Iterable[TrialSummary], ladders: Sequence[Ladder], *, seed: int = 0, resamples: int = RESAMPLES
) -> list[Waterfall]:
    """One for each model and ladder, by model name, then in the order of the ladders.

    A model that did not run a ladder's first or last arm, or none between, has none; of the others those that it did
    not run are merged as if the store lacked them. P-values are corrected (Holm) over all steps returned: contrasts,
    totals and bounds. The result depends on the summaries and the seed alone, not on their order.
    """
    by_model: dict[str, list[TrialSummary]] = defaultdict(list)
    for seen in summaries:
        by_model[seen.model].append(seen)
    found = []
    for model in sorted(by_model):
        labels = frozenset(seen.condition for seen in by_model[model])
        # A store of a million trials may have no ladder.
        if kept := [own for ladder in ladders if (own := ladder.among(labels)) is not None]:
            trials = Trials(by_model[model], Resampling(seed, resamples))
            found += [_waterfall(model, trials, ladder) for ladder in kept]
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
        contrasts=tuple(
            _step(contrast, *trials.compared(contrast.before, contrast.after, questions))
            for contrast in ladder.contrasts
        ),
        total=_step(Contrast("total", *ends), whole, flips),
        relative=whole.delta_relative,
        relative_ci95=whole.delta_relative_ci95,
        bounds=tuple(
            _step(Contrast(kind, ladder.below, label), *trials.compared(ladder.below, label, bounds[kind]))
            for kind, label in ladder.bounds.items()
        ),
        comparisons=0,
        shapley=shapley(trials, ladder),
        lacking=ladder.missing_unprompted if ladder.prompted else (),
    )
    over = [questions] * (len(found.contrasts) + 1) + list(bounds.values())
    return found, [(model, step.before, step.after, each) for step, each in zip(found.steps, over, strict=True)]


def _step(between: Contrast, found: Effect, flips: Chance) -> LadderStep:
    return LadderStep(
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
    contrasts = len(waterfall.contrasts)
    return replace(
        waterfall,
        contrasts=tuple(steps[:contrasts]),
        total=steps[contrasts],
        bounds=tuple(steps[contrasts + 1 :]),
        comparisons=comparisons,
    )


# Reads a store's ladders: what `compare --ladder` and the end of `run` share.


@dataclass(frozen=True, slots=True)
class Climbed:
    """Ended trials, and the ladders among their conditions. `left_out` counts ended trials of the store that the chosen
    run did not call for; `warning` says what makes the trials less alike than a comparison wants them, "" where nothing
    does."""

    summaries: tuple[TrialSummary, ...]
    ladders: tuple[Ladder, ...]
    left_out: int
    warning: str

    def waterfalls(self, *, seed: int = 0) -> list[Waterfall]:
        return waterfalls(self.summaries, self.ladders, seed=seed)


def read_ladders(
    path: Path,
    *,
    run: str = "latest",
    scorer: str | None = None,
    models: Sequence[str] = (),
    toolsets: Sequence[str] = (),
) -> Climbed:
    """The ladders of the trials that one run called for (`latest`, or the beginning of its id), or `all` that the store
    holds; of all models and toolsets, or of those that are named. Raises InputError where there is none, and says what
    a ladder wants; StoreError."""
    with Store(path) as store, store.at_one_moment():
        trials = paired(store, run=run, scorer=scorer)
        conditions = store.conditions_of(trials.summaries)
    found = ladders(conditions)
    climbed = _climbed(trials.summaries, found)
    if not climbed:
        _refuse_mistyped(trials.summaries, models, toolsets)
        raise _without_ladder(path, found, conditions)
    _require_named("--model", models, climbed)
    kept = [seen for seen in trials.summaries if not models or seen.model in models]
    chosen = {name for model in models or climbed for name in climbed[model]}
    _require_named("--toolset", toolsets, chosen)
    chosen &= set(toolsets or chosen)
    return Climbed(
        tuple(kept),
        tuple(ladder for ladder in found if ladder.toolset in chosen),
        trials.left_out,
        trials.warning,
    )


def waterfalls_of(path: Path, summaries: Iterable[TrialSummary]) -> list[Waterfall]:
    """The waterfalls of summaries of a store, the same that `compare --ladder` shows."""
    seen = list(summaries)
    with Store(path) as store:
        return waterfalls(seen, ladders(store.conditions_of(seen)))


def _climbed(summaries: Iterable[TrialSummary], found: Sequence[Ladder]) -> dict[str, list[str]]:
    """The toolsets of each model that has a ladder."""
    run: dict[str, set[str]] = defaultdict(set)
    for seen in summaries:
        run[seen.model].add(seen.condition)
    climbed = {
        model: [ladder.toolset for ladder in found if ladder.among(labels) is not None]
        for model, labels in sorted(run.items())
    }
    return {model: toolsets for model, toolsets in climbed.items() if toolsets}


def _require_named(option: str, names: Sequence[str], there: Iterable[str]) -> None:
    known = sorted(there)
    for name in set(names) - set(known):
        raise InputError(
            f"{option}: there is no ladder of {_shown(name)!r}",
            hint=f"Those that are there: {', '.join(map(_shown, known))}.",
            code="no_ladder",
        )


def _refuse_mistyped(seen: Sequence[TrialSummary], models: Sequence[str], toolsets: Sequence[str]) -> None:
    """A name that is none is no ladder that is missing, unless no trial has ended at all."""
    if seen:
        for name in models:
            require_ended("--model", "model", name, {each.model for each in seen})
        for name in toolsets:
            require_ended("--toolset", "condition", name, {each.condition for each in seen})


def _without_ladder(path: Path, found: Sequence[Ladder], conditions: Mapping[str, Condition]) -> InputError:
    parted = next((ladder for ladder in found if ladder.parted), None)
    if parted is not None:
        ends = " and ".join(map(_shown, (parted.arms["none"], parted.toolset)))
        return InputError(
            f"No ladder is complete: no model has finished trials under both of its ends and an arm between: {ends}",
            hint="Run the plan again: it does what is missing. Trials of earlier runs are read with --run all.",
            code="no_ladder",
        )
    tooled = {label: condition for label, condition in conditions.items() if has_ladder(condition)}
    if not tooled:
        there = ", ".join(map(_shown, conditions)) or "no trial has ended"
        return InputError(
            f"There is no ladder in {path}: no condition has tools that the model may call ({there})",
            hint='Write ladder = ["python"] into the plan (or "search", or tools of your own), and run it.',
            code="no_ladder",
        )
    label, real = next(iter(tooled.items()))
    why = f"its first arm is missing, a condition without prompt and tools{_of_another_budget(real, conditions)}"
    if found:
        label = found[0].toolset
        why = f"no arm is between {_shown(found[0].arms['none'])} and {_shown(label)} to take its effect apart"
    return InputError(
        f"There is no ladder of {_shown(label)} in {path}: {why}",
        hint=f'Write ladder = ["{_shown(label)}"] into the plan (a condition of your own as its table), and run it: it'
        " adds all arms, and what the store holds is not run again.",
        code="no_ladder",
    )


def _of_another_budget(real: Condition, conditions: Mapping[str, Condition]) -> str:
    unprompted = next((label for label, each in conditions.items() if each.without_tools and not each.prompt), None)
    if unprompted is None:
        return ""
    differing = [name for name, limit in real.budget if limit != getattr(conditions[unprompted].budget, name)]
    return f" and with the same budget ({_shown(unprompted)} differs in {', '.join(differing) or 'more than these'})"


def _shown(label: str) -> str:
    return one_line(label, max_chars=80)
