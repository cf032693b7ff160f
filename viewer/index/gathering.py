"""What is to stand in the index, worked out before the index is held for writing."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from toolablate.traces.store import Observation, Outline, Outlines, Store
from toolablate.viewer.index.arms import arm_places, arm_rows
from toolablate.viewer.index.figures import (
    Place,
    QuestionFigures,
    Standing,
    by_question,
    figures,
    standings,
)
from toolablate.viewer.index.records import ArmCounts


@dataclass(frozen=True, slots=True)
class Gathered:
    """`store` is the id of its first run, which copies share and no other store has. `outlines` are planned trials by
    their ids; `groups`, `standings` and `figures` are of questions, by name. `models` and `conditions` are labels in
    the order in which they are shown; `unequipped` the ids of conditions without tools."""

    store: str
    baseline: str
    models: tuple[str, ...]
    conditions: tuple[str, ...]
    observations: Sequence[Observation]
    outlines: Mapping[str, Outline]
    groups: Mapping[str, Sequence[Observation]]
    standings: Mapping[str, Mapping[Place, Standing]]
    figures: Mapping[str, QuestionFigures]
    arms: Sequence[ArmCounts]
    unequipped: frozenset[str]


def gather(
    store: Store,
    outlines: Outlines,
    observations: Sequence[Observation],
    *,
    baseline: str,
    models: Sequence[str],
    conditions: Sequence[str],
    run: str | None,
) -> Gathered:
    """Raises InputError for a run that is not there, StoreError."""
    planned = {outline.trial: outline for outline in outlines.trials(run=run)}
    places = arm_places(planned, observations)
    numbers = Counter((outline.model, outline.condition) for outline in planned.values())
    groups = by_question(observations)
    arms = {name: standings(trials, baseline) for name, trials in groups.items()}
    runs = store.runs()
    return Gathered(
        store=runs[0].id if runs else "",
        baseline=baseline,
        models=tuple(dict.fromkeys((*models, *(model for model, _ in places.values())))),
        conditions=tuple(dict.fromkeys((*conditions, *(condition for _, condition in places.values())))),
        observations=observations,
        outlines=planned,
        groups=groups,
        standings=arms,
        figures={name: figures(trials, arms[name], baseline) for name, trials in groups.items()},
        arms=arm_rows(store.counts(), observations, {places[arm]: number for arm, number in numbers.items()}, arms),
        unequipped=frozenset(condition.identity() for condition in store.conditions() if not condition.tools),
    )
