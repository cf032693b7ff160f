"""One trial, event by event."""

from starlette.routing import Route

ROUTES: tuple[Route, ...] = ()
