"""What results files of lm-evaluation-harness say, and the lines of its samples."""

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from toolablate.formats.imported import name_of
from toolablate.traces.errors import InputError
from toolablate.traces.records import Condition, Environment, ImportedModel, clean_text

_NAME = re.compile(r"samples_(?P<task>.+)_(?P<time>\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d(?:\.\d+)?)\.jsonl")
_TIME = "%Y-%m-%dT%H-%M-%S"
# Where and how fast a model ran, what it is called, and what may be a key: no part of what it was asked.
_NO_CONDITION = re.compile(
    r"pretrained|model|base_url|device|device_map|parallelize|tokenizer|trust_remote_code|num_concurrent|max_retries"
    r"|timeout|.*batch.*|.*parallel.*|.*gpu.*|.*memory.*|.*key.*|.*secret.*|.*password.*|.*header.*|.*auth.*|.*_token"
)
_MOST_BYTES = 1 << 30


@dataclass(frozen=True, slots=True)
class Results:
    """A file of results, empty where there is none; `task` and `began` are those of the file of samples, and `named`
    tells that its name has the task."""

    task: str
    began: datetime
    content: dict[str, Any]
    named: bool = True

    @property
    def higher_is_better(self) -> dict[str, bool]:
        """By metric, of those that the task declares."""
        found = _section(self.content, "higher_is_better").get(self.task)
        return {name: better for name, better in found.items() if better is not None} if isinstance(found, dict) else {}


def read_results(samples: Path) -> Results:
    """What stands beside a file of samples, by the time in its name. Raises InputError where it cannot be read."""
    named = _NAME.fullmatch(samples.name)
    if named is None:
        return Results(samples.stem.removeprefix("samples_"), _changed(samples), {}, named=False)
    began = _time(named["time"]) or _changed(samples)
    path = samples.with_name(f"results_{named['time']}.json")
    if not path.exists():
        return Results(named["task"], began, {})
    content = _read(path)
    date = content.get("date")
    if isinstance(date, int | float) and 0 < date < 1e11:
        began = datetime.fromtimestamp(date, UTC)
    return Results(named["task"], began, content)


def _time(said: str) -> datetime | None:
    """None where no calendar has it."""
    try:
        return datetime.strptime(said[:19], _TIME).replace(tzinfo=UTC)
    except ValueError:
        return None


def _changed(samples: Path) -> datetime:
    try:
        return datetime.fromtimestamp(samples.stat().st_mtime, UTC)
    except OSError as error:
        raise InputError(f"{samples} cannot be read: {error.strerror or error}", code="unreadable") from None


def _read(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_bytes()) if path.stat().st_size <= _MOST_BYTES else None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}", code="unreadable") from None
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        raise InputError(f"{path} is no file of results", hint="Mend or remove it.", code="bad_results")
    return dict(content)


def model_of(results: Results, samples: Path, named: str | None) -> ImportedModel:
    """Raises InputError where nothing says what it is called."""
    arguments = _model_args(results)
    known = (named, results.content.get("model_name"), arguments.get("pretrained"), arguments.get("model"))
    for name in known:
        if isinstance(name, str) and name.strip():
            return ImportedModel(name=name_of(name, "unnamed"))
    raise InputError(
        f"{samples}: no results_TIME.json beside it, which names the model",
        hint="Put it there, or name the model with --model NAME.",
        code="no_model",
    )


def condition_of(results: Results) -> Condition:
    """By the number of examples, the chat template, the system prompt and the arguments of model and generation."""
    content = results.content
    shots = _section(content, "n-shot").get(results.task)
    system = content.get("system_instruction")
    chat = content.get("chat_template_sha")
    said = {
        "num_fewshot": shots,
        "chat_template": chat,
        "fewshot_as_multiturn": bool(content.get("fewshot_as_multiturn")) if chat else None,
        "gen_kwargs": _section(content, "config").get("gen_kwargs"),
        "model_args": {
            name: value for name, value in _model_args(results).items() if not _NO_CONDITION.fullmatch(name.lower())
        },
    }
    parts = [f"{shots}-shot" if isinstance(shots, int) else "lm-eval", *(["chat"] if chat else [])]
    imported: dict[str, JsonValue] = {"harness": "lm-eval"}
    imported |= {name: plain(value) for name, value in said.items() if value not in (None, {}, "")}
    return Condition(
        name="+".join([*parts, *(["system"] if system else [])]),
        prompt=clean_text(system) if isinstance(system, str) else "",
        imported=imported,
    )


