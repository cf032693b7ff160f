"""Functions that cannot be interventions."""

import threading
from collections.abc import Callable
from typing import Any

import pytest

from toolablate.tools import Call, ToolResult, intervention
from toolablate.traces.errors import InputError


def no_parameter() -> str:
    return ""


def no_annotation(result) -> str:  # type: ignore[no-untyped-def]
    return ""


def other_first(text: str) -> str:
    return ""


def other_second(result: ToolResult, text: str) -> str:
    return ""


def option_by_position(result: ToolResult, call: Call, chars: int) -> str:
    return ""


def any_options(result: ToolResult, **options: int) -> str:
    return ""


def bare_option(result: ToolResult, *, chars) -> str:  # type: ignore[no-untyped-def]
    return ""


def scope_option(result: ToolResult, *, calls: int) -> str:
    return ""


def odd_option(result: ToolResult, *, lock: threading.Event) -> str:
    return ""


def unknown_type(result: "Resultat") -> str:  # type: ignore[name-defined]  # noqa: F821
    return ""


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (no_parameter, "it does not take a result, or a result and a call"),
        (no_annotation, "the parameter 'result' has no type annotation"),
        (other_first, "it does not take a result"),
        (other_second, "it does not take a result"),
        (option_by_position, "it does not take a result"),
        (any_options, "**options: int cannot be called by name"),
        (bare_option, "the parameter 'chars' has no type annotation"),
        (scope_option, "an option cannot be called 'calls'"),
        (odd_option, "Unable to generate pydantic-core schema"),
        (unknown_type, "its annotations cannot be read: name 'Resultat' is not defined"),
    ],
)
def test_a_function_that_cannot_be_one_is_refused_at_once(function: Callable[..., Any], said: str) -> None:
    with pytest.raises(InputError) as refused:
        intervention(function)
    assert said in refused.value.message
    assert repr(function.__name__) in refused.value.message
    assert refused.value.code == "bad_intervention"
