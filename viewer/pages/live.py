"""Whether there is something new."""

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from toolablate.viewer.rendering import view_of
from toolablate.viewer.summary import progress


def live(request: Request) -> Response:
    """`{"version", "planned", "ended", "running", "progress", "trouble"}`: the version rises with whatever changes what
    a page shows; the last two are sentences of the process that keeps the tables, empty where it has nothing to say."""
    index = view_of(request).index
    version, counts = index.version(), progress(index.arms())
    return JSONResponse(
        {
            "version": version,
            "planned": counts.planned,
            "ended": counts.ended,
            "running": counts.running,
            "progress": index.progress(),
            "trouble": index.trouble(),
        }
    )


ROUTES = (Route("/live", live, name="live"),)
