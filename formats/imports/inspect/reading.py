"""Reads an Inspect log."""

import json
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal

from pydantic import ValidationError

from toolablate.formats.imports.inspect.arm import condition_of, model_of, question_of
from toolablate.formats.imports.inspect.events import events_of, first_request
from toolablate.formats.imports.inspect.labels import labels_of
from toolablate.formats.imports.inspect.messages import usage_of
from toolablate.formats.imports.inspect.ours import ours, place_of, scorers_of
from toolablate.formats.imports.inspect.scores import scores_of
from toolablate.formats.imports.log import Log, Sample
from toolablate.formats.imports.naming import name_of
from toolablate.traces.errors import InputError
from toolablate.traces.installing import to_install
from toolablate.traces.plain import one_line
from toolablate.traces.records import (
    Answer,
    Environment,
    Event,
    Failure,
    Limit,
    ModelCall,
    Outcome,
    Usage,
    clean_text,
)

if TYPE_CHECKING:
    from inspect_ai.event import ModelEvent
    from inspect_ai.log import EvalLog, EvalSample

_SUFFIXES = (".eval", ".json")
_SAMPLES = "samples/"
_MOST_BYTES = {_SAMPLES: 256 << 20, "": 32 << 20}
"""Of a sample, and of any other part of a log, unpacked. JSON takes some ten times as much memory when it is read."""

_MOST_OF_JSON = 256 << 20
"""Of a log in one JSON file, which is read whole."""

_ERROR_CHARS = 10_000

_LIMITS: dict[str, Limit] = {
    "message": "messages",
    "turn": "turns",
    "token": "tokens",
    "time": "seconds",
    "working": "seconds",
    "cost": "cost_usd",
    "context": "context_length",
}


def read_log(path: Path) -> Log:
    """One arm: a log has one model and one solver. Its samples are read from the file one at a time.

    Raises InputError where Inspect is not installed, and where the file cannot be read as its log.
    """
    if path.suffix not in _SUFFIXES:
        raise InputError(
            f"{path} is no log of Inspect by its name",
            hint=f"Allowed are files that end in {' or '.join(_SUFFIXES)}.",
            code="not_inspect",
        )
    try:
        from inspect_ai.log import read_eval_log
    except ImportError:
        raise InputError("inspect_ai is not installed", hint=to_install("inspect"), code="no_inspect") from None
    with _reading(path):
        with path.open("rb") as file:
            _require_bounded(path, file)
            header = read_eval_log(file, header_only=path.suffix == ".eval", format=_format(path))
        samples = partial(_samples, path, header)
        first, called = _asked(samples())
        condition = condition_of(header, first, called)
        kept = ours(header.eval.metadata)
        return Log(
            harness="inspect",
            file=path,
            id=clean_text(header.eval.eval_id),
            model=model_of(header),
            condition=condition,
            samples=lambda: _taken(path, header),
            preferred=scorers_of(kept) if "scorers" in kept else _headline(header),
            baseline=str(kept.get("baseline", "")),
            place=place_of(kept),
            notes=_notes(header, bare=called is not None),
        )


def _format(path: Path) -> Literal["eval", "json"]:
    return "eval" if path.suffix == ".eval" else "json"


def _require_bounded(path: Path, file: BinaryIO) -> None:
    """Refuses what would not fit into memory: a megabyte can unpack to a gigabyte. Python's zip reader gives no more
    than a member declares, so that the declared sizes bound what is read."""
    if path.suffix == ".json":
        if (size := path.stat().st_size) > _MOST_OF_JSON:
            raise InputError(
                f"{path} has {size:,} bytes; a log in one JSON file of at most {_MOST_OF_JSON:,} is read",
                hint=f"`inspect log convert --to eval {path.name}` writes one whose samples are read one by one.",
                code="too_large",
            )
        return
    with zipfile.ZipFile(file) as archive:
        for member in archive.infolist():
            most = _MOST_BYTES[_SAMPLES if member.filename.startswith(_SAMPLES) else ""]
            if member.file_size > most:
                raise InputError(
                    f"{path}: {one_line(member.filename, max_chars=80)} unpacks to {member.file_size:,} bytes; at most"
                    f" {most:,} are read",
                    hint="A part of that size is no log of a sample, or its sample has to be cut.",
                    code="too_large",
                )
    file.seek(0)


@contextmanager
def _reading(path: Path, sample: str = "") -> Iterator[None]:
    where = f"{path}: {sample}" if sample else str(path)
    try:
        yield
    except InputError:
        raise
    except OSError as error:
        raise InputError(f"{where} cannot be read: {error.strerror or error}", code="unreadable") from None
    except Exception as error:  # noqa: BLE001 - a file of any content may make Inspect raise anything
        raise InputError(
            f"{where} cannot be read as a log of Inspect: {_said(error)}",
            hint="`inspect log dump FILE` says whether Inspect itself can read it.",
            code="bad_log",
        ) from None


