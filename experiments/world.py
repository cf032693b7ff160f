"""What the tools of all trials stand on: the sandbox and the search, the same for every condition."""

import platform
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

from toolablate.benchmarks import BUILTIN_CORPUS
from toolablate.experiments.plan import Plan, SandboxSection, SearchSection, file_digest
from toolablate.sandbox import BACKENDS, Availability, Limits, Sandbox, open_sandbox
from toolablate.sandbox.process import ENVIRONMENT
from toolablate.tools import CorpusSearch, DdgsSearch, SearchProvider, resources_needed, tool_sources
from toolablate.traces.errors import InputError, SandboxError
from toolablate.traces.records import Condition, Environment
from toolablate.traces.store import Store

UNPROTECTED = "none"

# Whatever can change what a trial gives; recorded in every trace.
RECORDED_PACKAGES = (
    "toolablate",
    "langgraph",
    "openai",
    "httpx2",
    "jupyter-client",
    "ipykernel",
    "ddgs",
    "primp",
    "trafilatura",
)


def needed(conditions: Sequence[Condition]) -> frozenset[str]:
    """What the conditions' tools stand on, of `sandbox` and `search`. Raises InputError for a tool that is unknown."""
    return frozenset[str]().union(*(resources_needed(condition.tools) for condition in conditions))


def world_of(plan: Plan, conditions: Sequence[Condition]) -> dict[str, str]:
    """What the trials stand on, by name. Raises InputError for a tool, search or corpus that cannot be had."""
    parts = needed(conditions)
    world = {
        f"tool {name}": digest for condition in conditions for name, digest in tool_sources(condition.tools).items()
    }
    if "sandbox" in parts:
        world["sandbox"] = _sandbox_name(plan.sandbox)
    if "search" in parts:
        world["search"] = _search_name(plan)
    return world


def _sandbox_name(section: SandboxSection) -> str:
    """The backend, with the limits that differ from the defaults, since they can change what code gives."""
    usual = asdict(Limits())
    changed = [f"{name}={value}" for name, value in asdict(section.limits).items() if value != usual[name]]
    return f"{section.backend} ({', '.join(changed)})" if changed else str(section.backend)


def finished_trials(store: Path) -> frozenset[str]:
    """Ids of the trials that are done; none where there is no store yet. Raises StoreError where it is none."""
    if not store.exists():
        return frozenset()
    with Store(store) as opened:
        return opened.finished_trials()


def require_same_world(store: Path, world: dict[str, str]) -> None:
    """Refuses to add trials to a store whose trials ran in another world: they could not be compared.

    Raises InputError; StoreError where the file is no store.
    """
    if not finished_trials(store):
        return
    with Store(store) as opened:
        earlier = {part: value for run in opened.runs() for part, value in run.world.items()}
    for part in sorted(world.keys() & earlier.keys()):
        if world[part] != earlier[part]:
            raise InputError(
                f"the trials in {store} ran with {part} = {earlier[part]!r}; this plan says {world[part]!r}",
                hint="trials of different worlds cannot be compared: name another store (--store), or change it back",
                code="other_world",
            )


def open_search(plan: Plan, conditions: Sequence[Condition]) -> SearchProvider | None:
    """The plan's search, if a condition needs one. Raises InputError, for a corpus with the line that is wrong."""
    if "search" not in needed(conditions):
        return None
    section = _search_section(plan)
    if section.provider == "ddgs":
        return DdgsSearch(section.backend)
    return CorpusSearch.from_file(_corpus(section))


@dataclass(frozen=True, slots=True)
class TriedSandbox:
    """A sandbox that works, with what trying it has shown."""

    sandbox: Sandbox
    availability: Availability


async def open_tried_sandbox(plan: Plan, conditions: Sequence[Condition], stack: AsyncExitStack) -> TriedSandbox | None:
    """Opens the plan's backend, if a condition needs one, and tries it before anything is spent on models.

    Raises SandboxError where it does not work; there is no falling back to another one.
    """
    if "sandbox" not in needed(conditions):
        return None
    sandbox = open_sandbox(plan.sandbox.backend, plan.sandbox.limits, pool=plan.sandbox.pool)
    stack.push_async_callback(sandbox.close)
    availability = await sandbox.check()
    if not availability.works:
        raise SandboxError(
            f"the sandbox {plan.sandbox.backend!r} does not work here: {availability.detail}",
            hint=f"to mend it: {availability.remedy or 'see toolablate doctor'}\n  {await _others(sandbox)}"
            '\n  Code that models write is not run unprotected unless the plan says so: sandbox = "none"',
            code="no_sandbox",
        )
    return TriedSandbox(sandbox, availability)


async def try_backend(backend: str, limits: Limits) -> Availability:
    """Starts a kernel in a backend, and leaves nothing behind."""
    sandbox = open_sandbox(backend, limits)
    try:
        return await sandbox.check()
    finally:
        await sandbox.close()


async def _others(failed: Sandbox) -> str:
    protecting = [name for name in BACKENDS if name not in (failed.name, UNPROTECTED)]
    working = [f'sandbox = "{name}"' for name in protecting if (await try_backend(name, failed.limits)).works]
    if working:
        return f"What works here, if the plan says so: {' or '.join(working)}"
    if failed.limits != Limits() and (await try_backend(failed.name, Limits())).works:
        return f"With the usual limits {failed.name} works here: look at sandbox.limits in the plan"
    return "No other backend works here"


def environment(tried: TriedSandbox | None, world: Mapping[str, str]) -> Environment:
    shared = Environment(
        versions={"python": platform.python_version()} | {name: version(name) for name in RECORDED_PACKAGES},
        search=world.get("search", ""),
    )
    if tried is None:
        return shared
    return shared.model_copy(
        update={
            "sandbox": tried.sandbox.name,
            "sandbox_limits": asdict(tried.sandbox.limits),
            "kernel_versions": dict(tried.availability.versions),
            # Folders are no matter of results, and each backend has its own.
            "kernel_environment": {name: value for name, value in ENVIRONMENT.items() if not value.startswith("/")},
        }
    )


def _search_section(plan: Plan) -> SearchSection:
    if plan.search is None:
        raise InputError(
            "a condition uses search, and the plan has no table [search]",
            hint='provider = "ddgs" searches live; provider = "corpus", corpus = "documents.jsonl" offline',
            code="no_search",
        )
    return plan.search


def _corpus(section: SearchSection) -> Path:
    return BUILTIN_CORPUS if section.corpus == "builtin" else Path(section.corpus)


def _search_name(plan: Plan) -> str:
    section = _search_section(plan)
    if section.provider == "ddgs":
        return f"ddgs/{section.backend}"
    name = "builtin" if section.corpus == "builtin" else "corpus"
    return f"{name}/{file_digest(_corpus(section), 'search.corpus')[:12]}"
