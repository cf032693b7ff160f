"""What the tools of all trials stand on (the sandbox, the web, questions' files), the same for every condition."""

import asyncio
import platform
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import asdict, dataclass, replace
from difflib import get_close_matches
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

from toolablate.benchmarks.prompt import not_in_part
from toolablate.benchmarks.question_files import read_content
from toolablate.experiments.environment.placebo_sources import placebo_fingerprint
from toolablate.experiments.environment.replies import replies_fingerprint
from toolablate.experiments.environment.web import web_fingerprint
from toolablate.experiments.plans.plan import Design, Plan, SandboxSection
from toolablate.sandbox import BACKENDS, Availability, Limits, Sandbox, WorkFile, open_sandbox
from toolablate.sandbox.cgroups import NoCgroups, find_cgroups, look_for_cgroups
from toolablate.sandbox.process import ENVIRONMENT
from toolablate.tools import (
    FileSource,
    intervention_sources,
    mcp_servers_needed,
    open_interventions,
    resources_needed,
    tool_sources,
)
from toolablate.tools.text import one_line
from toolablate.traces.errors import InputError, SandboxError, StoreError
from toolablate.traces.records import Condition, Environment, Question
from toolablate.traces.store import Store

if TYPE_CHECKING:
    from toolablate.tools.corpus import QuestionDocuments

UNPROTECTED = "none"

# Whatever can change what a trial gives; recorded in every trace.
RECORDED_PACKAGES = (
    "toolablate",
    "langgraph",
    "httpx2",
    "jupyter-client",
    "ipykernel",
    "ddgs",
    "primp",
    "trafilatura",
    "resiliparse",
    "lxml",
    "pypdfium2",
    "tantivy",
    "google-re2",
    "ada-url",
    "mcp",
)


def needed(conditions: Sequence[Condition]) -> frozenset[str]:
    """What the conditions' tools stand on, of `sandbox`, `search`, `pages`, `mcp` and `documents`.

    Raises InputError for a tool that is unknown.
    """
    return frozenset[str]().union(*(resources_needed(condition.tools) for condition in conditions))


def servers_needed(conditions: Sequence[Condition]) -> tuple[str, ...]:
    """Names of the MCP servers whose tools the conditions use. Raises InputError as `needed` does."""
    return tuple(dict.fromkeys(name for condition in conditions for name in mcp_servers_needed(condition.tools)))


def fingerprint_of(plan: Plan, conditions: Sequence[Condition]) -> dict[str, str]:
    """The fingerprint of the trials' environment: what they depend on, by name.

    Raises InputError for a tool, an intervention, a server, a search, a corpus, an archive or sources that cannot be
    had.
    """
    # Before anything else looks at the user's own code, which may have been edited since it was last imported.
    fingerprint = {
        f"tool {name}": digest for condition in conditions for name, digest in tool_sources(condition.tools).items()
    }
    for condition in conditions:
        sources = intervention_sources(condition.interventions)
        fingerprint |= {f"intervention {name}": digest for name, digest in sources.items()}
        open_interventions(condition.interventions)
    parts = needed(conditions)
    _require_servers(plan, conditions)
    if "sandbox" in parts:
        fingerprint["sandbox"] = _sandbox_name(plan.sandbox)
    if "documents" in parts:
        from toolablate.tools.corpus.question_documents import FINGERPRINT

        fingerprint["documents"] = FINGERPRINT
    return (
        fingerprint | web_fingerprint(plan, parts) | replies_fingerprint(plan) | placebo_fingerprint(plan, conditions)
    )


def _require_servers(plan: Plan, conditions: Sequence[Condition]) -> None:
    there = [section.name for section in plan.mcp]
    for condition in conditions:
        absent = next((name for name in mcp_servers_needed(condition.tools) if name not in there), None)
        if absent is not None:
            near = get_close_matches(absent, there, n=1)
            meant = f"did you mean {f'mcp:{near[0]}'!r}? " if near else ""
            raise InputError(
                f"conditions: {condition.name!r}: mcp names no server {one_line(absent, 80)!r}",
                hint=f'{meant}put into the plan a table [[mcp]] with name = "{one_line(absent, 80)}"',
                code="missing_resource",
            )


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


def require_same_environment(store: Path, fingerprint: dict[str, str]) -> None:
    """Refuses, before anything is opened for writing, what `Recorder.plan` would refuse.

    Raises InputError; StoreError where the file is no store.
    """
    if opened := _opened(store):
        with opened:
            opened.require_same_environment(fingerprint)


def require_store_or_none(store: Path) -> None:
    """Raises StoreError where there is a file that is no store, before anything else is looked at."""
    if opened := _opened(store):
        opened.close()


def _opened(store: Path) -> Store | None:
    if not store.exists():
        return None
    try:
        return Store(store)
    except StoreError as error:
        if error.code == "not_a_store":
            error.hint = f"{error.hint.removesuffix('.')}, or a new file."
        raise


_ROUGHLY = (
    "no cgroups for kernels: their memory is limited by rlimits and a watch, which a burst can exceed for a moment, "
    "and one that starts many sessions takes processors from others"
)


@dataclass(frozen=True, slots=True)
class TriedSandbox:
    """A sandbox that works, with what trying it has shown."""

    sandbox: Sandbox
    availability: Availability