def _said(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors(include_input=False, include_url=False)[0]
        return one_line(f"{'.'.join(map(str, first['loc']))}: {first['msg']}")
    return one_line(str(error) or type(error).__name__)


def _headline(header: "EvalLog") -> tuple[str, ...]:
    scores = header.results.scores if header.results else []
    named = [header.results.headline.score] if header.results and header.results.headline else []
    return tuple(name_of(name, "") for name in [*named, *(score.name for score in scores)][:1] if name)


def _asked(samples: "Iterable[EvalSample]") -> "tuple[ModelEvent | None, set[str] | None]":
    """The first request; and of a log that has kept no events the tools that its messages call, None of another."""
    called: set[str] = set()
    bare = True
    for sample in samples:
        if (first := first_request(sample)) is not None:
            return first, None
        bare = bare and not sample.events
        asking = [message for message in sample.messages if message.role == "assistant"]
        called |= {clean_text(call.function) for message in asking for call in message.tool_calls or ()}
    return None, called if bare else None


def _notes(header: "EvalLog", *, bare: bool) -> tuple[str, ...]:
    notes = []
    if header.status != "success":
        said = f" ({one_line(header.error.message)})" if header.error else ""
        notes.append(f"the log says that its run has the status {header.status!r}{said}: samples may be missing")
    if bare:
        notes.append(
            "it has no events: calls are read from messages, without times; of its tools those called are known"
        )
    return tuple(notes)


def _samples(path: Path, header: "EvalLog") -> "Iterator[EvalSample]":
    from inspect_ai.log import EvalSample, resolve_sample_attachments

    if path.suffix == ".json":
        for sample in header.samples or ():
            yield resolve_sample_attachments(sample)
        return
    with zipfile.ZipFile(path) as archive:
        # A member that was written twice is read as it was last.
        for name in archive.NameToInfo:
            if not name.startswith(_SAMPLES) or not name.endswith(".json"):
                continue
            with _reading(path, f"sample {one_line(name.removeprefix(_SAMPLES).removesuffix('.json'))!r}"):
                sample = EvalSample.model_validate(json.loads(archive.read(name)))
                yield resolve_sample_attachments(sample)


def _taken(path: Path, header: "EvalLog") -> Iterator[Sample]:
    with _reading(path):
        for sample in _samples(path, header):
            which = f"sample {one_line(str(sample.id), max_chars=80)!r}, epoch {sample.epoch}"
            with _reading(path, which):
                taken = _sample(sample, header, f"{path}: {which}")
            yield taken


def _sample(sample: "EvalSample", header: "EvalLog", where: str) -> Sample:
    began = _began(sample, header)
    kept = ours(sample.metadata)
    events = list(events_of(sample, began))
    events = events if kept else _with_retries(events)
    at = max((event.at + event.seconds for event in events), default=0.0)
    outcome, end = _ending(sample, at)
    calls = [event for event in events if isinstance(event, ModelCall)]
    scores, left_out = scores_of(sample.scores) if outcome != "failed" else ([], [])
    costs = [call.cost_usd for call in calls]
    return Sample(
        name=str(sample.id),
        where=where,
        question=question_of(sample, header),
        repeat=max(0, sample.epoch - 1),
        outcome=outcome,
        started_at=began,
        seconds=sample.total_time if sample.total_time is not None else at,
        events=(*events, *end),
        usage=_usage(sample, header, calls),
        cost_usd=kept.get("cost_usd") if kept else _sum(costs),
        environment=Environment.model_validate(kept["environment"]) if "environment" in kept else _environment(header),
        scores=tuple(scores),
        left_out=tuple(left_out),
        labels=labels_of(sample.metadata, where, events=len(events) + len(end), failed=outcome == "failed"),
    )


def _sum(costs: list[float | None]) -> float | None:
    known = [cost for cost in costs if cost is not None]
    return sum(known) if known and len(known) == len(costs) else None


def _usage(sample: "EvalSample", header: "EvalLog", calls: Sequence[ModelCall]) -> Usage:
    """Of the calls alone: a sample's own sums have what grading took."""
    if (kept := ours(sample.metadata).get("usage")) is not None:
        return Usage.model_validate(kept)
    if not sample.events:
        return usage_of(sample.model_usage.get(header.eval.model))
    return sum((call.reply.usage for call in calls), Usage())


def _environment(header: "EvalLog") -> Environment:
    return Environment(versions={clean_text(name): clean_text(each) for name, each in header.eval.packages.items()})


def _began(sample: "EvalSample", header: "EvalLog") -> datetime:
    if sample.started_at:
        said = datetime.fromisoformat(str(sample.started_at))
    elif sample.events:
        said = min(event.timestamp for event in sample.events)
    else:
        said = datetime.fromisoformat(str(header.eval.created)) + timedelta(seconds=0)
    return said.astimezone(UTC)


def _with_retries(events: list[Event]) -> list[Event]:
    """A call that failed was made again where another one of a model follows."""
    last = max((place for place, event in enumerate(events) if isinstance(event, ModelCall)), default=-1)
    return [
        event.model_copy(update={"retried": place < last}) if isinstance(event, Failure) else event
        for place, event in enumerate(events)
    ]


def _ending(sample: "EvalSample", at: float) -> tuple[Outcome, tuple[Event, ...]]:
    if (kept := ours(sample.metadata)) and "outcome" in kept:
        answer = kept.get("answer")
        return kept["outcome"], () if answer is None else (Answer.model_validate(answer),)
    if sample.error is not None:
        failure = Failure(
            at=at, boundary="runner", code="sample_error", message=clean_text(sample.error.message)[:_ERROR_CHARS]
        )
        return "failed", (failure,)
    text = sample.output.completion if sample.output.choices else ""
    if sample.limit is None:
        return "answered", (Answer(at=at, text=clean_text(text)),)
    note = sample.limit.reason or f"{sample.limit.type} limit of {sample.limit.limit:g}"
    answer = Answer(
        at=at, text=clean_text(text), limit=_LIMITS.get(sample.limit.type), limit_note=one_line(note, max_chars=300)
    )
    return "budget", (answer,)
