"""Reads a store's ladders: what `ladder` and the end of `run` share."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from rich.console import RenderableType

from toolablate.experiments.comparing import observe
from toolablate.tools.plain import one_line
from toolablate.traces.analysis import Observation
from toolablate.traces.analysis.ladder import Ladder, Waterfall, has_ladder, ladders, waterfalls
from toolablate.traces.errors import InputError
from toolablate.traces.records import Condition
from toolablate.traces.store import Store
from toolablate.traces.terminal import waterfalls_view


@dataclass(frozen=True, slots=True)
class Climbed:
    """Ended trials, and the ladders among their conditions. `left_out` counts ended trials of the store that the chosen
    run did not call for."""

    observations: tuple[Observation, ...]
    ladders: tuple[Ladder, ...]
    left_out: int

    def waterfalls(self, *, seed: int = 0) -> list[Waterfall]:
        return waterfalls(self.observations, self.ladders, seed=seed)


def read_ladders(path: Path, *, run: str = "latest", scorer: str | None = None) -> Climbed:
    """The ladders of the trials that one run called for (`latest`, or the beginning of its id), or `all` that the store
    holds. Raises InputError where there is none, and says what a ladder wants; StoreError."""
    with Store(path) as store, store.at_one_moment():
        observations = observe(store, run=run, scorer=scorer)
        conditions = store.conditions_of(observations)
        left_out = store.ended_trials() - len(observations)
    climbed = Climbed(tuple(observations), tuple(ladders(conditions)), left_out)
    _require_ladder(path, climbed, conditions)
    return climbed


def ladder_view(path: Path, observations: Iterable[Observation]) -> RenderableType | None:
    """The waterfalls of observations of a store; None where no ladder has an arm that only ladders have."""
    seen = list(observations)
    with Store(path) as store:
        conditions = store.conditions_of(seen)
    found = [ladder for ladder in ladders(conditions) if set(ladder.arms) - {"none", "scaffold", "real"}]
    return waterfalls_view(waterfalls(seen, found)) if found else None


def _require_ladder(path: Path, climbed: Climbed, conditions: Mapping[str, Condition]) -> None:
    run = {(seen.model, seen.condition) for seen in climbed.observations}
    models = {model for model, _ in run}
    if any({(model, each.arms["none"]), (model, each.toolset)} <= run for model in models for each in climbed.ladders):
        return
    if climbed.ladders:
        ends = " and ".join(map(_shown, (climbed.ladders[0].arms["none"], climbed.ladders[0].toolset)))
        raise InputError(
            f"No model has ended trials under both ends of a ladder: {ends}",
            hint="Run the plan again: it does what is missing. Trials of earlier runs are read with --run all.",
            code="no_ladder",
        )
    tooled = {label: condition for label, condition in conditions.items() if has_ladder(condition)}
    if not tooled:
        there = ", ".join(map(_shown, conditions)) or "no trial has ended"
        raise InputError(
            f"There is no ladder in {path}: no condition has tools that the model may call ({there})",
            hint='Write ladder = ["python"] into the plan (or "search", or tools of your own), and run it.',
            code="no_ladder",
        )
    label, real = next(iter(tooled.items()))
    raise InputError(
        f"There is no ladder of {_shown(label)} in {path}: its first arm is missing, a condition without prompt and"
        f" tools{_of_another_budget(real, conditions)}",
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
    return one_line(label, 80)
