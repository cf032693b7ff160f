"""A comparison in a terminal: scores, effects, harm, flips, and what to know before reading them."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.padding import Padding
from rich.text import Text

from toolablate.analysis.comparison import Alone, Comparison
from toolablate.analysis.effect import SIGNIFICANT
from toolablate.analysis.flips import Flip, Floor
from toolablate.analysis.pairing import RIGHT
from toolablate.analysis.statistics.harm import Bounds, Selected
from toolablate.reports import numbers
from toolablate.reports.numbers import SMALL
from toolablate.reports.tables import Blocks, Column, Fitted, figures, names, simulated_banner, words
from toolablate.traces.terminal_text import ID_CHARS, inert, one_line


def effects(rows: Sequence[Comparison], heading: str = "condition") -> Fitted:
    several = len({row.by for row in rows if row.by is not None}) > 1
    columns = (
        names(heading, [_named(row, several) for row in rows]),
        figures("n", [f"{mark(row)}{row.questions}" for row in rows]),
        figures("base", [numbers.percent(row.baseline_score) for row in rows]),
        figures("score", [numbers.percent(row.score) for row in rows]),
        figures("Δ points", [Text(numbers.signed(row.delta_points), style=_style(row)) for row in rows]),
        figures("95 % interval", [numbers.interval(row.ci95) for row in rows]),
        figures("p", [numbers.p_value(row.p_value) for row in rows], spare=4),
        figures("p Holm", [numbers.p_value(row.p_holm) for row in rows], spare=6),
        figures("p BH", [numbers.p_value(row.p_bh) for row in rows], spare=2),
        figures("R→W", [numbers.flips(row.flips_right_to_wrong, row.repeats) for row in rows]),
        figures("W→R", [numbers.flips(row.flips_wrong_to_right, row.repeats) for row in rows]),
        figures("noise", [numbers.percent(row.noise_flips) for row in rows], common=True),
        figures("MDE", [_mde(row) for row in rows], spare=5),
        figures("Δ rel.", [numbers.signed(row.delta_relative, " %") for row in rows], spare=3),
        figures("95 % of Δ rel.", [numbers.interval(row.delta_relative_ci95, " %") for row in rows], spare=1),
    )
    return Fitted(columns, tuple("" if row.group is None else "dim" for row in rows))


def mark(row: Comparison) -> str:
    """Before a figure whose interval covers less than it says."""
    return SMALL if row.small else ""


def _style(row: Comparison) -> str:
    if row.small or row.delta_points is None or row.p_holm is None or row.p_holm >= SIGNIFICANT:
        return "bold"
    return "bold red" if row.delta_points < 0 else "bold green"


def _mde(row: Comparison) -> str:
    return numbers.UNKNOWN if row.detectable_points is None else f"{mark(row)}±{row.detectable_points:.1f}"


def _named(row: Comparison, several: bool) -> Text:
    if row.group is None:
        return inert(one_line(row.condition))
    group = inert(one_line(row.group) or f"(no {row.by})")
    return Text.assemble("  ", f"{row.by} " if several and row.group else "", group)


# The plain table of scores: one row for each model, one column for each condition, the baseline before them.


Cell = tuple[float | None, int]
"""A score in percent, and how many questions it is over."""


def scores(rows: Sequence[Comparison], heading: str = "model") -> Iterator[RenderableType]:
    simulated = {row.model for row in rows if row.simulated}
    conditions = list(dict.fromkeys([rows[0].baseline, *(row.condition for row in rows)]))
    yield from _table_of_scores(_scored(rows), conditions, simulated, heading)


def _scores_alone(found: Sequence[Alone]) -> Iterator[RenderableType]:
    scored = {row.model: {row.condition: (row.score, row.questions)} for row in found}
    yield from _table_of_scores(scored, [found[0].condition], {row.model for row in found if row.simulated})


def _table_of_scores(
    scored: Mapping[str, Mapping[str, Cell]], conditions: Sequence[str], simulated: Set[str], heading: str = "model"
) -> Iterator[RenderableType]:
    """The first of the conditions is the baseline."""
    counts = [max(count for _, count in cells.values()) for cells in scored.values()]
    some = simulated != scored.keys()
    yield Text.assemble(" Scores in percent; the baseline is ", (one_line(conditions[0]), "bold"), overflow="fold")
    if simulated and not some:
        yield simulated_banner()
    yield Blocks(
        names(heading, [_model_name(model, marked=some and model in simulated) for model in scored]),
        (
            figures("n", [str(count) for count in counts]),
            *(
                figures(one_line(condition), map(_cell, (cells.get(condition) for cells in scored.values()), counts))
                for condition in conditions
            ),
        ),
    )


def differ(rows: Sequence[Comparison]) -> bool:
    """Whether a model's scores are over different numbers of questions."""
    return any(len({count for _, count in cells.values()}) > 1 for cells in _scored(rows).values())


