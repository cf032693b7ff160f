"""The page of labels, and what a trial's page sends."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from http import HTTPStatus
from threading import Lock
from typing import Any, cast, get_args
from urllib.parse import urlencode

from pydantic import ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from toolablate.analysis.attribution.report import mechanism_name
from toolablate.analysis.labels.held import AttributedCause, Held, disputed, held
from toolablate.analysis.labels.report import LabelReport, label_report
from toolablate.analysis.selection import Selection
from toolablate.reports.cause_wording import error_type_name
from toolablate.reports.terminal.agreement import agreement_words, share_words
from toolablate.traces.errors import InputError
from toolablate.traces.records import ErrorType, Event, Label, Mechanism, clean_text
from toolablate.traces.store import Recorder, Store
from toolablate.viewer.forms import Form, read_form
from toolablate.viewer.index import TrialRow
from toolablate.viewer.label_panel import (
    FIELDS,
    hides,
    label_address,
    own_of,
    queued_done,
    refused,
    said,
)
from toolablate.viewer.rendering import View, page, view_of
from toolablate.viewer.selection import DECIDING, questions_address, trial_address

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
              its own person has said something; while they label a queue, their own
    people    who gave them
    labelled  trials of which the viewer's own person holds something, of their queue where they have one
    left      failures, or trials of the queue, of which they hold nothing, and `following` the first of these, None
              where there is none
    disputes  trials on which people differ and nobody has decided
    """

    lines: tuple[LabelRow, ...]
    report: LabelReport
    people: tuple[str, ...]
    labelled: int
    left: int
    following: str | None
    disputes: tuple[str, ...] = ()


@lru_cache(maxsize=4)
def read_labels(view: View, version: int) -> LabelsRead:  # noqa: ARG001 - what is kept is of one version of the index
    """Raises StoreError."""
    with Store(view.store) as store:
        known = store.labels()
        labels = _shown(view, known)
        rows = {trial: _row(view, trial) for trial in dict.fromkeys(label.trial for label in labels)}
        about = {trial: _about(store, trial, row) for trial, row in rows.items()}
        diagnoses = [each for trial in rows for each in store.diagnoses(trial)]
        done = queued_done(view, store)
    found, queue = held(labels, about.__getitem__), view.session.queue
    still = Selection(unlabelled=view.person)
    mine = queue.of(view.person) if queue else ()
    own = {each.label.trial for each in found if each.label.person == view.person and not each.label.adjudicated}
    return LabelsRead(
        lines=tuple(LabelRow(each, rows[each.label.trial]) for each in reversed(found)),
        report=label_report(found, diagnoses),
        people=tuple(sorted({each.label.person for each in found})),
        labelled=len(done) if queue else len(own),
        left=len(mine) - len(done) if queue else view.index.questions(still, size=1).trials,
        following=next((each for each in mine if each not in done), None) if queue else view.index.first(still),
        disputes=tuple(
            own[0].label.trial
            for own in disputed(held(known, lambda _: AttributedCause("", "")), view.session.codebook.name)
        ),
    )


def _shown(view: View, labels: tuple[Label, ...]) -> tuple[Label, ...]:
    if view.session.sealed:
        return tuple(label for label in labels if label.person == view.person)
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
    lines = shown[(number - 1) * PAGE_LINES : number * PAGE_LINES]
    told = (each.held.label.trial for each in lines if each.held.mechanism)
    view.session.seen.update(trial for trial in told if trial not in read.disputes)
    return page(
        request,
        "labels.html",
        read=read,
        person=person,
        which=which,
        choices=tuple(WHICH),
        shown=lines,
        total=len(shown),
        number=number,
        pages=pages,
        still=questions_address(still),
        following=label_address(read.following) if read.following else "",
        deciding=label_address(read.disputes[0], deciding=True) if read.disputes else "",
        title=_title,
        share=share_words,
        address=lambda to: f"/labels?{urlencode({'person': person, 'which': which, 'page': to})}",
        words=agreement_words,
        name=mechanism_name,
        said=said,
    )


def _title(code: str) -> str:
    """Of a code of any codebook, as people read it."""
    if code in get_args(ErrorType):
        return error_type_name(cast("ErrorType", code))
    return mechanism_name(code) if code in get_args(Mechanism) else code


def _any(_: Held) -> bool:
    return True


