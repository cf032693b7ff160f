"""What parts of an effect are called where people read of them, in tables and figures alike."""

from collections.abc import Mapping

_ACCOUNTS: Mapping[str, str] = {
    "computational_lock_in": "computational lock-in",
    "computation_misled": "misled by computation",
    "other_results": "results of other tools",
    "format_loss": "format lost",
    "use": "tools' use",
}


def account_name(name: str) -> str:
    """Of a term or mechanism of a ledger."""
    return _ACCOUNTS.get(name, name.replace("_", " "))
