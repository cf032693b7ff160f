"""Tables of a store as Arrow, pandas or polars, by whichever is installed."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from importlib.util import find_spec
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal

from toolablate.analysis.from_store import chosen_run, observed_columns
from toolablate.formats.exporting import ExportChoice, Reasons, chosen, read_exported
from toolablate.formats.trial_tables import (
    ATTRIBUTIONS,
    EVENTS,
    QUESTIONS,
    SCORES,
    TRIALS,
    ExportTable,
    Kind,
    event_rows,
    json_text,
    reason_rows,
    row_of_question,
)
from toolablate.traces.errors import InputError
from toolablate.traces.store import Store

if TYPE_CHECKING:
    import pyarrow as pa

Library = Literal["pandas", "polars"]

LIBRARIES: tuple[Library, ...] = ("pandas", "polars")

Columns = Mapping[str, tuple[Kind, Sequence[Any]]]
"""By name, with the kind of its values; all of one length."""

_OWN: dict[str, Kind] = {
    "language": "name",
    "cluster": "name",
    "target_kind": "name",
    "metadata": "json",
    "tokens": "int",
}
"""Columns of trials that the exported table has not."""
_OF_TRIALS = (
    *("trial", "question", "model", "condition", "repeat", "outcome", "limit", "value", "verdict"),
    *("domain", "difficulty", "language", "cluster", "target_kind", "simulated", "attempt", "started_at", "seconds"),
    *("input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens", "tokens", "cost_usd"),
    *("events", "lookups", "misses", "leaks", "withheld", "metadata"),
)


# What is read of a store.


def trial_columns(store: Store, *, run: str = "all", scorer: str | None = None) -> Columns:
    """A row for each ended trial of a plan, under the names of the exported table where it has the same; no trace is
    read. Raises InputError for a run or scorer that is not there, StoreError."""
    with store.at_one_moment():
        found = dict(observed_columns(store, run=run, scorer=scorer))
    found["target_kind"] = found["kind"]
    found["misses"] = [sum(count for _, count in misses) if misses else 0 for misses in found["misses"]]
    # Questions are few, and what they say of themselves is there once.
    said = {metadata: json_text(dict(metadata)) for metadata in set(found["metadata"])}
    found["metadata"] = [said[metadata] for metadata in found["metadata"]]
    found["started_at"] = list(map(datetime.fromisoformat, found["started_at"]))
    kinds = _OWN | {column.name: column.kind for column in TRIALS.columns}
    return {name: (kinds[name], found[name]) for name in _OF_TRIALS}


def score_columns(store: Store, *, run: str = "all") -> Columns:
    """A row for each score of these trials, without texts. Raises as `trial_columns` does."""
    found = store.scored(run=None if run == "all" else chosen_run(store, run).id)
    kinds = {column.name: column.kind for column in SCORES.columns}
    return {name: (kinds[name], values) for name, values in found.items()}


def question_columns(store: Store) -> Columns:
    """A row for each question. Raises StoreError."""
    rows = (row_of_question(each, each.identity(), each.id) for each in store.questions())
    return _by_column(QUESTIONS, rows)


def event_columns(
    store: Store,
    *,
    run: str = "all",
    models: Sequence[str] = (),
    conditions: Sequence[str] = (),
    trials: Sequence[str] = (),
) -> Columns:
    """A row for each event of these trials, or of those of `trials`, by the beginnings of their ids: every trace is
    read. Raises InputError for what is not there, StoreError."""
    wanted = chosen(store, ExportChoice(run=run, models=tuple(models), conditions=tuple(conditions)))
    if trials:
        named = {store.find_trial(each) for each in trials}
        wanted = tuple(each for each in wanted if each.trial in named)
    return _by_column(EVENTS, chain.from_iterable(map(event_rows, read_exported(store, wanted))))


def attribution_columns(reasons: Iterable[Reasons]) -> Columns:
    """A row for each method's attribution of a trial."""
    return _by_column(ATTRIBUTIONS, chain.from_iterable(map(reason_rows, reasons)))


def _by_column(table: ExportTable, rows: Iterable[Mapping[str, Any]]) -> Columns:
    found = list(rows)
    return {column.name: (column.kind, [row.get(column.name) for row in found]) for column in table.columns}


# What it is given as.


def arrow_table(columns: Columns) -> "pa.Table":
    """Raises InputError where pyarrow is not installed."""
    from toolablate.formats.parquet import arrow_array, arrow_types, require_parquet

    require_parquet()
    import pyarrow as pa

    of = arrow_types()
    return pa.table({name: arrow_array(values, of[kind]) for name, (kind, values) in columns.items()})


def frame(columns: Columns, library: Library | None = None) -> Any:
    """A DataFrame of pandas or else of polars, whichever is installed: made of the Arrow table where there is pyarrow.
    Raises InputError where there is neither, or not the one that is named."""
    wanted = _library(library)
    table = arrow_table(columns) if find_spec("pyarrow") is not None else None
    if wanted == "polars":
        import polars

        return polars.from_arrow(table) if table is not None else polars.DataFrame(_values(columns))
    if table is not None:
        return table.to_pandas()
    import pandas

    return pandas.DataFrame(_values(columns))


def frame_of_rows(
    rows: Sequence[Mapping[str, Any]], library: Library | None = None, *, columns: Sequence[str] | None = None
) -> Any:
    """The same of few rows, whatever their values are; `columns` are those that it has without any row as well. Raises
    likewise."""
    named = None if rows else columns
    if _library(library) == "polars":
        import polars

        return polars.DataFrame(list(rows), named, infer_schema_length=None)
    import pandas

    return pandas.DataFrame(list(rows), columns=named)


def _library(library: Library | None) -> Library:
    if library is not None and library not in LIBRARIES:
        raise InputError(f"library: should be {' or '.join(LIBRARIES)}; found {library!r}", code="usage")
    there = [name for name in LIBRARIES if find_spec(name) is not None]
    wanted = library or next(iter(there), None)
    if wanted is None or wanted not in there:
        raise InputError(
            f"{library or 'neither pandas nor polars'} is {'not ' if library else ''}installed",
            hint=f"pip install {library or 'pandas'}",
            code="no_frames",
        )
    return wanted


def _values(columns: Columns) -> dict[str, Sequence[Any]]:
    return {name: values for name, (_, values) in columns.items()}
