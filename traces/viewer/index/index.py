from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from toolablate.traces.analysis.findings import Findings
from toolablate.traces.analysis.selection import Selection
from toolablate.traces.viewer.index.records import ArmCounts, Facets, QuestionPage, QuestionRow, Sort, TrialRow


class Index(Protocol):
    """What the pages ask. Safe to be used by several threads; each call sees one moment of the store."""

    path: Path

    def version(self) -> int:
        """Rises with whatever changes what a page shows."""

    def arms(self) -> tuple[ArmCounts, ...]: ...

    def facets(self) -> Facets: ...

    def findings(self) -> Findings | None:
        """None while nothing is computed yet."""

    def questions(
        self, selection: Selection, *, sort: Sort = "order", descending: bool = False, page: int = 1, size: int = 50
    ) -> QuestionPage:
        """One page of the questions selected; the last where `page` is beyond it."""

    def question(self, question: str) -> QuestionRow:
        """By its id. Raises InputError where there is none."""

    def trial(self, trial: str) -> TrialRow:
        """By its id, or its beginning where only one begins so. Raises InputError where there is none, or several."""

    def neighbours(self, trial: str, selection: Selection, *, sort: Sort, descending: bool) -> Sequence[str | None]:
        """The trials before and after this one among those selected, in the order of the table; None at its ends."""
