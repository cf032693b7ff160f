"""How far scorers agree with each other, and people's labels with attributions, in a terminal."""

import shlex
from collections.abc import Iterator, Sequence
from itertools import groupby

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from toolablate.analysis.agreement.gradings import Disagreement
from toolablate.analysis.agreement.judge_noise import JudgeNoise, Regraded
from toolablate.analysis.agreement.report import Agreement, AgreementReport
from toolablate.analysis.agreement.shift import Shift
from toolablate.analysis.attribution.report import mechanism_name
from toolablate.analysis.codebooks.codebook import BUILT_IN
from toolablate.analysis.effect import FEW_CLUSTERS, FEW_DIFFERING, SIGNIFICANT
from toolablate.analysis.labels.agreement import TOO_FEW, LabelAgreement, Reliability
from toolablate.analysis.labels.error_types import ERROR_TYPES, NamedTypes, TypeShare
from toolablate.analysis.labels.held import Held
from toolablate.analysis.labels.report import LabelReport
from toolablate.reports import numbers
from toolablate.reports.cause_wording import chance, distraction_name, error_type_name
from toolablate.reports.numbers import MINUS, SMALL, counted
from toolablate.reports.tables import Blocks, Column, Fitted, figures, names, simulated_banner, words
from toolablate.reports.terminal.trace import VERDICT_STYLES
from toolablate.traces.records import Label, Mechanism
from toolablate.traces.terminal_text import ID_CHARS, inert, one_line

WAYS = {"again": "graded again", "same_text": "same text"}
DEFINITIONS = "docs/statistics.md"
COUNTS = (
    ("both", "both"),
    ("1 only", "first_only"),
    ("2 only", "second_only"),
    ("neither", "neither"),
)
APART = (
    ("unparsed 1", "first_unparsed"),
    ("unparsed 2", "second_unparsed"),
    ("unscored 1", "first_unscored"),
    ("unscored 2", "second_unscored"),
    ("unscored 1, 2", "unscored"),
    ("not seen by 1", "first_absent"),
    ("not seen by 2", "second_absent"),
)


def agreement_view(report: AgreementReport) -> RenderableType:
    """Two scorers after two: how far they agree and what each says, and whether they differ by condition; then how
    often a judge grades the same answer otherwise."""
    parts: list[RenderableType] = []
    parts += _stand_ins([row for row in report.agreements if row.model is not None])
    for pair, rows in groupby(report.agreements, key=lambda row: (row.first, row.second)):
        parts += _pair(pair, list(rows), [row for row in report.shifts if (row.first, row.second) == pair])
    if report.regraded:
        parts += [_heading("The same answer graded more than once"), _regraded(report.regraded)]
    if report.judge_noise:
        parts += [_heading("What that alone does to a comparison"), *_noise(report.judge_noise)]
    return Group(*parts, Padding(Text("\n".join(_footnotes(report)), style="dim"), (0, 1, 1, 1)))


def disagreements_table(found: Sequence[Disagreement]) -> RenderableType:
    """The trials that two scorers differ on, each with the beginning of its id, by which `show` finds it."""
    if not found:
        return Text("No trial on which two scorers differ.", style="yellow")
    parts: list[RenderableType] = [*_stand_ins(found)]
    for pair, each in groupby(found, key=lambda row: (row.first, row.second)):
        parts += [_title(pair), _differing(list(each))]
    return Group(*parts)


def _stand_ins(rows: Sequence[Agreement] | Sequence[Disagreement]) -> Iterator[RenderableType]:
    """Names them where there are other models as well."""
    if all(row.simulated for row in rows) and rows:
        yield simulated_banner()
    elif simulated := sorted({one_line(row.model or "") for row in rows if row.simulated}):
        said = f"{', '.join(simulated)}: stand-ins that imitate models; what holds them is no measurement."
        yield Padding(Text(f"Simulated: {said}", overflow="fold"), (0, 1))


def _pair(pair: tuple[str, str], rows: Sequence[Agreement], shifts: Sequence[Shift]) -> list[RenderableType]:
    parts: list[RenderableType] = [_title(pair), _agreements(rows), _counts(rows)]
    if shifts:
        parts += [_heading("Effects by 1 and by 2"), _shifts(shifts), *_confounds(shifts)]
    return parts


