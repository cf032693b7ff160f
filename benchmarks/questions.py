"""Reads questions, one in a row, and says exactly what is wrong with a row that is not one."""

import difflib
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from toolablate.benchmarks.prompt import LETTERS, letters_for
from toolablate.benchmarks.question_files import FileFinder, in_order
from toolablate.benchmarks.registry import question_set, told_broken
from toolablate.benchmarks.rows.row_errors import Identities, LineError, at, shown
from toolablate.benchmarks.rows.sources import rows_of
from toolablate.benchmarks.scoring.texts import compiled
from toolablate.traces.errors import InputError, ScoringError
from toolablate.traces.output import refuse_store
from toolablate.traces.records import ChecklistTarget, CodeTarget, PatternTarget, Picture, Question, TextTarget
from toolablate.traces.records.pictures import marked

SHORT_FORM = "answer"
SCALE = "scale"
ACCEPTED = "answers"
IMAGE = "image"
FIELDS = (*Question.model_fields, SHORT_FORM, SCALE, ACCEPTED, IMAGE)
OTHER_NAMES = {
    "question": "prompt",
    "text": "prompt",
    "options": "choices",
    "category": "domain",
    "lang": "language",
    "question_id": "id",
    "label": SHORT_FORM,
    "file": "files",
    "attachments": "files",
    "document": "documents",
    "context": "documents",
    "contexts": "documents",
    "picture": IMAGE,
    "pictures": "images",
    "image_url": IMAGE,
}
TARGETS = 'a letter ("B"), letters (["A", "C"]), a number (12.5), or without choices a list of texts (["Paris"])'
KINDS = "must be 'choice', 'number', 'spans', 'text', 'math', 'regex', 'code', 'reference' or 'checklist'"


def questions_of(file: str, *, folder: str | Path | None = None) -> tuple[Question, ...]:
    """What a plan's `questions.file` names: a question set of a benchmark, or what `load_questions` reads. Raises
    InputError."""
    named = question_set(file)
    if named is not None:
        return named
    try:
        return load_questions(file, folder=folder)
    except InputError as error:
        broken = told_broken() if error.code == "unreadable" and not Path(file).exists() else ""
        if not broken:
            raise
        # The set of a broken benchmark is not known, and looks like a file.
        raise InputError(error.message, hint=f"{error.hint} {broken}".strip(), code=error.code) from error


def load_questions(path: str | Path, *, folder: str | Path | None = None) -> tuple[Question, ...]:
    """Reads one question in each row: a `Question` record, or one with `answer` in place of `target`.

    `path` is a JSONL, or another source that `rows_of` reads. `answer` is a letter or a list of letters where the row
    has `choices`. Without choices it is a number, a text or a list of texts; capitals are refused there, since they
    look like letters of choices that were forgotten. With `scale` ("" for none, "thousand", "million", "billion",
    "percent") it is a number, a text or a list of both, and always a target of spans. A question that is `as_is` may
    hold its choices in its prompt alone, and gives its letters as `target`. `answers`, in place of both, are texts of
    which each is right.
    `files` are paths relative to `folder`, by default the question file's own; they are read for their digests.
    `documents` are paths too, or texts with a name; their texts become part of the question.
    `images` are paths or data URLs, `image` is one of them; a `prompt` may be a list of texts and images instead.
    Blank lines and a byte order mark are passed over. Raises InputError that names the file, the row, the field,
    what was found and what is allowed.
    """
    files = FileFinder(Path(path).parent if folder is None else Path(folder))
    questions: list[Question] = []
    identities = Identities("question")
    for place, content in rows_of(path):
        try:
            question = _question(content, files)
            identities.take(question.id, place)
        except LineError as error:
            raise at(place, error, code="bad_question") from error
        questions.append(question)
    if not questions:
        raise InputError(f"{path}: holds no question", hint="One JSON object per line is expected.", code="no_question")
    return tuple(questions)


