from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles

from toolablate.traces.viewer.access import Access
from toolablate.traces.viewer.pages import diff, labels, live, overview, questions, trial
from toolablate.traces.viewer.view import View

_PAGES = (overview, questions, trial, diff, labels, live)


def application(view: View, *, port: int) -> Starlette:
    """Serves the pages of one view, to whom knows its token."""
    files = StaticFiles(packages=[("toolablate.traces.html", "static"), ("toolablate.traces.viewer", "static")])
    app = Starlette(
        routes=[*(route for each in _PAGES for route in each.ROUTES), Mount("/static", files, name="static")],
        middleware=[Middleware(Access, token=view.token, port=port)],
    )
    app.state.view = view
    return app