def _title(pair: tuple[str, str]) -> Text:
    first, second = map(one_line, pair)
    return Text.assemble(" 1 ", (first, "bold"), "  2 ", (second, "bold"), overflow="fold")


def _heading(text: str) -> Text:
    return Text(f" {text}", style="bold")


def _arm(rows: Sequence[Agreement] | Sequence[Shift] | Sequence[JudgeNoise]) -> tuple[Column, Column]:
    return (
        names("model", ["" if row.model is None else _name(row.model) for row in rows], common=True),
        names("condition", ["(all)" if row.condition is None else _name(row.condition) for row in rows], common=True),
    )


def _agreements(rows: Sequence[Agreement]) -> Fitted:
    return Fitted(
        (
            *_arm(rows),
            figures("n", [_marked(row.trials, small=row.small) for row in rows]),
            figures("agree %", [Text(numbers.percent(row.agreement), style="bold") for row in rows]),
            figures("95 % of agree", [_percents(row.agreement_ci95) for row in rows], spare=2),
            figures("κ", [Text(_kappa(row.kappa), style="bold") for row in rows]),
            figures("95 % of κ", [_kappas(row.kappa_ci95) for row in rows]),
            figures("scores 1, 2", [_scores(row) for row in rows], spare=3),
            figures("2 − 1", [numbers.signed(row.difference_points) for row in rows]),
            figures("95 % interval", [numbers.interval(row.difference_ci95) for row in rows]),
        )
    )


def _counts(rows: Sequence[Agreement]) -> Fitted:
    shown = [*COUNTS, *(column for column in APART if any(getattr(row, column[1]) for row in rows))]
    columns = (figures(title, [f"{getattr(row, field):,}" for row in rows]) for title, field in shown)
    return Fitted((*_arm(rows), *columns))


def _shifts(rows: Sequence[Shift]) -> Fitted:
    columns = [
        *_arm(rows),
        figures("n", [_marked(row.questions, small=row.small) for row in rows]),
        figures("Δ by 1", [numbers.signed(row.first_points) for row in rows], spare=5),
        figures("Δ by 2", [numbers.signed(row.second_points) for row in rows], spare=4),
        figures("2 − 1", [Text(numbers.signed(row.points), style=_style(row)) for row in rows]),
        figures("95 % interval", [numbers.interval(row.ci95) for row in rows], spare=3),
        figures("p Holm", [numbers.p_value(row.p_holm) for row in rows]),
        figures("Δ agree", [numbers.signed(row.agreement_points) for row in rows], spare=2),
        figures("95 % of Δ agree", [numbers.interval(row.agreement_ci95) for row in rows], spare=1),
    ]
    if any(row.differential_points is not None for row in rows):
        columns[-3:-3] = [
            figures("unlike", [Text(numbers.signed(row.differential_points), style=_style(row)) for row in rows]),
            figures("95 % of unlike", [numbers.interval(row.differential_ci95) for row in rows]),
        ]
    return Fitted(tuple(columns))


def _scores(row: Agreement) -> str:
    return f"{numbers.percent(row.first_score)}  {numbers.percent(row.second_score)}"


def _style(row: Shift) -> str:
    return "bold yellow" if row.p_holm < SIGNIFICANT and not row.small else "bold"


def _confounds(rows: Sequence[Shift]) -> Iterator[RenderableType]:
    for row in rows:
        if row.p_holm < SIGNIFICANT:
            told = Text.assemble(("A confound: ", "bold yellow"), _confound(row), overflow="fold")
            yield Padding(told, (0, 1, 1, 1))


def _confound(row: Shift) -> str:
    known = row.differential_points
    points = row.points if known is None else known
    more, where = "more" if points > 0 else "less", f"({one_line(row.model)}, p {numbers.p_value(row.p_holm)})"
    condition, baseline = one_line(row.condition), one_line(row.baseline)
    if known is None:
        return (
            f"beside {baseline} 2 gives {condition} {abs(points):.1f} points {more} than 1 does {where}:"
            " what it does depends on whom one asks."
        )
    return (
        f"the judge errs otherwise under {condition} than under {baseline}, which gives {condition} {abs(points):.1f}"
        f" points {more} than 1 does {where}."
    )


