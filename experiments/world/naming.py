"""Names for the web that trials stand on: what they see of it must be the same for all that are compared."""

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from toolablate.experiments.plans.plan import Plan
from toolablate.experiments.plans.web import WebSection
from toolablate.experiments.world.web import (
    asks_the_web,
    corpus_path,
    offline,
    open_plan_archive,
    provider_options,
    search_section,
    server_address,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import JsonValue

GUARDED = frozenset({"blocked_hosts", "block_leaks"})
"""Keys of `[web]` that hold for documents of the user's own as well."""


def web_world(plan: Plan, parts: frozenset[str]) -> dict[str, str]:
    """What `parts` (of `search`, `pages`, `mcp`) stand on. Raises InputError for what cannot be had."""
    world = {}
    if "search" in parts or (offline(plan) and "pages" in parts):
        world["search"] = _search_name(plan)
    if parts & {"search", "pages", "mcp"}:
        world["web"] = _web_name(plan, parts)
    if "mcp" in parts:
        world |= {f"mcp {section.name}": server_address(section).identity[:12] for section in plan.mcp}
    return world


def _search_name(plan: Plan) -> str:
    section = search_section(plan)
    if section.provider == "corpus":
        from toolablate.tools.corpus import corpus_digest

        name = "builtin" if section.corpus == "builtin" else "corpus"
        return f"{name}/{corpus_digest(corpus_path(section))[:12]}"
    from toolablate.tools.search import provider_identity

    name, parameters = provider_identity(**provider_options(plan))
    return f"{name}{_listed(parameters)}"


def _listed(parameters: "Mapping[str, JsonValue]") -> str:
    return f" ({', '.join(f'{key}={value}' for key, value in sorted(parameters.items()))})" if parameters else ""


def _web_name(plan: Plan, parts: frozenset[str]) -> str:
    """The mode with the archive, and whatever else decides what a model can see of the web."""
    details = _changed(plan.web)
    if not asks_the_web(plan, parts):
        return f"documents{_listed({name: details[name] for name in GUARDED & details.keys()})}"
    with ExitStack() as stack:
        archive = open_plan_archive(plan, parts, stack) if plan.web.mode == "replay" else None
        if archive is not None:
            return f"replay {archive.root}{_listed(details)}"
    if "pages" in parts and not offline(plan):
        from toolablate.tools.extraction import ExtractionWorker

        details["extractor"] = ExtractionWorker().identity
    name = f"record {Path(plan.web.archive).name}" if plan.web.mode == "record" else "live"
    return f"{name}{_listed(details)}"


def _changed(web: WebSection) -> "dict[str, JsonValue]":
    """What differs from the defaults, apart from what only paces requests."""
    written = web.model_dump(mode="json", exclude_defaults=True, exclude={"mode", "archive", "delay_seconds"})
    if web.mode == "replay":
        written.pop("robots", None)
    return {
        name: "+".join(sorted(map(str, value))) if isinstance(value, list) else value for name, value in written.items()
    }
