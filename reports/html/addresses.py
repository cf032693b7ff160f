"""Where pages are: what links to them, in the viewer and between figures and pages."""

from collections.abc import Mapping
from urllib.parse import quote, urlencode

from toolablate.analysis.selection import Selection

PARAMETERS: Mapping[str, str] = {
    "models": "model",
    "conditions": "condition",
    "domains": "domain",
    "difficulties": "difficulty",
    "endings": "ending",
    "flips": "flip",
    "mechanisms": "mechanism",
    "labels": "label",
    "tools": "tool",
}
"""The fields of a Selection as a query names them, each as often as it has values."""

TEXTS = ("text", "unlabelled")
"""Those that are one text each, under their own names."""


def questions_address(selection: Selection, **more: str | int) -> str:
    """Of the table of questions; `more` are its `sort` and `page`."""
    values = [(name, value) for field, name in PARAMETERS.items() for value in getattr(selection, field)]
    values += [(name, getattr(selection, name)) for name in TEXTS if getattr(selection, name)]
    query = urlencode([*values, *more.items()])
    return f"/questions?{query}" if query else "/questions"


def question_address(question: str) -> str:
    """By its id."""
    return f"/question/{quote(question, safe='')}"


def trial_address(trial: str, event: int | None = None) -> str:
    return f"/trial/{quote(trial, safe='')}" + ("" if event is None else f"#event-{event}")


def diff_address(left: str, right: str) -> str:
    """Of two trials side by side."""
    return f"/diff/{quote(left, safe='')}/{quote(right, safe='')}"
