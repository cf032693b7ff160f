"""Reads a store's ladders: what `ladder` and the end of `run` share."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from toolablate.analysis import Observation
from toolablate.analysis.comparing.names import require_ended
from toolablate.analysis.comparing.paired import paired
from toolablate.analysis.ladder import Ladder, Waterfall, has_ladder, ladders, waterfalls
from toolablate.traces.errors import InputError
from toolablate.traces.plain import one_line
from toolablate.traces.records import Condition
from toolablate.traces.store import Store


@dataclass(frozen=True, slots=True)
class Climbed:
    """Ended trials, and the ladders among their conditions. `left_out` counts ended trials of the store that the chosen
    run did not call for; `warning` says what makes the trials less alike than a comparison wants them, "" where nothing
    does."""

    observations: tuple[Observation, ...]
    ladders: tuple[Ladder, ...]
    left_out: int
    warning: str

    def waterfalls(self, *, seed: int = 0) -> list[Waterfall]:
        return waterfalls(self.observations, self.ladders, seed=seed)


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
        conditions = store.conditions_of(trials.observations)
    found = ladders(conditions)
    climbed = _climbed(trials.observations, found)
    if not climbed:
        _refuse_mistyped(trials.observations, models, toolsets)
        raise _without_ladder(path, found, conditions)
    _require_named("--model", models, climbed)
    kept = [seen for seen in trials.observations if not models or seen.model in models]
    chosen = {name for model in models or climbed for name in climbed[model]}
    _require_named("--toolset", toolsets, chosen)
    chosen &= set(toolsets or chosen)
    return Climbed(
        tuple(kept),
        tuple(ladder for ladder in found if ladder.toolset in chosen),
        trials.left_out,
        trials.warning,
    )


def waterfalls_of(path: Path, observations: Iterable[Observation]) -> list[Waterfall]:
    """The waterfalls of observations of a store, the same that `ladder` shows."""
    seen = list(observations)
    with Store(path) as store:
        return waterfalls(seen, ladders(store.conditions_of(seen)))


def _climbed(observations: Iterable[Observation], found: Sequence[Ladder]) -> dict[str, list[str]]:
    """The toolsets of each model that has a ladder."""
    run: dict[str, set[str]] = defaultdict(set)
    for seen in observations:
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


def _refuse_mistyped(seen: Sequence[Observation], models: Sequence[str], toolsets: Sequence[str]) -> None:
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
            f"No model has ended trials under both ends of a ladder, and an arm between: {ends}",
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
    bare = next((label for label, each in conditions.items() if not each.tools and not each.prompt), None)
    if bare is None:
        return ""
    differing = [name for name, limit in real.budget if limit != getattr(conditions[bare].budget, name)]
    return f" and with the same budget ({_shown(bare)} differs in {', '.join(differing) or 'more than these'})"


def _shown(label: str) -> str:
    return one_line(label, max_chars=80)
