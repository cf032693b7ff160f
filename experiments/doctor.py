"""Finds out what works on this machine, by trying it."""

import asyncio
import os
import platform
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Literal

from toolablate.experiments.plan import Plan
from toolablate.sandbox import BACKENDS, open_sandbox
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
    return [*_python(), *asyncio.run(_backends()), *_packages(), *_keys(plan)]


def fit_to_run(findings: list[Finding], plan: Plan | None = None) -> bool:
    """Whether nothing needed is missing: some isolated backend (the plan's, if there is one) and the plan's keys."""
    backends = {finding.name: finding.state for finding in findings if finding.topic == "sandbox"}
    held = backends.get(plan.sandbox.backend) != "missing" if plan else "ok" in backends.values()
    return held and not any(finding.state == "missing" for finding in findings if finding.topic != "sandbox")


def _python() -> Iterator[Finding]:
    supported = sys.version_info >= (3, 11)
    yield Finding(
        "system",
        "Python",
        "ok" if supported else "missing",
        f"{platform.python_version()} on {platform.system()} {platform.release()}",
        "" if supported else "install Python 3.11 or newer",
    )


async def _backends() -> list[Finding]:
    findings = []
    for name in BACKENDS:
        sandbox = open_sandbox(name)
        try:
            availability = await sandbox.check()
        finally:
            await sandbox.close()
        state: State = "missing" if not availability.works else "warning" if name == "none" else "ok"
        findings.append(Finding("sandbox", name, state, availability.detail, availability.remedy))
    return findings


def _packages() -> Iterator[Finding]:
    for name in PACKAGES:
        yield Finding("package", name, "ok", version(name))
    for name in KERNEL_PACKAGES:
        try:
            yield Finding("package", name, "ok", f"{version(name)}, usable in kernels")
        except PackageNotFoundError:
            yield Finding(
                "package", name, "warning", "not installed, so kernels lack it", "pip install 'toolablate[kernel]'"
            )


def _keys(plan: Plan | None) -> Iterator[Finding]:
    """Says only whether a key is set; its value is never read into anything."""
    wanted = [model for model in plan.models if isinstance(model, OpenAIModel)] if plan else []
    for name in sorted({model.api_key_env for model in wanted} or {"OPENAI_API_KEY"}):
        users = ", ".join(model.name for model in wanted if model.api_key_env == name)
        if os.environ.get(name):
            yield Finding("key", name, "ok", f"set{f', for {users}' if users else ''}")
        else:
            need = f"not set; needed by {users}" if users else "not set; needed only for models that ask for a key"
            yield Finding("key", name, "warning", need, f"export {name}=...")
