"""Lays out trials in tables."""

from collections.abc import Iterator, Sequence

from toolablate.formats.exports.exported import Exported
from toolablate.formats.exports.tables.asked import (
    CONDITIONS,
    MODELS,
    QUESTIONS,
    condition_row,
    model_row,
    question_row,
)
from toolablate.formats.exports.tables.events import EVENTS, event_rows
from toolablate.formats.exports.tables.said import (
    ATTRIBUTIONS,
    DIAGNOSES,
    LABELS,
    SCORES,
    attribution_rows,
    diagnosis_rows,
    label_rows,
    score_rows,
)
from toolablate.formats.exports.tables.table import Row, Table
from toolablate.formats.exports.tables.trials import TRIALS, trial_row

TABLES = (TRIALS, EVENTS, SCORES, ATTRIBUTIONS, DIAGNOSES, LABELS, QUESTIONS, MODELS, CONDITIONS)

_MANY = (
    (EVENTS, event_rows),
    (SCORES, score_rows),
    (ATTRIBUTIONS, attribution_rows),
    (DIAGNOSES, diagnosis_rows),
    (LABELS, label_rows),
)
_ONCE = ((QUESTIONS, question_row), (MODELS, model_row), (CONDITIONS, condition_row))


class Layout:
    """Remembers the keys of questions, models and conditions, of which each goes into its table once. `scorers` are
    those whose scores count."""

    def __init__(self, scorers: Sequence[str]) -> None:
        self._scorers = scorers
        self._met: set[tuple[str, str]] = set()

    def rows(self, exported: Exported) -> Iterator[tuple[Table, Row]]:
        """Of one trial, each with the table that it belongs to."""
        yield TRIALS, trial_row(exported, self._scorers)
        for table, rows_of in _MANY:
            for row in rows_of(exported):
                yield table, row
        trial = exported.trace.trial
        for key, (table, row_of) in zip((trial.question, trial.model, trial.condition), _ONCE, strict=True):
            if (table.name, key) not in self._met:
                self._met.add((table.name, key))
                yield table, row_of(exported)
