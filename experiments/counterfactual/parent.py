"""A trial that is taken up again, with what its digests stand for, and the plan that it was run by."""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from toolablate.experiments.plan import Plan, find_modules_beside, load_plan, read_plan
from toolablate.traces.errors import InputError
from toolablate.traces.records import Condition, Event, Model, ModelCall, Question, ToolSpec, Trace, Trial
from toolablate.traces.store import Store

_REMEDY = "name the plan where it lies now: --plan PLAN"


@dataclass(frozen=True, slots=True)
class Parent:
    """`conversation` is the whole of it; `origin` is the trial of a plan that it goes back to, `arm` the condition of
    that."""

    trace: Trace
    question: Question
    model: Model
    condition: Condition
    conversation: tuple[Event, ...]
    origin: Trial
    arm: Condition

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools as the model was told of them."""
        return next((each.request.tools for each in self.conversation if isinstance(each, ModelCall)), ())


def read_parent(store: Store, trial: str) -> Parent:
    """The current trace of a trial, named by the beginning of its id. Raises InputError where there is none."""
    trace = store.trace(trial)
    condition, origin = store.condition(trace.trial.condition), trace.trial
    arm = condition
    while arm.resumed is not None:
        origin = store.trace(arm.resumed.trial, attempt=arm.resumed.attempt).trial
        arm = store.condition(origin.condition)
    return Parent(
        trace=trace,
        question=store.question(trace.trial.question),
        model=store.model(trace.trial.model),
        condition=condition,
        conversation=store.conversation(trace.trial.id),
        origin=origin,
        arm=arm,
    )


def plan_of(store: Store, parent: Parent, path: Path | None) -> Plan:
    """The plan of the run that called for the trial, with its model alone: as it lies at `path`, or by the text that
    the run kept. Raises InputError where it cannot be read, and where it has no such model."""
    plan = _kept(store, parent) if path is None else _at(path)
    same = [model for model in plan.models if model.identity() == parent.model.identity()]
    if not same:
        raise InputError(
            f"--plan: it has no model {parent.model.name!r} with the parameters of this trial",
            hint=f"the store holds what that was; {_REMEDY}",
            code="other_model",
        )
    return plan.model_copy(update={"store": str(store.path), "models": (same[0],)})


def _at(path: Path) -> Plan:
    find_modules_beside(path)
    return load_plan(path)[0]


def _kept(store: Store, parent: Parent) -> Plan:
    run = store.run_of(parent.origin.id)
    if run is None:
        raise InputError(f"{store.path} holds no run that called for this trial", hint=_REMEDY, code="no_plan")
    refused: InputError | None = None
    for path in _places(run.plan, store.path):
        find_modules_beside(path)
        try:
            return read_plan(run.plan, path)
        except InputError as error:
            refused = refused or error
    assert refused is not None
    raise InputError(f"the plan of this trial cannot be read again: {refused.message}", hint=_REMEDY, code="no_plan")


def _places(text: str, store: Path) -> Iterator[Path]:
    """Where the plan may lie, to which its paths are relative. A plan says where its store is, so the store's own place
    tells the plan's; else it is looked for in the working directory."""
    content = tomllib.loads(text)
    name = str(content.get("name", store.stem))
    named, there = Path(str(content.get("store", f"runs/{name}.sqlite"))), store.resolve()
    if not named.is_absolute() and there.parts[-len(named.parts) :] == named.parts:
        yield there.parents[len(named.parts) - 1] / f"{name}.toml"
    yield Path.cwd() / f"{name}.toml"
