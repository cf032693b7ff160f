"""The table of questions, and one question with its trials."""

from starlette.routing import Route

ROUTES: tuple[Route, ...] = ()
