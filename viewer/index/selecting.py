"""A selection as SQL."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from toolablate.analysis.selection import Selection

_DIGEST = re.compile(r"[0-9a-f]{8,32}")

_UNLABELLED = """CASE WHEN EXISTS (SELECT 1 FROM trials WHERE mechanism NOT NULL) THEN mechanism NOT NULL
    ELSE value < 0.5 AND condition NOT IN (
        SELECT key FROM conditions WHERE name = (SELECT value FROM facts WHERE name = 'baseline')
    ) END
AND trials.key NOT IN (
    SELECT labelled.key FROM labels JOIN trials AS labelled ON labelled.id = labels.trial
    WHERE labels.person = ? AND labels.mechanism NOT NULL
)"""
"""Failures to which something is attributed; before it is worked out to which, those of other conditions than the
baseline. Stand-ins for tools are conditions as well, of which nobody asks why."""


def shown(selection: Selection, baseline: str) -> Selection:
    """The arms that a table of what is selected shows: its models and conditions, these beside the baseline."""
    conditions = (*selection.conditions, baseline) if selection.conditions else ()
    return Selection(models=selection.models, conditions=tuple(sorted(set(conditions))))


def trials_where(selection: Selection) -> tuple[str, list[Any]]:
    """The condition on a row of `trials` that says whether it is selected, with its values."""
    clauses: list[str] = []
    values: list[Any] = []
    for clause, wanted in _clauses(selection):
        clauses.append(clause)
        values += wanted
    return " AND ".join(clauses) or "TRUE", values


def _clauses(selection: Selection) -> Iterator[tuple[str, Sequence[str]]]:
    own = {
        "ending": selection.endings,
        "flip": selection.flips,
        "mechanism": selection.mechanisms,
        "label": selection.labels,
    }
    for column, wanted in own.items():
        if wanted:
            yield f"{column} IN ({_marks(wanted)})", wanted
    for table, wanted in (("model", selection.models), ("condition", selection.conditions)):
        if wanted:
            yield f"{table} IN (SELECT key FROM {table}s WHERE name IN ({_marks(wanted)}))", wanted  # noqa: S608
    for column, wanted in (("domain", selection.domains), ("difficulty", selection.difficulties)):
        if wanted:
            yield f"question IN (SELECT key FROM questions WHERE {column} IN ({_marks(wanted)}))", wanted  # noqa: S608
    if selection.unlabelled:
        yield _UNLABELLED, (selection.unlabelled,)
    if selection.tools:
        called = f"SELECT 1 FROM json_each(names) WHERE json_each.value IN ({_marks(selection.tools)})"  # noqa: S608
        yield f"toolset IN (SELECT key FROM toolsets WHERE EXISTS ({called}))", selection.tools  # noqa: S608
    if selection.text.strip():
        folded = selection.text.casefold()
        # The beginning of an id as addresses and pages show it; "g" is above every id.
        digest = folded.strip() if _DIGEST.fullmatch(folded.strip()) else "g"
        yield (
            (
                "(question IN (SELECT question FROM asked WHERE instr(folded, ?))"
                " OR question IN (SELECT key FROM questions WHERE instr(called, ?))"
                " OR answer IN (SELECT key FROM answers WHERE instr(folded, ?))"
                " OR question IN (SELECT key FROM questions WHERE id >= ? AND id < ?)"
                " OR trials.key IN (SELECT key FROM trials WHERE id >= ? AND id < ?))"
            ),
            (folded, folded, folded, *(digest, f"{digest}g") * 2),
        )


def _marks(values: Sequence[str]) -> str:
    return ", ".join("?" * len(values))
