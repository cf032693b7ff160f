"""Samples of lm-evaluation-harness as trials."""

import json
import math
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from toolablate.formats.imported import Log, Sample, choice_target, name_of, target_of, verdict_of
from toolablate.formats.lm_eval.results import (
    Results,
    SampleRow,
    SampleRows,
    condition_of,
    environment_of,
    model_of,
    plain,
    read_lines,
    read_results,
)
from toolablate.traces.errors import InputError
from toolablate.traces.records import (
    Answer,
    Message,
    ModelCall,
    ModelReply,
    ModelRequest,
    Question,
    Score,
    Target,
    Usage,
    canonical_json,
    clean_text,
)

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_BEFORE = ("passage", "context", "premise", "support")
_ASKED = ("question", "query", "problem", "prompt", "input", "ctx", "goal", "hypothesis", "sentence", "text")
_DOMAIN = ("subject", "category", "domain", "topic")
_DIFFICULTY = ("difficulty", "level")


def question_of(row: dict[str, Any], task: str, asked: Sequence[str], *, named: bool = True) -> Question:
    """`asked` are the continuations whose likelihood was asked for, none where a reply was generated. `named` tells
    that the file has the task's name, and not one that somebody gave it.

    The document makes the question, not the prompt: that differs with the number of examples. In another task, which
    asks for letters in place of words, say, the same document is another question.
    """
    doc = row["doc"] if isinstance(row["doc"], dict) else {"text": row["doc"]}
    choices = choices_of(doc, asked)
    return Question(
        id=name_of(f"{task}/{row['doc_id']}", task),
        prompt=_prompt(doc),
        choices=choices,
        as_is=not choices,
        target=_target(row.get("target"), choices),
        domain=_named(doc, _DOMAIN),
        difficulty=_named(doc, _DIFFICULTY),
        source=name_of(task, ""),
        metadata={
            "doc_hash": clean_text(str(row.get("doc_hash") or canonical_json(plain(doc)))),
            **({"task": clean_text(task)} if named else {}),
        },
    )


def choices_of(doc: dict[str, Any], asked: Sequence[str]) -> tuple[str, ...]:
    """As the document has them, or else what was asked for."""
    found = doc.get("choices", doc.get("options"))
    if isinstance(found, dict):
        found = found.get("text")
    if len(asked) < 2:
        return ()
    if isinstance(found, list) and all(isinstance(each, str) for each in found) and len(found) <= len(asked):
        return tuple(map(clean_text, found))
    return tuple(clean_text(each).strip() for each in asked)


def _prompt(doc: dict[str, Any]) -> str:
    said = {key.lower(): value for key, value in doc.items() if isinstance(value, str) and value.strip()}
    parts = [said[key] for key in _BEFORE if key in said][:1] + [said[key] for key in _ASKED if key in said][:1]
    asked = any(key in said for key in _ASKED)
    return clean_text("\n\n".join(parts)) if asked else canonical_json(plain(doc))


def _target(said: Any, choices: tuple[str, ...]) -> Target:
    """Of a choice its place, its letter or its text."""
    text = clean_text(str(said if said is not None else ""))
    if 1 < len(choices) <= len(LETTERS):
        known = LETTERS[: len(choices)]
        if text.isdecimal() and text.isascii() and int(text[:3]) < len(choices):
            return choice_target([known[int(text[:3])]])
        if len(text.strip()) == 1 and text.strip() in known:
            return choice_target([text.strip()])
        if (places := [place for place, choice in enumerate(choices) if choice.strip() == text.strip()]) != []:
            return choice_target([known[places[0]]])
    return target_of([text])


def _named(doc: dict[str, Any], names: Sequence[str]) -> str:
    found = [doc[name] for name in names if isinstance(doc.get(name), str | int)]
    return name_of(str(found[0]), "") if found else ""


# The rows of a document as one sample of ours.


_NO_FILTER = "none"
_INVALID = "[invalid]"
_ROLES = ("system", "user", "assistant")