def told_of_alike(questions: Iterable[Question]) -> str:
    """What a user should know whose questions ask the same twice, which statistics take for two; "" where none do."""
    found: dict[object, list[str]] = defaultdict(list)
    for each in questions:
        files = frozenset(file.sha256 for file in each.files)
        found[each.prompt, each.choices, files, each.documents, each.images].append(each.id)
    alike = [ids for ids in found.values() if len(ids) > 1]
    if not alike:
        return ""
    named = "; ".join(
        ", ".join(map(shown, ids[:_NAMED])) + (", ..." if len(ids) > _NAMED else "") for ids in alike[:_NAMED]
    )
    more = f"; and {len(alike) - _NAMED} more" if len(alike) > _NAMED else ""
    return f"questions: some ask the same in the same words, and count as different ones: {named}{more}"


_NAMED = 5


def _question(content: dict[str, Any], files: FileFinder) -> Question:
    for name in content:
        if name not in FIELDS:
            raise LineError(f"unknown field {shown(name)}", _similar(name))
    content["target"] = _given_target(content)
    if "files" in content:
        content["files"] = [file.model_dump() for file in files.describe(content["files"])]
    documents = files.documents(content.pop("documents")) if "documents" in content else ()
    images = files.images(_given_images(content))
    try:
        question = Question.model_validate_json(json.dumps(content))
    except ValidationError as error:
        raise _explained(error.errors(include_url=False)[0]) from error
    # Not by way of JSON, so that questions share the texts that they have in common.
    question = question.model_copy(update={"documents": documents, "images": images})
    _check(question)
    _check_marks(question.prompt, question.choices, images)
    if question.blocked_hosts:
        _check_hosts(question)
    if both := {file.name for file in question.files} & {document.name for document in question.documents}:
        raise LineError(
            f"one of the 'files' and one of the 'documents' have the name {shown(min(both))}",
            'Give one of them another: {"path": "...", "name": "..."}.',
        )
    return question


def _given_images(content: dict[str, Any]) -> Any:
    """The images as they are given; what gives them is taken out of the row, but for the prompt's text."""
    in_prompt = isinstance(content.get("prompt"), list)
    given = [name for name in (IMAGE, "images") if content.get(name) is not None]
    if len(given) + in_prompt > 1:
        raise LineError("images are given in two places", "Keep one of 'image', 'images' and a list as 'prompt'.")
    one, several = content.pop(IMAGE, None), content.pop("images", None)
    if in_prompt:
        content["prompt"], several = in_order(content["prompt"])
    return several if several is not None else [] if one is None else [one]


def _check_marks(prompt: str, choices: Sequence[str], images: tuple[Picture, ...]) -> None:
    lacking = [number for text in (prompt, *choices) for number in marked(text) if not 1 <= number <= len(images)]
    if images and lacking:
        raise LineError(
            f"<image {lacking[0]}> names no image; the question has {len(images)}", "The first is <image 1>."
        )


def _given_target(content: dict[str, Any]) -> Any:
    """The target as it is given, in full or in short; what says it in short is taken out of the row."""
    given = [name for name in (SHORT_FORM, ACCEPTED, "target") if name in content]
    if len(given) > 1:
        raise LineError(f"both '{given[0]}' and '{given[1]}' are given", "Keep one of them.")
    if not given:
        raise LineError("the field 'answer' (or 'target') is missing", f"It is {TARGETS}.")
    scale, target = content.pop(SCALE, None), content.pop(given[0])
    if given == [SHORT_FORM]:
        has_choices = bool(content.get("choices"))
        return _target(target, has_choices) if scale is None else _scaled(target, scale, has_choices)
    if scale is not None:
        raise LineError(
            f"'scale' is given beside '{given[0]}'", "It belongs beside 'answer', or into a target of spans."
        )
    if given == [ACCEPTED]:
        if not (isinstance(target, list) and target and all(isinstance(item, str) for item in target)):
            raise LineError(f"'{ACCEPTED}' must be a list of texts; found {shown(target)}")
        return {"kind": "text", "answers": target}
    if isinstance(target, dict) and target.get("kind") == "number" and isinstance(target.get("value"), bool):
        raise LineError(f"'target.value' must be a number; found {shown(target['value'])}")
    if isinstance(target, dict) and target.get("kind") == "code" and isinstance(target.get("tests"), str):
        return target | {"tests": [target["tests"]]}
    return target


