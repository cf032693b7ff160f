"""Whether there is something new."""

from starlette.routing import Route

ROUTES: tuple[Route, ...] = ()
