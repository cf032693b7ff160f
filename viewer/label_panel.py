"""The panel in which a trial is labelled: alone, from a queue, or to decide between labels that differ."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

from toolablate.analysis.codebooks.codebook import Code, Codebook
from toolablate.analysis.labels.held import AttributedCause, Held, disputed, held
from toolablate.analysis.selection import Selection
from toolablate.reports.cause_wording import attributed_to, chance, distraction_name, error_type_name
from toolablate.reports.terminal.agreement import said_words
from toolablate.traces.errors import InputError
from toolablate.traces.records import (
    ERROR_TYPE_BOOK,
    MECHANISM_BOOK,
    Attribution,
    Distraction,
    ErrorType,
    Label,
    digest_text,
)
from toolablate.traces.store import Store
from toolablate.viewer.rendering import View
from toolablate.viewer.selection import DECIDING, LABELLING, trial_address

_DISTRACTION_KEYS = "asd"
FIELDS = {MECHANISM_BOOK: "mechanism", ERROR_TYPE_BOOK: "error_type"}
"""The field of a form, and of a record, that a codebook's code is kept in; of other codebooks it is `code`."""


@dataclass(frozen=True, slots=True)
class LabelChoice:
    """`key` chooses it on the keyboard; `value` is what a record holds, `name` what people read."""

    key: str
    value: str
    name: str


DISTRACTIONS = tuple(
    LabelChoice(key, value, distraction_name(value))
    for key, value in zip(_DISTRACTION_KEYS, get_args(Distraction), strict=True)
)

ERROR_TYPE_CHOICES = tuple(LabelChoice("", value, error_type_name(value)) for value in get_args(ErrorType))


@dataclass(frozen=True, slots=True)
class Ways:
    """Where a trial is among those to label: its place and their number, addresses of the trials before it and to go on
    to, "" where there is none; `done` of a queue are labelled, None of all failures."""

    place: tuple[int, int] | None = None
    before: str = ""
    following: str = ""
    done: int | None = None


@dataclass(frozen=True, slots=True)
class LabelPanel:
    """
    person       under whose name a label is kept
    attribution  what the analysis says now; None where it says nothing, or while it is hidden
    pending      it is still being worked out why trials are wrong
    blind        it is hidden until the person has said what they hold, in a queue also after
    seen         it was shown before, so that a label is not blind
    refused      why the trial takes no label, "" where it does
    labels       what people said, in the order in which they did; while it is hidden nothing, since words of others say
                 as much
    own          what the person said last by this codebook, None where they said nothing or withdrew it
    one_key      a key of a code saves, and goes on
    sides        what people hold who differ, without their names; empty where nothing is to be decided
    """

    trial: str
    person: str
    book: Codebook
    attribution: Attribution | None
    pending: bool
    blind: bool
    seen: bool
    refused: str
    labels: tuple[Label, ...]
    own: Label | None
    following: str
    one_key: bool = False
    sides: tuple[Label, ...] = ()
    ways: Ways | None = None
    distractions: Sequence[LabelChoice] = DISTRACTIONS
    error_types: Sequence[LabelChoice] = ERROR_TYPE_CHOICES

    @property
    def field(self) -> str:
        return FIELDS.get(self.book.name, "code")

    @property
    def confirms(self) -> bool:
        """Whether there is an attribution that one key confirms."""
        found = self.attribution
        return (
            found is not None and found.mechanism != "unknown" and self.book.name == MECHANISM_BOOK and not self.sides
        )

    @property
    def codes(self) -> Sequence[Code]:
        return self.book.codes

    @property
    def attributed(self) -> str:
        """`by replay: retrieval distraction (over-engineering), confidence .82`; "" where there is none."""
        found = self.attribution
        if found is None:
            return ""
        return f"by {found.method}: {attributed_to(found)}, confidence {chance(found.confidence)}"

    @property
    def history(self) -> tuple[tuple[Label, str], ...]:
        """The labels, each with what it says in words."""
        return tuple((each, said(each)) for each in self.labels)

    @property
    def positions(self) -> tuple[tuple[str, Label, str], ...]:
        """What people hold who differ: A, B and so on."""
        return tuple((chr(ord("A") + place), each, said(each)) for place, each in enumerate(self.sides))


def panel_of(
    view: View,
    store: Store,
    trial: str,
    attribution: Attribution | None,
    following: str = "",
    query: Mapping[str, str] | None = None,
) -> LabelPanel:
    """`trial` is the whole id, `query` that of its page, None of what the page loads later. Raises StoreError."""
    session, book, labels = view.session, view.session.codebook, store.labels(trial)
    sides = _sides(labels, book.name) if query and query.get(DECIDING) else ()
    own = own_of(labels, view.person, book.name, adjudicated=bool(sides))
    if query is not None:
        to_label = query.get(LABELLING) and not session.open
        (session.hiding.add if to_label else session.hiding.discard)(trial)
    blind = hides(view, trial, own)
    if not blind and attribution is not None:
        session.seen.add(trial)
    standing = own if own is not None and own.said else None
    ways = _ways(view, store, trial, deciding=bool(sides)) if query and query.get(LABELLING) else None
    return LabelPanel(
        trial=trial,
        person=view.person,
        book=book,
        attribution=None if blind else attribution,
        pending=(blind or attribution is None) and _pending(view),
        blind=blind,
        seen=blind and trial in session.seen,
        refused=refused(view, store, trial),
        labels=_shown(labels, view.person, own_only=blind, hidden=bool(sides) and standing is None),
        own=standing,
        following=ways.following if ways else following,
        one_key=bool(ways),
        sides=sides,
        ways=ways,
    )


