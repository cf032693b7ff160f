"""What is looked at before a plan is run, and how far scorers agree: `toolablate power`, `doctor` and `agreement`."""

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from toolablate.analysis.power import Aim, PowerTable, power_json
from toolablate.api.plans import Plan, plan_given
from toolablate.api.results import Shown
from toolablate.api.threads import apart, apart_async
from toolablate.api.words import offered
from toolablate.experiments.doctor import CheckResult, examine, findings_view, fit_to_run
from toolablate.experiments.environment.web import silent
from toolablate.experiments.plan_power import Assumed, plan_power
from toolablate.traces.commands import tell_left_out
from toolablate.traces.errors import InputError

if TYPE_CHECKING:
    from toolablate.analysis.agreement.gradings import Disagreement
    from toolablate.analysis.agreement.report import Graded
    from toolablate.experiments.node_checks import CheckedNode
    from toolablate.formats.frames import Library


@dataclass(frozen=True, slots=True, repr=False)
class Power(Shown):
    """The smallest differences that a plan can detect, by its number of repeats."""

    table: PowerTable

    @property
    def json(self) -> Any:
        """What `toolablate power --json` prints."""
        return json.loads(power_json(self.table))

    def print(self, console: Console) -> None:
        from toolablate.reports.terminal.power import power_view

        console.print(power_view(self.table))


@offered(**{"from": "earlier"})
def power(
    plan: Plan | str | PathLike[str],
    *,
    effect: float | None = None,
    power: float = 0.8,
    alpha: float = 0.05,
    earlier: str | PathLike[str] | None = None,
    between: float | None = None,
    within: float | None = None,
) -> Power:
    """Minimum detectable effects of a plan, before it is run, as `toolablate power` shows them; nothing is asked.

    effect    in points: also the number of questions that detects it
    power     the probability with which an effect is to be found, by a two-sided test at level `alpha`
    earlier   a store to estimate variances from (`--from`)
    between   variance of the true difference over questions; `within` that of a trial's score within a question

    Raises InputError, and StoreError of the earlier store.
    """
    loaded, _ = plan_given(plan)
    store = None if earlier is None else Path(earlier)
    return Power(plan_power(loaded, Aim(power, alpha, effect), assumed=Assumed(between, within), earlier=store))


@dataclass(frozen=True, slots=True, repr=False)
class Checked(Shown):
    """What `toolablate doctor` finds; `ok` where nothing needed is missing. `nodes` are those of a cluster, where these
    were tried: then each has one of the `findings`."""

    findings: tuple[CheckResult, ...]
    ok: bool
    nodes: "tuple[CheckedNode, ...]" = ()

    @property
    def frame(self) -> Any:
        """A row for each finding: pandas, or else polars."""
        from toolablate.formats.frames import frame_of_rows

        return frame_of_rows([asdict(finding) for finding in self.findings], None)

    @property
    def json(self) -> Any:
        """What `toolablate doctor --json` prints."""
        if self.nodes:
            from toolablate.experiments.node_checks import as_json

            return json.loads(as_json(self.nodes))
        return {"findings": [asdict(finding) for finding in self.findings]}

    def print(self, console: Console) -> None:
        console.print(findings_view(self.findings))


@offered()
def doctor(plan: Plan | str | PathLike[str] | None = None, *, cluster: str | None = None) -> Checked:
    """What works on this machine, and what a plan needs of it, with the remedy for what is missing. Each sandbox
    backend is tried; no model is asked.

    cluster   the address of a Ray cluster ("auto", "local" or HOST:PORT; "" for the plan's own): each of its nodes is
              tried for the plan, instead

    Raises InputError for a plan that is none, and for a cluster that cannot be had."""
    return apart(lambda: _examined(plan, cluster))


@offered()
async def doctor_async(plan: Plan | str | PathLike[str] | None = None, *, cluster: str | None = None) -> Checked:
    """As `doctor`, beside what else the event loop does."""
    return await apart_async(lambda: _examined(plan, cluster))


def _examined(plan: Plan | str | PathLike[str] | None, cluster: str | None) -> Checked:
    loaded = None if plan is None else plan_given(plan)[0]
    if cluster is not None:
        from toolablate.experiments import node_checks

        if loaded is None:
            raise InputError("--cluster needs a plan", hint="doctor(plan, cluster=...)", code="usage")
        nodes = node_checks.examine_nodes(loaded, cluster, tell=silent)
        return Checked(tuple(node.in_a_line for node in nodes), node_checks.fit_to_run(nodes), tuple(nodes))
    found = examine(loaded)
    return Checked(tuple(found), fit_to_run(found, loaded))


@dataclass(frozen=True, slots=True, repr=False)
class Agreement(Shown):
    """How far scorers agree on the same trials, and how noisy judges are."""

    graded: "Graded"

    @property
    def disagreements(self) -> "tuple[Disagreement, ...]":
        """The trials that two scorers differ on."""
        return tuple(self.graded.disagreements())

    @property
    def json(self) -> Any:
        """What `toolablate agreement --json` prints."""
        from toolablate.analysis.agreement.report import agreement_json

        return json.loads(agreement_json(self.graded.report()))

    def print(self, console: Console) -> None:
        from toolablate.reports.terminal.agreement import agreement_view

        console.print(agreement_view(self.graded.report()))
        tell_left_out(console, self.graded.left_out)


def agreement(store: Path, *, run: str, scorers: Sequence[str]) -> Agreement:
    from toolablate.analysis.agreement.report import read_graded

    return Agreement(read_graded(store, run=run, scorers=tuple(scorers), with_answers=True))


@dataclass(frozen=True, slots=True, repr=False)
class Labels(Shown):
    """How far people's labels agree with attributions, judges and each other."""

    store: Path
    report: Any

    @property
    def frame(self) -> Any:
        """The labels, with the columns of `toolablate agreement --labels --csv`: pandas, or else polars."""
        return self.to_frame()

    def to_frame(self, library: "Library | None" = None) -> Any:
        import csv
        import io

        from toolablate.analysis.labels.report import labels_csv
        from toolablate.formats.frames import frame_of_rows

        return frame_of_rows(list(csv.DictReader(io.StringIO(labels_csv(self.report.held)))), library)

    @property
    def json(self) -> Any:
        """What `toolablate agreement --labels --json` prints."""
        from toolablate.analysis.labels.report import labels_json

        return json.loads(labels_json(self.report))

    def print(self, console: Console) -> None:
        from toolablate.reports.terminal.agreement import labels_view

        console.print(labels_view(self.report, str(self.store)))


def labels(store: Path, *, people: Sequence[str], scorer: str | None) -> Labels:
    from toolablate.experiments.attribution.store_report import read_labels

    return Labels(store, read_labels(store, people=tuple(people), scorer=scorer))


def tell_indexed(done: int, of: int) -> None:
    """A large store's texts take minutes, once."""
    if of >= 1_000:
        sys.stderr.write(f"indexed {done:,} of {of:,} trials, once\n")
