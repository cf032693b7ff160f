"""What a replay asks for, the trial that it continues, and the trials that it calls for; refused before opening."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Literal

from toolablate.agents import Start, require_capabilities, start_before
from toolablate.agents.session import is_of_tool
from toolablate.analysis.attribution.belief import belief_steps
from toolablate.experiments.environment.environment import fingerprint_of
from toolablate.experiments.environment.web import Tell, silent
from toolablate.experiments.plans.plan import Design, Plan, PlannedTrial, find_modules_beside, load_plan, read_plan
from toolablate.experiments.plans.written import plan_content
from toolablate.experiments.replay.changes import changed_start, counterfactual, refuse_unfit
from toolablate.experiments.scoring import Scorers, is_judged, judges_for
from toolablate.tools import open_interventions
from toolablate.tools.interventions import Call
from toolablate.tools.interventions.intervention import CallScope
from toolablate.traces.errors import InputError
from toolablate.traces.records import (
    Again,
    AgentModel,
    Answer,
    AnswerNow,
    Condition,
    Drop,
    Event,
    IgnoreTools,
    InterventionUse,
    Model,
    ModelCall,
    Question,
    ReplayChange,
    ReplayPurpose,
    Rerun,
    Resumption,
    Swap,
    ToolCall,
    ToolSpec,
    Trace,
    Trial,
)
from toolablate.traces.store import Store

Content = Literal["null", "placebo", "gold", "adversarial"]
"""What a tool call's result can be swapped for, by the name of a text that is still to be found."""


