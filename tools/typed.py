"""Tools whose arguments are a pydantic model: the schema that a model sees and the check of its calls are one thing."""

import json
from collections.abc import Awaitable, Callable, Mapping
from functools import lru_cache
from typing import Any, Generic, TypeVar, cast

from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError

from toolablate.tools.likeness import PLAIN, Likeness
from toolablate.tools.plain import one_line
from toolablate.tools.tool import ToolResult
from toolablate.traces.errors import InputError
from toolablate.traces.records import ToolSpec


class Arguments(BaseModel):
    """Arguments of a tool: strict types, no unknown names."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


ArgumentsT = TypeVar("ArgumentsT", bound=BaseModel)


async def _nothing_to_close() -> None:
    return None


class TypedTool(Generic[ArgumentsT]):
    """A `Tool` made of an arguments model and a coroutine function that gets a valid instance of it."""

    def __init__(
        self,
        name: str,
        description: str,
        arguments: type[ArgumentsT],
        run: Callable[[ArgumentsT], Awaitable[ToolResult]],
        *,
        parameters: Mapping[str, JsonValue] | None = None,
        likeness: Likeness = PLAIN,
        close: Callable[[], Awaitable[None]] = _nothing_to_close,
    ) -> None:
        self._arguments = arguments
        self._run = run
        self._close = close
        self.likeness = likeness
        self.spec = ToolSpec(
            name=name, description=description, parameters=dict(parameters or _schema_of(arguments, name))
        )

    def refusal(self, arguments: Mapping[str, JsonValue]) -> ToolResult | None:
        valid = self._valid(arguments)
        return valid if isinstance(valid, ToolResult) else None

    async def call(self, arguments: Mapping[str, JsonValue]) -> ToolResult:
        valid = self._valid(arguments)
        return valid if isinstance(valid, ToolResult) else await self._run(valid)

    def _valid(self, arguments: Mapping[str, JsonValue]) -> ArgumentsT | ToolResult:
        try:
            # Strict by way of JSON, where a list may become a tuple and a string an enum, but no string a number.
            return self._arguments.model_validate_json(json.dumps(dict(arguments)))
        except ValidationError as error:
            return invalid_call(self.spec, _reasons(error))

    async def close(self) -> None:
        await self._close()


def invalid_call(spec: ToolSpec, reason: str) -> ToolResult:
    """What a model is told whose arguments do not fit: the reason, and what the tool takes."""
    output = f"Invalid call of {spec.name}: {reason}. {_signature(spec)}"
    return ToolResult(output=output, status="invalid", error="invalid_arguments")


def _reasons(error: ValidationError) -> str:
    return "; ".join(_reason(cast(Mapping[str, Any], detail)) for detail in error.errors(include_url=False)[:5])


def _reason(detail: Mapping[str, Any]) -> str:
    where = one_line(".".join(str(part) for part in detail["loc"]), 80)
    if detail["type"] == "missing":
        return f"{where} is missing"
    if detail["type"] == "extra_forbidden":
        return f"there is no argument {where!r}"
    message = str(detail["msg"]).removeprefix("Value error, ")
    if not where:
        return message
    return f"{where}: {message}, found {one_line(json.dumps(detail['input'], default=str), 80)}"


def _signature(spec: ToolSpec) -> str:
    properties = cast(dict[str, dict[str, Any]], spec.parameters.get("properties") or {})
    if not properties:
        return "It takes no arguments."
    required = cast(list[str], spec.parameters.get("required") or [])
    parts = (
        f"{name} ({schema.get('type', 'any')}{'' if name in required else ', optional'})"
        for name, schema in properties.items()
    )
    return f"Its arguments, as a JSON object: {', '.join(parts)}."


def flat_schema(arguments: type[BaseModel], tool: str) -> dict[str, JsonValue]:
    """The JSON Schema object of the arguments without titles, references and nulls, which endpoints read differently.

    Raises InputError where a type refers to itself, since that cannot be written without references.
    """
    schema = arguments.model_json_schema()
    definitions = schema.pop("$defs", {})
    flat = cast(dict[str, JsonValue], _flatten(schema, definitions, (), tool))
    flat.pop("description", None)
    flat.setdefault("properties", {})
    return flat


@lru_cache(maxsize=64)
def _schema_of(arguments: type[BaseModel], tool: str) -> dict[str, JsonValue]:
    # Made anew for the tools of every trial otherwise, at half a millisecond each.
    return flat_schema(arguments, tool)


def _flatten(schema: Any, definitions: Mapping[str, Any], inside: tuple[str, ...], tool: str) -> Any:
    if isinstance(schema, list):
        return [_flatten(part, definitions, inside, tool) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        name = schema["$ref"].removeprefix("#/$defs/")
        if name in inside:
            raise InputError(f"tool {tool!r}: the type {name!r} contains itself", code="bad_tool")
        rest = {key: value for key, value in schema.items() if key != "$ref"}
        return _flatten({**definitions[name], **rest}, definitions, (*inside, name), tool)
    kept = {
        key: _properties(value, definitions, inside, tool)
        if key == "properties"
        else _flatten(value, definitions, inside, tool)
        for key, value in schema.items()
        if not (key == "title" or (key == "default" and value is None))
    }
    return _without_null(kept)


def _properties(properties: dict[str, Any], definitions: Mapping[str, Any], inside: tuple[str, ...], tool: str) -> Any:
    # Apart, because an argument may be called `title` or `default`.
    return {name: _flatten(schema, definitions, inside, tool) for name, schema in properties.items()}


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    choices = [choice for choice in schema.get("anyOf", ()) if choice != {"type": "null"}]
    if len(choices) != 1:
        return schema
    return {**choices[0], **{key: value for key, value in schema.items() if key != "anyOf"}}
