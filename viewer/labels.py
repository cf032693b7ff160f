"""The page of labels, and the panel in which a trial is labelled."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from http import HTTPStatus
from threading import Lock
from typing import get_args
from urllib.parse import parse_qs, urlencode

from pydantic import ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from toolablate.analysis.attribution.report import mechanism_name
from toolablate.analysis.labelling import ERROR_TYPES, AttributedCause, Held, LabelReport, held, label_report
from toolablate.analysis.selection import Selection
from toolablate.reports.cause_wording import attributed_to, chance, distraction_name, error_type_name
from toolablate.reports.terminal.agreement import agreement_words
from toolablate.traces.errors import InputError
from toolablate.traces.records import Attribution, Distraction, Label, Mechanism, clean_text
from toolablate.traces.store import Recorder, Store
from toolablate.viewer.index import TrialRow
from toolablate.viewer.rendering import View, page, view_of
from toolablate.viewer.selection import questions_address, sequel, trial_address

_MECHANISM_KEYS = "123vi456789lou"
_DISTRACTION_KEYS = "asd"


@dataclass(frozen=True, slots=True)
class LabelChoice:
    """`key` chooses it on the keyboard; `value` is what a record holds, `name` what people read."""

    key: str
    value: str
    name: str


MECHANISMS = tuple(
    LabelChoice(key, value, mechanism_name(value))
    for key, value in zip(_MECHANISM_KEYS, get_args(Mechanism), strict=True)
)
DISTRACTIONS = tuple(
    LabelChoice(key, value, distraction_name(value))
    for key, value in zip(_DISTRACTION_KEYS, get_args(Distraction), strict=True)
)

ERROR_TYPE_CHOICES = tuple(LabelChoice("", value, error_type_name(value)) for value in ERROR_TYPES)


@dataclass(frozen=True, slots=True)
class LabelPanel:
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
    mechanisms: Sequence[LabelChoice] = MECHANISMS
    distractions: Sequence[LabelChoice] = DISTRACTIONS
    error_types: Sequence[LabelChoice] = ERROR_TYPE_CHOICES

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


def panel_of(view: View, store: Store, trial: str, attribution: Attribution | None, following: str = "") -> LabelPanel:
    """`trial` is the whole id. Raises StoreError."""
    labels = store.labels(trial)
    own = next((each for each in reversed(labels) if each.person == view.person), None)
    blind = view.blind and own is None
    return LabelPanel(
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
    kind = f"; error: {error_type_name(label.error_type)}" if label.error_type else ""
    return mechanism_name(label.mechanism) + how + kind


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


# The labels of a store, beside what the index says of their trials.


@dataclass(frozen=True, slots=True)
class LabelRow:
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

    lines: tuple[LabelRow, ...]
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
        diagnoses = [each for trial in rows for each in store.diagnoses(trial)]
    found = held(labels, about.__getitem__)
    still = Selection(unlabelled=view.person)
    return LabelsRead(
        lines=tuple(LabelRow(each, rows[each.label.trial]) for each in reversed(found)),
        report=label_report(found, diagnoses),
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
    known = (row.mechanism, row.method) if row else (None, None)
    return AttributedCause(question.id, unit, *known, domain=question.domain)


# What people hold for the causes of failures: the table of labels, and what a trial's page sends.


_SAVING = Lock()
LONGEST_FORM, MOST_FIELDS = 300_000, 50
"""In bytes: a note of 20,000 characters of four bytes each, three characters for a byte in a form, is 240,000."""

Form = dict[str, str]


def labels(request: Request) -> Response:
    """All labels of which trial, and how far they agree."""
    view, query = view_of(request), request.query_params
    still = Selection(unlabelled=view.person)
    read = read_labels(view, view.index.version())
    person, which = query.get("person", ""), query.get("which", "all")
    shown = [
        each for each in read.lines if person in ("", each.held.label.person) and WHICH.get(which, _any)(each.held)
    ]
    pages = max(1, -(-len(shown) // PAGE_LINES))
    number = min(int(found) if (found := query.get("page", "")).isdecimal() and len(found) < 7 else 1, pages)
    return page(
        request,
        "labels.html",
        read=read,
        person=person,
        which=which,
        choices=tuple(WHICH),
        shown=shown[(number - 1) * PAGE_LINES : number * PAGE_LINES],
        total=len(shown),
        number=number,
        pages=pages,
        still=questions_address(still),
        following=trial_address(read.following) + sequel(questions_address(still)) if read.following else "",
        address=lambda to: f"/labels?{urlencode({'person': person, 'which': which, 'page': to})}",
        words=agreement_words,
        name=mechanism_name,
        said=said,
    )


def _any(_: Held) -> bool:
    return True


WHICH: Mapping[str, Callable[[Held], bool]] = {
    "all": _any,
    "agree": lambda each: each.agrees is True,
    "disagree": lambda each: each.agrees is False,
    "attribution changed": lambda each: each.changed,
    "nothing attributed": lambda each: each.agrees is None,
    "blind": lambda each: each.label.blind,
}
"""The labels to show, by the name of the choice."""

PAGE_LINES = 100


async def save(request: Request) -> Response:
    """Keeps what a person said of a trial, then goes on to the next trial, or back to this one."""
    form = await read_form(request)
    return await run_in_threadpool(_saved, view_of(request), request.path_params["trial"], request.url.query, form)


def _saved(view: View, prefix: str, query: str, form: Form) -> Response:
    with Store(view.store) as store:
        trial = store.find_trial(prefix)
    with _SAVING:
        _keep(view, trial, form)
    onward = form.get("following", "") if form.get("onward") else ""
    # Only a page of the viewer's own: what begins with two slashes would be another site.
    back = trial_address(trial) + (f"?{query}" if query else "") + "#label"
    address = onward if onward.startswith("/trial/") else back
    return RedirectResponse(address, status_code=HTTPStatus.SEE_OTHER)


def _keep(view: View, trial: str, form: Form) -> None:
    """What the person has said already is not kept twice: whoever has no scripts may click twice."""
    with Store(view.store) as store:
        if why := refused(view, store, trial):
            raise HTTPException(HTTPStatus.BAD_REQUEST, f"The label cannot be kept. {why}")
        # Not as the form has it: another tab may have shown the attribution since.
        own = [each for each in store.labels(trial) if each.person == view.person]
        blind = view.blind and not own
        label = _label(view, trial, form, blind=blind)
        if label.turned_at is not None and label.turned_at >= (events := len(store.conversation(trial))):
            raise HTTPException(
                HTTPStatus.BAD_REQUEST, f"This trial has no event {label.turned_at}: they are 0 to {events - 1}."
            )
    if own and label == own[-1].model_copy(update={"at": label.at, "blind": label.blind}):
        return
    with Recorder(view.store) as recorder:
        recorder.label(label)
    view.index.put_label(label)


def _label(view: View, trial: str, form: Form, *, blind: bool) -> Label:
    told: dict[str, object] = {name: form.get(name) or None for name in ("attributed", "method")}
    if view.blind and "attributed" not in form:
        seen = view.index.trial(trial)
        told = {"attributed": seen.mechanism, "method": seen.method}
    match form.get("action"):
        case "withdraw":
            held: dict[str, object] = {"mechanism": None}
        case "confirm":
            held = _held(form, mechanism="attributed", distraction="attributed_distraction", at="attributed_turned_at")
        case _:
            held = _held(form, mechanism="mechanism", distraction="distraction", at="turned_at")
    if held["mechanism"] is None and form.get("action") != "withdraw":
        raise HTTPException(HTTPStatus.BAD_REQUEST, "No mechanism was chosen. Go back and choose one.")
    try:
        return Label.model_validate(
            {"trial": trial, "person": clean_text(view.person), "at": datetime.now(UTC), "blind": blind, **told, **held}
        )
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise HTTPException(HTTPStatus.BAD_REQUEST, f"The label cannot be kept: {where}: {first['msg']}") from None


def _held(form: Form, *, mechanism: str, distraction: str, at: str) -> dict[str, object]:
    """What a person says, out of the fields of these names."""
    drawn_away = form.get(mechanism) == "retrieval_distraction"
    event = form.get(at, "").strip()
    if event and not (event.isdecimal() and len(event) < 10):
        raise HTTPException(HTTPStatus.BAD_REQUEST, "The event at which it went wrong is a whole number.")
    return {
        "mechanism": form.get(mechanism) or None,
        "distraction": (form.get(distraction) or None) if drawn_away else None,
        "error_type": form.get("error_type") or None,
        "turned_at": int(event) if event else None,
        "note": clean_text(form.get("note", "").replace("\r\n", "\n").strip()),
    }


async def read_form(request: Request) -> Form:
    """The fields of a form as browsers send it by default, each once."""
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > LONGEST_FORM:
            raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "This is longer than any label may be.")
    try:
        fields = parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=MOST_FIELDS)
    except ValueError:
        raise HTTPException(HTTPStatus.BAD_REQUEST, "This is no form of a label: it has too many fields.") from None
    return {name: values[-1] for name, values in fields.items()}


ROUTES: tuple[Route, ...] = (
    Route("/labels", labels, name="labels"),
    Route("/trial/{trial}/label", save, methods=["POST"], name="label"),
)
