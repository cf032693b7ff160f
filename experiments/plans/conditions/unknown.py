"""What is said of a name that stands for no condition."""

from collections.abc import Sequence
from difflib import get_close_matches

from toolablate.experiments.plans.conditions.built_in import BUILT_IN
from toolablate.tools import tool_names
from toolablate.tools.own import registered
from toolablate.tools.text import one_line
from toolablate.traces.errors import InputError

_SHOWN_CHARS = 80


def unknown_condition(name: str, others: Sequence[str] = ()) -> InputError:
    """`others` are names that may have been meant, besides those of conditions, tools and toolsets."""
    there_are = (*BUILT_IN, *sorted(registered("conditions")))
    return InputError(
        f"conditions: there is no built-in condition {one_line(name, _SHOWN_CHARS)!r}",
        hint=f"{_meant(name, [*there_are, *tool_names(), *others])}built in are: {', '.join(there_are)}; an arm of a"
        " ladder is python:sham, with any tool or toolset before the colon; a condition of your own is a table with"
        " its tools or prompt, or module:name",
        code="unknown_condition",
    )


def no_arm(stem: str, suffix: str, arms: Sequence[str]) -> InputError:
    """`arms` are the names of those that the ladder has."""
    return InputError(
        f"conditions: the ladder of {one_line(stem, _SHOWN_CHARS)!r} has no arm {one_line(suffix, _SHOWN_CHARS)!r}",
        hint=f"{_meant(f'{stem}:{suffix}', arms)}its arms: {', '.join(arms)}",
        code="unknown_condition",
    )


def _meant(name: str, known: Sequence[str]) -> str:
    near = get_close_matches(name[:_SHOWN_CHARS], known, n=1)
    return f"did you mean {near[0]!r}? " if near else ""