def _scored(rows: Sequence[Comparison]) -> dict[str, dict[str, Cell]]:
    """By model and condition. A baseline counts the questions that it shares with a condition: of these scores, that
    over the most."""
    found: dict[str, dict[str, Cell]] = {}
    for row in rows:
        if row.group is None:
            cells = found.setdefault(row.model, {row.baseline: (row.baseline_score, row.questions)})
            if row.questions > cells[row.baseline][1]:
                cells[row.baseline] = row.baseline_score, row.questions
            cells[row.condition] = row.score, row.questions
    return found


def _cell(cell: Cell | None, count: int) -> str:
    if cell is None:
        return numbers.UNKNOWN
    score, own = cell
    return numbers.percent(score) if own == count else f"{numbers.percent(score)} ({own})"


def _model_name(model: str, *, marked: bool) -> Text:
    name = inert(one_line(model))
    return Text.assemble(name, " (simulated)") if marked else name


# What the tables of a comparison mean, and what to know before reading them.


SHOWN = 4
"""How many rows a footnote names."""

DEFINITIONS = "docs/statistics.md"


def footnotes_of(rows: Sequence[Comparison], *, show_harm: bool = False) -> Iterator[str]:
    yield from _fewer_note(rows)
    yield from _columns(rows)
    yield from grounds_of(rows)
    if show_harm:
        yield from _harmed(rows)
    if _varies(rows):
        yield "varies: the baseline's mean covers the questions shared with each condition, and these differ."
    yield from _unpriced(rows)
    yield from _budgets(rows)
    yield f"What each figure means: {DEFINITIONS}."


def grounds_of(rows: Sequence[Comparison]) -> Iterator[str]:
    """What the figures rest on, for any table of them."""
    yield from _tested(rows)
    yield from _small(rows)
    yield from _partly_measured(rows)
    yield from _graded(rows)
    yield from _uneven(rows)
    yield from _at_the_edge(rows)
    yield from _clustered(rows)


def _fewer_note(rows: Sequence[Comparison]) -> Iterator[str]:
    if differ(rows):
        baseline = one_line(rows[0].baseline)
        yield f"(n): score over fewer questions than the row's n; base: score of {baseline} on the same questions."


def _tested(rows: Sequence[Comparison]) -> Iterator[str]:
    count = max((row.comparisons for row in rows), default=0)
    shown = "the one comparison" if count == 1 else f"the {count:,} comparisons"
    if count:
        but = f" (except {SMALL})" if any(row.small for row in rows) else ""
        yield f"In colour: p Holm < {SIGNIFICANT:g}{but}, corrected for {shown} in this table."


def _small(rows: Sequence[Comparison]) -> Iterator[str]:
    if any(row.small for row in rows):
        yield numbers.small_note()


def _at_the_edge(rows: Sequence[Comparison]) -> Iterator[str]:
    """Where the interval and the test, which rest on different resampling, say different things of 0."""
    found = [
        row
        for row in rows
        if row.ci95 is not None
        and row.p_value is not None
        and (row.p_value < SIGNIFICANT) == (row.ci95[0] <= 0 <= row.ci95[1])
    ]
    if found:
        yield f"Borderline: interval and p-value disagree on 0: {_rows_named(found, rows)}."