@dataclass(frozen=True, slots=True)
class ReplayRequest:
    """`repeats` trials that go on from an event of another one, with one thing changed. `purposes` says what
    attribution needs them for; where it is empty, as for replays that a user asked for, it follows from the change."""

    trial: str
    event: int
    change: ReplayChange | Content = field(default_factory=Again)
    repeats: int = 1
    purposes: tuple[ReplayPurpose, ...] = ()


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why the request at `place` cannot be replayed."""

    place: int
    error: InputError


class RefusedReplaysError(InputError):
    """Some of the requests cannot be replayed; `refusals` says which, and why, in their order."""

    def __init__(self, requests: Mapping[int, ReplayRequest], refusals: Sequence[Refusal]) -> None:
        self.refusals = tuple(refusals)
        first = self.refusals[0]
        request, error = requests[first.place], first.error
        more = f" ({len(refusals) - 1:,} more are refused)" if len(refusals) > 1 else ""
        super().__init__(
            f"trial {request.trial[:12]}, event {request.event}: {error.message}{more}",
            hint=error.hint,
            code=error.code,
        )


# A trial that is forked, with what its digests stand for, and the plan that it was run by.


_REMEDY = "name the plan where it lies now: --plan PLAN"


@contextmanager
def files_that_may_have_moved() -> Iterator[None]:
    """Paths of a plan that a store has kept are taken from where the store is."""
    try:
        yield
    except InputError as error:
        if error.hint:
            raise
        raise InputError(error.message, hint=_REMEDY, code=error.code) from None


@dataclass(frozen=True, slots=True)
class Parent:
    """`conversation` is the whole of it; `origin` is the trial of a plan that it goes back to, `arm` the condition of
    that. `grading_usd` is what the plan's judges took for its answer, in US dollars, None where that is not known."""

    trial: Trial
    attempt: int
    question: Question
    model: Model
    condition: Condition
    conversation: tuple[Event, ...]
    origin: Trial
    arm: Condition
    grading_usd: float | None = 0.0

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools as the model was told of them; the models of an agent are told of different ones."""
        told = [each.request.tools for each in self.conversation if isinstance(each, ModelCall)]
        specs = {spec.name: spec for offered in reversed(told) for spec in offered}
        if isinstance(self.model, AgentModel):
            # Its models need not say what they are bound to.
            called = {each.call.name for each in self.conversation if isinstance(each, ToolCall) and is_of_tool(each)}
            blank = {name: ToolSpec(name=name, description="", parameters={}) for name in sorted(called)}
            specs = {**blank, **specs}
        return tuple(specs.values())


class Parents:
    """Reads trials and their plans, each once. `path` is where the plan lies now, None for the text that the store
    keeps of each; `plans` are those that were read from such texts before."""

    def __init__(self, store: Store, path: Path | None, plans: dict[str, Plan] | None = None) -> None:
        self._store = store
        self._path = path
        self._plans = {} if plans is None else plans
        self._parents: dict[str, tuple[Parent, Plan]] = {}
        self._question = cache(store.question)
        self._model = cache(store.model)
        self._condition = cache(store.condition)

    def take(self, trial: str) -> tuple[Parent, Plan]:
        """The current trace of a trial, named by the beginning of its id, and the plan of the run that called for it.
        The model is as the plan has it. Raises InputError where there is no such trial, where the plan cannot be
        read, and where it has no such model."""
        if trial not in self._parents:
            trace = self._store.trace(trial)
            identity = trace.trial.id
            if identity not in self._parents:
                self._parents[identity] = self._read(trace)
            self._parents[trial] = self._parents[identity]
        return self._parents[trial]

    def _read(self, trace: Trace) -> tuple[Parent, Plan]:
        trial = trace.trial
        condition, origin = self._condition(trial.condition), trial
        arm = condition
        while arm.resumed is not None:
            origin = self._store.trace(arm.resumed.trial, attempt=arm.resumed.attempt).trial
            arm = self._condition(origin.condition)
        parent = Parent(
            trial=trial,
            attempt=trace.attempt,
            question=self._question(trial.question),
            model=self._model(trial.model),
            condition=condition,
            conversation=trace.events if condition.resumed is None else self._store.conversation(trial.id),
            origin=origin,
            arm=arm,
        )
        plan = self._plan_of(origin)
        grading = self._grading(parent, plan)
        return replace(parent, model=_model_in(plan, parent.model), grading_usd=grading), plan

    def _grading(self, parent: Parent, plan: Plan) -> float | None:
        if not is_judged(plan.questions, parent.question):
            return 0.0
        judges = {judge.name for judge in judges_for(plan, parent.question)}
        made = [score for score in self._store.scores(parent.trial.id) if score.scorer in judges]
        # What one mapper extracted is in the scores of all judges, and paid for once.
        mapped = {score.mapping.identity(): score.mapping for score in made if score.mapping}
        asked = [*mapped.values(), *(score.judgement for score in made if score.judgement)]
        costs = [call.cost_usd for judgement in asked for call in judgement.calls]
        known = [cost for cost in costs if cost is not None]
        return sum(known) if len(made) == len(judges) and len(known) == len(costs) else None

    def _plan_of(self, origin: Trial) -> Plan:
        if self._path is not None:
            return self._moved(self._path)
        run = self._store.run_of(origin.id)
        if run is None:
            raise InputError(f"{self._store.path} has no run that planned this trial", hint=_REMEDY, code="no_plan")
        if run.imported:
            raise InputError(
                f"trial {origin.id[:10]} was imported from a log: its model cannot be asked again",
                hint="Only trials that a plan of toolablate ran can be forked.",
                code="imported",
            )
        if run.plan not in self._plans:
            self._plans[run.plan] = self._read_kept(run.plan)
        return self._plans[run.plan]

    @staticmethod
    @cache
    def _moved(path: Path) -> Plan:
        find_modules_beside(path)
        return load_plan(path)[0]

    def _read_kept(self, text: str) -> Plan:
        refused: InputError | None = None
        for path in _places(text, self._store.path):
            find_modules_beside(path)
            try:
                return read_plan(text, path)
            except InputError as error:
                refused = refused or error
        assert refused is not None
        raise InputError(
            f"the plan of this trial cannot be read again: {refused.message}", hint=_REMEDY, code="no_plan"
        )


def _model_in(plan: Plan, recorded: Model) -> Model:
    for model in plan.models:
        if model.identity() == recorded.identity():
            return model
    raise InputError(
        f"--plan: it has no model {recorded.name!r} with the parameters of this trial",
        hint=f"the store holds what that was; {_REMEDY}",
        code="other_model",
    )


def _places(text: str, store: Path) -> Iterator[Path]:
    """Where the plan may lie, to which its paths are relative. A plan says where its store is, so the store's own place
    tells the plan's; else it is looked for in the working directory."""
    content = plan_content(text, store)
    name = str(content.get("name", store.stem))
    named, there = Path(str(content.get("store", f"runs/{name}.sqlite"))), store.resolve()
    if not named.is_absolute() and there.parts[-len(named.parts) :] == named.parts:
        yield there.parents[len(named.parts) - 1] / f"{name}.toml"
    yield Path.cwd() / f"{name}.toml"