def sample_of(rows: Sequence[SampleRow], results: Results, where: str) -> Sample:
    """Raises InputError where two rows are of one filter, or a row's parts are not what they should be."""
    first = rows[0].content
    filters = [str(row.content.get("filter", _NO_FILTER)) for row in rows]
    if len(set(filters)) < len(filters):
        raise InputError(f"{where}: document {first['doc_id']} is there twice", code="twice")
    asked = _arguments(first["arguments"])
    likelihoods = _likelihoods(first["resps"], asked)
    continuations = [each[1] for each in asked] if likelihoods else []
    question = question_of(first, results.task, _distinct(asked) if likelihoods else (), named=results.named)
    options = question.choices or tuple(each.strip() for each in continuations)
    likelihoods = likelihoods[: max(1, len(options))]
    call = _call(asked, first["resps"], likelihoods, options)
    lengths = _lengths(continuations, options)
    made = [each for row in rows for each in _scores(row.content, results, likelihoods, lengths)]
    return Sample(
        name=json.dumps(first["doc_id"]),
        where=where,
        question=question,
        repeat=0,
        outcome="answered",
        started_at=results.began,
        seconds=0.0,
        events=(call, Answer(at=0.0, text=call.reply.message.content)),
        usage=Usage(),
        cost_usd=None,
        environment=environment_of(results),
        scores=tuple(score for _, score in made if isinstance(score, Score)),
        left_out=tuple((name, why) for name, why in made if isinstance(why, str)),
    )


def _arguments(found: Any) -> list[tuple[Any, Any]]:
    """The requests made for one document: what was given, and either a continuation or how to generate."""
    requests = list(found.values()) if isinstance(found, dict) else list(found)
    pairs = [list(each.values()) if isinstance(each, dict) else list(each) for each in requests]
    return [(pair[0], pair[1] if len(pair) > 1 else None) for pair in pairs]


def _likelihoods(resps: Any, asked: Sequence[tuple[Any, Any]]) -> list[float]:
    """Of each continuation its log likelihood; none where a reply was generated."""
    if not asked or not all(isinstance(continuation, str) for _, continuation in asked):
        return []
    return [float(each[0][0]) for each in resps]


def _distinct(asked: Sequence[tuple[Any, Any]]) -> list[str]:
    """What tells the requests apart: of some tasks it is what comes before one continuation."""
    continuations = [str(continuation) for _, continuation in asked]
    one = len(asked) > 1 and len(set(continuations)) == 1
    return [str(context) for context, _ in asked] if one else continuations


def _lengths(continuations: Sequence[str], options: Sequence[str]) -> list[int]:
    """Of what was asked for, in characters, which may be a letter where the document has words; of the options where
    one continuation was asked for after each of them."""
    asked = options if len(set(continuations)) == 1 else [each.strip() for each in continuations]
    return [len(each) for each in asked[: len(options)]]


def _call(
    asked: Sequence[tuple[Any, Any]], resps: Any, likelihoods: Sequence[float], options: Sequence[str]
) -> ModelCall:
    """One call for all requests of a document. Of likelihoods the reply is the likeliest continuation, though the
    model wrote none; a single one only where the model would have written it. Of a text whose likelihood as a whole was
    asked for there is none."""
    logprobs: Any = None
    if likelihoods:
        said = [options[_best(likelihoods)] if len(likelihoods) > 1 or _is_greedy(resps) else ""]
        logprobs = [
            {"continuation": clean_text(str(each[1])), "loglikelihood": value if math.isfinite(value) else None}
            for each, value in zip(asked, likelihoods, strict=False)
        ]
    elif asked and all(continuation is None for _, continuation in asked):
        said = [""]
        logprobs = [{"loglikelihood": float(each)} for each in _flat(resps)]
    else:
        said = [clean_text(str(each)) for each in _flat(resps)] or [""]
    reply, *others = (Message(role="assistant", content=each) for each in said)
    return ModelCall(
        at=0.0,
        request=ModelRequest(messages=tuple(_messages(asked[0][0] if asked else ""))),
        reply=ModelReply(message=reply, finish_reason="other", alternatives=tuple(others), logprobs=logprobs),
    )


def _is_greedy(resps: Any) -> bool:
    """Whether the continuation is what the model writes where it always takes the likeliest token."""
    return str(resps[0][0][1]) == "True"


def _flat(resps: Any) -> Iterator[Any]:
    """The replies to the first request: several where a task asks for repeats."""
    first = resps[0] if isinstance(resps, list) and resps else []
    yield from first if isinstance(first, list) else [first]


