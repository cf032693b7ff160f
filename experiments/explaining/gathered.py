from dataclasses import dataclass

from toolablate.traces.analysis.attribution.evidence import Explained
from toolablate.traces.analysis.attribution.ledger import Ledger
from toolablate.traces.records import ReplayDesign


@dataclass(frozen=True, slots=True)
class Gathered:
    """What a store knows of its trials of conditions with tools.

    explained   the trials, in the order of the store
    design      the one that says which trials were to be replayed, None without any
    ledgers     by model and condition; none where one trial alone was asked for
    unreplayed  how many trials the design chooses that are not replayed yet: what is not known of them is unresolved
    notes       what makes all of this less than it could be, a sentence each
    """

    explained: tuple[Explained, ...]
    design: ReplayDesign | None
    ledgers: tuple[Ledger, ...]
    unreplayed: int
    notes: tuple[str, ...]
