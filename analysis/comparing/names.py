"""Which models, conditions and questions of a store a user means."""

from collections.abc import Collection
from difflib import get_close_matches

from toolablate.traces.errors import InputError
from toolablate.traces.plain import one_line

_SHOWN = 10


def means(name: str, label: str) -> bool:
    """Whether a name that was typed stands for a label; records that share a name are labelled `name@digest`."""
    return name in (label, label.rpartition("@")[0])


def require_ended(option: str, what: str, name: str, labels: Collection[str]) -> None:
    """Raises InputError where `name` stands for none of the labels that ended trials have; `what` is `model` or the
    like."""
    if any(means(name, label) for label in labels):
        return
    near = get_close_matches(name, labels, n=1)
    known = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(map(_plain, sorted(labels)[:_SHOWN]))}"
    raise InputError(f"{option}: no ended trial has the {what} {_plain(name)!r}", hint=known, code=f"unknown_{what}")


def _plain(label: str) -> str:
    return one_line(label, max_chars=80)
