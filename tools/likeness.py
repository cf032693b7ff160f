"""How a tool words a result: what it says where there is nothing, and how it presents something that it found."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from pydantic import JsonValue

Arguments = Mapping[str, JsonValue]

Form = Literal["code", "results", "page", "matches", "plain"]
"""How an output is built: what a program printed, a list of search results, a part of a page, lines found in a page;
`plain` where nothing is known of it."""


@dataclass(frozen=True, slots=True)
class Likeness:
    """A tool's own words, for results that take the place of its own.

    Both functions get the arguments of the call, and give the output that a model is shown: `nothing` that of a call
    that worked and gave nothing, `finding` that of one that gave a text. `form` says how its own outputs are built.
    """

    nothing: Callable[[Arguments], str]
    finding: Callable[[Arguments, str], str]
    form: Form = "plain"


NO_OUTPUT = "(no output)"

PLAIN = Likeness(nothing=lambda _: NO_OUTPUT, finding=lambda _, text: text)
"""Of a tool that presents its results in no form of its own."""
