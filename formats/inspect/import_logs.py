"""Reads logs of Inspect: model, condition, questions, scores and labels."""

import json
import math
import zipfile
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

from pydantic import ValidationError

from toolablate.formats.imported import Log, Sample, choice_target, name_of, target_of, verdict_of
from toolablate.formats.inspect.import_events import (
    COUNTED,
    KEY,
    choice_of,
    events_of,
    first_request,
    json_of,
    message_of,
    ours,
    pictured,
    place_of,
    scorers_of,
    text_of,
    usage_of,
)
from toolablate.traces.errors import InputError
from toolablate.traces.installing import to_install
from toolablate.traces.records import (
    Answer,
    Condition,
    Environment,
    Event,
    Failure,
    ImportedModel,
    Label,
    Limit,
    Model,
    ModelCall,
    Outcome,
    Picture,
    Question,
    Score,
    SimulatedModel,
    Target,
    ToolUse,
    Usage,
    clean_text,
)
from toolablate.traces.terminal_text import one_line

if TYPE_CHECKING:
    from inspect_ai.event import ModelEvent
    from inspect_ai.log import EvalLog, EvalSample
    from inspect_ai.scorer import Score as InspectScore

# What changes what a model says; an allow list, since other parts hold headers, and keys in them.
_CONFIG = (
    "temperature",
    "top_p",
    "top_k",
    "max_tokens",
    "seed",
    "stop_seqs",
    "frequency_penalty",
    "presence_penalty",
    "num_choices",
    "best_of",
    "system_message",
    "reasoning_effort",
    "reasoning_tokens",
    "max_tool_output",
)
_LIMIT_KEYS = ("message_limit", "token_limit", "turn_limit", "time_limit", "working_limit", "cost_limit")
_DOMAIN = ("domain", "subject", "category", "topic")
_DIFFICULTY = ("difficulty", "level")
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def model_of(header: "EvalLog") -> Model:
    """A model that was simulated is never to be taken for one that was asked: it stays what it is."""
    kept = ours(header.eval.metadata).get("model")
    if isinstance(kept, dict) and kept.get("provider") == "simulated":
        try:
            return SimulatedModel.model_validate(kept)
        except ValidationError:
            pass
    return ImportedModel(name=name_of(header.eval.model, "unnamed"))


def condition_of(header: "EvalLog", first: "ModelEvent | None", called: Collection[str] | None = None) -> Condition:
    """By the log's solver, parameters and limits, and by the tools and the system message of the `first` request.
    Without events nothing tells which tools were offered: those that were `called` are known, None where it has some.
    Raises ValueError where it is no arm of a plan."""
    if (kept := ours(header.eval.metadata).get("condition")) is not None:
        condition = Condition.model_validate(kept)
        if condition.resumed is not None:
            raise ValueError("its condition forks a trial that the log does not have")
        return condition
    tools = sorted({clean_text(tool.name) for tool in first.tools} if first else called or ())
    system = [message for message in (first.input if first else []) if message.role == "system"]
    steps = [{"solver": step.solver, "params": json_of(step.params)} for step in header.plan.steps]
    config = {
        name: value
        for of in (header.eval.model_generate_config, header.plan.config)
        for name in _CONFIG
        if (value := getattr(of, name, None)) is not None
    }
    limits = {name: value for name in _LIMIT_KEYS if (value := getattr(header.eval.config, name, None)) is not None}
    said = {"solver": header.eval.solver, "steps": steps, "config": config, "limits": limits}
    said |= {} if called is None else {"calls": "read from messages"}
    return Condition(
        name=_condition_name(header, tools),
        prompt=message_of(system[0]).content if system else "",
        tools=tuple(ToolUse(name=name) for name in tools),
        tool_choice=(choice_of(first.tool_choice) if first and tools else "") or "auto",
        imported={"harness": "inspect"} | {key: json_of(value) for key, value in said.items() if value},
    )


def _condition_name(header: "EvalLog", tools: list[str]) -> str:
    solver = header.eval.solver or (header.plan.steps[-1].solver if header.plan.steps else "")
    named = name_of(solver.rpartition("/")[2], "solver")
    return name_of(f"{named}[{','.join(tools)}]", named) if tools else named


def question_of(sample: "EvalSample", header: "EvalLog") -> Question:
    """Raises ValueError where it asks nothing."""
    if (kept := ours(sample.metadata).get("question")) is not None:
        return Question.model_validate(kept)
    prompt, images = _prompt(sample)
    if not prompt.strip():
        raise ValueError("it asks nothing: its input is empty")
    choices = tuple(clean_text(choice) for choice in sample.choices or ())
    return Question(
        id=name_of(str(sample.id), "unnamed"),
        prompt=prompt,
        images=images,
        choices=choices,
        as_is=not choices,
        target=_target(sample, choices),
        domain=_named(sample, _DOMAIN),
        difficulty=_named(sample, _DIFFICULTY),
        source=name_of(header.eval.dataset.name or header.eval.task, ""),
    )


def _prompt(sample: "EvalSample") -> tuple[str, tuple[Picture, ...]]:
    if isinstance(sample.input, str):
        return clean_text(sample.input), ()
    if len(sample.input) == 1:
        content = sample.input[0].content
        return (clean_text(content), ()) if isinstance(content, str) else pictured(content)
    return "\n\n".join(f"{message.role}: {text_of(message.content)}" for message in sample.input), ()


