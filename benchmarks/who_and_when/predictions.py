"""What a method says of failed runs, as a user's file has it."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from toolablate.benchmarks.line_error import LineError, shown
from toolablate.benchmarks.rows import Identities, at, typed_rows
from toolablate.benchmarks.who_and_when.failed import FailedRun, Prediction
from toolablate.benchmarks.who_and_when.reading import speaker

ALLOWED: Mapping[str, str] = {
    "id": 'the id of a run, of its set and file: "hand_crafted/17"',
    "agent": "a text in quotes, or null where no agent is named",
    "step": "a whole number from 0, in quotes or not, or null where no step is named",
}
_NUMBER = re.compile(r"\d{1,9}", re.ASCII)


class _PredictedRow(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    agent: str | None = None
    step: int | str | None = None


def load_predictions(path: str | Path, runs: Sequence[FailedRun]) -> dict[str, Prediction]:
    """By the ids of runs; one that is not in the file was not predicted. A step beyond a run's end is wrong, and no
    mistake of the file's.

    Raises InputError that names the file, the line, the key, what was found and what is allowed.
    """
    known = {run.id for run in runs}
    identities, found = Identities("prediction"), dict[str, Prediction]()
    for place, row in typed_rows(path, _PredictedRow, ALLOWED):
        try:
            identities.take(row.id, place)
            if row.id not in known:
                raise LineError(f"no run has the id {shown(row.id)}", f"One is {shown(runs[0].id)}: its set and file.")
            found[row.id] = Prediction(speaker(row.agent or "") or None, _step(row.step))
        except LineError as error:
            raise at(place, error) from error
    return found


def _step(given: int | str | None) -> int | None:
    if given is None:
        return None
    if _NUMBER.fullmatch(str(given)) is None:
        raise LineError(f"'step' must be {ALLOWED['step']}; found {shown(given)}")
    return int(given)
