"""What one viewer's person labels by: the codebook, their queue, and whose attribution they have seen."""

from dataclasses import dataclass, field

from toolablate.analysis.codebooks.codebook import Codebook, built_in
from toolablate.analysis.labels.queue import LabelQueue
from toolablate.traces.records import MECHANISM_BOOK


@dataclass(frozen=True, slots=True, eq=False)
class LabelSession:
    """
    queue   from which trials come, None where they come from all failures
    open    attributions are shown while one labels
    hiding  trials whose page was opened to label them, so that it tells nothing of what is attributed to them
    seen    trials whose attribution this viewer has shown otherwise: a label of them is not blind
    """

    codebook: Codebook = field(default_factory=lambda: built_in(MECHANISM_BOOK))
    queue: LabelQueue | None = None
    open: bool = False
    hiding: set[str] = field(default_factory=set)
    seen: set[str] = field(default_factory=set)

    @property
    def sealed(self) -> bool:
        """Whether attributions stay hidden of trials that are labelled already: who labels a queue may come back."""
        return self.queue is not None and not self.open

    def chance(self, trial: str) -> float | None:
        """With which a trial was drawn into the queue."""
        items = self.queue.items if self.queue else ()
        return next((item.inclusion_probability for item in items if item.trial == trial), None)
