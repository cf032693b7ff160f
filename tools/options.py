"""Options that a plan gives to what it names: checked, and written as a plan would write them."""

import json
from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, JsonValue, ValidationError
from pydantic_core import PydanticSerializationError, to_jsonable_python

from toolablate.tools.plain import one_line
from toolablate.traces.errors import InputError

OptionsT = TypeVar("OptionsT", bound=BaseModel)


def read_options(options: type[OptionsT], given: Mapping[str, JsonValue], key: str, name: str) -> OptionsT:
    """The options of `name`, which stands under `key` in a plan. Raises InputError."""
    try:
        # Strict by way of JSON, where a string may become an enum, but no string a number.
        return options.model_validate_json(json.dumps(dict(given)))
    except ValidationError as error:
        detail = error.errors(include_url=False)[0]
        found = "" if detail["type"] == "missing" else f", found {one_line(repr(detail['input']), 60)}"
        allowed = ", ".join(field.alias or name for name, field in options.model_fields.items()) or "none"
        raise InputError(
            f"{key}: options of {one_line(name, 80)!r}: {'.'.join(map(str, detail['loc']))}: {detail['msg']}{found}",
            hint=f"its options: {allowed}",
            code="unknown_option" if detail["type"] == "extra_forbidden" else "bad_option",
        ) from None


def written_options(options: type[BaseModel], given: Mapping[str, object], key: str, name: str) -> dict[str, JsonValue]:
    """Options given in Python as a plan would write them. Raises InputError for what a plan cannot hold, and as
    `read_options` does."""
    try:
        written: dict[str, JsonValue] = {option: to_jsonable_python(value) for option, value in given.items()}
        json.dumps(written, allow_nan=False)
    except (PydanticSerializationError, ValueError) as error:
        raise InputError(
            f"{key}: options of {name!r}: {one_line(str(error), 200)}",
            hint="options are texts, finite numbers, booleans, and lists and tables of these",
            code="bad_option",
        ) from None
    read_options(options, written, key, name)
    return written


def by_parameter(values: BaseModel) -> dict[str, Any]:
    """What was given of the fields that stand for parameters, by their names. What was not is left to the function's
    own default."""
    fields = type(values).model_fields
    aliases = {name: alias for name in values.model_fields_set if (alias := fields[name].alias)}
    return {alias: getattr(values, name) for name, alias in aliases.items()}