def _uneven(rows: Sequence[Comparison]) -> Iterator[str]:
    found = [row for row in rows if row.group is None and row.uneven_questions]
    if found:
        named = _rows_named(found, rows, lambda row: f" {row.uneven_questions:,} of {row.questions:,}")
        yield f"p-values ignore surplus repeats of a question on one side: {named}."


def _graded(rows: Sequence[Comparison]) -> Iterator[str]:
    if any(row.graded for row in rows):
        yield f"Right: a score of {RIGHT:g} or more. Flips, noise and harm ignore changes that do not cross it."


def _columns(rows: Sequence[Comparison]) -> Iterator[str]:
    if all(row.repeats <= 1 for row in rows):
        yield "R→W: right under the baseline, wrong under the condition. noise: unknown with one repeat."
    else:
        yield "R→W: right in a baseline run, wrong in a run of the condition. noise: the same, between baseline runs."


def _partly_measured(rows: Sequence[Comparison]) -> Iterator[str]:
    partly = [row for row in rows if row.group is None and 0 < row.noise_questions < row.questions]
    if partly:
        named = _rows_named(partly, rows, lambda row: f" {row.noise_questions:,} of {row.questions:,}")
        yield f"noise: measured on questions with two scored repeats: {named}."


def _harmed(rows: Sequence[Comparison]) -> Iterator[str]:
    if not any(row.harm for row in rows):
        return
    yield "harmed: share of trials right under the baseline and wrong under the condition. helped: the reverse."
    partly = [row for row in rows if row.harm and row.harm_questions < row.questions]
    if partly:
        named = _rows_named(partly, rows, lambda row: f" {row.harm_questions:,} of {row.questions:,}")
        yield f"Harm: over questions with two scored repeats on both sides: {named}."


def _rows_named(
    found: Sequence[Comparison], rows: Sequence[Comparison], more: Callable[[Comparison], str] | None = None
) -> str:
    several = len({row.model for row in rows}) > 1
    named = ", ".join(f"{_row_name(row, several)}{more(row) if more else ''}" for row in found[:SHOWN])
    return f"{named} and {len(found) - SHOWN:,} more" if len(found) > SHOWN else named


def _row_name(row: Comparison, several: bool) -> str:
    model = f"{one_line(row.model)} " if several else ""
    group = "" if row.group is None else f" ({one_line(row.group) or f'no {row.by}'})"
    return f"{model}{one_line(row.condition)}{group}"


def _varies(rows: Sequence[Comparison]) -> bool:
    return any(
        len(set(map(show, (getattr(row, field) for row in rows if row.group is None and row.model == model)))) > 1
        for model in {row.model for row in rows}
        for field, show in (("baseline_tokens", numbers.tokens), ("baseline_cost_usd", numbers.dollars))
    )


def _budgets(rows: Sequence[Comparison]) -> Iterator[str]:
    found = {name: limits for name, budget, limits in _sides(rows, "budget", "limits") if budget}
    if not found:
        return
    shown = "; ".join(f"{name}: {_listed(limits)}" for name, limits in found.items())
    yield f"Trials ended by the budget got one last request. Limits reached: {shown}."


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
        yield f"Trials of unknown cost: {shown}; the mean excludes them."


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
    shown = ", ".join(f"{clusters:,} for n = {questions:,}" for clusters, questions in found[:SHOWN])
    more = " and so on" if len(found) > SHOWN else ""
    yield f"Interval and p-value use clusters of questions that share a source: {shown}{more}."


# Whom a condition harms and helps, as far as repeats can tell: bounds, and what one half says of the other.


