"""What went wrong: failed trials, damage and differences of stores, calls of tools not offered, misses of the web."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from toolablate.analysis.effect import SIGNIFICANT
from toolablate.analysis.misses import CutInputs, MissDifference, MissRate, RefusedCalls
from toolablate.reports import numbers
from toolablate.reports.numbers import counted
from toolablate.reports.tables import Fitted, figures, names
from toolablate.traces.records import Model, Refusal
from toolablate.traces.store import FailureCount, VerifyReport
from toolablate.traces.store.merging import MergeReport
from toolablate.traces.store.same_as import SameReport, TraceDifference
from toolablate.traces.terminal_text import ID_CHARS, inert, one_line, plain_text

MAX_FAILURES = 5


def failures_view(failures: Sequence[FailureCount]) -> RenderableType:
    """Why trials failed, a line or two for each reason; nothing where none did. A message can be left out, where it was
    told before."""
    several = len({failure.model for failure in failures}) > 1
    lines = [line for failure in failures[:MAX_FAILURES] for line in _lines(failure, several)]
    rest = failures[MAX_FAILURES:]
    if rest:
        lines.append(Text(f"{sum(failure.count for failure in rest):,} more for {len(rest)} other reasons."))
    return Group(*lines)


def _lines(failure: FailureCount, several: bool) -> list[Text]:
    what, _, hint = failure.message.strip().partition("\n")
    code = failure.code.replace("_", " ")
    reason = f"{failure.boundary} {code}{f': {what}' if what else ''}" if failure.boundary else "no reason was recorded"
    head = Text(f"{counted(failure.count, 'trial')} failed", style="bold red")
    if several:
        head.append_text(inert(f" ({one_line(failure.model)})"))
    where = f" (for instance trial {failure.trial[:ID_CHARS]})"
    lines = [Text.assemble(head, ": ", one_line(reason, max_chars=400), (where, "dim"), overflow="fold")]
    if hint.strip():
        lines.append(Text(f"  {one_line(hint, max_chars=400)}", overflow="fold"))
    return lines


MAX_DAMAGED = 50


def verify_view(report: VerifyReport) -> RenderableType:
    """What was checked, what is damaged, and how far the run is."""
    checked = ", ".join(f"{count:,} {name}" for name, count in report.checked.items() if count and name != "structure")
    lines = [Text.assemble((one_line(report.path), "bold"), f": checked {checked or 'nothing'}")]
    lines += [
        Text.assemble(("  damaged  ", "bold red"), (one_line(problem.where), "bold"), ": ", one_line(problem.what))
        for problem in report.problems[:MAX_DAMAGED]
    ]
    if len(report.problems) > MAX_DAMAGED:
        lines.append(Text(f"  and {len(report.problems) - MAX_DAMAGED:,} more (--json lists them)", style="red"))
    lines.append(_standing(report))
    if report.ok:
        lines.append(Text("Nothing is damaged.", style="bold green"))
    else:
        lines.append(
            Text(f"{counted(len(report.problems), 'problem')}. All other trials are readable.", style="bold red")
        )
    return Group(*lines)


def _standing(report: VerifyReport) -> Text:
    counts = [
        (report.failed, "failed"),
        (report.unfinished, "begun and not ended"),
        (report.pending, "not begun"),
        (report.unscored, "not scored"),
    ]
    rest = "".join(f", {count:,} {name}" for count, name in counts if count)
    return Text(f"{report.finished:,} of {counted(report.planned, 'planned trial')} are finished{rest}.")


MAX_DIFFERING = 50


def same_lines(report: SameReport) -> Iterator[str]:
    """How a replay compares with what it replays, a line for each trial that differs."""
    compared = report.same + len(report.differences)
    yield plain_text(f"{report.same:,} of {compared:,} trials are the same in {report.there}.")
    for difference in report.differences[:MAX_DIFFERING]:
        yield plain_text(_line(difference))
    if len(report.differences) > MAX_DIFFERING:
        yield f"  and {len(report.differences) - MAX_DIFFERING:,} more (--json lists them)"
    if any(difference.kind == "answered_later" for difference in report.differences):
        yield "Trials answered later will match once the recording plan has run them again."
    if report.failed:
        yield f"{report.failed:,} trials failed in both with the same code; they are not compared further."
    for count, where in ((report.only_here, "here"), (report.only_there, "there")):
        if count:
            ending = "not compared." if report.partial else "a difference (unless --partial)."
            yield f"{count:,} trials have ended only {where}; {ending}"
    if not report.same:
        yield "No trial is the same: nothing was verified."


def _line(difference: TraceDifference) -> str:
    trial = f"trial {difference.trial[:12]}"
    if difference.kind == "answered_later":
        return f"  answered later  {trial}: failed there, answered here: the cache got the reply later"
    return f"  differs  {trial}: {difference.path}: here {difference.here}, there {difference.there}"


def merge_lines(report: MergeReport) -> Iterator[str]:
    """What a merge took from where, and what it left out."""
    for store, taken in report.taken.items():
        parts = ", ".join(counted(count, name[:-1]) for name, count in report.parts[store].items())
        yield f"{store}: {counted(taken, 'finished trial')}, of {parts}"
    if report.same:
        yield f"{counted(report.same, 'finished trial')} of several stores had one record."
    for line in report.left_out[:MAX_DIFFERING]:
        yield f"  left out: {line}"
    if len(report.left_out) > MAX_DIFFERING:
        yield f"  and {len(report.left_out) - MAX_DIFFERING:,} more (--json lists them)"
    if report.renamed:
        yield f"Names or prices of {counted(report.renamed, 'record')} differ; those of the first store count."


def differing_models(models: Iterable[Model]) -> Iterator[str]:
    """Of models that share a name, in what they differ: a comparison shows each apart."""
    named: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for model in models:
        named[model.name].append(model.model_dump(mode="json"))
    for name, several in named.items():
        known = {key for each in several for key in each}
        if keys := sorted(key for key in known if any(each.get(key) != several[0].get(key) for each in several)):
            of = f"{len(several)} models are named {one_line(name)}, which differ in {', '.join(keys)}"
            yield f"Warning: {of}: a comparison shows each of them apart."


# Warns of models that called tools which their condition does not let them call.


SHOWN = 4
"""How many tools a note names."""

_THAT: dict[Refusal, str] = {
    "unknown_tool": "tools that it was not offered",
    "not_allowed": "tools that were offered and may not be called",
}
_THEN = (
    "Scores of such a condition are lower than the model's own: compare with a condition whose prompt says which tools"
    " there are, or that there are none; see docs/conditions.md."
)


def refused_notes(rows: Sequence[RefusedCalls]) -> Iterator[str]:
    """A sentence for each row, and one that says what to do; nothing where there is none."""
    for row in rows:
        named = [f"{one_line(tool, max_chars=40) or '(no name)'} {count:,}" for tool, count in row.tools.items()]
        more = f" and {len(named) - SHOWN:,} more" if len(named) > SHOWN else ""
        yield (
            f"{one_line(row.condition)}: {one_line(row.model)} called {_THAT[row.why]} in {row.called_in:,} of"
            f" {counted(row.trials, 'trial')} ({counted(row.calls, 'call')}: {', '.join(named[:SHOWN])}{more});"
            " its turns went to them."
        )
    if rows:
        yield _THEN


def refused_view(rows: Sequence[RefusedCalls]) -> RenderableType | None:
    """The same as a warning below a table; None where there is nothing to warn of."""
    if not rows:
        return None
    return Text("\n").join(
        Text.assemble((" Warning: ", "bold yellow"), note) if number < len(rows) else Text(f" {note}")
        for number, note in enumerate(refused_notes(rows))
    )


def cut_notes(rows: Sequence[CutInputs]) -> Iterator[str]:
    """A sentence for each row."""
    for row in rows:
        of_all = f"{row.cut:,} of {counted(row.trials, 'trial')}"
        yield (
            f"{one_line(row.condition)}: the question was cut to the condition's input_tokens in {of_all} of"
            f" {one_line(row.model)} ({counted(row.questions, 'question')})."
        )


def cut_view(rows: Sequence[CutInputs]) -> RenderableType | None:
    """The same below a table; None where nothing was cut."""
    if not rows:
        return None
    return Text("\n").join(Text.assemble((" Note: ", "bold"), note) for note in cut_notes(rows))


LARGE_POINTS = 5.0
"""A difference that could change a result; named also where it is not significant."""

KINDS = {
    "not_in_archive": "not in archive",
    "recorded_error": "recorded error",
    "blocked_by_policy": "blocked",
    "after_cutoff": "after cutoff",
}


def misses_view(rates: Sequence[MissRate], differences: Sequence[MissDifference]) -> RenderableType | None:
    """What the archive could not give and what gave an answer away, by condition; None where there is neither."""
    if not any(row.misses or row.leaked_trials or row.withheld_trials for row in rates):
        return None
    return Group(Text(" The web, by condition", style="bold"), _table(rates), *_confounds(differences))


def _table(rates: Sequence[MissRate]) -> Fitted:
    kinds = [kind for kind in KINDS if any(row.misses.get(kind) for row in rates)]
    columns = [
        names("model", [inert(one_line(row.model)) for row in rates], common=True),
        names("condition", [inert(one_line(row.condition)) for row in rates]),
        figures("lookups", [f"{row.lookups:,}" for row in rates]),
        figures("missed %", [numbers.percent(row.rate) for row in rates]),
        *(figures(KINDS[kind], [f"{row.misses.get(kind, 0):,}" for row in rates]) for kind in kinds),
    ]
    if any(row.leaked_trials for row in rates):
        columns.append(figures("trials with a leak", [f"{row.leaked_trials:,}" for row in rates]))
    if any(row.withheld_trials for row in rates):
        columns.append(figures("with results withheld", [f"{row.withheld_trials:,}" for row in rates]))
    return Fitted(tuple(columns))


def _confounds(differences: Sequence[MissDifference]) -> list[Text]:
    """What is sure to differ, and what may well, where there are too few questions to be sure."""
    lines = []
    for each in differences:
        sure = each.p_value < SIGNIFICANT
        if not sure and abs(each.points) < LARGE_POINTS:
            continue
        heading = " A confound: " if sure else " Perhaps a confound: "
        verdict = (
            "these conditions did not see the same web"
            if sure
            else "there are too few questions to tell it from chance"
        )
        lines.append(
            Text.assemble(
                (heading, "bold yellow"),
                f"under {one_line(each.conditions[1])} lookups were missed {abs(each.points):.1f} points"
                f" {'more' if each.points > 0 else 'less'} often than under {one_line(each.conditions[0])}"
                f" ({one_line(each.model)}, p {numbers.p_value(each.p_value)}); {verdict}.",
            )
        )
    return lines