# Interventions before and after the event at which a trial is forked.


@dataclass(slots=True)
class Stage:
    """`over` is set once all that was recorded has been made again."""

    over: bool = False


class StagedScope(CallScope):
    """The calls of a scope that are made `before` the stage is over, or `after` it. One that is new after it counts
    only calls from then on."""

    def __init__(self, inner: CallScope, stage: Stage, *, before: bool, after: bool) -> None:
        super().__init__()
        self._inner = inner
        self._stage = stage
        self._before = before
        self._after = after

    def holds(self, call: Call) -> bool:
        if not (self._before or self._stage.over):
            return False
        return self._inner.holds(call) and (self._after if self._stage.over else self._before)


def joined(before: Sequence[InterventionUse], after: Sequence[InterventionUse]) -> tuple[InterventionUse, ...]:
    """Those of both stages in their order; a new one is a substitute, and stands nearest to the tool."""
    return (*(use for use in after if use not in before), *before)


# From replay requests to forked trials: read and refused before anything is opened.


@dataclass(frozen=True, slots=True)
class ForkedTrial:
    """The trials of one request, which is at `place` among all. `resumption` and `trials` are missing while the
    text of its swap has not been found."""

    place: int
    request: ReplayRequest
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
            return self.request.repeats
        return sum(each.trial.id not in finished for each in self.trials)


@dataclass(slots=True)
class Group:
    """Replays of trials of one plan, `whole` as it was read; `plan` has those of its models alone that are asked."""

    whole: Plan
    plan: Plan
    forked: list[ForkedTrial]
    fingerprint: dict[str, str] = field(default_factory=dict)

    def scorers(self, warn: Tell) -> Scorers:
        return Scorers(self.plan, warn)

    def design(self) -> Design:
        """As a plan's trials are: so they run, are scored and counted as those are. What needs no kernel comes first,
        since it waits for none."""
        trials = {
            each.trial.id: each
            for forked in sorted(self.forked, key=lambda forked: forked.calls)
            for each in forked.trials
        }
        entries = tuple(trials.values())
        questions = {each.trial.question: each.question for each in entries}
        models = {each.trial.model: each.model for each in entries}
        conditions = {each.trial.condition: each.condition for each in entries}
        return Design(tuple(questions.values()), tuple(models.values()), tuple(conditions.values()), entries)


def fork_trials(
    store: Store, requests: Sequence[ReplayRequest], path: Path | None, plans: dict[str, Plan] | None = None
) -> list[Group]:
    """`path` and `plans` are as of `Parents`. Raises RefusedReplaysError where any of them cannot be made, InputError
    where their plan's environment is no more that of the store."""
    parents, groups, refusals = Parents(store, path, plans), dict[int, Group](), list[Refusal]()
    for place, each in enumerate(requests):
        try:
            parent, plan = parents.take(each.trial)
            forked = _forked(store, place, each, parent)
        except InputError as error:
            refusals.append(Refusal(place, error))
        else:
            groups.setdefault(id(plan), Group(plan, plan, [])).forked.append(forked)
    if refusals:
        raise RefusedReplaysError(dict(enumerate(requests)), refusals)
    for group in groups.values():
        _complete(group, store)
    return list(groups.values())


