"""What a person can say of a trial's cause beside its page, and what people said before."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

from toolablate.analysis.attribution.report import mechanism_name
from toolablate.reports.terminal.causes import chance, distraction_name, put_down_to
from toolablate.traces.errors import InputError
from toolablate.traces.records import Attribution, Distraction, Label, Mechanism
from toolablate.traces.store import Store
from toolablate.viewer.view import View

_MECHANISM_KEYS = "123456789lou"
_DISTRACTION_KEYS = "asd"


@dataclass(frozen=True, slots=True)
class Choice:
    """`key` chooses it on the keyboard; `value` is what a record holds, `name` what people read."""

    key: str
    value: str
    name: str


MECHANISMS = tuple(
    Choice(key, value, mechanism_name(value)) for key, value in zip(_MECHANISM_KEYS, get_args(Mechanism), strict=True)
)
DISTRACTIONS = tuple(
    Choice(key, value, distraction_name(value))
    for key, value in zip(_DISTRACTION_KEYS, get_args(Distraction), strict=True)
)


@dataclass(frozen=True, slots=True)
class Panel:
    """
    person       under whose name a label is kept
    attribution  what the analysis says now; None where it says nothing, or while it is hidden
    pending      it is still being worked out why trials are wrong
    blind        it is hidden until the person has said what they hold
    refused      why the trial takes no label, "" where it does
    labels       what people said, in the order in which they did; while it is hidden nothing, since words of others say
                 as much
    own          what the person said last, None where they said nothing or withdrew it
    following    the address of the trial to go on to, "" where there is none
    """

    trial: str
    person: str
    attribution: Attribution | None
    pending: bool
    blind: bool
    refused: str
    labels: tuple[Label, ...]
    own: Label | None
    following: str
    mechanisms: Sequence[Choice] = MECHANISMS
    distractions: Sequence[Choice] = DISTRACTIONS

    @property
    def attributed(self) -> str:
        """`by replay: retrieval distraction (over-engineering), confidence .82`; "" where there is none."""
        found = self.attribution
        if found is None:
            return ""
        return f"by {found.method}: {put_down_to(found)}, confidence {chance(found.confidence)}"

    @property
    def history(self) -> tuple[tuple[Label, str], ...]:
        """The labels, each with what it says in words."""
        return tuple((each, said(each)) for each in self.labels)


def panel_of(view: View, store: Store, trial: str, attribution: Attribution | None, following: str = "") -> Panel:
    """`trial` is the whole id. Raises StoreError."""
    labels = store.labels(trial)
    own = next((each for each in reversed(labels) if each.person == view.person), None)
    blind = view.blind and own is None
    return Panel(
        trial=trial,
        person=view.person,
        attribution=None if blind else attribution,
        pending=(blind or attribution is None) and _pending(view),
        blind=blind,
        refused=refused(view, store, trial),
        labels=() if blind else labels,
        own=own if own is not None and own.mechanism is not None else None,
        following=following,
    )


def said(label: Label) -> str:
    """What a label says, in words."""
    if label.mechanism is None:
        return "withdrew what they had said"
    how = f" ({distraction_name(label.distraction)})" if label.distraction else ""
    return mechanism_name(label.mechanism) + how


def refused(view: View, store: Store, trial: str) -> str:
    """Why a trial takes no label, in a sentence; "" where it does."""
    if not (os.access(store.path, os.W_OK) and os.access(store.path.resolve().parent, os.W_OK)):
        return "The store cannot be written here, so no label can be kept in it."
    values = [score.value for score in store.scores(trial)]
    if not values and _failed(view, store, trial):
        return "Infrastructure failed here: there is no answer of the model to find a cause for."
    if values and all(value == 1 for value in values):
        return "It is right: there is no failure to name a cause for."
    return ""


def _pending(view: View) -> bool:
    found = view.index.findings()
    return found is None or found.why is None


def _failed(view: View, store: Store, trial: str) -> bool:
    try:
        return view.index.trial(trial).outcome == "failed"
    except InputError:  # a replay, or one that the index does not know yet
        return not store.trace(trial).scorable
