"""What people hold for the causes of failures: the table of labels, and what a trial's page sends."""

from datetime import UTC, datetime
from http import HTTPStatus
from urllib.parse import parse_qs

from pydantic import ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from toolablate.traces.html.addresses import trial_address
from toolablate.traces.records import Label, clean_text
from toolablate.traces.store import Recorder, Store
from toolablate.traces.viewer.rendering import view_of
from toolablate.traces.viewer.view import View

LONGEST_FORM = 200_000
"""In bytes: a note of 20,000 characters of four bytes each, three characters for a byte in a form, is less."""

Form = dict[str, str]


async def save(request: Request) -> Response:
    """Keeps what a person said of a trial, then goes on to the next trial, or back to this one."""
    form = await _form(request)
    return await run_in_threadpool(_saved, view_of(request), request.path_params["trial"], form)


def _saved(view: View, prefix: str, form: Form) -> Response:
    with Store(view.store) as store:
        trial = store.find_trial(prefix)
    label = _label(view, trial, form)
    with Recorder(view.store) as recorder:
        recorder.label(label)
    onward = form.get("following", "") if form.get("onward") else ""
    # Only a page of the viewer's own: what begins with two slashes would be another site.
    address = onward if onward.startswith("/trial/") else trial_address(trial) + "#label"
    return RedirectResponse(address, status_code=HTTPStatus.SEE_OTHER)


def _label(view: View, trial: str, form: Form) -> Label:
    blind = bool(form.get("blind"))
    seen = view.index.trial(trial)
    told: dict[str, object] = {
        "attributed": seen.mechanism if blind else form.get("attributed") or None,
        "method": seen.method if blind else form.get("method") or None,
    }
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
    return {
        "mechanism": form.get(mechanism) or None,
        "distraction": (form.get(distraction) or None) if drawn_away else None,
        "turned_at": int(found) if (found := form.get(at, "").strip()).isdecimal() and len(found) < 10 else None,
        "note": clean_text(form.get("note", "").replace("\r\n", "\n").strip()),
    }


async def _form(request: Request) -> Form:
    """The fields of a form as browsers send it by default, each once."""
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > LONGEST_FORM:
            raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "This is longer than any label may be.")
    fields = parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=50)
    return {name: values[-1] for name, values in fields.items()}


ROUTES: tuple[Route, ...] = (Route("/trial/{trial}/label", save, methods=["POST"], name="label"),)
