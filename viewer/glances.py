"""Who got a question right under which condition, as one row of a table shows it."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from toolablate.analysis.attribution.report import mechanism_name
from toolablate.analysis.selection import Ending, Selection, Turn
from toolablate.reports.html.addresses import diff_address, question_address, trial_address
from toolablate.reports.plots.text import plain
from toolablate.viewer.index import Facets, Glance, QuestionRow, TrialRow
from toolablate.viewer.index.figures import figures, standings

ENDINGS: Mapping[str, str] = {
    "correct": "right",
    "partial": "partly right",
    "wrong": "wrong",
    "unparsed": "no answer read",
    "unscored": "not scored",
    "budget": "out of budget",
    "failed": "failed",
}
TURNS: Mapping[str, str] = {
    "right_to_wrong": "right → wrong",
    "wrong_to_right": "wrong → right",
    "both_right": "right both times",
    "both_wrong": "wrong both times",
}


@dataclass(frozen=True, slots=True)
class Column:
    """`first` begins a model, which spans so many columns."""

    model: str
    condition: str
    first: bool
    span: int
    baseline: bool


@dataclass(frozen=True, slots=True)
class Mark:
    """One trial: its address, how it ended, and that in words; `fits` tells whether the filters mean it, or it stands
    beside those that they mean."""

    address: str
    ending: Ending
    says: str
    fits: bool = True


@dataclass(frozen=True, slots=True)
class Cell:
    """One model under one condition; `diff` is the address of a trial of it beside one of the baseline, where flipped
    or not."""

    marks: tuple[Mark, ...]
    flip: Turn | None
    diff: str | None
    first: bool


@dataclass(frozen=True, slots=True)
class Row:
    """`score` is the mean over the scored trials of the columns shown in percent, `delta` the lowest difference of one
    of their conditions from the baseline of the same model in points; None where nothing is scored."""

    row: QuestionRow
    address: str
    cells: tuple[Cell, ...]
    score: float | None
    delta: float | None


def columns(facets: Facets, selection: Selection) -> tuple[Column, ...]:
    """Those that the selection is about, and the baseline beside them."""
    models = [each for each in facets.models if not selection.models or each in selection.models]
    chosen = {*selection.conditions, facets.baseline} if selection.conditions else set(facets.conditions)
    conditions = [each for each in facets.conditions if each in chosen]
    return tuple(
        Column(model, condition, place == 0, len(conditions), condition == facets.baseline)
        for model in models
        for place, condition in enumerate(conditions)
    )


def table_row(
    row: QuestionRow,
    across: Sequence[Column],
    baseline: str,
    *,
    fitting: Collection[str],
    query: str = "",
    blind: bool = False,
) -> Row:
    """`fitting` are the ids of the trials that the filters mean. `query` goes on from here to the question and its
    trials; who is blind is not told what these are put down to."""
    found = {(glance.model, glance.condition): glance for glance in row.glances}
    cells = tuple(
        _cell(
            found.get((column.model, column.condition)),
            found.get((column.model, baseline)),
            column,
            fitting=fitting,
            query=query,
            blind=blind,
        )
        for column in across
    )
    seen = {(column.model, column.condition) for column in across}
    trials = [trial for place, glance in found.items() if place in seen for trial in glance.trials]
    known = figures(trials, standings(trials, baseline), baseline)
    return Row(row, question_address(row.question) + query, cells, _percent(known.score), _percent(known.delta))


def said(trial: TrialRow, *, blind: bool = False) -> str:
    """How it ended, in one line of plain text; without what it is put down to for who is blind."""
    answer = f", answered “{plain(trial.answer, 40)}”" if trial.answer else ""
    why = f"; {mechanism_name(trial.mechanism)}" if trial.mechanism and not blind else ""
    where = f"{plain(trial.model, 40)}, {plain(trial.condition, 40)}, repeat {trial.repeat}"
    return f"{where}: {ENDINGS[trial.ending]}{answer}{why}"


def sequel(address: str) -> str:
    """The query of the table's address, by which a trial knows what comes before and after it."""
    _, mark, query = address.partition("?")
    return mark + query


def beside(glance: Glance | None, base: Glance | None) -> str | None:
    """The address of the diff of their first trials, without tools on the left; trials that tell of a flip first."""
    if glance is None or base is None or glance is base or not glance.trials or not base.trials:
        return None
    left = _telling(base, right=glance.flip == "right_to_wrong")
    return diff_address(left.trial, _telling(glance, right=glance.flip != "right_to_wrong").trial)


def _telling(glance: Glance, *, right: bool) -> TrialRow:
    return next((each for each in glance.trials if (each.ending == "correct") == right), glance.trials[0])


def mark_of(trial: TrialRow, fitting: Collection[str], *, query: str, blind: bool) -> Mark:
    fits = trial.trial in fitting
    beside = "" if fits else "; not among those chosen"
    return Mark(trial_address(trial.trial) + query, trial.ending, said(trial, blind=blind) + beside, fits)


def _cell(
    glance: Glance | None, base: Glance | None, column: Column, *, fitting: Collection[str], query: str, blind: bool
) -> Cell:
    if glance is None:
        return Cell((), None, None, column.first)
    marks = tuple(mark_of(each, fitting, query=query, blind=blind) for each in glance.trials)
    diff = beside(glance, base)
    return Cell(marks, glance.flip, None if diff is None else diff + query, column.first)


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share
