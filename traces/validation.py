"""Turns pydantic's findings about a plan into sentences about keys."""

import types
from collections.abc import Iterator
from dataclasses import is_dataclass
from difflib import get_close_matches
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

# Fields of records that a plan has no need to write: they are filled in when it is read.
_FILLED_IN = frozenset({"version", "source", "script_digest", "playbook_digest", "package", "source_digest"})

_DATABASE = b"SQLite format 3\0"


def why_unreadable(error: OSError | UnicodeDecodeError) -> str:
    """What keeps a text file from being read, in words."""
    if isinstance(error, UnicodeDecodeError):
        if error.object.startswith(_DATABASE):
            return "it is a database, as stores are, and no text"
        return f"it is no UTF-8 text: byte 0x{error.object[error.start]:02x} at position {error.start + 1}"
    return error.strerror or str(error)


def explain(error: ValidationError, root: type[BaseModel]) -> str:
    """All findings, one a line: the key, what was found, what is allowed."""
    found = error.errors(include_url=False)
    # A list whose items are wrong is called too short as well, which would send its reader the wrong way.
    spoiled = {item["loc"][:1] for item in found if len(item["loc"]) > 1}
    lines = [_explain_one(item, root) for item in found if item["type"] != "too_short" or item["loc"] not in spoiled]
    return lines[0] if len(lines) == 1 else "".join(f"\n  {line}" for line in lines)


def _explain_one(item: Any, root: type[BaseModel]) -> str:
    location, models = _walk(item["loc"], root)
    value = _shorten(item.get("input"))
    match item["type"]:
        case "extra_forbidden" | "unexpected_keyword_argument":
            allowed = sorted({name for model in models for name in _fields(model)} - _FILLED_IN)
            near = get_close_matches(str(item["loc"][-1]), allowed, n=1)
            meant = f"; did you mean {near[0]!r}?" if near else ""
            return f"{location}: unknown key{meant} (allowed: {', '.join(allowed)})"
        case "missing" | "missing_argument":
            return f"{location}: missing"
        case "literal_error" if item["loc"][-1] == "[key]":
            return f"{_walk(item['loc'][:-1], root)[0]}: unknown key; allowed is {item['ctx']['expected']}"
        case "literal_error" | "enum":
            return f"{location}: found {value}, allowed is {item['ctx']['expected']}"
        case "union_tag_invalid":
            return (
                f"{location}: {item['ctx']['discriminator'].strip(chr(39))} is {item['ctx']['tag']!r},"
                f" allowed is {item['ctx']['expected_tags']}"
            )
        case "union_tag_not_found":
            return f"{location}: missing key {item['ctx']['discriminator']}"
        case "value_error":
            return str(item["ctx"]["error"])
        case "tuple_type":
            return f"{location}: should be a list; found {value}"
        case _:
            message = item["msg"][0].lower() + item["msg"][1:]
            return f"{location}: {message}; found {value}"


def _walk(loc: tuple[int | str, ...], root: Any) -> tuple[str, list[Any]]:
    """The key as a person writes it (`models[0].sampling`), and the models that its last part was looked up in."""
    shown, current, looked_in = "", [root], [root]
    for part in loc:
        if isinstance(part, int):
            shown += f"[{part}]"
            continue
        looked_in = current
        chosen = [model for model in current if part in _tags(model)]
        if chosen:
            current = chosen
            continue
        shown += f".{part}" if shown else part
        current = [nested for model in current for nested in _models_in(_fields(model).get(part))]
    return shown, looked_in


def _fields(model: Any) -> dict[str, Any]:
    if isinstance(model, type) and issubclass(model, BaseModel):
        return {field.alias or name: field.rebuild_annotation() for name, field in model.model_fields.items()}
    return dict(model.__annotations__) if is_dataclass(model) else {}


def _tags(model: Any) -> set[str]:
    """By which a union knows the model: pydantic names it so in the place of an error."""
    if not issubclass(model, BaseModel):
        return set()
    if provider := model.model_fields.get("provider"):
        return {provider.default if isinstance(provider.default, str) else "registered"}
    kind = model.model_fields.get("kind")
    return set(get_args(kind.annotation)) if kind and get_origin(kind.annotation) is Literal else set()


def _models_in(annotation: Any) -> Iterator[Any]:
    origin = get_origin(annotation)
    if origin in (Annotated, Union, types.UnionType, tuple):
        for argument in get_args(annotation):
            yield from _models_in(argument)
    elif isinstance(annotation, type) and (issubclass(annotation, BaseModel) or is_dataclass(annotation)):
        yield annotation


def _shorten(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else shown[:57] + "..."
