"""The one change of a replay, by the words of `toolablate replay`."""

from collections.abc import Sequence
from pathlib import Path

from pydantic import ValidationError

from toolablate.experiments.replay.requests import Content
from toolablate.traces.errors import InputError
from toolablate.traces.records import (
    AnswerNow,
    Budget,
    Drop,
    Extend,
    IgnoreTools,
    Repair,
    ReplayChange,
    Say,
    Swap,
    clean_text,
)
from toolablate.traces.store import Store
from toolablate.traces.validation import explain, why_unreadable

Wanted = ReplayChange | Content


def change_asked(
    store: Path,
    trial: str,
    *,
    swap: str | None = None,
    say: str | None = None,
    drop: bool = False,
    answer_now: bool = False,
    ignore_tools: bool = False,
    extend: str | None = None,
    repair: bool = False,
) -> Wanted | None:
    """None for none: what follows is drawn anew. Raises InputError for several, and for one that cannot be made."""
    return _only(
        [
            _swap(swap),
            _said(say) if say is not None else None,
            Drop() if drop else None,
            AnswerNow() if answer_now else None,
            IgnoreTools() if ignore_tools else None,
            _extended(store, trial, extend) if extend is not None else None,
            Repair() if repair else None,
        ]
    )


def _only(changes: Sequence[Wanted | None]) -> Wanted | None:
    given = [change for change in changes if change is not None]
    if len(given) > 1:
        raise InputError(
            "a replay changes one thing, and several were named",
            hint="make several replays of it: --swap, --say, --drop, --answer-now, --ignore-tools, --extend, --repair",
            code="usage",
        )
    return given[0] if given else None


def _swap(content: str | None) -> Wanted | None:
    match content:
        case None | "null" | "placebo" | "gold" | "adversarial":
            return content
    try:
        return Swap(content="text", text=clean_text(Path(content).read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"--swap: cannot read {content}: {why_unreadable(error)}",
            hint="name a file, or one of null, placebo, gold, adversarial",
            code="unreadable_text",
        ) from None


def _said(text: str) -> Say:
    if not text.strip():
        raise InputError("--say: the text is empty", hint="leave --say out to draw anew", code="usage")
    return Say(text=clean_text(text))


def _extended(store: Path, trial: str, given: str) -> Extend:
    """The parent's budget with other limits. Raises InputError for what is no limit."""
    named = dict(part.strip().partition("=")[::2] for part in given.split(","))
    with Store(store) as opened:
        budget = opened.condition(opened.trace(trial).trial.condition).budget
    try:
        return Extend(budget=Budget.model_validate({**budget.model_dump(), **named}))
    except ValidationError as error:
        raise InputError(
            f"--extend: {explain(error, Budget)}",
            hint="as in turns=20,seconds=900",
            code="bad_budget",
        ) from None
