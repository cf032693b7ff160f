"""What looks at every result that comes from outside, before a model sees it."""

from dataclasses import dataclass
from typing import Protocol

from toolablate.traces.records import Marker


@dataclass(frozen=True, slots=True)
class Inspection:
    """What was noticed in one text, and whether the plan keeps it from the model."""

    markers: tuple[Marker, ...] = ()
    blocked: bool = False

    def markers_at(self, where: str) -> tuple[Marker, ...]:
        """What was noticed, and where it is withheld, that too."""
        return (*self.markers, Marker(kind="withheld", where=where)) if self.blocked else self.markers


class Guard(Protocol):
    """Looks at texts for one question; the same for every condition. Never alters a text.

    `text` is empty where only the address is known yet.
    """

    def inspect(self, url: str, text: str) -> Inspection: ...


class NoGuard:
    """Notices nothing."""

    def inspect(self, url: str, text: str) -> Inspection:
        return Inspection()


class Guards:
    """Several as one: what any of them notices, in their order; blocked where one of them blocks."""

    def __init__(self, *guards: Guard) -> None:
        self._guards = guards

    def inspect(self, url: str, text: str) -> Inspection:
        inspections = [guard.inspect(url, text) for guard in self._guards]
        markers = tuple(marker for inspection in inspections for marker in inspection.markers)
        return Inspection(markers, any(inspection.blocked for inspection in inspections))
