"""The tables of a report, whatever its format."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from toolablate.analysis.attribution.report import mechanism_name
from toolablate.analysis.comparison import Comparison
from toolablate.analysis.findings import ArmScore, Findings, FlipMatrix
from toolablate.analysis.flips import Chance
from toolablate.reports import numbers
from toolablate.reports.cause_wording import METHODS, counted, how_alone, how_known, measured_by, methods_of
from toolablate.reports.numbers import SMALL
from toolablate.reports.plots.figures import decompositions_of, in_order
from toolablate.reports.plots.panels import ENDINGS
from toolablate.reports.plots.scores import EndedArm
from toolablate.reports.tables import Column, words
from toolablate.reports.tables import figures as numeric
from toolablate.reports.terminal.attribution import rests_on
from toolablate.reports.waterfall_bars import accounts_of

MODEL = "Model"


@dataclass(frozen=True, slots=True)
class ReportTable:
    """Cells are foreign text, not escaped. `name` is fit for an anchor; `section` is the heading of all that stand
    under it, `title` that of this one, "" where it is alone; `figures` are the names of plates that show the same.
    `notes` say how to read it."""

    name: str
    section: str
    title: str
    columns: tuple[Column, ...]
    notes: tuple[str, ...] = ()
    figures: tuple[str, ...] = ()

    @property
    def rows(self) -> tuple[tuple[str, ...], ...]:
        return tuple(zip(*([cell.plain for cell in column.cells] for column in self.columns), strict=True))


@dataclass(frozen=True, slots=True)
class Block:
    """Rows that share a heading; "" where there is none."""

    heading: str
    rows: tuple[tuple[str, ...], ...]


def caption(table: ReportTable) -> str:
    return f"{table.section}: {table.title}" if table.title else table.section


def blocks(table: ReportTable) -> tuple[tuple[Column, ...], tuple[Block, ...]]:
    """Columns and rows without that of models, of which each has a block: names are long, and a table is narrow."""
    if table.columns[0].title != MODEL:
        return table.columns, (Block("", table.rows),)
    return table.columns[1:], tuple(
        Block(model, tuple(row[1:] for row in rows)) for model, rows in groupby(table.rows, key=lambda row: row[0])
    )


def small_note(table: ReportTable) -> str:
    """What the star of a table means; "" where it has none."""
    places = [place for place, column in enumerate(table.columns) if column.title.endswith("interval")]
    starred = any(row[place].endswith(SMALL) for row in table.rows for place in places)
    return (
        f"{SMALL}: too few independent questions, or too few that differ, to rely on the interval." if starred else ""
    )


ALL = "all questions"


def tables(findings: Findings, endings: Sequence[EndedArm] = ()) -> Iterator[ReportTable]:
    """Those of which there is a row."""
    found = (
        _scores(findings),
        _effects(findings),
        _flips(findings),
        _outcomes(findings, endings),
        *_mechanisms(findings),
        _attributed(findings),
        *_ladders(findings),
        _domains(findings),
    )
    return (table for table in found if table.rows)


def _columns(
    rows: Iterable[Iterable[str]], *text: str, figures: Iterable[str], after: tuple[str, ...] = ()
) -> tuple[Column, ...]:
    """Columns of text, then of figures, then of text again, by their titles; each row has a cell for each."""
    titles = [
        *((title, words) for title in text),
        *((title, numeric) for title in figures),
        *((title, words) for title in after),
    ]
    cells = list(zip(*rows, strict=True)) or [()] * len(titles)
    return tuple(make(title, own) for (title, make), own in zip(titles, cells, strict=True))


def _interval(ci95: tuple[float, float] | None, *, small: bool, sign: bool = True) -> str:
    if ci95 is None:
        return numbers.UNKNOWN
    low, high = (numbers.signed(end) if sign else numbers.percent(end) for end in ci95)
    return f"{low} to {high}{SMALL if small else ''}"


def model_name(name: str, findings: Findings) -> str:
    return f"{name} (simulated)" if name in findings.simulated else name


def _scores(findings: Findings) -> ReportTable:
    return ReportTable(
        "scores",
        "Scores",
        "",
        _columns(
            (_score(arm, findings) for arm in findings.arms),
            *(MODEL, "Condition"),
            figures=("Questions", "Score, %", "95 % interval"),
        ),
        ("Each score is over the questions that are scored there; of another row these may be others.",),
        figures=("scores",),
    )


def _score(arm: ArmScore, findings: Findings) -> tuple[str, ...]:
    found, baseline = arm.accuracy, " (baseline)" if arm.condition == findings.baseline else ""
    interval = _interval(found.ci95, small=found.small, sign=False)
    model = model_name(arm.model, findings)
    return (model, f"{arm.condition}{baseline}", f"{found.questions:,}", numbers.percent(found.percent), interval)


def _effects(findings: Findings) -> ReportTable:
    rows = in_order(findings, findings.comparisons)
    figures = ("n", "Base, %", "Score, %", "Effect, points", "95 % interval", "Effect, %", "p", "p Holm", "Detectable")
    return ReportTable(
        "effects",
        "Effects against the baseline",
        "",
        _columns(
            ((model_name(row.model, findings), row.condition, *_effect(row)) for row in rows),
            *(MODEL, "Condition"),
            figures=figures,
        ),
        tuple(_of_effects(rows)),
        figures=("effects",),
    )


def _of_effects(rows: Sequence[Comparison]) -> Iterator[str]:
    count = max((row.comparisons for row in rows), default=0)
    yield f"p Holm is corrected for {numbers.counted(count, 'comparison')}."
    yield "Detectable: the difference in points that so many questions show four times in five."
    if any(row.excluded_questions for row in rows):
        yield "n: questions that are scored under the baseline and the condition; others do not count."
    if any(row.uneven_questions for row in rows):
        yield "Where a question has more repeats on one side, the last of these count for the effect and not for p."


def _effect(row: Comparison) -> tuple[str, ...]:
    return (
        f"{row.questions:,}",
        numbers.percent(row.baseline_score),
        numbers.percent(row.score),
        numbers.signed(row.delta_points),
        _interval(row.ci95, small=row.small),
        numbers.signed(row.delta_relative),
        numbers.p_value(row.p_value),
        numbers.p_value(row.p_holm),
        numbers.percent(row.detectable_points),
    )


def _flips(findings: Findings) -> ReportTable:
    chances = {(each.model, each.condition): each.chance for each in findings.floors}
    rows = (
        (model_name(each.model, findings), each.condition, *_flip(each, chances.get((each.model, each.condition))))
        for each in in_order(findings, findings.flips)
    )
    figures = ("R→R", "R→W", "W→R", "W→W", "R→W, one run", "W→R, one run", "Chance, one run")
    return ReportTable(
        "flips",
        "Flips",
        "",
        _columns(rows, MODEL, "Condition", figures=figures),
        (
            "The first four columns count questions, right (R) or wrong (W) under the baseline and then under the"
            " condition by the mean over their repeats, of which right is .5 or more. The last three are between single"
            " runs; chance is how many go each way between two runs of the baseline, and unknown where that was not"
            " repeated.",
        ),
        figures=("flips", "matrices"),
    )


def _flip(each: FlipMatrix, chance: Chance | None) -> Iterator[str]:
    for count in (each.both_right, each.right_to_wrong, each.wrong_to_right, each.both_wrong):
        yield f"{count:,}"
    yield numbers.percent(None if chance is None else chance.flips_right_to_wrong)
    yield numbers.percent(None if chance is None else chance.flips_wrong_to_right)
    yield numbers.percent(None if chance is None else chance.noise_flips)


def _outcomes(findings: Findings, endings: Sequence[EndedArm]) -> ReportTable:
    return ReportTable(
        "outcomes",
        "How trials ended",
        "",
        _columns(
            (
                (
                    *(model_name(arm.model, findings), arm.condition, f"{sum(arm.endings.values()):,}"),
                    *(f"{arm.endings.get(ending, 0):,}" for ending in ENDINGS),
                )
                for arm in endings
            ),
            *(MODEL, "Condition"),
            figures=("Trials", *(ending.capitalize() for ending in ENDINGS)),
        ),
        ("Budget: a limit ended the trial, and its answer was not right. Failed: by infrastructure, and in no score.",),
        figures=("outcomes",),
    )


def _mechanisms(findings: Findings) -> Iterator[ReportTable]:
    for number, decomposition in enumerate(decompositions_of(findings), start=1):
        effect = decomposition.effect
        total = numbers.signed(effect.points), _interval(effect.ci95, small=effect.small)
        yield ReportTable(
            f"why-{number}",
            "Why",
            f"{model_name(decomposition.model, findings)}, {decomposition.condition}",
            _columns(
                (
                    *(
                        (
                            mechanism_name(each.name),
                            numbers.signed(each.points),
                            _interval(each.ci95, small=each.small),
                            numbers.p_value(each.p_holm),
                            rests_on(each.name, decomposition),
                        )
                        for each in accounts_of(decomposition)
                    ),
                    ("effect", *total, "", ""),
                ),
                "Mechanism",
                figures=("Points", "95 % interval", "p Holm"),
                after=("Rests on",),
            ),
            (
                f"Points from no tools, over {numbers.counted(decomposition.questions, 'question')}; the mechanisms sum"
                f" to the effect. Replayed: {decomposition.replayed:,}"
                f" of {numbers.counted(decomposition.trials, 'trial')}.",
            ),
            figures=(_of_model("mechanisms", decomposition.model, findings),),
        )


def _attributed(findings: Findings) -> ReportTable:
    rows = counted(findings)
    methods = methods_of(rows)
    several = methods if len(methods) > 1 else []
    notes = list(how_known(findings, rows))
    if command := measured_by(findings, rows):
        notes.append(f"To measure them: {command}")
    return ReportTable(
        "attributed",
        "Why",
        f"what wrong trials are attributed to{how_alone(methods)}",
        _columns(
            (
                (
                    *(model_name(row.model, findings), row.condition, row.name, f"{row.trials:,}"),
                    *(f"{row.by.get(method, 0):,}" for method in several),
                )
                for row in rows
            ),
            *(MODEL, "Condition", "Mechanism"),
            figures=("Wrong trials", *(METHODS[each] for each in several)),
        ),
        tuple(notes),
    )


def _ladders(findings: Findings) -> Iterator[ReportTable]:
    for number, each in enumerate(in_order(findings, findings.waterfalls), start=1):
        yield ReportTable(
            f"ladder-{number}",
            "Ladders",
            f"{model_name(each.model, findings)}, {each.ladder}",
            _columns(
                (
                    (
                        f"bound: {step.name}" if step in each.bounds else step.name,
                        step.before,
                        step.after,
                        f"{step.questions:,}",
                        numbers.signed(step.points),
                        _interval(step.ci95, small=step.small),
                        numbers.p_value(step.p_holm),
                    )
                    for step in each.steps
                ),
                *("Factor", "From", "To"),
                figures=("n", "Points", "95 % interval", "p Holm"),
            ),
            ("The factors sum to the total; their order is a convention.",),
            figures=(_of_model("ladders", each.model, findings),),
        )


def _of_model(name: str, model: str, findings: Findings) -> str:
    place = findings.models.index(model) if model in findings.models else 0
    return f"{name}-{place + 1}" if place else name


def _domains(findings: Findings) -> ReportTable:
    figures = ("n", "Base, %", "Score, %", "Effect, points", "95 % interval", "p Holm")
    return ReportTable(
        "domains",
        "Within domains",
        "",
        _columns(
            (
                (
                    *(model_name(row.model, findings), row.group or "(none)", row.condition, f"{row.questions:,}"),
                    *(numbers.percent(row.baseline_score), numbers.percent(row.score)),
                    *(numbers.signed(row.delta_points), _interval(row.ci95, small=row.small)),
                    numbers.p_value(row.p_holm),
                )
                for row in in_order(findings, findings.by_domain)
            ),
            *(MODEL, "Domain", "Condition"),
            figures=figures,
        ),
        ("p Holm is corrected for all comparisons of this table, and of all questions together.",),
        figures=tuple(_of_model("domains", model, findings) for model in findings.models),
    )
