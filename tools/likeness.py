"""How a tool words a result: what it says where there is nothing, and how it presents something that it found."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pydantic import JsonValue

Arguments = Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True)
class Likeness:
    """A tool's own words, for results that take the place of its own.

    Both functions get the arguments of the call, and give the output that a model is shown: `nothing` that of a call
    that worked and gave nothing, `finding` that of one that gave a text.
    """

    nothing: Callable[[Arguments], str]
    finding: Callable[[Arguments, str], str]


PLAIN = Likeness(nothing=lambda _: "(no result)", finding=lambda _, text: text)
"""Of a tool that presents its results in no form of its own."""
