from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.padding import Padding
from rich.text import Text

from toolablate.traces.analysis import Comparison
from toolablate.traces.terminal import numbers
from toolablate.traces.terminal.fitted import Column, Fitted, figures, names
from toolablate.traces.terminal.plain import inert, one_line
from toolablate.traces.terminal.simulated import simulated_banner

SIGNIFICANT = 0.05
SHOWN_CLUSTERS = 4


def comparison_table(comparisons: Sequence[Comparison], *, footnotes: bool = True) -> RenderableType:
    """Effects, then trials and cost, model by model; the less important columns make way on narrow terminals."""
    if not comparisons:
        return Text("Nothing to compare: only the baseline has ended trials.", style="yellow")
    return _Comparisons(tuple(comparisons), footnotes)


@dataclass(frozen=True, slots=True)
class _Comparisons:
    rows: tuple[Comparison, ...]
    footnotes: bool

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for model, rows in groupby(self.rows, key=lambda row: row.model):
            yield from _model_part(model, list(rows))
        if self.footnotes:
            yield Padding(Text("\n".join(_footnotes(self.rows)), style="dim"), (0, 1, 1, 1))


def _model_part(model: str, rows: list[Comparison]) -> list[RenderableType]:
    title = Text.assemble(" ", (one_line(model), "bold"), "  compared with ", (one_line(rows[0].baseline), "bold"))
    parts: list[RenderableType] = [title]
    if any(row.simulated for row in rows):
        parts.append(simulated_banner())
    return [*parts, _effects(rows), _trials(rows)]


def _effects(rows: list[Comparison]) -> Fitted:
    columns = (
        names("condition", [_named(row) for row in rows]),
        figures("n", [str(row.questions) for row in rows]),
        figures("base", [numbers.percent(row.baseline_score) for row in rows], spare=2),
        figures("score", [numbers.percent(row.score) for row in rows]),
        figures("Δ points", [Text(numbers.signed(row.delta_points), style=_effect_style(row)) for row in rows]),
        figures("95 % interval", [numbers.interval(row.ci95) for row in rows]),
        figures("Δ rel.", [numbers.signed(row.delta_relative, " %") for row in rows], spare=1),
        figures("p", [numbers.p_value(row.p_value) for row in rows]),
        figures("R→W", [str(row.right_to_wrong) for row in rows]),
        figures("W→R", [str(row.wrong_to_right) for row in rows]),
    )
    return Fitted(columns, tuple("" if row.group is None else "dim" for row in rows))


def _effect_style(row: Comparison) -> str:
    if row.delta_points is None or row.p_value is None or row.p_value >= SIGNIFICANT:
        return "bold"
    return "bold red" if row.delta_points < 0 else "bold green"


def _trials(rows: list[Comparison]) -> Fitted:
    totals = [row for row in rows if row.group is None]
    base = totals[0]

    def counted(title: str, style: str, of_base: int | None, counts: list[int]) -> Column:
        first = Text() if of_base is None else _count(of_base, style)
        return figures(title, [first, *(_count(count, style) for count in counts)], common=True)

    tokens, costs = [row.baseline_tokens for row in totals], [row.baseline_cost_usd for row in totals]
    return Fitted(
        (
            names("", [inert(one_line(name)) for name in (base.baseline, *(row.condition for row in totals))]),
            figures("trials", [str(base.baseline_trials), *(str(row.trials) for row in totals)]),
            counted("unparsed", "yellow", base.baseline_unparsed, [row.unparsed for row in totals]),
            counted("unscored", "yellow", base.baseline_unscored, [row.unscored for row in totals]),
            counted("budget", "yellow", base.baseline_budget, [row.budget for row in totals]),
            counted("failed", "red", base.baseline_failed, [row.failed for row in totals]),
            counted("left out", "yellow", None, [row.excluded_questions for row in totals]),
            figures("tokens", [_either(map(numbers.tokens, tokens)), *(numbers.tokens(row.tokens) for row in totals)]),
            figures("cost", [_either(map(numbers.dollars, costs)), *(numbers.dollars(row.cost_usd) for row in totals)]),
        )
    )


def _varies(rows: Sequence[Comparison]) -> bool:
    return any(
        len(set(map(show, (getattr(row, field) for row in rows if row.group is None and row.model == model)))) > 1
        for model in {row.model for row in rows}
        for field, show in (("baseline_tokens", numbers.tokens), ("baseline_cost_usd", numbers.dollars))
    )


