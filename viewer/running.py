"""What runs just now: how fast, at what cost, with which errors, and the traces of running trials so far."""

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from toolablate.reports import numbers
from toolablate.reports.html.cards import Links
from toolablate.reports.html.events import event_cards
from toolablate.reports.terminal.status import errors_told, no_worker_told, rate_told, spending_told, worker_told
from toolablate.traces.kept import stamp_of
from toolablate.traces.store import Store, standing
from toolablate.viewer.rendering import View, page, view_of
from toolablate.viewer.selection import trial_address

MOST = 200
"""Trials that are listed of those that run, and of those that were cut off."""
LAST = {
    "": "nothing yet",
    "model_call": "the model replied",
    "tool_call": "a tool returned",
    "failure": "a failure",
    "answer": "the answer",
    "rebuilt": "rebuilt",
}


def version(view: View) -> str:
    """Another one whenever the store was written, so also after each event of a running trial."""
    return f"{view.index.version()}.{hash(stamp_of(view.store).files):x}"


def running(request: Request) -> Response:
    """By `standing` and `Store.failures`, which `status` prints as well."""
    view = view_of(request)
    now = version(view)
    found = standing(view.store)
    with Store(view.store) as store:
        unfinished, failures = store.unfinished(), store.failures()
    alive = [each for each in unfinished if each.alive]
    cut_off = [each for each in unfinished if not each.alive]
    return page(
        request,
        "running.html",
        version=now,
        found=found,
        planned=sum(row.planned for row in found.counts),
        ended=sum(row.answered + row.budget + row.failed for row in found.counts),
        rate=rate_told(found),
        workers=[*map(worker_told, found.workers), *([no_worker_told(found.no_worker)] if found.no_worker else ())],
        spent=spending_told(found.spent),
        errors=tuple(errors_told(failures)),
        kinds=(("running", alive), ("cut off", cut_off)),
        most=MOST,
        last=LAST,
        numbers=numbers,
        age=lambda began: max((found.at - began).total_seconds(), 0.0),
    )


def running_trial(request: Request) -> Response:
    """The trace so far; one that has ended is on its own page."""
    view = view_of(request)
    now = version(view)
    with Store(view.store) as store, store.at_one_moment():
        identity = store.find_trial(request.path_params["trial"])
        found = next((each for each in store.unfinished() if each.trial == identity), None)
        events = store.unfinished_events(identity) if found else ()
    if found is None:
        return RedirectResponse(trial_address(identity), 303)
    return page(
        request,
        "running_trial.html",
        version=now,
        found=found,
        cards=event_cards(events),
        links=Links(lambda number: f"#event-{number}", lambda _number, _part: "", raw=False),
        last=LAST,
    )


ROUTES = (
    Route("/running", running, name="running"),
    Route("/running/{trial}", running_trial, name="running_trial"),
)
