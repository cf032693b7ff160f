"""All that a store says of why its tools changed scores."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.padding import Padding
from rich.text import Text

from toolablate.analysis import FEW_CLUSTERS, FEW_DIFFERING
from toolablate.analysis.attribution.ledger import Account, Ledger
from toolablate.analysis.attribution.report import AttributionReport
from toolablate.reports.terminal import numbers
from toolablate.reports.terminal.attribution.judges import errors_view, judged_view, matrices_view
from toolablate.reports.terminal.attribution.ledgers import GAIN, LOSS, SMALL, ledger_view
from toolablate.reports.terminal.attribution.trials import attributed_trials, trials_view
from toolablate.reports.terminal.numbers import SIGNIFICANT
from toolablate.traces.plain import plain_text

SHOWN_TRIALS = 20
_NOTHING = (
    "No trial with tools can be set against one of its question without. Run a plan with conditions of both kinds, such"
    " as 'none' and 'python', whose answers are scored."
)
HARMS = ("retrieval_distraction", "computation_misled", "computational_lock_in")


def attribution_view(report: AttributionReport, *, all_trials: bool = False) -> RenderableType:
    """Ledger by ledger, then the wrong trials: the first of them, unless `all_trials`."""
    return _Report(report, all_trials)


@dataclass(frozen=True, slots=True)
class _Report:
    report: AttributionReport
    all_trials: bool

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        report = self.report
        for ledger in report.ledgers:
            yield from ledger_view(
                ledger,
                report.floor(ledger),
                report.design,
                options.max_width,
                simulated=ledger.model in report.simulated,
            )
        if not report.ledgers:
            yield Text(_NOTHING, style="yellow")
        yield from judged_view(report.judged)
        yield from matrices_view(report.matrices)
        yield from errors_view(report.errors)
        yield from trials_view(report.explained, None if self.all_trials else SHOWN_TRIALS, report.simulated)
        notes = [*map(_sentence, report.notes), *_footnotes(report)]
        yield Padding(Text("\n".join(notes), style="dim"), (0, 1, 1, 1))


def _sentence(note: str) -> str:
    told = plain_text(note)
    return f"{told[:1].upper()}{told[1:]}{'' if told.endswith('.') else '.'}"


def _footnotes(report: AttributionReport) -> Iterator[str]:
    if report.unreplayed:
        yield "Replays that are missing are made by attribute --replay with the same shares and numbers of runs."
    if report.ledgers:
        yield from _of_ledgers(report.ledgers)
    if any(found.method != "replay" for _, found in attributed_trials(report.explained)):
        yield "An attribution by trace or judge is a hypothesis; only a replay shows what would have been."
    yield "What each figure means: docs/attribution.md."


def _of_ledgers(ledgers: Sequence[Ledger]) -> Iterator[str]:
    # Also those of rows that are left out, since they are 0 in every trial.
    tested = sum(each.p_value is not None for ledger in ledgers for each in ledger.mechanisms)
    corrected = f"; in colour: p Holm < {SIGNIFICANT:g}, corrected for {numbers.counted(tested, 'test')}"
    yield f"{GAIN} gain, {LOSS} loss{corrected if tested else ''}."
    yield "points: percentage points of score. Luck and the unresolved have no test: they are no mechanism."
    if any(each.points > 0 and each.name in HARMS for ledger in ledgers for each in ledger.mechanisms):
        yield "A harm's name with points above 0: gains of which there is no sign outweigh it."
    if any(each.points and each.name == "computation_misled" for ledger in ledgers for each in ledger.mechanisms):
        yield (
            "Misled by computation: what trials put down to computational lock-in lost where telling the model to set"
            " the computation aside did not bring the right answer back."
        )
    if any(each.small and each.ci95 for ledger in ledgers for each in _all(ledger)):
        few = f"fewer than {FEW_CLUSTERS} independent questions, or {FEW_DIFFERING} in which it is not 0"
        yield f"{SMALL}: {few}; do not rely on their intervals."


def _all(ledger: Ledger) -> tuple[Account, ...]:
    return (ledger.effect, *ledger.mechanisms)
