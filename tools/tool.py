"""What a tool is: its specification, its checked arguments, its result as a model sees it and as parts."""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import lru_cache
from typing import Any, Generic, Literal, Protocol, TypeVar, cast

from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError

from toolablate.tools.text import one_line
from toolablate.traces.errors import InputError
from toolablate.traces.records import Artifact, Change, Lookup, Marker, ToolReply, ToolSpec

CallArguments = Mapping[str, JsonValue]

Form = Literal["code", "results", "page", "matches", "plain"]
"""How an output is built: what a program printed, a list of search results, a part of a page, lines found in a page;
`plain` where nothing is known of it."""


@dataclass(frozen=True, slots=True)
class ResultTemplate:
    """How a tool words its results, for results that are substituted for its own.

    Both functions get the arguments of the call, and give the output that a model is shown: `nothing` that of a call
    that worked and gave nothing, `finding` that of one that gave a text. `form` says how its own outputs are built.
    """

    nothing: Callable[[CallArguments], str]
    finding: Callable[[CallArguments, str], str]
    form: Form = "plain"


NO_OUTPUT = "(no output)"

PLAIN = ResultTemplate(nothing=lambda _: NO_OUTPUT, finding=lambda _, text: text)
"""Of a tool that presents its results in no form of its own."""


# Parsed outputs: the tool's own wording apart from what it found. For interventions that substitute what was found; no
# model is shown them, and none is recorded.


@dataclass(frozen=True, slots=True)
class PrintedOutput:
    """What a program printed, and what the sandbox says behind it: that the cell was stopped, or its output cut."""

    text: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """One result of a list, without its number: a title, below it the address, below that an extract."""

    text: str
    url: str


@dataclass(frozen=True, slots=True)
class Listed:
    """A list of results; `heading` repeats what was asked. `most` and `before` are those of the call."""

    heading: str
    entries: tuple[Entry, ...]
    most: int
    before: date | None = None

    @property
    def output(self) -> str:
        return listed(self.heading, [entry.text for entry in self.entries])


def listed(heading: str, entries: Sequence[str]) -> str:
    """Results behind their numbers."""
    return "\n".join((heading, *(f"{rank}. {entry}" for rank, entry in enumerate(entries, start=1))))


@dataclass(frozen=True, slots=True)
class PageAsked:
    """What a call wanted of the browser: a page by its address, by its id, or by the number of a link on the page with
    that id, from a line on; or, where there is a `pattern`, the lines that hold it."""

    url: str | None = None
    page_id: str | None = None
    link: int | None = None
    line: int = 0
    num_lines: int | None = None
    pattern: str | None = None
    regex: bool = False


@dataclass(frozen=True, slots=True)
class PageShown:
    """A page as it is named above its lines, and how many characters the whole of it has."""

    id: str
    title: str
    url: str
    chars: int

    @property
    def heading(self) -> str:
        return f"[{self.id}] {self.title} ({self.url})"


@dataclass(frozen=True, slots=True)
class PageView:
    """Lines of a page, each behind its number, under the page's heading and a line that counts them. Without lines, the
    output is what the browser says of the page: that it has no such line, no match, no such link."""

    page: PageShown
    asked: PageAsked
    count: str = ""
    lines: tuple[tuple[str, str], ...] = ()

    @property
    def output(self) -> str:
        return "\n".join((self.page.heading, self.count, *(f"{number}{text}" for number, text in self.lines)))


ParsedOutput = PrintedOutput | Listed | PageView


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What one call gave. `output` is exactly what the model is shown; the rest is for the trace (see `ToolCall`), but
    `parsed`, which is for the intervention nearest to the tool."""

    output: str
    status: Literal["ok", "error", "invalid"] = "ok"
    error: str = ""
    truncated: bool = False
    artifacts: tuple[Artifact, ...] = ()
    lookup: Lookup | None = None
    markers: tuple[Marker, ...] = ()
    changes: tuple[Change, ...] = ()
    original: ToolReply | None = None
    parsed: ParsedOutput | None = field(default=None, compare=False, repr=False)


class Tool(Protocol):
    """A tool opened for one trial. It may keep state (a kernel, opened pages) until it is closed.

    A call that the model got wrong is a `ToolResult` with a status; a tool whose own infrastructure failed raises
    `ToolError` or `SandboxError`, which never counts as something the model did.
    """

    @property
    def spec(self) -> ToolSpec: ...

    @property
    def template(self) -> ResultTemplate: ...

    def refusal(self, arguments: Mapping[str, JsonValue]) -> ToolResult | None:
        """The result of status `invalid` that a call with these arguments would give; None where they fit, and where
        only calling can tell. Nothing is run by it."""
        ...

    async def call(self, arguments: Mapping[str, JsonValue]) -> ToolResult: ...

    async def close(self) -> None: ...


# Tools whose arguments are a pydantic model: the schema that a model sees and the check of its calls are one thing.


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
        template: ResultTemplate = PLAIN,
        close: Callable[[], Awaitable[None]] = _nothing_to_close,
    ) -> None:
        self._arguments = arguments
        self._run = run
        self._close = close
        self.template = template
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
