"""What mechanisms are called where people read of them: one name each, of a trial and of an effect, in tables, figures,
filters and pages alike."""

from collections.abc import Mapping

_NAMES: Mapping[str, str] = {
    "computational_lock_in": "computational lock-in",
    "lock_in": "computational lock-in",
    "computation_misled": "misled by computation",
    "other_results": "results of other tools",
    "format_loss": "format lost",
    "format": "format lost",
    "own_error": "the model's own error",
    "unknown": "not known",
    "use": "tools' use",
}

PUT_DOWN_AS: Mapping[str, str] = {
    "retrieval_distraction": "retrieval_distraction",
    "computational_lock_in": "lock_in",
    "computation_misled": "lock_in",
    "other_results": "other_results",
    "tool_fault": "tool_fault",
    "budget": "budget",
    "format_loss": "format",
    "availability": "availability",
    "calling": "calling",
    "prompt": "prompt",
    "luck": "luck",
}
"""Of the mechanisms of an effect, what single trials are put down to; gains, and what is shared by all, have none. A
trial that code led astray is put down to one cause, whose points stand under two names."""


def mechanism_name(name: str) -> str:
    """Of what a trial is attributed to, or of a term or mechanism of an effect."""
    return _NAMES.get(name, name.replace("_", " "))