def own_of(labels: Sequence[Label], person: str, book: str, *, adjudicated: bool) -> Label | None:
    """The last that a person said by a codebook, of their own or to decide."""
    own = (each for each in reversed(labels) if (each.person, each.book) == (person, book))
    return next((each for each in own if each.adjudicated == adjudicated), None)


def hides(view: View, trial: str, own: Label | None) -> bool:
    """Whether what the analysis says of a trial is hidden from the person, who has said `own` of it."""
    if view.session.sealed:
        return True
    return own is None and (view.blind or trial in view.session.hiding)


def _shown(labels: Sequence[Label], person: str, *, own_only: bool, hidden: bool) -> tuple[Label, ...]:
    return tuple(each for each in labels if not hidden and (not own_only or each.person == person))


def _sides(labels: Sequence[Label], book: str) -> tuple[Label, ...]:
    """The independent labels that differ, in an order that tells nothing of who gave them."""
    found = [each for each in held(labels, lambda _: AttributedCause("", "")) if each.label.book == book]
    own = tuple(each.label for each in found if not each.label.adjudicated)
    return tuple(sorted(own, key=lambda each: digest_text(each.trial + each.person))) if _differ(own) else ()


def _differ(own: Sequence[Label]) -> bool:
    return len({each.said for each in own}) > 1


def _ways(view: View, store: Store, trial: str, *, deciding: bool) -> Ways:
    if deciding:
        left = [own[0].label.trial for own in disputes(store, view.session.codebook.name)]
        rest = [each for each in left if each > trial] or [each for each in left if each != trial]
        return Ways(following=label_address(rest[0], deciding=True) if rest else "/labels")
    queue = view.session.queue
    if queue is None:
        still = Selection(unlabelled=view.person)
        before, following = view.index.neighbours(trial, still)
        following = following or view.index.first(still)
        return Ways(
            view.index.place(trial, still),
            label_address(before) if before else "",
            label_address(following) if following and following != trial else "/labels",
        )
    mine, done = queue.of(view.person), queued_done(view, store)
    here = mine.index(trial) if trial in mine else -1
    around = (*mine[here + 1 :], *mine[: max(here, 0)])
    following = next((each for each in around if each not in done), None)
    before = mine[here - 1] if here > 0 else None
    return Ways(
        (here + 1, len(mine)) if here >= 0 else (0, len(mine)),
        label_address(before) if before else "",
        label_address(following) if following else "/labels",
        len(done),
    )


def queued_done(view: View, store: Store) -> frozenset[str]:
    """Which trials of their queue the person has labelled."""
    book, queue = view.session.codebook.name, view.session.queue
    last = {
        each.trial: each
        for each in store.labels()
        if (each.person, each.book, each.adjudicated) == (view.person, book, False)
    }
    return frozenset(each for each in (queue.of(view.person) if queue else ()) if each in last and last[each].said)


def disputes(store: Store, book: str) -> tuple[tuple[Held, ...], ...]:
    """Trials on which people differ by a codebook and nobody has decided."""
    return disputed(held(store.labels(), lambda _: AttributedCause("", "")), book)


def label_address(trial: str, *, deciding: bool = False) -> str:
    """Of a trial's page on which it is labelled, and nothing tells what is attributed to it."""
    return f"{trial_address(trial)}?{LABELLING}=1" + (f"&{DECIDING}=1" if deciding else "")


def said(label: Label) -> str:
    """What a label says, in words."""
    return said_words(label) or "withdrew what they had said"


def refused(view: View, store: Store, trial: str) -> str:
    """Why a trial takes no label, in a sentence; "" where it does."""
    if not (os.access(store.path, os.W_OK) and os.access(store.path.resolve().parent, os.W_OK)):
        return "The store cannot be written here, so no label can be kept in it."
    values = [score.value for score in store.scores(trial)]
    if not values and _failed(view, store, trial):
        return "Infrastructure failed here: there is no answer of the model to find a cause for."
    if values and all(value == 1 for value in values):
        return "The trial is right: there is no failure to label."
    return ""


def _pending(view: View) -> bool:
    found = view.index.findings()
    return found is None or found.why is None


def _failed(view: View, store: Store, trial: str) -> bool:
    try:
        return view.index.trial(trial).outcome == "failed"
    except InputError:  # a replay, or one that the index does not know yet
        return not store.trace(trial).scorable
