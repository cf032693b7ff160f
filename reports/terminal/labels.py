"""What people hold for the causes of failures."""

import shlex
from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from toolablate.analysis import FEW_CLUSTERS
from toolablate.analysis.attribution.naming import mechanism_name
from toolablate.analysis.labelling import TOO_FEW, Held, LabelAgreement, LabelReport
from toolablate.reports.terminal.attribution.wording import chance, distraction_name
from toolablate.reports.terminal.fitted import Fitted, figures, names, words
from toolablate.reports.terminal.numbers import MINUS, counted
from toolablate.traces.plain import ID_CHARS, inert, one_line
from toolablate.traces.records import Mechanism

_NOTE_CHARS = 80
_SHOWN = 30


def labels_view(report: LabelReport, store: str) -> RenderableType:
    """The labels, newest last, then the agreement with the attribution and between people. `store` is the path by which
    commands name the store."""
    if not report.held:
        return Text(
            f"Nobody has given a label yet. Give some on the pages of: toolablate view {shlex.quote(store)}",
            overflow="fold",
        )
    title = f" Labels: {len(report.held):,}"
    if len(report.held) > _SHOWN:
        title += f" (the last {_SHOWN}; all of them: --csv, --json)"
    parts: list[RenderableType] = [Text(title, style="bold"), _labels(report.held[-_SHOWN:])]
    if report.with_attribution:
        parts += [Text(" People and the attribution", style="bold"), _agreements(report.with_attribution)]
    if report.between_people:
        parts += [Text(" People among themselves", style="bold"), _agreements(report.between_people)]
    return Group(*parts, Padding(Text("\n".join(_notes(report)), style="dim"), (0, 1, 1, 1)))


def agreement_words(row: LabelAgreement) -> str:
    """`.62 (.41 to .80)`, or why there is no kappa."""
    if row.units < TOO_FEW:
        return f"too few to say, {counted(TOO_FEW - row.units, 'question')} short"
    if row.kappa is None:
        return "all of one kind"
    between = "" if row.ci95 is None else f" ({_kappa(row.ci95[0])} to {_kappa(row.ci95[1])})"
    return f"{_kappa(row.kappa)}{between}"


def _labels(found: Sequence[Held]) -> RenderableType:
    return Fitted(
        (
            words("trial", [each.label.trial[:ID_CHARS] for each in found]),
            names("question", [inert(one_line(each.question)) for each in found], cut=True),
            names("person", [inert(one_line(each.label.person)) for each in found]),
            words("says", [_says(each) for each in found]),
            words("attribution now", [_name(each.mechanism) for each in found]),
            words("blind", ["blind" if each.label.blind else "" for each in found]),
            names("note", [inert(one_line(each.label.note, max_chars=_NOTE_CHARS)) for each in found]),
        )
    )


def _says(each: Held) -> Text:
    how = f" ({distraction_name(each.label.distraction)})" if each.label.distraction else ""
    return Text(f"{_name(each.label.mechanism)}{how}", style="" if each.agrees is not False else "bold")


def _name(mechanism: Mechanism | None) -> str:
    return "-" if mechanism is None else mechanism_name(mechanism)


def _agreements(rows: Sequence[LabelAgreement]) -> RenderableType:
    between = rows[0].other is not None
    return Fitted(
        (
            names("person", [inert(one_line(row.person)) for row in rows]),
            names("and", [inert(one_line(row.other or "")) for row in rows])
            if between
            else words("attribution by", [row.method or "" for row in rows]),
            words("read", ["blind" if row.blind else "seen" for row in rows]),
            figures("trials", [str(row.trials) for row in rows]),
            figures("agreed", [str(row.agreed) for row in rows]),
            words("κ", [agreement_words(row) + ("*" if row.small and row.ci95 else "") for row in rows]),
        )
    )


def _notes(report: LabelReport) -> Iterator[str]:
    yield (
        f"κ: Cohen's kappa over mechanisms, with its 95 % interval over questions; not told below {TOO_FEW} of them."
        " blind: the attribution was hidden; who sees it first tends to agree with it."
    )
    if any(row.small and row.ci95 for row in (*report.with_attribution, *report.between_people)):
        yield f"*: fewer than {FEW_CLUSTERS} questions; do not rely on the interval."
    if report.unattributed:
        yield f"{counted(report.unattributed, 'label')} of trials to which nothing is attributed: in no kappa with it."
    if report.changed:
        changed = counted(report.changed, "label")
        yield f"{changed} of trials to which something else was attributed when they were read."


def _kappa(value: float) -> str:
    return chance(value) if value >= 0 else MINUS + chance(-value)
