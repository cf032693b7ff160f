"""The tables of LPFQA's papers in a terminal."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from toolablate.analysis.effect import FEW_CLUSTERS, FEW_DIFFERING, SIGNIFICANT
from toolablate.benchmarks.lpfqa.ranks import Correlation, RankCorrelation
from toolablate.benchmarks.lpfqa.scoreboard_results import (
    Ablation,
    AverageEffect,
    BenchmarkComparison,
    DomainScores,
    Filtered,
    ModelScore,
    ModelStanding,
    Scoreboard,
    Tiers,
    ToolEffect,
)
from toolablate.reports import numbers
from toolablate.reports.numbers import MINUS, SMALL, UNKNOWN, counted
from toolablate.reports.tables import Blocks, Column, Fitted, figures, names, simulated_banner
from toolablate.traces.terminal_text import inert, one_line, shortened

BEST = "▲"
STAND_IN = " (simulated)"
TITLE_CELLS = 14
SPOILED = {
    "unparsed": "Trials without an answer that could be read, wrong unless the plan excludes them",
    "failed": "Trials that infrastructure spoiled, out of all figures",
    "unscored": "Trials that could not be scored, out of all figures",
}
NAMED = 8
"""How many names a note lists."""


def title(text: str) -> RenderableType:
    return Text(f" {text}", style="bold", overflow="fold")


def note(lines: Iterable[str]) -> RenderableType:
    return Padding(Text("\n".join(lines), style="dim", overflow="fold"), (0, 1, 1, 1))


def named(text: str) -> Text:
    return inert(one_line(text))


def stand_ins(found: Scoreboard) -> frozenset[str]:
    """The simulated models, where there are others as well: where there are none the banner says it of all."""
    simulated = frozenset(row.model for row in found.standings if row.simulated)
    return simulated if len(simulated) < len(found.standings) else frozenset()


def model_names(found: Scoreboard, models: Iterable[str]) -> list[Text]:
    marked = stand_ins(found)
    return [Text.assemble(named(name), STAND_IN) if name in marked else named(name) for name in models]


def headings(texts: Iterable[str]) -> list[str]:
    """Of columns of figures, which are as wide as their titles: shortened, but no more than tells them apart."""
    whole = [one_line(text) for text in texts]
    return [_heading(name, [other for other in whole if other != name]) for name in whole]


def _heading(name: str, others: Sequence[str]) -> str:
    cells = TITLE_CELLS
    while (found := shortened(name, cells)) != name and any(shortened(other, cells) == found for other in others):
        cells += 1
    return found


def listed(texts: Sequence[str]) -> str:
    shown = ", ".join(one_line(text) for text in texts[:NAMED])
    return f"{shown} and {len(texts) - NAMED:,} more" if len(texts) > NAMED else shown


def spoiled(rows: Iterable[tuple[str, ModelStanding | ToolEffect]]) -> Iterator[str]:
    """What the figures of these rows, by name, do not show of their trials."""
    found = list(rows)
    for field, told in SPOILED.items():
        counted = [f"{name} {getattr(row, field):,}" for name, row in found if getattr(row, field)]
        if counted:
            yield f"{told}: {listed(counted)}."


def percent(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:.2f}"


def change(value: float | None, unit: str = "") -> str:
    if value is None:
        return UNKNOWN
    text = f"{abs(value):.2f}"
    return f"{text}{unit}" if float(text) == 0 else f"{'+' if value > 0 else MINUS}{text}{unit}"


def interval(bounds: tuple[float, float] | None) -> str:
    return UNKNOWN if bounds is None else f"{bounds[0]:.1f} .. {bounds[1]:.1f}"


def ranks(bounds: tuple[int, int] | None) -> str:
    if bounds is None:
        return UNKNOWN
    return str(bounds[0]) if bounds[0] == bounds[1] else f"{bounds[0]}-{bounds[1]}"


def score(each: ModelScore, questions: int) -> Text:
    """Bold where it is best, which its sign says as well; with how many of the column's questions it is over, where
    these are not all."""
    if each.accuracy.percent is None:
        return Text(UNKNOWN)
    marks = f"{BEST if each.best else ''}{SMALL if each.accuracy.small else ''}"
    return Text(f"{marks}{percent(each.accuracy.percent)}{over(each, questions)}", style="bold" if each.best else "")


def over(each: ModelScore, questions: int) -> str:
    own = each.accuracy.questions
    return f" ({own:,})" if own < questions else ""


def scores(name: str, column: Sequence[ModelScore], mean: float | None, questions: int) -> Column:
    """Of models, then their mean, then how many questions it is over."""
    return figures(name, [*(score(each, questions) for each in column), percent(mean), f"{questions:,}"])


def below(found: Scoreboard, models: Iterable[str]) -> tuple[list[Text], tuple[str, ...]]:
    """The names of the rows of such columns, and their styles."""
    rows = model_names(found, models)
    return [*rows, Text("mean of models"), Text("questions")], ("",) * len(rows) + ("bold", "dim")


# How models stand under the baseline, over all questions and by domain.


NO_DOMAIN = "(no domain)"


def standings_part(found: Scoreboard) -> Iterator[RenderableType]:
    rows = found.standings
    columns = [
        names("model", model_names(found, (row.model for row in rows))),
        figures("n", [f"{SMALL if row.accuracy.small else ''}{row.accuracy.questions:,}" for row in rows]),
        figures("score", [percent(row.accuracy.percent) for row in rows]),
        figures("95 % interval", [interval(row.accuracy.ci95) for row in rows]),
        figures("rank", [UNKNOWN if row.rank is None else str(row.rank) for row in rows]),
        figures("95 % of rank", [ranks(row.ranks95) for row in rows]),
    ]
    repeated = any(row.repeat_sd is not None for row in rows)
    if repeated:
        columns += [
            figures("runs", [str(len(row.repeats)) for row in rows], spare=1),
            figures("mean ± sd of runs", [_runs(row) for row in rows], spare=2),
        ]
    yield title(f"Scores under {one_line(found.baseline)}, in percent")
    yield Fitted(tuple(columns))
    yield note(_standing_notes(found, repeated=repeated))


def _runs(row: ModelStanding) -> str:
    spread = UNKNOWN if row.repeat_sd is None else f"{row.repeat_sd:.2f}"
    return f"{percent(row.repeat_mean)} ± {spread}"


def _standing_notes(found: Scoreboard, *, repeated: bool) -> Iterator[str]:
    rows = found.standings
    yield "n: questions with a score. score: each question's mean over its repeats, then the mean over questions."
    yield "rank: equal scores share the better one. 95 % of rank: those that other questions of the kind could give."
    if repeated:
        yield "sd of runs: from one run of the same questions to the next, so less than other questions would change."
    if any(row.accuracy.small for row in rows):
        yield f"{SMALL}: {_few()}; do not rely on their intervals."
    if stand_ins(found):
        yield f"{STAND_IN.strip()}: a stand-in that imitates a model, no measurement; means of models hold it too."
    yield from spoiled((row.model, row) for row in rows)
    if missing := [f"{one_line(row.model)} {row.missing:,}" for row in rows if row.missing]:
        yield f"Scores are not over the same questions. Without a score that others have: {listed(missing)}."


def domains_part(found: Scoreboard) -> Iterator[RenderableType]:
    if not found.domains:
        return
    columns = (*found.domains, found.overall)
    rows, styles = below(found, (row.model for row in found.standings))
    yield title(f"By domain under {one_line(found.baseline)}, in percent")
    yield Blocks(
        names("model", rows),
        tuple(
            scores(heading, column.scores, column.mean, column.questions)
            for heading, column in zip(headings(map(_name, columns)), columns, strict=True)
        ),
        styles,
    )
    yield note(_cell_notes(columns))
    yield title("The highest and the lowest model of each domain")
    yield _extremes(columns)
    yield note(["The highest and lowest of many scores are partly sampling noise, the more so the fewer questions."])


def _cell_notes(columns: tuple[DomainScores, ...]) -> Iterator[str]:
    yield f"{BEST}: the best of its column, all of them where they are equal."
    if any(each.accuracy.small for column in columns for each in column.scores):
        yield f"{SMALL}: {_few()}; such scores say little."
    if any(over(each, column.questions) for column in columns for each in column.scores if each.accuracy.questions):
        yield "(n): over n of the column's questions alone, so not to be set beside scores over all of them."


def _extremes(columns: tuple[DomainScores, ...]) -> Fitted:
    bounds = [
        [each.accuracy.percent for each in column.scores if each.accuracy.percent is not None] for column in columns
    ]
    return Fitted(
        (
            names("domain", [named(_name(column)) for column in columns]),
            figures("n", [f"{column.questions:,}" for column in columns]),
            figures("mean", [percent(column.mean) for column in columns]),
            names("highest", [_who(column, column.highest) for column in columns]),
            figures("score", [percent(max(each, default=None)) for each in bounds]),
            names("lowest", [_who(column, column.lowest) for column in columns]),
            figures("score", [percent(min(each, default=None)) for each in bounds]),
        ),
        ("",) * (len(columns) - 1) + ("bold",),
    )


def _who(column: DomainScores, models: tuple[str, ...]) -> str:
    return listed([f"{each.model}{over(each, column.questions)}" for each in column.scores if each.model in models])


def _name(column: DomainScores) -> str:
    return "Overall" if column.domain is None else column.domain or NO_DOMAIN


def _few() -> str:
    return f"fewer than {FEW_CLUSTERS} independent questions, or {FEW_DIFFERING} right, or wrong"


# Scores over some of the questions: those that tell models apart, and those of one difficulty.


SETS = {"all": "all", "solved": MINUS, "told_apart": "="}
BOUNDS = {"easy": "easy > 50 %", "medium": "medium", "hard": "hard < 30 %"}
FEW_MODELS = (
    "Which questions no model or every model gets right, and how hard they are, is not shown: of fewer than two models"
    " that says nothing of the questions."
)


def filtered_part(found: Scoreboard) -> Iterator[RenderableType]:
    if found.filtered is None:
        yield note([FEW_MODELS])
        return
    rows, styles = below(found, (each.model for each in found.filtered.sets[0].scores))
    yield title("Without the questions that tell no models apart, in percent")
    columns = [scores(SETS[each.name], each.scores, each.mean, each.questions) for each in found.filtered.sets]
    yield Fitted((names("model", rows), *columns), styles)
    if any(domain for domain, _ in found.filtered.sets[0].domains):
        yield title("Questions left, by domain")
        yield _left(found.filtered)
    yield note(_filtered_notes(found.filtered, found.standings))


def _left(found: Filtered) -> Fitted:
    domains = [domain for domain, _ in found.sets[0].domains]
    return Fitted(
        (
            names("domain", [named(domain or NO_DOMAIN) for domain in domains]),
            *(figures(SETS[each.name], [f"{count:,}" for _, count in each.domains]) for each in found.sets),
        )
    )


def _filtered_notes(found: Filtered, standings: Sequence[ModelStanding]) -> Iterator[str]:
    yield (
        f"{MINUS} (LPFQA-): without {counted(len(found.unsolved), 'question')} that no model gets right in any repeat."
        f" = (LPFQA=): also without {len(found.always):,} that all {found.models} models get right in every repeat."
    )
    yield (
        f"Biased: these questions are chosen by the results that they score. Scores under {MINUS} are higher than the"
        " same models would have on new questions, the more so the fewer models and repeats; compare them with no other"
        " table."
    )
    yield from _left_out(found.left_out, standings)


def tiers_part(found: Scoreboard) -> Iterator[RenderableType]:
    if found.tiers is None:
        return
    rows, styles = below(found, (each.model for each in found.tiers.tiers[0].scores))
    yield title("By difficulty (how many of the models get a question right), in percent")
    columns = [scores(BOUNDS[each.tier], each.scores, each.mean, each.questions) for each in found.tiers.tiers]
    yield Fitted((names("model", rows), *columns), styles)
    if found.tiers.labels:
        yield title("The difficulty that questions name, and their tier here")
        yield _labels(found.tiers)
    yield note(_tier_notes(found.tiers, found.standings))


def _labels(found: Tiers) -> Fitted:
    return Fitted(
        (
            names("difficulty", [named(row.label) if row.label else Text("(none)") for row in found.labels]),
            figures("easy", [f"{row.easy:,}" for row in found.labels]),
            figures("medium", [f"{row.medium:,}" for row in found.labels]),
            figures("hard", [f"{row.hard:,}" for row in found.labels]),
            figures("mean pass rate", [percent(row.pass_rate) for row in found.labels]),
        )
    )


def _tier_notes(found: Tiers, standings: Sequence[ModelStanding]) -> Iterator[str]:
    yield "Pass rate: the mean over models of each one's share of right repeats; 30 and 50 % themselves are medium."
    yield (
        f"It rests on {found.models} models, so sampling noise moves questions between tiers; as these models make the"
        " tiers, their scores in them are no test of them. --json names each question's tier."
    )
    yield from _left_out(found.left_out, standings)


def _left_out(count: int, standings: Sequence[ModelStanding]) -> Iterator[str]:
    if count:
        lacking = [f"{row.model} {row.missing:,}" for row in standings if row.missing and row.rank is not None]
        yield f"Left out: {counted(count, 'question')} that some model has no score of ({listed(lacking)})."


# Each condition against the baseline, with every average that papers print.


NOISE = "~"

Row = ToolEffect | AverageEffect


def ablation_part(found: Scoreboard) -> Iterator[RenderableType]:
    if found.ablation is None:
        return
    averages = {row.condition: row for row in found.ablation.averages}
    for condition in dict.fromkeys(row.condition for row in found.ablation.rows):
        rows = [row for row in found.ablation.rows if row.condition == condition]
        yield title(f"{one_line(condition)} against {one_line(found.baseline)}")
        yield _ablation_table(found, rows, averages.get(condition))
    yield note(_ablation_notes(found.ablation))


def _ablation_table(found: Scoreboard, rows: Sequence[ToolEffect], average: AverageEffect | None) -> Fitted:
    tested: list[Row] = [*rows, *([average] if average else [])]
    # Below the averages two rows of their own say which relative change each is.
    blank = [""] * (2 if average else 0)
    columns = (
        names("model", [*model_names(found, (row.model for row in rows)), *_average_names(average)]),
        figures("n", [*(f"{_small(row)}{row.questions:,}" for row in tested), *blank]),
        figures("base", [*(percent(row.baseline_score) for row in tested), *blank]),
        figures("score", [*(percent(row.score) for row in tested), *blank]),
        figures("Δ points", [*map(_points, tested), *blank]),
        figures("95 % interval", [*(numbers.interval(row.ci95) for row in tested), *blank], spare=3),
        figures("p", [*(numbers.p_value(row.p_value) for row in tested), *blank], spare=1),
        figures("p Holm", [*(numbers.p_value(row.p_holm) for row in tested), *blank], spare=4),
        figures("Δ relative", [*(change(row.delta_relative, " %") for row in rows), *_relatives(average)]),
        figures("95 % of Δ rel.", [*map(_relative_interval, rows), *_relative_intervals(average)], spare=2),
    )
    return Fitted(columns, ("",) * len(rows) + ("bold",) * (len(tested) - len(rows) + len(blank)))


def _average_names(average: AverageEffect | None) -> list[str]:
    return ["mean of models", "relative Δ of these means", "mean of relative Δ"] if average else []


def _relatives(average: AverageEffect | None) -> list[str]:
    """One figure in each row, so that none is taken for the other."""
    if average is None:
        return []
    return ["", change(average.relative_of_means, " %"), change(average.mean_of_relatives, " %")]


def _relative_interval(row: ToolEffect) -> str:
    return numbers.interval(row.delta_relative_ci95, " %")


def _relative_intervals(average: AverageEffect | None) -> list[str]:
    return ["", numbers.interval(average.relative_of_means_ci95, " %"), ""] if average else []


def _small(row: Row) -> str:
    return SMALL if row.small else ""


def _points(row: Row) -> Text:
    noise = row.p_holm is None or row.p_holm >= SIGNIFICANT
    points = row.delta_points if isinstance(row, ToolEffect) else row.mean_points
    return Text(f"{NOISE if noise else ''}{change(points)}", style="" if noise else "bold")


def _ablation_notes(found: Ablation) -> Iterator[str]:
    yield (
        "base, score: percent. Δ points: score less base. Δ relative: Δ points in percent of base. n: questions scored"
        " on both sides."
    )
    yield (
        f"{NOISE}: not significant (p Holm of {SIGNIFICANT:g} or more, or unknown), corrected for"
        f" {numbers.counted(found.comparisons, 'comparison')} in these tables."
    )
    shown: list[Row] = [*found.rows, *found.averages]
    if any(row.small for row in shown):
        yield numbers.small_note()
    yield from spoiled((f"{row.model} {row.condition}", row) for row in found.rows)
    if found.averages:
        yield (
            "Means weigh each model the same. The mean of Δ points is the difference of the mean scores; the relative"
            " change of the means and the mean of relative changes are two figures, which papers take for each other."
        )


# Ranks of a store's models beside those that other benchmarks give them.


def beside_part(found: Scoreboard) -> Iterator[RenderableType]:
    for other in found.beside:
        yield title(f"Ranks here and on {one_line(other.benchmark)}")
        if other.rows:
            yield _beside_table(found, other)
        yield note(_beside_notes(other))


def _beside_table(found: Scoreboard, other: BenchmarkComparison) -> Fitted:
    return Fitted(
        (
            names("model", model_names(found, (row.model for row in other.rows))),
            figures("score", [percent(row.score) for row in other.rows]),
            figures("rank", [str(row.rank) for row in other.rows]),
            figures("95 % of rank", [ranks(row.ranks95) for row in other.rows]),
            figures("their score", [f"{row.other_score:g}" for row in other.rows]),
            figures("their rank", [str(row.other_rank) for row in other.rows]),
        )
    )


def _beside_notes(other: BenchmarkComparison) -> Iterator[str]:
    if not other.rows:
        yield "No model has a score on both."
    if other.correlation is not None:
        found = other.correlation
        yield (
            f"Over {found.models} models: Spearman's rho {_value(found.spearman)}, Kendall's tau-b"
            f" {_value(found.kendall)}{_how(found)}."
        )
    if alike := [f"{row.model} = {row.other_model}" for row in other.rows if row.model != row.other_model]:
        yield f"Taken for the same model: {listed(alike)}."
    if other.only_here:
        yield f"Without a score there: {listed(other.only_here)}."
    if other.only_there:
        yield f"Without a score here: {listed(other.only_there)}."
    yield "Ranks are among the models in the table, more being better."


def _value(found: Correlation) -> str:
    if found.value is None:
        return "unknown (all are alike)"
    sign = numbers.MINUS if found.value < 0 else ""
    tested = "" if found.p_value is None else f" (p {numbers.p_value(found.p_value)})"
    return f"{sign}{abs(found.value):.2f}{tested}"


def _how(found: RankCorrelation) -> str:
    if found.spearman.p_value is None and found.kendall.p_value is None:
        return ""
    return "; p from all orders of the models" if found.exact else "; p from random orders of the models"


def scoreboard_view(found: Scoreboard) -> RenderableType:
    """Scores and domains under the baseline, sets of questions, difficulty, tools, and ranks elsewhere."""
    return Group(
        *([simulated_banner()] if all(row.simulated for row in found.standings) else []),
        *standings_part(found),
        *domains_part(found),
        *filtered_part(found),
        *tiers_part(found),
        *ablation_part(found),
        *beside_part(found),
    )


# The table of domains as a figure.


def draw_domain_radar(found: Scoreboard, path: Path) -> frozenset[str]:
    """A spoke for each domain, with its number of questions; models as in the table. See `draw_radar`."""
    from toolablate.reports.plots.radar import RadarLine, RadarPoint, draw_radar

    simulated = {each.model for each in found.standings if each.simulated}
    by_model: dict[str, list[RadarPoint]] = {each.model: [] for each in found.standings}
    for domain in found.domains:
        scores = {score.model: score.accuracy for score in domain.scores}
        for model, points in by_model.items():
            known = scores.get(model)
            points.append(RadarPoint(known.percent, known.ci95) if known else RadarPoint(None, None))
    return draw_radar(
        [f"{each.domain or '(none)'} ({each.questions})" for each in found.domains],
        [RadarLine(f"{name}{STAND_IN}" if name in simulated else name, points) for name, points in by_model.items()],
        path,
        title=f"Scores by domain under {found.baseline}",
    )
