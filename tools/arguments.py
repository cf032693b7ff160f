"""Reads the arguments of a call as a model wrote them."""

import json
import math
from typing import Any, cast

from pydantic import JsonValue

from toolablate.tools.plain import one_line
from toolablate.traces.records import ToolSpec, clean_text


class InvalidArgumentsError(Exception):
    """The text is no JSON object; the message, for the model, says where."""


def parse_arguments(text: str, spec: ToolSpec) -> dict[str, JsonValue]:
    """The JSON object in `text`; an empty text is an empty object.

    A tool with a single argument, a string, also takes bare text for it: the gpt-oss family sends code as it is.
    Numbers such as `10.0` become integers, as JSON Schema has it. Raises InvalidArgumentsError.
    """
    if not text.strip():
        return {}
    bare = _bare_argument(spec)
    if bare and not text.lstrip().startswith("{"):
        return {bare: _bare_text(text)}
    value = _load(text)
    if not isinstance(value, dict):
        raise InvalidArgumentsError(f"the arguments must be a JSON object, found {one_line(text, 60)}")
    return value


def _bare_argument(spec: ToolSpec) -> str | None:
    properties = spec.parameters.get("properties")
    if isinstance(properties, dict) and len(properties) == 1:
        name, schema = next(iter(properties.items()))
        if isinstance(schema, dict) and schema.get("type") == "string":
            return name
    return None


def _bare_text(text: str) -> str:
    """A JSON string stands for what it says, anything else for itself."""
    try:
        value = _load(text)
    except InvalidArgumentsError:
        return clean_text(text)
    return value if isinstance(value, str) else clean_text(text)


def _load(text: str) -> JsonValue:
    try:
        value = json.loads(
            text, object_pairs_hook=_object, parse_float=_number, parse_constant=_not_a_number, strict=False
        )
    except json.JSONDecodeError as error:
        near = one_line(text[max(0, error.pos - 20) : error.pos + 20], 60)
        raise InvalidArgumentsError(
            f"the arguments are not valid JSON: {error.msg} at line {error.lineno} column {error.colno}, near {near!r}"
        ) from None
    except RecursionError:
        raise InvalidArgumentsError("the arguments are nested too deeply") from None
    except ValueError as error:
        raise InvalidArgumentsError(f"the arguments are not valid JSON: {error}") from None
    return cast(JsonValue, _cleaned(value))


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise InvalidArgumentsError(f"{one_line(twice, 60)!r} is given twice")
    return content


def _number(digits: str) -> int | float:
    number = float(digits)
    if math.isinf(number):
        raise InvalidArgumentsError(f"the number {one_line(digits, 60)} is too large")
    return int(number) if number.is_integer() else number


def _not_a_number(word: str) -> float:
    raise InvalidArgumentsError(f"{word} is not a JSON value")


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, list):
        return [_cleaned(part) for part in value]
    if isinstance(value, dict):
        return {clean_text(name): _cleaned(part) for name, part in value.items()}
    return value
