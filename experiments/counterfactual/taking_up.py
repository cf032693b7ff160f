"""From the replays that are wanted to the trials that they call for: read and refused before anything is opened."""

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from pathlib import Path

from toolablate.agents import Start, require_capabilities, start_before
from toolablate.experiments.counterfactual.changing import changed_start, counterfactual
from toolablate.experiments.counterfactual.parent import Parent, Parents, files_that_may_have_moved
from toolablate.experiments.counterfactual.rerunning import refuse_unfit
from toolablate.experiments.counterfactual.staging import joined
from toolablate.experiments.counterfactual.wanted import Refusal, RefusedError, Wanted
from toolablate.experiments.plans.plan import Plan
from toolablate.experiments.plans.trials import Design, PlannedTrial
from toolablate.experiments.scoring.scoring import Scorers
from toolablate.experiments.world.world import world_of
from toolablate.tools import open_interventions
from toolablate.traces.errors import InputError
from toolablate.traces.records import Condition, Drop, ModelCall, ReplayChange, Rerun, Resumption, Swap, Trial
from toolablate.traces.store import Store


@dataclass(frozen=True, slots=True)
class TakenUp:
    """One of the replays that are wanted, by its `place` among them. `resumption` and `trials` are missing while the
    text of its swap has not been found."""

    place: int
    wanted: Wanted
    parent: Parent
    start: Start
    resumption: Resumption | None = None
    trials: tuple[PlannedTrial, ...] = ()

    @property
    def calls(self) -> bool:
        """Whether it may still call a tool."""
        return self.start.node in ("ask", "act")

    @property
    def condition(self) -> Condition:
        return self.trials[0].condition if self.trials else self.parent.condition

    def missing(self, finished: AbstractSet[str]) -> int:
        if not self.trials:
            return self.wanted.repeats
        return sum(each.trial.id not in finished for each in self.trials)


@dataclass(slots=True)
class Group:
    """Replays of trials of one plan, which has those of its models alone that are asked."""

    plan: Plan
    taken: list[TakenUp]
    world: dict[str, str] = field(default_factory=dict)

    def scorers(self) -> Scorers:
        return Scorers(self.plan)

    def design(self) -> Design:
        """As a plan's trials are: so they run, are scored and counted as those are. What needs no kernel comes first,
        since it waits for none."""
        trials = {
            each.trial.id: each for taken in sorted(self.taken, key=lambda taken: taken.calls) for each in taken.trials
        }
        entries = tuple(trials.values())
        questions = {each.trial.question: each.question for each in entries}
        models = {each.trial.model: each.model for each in entries}
        conditions = {each.trial.condition: each.condition for each in entries}
        return Design(tuple(questions.values()), tuple(models.values()), tuple(conditions.values()), entries)


def take_up(store: Store, wanted: Sequence[Wanted], path: Path | None) -> list[Group]:
    """Raises RefusedError where any of them cannot be made, InputError where their plan's world is no more that of the
    store."""
    parents, groups, refusals = Parents(store, path), dict[int, Group](), list[Refusal]()
    for place, each in enumerate(wanted):
        try:
            parent, plan = parents.take(each.trial)
            taken = _taken(store, place, each, parent)
        except InputError as error:
            refusals.append(Refusal(place, error))
        else:
            groups.setdefault(id(plan), Group(plan, [])).taken.append(taken)
    if refusals:
        raise RefusedError(dict(enumerate(wanted)), refusals)
    for group in groups.values():
        _complete(group, store)
    return list(groups.values())


def settled(taken: TakenUp, change: ReplayChange) -> TakenUp:
    """With its trials, once it is known what is changed. Raises InputError where the model cannot be asked so."""
    parent, trial = taken.parent, taken.parent.trial
    resumption = Resumption(
        trial=trial.id,
        attempt=parent.attempt,
        repeat=parent.origin.repeat,
        event=taken.wanted.event,
        change=change,
    )
    if isinstance(change, Rerun):
        refuse_unfit(change, parent.specs)
    condition = counterfactual(parent.condition, resumption, parent.conversation)
    open_interventions(joined(parent.condition.interventions, condition.interventions))
    require_capabilities(parent.model, condition)
    identity = condition.identity()
    trials = tuple(
        PlannedTrial(
            Trial(question=trial.question, model=trial.model, condition=identity, repeat=repeat),
            parent.question,
            parent.model,
            condition,
        )
        for repeat in range(taken.wanted.repeats)
    )
    return replace(taken, resumption=resumption, trials=trials)


def _taken(store: Store, place: int, wanted: Wanted, parent: Parent) -> TakenUp:
    change = wanted.change
    if isinstance(change, str):
        change = _swapped_before(store.resumptions(parent.trial.id).values(), wanted, parent) or change
    tried = Swap(content=change, text="") if isinstance(change, str) else change
    start = changed_start(parent.conversation, wanted.event, tried, parent.condition)
    _refuse_changed_turn(parent, wanted.event)
    taken = TakenUp(place, wanted, parent, start)
    return taken if isinstance(change, str) else settled(taken, change)


def _swapped_before(conditions: Iterable[Condition], wanted: Wanted, parent: Parent) -> Swap | None:
    """The same swap as it was made before: its text need not be found again."""
    for condition in conditions:
        resumed = condition.resumed
        if resumed is None or (resumed.attempt, resumed.event) != (parent.attempt, wanted.event):
            continue
        if isinstance(resumed.change, Swap) and resumed.change.content == wanted.change:
            return resumed.change
    return None


def _refuse_changed_turn(parent: Parent, event: int) -> None:
    """The reply whose calls an earlier replay went on with is another trial's, and has not what was changed."""
    resumed = parent.condition.resumed
    if resumed is None or not isinstance(resumed.change, Drop | Rerun):
        return
    if isinstance(resumed.change, Rerun) and not resumed.change.shown:
        return
    start = start_before(parent.conversation, event, parent.condition)
    if start.node == "act" and not any(isinstance(each, ModelCall) for each in start.before[resumed.event :]):
        what = "drops a call" if isinstance(resumed.change, Drop) else "shows other results"
        raise InputError(
            f"--from: event {event} is of the turn from which this trial {what}",
            hint=f"name the request that follows, or an event of trial {resumed.trial[:8]}",
            code="wrong_event",
        )


def _complete(group: Group, store: Store) -> None:
    """Raises InputError."""
    parents = {each.parent.trial.id: each.parent for each in group.taken}.values()
    models = {parent.model.name: parent.model for parent in parents}
    group.plan = group.plan.model_copy(update={"store": str(store.path), "models": tuple(models.values())})
    conditions = {parent.trial.condition: parent.condition for parent in parents}
    with files_that_may_have_moved():
        group.world = _world(group.plan, tuple(conditions.values()))
    store.require_same_world(group.world)
    group.scorers().names({parent.trial.question: parent.question for parent in parents}.values())


def _world(plan: Plan, conditions: Sequence[Condition]) -> dict[str, str]:
    """The parts that these conditions stand on, as all of the plan together do: what donors are depends on every
    placebo of a run."""
    parts = world_of(plan, conditions)
    if "donors" not in parts:
        return parts
    whole = world_of(plan, (*plan.resolved_conditions(), *conditions))
    return {part: whole[part] for part in parts}