def _target(sample: "EvalSample", choices: tuple[str, ...]) -> Target:
    said = [sample.target] if isinstance(sample.target, str) else list(sample.target)
    letters = [each.strip() for each in (said[0].split(",") if len(said) == 1 else said)]
    known = _LETTERS[: len(choices)]
    if choices and letters and all(each and each in known for each in letters):
        return choice_target(letters)
    return target_of(said)


def _named(sample: "EvalSample", names: tuple[str, ...]) -> str:
    found = [sample.metadata[name] for name in names if isinstance(sample.metadata.get(name), str | int)]
    return name_of(str(found[0]), "") if found else ""


# Scores of Inspect as ours.


_WORDS = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0, "yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
_NO_ANSWER = "N"
_UNPARSED = ("invalid_response_format", "refusal", "no_response")


def scores_of(scores: "Mapping[str, InspectScore] | None") -> tuple[list[Score], list[tuple[str, str]]]:
    """The scores, and by scorer why a value is none. One that has several values is as many scorers."""
    taken: list[Score] = []
    left_out: list[tuple[str, str]] = []
    for scorer, score in (scores or {}).items():
        for name, value in _values(name_of(scorer, "score"), score.value):
            made = _score(name, value, score)
            if isinstance(made, Score):
                taken.append(made)
            else:
                left_out.append((name, made))
    return taken, left_out


def _values(scorer: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        yield from ((name_of(f"{scorer}.{key}", scorer), each) for key, each in value.items())
    else:
        yield scorer, value


def _score(name: str, value: Any, score: "InspectScore") -> Score | str:
    """Or why it is none."""
    # What somebody has edited since in Inspect, counts as it is now.
    if (kept := ours(score.metadata).get("score")) and not score.history:
        own = kept.get("scorer") if name == COUNTED and isinstance(kept, Mapping) else name
        try:
            return Score.model_validate({**kept, "scorer": own, "trial": "", "target": ""})
        except (ValidationError, TypeError):
            return "what toolablate had written of it does not hold"
    number = _number(value)
    if isinstance(number, str):
        return number
    unparsed = value == _NO_ANSWER or (number == 0 and score.reason in _UNPARSED)
    verdict = "unparsed" if unparsed else verdict_of(number)
    metadata = json_of({name: each for name, each in (score.metadata or {}).items() if name != KEY})
    return Score(
        trial="",
        scorer=name,
        value=number,
        verdict=verdict,
        extracted=(clean_text(score.answer),) if score.answer else (),
        reason=clean_text(score.reason or ""),
        explanation=clean_text(score.explanation or ""),
        metadata=metadata if isinstance(metadata, dict) else {},
    )


def _number(value: Any) -> float | str | None:
    """As Inspect's own metrics read it; None where it is not scored, a sentence where it is no score."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, str):
        word = _WORDS.get(value, _WORDS.get(value.lower()))
        if word is not None:
            return word
        try:
            value = float(value)
        except ValueError:
            return f"{name_of(value, '')[:80]!r} is no score"
    if not isinstance(value, bool | int | float):
        return f"several values in one ({type(value).__name__})"
    if not 0 <= value <= 1:
        return f"{value:g} is not between 0 and 1"
    return float(value)


# What people said of a trial, as an export of ours wrote it among a sample's metadata.


_KEY = "labels"


def labels_of(metadata: Mapping[str, Any], where: str, *, events: int, failed: bool) -> tuple[Label, ...]:
    """In their order, naming no trial yet; none where another tool wrote the log, whatever it calls labels.

    The sample at `where` has so many `events`. Raises InputError for what can be no label of its trial.
    """
    found = metadata.get(_KEY, []) if ours(metadata) else []
    if not isinstance(found, list):
        raise _bad(where, "", "it is no list")
    if found and failed:
        raise _bad(where, "", "the sample failed: there is no answer to find a cause for")
    return tuple(_label(said, where, f".{place}", events) for place, said in enumerate(found))


def _label(said: Any, where: str, place: str, events: int) -> Label:
    if not isinstance(said, dict):
        raise _bad(where, place, "it is no label")
    try:
        label = Label.model_validate({**said, "trial": ""})
        # A time of no zone is no instant, and one at the end of the calendar has none in UTC.
        at = label.at.astimezone(UTC) if label.at.tzinfo else None
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        raise _bad(where, f"{place}.{'.'.join(map(str, first['loc']))}", first["msg"]) from None
    except OverflowError:
        at = None
    if at is None:
        raise _bad(where, f"{place}.at", "it is no instant with its zone")
    if label.turned_at is not None and label.turned_at >= events:
        raise _bad(where, f"{place}.turned_at", f"the sample has {events} events, from 0")
    return label.model_copy(update={"at": at})


def _bad(where: str, place: str, said: str) -> InputError:
    return InputError(f"{where} is invalid: metadata.{_KEY}{one_line(place)}: {said}", code="bad_sample")


# Reads an Inspect log.


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
                f"{path} has {size:,} bytes; JSON logs may have at most {_MOST_OF_JSON:,}",
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