def _either(shown: Iterable[str]) -> str:
    # A baseline's mean is over the questions that it shares with a condition, so it may differ between conditions.
    distinct = list(dict.fromkeys(shown))
    return distinct[0] if len(distinct) == 1 else "varies"


def _named(row: Comparison) -> Text:
    if row.group is None:
        return inert(one_line(row.condition))
    return Text("  ").append_text(inert(one_line(row.group) or f"(no {row.by})"))


def _count(number: int, style: str) -> Text:
    return Text(str(number), style=f"bold {style}" if number else "")


def _footnotes(rows: Sequence[Comparison]) -> Iterator[str]:
    yield "n: questions scored on both sides; all figures are paired over them. base, score: percent."
    yield "Δ points: difference in percentage points. Δ rel.: the same in percent of the base score."
    yield "95 % interval: of Δ points, from a paired bootstrap over questions (BCa)."
    yield "p: two-sided sign-flip test, not corrected for the number of comparisons."
    yield from _clustered(rows)
    yield "R→W: questions right under the baseline and wrong under the condition; W→R: the reverse."
    yield "Tokens and cost: mean per trial that counts."
    if _varies(rows):
        yield "varies: the baseline's mean is over the questions that it shares with each condition, which differ."
    yield from _unpriced(rows)
    if any(row.repeats > 1 for row in rows):
        yield "With repeats a question is right where its mean score is at least one half."
    if any(row.unparsed or row.baseline_unparsed for row in rows):
        yield "Unparsed: replies without an answer that could be extracted; no points, unless excluded."
    yield from _budgets(rows)
    if any(row.failed or row.baseline_failed for row in rows):
        yield "Failed: trials without an answer, for a reason outside the model; never scored. See `show`."
    if any(row.excluded_questions for row in rows):
        yield "Left out: questions that lack a score on one side, and so count on neither."
    if any(row.ci95 is None or row.tokens is None or row.cost_usd is None for row in rows):
        yield f"{numbers.UNKNOWN} is unknown, or cannot be told from these data."


def _budgets(rows: Sequence[Comparison]) -> Iterator[str]:
    found = {name: limits for name, budget, limits in _sides(rows, "budget", "limits") if budget}
    if not found:
        return
    shown = "; ".join(f"{name}: {_listed(limits)}" for name, limits in found.items())
    yield f"Budget: trials that a limit ended, asked once more for their answer and scored. What ran out: {shown}."


def _listed(limits: dict[str, int]) -> str:
    return ", ".join(f"{limit} {count:,}" for limit, count in limits.items()) or "not recorded"


def _unpriced(rows: Sequence[Comparison]) -> Iterator[str]:
    """Where all are unknown there is no figure that could mislead."""
    found: dict[str, set[int]] = defaultdict(set)
    for name, count, cost in _sides(rows, "unpriced", "cost_usd"):
        if cost is not None:
            found[name].add(count)
    shown = ", ".join(f"{_at_most(counts)} ({name})" for name, counts in found.items() if any(counts))
    if shown:
        yield f"Trials of unknown cost: {shown}; the mean is of the others."


def _at_most(counts: set[int]) -> str:
    # Like its mean, a baseline's count is over the questions that it shares with a condition.
    return f"{max(counts):,}" if len(counts) == 1 else f"up to {max(counts):,}"


def _sides(rows: Sequence[Comparison], *fields: str) -> Iterator[tuple[Any, ...]]:
    """Each side's name and fields; a model's baseline comes before each of its conditions."""
    totals = [row for row in rows if row.group is None]
    several = len({row.model for row in totals}) > 1
    for row in totals:
        for prefix, side in (("baseline_", row.baseline), ("", row.condition)):
            name = f"{one_line(row.model)} {one_line(side)}" if several else one_line(side)
            yield name, *(getattr(row, prefix + field) for field in fields)


def _clustered(rows: Sequence[Comparison]) -> Iterator[str]:
    found = sorted({(row.clusters, row.questions) for row in rows if row.clusters != row.questions})
    if not found:
        return
    shown = ", ".join(f"{clusters:,} for n = {questions:,}" for clusters, questions in found[:SHOWN_CLUSTERS])
    more = " and so on" if len(found) > SHOWN_CLUSTERS else ""
    yield f"Interval and p rest on clusters of questions that share a source: {shown}{more}."