def harm(rows: Sequence[Comparison]) -> Iterator[RenderableType]:
    """Says what is lacking where repeats do not tell."""
    found = [(row, row.harm) for row in rows if row.harm is not None]
    if not found:
        if any(row.group is None and row.questions for row in rows):
            lacking = "Whom a condition harms is not known: no question has two scored repeats on both sides."
            yield Padding(Text(lacking, style="yellow"), (1, 1, 0, 1))
        return
    yield Text(" Share of trials, between bounds", style="bold")
    yield Fitted(
        (
            _conditions([row for row, _ in found]),
            figures("harmed", [_between(each.harmed) for _, each in found]),
            figures("95 % interval", [_interval(row, each.harmed) for row, each in found]),
            figures("helped", [_between(each.helped) for _, each in found]),
            figures("95 % interval", [_interval(row, each.helped) for row, each in found]),
        )
    )
    selected = [(row, row.question_effects) for row, _ in found if row.question_effects is not None]
    if selected:
        totals = [row for row, _ in selected]
        yield Text(" Look so in half of their repeats: their effect in the other half", style="bold")
        yield Fitted(
            (
                _conditions(totals),
                *_looked("harmed", totals, [each.harmed for _, each in selected]),
                *_looked("helped", totals, [each.helped for _, each in selected]),
            )
        )


def _conditions(rows: Sequence[Comparison]) -> Column:
    return names("", [inert(one_line(row.condition)) for row in rows])


def _looked(way: str, rows: Sequence[Comparison], chosen: Sequence[Selected]) -> tuple[Column, ...]:
    of = list(zip(rows, chosen, strict=True))
    return (
        figures(way, [f"{each.questions:.0f}" for each in chosen]),
        figures("points", [_points(each) for each in chosen]),
        figures("95 % interval", [_points_interval(row, each) for row, each in of]),
    )


def _points(chosen: Selected) -> str:
    return numbers.signed(None if chosen.effect is None else 100 * chosen.effect)


def _points_interval(row: Comparison, chosen: Selected) -> str:
    return _shown(row, chosen.ci95, lambda low, high: numbers.interval((100 * low, 100 * high)))


def _between(bounds: Bounds) -> str:
    return f"{_share(bounds.low)} .. {_share(bounds.high)} %"


def _interval(row: Comparison, bounds: Bounds) -> str:
    return _shown(row, bounds.ci95, lambda low, high: f"{_share(low)} .. {_share(high)} %")


def _shown(row: Comparison, interval: tuple[float, float] | None, text: Callable[[float, float], str]) -> str:
    return numbers.UNKNOWN if interval is None else mark(row) + text(*interval)


def _share(value: float) -> str:
    return numbers.percent(100 * value)


# The table of trials: what became of them on each side, and what they cost.


def trials(rows: Sequence[Comparison]) -> Fitted:
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


def _either(shown: Iterable[str]) -> str:
    # A baseline's mean is over the questions that it shares with a condition, so it may differ between conditions.
    distinct = list(dict.fromkeys(shown))
    return distinct[0] if len(distinct) == 1 else "varies"


def _count(number: int, style: str) -> Text:
    return Text(str(number), style=f"bold {style}" if number else "")


def comparison_table(
    comparisons: Sequence[Comparison],
    *,
    footnotes: bool = True,
    show_harm: bool = False,
    alone: Sequence[Alone] = (),
    of_models: bool = False,
) -> RenderableType:
    """The scores of all models; then model by model effects, whom conditions harm where that is asked for, trials and
    cost. The less important columns make way on narrow terminals. Without a comparison, the baseline's scores `alone`.
    Rows `of_models` compare two models: what is a model elsewhere is a condition in them, and the reverse.
    """
    if not comparisons:
        finished = not alone or any(each.questions for each in alone)
        which = "only the baseline has finished trials" if finished else "no trial has finished"
        why = Text(f"Nothing to compare: {which}.", style="yellow")
        return Group(*(_scores_alone(alone) if alone else ()), why)
    return _Comparisons(tuple(comparisons), footnotes, show_harm, of_models)


