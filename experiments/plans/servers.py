"""Servers of tools that installed packages name, for plans that have no table of them.

Each is a mapping with the keys of a plan's `[[mcp]]`, named by an entry point of the group `toolablate.mcp`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from pydantic import ValidationError

from toolablate.experiments.plans.web import McpSection
from toolablate.tools.own import load_own, registered
from toolablate.traces.errors import InputError
from toolablate.traces.records import Condition
from toolablate.traces.validation import explain

_MCP = "mcp:"


def with_registered(servers: Sequence[McpSection], conditions: Iterable[Condition]) -> tuple[McpSection, ...]:
    """The plan's own, and those that its conditions name besides and a package has. Raises InputError."""
    there = {section.name for section in servers}
    wanted = (name for name in _named(conditions) if name not in there and name in registered("mcp"))
    return (*servers, *map(_registered, dict.fromkeys(wanted)))


def _named(conditions: Iterable[Condition]) -> Iterator[str]:
    for condition in conditions:
        for use in condition.tools:
            if use.name.startswith(_MCP):
                yield use.name.removeprefix(_MCP).partition("/")[0]


def _registered(name: str) -> McpSection:
    key = f"mcp: {name!r}, which a package names"
    found = load_own(name, "mcp")
    if not isinstance(found, Mapping):
        raise InputError(
            f"{key}, is no mapping but a {type(found).__name__}",
            hint="an entry point of the group toolablate.mcp is a mapping with the keys of a plan's [[mcp]]",
            code="bad_server",
        )
    try:
        return McpSection.model_validate({"name": name, **found})
    except ValidationError as error:
        raise InputError(f"{key}: {explain(error, McpSection)}", code="bad_server") from None
