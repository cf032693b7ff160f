"""Finds out what works on this machine, by trying it."""

import asyncio
import importlib
import os
import platform
import socket
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from toolablate.agents import connect, read_api_key
from toolablate.experiments.plan import Plan
from toolablate.experiments.question_files import refuse_too_large
from toolablate.experiments.scoring import Scorers
from toolablate.experiments.trials import design
from toolablate.experiments.world import UNPROTECTED, needed, open_search, require_same_world, try_backend, world_of
from toolablate.sandbox import BACKENDS, Limits
from toolablate.sandbox.cgroups import NoCgroups, find_cgroups, look_for_cgroups
from toolablate.traces.errors import InputError, ToolablateError
from toolablate.traces.records import OpenAIModel

State = Literal["ok", "missing", "warning"]

PACKAGES = (
    "toolablate", "langgraph", "openai", "jupyter-client", "ipykernel", "docker", "ddgs", "trafilatura", "pydantic",
)  # fmt: skip
KERNEL_PACKAGES = ("numpy", "scipy", "pandas", "sympy", "matplotlib")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at; `remedy` is the command or step that mends it."""

    topic: str
    name: str
    state: State
    detail: str
    remedy: str = ""


def examine(plan: Plan | None = None) -> list[Finding]:
    """Looks at the machine; with a plan, at what that plan needs as well. Starts a kernel in each backend."""
    # Cgroups first: where this process has to move to make some, it may not have started others yet.
    return [
        *_python(),
        *_cgroups(),
        *asyncio.run(_backends(plan.sandbox.limits if plan else Limits())),
        *_packages(),
        *_keys(plan),
        *_plan(plan),
    ]


def fit_to_run(findings: list[Finding], plan: Plan | None = None) -> bool:
    """Whether nothing needed is missing: some isolated backend (the plan's, if there is one) and the plan's keys."""
    backends = {finding.name: finding.state for finding in findings if finding.topic == "sandbox"}
    if plan is None:
        held = "ok" in backends.values()
    else:
        held = backends[plan.sandbox.backend] != "missing" or not _runs_code(plan)
    return held and not any(finding.state == "missing" for finding in findings if finding.topic != "sandbox")


def _runs_code(plan: Plan) -> bool:
    try:
        return "sandbox" in needed(plan.resolved_conditions())
    except ToolablateError:
        # Told of as a finding of its own.
        return False


def _python() -> Iterator[Finding]:
    supported = sys.version_info >= (3, 11)
    yield Finding(
        "system",
        "Python",
        "ok" if supported else "missing",
        f"{platform.python_version()} on {platform.system()} {platform.release()}",
        "" if supported else "install Python 3.11 or newer",
    )


def _cgroups() -> Iterator[Finding]:
    """What bounds the memory of a kernel's processes together."""
    held = find_cgroups()
    if held is not None:
        limited = ", ".join(sorted(held.controllers))
        yield Finding("system", "cgroups", "ok", f"version {held.version} limits {limited} of each kernel")
        return
    found = look_for_cgroups()
    if isinstance(found, NoCgroups):
        detail = f"none for kernels ({found.reason}); their memory is limited by rlimits and a watch"
        yield Finding("system", "cgroups", "warning", detail, found.remedy)
    else:
        found.close()


async def _backends(limits: Limits) -> list[Finding]:
    findings = []
    for name in BACKENDS:
        availability = await try_backend(name, limits)
        state: State = "missing" if not availability.works else "warning" if name == UNPROTECTED else "ok"
        findings.append(Finding("sandbox", name, state, availability.detail, availability.remedy))
    return findings


def _packages() -> Iterator[Finding]:
    for name in PACKAGES:
        try:
            importlib.import_module(name.replace("-", "_"))
            yield Finding("package", name, "ok", version(name))
        except ImportError as error:
            yield Finding(
                "package", name, "missing", f"{version(name)} cannot be imported: {error}", f"pip install -U {name}"
            )
    for name in KERNEL_PACKAGES:
        try:
            yield Finding("package", name, "ok", f"{version(name)}, usable in kernels")
        except PackageNotFoundError:
            yield Finding(
                "package", name, "warning", "not installed, so kernels lack it", "pip install 'toolablate[kernel]'"
            )


def _keys(plan: Plan | None) -> Iterator[Finding]:
    """Says only whether a key is set and can be sent; its value goes nowhere."""
    if plan is None:
        held = bool(os.environ.get("OPENAI_API_KEY", "").strip())
        detail = "set" if held else "not set: OpenAI itself asks for it; for another endpoint, a plan names a variable"
        yield Finding("key", "OPENAI_API_KEY", "ok" if held else "warning", detail)
        return
    wanted = [model for model in plan.models if isinstance(model, OpenAIModel) and model.key_variable]
    for name in sorted({model.key_variable for model in wanted}):
        users = [model for model in wanted if model.key_variable == name]
        try:
            read_api_key(users[0])
        except InputError as error:
            yield Finding("key", name, "missing", error.message, error.hint)
        else:
            yield Finding("key", name, "ok", f"set, for {', '.join(model.name for model in users)}")


def _plan(plan: Plan | None) -> Iterator[Finding]:
    """Whether what the plan names is there: questions, tools, search, and something that listens at each endpoint."""
    if plan is None:
        return
    looks = (("questions", _look_at_questions), ("tools", _look_at_tools), ("models", _look_at_models))
    for topic, look in looks:
        try:
            yield Finding("plan", topic, "ok", look(plan))
        except ToolablateError as error:
            yield Finding("plan", topic, "missing", error.message, error.hint)
    for endpoint in sorted({model.endpoint for model in plan.models if isinstance(model, OpenAIModel)}):
        yield _endpoint(endpoint)


def _look_at_questions(plan: Plan) -> str:
    found = design(plan)
    Scorers(plan.questions).names(found.questions)
    refuse_too_large(plan, found)
    return f"{len(found.questions)} questions, {len(found.trials)} trials"


def _look_at_tools(plan: Plan) -> str:
    conditions = plan.resolved_conditions()
    open_search(plan, conditions)
    require_same_world(Path(plan.store), world_of(plan, conditions))
    return f"those of {len(conditions)} conditions can be had"


def _look_at_models(plan: Plan) -> str:
    async def connect_all() -> None:
        for model in plan.models:
            await (connect(model)).close()

    asyncio.run(connect_all())
    return f"{len(plan.models)} can be set up"


def _endpoint(endpoint: str) -> Finding:
    """Whether something listens there; no request is sent, since that may cost money."""
    parts = urlsplit(endpoint)
    try:
        port = parts.port or (443 if parts.scheme == "https" else 80)
        with socket.create_connection((parts.hostname or "", port), timeout=5):
            return Finding("plan", endpoint, "ok", "something listens there (no request was sent)")
    except (OSError, ValueError) as error:
        return Finding("plan", endpoint, "missing", f"nothing answers: {error}", "start the server, or mend `endpoint`")
