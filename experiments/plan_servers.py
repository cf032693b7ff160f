"""Servers of tools that installed packages name, for plans that have no table of them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points

from pydantic import ValidationError

from toolablate.experiments.conditions.own import loaded
from toolablate.experiments.plan_errors import explain
from toolablate.experiments.plan_web import McpSection
from toolablate.traces.errors import InputError
from toolablate.traces.records import Condition

ENTRY_POINTS = "toolablate.mcp"
"""The entry point group in which a package names servers; each is a mapping with the keys of a plan's `[[mcp]]`."""

_MCP = "mcp:"


@lru_cache
def registered_servers() -> dict[str, EntryPoint]:
    """The servers that installed packages name."""
    return {point.name: point for point in entry_points(group=ENTRY_POINTS)}


def with_registered(servers: Sequence[McpSection], conditions: Iterable[Condition]) -> tuple[McpSection, ...]:
    """The plan's own, and those that its conditions name besides and a package has. Raises InputError."""
    there = {section.name for section in servers}
    wanted = (name for name in _named(conditions) if name not in there and name in registered_servers())
    return (*servers, *map(_registered, dict.fromkeys(wanted)))


def _named(conditions: Iterable[Condition]) -> Iterator[str]:
    for condition in conditions:
        for use in condition.tools:
            if use.name.startswith(_MCP):
                yield use.name.removeprefix(_MCP).partition("/")[0]


def _registered(name: str) -> McpSection:
    point = registered_servers()[name]
    key = f"mcp: {name!r}, which a package names"
    found = loaded(point.value, key)
    if not isinstance(found, Mapping):
        raise InputError(
            f"{key}, is no mapping but a {type(found).__name__}",
            hint=f"the entry point of the group {ENTRY_POINTS} is a mapping with the keys of a plan's [[mcp]]",
            code="bad_server",
        )
    try:
        return McpSection.model_validate({"name": name, **found})
    except ValidationError as error:
        raise InputError(f"{key}: {explain(error, McpSection)}", code="bad_server") from None
