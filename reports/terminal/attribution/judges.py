"""What judges read in wrong trials: hypotheses, kept apart from what was measured."""

from collections.abc import Iterator, Mapping, Sequence
from typing import get_args

from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from toolablate.analysis.attribution.confusion import DISTRACTIONS, confusion_of
from toolablate.analysis.attribution.correction import Share
from toolablate.analysis.attribution.error_types import ERROR_TYPES, ErrorRow, ErrorTypes
from toolablate.analysis.attribution.judged import JudgedDistraction
from toolablate.reports.terminal import numbers
from toolablate.reports.terminal.attribution.wording import distraction_name
from toolablate.reports.terminal.fitted import Blocks, Fitted, figures, names
from toolablate.traces.plain import inert, one_line
from toolablate.traces.records import Distraction, DistractionLabel, JudgeMatrix

_SHORT: Mapping[DistractionLabel, str] = {
    "misleading_adoption": "misled",
    "existence_as_norm": "norm",
    "over_engineering": "over-eng.",
    "none": "none",
}


def judged_view(judged: Sequence[JudgedDistraction]) -> Iterator[RenderableType]:
    """The measured points of retrieval distraction, as judges share them out, with the shares of trials and their
    intervals."""
    for each in judged:
        whose = f"{one_line(each.model)} {one_line(each.condition)}"
        parts = [
            f"{distraction_name(kind)} {numbers.signed(each.points[kind])} ({_share(each.shares.by_label[kind])})"
            for kind in get_args(Distraction)
            if kind in each.points
        ]
        told = ", ".join(parts) or "no label but none"
        trials = numbers.counted(each.shares.trials, "trial")
        why = each.shares.uncorrected
        how = f"Not corrected for the judge's errors: {why}" if why else "Corrected for its errors on planted trials"
        said = f"Retrieval distraction of {whose}, as {one_line(each.judge)} reads {trials}: {told}. {how}."
        yield Padding(Text(said), (0, 1, 1, 1))


def matrices_view(matrices: Sequence[JudgeMatrix]) -> Iterator[RenderableType]:
    """What each judge says of planted trials, beside what was planted."""
    for each in matrices:
        found = confusion_of(each)
        whose = (one_line(each.judge), "bold")
        yield Text.assemble(
            " What ", whose, f" (wording {each.wording}) says (across) of planted trials (down)", overflow="fold"
        )
        unlabelled = figures("no label", [str(found.unlabelled[true] or "") for true in DISTRACTIONS])
        yield Fitted(
            (
                names("true", [Text(_label_name(true)) for true in DISTRACTIONS]),
                *(
                    figures(_SHORT[said], [_count(found.counts[true][said], true == said) for true in DISTRACTIONS])
                    for said in DISTRACTIONS
                ),
                *([unlabelled] if any(found.unlabelled.values()) else []),
            )
        )
        right = found.right
        told = f"{right.count} of {numbers.counted(right.of, 'label')} right"
        share = right.share
        # Wilson's, of trials one by one: repeats of a question make it too narrow.
        between = (
            f", {100 * share.low:.0f}-{100 * share.high:.0f} % (95 % interval of independent trials)" if share else ""
        )
        yield Padding(Text(f"{told}{between}.", style="dim"), (0, 1, 1, 1))


def errors_view(errors: Sequence[ErrorTypes]) -> Iterator[RenderableType]:
    """The seven types of error by domain, a table for each judge."""
    for each in errors:
        yield Text.assemble(" Errors as ", (one_line(each.judge), "bold"), " reads them, in % of labelled wrong trials")
        rows = (*each.by_domain, each.overall) if len(each.by_domain) > 1 else (each.overall,)
        yield Blocks(
            names("domain", [*(inert(one_line(row.domain) or "(none)") for row in rows[:-1]), "all"]),
            (
                figures("trials", [str(row.labelled) for row in rows]),
                *(
                    figures(name.replace("_", " "), [_percent(row, place) for row in rows])
                    for place, name in enumerate(ERROR_TYPES)
                ),
            ),
        )
        if each.overall.unlabelled:
            unlabelled = numbers.counted(each.overall.unlabelled, "trial")
            yield Padding(Text(f"{unlabelled} got no label.", style="dim"), (0, 1, 1, 1))


def _share(share: Share) -> str:
    """Of all trials that were labelled, those with `none` among them."""
    between = "" if share.ci95 is None else f", {100 * share.ci95[0]:.0f} to {100 * share.ci95[1]:.0f}"
    return f"{100 * share.share:.0f} %{between}"


def _percent(row: ErrorRow, place: int) -> str:
    share = row.types[ERROR_TYPES[place]].share
    return numbers.percent(None if share is None else 100 * share.mean)


def _label_name(label: DistractionLabel) -> str:
    return "none" if label == "none" else distraction_name(label)


def _count(trials: int, agrees: bool) -> Text:
    return Text(str(trials) if trials else "", style="bold" if agrees else "")
