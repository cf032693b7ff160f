"""One trial as its page needs it, read from the store once for all its fragments."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from toolablate.analysis.attribution.evidence import Explanation
from toolablate.reports.html.cards import Card
from toolablate.reports.html.events import event_cards
from toolablate.traces.errors import InputError
from toolablate.traces.records import Condition, Event, ImportedModel, Model, Question, Resumption, Score, Trace
from toolablate.traces.store import Counterfactual, Store
from toolablate.viewer.index import TrialRow
from toolablate.viewer.view import View

REMEMBERED = 8


@dataclass(frozen=True, slots=True)
class Reading:
    """
    conversation  events of the trace, after those of its parents that it goes on from
    own           the number of its first own event
    attempts      how many there were, this one among them
    replays       what came of those that go on from it
    seconds       until the last event ended, of the whole conversation
    """

    trace: Trace
    conversation: tuple[Event, ...]
    own: int
    cards: tuple[Card, ...]
    question: Question
    model: Model
    condition: Condition
    scores: tuple[Score, ...]
    attempts: int
    replays: tuple[Counterfactual, ...]

    @property
    def resumed(self) -> Resumption | None:
        return self.condition.resumed

    @property
    def imported(self) -> bool:
        return isinstance(self.model, ImportedModel)

    @property
    def seconds(self) -> float:
        return max((event.at + event.seconds for event in self.conversation), default=0.0)


def read(view: View, trial: str, attempt: int | None) -> Reading:
    """Of a trial by its whole id. Raises InputError where there is no such trial or attempt, StoreError."""
    return _read(view.store, trial, attempt, view.index.version())


@lru_cache(maxsize=REMEMBERED)
def recorded(path: Path, trial: str, attempt: int | None, _version: int) -> tuple[Trace, Condition, tuple[Event, ...]]:
    """A trace, its condition, and the events of the trace after those of its parents that it goes on from: what takes
    longest to read, and pages of one trial and of two have in common. Raises InputError, StoreError."""
    with Store(path) as store, store.at_one_moment():
        trace = store.trace(trial, attempt=attempt)
        condition = store.condition(trace.trial.condition)
        # A trial of a plan is the whole of its conversation, and large ones take long to read.
        whole = trace.events if condition.resumed is None else store.conversation(trial, attempt=attempt)
    return trace, condition, whole


@lru_cache(maxsize=REMEMBERED)
def _read(path: Path, trial: str, attempt: int | None, _version: int) -> Reading:
    """`_version` is of the index: where it rose, the store may hold something else."""
    with Store(path) as store, store.at_one_moment():
        trace, condition, conversation = recorded(path, trial, attempt, _version)
        model = store.model(trace.trial.model)
        current = trace if attempt is None else store.trace(trial)
        return Reading(
            trace=trace,
            conversation=conversation,
            own=len(conversation) - len(trace.events),
            cards=event_cards(conversation, imported=isinstance(model, ImportedModel)),
            question=store.question(trace.trial.question),
            model=model,
            condition=condition,
            scores=store.scores(trial) if current.attempt == trace.attempt else (),
            attempts=max(current.attempt, trace.attempt),
            replays=_replays(store, trial, condition),
        )


def row_of(view: View, trial: str) -> TrialRow | None:
    """None for a replay, which is in no table."""
    try:
        return view.index.trial(trial)
    except InputError:
        return None


@lru_cache(maxsize=REMEMBERED)
def explained(view: View, trial: str, _version: int) -> Explanation | str | None:
    """Or why it cannot be explained, as where several scorers disagree about it."""
    try:
        return view.explain(trial)
    except InputError as error:
        return f"{error.message}. {error.hint}".strip()


def whole_id(view: View, beginning: str) -> str:
    """Raises InputError where no trial begins so, or several; StoreError."""
    with Store(view.store) as store:
        return store.find_trial(beginning)


def _replays(store: Store, trial: str, condition: Condition) -> tuple[Counterfactual, ...]:
    if condition.resumed is not None or not store.resumptions(trial):
        return ()
    found: Mapping[str, Sequence[Counterfactual]] = store.counterfactuals(scorers=store.scorers()[:1], trial=trial)
    return tuple(each for several in found.values() for each in several)
