"""The first page: what the conditions of a store did to scores."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from toolablate.traces.viewer.rendering import page, view_of


def overview(request: Request) -> Response:
    index = view_of(request).index
    return page(request, "overview.html", arms=index.arms(), findings=index.findings())


ROUTES = (Route("/", overview, name="overview"),)
