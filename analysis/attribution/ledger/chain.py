"""What is known of one trial on the way from no tools to what it scored."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from toolablate.analysis.pairing import Unit

Scores = tuple[float, ...]
"""Of runs that differ in nothing but chance, in [0, 1]; of none where nothing was run."""

ToolKind = Literal["search", "code", "other"]
"""Whose results a trial has: searches and the pages that they lead to, the code interpreter, any other tool."""

Signal = Literal["lock_in", "computed", "answer_leak", "retrieved"]
"""What a trial's trace, belief or judge tells of it: that the belief falls at the code or its output and never
recovers, and setting the computation aside restores it; that code found what the model did not know; that the answer
stood in what a search found; that the search found what the model did not know."""


@dataclass(frozen=True, slots=True)
class Arms:
    """Scores of a question under the arms of the ladder, each from the start. A condition without a prompt has the
    scores of `none` as its `scaffold`.

    Those of `none` are as they are. `bare` are the same with lost formats mended, as those of all other arms are; empty
    where none is lost, None where some are and nobody asked for them again. Of another arm there are none then.
    """

    none: Scores
    scaffold: Scores = ()
    offered: Scores = ()
    sham: Scores = ()
    placebo: Scores = ()
    bare: Scores | None = ()

    def __post_init__(self) -> None:
        if not self.none:
            raise ValueError("without a score of the question without tools there is no effect to take apart")


@dataclass(frozen=True, slots=True)
class Replay:
    """What a trial comes to with one more thing changed, each on top of the changes before it. Where there is nothing
    to change, as where the budget did not run out, the scores are those of the level before. Lost formats are mended at
    every level.

    extended  with the budget extended
    repaired  with the errors of tools repaired
    rollouts  with the reasoning drawn again after the same results, by the kinds of tools whose results were swapped
              for placebo ones: by none of them, by all, and where several were used by each choice of them
    signals   by other runs than `rollouts`: a signal that is a sign of their noise would make that noise a mechanism
    mended    what the same answer scores with its format mended, where the chain does not know it
    """

    extended: Scores = ()
    repaired: Scores = ()
    rollouts: Mapping[frozenset[ToolKind], Scores] = field(default_factory=dict)
    signals: frozenset[Signal] = frozenset()
    mended: Scores = ()


@dataclass(frozen=True, slots=True)
class Chain:
    """One trial of a condition with tools.

    unit         the independent unit of its question
    tools        kinds of tools whose results it has
    mended       what the same answer scores with its format mended; None where only a replay can tell
    probability  with which a trial like it was to be replayed; it may depend on its score
    replay       None where it was not
    """

    model: str
    condition: str
    question: str
    unit: Unit
    trial: str
    score: float
    arms: Arms
    tools: frozenset[ToolKind] = frozenset()
    mended: float | None = None
    probability: float = 0.0
    replay: Replay | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.probability <= 1 or (self.replay is not None and not self.probability):
            raise ValueError(f"trial {self.trial}: replayed with a probability of {self.probability}")
