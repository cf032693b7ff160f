"""What people hold for the causes of failures."""

from starlette.routing import Route

ROUTES: tuple[Route, ...] = ()