def open_untried_sandbox(plan: Plan, conditions: Sequence[Condition], stack: AsyncExitStack) -> Sandbox | None:
    """The plan's backend, if a condition needs one. Nothing is started before its first kernel."""
    if "sandbox" not in needed(conditions):
        return None
    sandbox = open_sandbox(plan.sandbox.backend, plan.sandbox.limits, pool=plan.sandbox.pool)
    stack.push_async_callback(sandbox.close)
    return sandbox


async def open_tried_sandbox(plan: Plan, conditions: Sequence[Condition], stack: AsyncExitStack) -> TriedSandbox | None:
    """Opens the plan's backend, if a condition needs one, and tries it before anything is spent on models.

    Raises SandboxError where it does not work; there is no falling back to another one.
    """
    sandbox = open_untried_sandbox(plan, conditions, stack)
    if sandbox is None:
        return None
    availability = await sandbox.check()
    if not availability.works:
        raise SandboxError(
            f"the sandbox {plan.sandbox.backend!r} does not work here: {availability.detail}",
            hint=f"{availability.remedy or 'see toolablate doctor'}\n  {await _others(sandbox)}"
            '\n  Code that models write is not run unprotected unless the plan says so: sandbox = "none"',
            code="no_sandbox",
        )
    return TriedSandbox(sandbox, availability)


def unbounded(backend: str) -> NoCgroups | None:
    """What of its kernels is bounded roughly only, since there are no cgroups here; None where nothing is."""
    if backend not in ("forkserver", "bubblewrap") or find_cgroups() is not None:
        return None
    found = look_for_cgroups()
    if isinstance(found, NoCgroups):
        return replace(found, reason=f"{_ROUGHLY} ({found.reason})")
    found.close()
    return None


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


def recorded_environment(tried: TriedSandbox | None, fingerprint: Mapping[str, str]) -> Environment:
    shared = Environment(
        versions=recorded_versions(),
        search="; ".join(fingerprint[part] for part in ("search", "web") if part in fingerprint),
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


def recorded_versions() -> dict[str, str]:
    """Python's, and those of the packages that are there; some are extras."""
    found = {"python": platform.python_version()}
    for name in RECORDED_PACKAGES:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


# From the files that a question brings to those that its kernels find.


_MB = 1_000_000


def refuse_too_large(plan: Plan, planned: Design) -> None:
    """Raises InputError for a question whose files do not fit a kernel's work folder, if a condition has a kernel."""
    if "sandbox" not in needed(planned.conditions):
        return
    limits, as_files = plan.sandbox.limits, any("files" in each.documents for each in planned.conditions)
    for question in planned.questions:
        sizes = [file.size for file in question.files]
        sizes += [len(document.text.encode()) for document in question.documents if as_files]
        size, count = sum(sizes) / _MB, len(sizes)
        for key, found, allowed, told in (
            ("disk_mb", size, limits.disk_mb, f"have {size:g} MB"),
            ("files", count, limits.files, f"are {count}"),
        ):
            if found > allowed:
                raise InputError(
                    f"the files of question {question.id!r} {told}; sandbox.limits.{key} allows {allowed}",
                    hint=f"[sandbox] limits = {{ {key} = ... }}, with room for what the code will write",
                    code="files_too_large",
                )


def refuse_without_documents(planned: Design) -> None:
    """Raises InputError for a question without documents, if a condition is about them."""
    for condition in planned.conditions:
        if not condition.documents and "documents" not in resources_needed(condition.tools):
            continue
        if lacking := [question for question in planned.questions if not question.documents]:
            first = one_line(lacking[0].id, 80)
            raise InputError(
                f"questions.file: {len(lacking)} of {len(planned.questions)} questions have no documents, which the"
                f" condition {condition.name!r} is about; the first is {first!r}",
                hint='give each a list: "documents": ["report.txt"], paths beside the question file; or leave out the'
                " condition",
                code="no_documents",
            )


def left_out_of_parts(planned: Design) -> Iterator[str]:
    """Which questions have no trials under a condition that shows a part of each: counts and why. Raises InputError
    where that is all of them."""
    for condition in planned.conditions:
        why = Counter(filter(None, (not_in_part(question, condition.shown) for question in planned.questions)))
        if not why:
            continue
        said = ", ".join(f"{number:,} with {reason}" for reason, number in why.most_common())
        if why.total() == len(planned.questions):
            raise InputError(
                f"conditions: {one_line(condition.name, 80)!r} can show its part of no question: {said}",
                hint="leave the condition out, or give each question its choices as a list",
                code="partial_input",
            )
        of_all = f"{why.total():,} of {len(planned.questions):,} questions"
        yield f"{one_line(condition.name, 80)}: {of_all} left out: {said}"


def open_documents(conditions: Sequence[Condition], stack: AsyncExitStack) -> "QuestionDocuments | None":
    """Of all questions, each indexed when it is first searched; the stack closes it. None where no tool is for them."""
    if "documents" not in needed(conditions):
        return None
    from toolablate.tools.corpus import QuestionDocuments

    documents = QuestionDocuments()
    stack.callback(documents.close)
    return documents


def work_files(question: Question, folder: Path, condition: Condition) -> FileSource:
    """Reads the files of one question when a kernel of its is started, and its documents where the condition has them
    as files; raises InputError where files were changed."""
    documents = question.documents if "files" in condition.documents else ()

    async def read() -> Sequence[WorkFile]:
        files = await asyncio.to_thread(
            lambda: [WorkFile(file.name, read_content(file, folder)) for file in question.files]
        )
        return [*files, *(WorkFile(each.name, each.text.encode(), read_only=True) for each in documents)]

    return read
