"""Two trials of one question side by side."""

from starlette.routing import Route

ROUTES: tuple[Route, ...] = ()
