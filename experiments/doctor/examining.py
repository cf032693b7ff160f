"""Finds out what works on this machine, by trying it."""

import asyncio
import importlib
import os
import platform
import sys
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from toolablate.agents import connect, read_api_key
from toolablate.experiments.doctor.finding import Finding, State
from toolablate.experiments.doctor.prices import price_findings
from toolablate.experiments.doctor.web import listening, web_findings
from toolablate.experiments.plans.plan import Plan
from toolablate.experiments.plans.trials import design
from toolablate.experiments.scoring.scoring import Scorers
from toolablate.experiments.world.question_files import refuse_too_large
from toolablate.experiments.world.replies import is_replayed
from toolablate.experiments.world.world import UNPROTECTED, needed, require_same_world, try_backend, unbounded, world_of
from toolablate.sandbox import BACKENDS, Limits
from toolablate.sandbox.cgroups import find_cgroups
from toolablate.traces.errors import InputError, ToolablateError
from toolablate.traces.installing import to_install
from toolablate.traces.records import Model, OpenAIModel, Question

PACKAGES = (
    "toolablate", "langgraph", "jupyter-client", "ipykernel", "docker", "pydantic", "ddgs", "httpx2",
    "trafilatura", "resiliparse", "pypdfium2", "tantivy", "fastwarc",
)  # fmt: skip
KERNEL_PACKAGES = ("numpy", "scipy", "pandas", "sympy", "matplotlib")


def examine(plan: Plan | None = None) -> list[Finding]:
    """Looks at the machine; with a plan, at what that plan needs as well. Starts a kernel in each backend."""
    # Cgroups first: where this process has to move to make some, it may not have started others yet.
    return [
        *_python(),
        *_cgroups(),
        *asyncio.run(_backends(plan.sandbox.limits if plan else Limits())),
        *_packages(),
        *(_client(plan) if plan and plan.mcp else ()),
        *_keys(plan),
        *_plan(plan),
        *(price_findings(plan) if plan else ()),
        *(web_findings(plan) if plan else ()),
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
    if (missing := unbounded("forkserver")) is not None:
        yield Finding("system", "cgroups", "warning", missing.reason, missing.remedy)


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
            yield Finding("package", name, "warning", "not installed, so kernels lack it", to_install("kernel"))


def _client(plan: Plan) -> Iterator[Finding]:
    """An extra, which only those need who ask servers of tools; what lacks it is told of each server as well."""
    try:
        importlib.import_module("mcp")
        yield Finding("package", "mcp", "ok", f"{version('mcp')}, asks servers of tools")
    except ImportError:
        replays = plan.web.mode == "replay"
        detail = (
            "not installed; a replay needs none" if replays else "not installed, so no server of tools can be asked"
        )
        yield Finding("package", "mcp", "warning", detail, to_install("mcp"))


def _keys(plan: Plan | None) -> Iterator[Finding]:
    """Says only whether a key is set and can be sent; its value goes nowhere."""
    if plan is None:
        held = bool(os.environ.get("OPENAI_API_KEY", "").strip())
        detail = "set" if held else "not set: OpenAI itself asks for it; for another endpoint, a plan names a variable"
        yield Finding("key", "OPENAI_API_KEY", "ok" if held else "warning", detail)
        return
    wanted = [model for model in _endpoints(plan) if model.key_variable]
    for name in sorted({model.key_variable for model in wanted}):
        users = [model for model in wanted if model.key_variable == name]
        try:
            read_api_key(users[0])
        except InputError as error:
            yield Finding("key", name, "missing", error.message, error.hint)
        else:
            yield Finding("key", name, "ok", f"set, for {', '.join(dict.fromkeys(model.name for model in users))}")


def _endpoints(plan: Plan) -> list[OpenAIModel]:
    """The models and judges that a run of the plan asks over the network."""
    named = (*plan.models, *plan.judges)
    return [model for model in named if isinstance(model, OpenAIModel) and not is_replayed(plan, model)]


def _plan(plan: Plan | None) -> Iterator[Finding]:
    """Whether what the plan names is there: questions, tools, search, and something that listens at each endpoint."""
    if plan is None:
        return
    looks = [("questions", _look_at_questions), ("tools", _look_at_tools), ("models", _look_at_models)]
    if plan.judges:
        looks.append(("judges", _look_at_judges))
    for topic, look in looks:
        try:
            yield Finding("plan", topic, "ok", look(plan))
        except ToolablateError as error:
            yield Finding("plan", topic, "missing", error.message, error.hint)
    for endpoint in sorted({model.endpoint for model in _endpoints(plan)}):
        yield listening(endpoint, "plan")


def _look_at_questions(plan: Plan) -> str:
    found = design(plan)
    asyncio.run(_try_scorers(plan, found.questions))
    refuse_too_large(plan, found)
    return f"{len(found.questions)} questions, {len(found.trials)} trials"


async def _try_scorers(plan: Plan, questions: Sequence[Question]) -> None:
    async with Scorers(plan) as scorers:
        scorers.names(questions)
        await scorers.open(questions)


def _look_at_tools(plan: Plan) -> str:
    conditions = plan.resolved_conditions()
    require_same_world(Path(plan.store), world_of(plan, conditions))
    return f"those of {len(conditions)} conditions can be had"


def _look_at_models(plan: Plan) -> str:
    return _connect_all(plan, plan.models)


def _look_at_judges(plan: Plan) -> str:
    return _connect_all(plan, plan.judges)


def _connect_all(plan: Plan, models: Sequence[Model]) -> str:
    async def connect_all() -> None:
        for model in models:
            if not is_replayed(plan, model):
                await (connect(model)).close()

    asyncio.run(connect_all())
    return f"{len(models)} can be set up"