WHICH: Mapping[str, Callable[[Held], bool]] = {
    "all": _any,
    "agree": lambda each: each.agrees is True,
    "disagree": lambda each: each.agrees is False,
    "attribution changed": lambda each: each.changed,
    "nothing attributed": lambda each: each.agrees is None,
    "blind": lambda each: each.label.blind,
    "decided": lambda each: each.label.adjudicated,
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
    onward = form.get("following", "") if form.get("onward") and form.get("action") != "withdraw" else ""
    # Only a page of the viewer's own: what begins with two slashes would be another site.
    back = trial_address(trial) + (f"?{query}" if query else "") + "#label"
    address = onward if onward.startswith("/trial/") or onward == "/labels" else back
    return RedirectResponse(address, status_code=HTTPStatus.SEE_OTHER)


def _keep(view: View, trial: str, form: Form) -> None:
    """What the person has said already is not kept twice: whoever has no scripts may click twice."""
    book, adjudicated = view.session.codebook, bool(form.get(DECIDING))
    with Store(view.store) as store:
        if why := refused(view, store, trial):
            raise _bad(f"The label cannot be kept. {why}")
        # Not as the form has it: another tab may have shown the attribution since.
        own = own_of(store.labels(trial), view.person, book.name, adjudicated=adjudicated)
        label = _label(view, trial, form, blind=hides(view, trial, own) and trial not in view.session.seen)
        if label.turned_at is not None:
            label = _placed(label, store.conversation(trial))
    if own and label == own.model_copy(update={"at": label.at, "blind": label.blind}):
        return
    with Recorder(view.store) as recorder:
        recorder.label(label)
    view.index.put_label(label)


def _bad(said: str) -> HTTPException:
    return HTTPException(HTTPStatus.BAD_REQUEST, said)


def _label(view: View, trial: str, form: Form, *, blind: bool) -> Label:
    book = view.session.codebook
    told: dict[str, object] = {name: form.get(name) or None for name in ("attributed", "method")}
    if "attributed" not in form and (row := _row(view, trial)) is not None:
        told = {"attributed": row.mechanism, "method": row.method}
    match form.get("action"):
        case "withdraw":
            given: dict[str, object] = {"mechanism": None}
        case "confirm":
            given = _given(form, distraction="attributed_distraction", at="attributed_turned_at")
            given["mechanism"] = form.get("attributed") or None
        case _:
            given = _given(form, distraction="distraction", at="turned_at") | _codes(view, form)
    if form.get("action") != "withdraw" and not any(given.get(name) for name in ("mechanism", "error_type", "codes")):
        raise _bad("Nothing was chosen. Go back and choose a code.")
    given |= {"codebook": book.name, "codebook_digest": book.digest, "adjudicated": bool(form.get(DECIDING))}
    given |= {"inclusion_probability": view.session.chance(trial), "blind": blind}
    try:
        return Label.model_validate(
            {"trial": trial, "person": clean_text(view.person), "at": datetime.now(UTC), **told, **given}
        )
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise _bad(f"The label cannot be kept: {where}: {first['msg']}") from None


def _codes(view: View, form: Form) -> dict[str, object]:
    """What was chosen of the codebook, as a record holds it."""
    book = view.session.codebook
    name = FIELDS.get(book.name, "code")
    chosen = tuple(dict.fromkeys(each for each in form.get(name, "").split("\n") if each))
    if unknown := set(chosen) - {code.name for code in book.codes}:
        raise _bad(f"The codebook {book.name} has no code {min(unknown)!r}.")
    if len(chosen) > 1 and not book.several:
        raise _bad("One code alone can be chosen.")
    if name == "code":
        return {"mechanism": None, "codes": chosen}
    return {"mechanism": None} | {name: chosen[0] if chosen else None}


def _given(form: Form, *, distraction: str, at: str) -> dict[str, object]:
    """What a person says beside the code, out of the fields of these names."""
    mechanism = form.get("attributed" if form.get("action") == "confirm" else "mechanism")
    event = form.get(at, "").strip()
    if event and not (event.isdecimal() and len(event) < 10):
        raise _bad("The event at which it went wrong is a whole number.")
    quote = clean_text(form.get("quote", "").strip()) if at == "turned_at" else ""
    if quote and not event:
        raise _bad("A passage is quoted of an event. Go back and choose the event.")
    return {
        "distraction": (form.get(distraction) or None) if mechanism == "retrieval_distraction" else None,
        "error_type": form.get("error_type") or None,
        "turned_at": int(event) if event else None,
        "quote": quote,
        "note": clean_text(form.get("note", "").replace("\r\n", "\n").strip()),
    }


def _placed(label: Label, events: Sequence[Event]) -> Label:
    """With its passage as the event has it, whatever blanks a browser made of those."""
    number = label.turned_at or 0
    if number >= len(events):
        raise _bad(f"This trial has no event {number}: they are 0 to {len(events) - 1}.")
    if not label.quote:
        return label
    words = re.compile(r"\s+".join(map(re.escape, label.quote.split())))
    for text in _texts(events[number].model_dump(mode="json")):
        if found := words.search(text):
            return label.model_copy(update={"quote": found[0]})
    raise _bad(
        f"Event {number} does not say this as it was written: “{label.quote[:200]}”. Go back, show the raw texts, and"
        " quote it from there."
    )


def _texts(value: Any) -> Iterator[str]:
    """All texts of an event. What a call was given is JSON itself, which a reader sees without its escapes."""
    if isinstance(value, str):
        yield value
        if value[:1] in ("{", "["):
            try:
                yield from _texts(json.loads(value))
            except (ValueError, RecursionError):
                return
    elif isinstance(value, Mapping | list):
        for each in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(each)


ROUTES: tuple[Route, ...] = (
    Route("/labels", labels, name="labels"),
    Route("/trial/{trial}/label", save, methods=["POST"], name="label"),
)
