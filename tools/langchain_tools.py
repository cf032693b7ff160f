"""Tools of LangChain as tools of a condition: a `BaseTool` of any package, as an object or as a class.

Imported where a plan names one, so that LangChain is imported already.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from langchain_core.tools import BaseTool, create_schema_from_function
from langchain_core.utils.function_calling import convert_to_openai_tool
from langsmith.run_helpers import tracing_context
from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError, create_model
from pydantic_core import to_jsonable_python

from toolablate.tools.function import STRICT, FunctionTool, by_parameter, call_function, is_sendable
from toolablate.tools.text import one_line
from toolablate.tools.tool import PLAIN, ResultTemplate, ToolResult, TypedTool
from toolablate.traces.errors import InputError
from toolablate.traces.records import secret_in

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

# What every tool of LangChain has, and a plan has no business with.
_OF_ALL = frozenset(BaseTool.model_fields) - {"description", "return_direct"}


@dataclass(frozen=True, slots=True)
class LangChainTool(FunctionTool[..., object]):
    """`function` is what a digest of its source is taken of: the class; `made` an object, None where the plan's options
    make one."""

    made: BaseTool | None = None

    def open(self, options: BaseModel) -> TypedTool[BaseModel]:
        """Raises InputError where no object can be made with these options."""
        made = self.made or _made(self.function, by_parameter(options))  # type: ignore[arg-type]

        async def answer(**given: Any) -> object:
            # A LANGSMITH_TRACING left over from another project must not send calls to a third party.
            with tracing_context(enabled=False):
                return _told(await made.ainvoke(to_jsonable_python(given), {"callbacks": []}))

        async def run(arguments: BaseModel) -> ToolResult:
            return await call_function(answer, by_parameter(arguments), self.nothing)

        template = ResultTemplate(nothing=lambda _: self.nothing, finding=PLAIN.finding)
        return TypedTool(
            self.name, self.description, self.arguments, run, parameters=self.parameters, template=template
        )


def is_langchain_tool(loaded: object) -> bool:
    return isinstance(loaded, BaseTool) or (isinstance(loaded, type) and issubclass(loaded, BaseTool))


def langchain_tool(loaded: Any, named: str) -> LangChainTool:
    """The tool in an object or class that a plan names. Raises InputError where it has not all that a model is told."""
    kind: type[BaseTool] = loaded if isinstance(loaded, type) else type(loaded)
    made = None if isinstance(loaded, type) else loaded
    name, description = (_told_of(loaded, part, named) for part in ("name", "description"))
    if not is_sendable(name):
        raise InputError(
            f"tools: {named!r}: {name!r} cannot be the name of a tool: letters, digits, _ and - only", code="bad_tool"
        )
    schema = _schema(loaded, name)
    return LangChainTool(
        function=kind,
        name=name,
        description=description,
        arguments=_arguments(schema, name),
        options=_options(kind) if made is None else create_model(f"{name}_options", __config__=STRICT),
        parameters=_parameters(schema),
        made=made,
    )


def _told_of(loaded: Any, part: str, named: str) -> str:
    of_class = isinstance(loaded, type) and issubclass(loaded, BaseTool)
    told = loaded.model_fields[part].default if of_class else getattr(loaded, part)
    if not isinstance(told, str) or not told.strip():
        raise InputError(
            f"tools: {named!r} has no {part} of its own",
            hint="name an object of it in a module beside the plan, as in my_tools.py: search = TheTool(...)",
            code="bad_tool",
        )
    return told


def _schema(loaded: Any, name: str) -> Any:
    """What it takes: a class of pydantic, or a JSON schema."""
    if isinstance(loaded, BaseTool):
        return loaded.tool_call_schema
    given = loaded.model_fields["args_schema"].default
    return given if given is not None else create_schema_from_function(name, loaded._run)


def _arguments(schema: Any, name: str) -> type[BaseModel]:
    if isinstance(schema, Mapping):
        required = schema.get("required", ())
        fields: dict[str, Any] = {
            f"parameter_{index}": (Any, Field(... if key in required else None, alias=key))
            for index, key in enumerate(schema.get("properties", {}))
        }
        return create_model(f"{name}_arguments", __config__=STRICT, **fields)
    fields = {
        f"parameter_{index}": _field(key, field) for index, (key, field) in enumerate(schema.model_fields.items())
    }
    # Not strict, as in LangChain, whose tools are written for that.
    return create_model(f"{name}_arguments", __config__=ConfigDict(frozen=True, extra="forbid"), **fields)


def _field(key: str, field: "FieldInfo") -> tuple[Any, Any]:
    default = ... if field.is_required() else field.get_default(call_default_factory=True)
    return field.rebuild_annotation(), Field(default, alias=field.alias or key)


def _parameters(schema: Any) -> dict[str, JsonValue]:
    if isinstance(schema, Mapping):
        return dict(schema)
    told = convert_to_openai_tool(schema)["function"]
    parameters: dict[str, JsonValue] = told.get("parameters", {"type": "object", "properties": {}})
    return parameters


def _options(kind: type[BaseTool]) -> type[BaseModel]:
    """The fields of the class that are its own, of any JSON: pydantic checks them when an object is made."""
    own = [key for key in kind.model_fields if key not in _OF_ALL]
    fields: dict[str, Any] = {
        f"parameter_{index}": (JsonValue, Field(None, alias=key)) for index, key in enumerate(own)
    }
    return create_model(f"{kind.__name__}_options", __config__=STRICT, **fields)


def _made(kind: type[BaseTool], options: dict[str, Any]) -> BaseTool:
    """An object of the class. What it needs and is a class of pydantic itself, as the wrappers of APIs are, is made of
    nothing where the plan gives nothing."""
    if secret := secret_in(options, "options"):
        raise InputError(
            f"tools: {kind.__name__}: {secret} looks like a secret, which would be stored",
            hint="leave it out where the class reads an environment variable, or name an object of it in a module",
            code="bad_option",
        )
    fields = kind.model_fields.items()
    needed: dict[str, Any] = {key: {} for key, field in fields if field.is_required() and _is_model(field.annotation)}
    try:
        return kind(**{**needed, **options})
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, found["loc"]))
        raise _not_made(kind, f"{where}: {found['msg']}" if where else found["msg"]) from None
    except Exception as error:  # noqa: BLE001 - the class is anybody's
        raise _not_made(kind, f"{type(error).__name__}: {error}") from None


def _is_model(annotation: object) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def _not_made(kind: type[BaseTool], why: str) -> InputError:
    return InputError(
        f"tools: no {kind.__name__} can be made: {one_line(why, 300)}",
        hint="give what it needs as options, or name an object of it in a module beside the plan",
        code="bad_tool",
    )


def _told(value: Any) -> object:
    """The text of a list of content blocks; anything else as it is."""
    if isinstance(value, list) and value and all(isinstance(block, dict) and "text" in block for block in value):
        return "\n".join(str(block["text"]) for block in value)
    return value
