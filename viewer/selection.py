"""What a page is asked to select, and its questions and trials at a glance."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, get_args
from urllib.parse import quote, urlencode

from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException

from toolablate.analysis.attribution.report import mechanism_name
from toolablate.analysis.selection import Ending, Selection, Turn
from toolablate.reports.plots.panels import plain
from toolablate.traces.records import Mechanism
from toolablate.viewer.index import Facets, Glance, QuestionRow, Sort, TrialRow
from toolablate.viewer.index.records import figures, standings

PARAMETERS: Mapping[str, str] = {
    "models": "model",
    "conditions": "condition",
    "domains": "domain",
    "difficulties": "difficulty",
    "endings": "ending",
    "flips": "flip",
    "mechanisms": "mechanism",
    "labels": "label",
    "tools": "tool",
}
"""The fields of a Selection as a query names them, each as often as it has values."""

TEXTS = ("text", "unlabelled")
"""Those that are one text each, under their own names."""


def questions_address(selection: Selection, **more: str | int) -> str:
    """Of the table of questions; `more` are its `sort` and `page`."""
    values = [(name, value) for field, name in PARAMETERS.items() for value in getattr(selection, field)]
    values += [(name, getattr(selection, name)) for name in TEXTS if getattr(selection, name)]
    query = urlencode([*values, *more.items()])
    return f"/questions?{query}" if query else "/questions"


def question_address(question: str) -> str:
    """By its id."""
    return f"/question/{quote(question, safe='')}"


def trial_address(trial: str) -> str:
    return f"/trial/{quote(trial, safe='')}"


FIRST_EVENTS = 40
"""That the page of a trial begins with."""


def event_address(trial: str, event: int | None) -> str:
    """Of a trial at one of its events; those after the first a browser without scripts has to ask for."""
    if event is None:
        return trial_address(trial)
    beyond = f"?from={event}" if event >= FIRST_EVENTS else ""
    return f"{trial_address(trial)}{beyond}#event-{event}"


def diff_address(left: str, right: str) -> str:
    """Of two trials side by side."""
    return f"/diff/{quote(left, safe='')}/{quote(right, safe='')}"


# What a page's address asks for: which questions, in which order.


LONGEST_TEXT = 1_000
"""Characters to look for. Whoever pastes more has pasted something else."""
LAST_PAGE = 10**9
HIDDEN = (PARAMETERS["mechanisms"], PARAMETERS["labels"])
"""From who labels blind."""
SHOWN = 12
"""How many of the values that there are a refusal names."""


@dataclass(frozen=True, slots=True)
class PageQuery:
    """Pages count from 1. In an address a hyphen before `sort` says that it descends."""

    selection: Selection = field(default_factory=Selection)
    sort: Sort = "order"
    descending: bool = False
    page: int = 1

    def address(self, **changes: Any) -> str:
        """Of the table of questions, with some fields changed: another order or selection begins at its first page."""
        asked = replace(self, **({"page": 1} | changes))
        more: dict[str, str | int] = {}
        if (asked.sort, asked.descending) != ("order", False):
            more["sort"] = f"{'-' if asked.descending else ''}{asked.sort}"
        if asked.page > 1:
            more["page"] = asked.page
        return questions_address(asked.selection, **more)


def asked(query: QueryParams, facets: Facets, *, blind: str = "") -> PageQuery:
    """`blind` is the name of a person from whom it is hidden what trials are attributed to, "" for nobody. Raises
    HTTPException (400) where the query names a value that is not among the facets, or no such page; of who is blind
    also where trials are chosen by what they are attributed to, or by whether others labelled them."""
    if blind and (any(name in query for name in HIDDEN) or query.get("unlabelled", blind) not in ("", blind)):
        raise HTTPException(400, "Attributions are hidden here, so trials cannot be filtered by them.")
    given: dict[str, Any] = {known: tuple(dict.fromkeys(query.getlist(name))) for known, name in PARAMETERS.items()}
    for known, values in given.items():
        _known(PARAMETERS[known], values, values_of(facets, known))
    given |= {name: _text(query, name) for name in TEXTS}
    return PageQuery(Selection(**given), *_sort(query), _page(query))


def values_of(facets: Facets, known: str) -> Collection[str]:
    """That a field of a Selection can have. Endings, turns and mechanisms are known whether or not a trial has them."""
    if known in ("mechanisms", "labels"):
        return tuple(get_args(Mechanism))
    if known == "endings":
        return tuple(get_args(Ending))
    if known == "flips":
        return tuple(get_args(Turn))
    found: Collection[str] = getattr(facets, known)
    return found


RAW = "raw"
"""`raw=1` shows texts as they were written, on all pages of one question."""


LABELLING = "labelling"
"""`labelling=1` is of a trial that is opened to be labelled: nothing tells what is attributed to it."""
DECIDING = "adjudicate"
"""`adjudicate=1` is of one that people labelled differently, to decide between them."""


def is_raw(query: QueryParams) -> bool:
    return query.get(RAW) == "1"


def switched(path: str, query: QueryParams, *, raw: bool, without: Collection[str] = ()) -> str:
    """The address of the same page that shows texts as they were written, or as they were meant."""
    kept = [pair for pair in query.multi_items() if pair[0] not in {RAW, "token", *without}]
    asked_for = urlencode([*kept, *([(RAW, "1")] if raw else [])])
    return f"{path}?{asked_for}" if asked_for else path


def carried(query: QueryParams) -> str:
    """What of a page's query asks for trials and their order, as a query: pages of one trial hand it on, so that the
    table and the next trial are those that were chosen; and how texts are shown."""
    names = {*PARAMETERS.values(), *TEXTS, "sort", RAW, LABELLING, DECIDING}
    kept = urlencode([pair for pair in query.multi_items() if pair[0] in names])
    return f"?{kept}" if kept else ""


def narrowed(selection: Selection) -> Sequence[tuple[str, str, Selection]]:
    """Each value that narrows it: the parameter, the value, and the selection without it."""
    found = []
    for each in fields(selection):
        if each.name in TEXTS:
            continue
        values: tuple[str, ...] = getattr(selection, each.name)
        for value in values:
            rest: dict[str, Any] = {each.name: tuple(other for other in values if other != value)}
            found.append((PARAMETERS[each.name], value, replace(selection, **rest)))
    for name in TEXTS:
        if text := getattr(selection, name):
            nothing: dict[str, Any] = {name: ""}
            found.append((name, text, replace(selection, **nothing)))
    return found


def _known(name: str, values: Sequence[str], allowed: Collection[str]) -> None:
    for value in values:
        if value not in allowed:
            named = ", ".join(plain(each, 60) or "(empty)" for each in list(allowed)[:SHOWN])
            more = f" and {len(allowed) - SHOWN:,} more" if len(allowed) > SHOWN else ""
            there = f"There are: {named}{more}." if allowed else "No trial has any."
            raise HTTPException(400, f"No {name} here is called “{plain(value, 60)}”. {there}")


def _text(query: QueryParams, name: str) -> str:
    text = query.get(name, "").strip()
    if len(text) > LONGEST_TEXT:
        raise HTTPException(400, f"The text to look for has {len(text):,} characters; at most {LONGEST_TEXT:,} are.")
    return text


def _sort(query: QueryParams) -> tuple[Sort, bool]:
    given = query.get("sort", "order")
    name = given.removeprefix("-")
    for sort in get_args(Sort):
        if sort == name:
            return sort, given != name
    raise HTTPException(400, f"Nothing sorts by “{plain(given, 60)}”, only: {', '.join(get_args(Sort))}.")


def _page(query: QueryParams) -> int:
    given = query.get("page", "1")
    if not (given.isascii() and given.isdigit() and given.strip("0")):
        raise HTTPException(400, f"“{plain(given, 60)}” is no page: pages count from 1.")
    return LAST_PAGE if len(given.lstrip("0")) > 9 else int(given)


# Who got a question right under which condition, as one row of a table shows it.


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
class ArmColumn:
    """`first` begins a model, which spans so many columns."""

    model: str
    condition: str
    first: bool
    span: int
    baseline: bool


@dataclass(frozen=True, slots=True)
class TrialMark:
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

    marks: tuple[TrialMark, ...]
    flip: Turn | None
    diff: str | None
    first: bool


@dataclass(frozen=True, slots=True)
class QuestionCells:
    """`score` is the mean over the scored trials of the columns shown in percent, `delta` the lowest difference of one
    of their conditions from the baseline of the same model in points; None where nothing is scored."""

    row: QuestionRow
    address: str
    cells: tuple[Cell, ...]
    score: float | None
    delta: float | None


def columns(facets: Facets, selection: Selection) -> tuple[ArmColumn, ...]:
    """Those that the selection is about, and the baseline beside them."""
    models = [each for each in facets.models if not selection.models or each in selection.models]
    chosen = {*selection.conditions, facets.baseline} if selection.conditions else set(facets.conditions)
    conditions = [each for each in facets.conditions if each in chosen]
    return tuple(
        ArmColumn(model, condition, place == 0, len(conditions), condition == facets.baseline)
        for model in models
        for place, condition in enumerate(conditions)
    )


def table_row(
    row: QuestionRow,
    across: Sequence[ArmColumn],
    baseline: str,
    *,
    fitting: Collection[str],
    query: str = "",
    blind: bool = False,
) -> QuestionCells:
    """`fitting` are the ids of the trials that the filters mean. `query` goes on from here to the question and its
    trials; who is blind is not told what these are attributed to."""
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
    return QuestionCells(
        row, question_address(row.question) + query, cells, _percent(known.score), _percent(known.delta)
    )


def said(trial: TrialRow, *, blind: bool = False) -> str:
    """How it ended, in one line of plain text; without what it is attributed to for who is blind."""
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


def mark_of(trial: TrialRow, fitting: Collection[str], *, query: str, blind: bool) -> TrialMark:
    fits = trial.trial in fitting
    beside = "" if fits else "; not among those chosen"
    return TrialMark(trial_address(trial.trial) + query, trial.ending, said(trial, blind=blind) + beside, fits)


def _cell(
    glance: Glance | None, base: Glance | None, column: ArmColumn, *, fitting: Collection[str], query: str, blind: bool
) -> Cell:
    if glance is None:
        return Cell((), None, None, column.first)
    marks = tuple(mark_of(each, fitting, query=query, blind=blind) for each in glance.trials)
    diff = beside(glance, base)
    return Cell(marks, glance.flip, None if diff is None else diff + query, column.first)


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share
