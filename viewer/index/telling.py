"""What was said of trials and of the store as a whole: labels, attributions, findings."""

import sqlite3
from collections.abc import Iterable, Sequence
from functools import cache

from pydantic import ConfigDict, RootModel, ValidationError

from toolablate.analysis.findings import Findings
from toolablate.traces.records import Attribution, Label
from toolablate.viewer.index.file import fact, state

_SAID = ("mechanism", "distraction", "method", "confidence", "turned_at")
_CHANGE = f"UPDATE trials SET ({', '.join(_SAID)}) = (?2, ?3, ?4, ?5, ?6) WHERE id = ?1"  # noqa: S608 - our own words
_DIFFERS = f" AND ({', '.join(_SAID)}) IS NOT (?2, ?3, ?4, ?5, ?6)"


def put_findings(connection: sqlite3.Connection, findings: Findings) -> None:
    state(connection, "findings", _findings_type()(findings).model_dump_json())


def findings(connection: sqlite3.Connection) -> Findings | None:
    """None where there are none, or none that this version reads."""
    text = fact(connection, "findings")
    if text is None:
        return None
    try:
        return _findings_type().model_validate_json(text).root
    except ValidationError:
        return None


def put_attributions(connection: sqlite3.Connection, attributions: Sequence[Attribution]) -> None:
    named = {each.trial for each in attributions}
    before = [trial for (trial,) in connection.execute("SELECT id FROM trials WHERE mechanism NOT NULL")]
    gone = ((trial, *(None for _ in _SAID)) for trial in before if trial not in named)
    said = ((each.trial, *(getattr(each, name) for name in _SAID)) for each in attributions)
    connection.executemany(_CHANGE + _DIFFERS, (*gone, *said))


def mirror_labels(connection: sqlite3.Connection, labels: Iterable[Label]) -> None:
    """All that the store has, in the order in which they were given."""
    rows = {(label.trial, label.person): (number, label.mechanism) for number, label in enumerate(labels)}
    wanted = {(*key, *value) for key, value in rows.items()}
    known = set(connection.execute("SELECT trial, person, number, mechanism FROM labels"))
    connection.executemany("DELETE FROM labels WHERE trial = ? AND person = ?", (row[:2] for row in known - wanted))
    connection.executemany("INSERT INTO labels VALUES (?, ?, ?, ?)", wanted - known)
    labelled = "SELECT trial FROM labels UNION SELECT id FROM trials WHERE label NOT NULL"
    connection.execute(f"UPDATE trials SET label = {_LAST} WHERE id IN ({labelled}) AND label IS NOT {_LAST}")  # noqa: S608


def put_label(connection: sqlite3.Connection, label: Label) -> None:
    (number,) = connection.execute("SELECT coalesce(max(number), -1) + 1 FROM labels").fetchone()
    connection.execute(
        "INSERT OR REPLACE INTO labels (trial, person, number, mechanism) VALUES (?, ?, ?, ?)",
        (label.trial, label.person, number, label.mechanism),
    )
    connection.execute(f"UPDATE trials SET label = {_LAST} WHERE id = ?", (label.trial,))  # noqa: S608 - our own words


_LAST = (
    "(SELECT labels.mechanism FROM labels WHERE labels.trial = trials.id AND labels.mechanism NOT NULL"
    " ORDER BY labels.number DESC LIMIT 1)"
)


@cache
def _findings_type() -> type[RootModel[Findings]]:
    """Made when it is first needed: it takes a tenth of a second."""

    class _Findings(RootModel[Findings]):
        model_config = ConfigDict(ser_json_inf_nan="constants", frozen=True)

    return _Findings
