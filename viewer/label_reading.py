"""The labels of a store, beside what the index says of their trials."""

from dataclasses import dataclass
from functools import lru_cache

from toolablate.analysis.labelling import AttributedCause, Held, LabelReport, held, label_report
from toolablate.analysis.selection import Selection
from toolablate.traces.errors import InputError
from toolablate.traces.records import Label
from toolablate.traces.store import Store
from toolablate.viewer.index import TrialRow
from toolablate.viewer.view import View


@dataclass(frozen=True, slots=True)
class Line:
    """`row` is None for a trial that the index does not know, such as a replay."""

    held: Held
    row: TrialRow | None


@dataclass(frozen=True, slots=True)
class LabelsRead:
    """
    lines     every label that counts, the latest first; of a viewer that hides attributions, those of trials of which
              its own person has said something
    people    who gave them
    labelled  trials of which the viewer's own person holds something
    left      failures of which they hold nothing, and `following` the first of these, None where there is none
    """

    lines: tuple[Line, ...]
    report: LabelReport
    people: tuple[str, ...]
    labelled: int
    left: int
    following: str | None


@lru_cache(maxsize=4)
def read_labels(view: View, version: int) -> LabelsRead:  # noqa: ARG001 - what is kept is of one version of the index
    """Raises StoreError."""
    with Store(view.store) as store:
        labels = _shown(view, store.labels())
        rows = {trial: _row(view, trial) for trial in dict.fromkeys(label.trial for label in labels)}
        about = {trial: _about(store, trial, row) for trial, row in rows.items()}
    found = held(labels, about.__getitem__)
    still = Selection(unlabelled=view.person)
    return LabelsRead(
        lines=tuple(Line(each, rows[each.label.trial]) for each in reversed(found)),
        report=label_report(found),
        people=tuple(sorted({each.label.person for each in found})),
        labelled=sum(each.label.person == view.person for each in found),
        left=view.index.questions(still, size=1).trials,
        following=view.index.first(still),
    )


def _shown(view: View, labels: tuple[Label, ...]) -> tuple[Label, ...]:
    if not view.blind:
        return labels
    own = {label.trial for label in labels if label.person == view.person}
    return tuple(label for label in labels if label.trial in own)


def _row(view: View, trial: str) -> TrialRow | None:
    try:
        return view.index.trial(trial)
    except InputError:
        return None


def _about(store: Store, trial: str, row: TrialRow | None) -> AttributedCause:
    question = store.question(row.question if row else store.trace(trial).trial.question)
    unit = question.cluster or question.id
    return AttributedCause(question.id, unit, row.mechanism, row.method) if row else AttributedCause(question.id, unit)