def settled(forked: ForkedTrial, change: ReplayChange) -> ForkedTrial:
    """With its trials, once it is known what is changed. Raises InputError where the model cannot be asked so."""
    parent, trial = forked.parent, forked.parent.trial
    resumption = Resumption(
        trial=trial.id,
        attempt=parent.attempt,
        repeat=parent.origin.repeat,
        event=forked.request.event,
        change=change,
        purposes=forked.request.purposes or _purposes(change, forked.request.event, parent.conversation),
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
        for repeat in range(forked.request.repeats)
    )
    return replace(forked, resumption=resumption, trials=trials)


def _purposes(change: ReplayChange, event: int, conversation: Sequence[Event]) -> tuple[ReplayPurpose, ...]:
    """What a replay that a user asked for serves beside: the same as one that attribution plans, so that neither is run
    twice."""
    steps, at = belief_steps(conversation), conversation[event] if event < len(conversation) else None
    match change:
        case AnswerNow() if event in steps:
            return (ReplayPurpose(kind="early_answer", step=steps.index(event)),)
        case AnswerNow() if isinstance(at, Answer):
            return (ReplayPurpose(kind="answer_re_ask"),)
        case IgnoreTools() if steps and event == steps[-1]:
            return (ReplayPurpose(kind="ignore_tools"),)
        case Again() | Swap(content="null") if isinstance(at, ToolCall) and at.status != "invalid" and is_of_tool(at):
            return (ReplayPurpose(kind="pivotal", event=event, kept=isinstance(change, Again)),)
        case _:
            return ()


def _forked(store: Store, place: int, request: ReplayRequest, parent: Parent) -> ForkedTrial:
    change = request.change
    if isinstance(change, str):
        change = _swapped_before(store.resumptions(parent.trial.id).values(), request, parent) or change
    tried = Swap(content=change, text="") if isinstance(change, str) else change
    start = changed_start(parent.conversation, request.event, tried, parent.condition)
    _refuse_changed_turn(parent, request.event)
    forked = ForkedTrial(place, request, parent, start)
    return forked if isinstance(change, str) else settled(forked, change)


def _swapped_before(conditions: Iterable[Condition], request: ReplayRequest, parent: Parent) -> Swap | None:
    """The same swap as it was made before: its text need not be found again."""
    for condition in conditions:
        resumed = condition.resumed
        if resumed is None or (resumed.attempt, resumed.event) != (parent.attempt, request.event):
            continue
        if isinstance(resumed.change, Swap) and resumed.change.content == request.change:
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
    parents = {each.parent.trial.id: each.parent for each in group.forked}.values()
    models = {parent.model.name: parent.model for parent in parents}
    group.plan = group.plan.model_copy(update={"store": str(store.path), "models": tuple(models.values())})
    conditions = {parent.trial.condition: parent.condition for parent in parents}
    with files_that_may_have_moved():
        group.fingerprint = _fingerprint(group.plan, tuple(conditions.values()))
    store.require_same_environment(group.fingerprint)
    group.scorers(silent).names({parent.trial.question: parent.question for parent in parents}.values())


def _fingerprint(plan: Plan, conditions: Sequence[Condition]) -> dict[str, str]:
    """The parts that these conditions stand on, as all of the plan together do: what the placebo sources are depends on
    every placebo of a run."""
    parts = fingerprint_of(plan, conditions)
    if "placebo" not in parts:
        return parts
    whole = fingerprint_of(plan, (*plan.resolved_conditions(), *conditions))
    return {part: whole[part] for part in parts}
