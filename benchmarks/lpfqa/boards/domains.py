"""How models stand under the baseline, over all questions and by domain."""

from collections.abc import Iterator

from rich.console import RenderableType

from toolablate.analysis.effect import FEW_CLUSTERS, FEW_DIFFERING
from toolablate.benchmarks.lpfqa.boards.parts import (
    BEST,
    SMALL,
    STAND_IN,
    below,
    headings,
    interval,
    listed,
    model_names,
    named,
    note,
    over,
    percent,
    ranks,
    scores,
    spoiled,
    stand_ins,
    title,
)
from toolablate.benchmarks.lpfqa.scoreboard import DomainScores, Scoreboard, Standing
from toolablate.reports.numbers import UNKNOWN
from toolablate.reports.tables import Blocks, Fitted, figures, names
from toolablate.traces.plain import one_line

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


def _runs(row: Standing) -> str:
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
    yield note(["The highest and lowest of many scores are partly luck, the more so the fewer questions."])


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
