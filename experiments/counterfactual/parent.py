"""A trial that is taken up again, with what its digests stand for, and the plan that it was run by."""

import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from toolablate.experiments.plans.plan import Plan, find_modules_beside, load_plan, read_plan
from toolablate.experiments.scoring.judges import is_judged, judges_of
from toolablate.traces.errors import InputError
from toolablate.traces.records import Condition, Event, Model, ModelCall, Question, ToolSpec, Trace, Trial
from toolablate.traces.store import Store

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
        """The tools as the model was told of them."""
        return next((each.request.tools for each in self.conversation if isinstance(each, ModelCall)), ())


class Parents:
    """Reads trials and their plans, each once. `path` is where the plan lies now, None for the text that the store
    keeps of each."""

    def __init__(self, store: Store, path: Path | None) -> None:
        self._store = store
        self._path = path
        self._parents: dict[str, tuple[Parent, Plan]] = {}
        self._question = cache(store.question)
        self._model = cache(store.model)
        self._condition = cache(store.condition)
        self._kept = cache(self._read_kept)

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
        judges = {judge.name for judge in judges_of(plan)}
        made = [score.judgement for score in self._store.scores(parent.trial.id) if score.scorer in judges]
        costs = [call.cost_usd for judgement in made if judgement for call in judgement.calls]
        known = [cost for cost in costs if cost is not None]
        return sum(known) if len(made) == len(judges) and len(known) == len(costs) else None

    def _plan_of(self, origin: Trial) -> Plan:
        if self._path is not None:
            return self._moved(self._path)
        run = self._store.run_of(origin.id)
        if run is None:
            raise InputError(
                f"{self._store.path} holds no run that called for this trial", hint=_REMEDY, code="no_plan"
            )
        if run.imported:
            raise InputError(
                f"trial {origin.id[:10]} was imported from a log: its model cannot be asked again",
                hint="Only trials that a plan of toolablate ran can be taken up again.",
                code="imported",
            )
        return self._kept(run.plan)

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
    content = tomllib.loads(text)
    name = str(content.get("name", store.stem))
    named, there = Path(str(content.get("store", f"runs/{name}.sqlite"))), store.resolve()
    if not named.is_absolute() and there.parts[-len(named.parts) :] == named.parts:
        yield there.parents[len(named.parts) - 1] / f"{name}.toml"
    yield Path.cwd() / f"{name}.toml"