def _target(answer: Any, has_choices: bool) -> dict[str, Any]:
    if not has_choices and _is_letters(answer):
        raise LineError(
            f"the answer {shown(answer)} is a letter, but the field 'choices' is missing",
            'For a capital that is a text write "target": {"kind": "spans", "spans": ["A"]}; for a choice of a prompt'
            ' that is asked "as_is", "target": {"kind": "choice", "letters": ["A"]}.',
        )
    if isinstance(answer, list) and answer and all(isinstance(item, str) for item in answer):
        return {"kind": "choice", "letters": answer} if has_choices else {"kind": "spans", "spans": answer}
    if isinstance(answer, str) and has_choices:
        return {"kind": "choice", "letters": [answer]}
    if isinstance(answer, int | float) and not isinstance(answer, bool) and not has_choices:
        return {"kind": "number", "value": answer}
    if isinstance(answer, str):
        return {"kind": "spans", "spans": [answer]}
    hint = 'With choices it is a letter ("B") or letters (["A", "C"]).' if has_choices else f"It is {TARGETS}."
    raise LineError(f"'answer' cannot be {shown(answer)}", hint)


def _scaled(answer: Any, scale: Any, has_choices: bool) -> dict[str, Any]:
    """TAT-QA's form of an answer. It is one of spans whatever the scale, "" included, so that a benchmark's rows are
    all asked in the same words."""
    if has_choices:
        raise LineError("'scale' does not fit 'choices'", "It says what the numbers of an answer are counted in.")
    items = answer if isinstance(answer, list) else [answer]
    if not items or any(isinstance(item, bool) or not isinstance(item, str | int | float) for item in items):
        raise LineError(f"'answer' cannot be {shown(answer)}", "With 'scale' it is a number, a text or a list of them.")
    spans = [item if isinstance(item, str) else json.dumps(item) for item in items]
    return {"kind": "spans", "spans": spans, "scale": scale}


def _is_letters(answer: Any) -> bool:
    items = answer if isinstance(answer, list) else [answer]
    return bool(items) and all(isinstance(item, str) and len(item) == 1 and item in LETTERS for item in items)


def _explained(error: ErrorDetails) -> LineError:
    field = _place(error["loc"])
    match error["type"]:
        case "missing":
            return LineError(f"the field {field} is missing")
        case "extra_forbidden":
            return LineError(f"unknown field {field}")
        case "union_tag_not_found":
            return LineError(f"the field 'target.kind' is missing; {KINDS}")
        case "union_tag_invalid":
            return LineError(f"'target.kind' {KINDS}; found {shown(error['input']['kind'])}")
    rule = _rule(error)
    hint = f"The short form is 'answer': {TARGETS}." if field == "'target'" else ""
    return LineError(f"{field} {rule}; found {shown(error['input'])}", hint)


def _rule(error: ErrorDetails) -> str:
    """What is allowed, in the words of JSON. The library speaks of tuples and models, which no question file holds."""
    match error["type"]:
        case "string_type":
            return "must be a text in quotes"
        case "string_too_short":
            return "must not be empty"
        case "tuple_type":
            return "must be a list of texts"
        case "too_short":
            return f"must hold at least one {'letter' if error['loc'][-1] == 'letters' else 'text'}"
        case "float_type" | "float_parsing":
            return "must be a number"
        case "greater_than_equal":
            return "must be 0 or more"
        case "literal_error":
            return f"must be {error['ctx']['expected']}"
        case "dict_type" | "model_type" | "model_attributes_type":
            return "must be a JSON object"
        case _:
            return error["msg"].removeprefix("Input ").removeprefix("Value error, ").replace("should", "must")


def _place(loc: tuple[int | str, ...]) -> str:
    # pydantic names the chosen kind of target in the place; the user's file has no such level.
    parts = [part for n, part in enumerate(loc) if not (n == 1 and loc[0] == "target")]
    names = ".".join(part for part in parts if isinstance(part, str))
    return f"item {parts[-1] + 1} of '{names}'" if isinstance(parts[-1], int) else f"'{names}'"


