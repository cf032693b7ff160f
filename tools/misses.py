"""What a model is told of something that is not to be had: one text for each kind, whatever the tool and condition."""

from collections.abc import Mapping
from types import MappingProxyType

from toolablate.traces.records import MissKind

MISS_MESSAGES: Mapping[MissKind, str] = MappingProxyType(
    {
        "not_in_archive": "this is not in the copy of the web that is used here",
        "recorded_error": "this could not be had when the copy of the web that is used here was made",
        "blocked_by_policy": "this may not be used here",
        "after_cutoff": "this is not in the copy of the web that is used here as of the date that is set",
    }
)
"""As `told` takes them. The nearest recorded request is for the trace alone: a model that
was told of it would learn of the archive what it could not learn of the web."""


def told(message: str) -> str:
    """The whole of what a model is told of something that it cannot have: the same words, whatever tool it used."""
    return f"Error: {message.removesuffix('.')}."