def _regraded(rows: Sequence[Regraded]) -> Fitted:
    return Fitted(
        (
            names("judge", [_name(row.judge) for row in rows], common=True),
            words("how", [WAYS[row.way] for row in rows], common=True),
            figures("answers", [_marked(row.answers, small=row.small) for row in rows]),
            figures("questions", [f"{row.questions:,}" for row in rows], spare=1),
            figures("pairs", [f"{row.pairs:,}" for row in rows]),
            figures("differ", [f"{row.differing:,}" for row in rows]),
            figures("differ %", [Text(numbers.percent(row.percent), style="bold") for row in rows]),
            figures("95 % interval", [_percents(row.ci95) for row in rows]),
        )
    )


def _noise(found: Sequence[JudgeNoise]) -> Iterator[RenderableType]:
    for (judge, way), rows in groupby(found, key=lambda row: (row.judge, row.way)):
        yield Text.assemble(" ", (one_line(judge), "bold"), f"  {WAYS[way]}", overflow="fold")
        yield _noise_of(list(rows))


def _noise_of(rows: Sequence[JudgeNoise]) -> Fitted:
    return Fitted(
        (
            *_arm(rows),
            figures("n", [f"{row.questions:,}" for row in rows], common=True),
            figures("noise", [numbers.percent(row.noise_flips) for row in rows]),
            figures("by the judge", [Text(f"{row.judge_flips:.1f}", style="bold") for row in rows]),
            figures("95 % interval", [_percents(row.judge_flips_ci95) for row in rows], spare=1),
            figures("MDE", [_points(row.detectable_points) for row in rows]),
            figures("judge alone", [Text(_points(row.judge_points), style="bold") for row in rows]),
        )
    )


def _differing(rows: Sequence[Disagreement]) -> Fitted:
    return Fitted(
        (
            words("trial", [row.trial[:ID_CHARS] for row in rows]),
            names("question", [_name(row.question) for row in rows], cut=True),
            names("model", [_name(row.model) for row in rows], common=True),
            names("condition", [_name(row.condition) for row in rows], common=True),
            figures("repeat", [str(row.repeat) for row in rows], common=True),
            words("1", [_verdict(row.first_verdict) for row in rows]),
            words("2", [_verdict(row.second_verdict) for row in rows]),
        )
    )


def _footnotes(report: AgreementReport) -> Iterator[str]:
    if report.agreements:
        yield "n: trials scored by both. κ: Cohen's kappa; - where both agree on all trials."
        yield "scores: percent, over a question's trials, then questions; 2 − 1: their difference in points."
    if _some_small(report.agreements) or _some_small(report.shifts) or _some_small(report.regraded):
        yield numbers.small_note(f"that differ (for κ: {FEW_DIFFERING} that both call correct, or that neither does)")
    if any(row.first_unparsed or row.second_unparsed for row in report.agreements):
        yield "unparsed: no readable answer; counts as not correct."
    if any(row.first_unscored or row.second_unscored or row.unscored for row in report.agreements):
        yield "unscored: no value given, so not in n."
    if any(row.first_absent or row.second_absent for row in report.agreements):
        yield "not seen by 1: scored by 2 and not (yet) by 1."
    if report.shifts:
        tested = "a judge errs alike under both conditions (where 1 is a judge as well: sees the effect that 1 sees)"
        yield f"p Holm: that {tested}, corrected for {numbers.counted(len(report.shifts), 'test')}."
    if any(row.differential_points is not None for row in report.shifts):
        yield "unlike: points due to errors that differ by condition; equal errors only shrink an effect."
    if any(row.way == "same_text" and not row.differing for row in report.regraded):
        yield "same text: equal answers share one recorded judge reply, so they never differ."
    if report.judge_noise:
        yield "noise: questions that flip one way between two baseline runs, and how many of them by the judge alone."
        yield "judge alone: the MDE if only the judge's grades of the same answers varied."
    yield f"What each figure means: {DEFINITIONS}."


def _some_small(rows: Sequence[Agreement] | Sequence[Shift] | Sequence[Regraded]) -> bool:
    return any(row.small for row in rows)


def _marked(count: int, *, small: bool) -> str:
    return f"{SMALL if small else ''}{count:,}"


def _percents(bounds: tuple[float, float] | None) -> str:
    return numbers.UNKNOWN if bounds is None else f"{bounds[0]:.1f} .. {bounds[1]:.1f}"


