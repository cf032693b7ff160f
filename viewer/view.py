from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from toolablate.analysis.attribution.evidence import Explanation
from toolablate.viewer.index import Index


@dataclass(frozen=True, slots=True)
class View:
    """What the pages of one viewer are made of.

    token    what a browser shows once to be let in
    explain  why a trial went as it did, by its whole id; None where there is nothing to explain
    person   the name under which labels are kept; `blind` hides what the attribution says of a trial until that person
             has said what they hold for its cause
    """

    store: Path
    index: Index
    token: str
    explain: Callable[[str], Explanation | None]
    person: str
    blind: bool = False

    @property
    def hidden_from(self) -> str:
        """The name of the person that labels blind, "" where nothing is hidden."""
        return self.person if self.blind else ""
