"""A figure with what can be read off it, pointed at and followed."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True)
class Mark:
    """What a part of a figure says to who points at it, and where it leads; nowhere where `href` is None."""

    text: str
    href: str | None = None


@dataclass(frozen=True, slots=True)
class Drawing:
    """title  what the figure shows, in a few words; `about` says how to read it
    marks  by the gid of the artists that they belong to
    form   the name of what it was drawn for (see rows.Form); nothing of what is drawn in one form alone
    """

    figure: "Figure"
    title: str
    about: str
    marks: Mapping[str, Mark]
    form: str = ""
