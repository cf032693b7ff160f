from dataclasses import dataclass
from typing import Generic, TypeVar

from toolablate.analysis.attribution.decomposition import Ledger
from toolablate.analysis.attribution.evidence import Outlined
from toolablate.traces.records import ReplayDesign

T = TypeVar("T", bound=Outlined)


@dataclass(frozen=True, slots=True)
class Gathered(Generic[T]):
    """What a store knows of its trials of conditions with tools.

    explained   the trials, in the order of the store, with all evidence or in outline
    design      the one that says which trials were to be replayed, None without any
    ledgers     by model and condition; none where one trial alone was asked for
    unreplayed  how many trials the design chooses that are not replayed yet: what is not known of them is unresolved
    notes       what makes all of this less than it could be, a sentence each
    """

    explained: tuple[T, ...]
    design: ReplayDesign | None
    ledgers: tuple[Ledger, ...]
    unreplayed: int
    notes: tuple[str, ...]