def _check(question: Question) -> None:
    if len(question.choices) == 1 or len(question.choices) > len(LETTERS):
        raise LineError(f"'choices' has {len(question.choices)} items; allowed are 2 to {len(LETTERS)}")
    if question.target.kind != "choice":
        if question.choices:
            raise LineError(f"'choices' do not fit a target of kind '{question.target.kind}'")
        if question.target.kind == "spans" and not any(span.strip() for span in question.target.spans):
            raise LineError(
                f"the answer {shown(list(question.target.spans))} is empty, which no reply can match",
                "Leave the question out, or say what is asked for.",
            )
        _check_texts(question)
        return
    if not question.choices and not question.as_is:
        raise LineError(
            "a target of kind 'choice' needs the field 'choices'",
            "It is the list of the options' texts; only a prompt that is asked 'as_is' may hold them itself.",
        )
    allowed = letters_for(question)
    for letter in question.target.letters:
        if len(letter) != 1 or letter not in allowed:
            of_these = f", for its {len(question.choices)} choices" if question.choices else ""
            spoken = f"{allowed[0]} to {allowed[-1]}{of_these}"
            raise LineError(f"the answer {shown(letter)} names no choice", f"Allowed is a letter from {spoken}.")
    if len(set(question.target.letters)) < len(question.target.letters):
        raise LineError(f"the answer {shown(list(question.target.letters))} names a letter twice")


def _check_hosts(question: Question) -> None:
    from toolablate.tools.web import WebPolicy

    try:
        WebPolicy(blocked_hosts=frozenset(question.blocked_hosts))
    except ValueError as error:
        raise LineError(f"'blocked_hosts': {str(error).removeprefix('blocked_hosts: ')}") from error


def _check_texts(question: Question) -> None:
    match question.target:
        case ChecklistTarget(items=items):
            _check_items([item.name for item in items])
        case TextTarget(answers=answers):
            if empty := [answer for answer in answers if not answer.strip()]:
                raise LineError(f"the answer {shown(empty[0])} is empty, which no reply can match")
        case PatternTarget(pattern=pattern):
            try:
                compiled(pattern)
            except ScoringError as error:
                raise LineError(f"'target.pattern': {error.message}", error.hint) from error
        case CodeTarget(tests=tests, entry_point=name):
            if name and not name.isidentifier():
                raise LineError(f"'target.entry_point' must be the name of a function; found {shown(name)}")
            for test in tests:
                try:
                    compile(test, "tests", "exec", dont_inherit=True)
                except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
                    said = str(error) or "it is nested too deeply"
                    raise LineError(f"'target.tests' must be Python code: {said}") from error


def _check_items(names: Sequence[str]) -> None:
    if twice := [name for name in names if names.count(name) > 1]:
        raise LineError(f"two items of the checklist have the name {shown(twice[0])}")
    if blank := [name for name in names if not name.strip() or not name.isprintable()]:
        raise LineError(f"the name {shown(blank[0])} of an item is blank, or cannot be printed in one line")


def _similar(name: str) -> str:
    close = difflib.get_close_matches(name, FIELDS, n=1)
    guess = OTHER_NAMES.get(name.lower()) or (close[0] if close else "")
    return (f"Did you mean '{guess}'? " if guess else "") + f"Allowed are {', '.join(FIELDS)}."


# Questions of other forms, written as a plan reads them.


def write_questions(files: Sequence[tuple[Path, Sequence[Question]]], *, source: Path) -> None:
    """One question a line. Raises InputError where a file cannot be written; and before any is, where one is the file
    that they come from, another of them, or a store."""
    for place, (path, _) in enumerate(files):
        refuse_store(path, "questions")
        if _is_same(path, source):
            raise InputError(f"{path} is the file that is read", hint="Name another file to write.", code="same_file")
        if any(_is_same(path, other) for other, _ in files[:place]):
            raise InputError(f"{path} is named twice", hint="Each needs a file of its own.", code="same_file")
    for path, questions in files:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("".join(f"{question.to_json()}\n" for question in questions), encoding="utf-8")
        except OSError as error:
            raise InputError(f"cannot write {path}: {error.strerror}", code="unwritable") from None


def _is_same(one: Path, other: Path) -> bool:
    """Also by way of a link."""
    return one.resolve() == other.resolve() or (one.exists() and other.exists() and one.samefile(other))


# The language of a question, by its characters.


CHINESE_SHARE = 0.1
"""Of the letters of a Chinese question: formulas and names in it have Latin ones."""

_CHINESE = re.compile("[\u4e00-\u9fff]")
_LETTER = re.compile(r"[^\W\d_]")


def language_of(text: str) -> str:
    """`zh` or `en`."""
    letters, chinese = len(_LETTER.findall(text)), len(_CHINESE.findall(text))
    return "zh" if chinese > CHINESE_SHARE * letters else "en"
