"""Failed runs of several agents, and predictions of who failed when."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from toolablate.benchmarks.rows.row_errors import Identities, LineError, at, shown
from toolablate.benchmarks.rows.sources import typed_rows
from toolablate.traces.errors import InputError


@dataclass(frozen=True, slots=True)
class AgentStep:
    """What one `agent` said or did."""

    agent: str
    text: str


@dataclass(frozen=True, slots=True)
class FailedRun:
    """A run that ended with a wrong answer.

    id        "hand_crafted/17": its set and its number there
    of_set    the name of the file that it comes from, without its ending
    question  asked in `task` under this id, which a run of another set may share
    answer    the right one
    level     of difficulty, as the question's source has it; "" where it has none
    agent     that made the decisive mistake, at `step`, counted from 0; `reason` says in an annotator's words what it
              was
    """

    id: str
    of_set: str
    question: str
    task: str
    answer: str
    level: str
    agent: str
    step: int
    reason: str
    steps: tuple[AgentStep, ...]


@dataclass(frozen=True, slots=True)
class Prediction:
    """Who is held to have made the decisive mistake, and at which step; None where nobody is named."""

    agent: str | None
    step: int | None


# Failed runs as Who&When publishes them.


_TEXT = "a text in quotes that is not empty"
RUN_KEYS: Mapping[str, str] = {
    "history": "a list of one step or more, each with content, role and perhaps name, which are texts",
    "question": _TEXT,
    "question_ID": _TEXT,
    "ground_truth": "a text in quotes",
    "mistake_agent": _TEXT,
    "mistake_step": 'a whole number in quotes, from 0: "4"',
    "mistake_reason": "a text in quotes",
    "file": 'the name of a file: "17.json"',
    "level": "a text in quotes or a whole number",
}
FILES = ("*.jsonl", "*.parquet")
_NUMBER = re.compile(r"\d{1,9}", re.ASCII)
# "Orchestrator (-> WebSurfer)", "Orchestrator (thought)": to whom, or how, an agent speaks.
_HOW = re.compile(r" \([^()]{0,200}\)$")

Text = Annotated[str, Field(min_length=1)]


class _PublishedStep(BaseModel):
    model_config = ConfigDict(frozen=True)

    content: str
    role: str
    name: str = ""


class _PublishedRun(BaseModel):
    """Keys of other names are passed over."""

    model_config = ConfigDict(frozen=True)

    history: Annotated[list[_PublishedStep], Field(min_length=1)]
    question: Text
    question_ID: Text
    ground_truth: str
    mistake_agent: Text
    mistake_step: Text
    mistake_reason: str
    file: Text
    level: str | int = ""


def load_failed_runs(data: str | Path) -> tuple[FailedRun, ...]:
    """Those of a file, or of all files of a folder, in the order of their names; each file is a set.

    Raises InputError that names the file, the line, the key, what was found and what is allowed.
    """
    identities = Identities("run", "file")
    return tuple(run for path in _files(Path(data)) for run in _runs_of(path, identities))


def speaker(role: str) -> str:
    """An agent's name without how, or to whom, it speaks."""
    return _HOW.sub("", role.strip())


def _files(data: Path) -> list[Path]:
    if not data.is_dir():
        return [data]
    found = sorted(path for pattern in FILES for path in data.glob(pattern))
    if not found:
        raise InputError(
            f"{data}: a folder without JSONL or Parquet files",
            hint="Who&When is one file of failed runs for each of its sets.",
            code="unreadable",
        )
    return found


def _runs_of(path: Path, identities: Identities) -> Iterator[FailedRun]:
    for place, row in typed_rows(path, _PublishedRun, RUN_KEYS):
        identity = f"{path.stem}/{row.file.removesuffix('.json')}"
        try:
            identities.take(identity, place)
            yield _run(identity, path.stem, row)
        except LineError as error:
            raise at(place, error) from error


def _run(identity: str, of_set: str, row: _PublishedRun) -> FailedRun:
    if _NUMBER.fullmatch(row.mistake_step) is None or int(row.mistake_step) >= len(row.history):
        raise LineError(
            f"'mistake_step' names no step of the history; found {shown(row.mistake_step)}",
            f'Allowed is a whole number in quotes, from "0" to "{len(row.history) - 1}".',
        )
    return FailedRun(
        id=identity,
        of_set=of_set,
        question=row.question_ID,
        task=row.question,
        answer=row.ground_truth,
        level=str(row.level),
        agent=speaker(row.mistake_agent),
        step=int(row.mistake_step),
        reason=row.mistake_reason,
        steps=tuple(AgentStep(speaker(each.name or each.role), each.content) for each in row.history),
    )


# What a method says of failed runs, as a user's file has it.


PREDICTION_KEYS: Mapping[str, str] = {
    "id": 'the id of a run, of its set and file: "hand_crafted/17"',
    "agent": "a text in quotes, or null where no agent is named",
    "step": "a whole number from 0, in quotes or not, or null where no step is named",
}


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
    for place, row in typed_rows(path, _PredictedRow, PREDICTION_KEYS):
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
        raise LineError(f"'step' must be {PREDICTION_KEYS['step']}; found {shown(given)}")
    return int(given)
