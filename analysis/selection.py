"""Which trials, and by them which questions, a figure, a table or a page is about."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Ending = Literal["correct", "partial", "wrong", "unparsed", "unscored", "budget", "failed"]
"""A verdict; of a trial that is not right after all, `budget` and `failed` by its outcome."""

Turn = Literal["right_to_wrong", "wrong_to_right", "both_right", "both_wrong"]


@dataclass(frozen=True, slots=True)
class Selection:
    """Of each field some values are allowed, all where it is empty.

    A trial is selected where it fits every field; a question where one of its trials is. `flips` are of a question
    under the trial's condition against the baseline, of the same model; `tools` were called in the trial; `labels` are
    mechanisms that people gave it. `text` is looked for in the question and in the answers that were read from replies,
    whatever its case. `unlabelled` names a person: of failures to which something is attributed (before anything is,
    of those under another condition than the baseline) the ones of whose cause they hold nothing.
    """

    models: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    domains: tuple[str, ...] = ()
    difficulties: tuple[str, ...] = ()
    endings: tuple[Ending, ...] = ()
    flips: tuple[Turn, ...] = ()
    mechanisms: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    text: str = ""
    unlabelled: str = ""


Link = Callable[[Selection], str]
"""The address of a page that lists what is selected."""