def environment_of(results: Results) -> Environment:
    versions = {"lm_eval": "lm_eval_version", "transformers": "transformers_version"}
    known = {name: results.content.get(key) for name, key in versions.items()}
    return Environment(versions={name: clean_text(said) for name, said in known.items() if isinstance(said, str)})


def plain(value: Any) -> JsonValue:
    """A JSON value without what no file of ours can hold."""
    read: JsonValue = json.loads(clean_text(json.dumps(value, ensure_ascii=False)), parse_constant=lambda _: None)
    return read


def _model_args(results: Results) -> dict[str, Any]:
    """They are one text in most versions: NAME=VALUE,..."""
    found = _section(results.content, "config").get("model_args")
    if isinstance(found, str):
        pairs = (part.partition("=") for part in found.split(",") if "=" in part)
        return {name.strip(): value for name, _, value in pairs}
    return dict(found) if isinstance(found, dict) else {}


def _section(content: dict[str, Any], name: str) -> dict[str, Any]:
    found = content.get(name)
    return dict(found) if isinstance(found, dict) else {}


# The lines of a file of samples, without holding all of them.


_NEEDED = ("doc_id", "doc", "arguments", "resps", "filtered_resps")
_ARCHIVE = b"PK\x03\x04"


@dataclass(frozen=True, slots=True)
class SampleRow:
    """One line, by its number from 1."""

    number: int
    content: dict[str, Any]


@dataclass(frozen=True, slots=True)
class SampleRows:
    """Where the rows of each document begin, in the order of the documents; a task with several filters has as many
    rows of each. `digest` is that of the whole file."""

    path: Path
    places: dict[str, list[tuple[int, int]]]
    digest: str

    def documents(self) -> Iterator[list[SampleRow]]:
        """The rows of one document after the other. Raises InputError where the file changed or went away."""
        try:
            with self.path.open("rb") as file:
                for places in self.places.values():
                    rows = []
                    for number, start in places:
                        file.seek(start)
                        rows.append(SampleRow(number, read_row(self.path, number, file.readline())))
                    yield rows
        except OSError as error:
            raise InputError(f"{self.path} cannot be read: {error.strerror or error}", code="unreadable") from None


def read_lines(path: Path) -> SampleRows:
    """Raises InputError for a file that cannot be read, and for a line that is no sample."""
    places: dict[str, list[tuple[int, int]]] = {}
    digest, start = hashlib.sha256(), 0
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                digest.update(line)
                if line.strip():
                    row = read_row(path, number, line)
                    places.setdefault(json.dumps(row["doc_id"]), []).append((number, start))
                start += len(line)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}", code="unreadable") from None
    return SampleRows(path, places, digest.hexdigest()[:32])


def read_row(path: Path, number: int, line: bytes) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        said = str(error) if isinstance(error, json.JSONDecodeError) else "it is no UTF-8 or too deep"
        raise InputError(
            f"{path}:{number}: this is no JSON: {said}",
            hint="This is how logs of Inspect begin: see `toolablate import inspect`."
            if number == 1 and line.startswith(_ARCHIVE)
            else "A file that was cut off can be imported without its last line.",
            code="bad_json",
        ) from None
    lacking = [key for key in _NEEDED if key not in row] if isinstance(row, dict) else list(_NEEDED)
    if lacking:
        raise InputError(
            f"{path}:{number}: not a sample of lm-evaluation-harness: {', '.join(lacking)} is missing",
            hint="Its samples are written by `lm_eval --log_samples`, as samples_TASK_TIME.jsonl.",
            code="not_lm_eval",
        )
    return dict(row)