def _messages(context: Any) -> Iterator[Message]:
    """A chat is kept as the JSON of its messages, any other prompt as it was."""
    text = context[0] if isinstance(context, list) and len(context) == 1 else context
    text = text if isinstance(text, str) else json.dumps(text)
    if text.startswith('[{"'):
        try:
            read = json.loads(text)
            if all(each["role"] in _ROLES and isinstance(each["content"], str) for each in read):
                yield from (Message(role=each["role"], content=clean_text(each["content"])) for each in read)
                return
        except (ValueError, TypeError, KeyError, RecursionError):
            pass
    yield Message(role="user", content=clean_text(text))


def _scores(
    row: dict[str, Any], results: Results, likelihoods: Sequence[float], lengths: Sequence[int]
) -> Iterator[tuple[str, Score | str]]:
    """By metric, and by filter where the task has several; or why a value is no score."""
    better, name_of_filter = results.higher_is_better, str(row.get("filter", _NO_FILTER))
    metrics = row.get("metrics") or [name for name in better if name in row] or [n for n in ("acc",) if n in row]
    for metric in map(str, metrics):
        name = clean_text(metric if name_of_filter == _NO_FILTER else f"{metric},{name_of_filter}")
        value = row.get(metric)
        if better.get(metric) is False:
            yield name, "lower is better"
        elif isinstance(value, bool) or (isinstance(value, int | float) and (math.isnan(value) or 0 <= value <= 1)):
            yield name, _score(name, metric, float(value), row, likelihoods, lengths)
        elif isinstance(value, int | float):
            yield name, f"{value:g} is not between 0 and 1"
        else:
            yield name, "no number" if value is not None else "missing"


def _score(
    name: str, metric: str, value: float, row: dict[str, Any], likelihoods: Sequence[float], lengths: Sequence[int]
) -> Score:
    known = None if math.isnan(value) else value
    first = row["filtered_resps"][0] if isinstance(row["filtered_resps"], list) and row["filtered_resps"] else None
    read: tuple[str, ...] = (clean_text(first),) if isinstance(first, str) and first != _INVALID else ()
    if likelihoods:
        read = _letter(metric, likelihoods, lengths)
    lost = first == _INVALID and known == 0
    return Score(
        trial="",
        scorer=name,
        value=known,
        verdict="unparsed" if lost else verdict_of(known),
        extracted=read,
        reason="the filter found no answer" if lost else "",
    )


def _letter(metric: str, likelihoods: Sequence[float], lengths: Sequence[int]) -> tuple[str, ...]:
    """The choice that a metric goes by: the likeliest, or the likeliest for its length in characters."""
    if len(lengths) < 2 or len(lengths) > len(LETTERS) or metric not in ("acc", "acc_norm"):
        return ()
    if metric == "acc":
        return (LETTERS[_best(likelihoods)],)
    return (LETTERS[_best([value / max(1, length) for value, length in zip(likelihoods, lengths, strict=False)])],)


def _best(values: Sequence[float]) -> int:
    return max(range(len(values)), key=lambda place: values[place])


# Reads a file of samples of lm-evaluation-harness, with the results beside it.


def is_results(path: Path) -> bool:
    """Whether it is a file of results by its name, which is read along with that of the samples."""
    return path.name.startswith("results_") and path.suffix == ".json"


def read_log(path: Path, *, model: str | None = None) -> Log:
    """One arm: a file has the samples of one model and one task; `model` names it where no results do.

    Raises InputError where the file cannot be read, or nothing says which model it was.
    """
    lines = read_lines(path)
    results = read_results(path)
    notes = () if results.content else ("no results beside it: how the model was asked is not known",)
    return Log(
        harness="lm-eval",
        file=path,
        id=lines.digest,
        model=model_of(results, path, model),
        condition=condition_of(results),
        samples=partial(_samples, lines, results),
        notes=notes,
    )


def _samples(lines: SampleRows, results: Results) -> Iterator[Sample]:
    for rows in lines.documents():
        yield _taken(rows, results, f"{lines.path}:{rows[0].number}")


def _taken(rows: Sequence[SampleRow], results: Results, where: str) -> Sample:
    try:
        return sample_of(rows, results, where)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        raise InputError(f"{where}: {'.'.join(map(str, first['loc']))}: {first['msg']}", code="bad_sample") from None
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError, OverflowError) as error:
        raise InputError(
            f"{where}: its arguments and replies are not as lm-evaluation-harness writes them ({type(error).__name__})",
            hint="Versions 0.4.0 and later are read.",
            code="bad_sample",
        ) from None
