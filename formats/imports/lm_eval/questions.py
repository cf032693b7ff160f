"""A document of a task as a question of ours."""

from collections.abc import Sequence
from typing import Any

from toolablate.formats.imports.lm_eval.arm import plain
from toolablate.formats.imports.naming import name_of
from toolablate.formats.imports.targets import choice_target, target_of
from toolablate.traces.records import Question, Target, canonical_json, clean_text

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
