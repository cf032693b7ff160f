"""Everything that a store says of why its tools changed scores."""

from dataclasses import dataclass

from toolablate.analysis.attribution.error_types import ErrorTypes
from toolablate.analysis.attribution.evidence import Outline, Outlined
from toolablate.analysis.attribution.judged import JudgedDistraction
from toolablate.analysis.attribution.ledger import Ledger
from toolablate.analysis.noise import Floor
from toolablate.traces.records import JudgeMatrix, ReplayDesign


@dataclass(frozen=True, slots=True)
class AttributionReport:
    """Of trials under conditions with tools, beside those of the same questions without.

    design      by which trials are chosen to be replayed; None where nothing was
    ledgers     one for each model and condition
    floors      flips of each of these against the trials without tools, beside those of chance
    explained   the trials, each with what is made of it
    unreplayed  how many chosen trials still lack replays
    judged      how what was found drew models away, as judges read it
    errors      what kinds of errors judges see in wrong trials
    matrices    what these judges said of planted trials
    simulated   names of the models that are stand-ins and no measurement
    notes       what to know before reading the figures
    """

    design: ReplayDesign | None
    ledgers: tuple[Ledger, ...]
    floors: tuple[Floor, ...]
    explained: tuple[Outlined, ...]
    unreplayed: int = 0
    judged: tuple[JudgedDistraction, ...] = ()
    errors: tuple[ErrorTypes, ...] = ()
    matrices: tuple[JudgeMatrix, ...] = ()
    simulated: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()

    def floor(self, ledger: Ledger) -> Floor | None:
        return next((each for each in self.floors if _same(each, ledger)), None)

    def trials(self, ledger: Ledger) -> tuple[Outlined, ...]:
        return tuple(each for each in self.explained if _same(each.evidence, ledger))


def _same(one: Floor | Outline, ledger: Ledger) -> bool:
    return (one.model, one.condition) == (ledger.model, ledger.condition)
