from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from toolablate.traces.analysis import Comparison
from toolablate.traces.terminal import numbers
from toolablate.traces.terminal.plain import inert, one_line

SIGNIFICANT = 0.05
ROOMY_COLUMNS = 96
NAMELESS_DOMAIN = "(no domain)"


def comparison_table(comparisons: Sequence[Comparison], *, footnotes: bool = True) -> RenderableType:
    """Effects, then trials and cost, model by model; reads well from 80 columns up."""
    if not comparisons:
        return Text("Nothing to compare: only the baseline has ended trials.", style="yellow")
    return _Comparisons(tuple(comparisons), footnotes)


@dataclass(frozen=True, slots=True)
class _Comparisons:
    rows: tuple[Comparison, ...]
    footnotes: bool

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        gap = 1 if options.max_width >= ROOMY_COLUMNS else 0
        for model, rows in groupby(self.rows, key=lambda row: row.model):
            yield from _model_part(model, list(rows), gap)
        if self.footnotes:
            yield Padding(Text("\n".join(_footnotes(self.rows)), style="dim"), (0, 1, 1, 1))


def _model_part(model: str, rows: list[Comparison], gap: int) -> list[RenderableType]:
    title = Text.assemble(" ", (one_line(model), "bold"), "  compared with ", (one_line(rows[0].baseline), "bold"))
    parts: list[RenderableType] = [title]
    if any(row.simulated for row in rows):
        banner = Text.assemble(
            " ",
            (" SIMULATED ", "bold black on yellow"),
            " a stand-in that imitates a model; nothing here is a measurement",
        )
        parts.append(banner)
    return [*parts, _effects(rows, gap), _trials(rows, gap)]


def _effects(rows: list[Comparison], gap: int) -> Table:
    table = _table(gap, "condition", "n", "base", "score", "Δ points", "95 % interval", "Δ rel.", "p", "R→W", "W→R")
    for row in rows:
        style = "" if row.domain is None else "dim"
        table.add_row(
            _named(row),
            str(row.questions),
            numbers.percent(row.baseline_score),
            numbers.percent(row.score),
            Text(numbers.signed(row.delta_points), style=_effect_style(row)),
            numbers.interval(row.ci95),
            numbers.signed(row.delta_relative, " %"),
            numbers.p_value(row.p_value),
            str(row.right_to_wrong),
            str(row.wrong_to_right),
            style=style,
        )
    return table


def _effect_style(row: Comparison) -> str:
    if row.delta_points is None or row.p_value is None or row.p_value >= SIGNIFICANT:
        return "bold"
    return "bold red" if row.delta_points < 0 else "bold green"


def _trials(rows: list[Comparison], gap: int) -> Table:
    totals = [row for row in rows if row.domain is None]
    table = _table(gap, "", "trials", "unparsed", "unscored", "failed", "left out", "tokens", "cost")
    base = totals[0]
    table.add_row(
        inert(one_line(base.baseline)),
        str(base.baseline_trials),
        _count(base.baseline_unparsed, "yellow"),
        _count(base.baseline_unscored, "yellow"),
        _count(base.baseline_failed, "red"),
        "",
        _either([numbers.tokens(row.baseline_tokens) for row in totals]),
        _either([numbers.dollars(row.baseline_cost_usd) for row in totals]),
    )
    for row in totals:
        table.add_row(
            inert(one_line(row.condition)),
            str(row.trials),
            _count(row.unparsed, "yellow"),
            _count(row.unscored, "yellow"),
            _count(row.failed, "red"),
            _count(row.excluded_questions, "yellow"),
            numbers.tokens(row.tokens),
            numbers.dollars(row.cost_usd),
        )
    return table


def _either(figures: list[str]) -> str:
    # A baseline's mean is over the questions that it shares with a condition, so it may differ between conditions.
    distinct = list(dict.fromkeys(figures))
    return distinct[0] if len(distinct) == 1 else "varies"


def _table(gap: int, first: str, *others: str) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, gap, 0, 0), header_style="")
    table.add_column(first, overflow="fold", min_width=8)
    for name in others:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _named(row: Comparison) -> Text:
    if row.domain is None:
        return inert(one_line(row.condition))
    return Text("  ").append_text(inert(one_line(row.domain) or NAMELESS_DOMAIN))


def _count(number: int, style: str) -> Text:
    return Text(str(number), style=f"bold {style}" if number else "")


def _footnotes(rows: Sequence[Comparison]) -> Iterator[str]:
    yield "n: questions scored on both sides; all figures are paired over them. base, score: percent."
    yield "Δ points: difference in percentage points. Δ rel.: the same in percent of the base score."
    yield "95 % interval: of Δ points, from a paired bootstrap over questions (BCa)."
    yield "p: two-sided sign-flip test, not corrected for the number of comparisons."
    yield "R→W: questions right under the baseline and wrong under the condition; W→R: the reverse."
    yield "Tokens and cost: mean per trial that counts."
    if any(row.repeats > 1 for row in rows):
        yield "With repeats a question is right where its mean score is at least one half."
    if any(row.unparsed or row.baseline_unparsed for row in rows):
        yield "Unparsed: replies without an answer that could be extracted; no points, unless excluded."
    if any(row.failed or row.baseline_failed for row in rows):
        yield "Failed: trials that infrastructure spoiled; never scored, and run again by the next `run`."
    if any(row.excluded_questions for row in rows):
        yield "Left out: questions that lack a score on one side, and so count on neither."
    if any(row.ci95 is None or row.tokens is None or row.cost_usd is None for row in rows):
        yield f"{numbers.UNKNOWN} is unknown, or cannot be told from these data."