def _kappas(bounds: tuple[float, float] | None) -> str:
    return numbers.UNKNOWN if bounds is None else " .. ".join(map(_kappa, bounds))


def _kappa(value: float | None) -> str:
    return numbers.UNKNOWN if value is None else f"{value:.2f}".replace("-0.00", "0.00").replace("-", numbers.MINUS)


def _points(value: float | None) -> str:
    return numbers.UNKNOWN if value is None else f"±{value:.1f}"


def _verdict(verdict: str) -> Text:
    return Text(verdict, style=VERDICT_STYLES.get(verdict, "yellow"))


def _name(text: str) -> Text:
    return inert(one_line(text))


# What people hold for the causes of failures.


_NOTE_CHARS = 80
_SHOWN = 30


def labels_view(report: LabelReport, store: str) -> RenderableType:
    """The labels, newest last, then the agreement with the attribution and between people. `store` is the path by which
    commands name the store."""
    if not report.held:
        return Text(
            f"No labels yet. Give some on the pages of: toolablate view {shlex.quote(store)}",
            overflow="fold",
        )
    title = f" Labels: {len(report.held):,}"
    if len(report.held) > _SHOWN:
        title += f" (the last {_SHOWN}; all of them: --csv, --json)"
    parts: list[RenderableType] = [Text(title, style="bold"), _labels(report.held[-_SHOWN:])]
    if report.with_attribution:
        parts += [Text(" People vs. attribution", style="bold"), _label_agreements(report.with_attribution)]
    if report.between_people:
        parts += [Text(" Between people", style="bold"), _label_agreements(report.between_people)]
    if report.reliability:
        parts += [Text(" All people together", style="bold"), _reliability(report.reliability)]
    if report.error_types:
        parts += [Text(" Types of error that people name, and judges of the same trials", style="bold")]
        parts += [_error_types(report.error_types)]
    if report.type_agreement:
        parts += [Text(" Agreement on types of error", style="bold"), _type_agreements(report.type_agreement)]
    return Group(*parts, Padding(Text("\n".join(_notes(report)), style="dim"), (0, 1, 1, 1)))


def agreement_words(row: LabelAgreement | Reliability) -> str:
    """`.62 (.41 to .80)`, or why there is no kappa or alpha."""
    found = row.kappa if isinstance(row, LabelAgreement) else row.alpha
    if row.units < TOO_FEW:
        return f"too few to say, {counted(TOO_FEW - row.units, 'question')} short"
    if found is None:
        return "all of one kind"
    between = "" if row.ci95 is None else f" ({_label_kappa(row.ci95[0])} to {_label_kappa(row.ci95[1])})"
    return f"{_label_kappa(found)}{between}"


def share_words(row: LabelAgreement) -> str:
    """Percent of all wrong trials that could be drawn: `62 (51-72)`; "" where none was drawn by chance."""
    if row.share is None or row.share_ci95 is None:
        return ""
    return f"{100 * row.share:.0f} ({100 * row.share_ci95[0]:.0f}-{100 * row.share_ci95[1]:.0f})"


def said_words(label: Label) -> str:
    """What a label says, in words; "" where it withdraws."""
    if label.book not in BUILT_IN:
        return " + ".join(label.said)
    how = f" ({distraction_name(label.distraction)})" if label.distraction else ""
    parts = [f"{mechanism_name(label.mechanism)}{how}"] if label.mechanism else []
    return "; ".join([*parts, *([f"error: {error_type_name(label.error_type)}"] if label.error_type else [])])


def _labels(found: Sequence[Held]) -> RenderableType:
    return Fitted(
        (
            words("trial", [each.label.trial[:ID_CHARS] for each in found]),
            names("question", [inert(one_line(each.question)) for each in found], cut=True),
            names("person", [inert(one_line(each.label.person)) for each in found]),
            words("says", [_says(each) for each in found]),
            words("attribution now", [_mechanism(each.mechanism) for each in found]),
            words("blind", ["blind" if each.label.blind else "" for each in found]),
            names("note", [inert(one_line(each.label.note, max_chars=_NOTE_CHARS)) for each in found]),
        )
    )


def _says(each: Held) -> Text:
    decided = " (decided)" if each.label.adjudicated else ""
    return inert(f"{said_words(each.label)}{decided}", style="" if each.agrees is not False else "bold")


