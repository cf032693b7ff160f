"""What people hold for the causes of failures: the table of labels, and what a trial's page sends."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from http import HTTPStatus
from threading import Lock
from urllib.parse import parse_qs, urlencode

from pydantic import ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from toolablate.analysis.attribution.report import mechanism_name
from toolablate.analysis.labelling import Held
from toolablate.analysis.selection import Selection
from toolablate.reports.html.addresses import questions_address, trial_address
from toolablate.reports.terminal.agreement import agreement_words
from toolablate.traces.records import Label, clean_text
from toolablate.traces.store import Recorder, Store
from toolablate.viewer.glances import sequel
from toolablate.viewer.label_panel import refused, said
from toolablate.viewer.label_reading import read_labels
from toolablate.viewer.rendering import page, view_of
from toolablate.viewer.view import View

_SAVING = Lock()
LONGEST_FORM, MOST_FIELDS = 300_000, 50
"""In bytes: a note of 20,000 characters of four bytes each, three characters for a byte in a form, is 240,000."""

Form = dict[str, str]


def labels(request: Request) -> Response:
    """Who said what of which trial, and how far they agree."""
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
    form = await _form(request)
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
        "turned_at": int(event) if event else None,
        "note": clean_text(form.get("note", "").replace("\r\n", "\n").strip()),
    }


async def _form(request: Request) -> Form:
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
