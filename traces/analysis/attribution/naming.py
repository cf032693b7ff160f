"""What parts of an effect are called where people read of them, in tables and figures alike."""

from collections.abc import Mapping

_ACCOUNTS: Mapping[str, str] = {
    "computational_lock_in": "computational lock-in",
    "computation_misled": "misled by computation",
    "other_results": "results of other tools",
    "format_loss": "format lost",
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


def account_name(name: str) -> str:
    """Of a term or mechanism of a ledger."""
    return _ACCOUNTS.get(name, name.replace("_", " "))