def _mechanism(mechanism: Mechanism | None) -> str:
    return "-" if mechanism is None else mechanism_name(mechanism)


def _label_agreements(rows: Sequence[LabelAgreement]) -> RenderableType:
    between = rows[0].other is not None
    return Fitted(
        (
            names("person", [inert(one_line(row.person or "(decided)")) for row in rows]),
            names("and", [inert(one_line(row.other or "")) for row in rows])
            if between
            else words("attribution by", [row.method or "" for row in rows]),
            *([names("codebook", [inert(row.book) for row in rows], common=True)] if between else []),
            words("read", ["blind" if row.blind else "seen" for row in rows]),
            *_agreed(rows),
        )
    )


def _agreed(rows: Sequence[LabelAgreement]) -> list[Column]:
    found = [
        figures("trials", [str(row.trials) for row in rows]),
        figures("agreed", [str(row.agreed) for row in rows]),
        words("κ", [agreement_words(row) + ("*" if row.small and row.ci95 else "") for row in rows]),
    ]
    if any(row.share is not None for row in rows):
        found.append(figures("% of all", [share_words(row) or "-" for row in rows]))
    return found


def _reliability(rows: Sequence[Reliability]) -> RenderableType:
    return Fitted(
        (
            names("codebook", [inert(one_line(row.book)) for row in rows]),
            *([names("code", [inert(one_line(row.code)) for row in rows])] if any(row.code for row in rows) else []),
            names("people", [inert(one_line(", ".join(row.people))) for row in rows]),
            figures("trials", [str(row.trials) for row in rows]),
            words("α", [agreement_words(row) + ("*" if row.small and row.ci95 else "") for row in rows]),
        )
    )


def _error_types(rows: Sequence[NamedTypes]) -> RenderableType:
    return Blocks(
        names(
            "domain, and who",
            [
                inert(one_line(f"{'all' if row.domain is None else row.domain or '(none)'}: {row.rater}"))
                for row in rows
            ],
        ),
        (
            figures("trials", [str(row.trials) for row in rows]),
            *(figures(error_type_name(name), [_type_share(row.types[name]) for row in rows]) for name in ERROR_TYPES),
        ),
    )


def _type_share(found: TypeShare) -> str:
    low, high = (100 * end for end in found.ci95)
    return f"{100 * found.share:.0f} ({low:.0f}-{high:.0f})"


def _type_agreements(rows: Sequence[LabelAgreement]) -> RenderableType:
    return Fitted(
        (
            names("person", [inert(one_line(row.person)) for row in rows]),
            names("and", [inert(one_line(row.other or "")) for row in rows]),
            *_agreed(rows),
        )
    )


def _notes(report: LabelReport) -> Iterator[str]:
    yield (
        f"κ: Cohen's kappa over codes, with its 95 % interval over questions; not told below {TOO_FEW} of them."
        " blind: the attribution was hidden; who sees it first tends to agree with it."
    )
    if report.reliability:
        yield (
            "α: Krippendorff's alpha of independent labels, with its interval likewise; of blind ones alone where any"
            " trial has two of them."
        )
    shown = (*report.with_attribution, *report.between_people, *report.type_agreement)
    if any(row.share is not None for row in shown):
        yield "% of all: agreed, each trial weighed by 1 / its inclusion probability in the queue."
    if any(not row.person for row in report.with_attribution):
        yield "(decided): what two or more people say alike, or what was decided where they differed."
    if report.undecided:
        yield f"{counted(report.undecided, 'trial')} on which people differ still to be decided, on the page of labels."
    if report.error_types:
        yield "Types: % of the trials that each names one of, with the 95 % interval over questions."
    if any(row.small and row.ci95 for row in shown) or any(row.small and row.ci95 for row in report.reliability):
        yield f"*: fewer than {FEW_CLUSTERS} questions; do not rely on the interval."
    if report.unattributed:
        yield f"{counted(report.unattributed, 'label')} of trials without an attribution, excluded from its kappa."
    if report.changed:
        changed = counted(report.changed, "label")
        yield f"{changed} of trials to which something else was attributed when they were read."


def _label_kappa(value: float) -> str:
    return chance(value) if value >= 0 else MINUS + chance(-value)