@dataclass(frozen=True, slots=True)
class _Comparisons:
    rows: tuple[Comparison, ...]
    footnotes: bool
    show_harm: bool
    of_models: bool = False

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield from scores(self.rows, "condition" if self.of_models else "model")
        for model, rows in groupby(self.rows, key=lambda row: row.model):
            yield from _model_part(model, list(rows), show_harm=self.show_harm, of_models=self.of_models)
        if self.footnotes:
            yield Padding(Text("\n".join(footnotes_of(self.rows, show_harm=self.show_harm)), style="dim"), (0, 1, 1, 1))


def _model_part(model: str, rows: list[Comparison], *, show_harm: bool, of_models: bool) -> list[RenderableType]:
    whose, baseline = (one_line(model), "bold"), (one_line(rows[0].baseline), "bold")
    title = Text.assemble(" under " if of_models else " ", whose, "  compared with ", baseline)
    parts: list[RenderableType] = [title]
    if any(row.simulated for row in rows):
        parts.append(simulated_banner())
    return [
        *parts,
        effects(rows, "model" if of_models else "condition"),
        *(harm(rows) if show_harm else ()),
        trials(rows),
    ]


WAYS = {"right_to_wrong": Text("R→W", style="bold red"), "wrong_to_right": Text("W→R", style="bold green")}


def flips_table(flips: Sequence[Flip], floors: Sequence[Floor] = ()) -> RenderableType:
    """How many flips chance alone gives, then the questions that flipped, with the beginnings of the ids of both sides'
    trials, by which `show` finds them."""
    noise = _noise(floors)
    if not flips:
        return Group(*noise, Text("No question went from right to wrong or from wrong to right.", style="yellow"))
    columns = (
        names("question", [_name(flip.question) for flip in flips], cut=True),
        names("domain", [_name(flip.domain) for flip in flips], common=True),
        names("model", [_name(flip.model) for flip in flips], common=True),
        names("condition", [_name(flip.condition) for flip in flips], common=True),
        words("flip", [WAYS[flip.direction] for flip in flips]),
        figures("base", [f"{100 * flip.baseline_score:.0f}" for flip in flips], spare=1),
        figures("score", [f"{100 * flip.score:.0f}" for flip in flips], spare=2),
        words("base trial", [_ids(flip.baseline_trials) for flip in flips]),
        words("trial", [_ids(flip.trials) for flip in flips]),
    )
    table = Fitted(tuple(column for column in columns if any(cell.plain for cell in column.cells)))
    banner = [simulated_banner()] if any(flip.simulated for flip in flips) else []
    return Group(*banner, *noise, table)


def _noise(floors: Sequence[Floor]) -> list[RenderableType]:
    """Below this many flips of one run, a list is what chance gives."""
    if not floors:
        return []
    found = [floor.chance for floor in floors]
    table = Fitted(
        (
            names("model", [_name(floor.model) for floor in floors], common=True),
            names("condition", [_name(floor.condition) for floor in floors]),
            names("baseline", [_name(floor.baseline) for floor in floors], common=True),
            figures("questions", [f"{floor.questions:,}" for floor in floors], common=True),
            figures("R→W", [f"{chance.flips_right_to_wrong:.1f}" for chance in found]),
            figures("W→R", [f"{chance.flips_wrong_to_right:.1f}" for chance in found]),
            figures("noise", [numbers.percent(chance.noise_flips) for chance in found]),
            figures("measured on", [f"{chance.noise_questions:,}" for chance in found], common=True),
        )
    )
    heading = Text(" Between single runs, and by chance alone either way (noise)", style="bold")
    if any(chance.noise_flips is None for chance in found):
        return [heading, table, Text(" noise is unknown without `repeats` of 2 or more.", style="dim")]
    return [heading, table]


def _name(text: str) -> Text:
    return inert(one_line(text))


def _ids(trials: tuple[str, ...]) -> str:
    more = f" +{len(trials) - 1}" if len(trials) > 1 else ""
    return f"{trials[0][:ID_CHARS]}{more}" if trials else ""
