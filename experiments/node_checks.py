"""What works on each node of a cluster, and what a plan needs of it, found out by trying it there."""

import asyncio
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack, suppress
from dataclasses import asdict, dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from toolablate.agents.spending import goes_in_batches
from toolablate.experiments.cluster.fleet import INSTALL_THERE
from toolablate.experiments.cluster.opening import KEYS_OF_NODES, PlanOpener, absolute, in_batches, questions_read
from toolablate.experiments.doctor import CheckResult, State, cgroup_findings, key_findings
from toolablate.experiments.environment.environment import (
    fingerprint_of,
    needed,
    recorded_versions,
)
from toolablate.experiments.environment.replies import asked_lines
from toolablate.experiments.environment.web import Tell
from toolablate.experiments.plans.plan import Plan, SandboxSection
from toolablate.experiments.plans.sections import ClusterSection
from toolablate.sandbox import KernelUnavailable, open_sandbox
from toolablate.tools.text import one_line
from toolablate.traces.errors import InputError, ToolablateError
from toolablate.traces.records import Environment

NODE_SECONDS = 120.0
"""Importing everything, starting kernels and hashing archives take long on a node that has done none of it yet."""

SHARED_MEMORY_MB = 200
_SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 - looked at, not written


@dataclass(frozen=True, slots=True)
class CheckedNode:
    """A node by its machine and address, and what was found there."""

    name: str
    findings: tuple[CheckResult, ...]

    @property
    def state(self) -> State:
        states = {finding.state for finding in self.findings}
        return "missing" if "missing" in states else "warning" if "warning" in states else "ok"

    @property
    def in_a_line(self) -> CheckResult:
        """What does not work or is to be noted, or else all of it."""
        state = self.state
        shown = [finding for finding in self.findings if finding.state == state or state == "ok"]
        told = "; ".join(f"{finding.name}: {finding.detail}" for finding in shown)
        remedy = "; ".join(dict.fromkeys(finding.remedy for finding in shown if finding.remedy))
        return CheckResult("node", self.name, state, told, remedy)


def fit_to_run(nodes: Sequence[CheckedNode]) -> bool:
    """Whether nothing is missing anywhere."""
    return all(node.state != "missing" for node in nodes)


def as_json(nodes: Sequence[CheckedNode]) -> str:
    told = [{"name": node.name, "state": node.state, "findings": list(map(asdict, node.findings))} for node in nodes]
    return json.dumps({"nodes": told}, indent=2)


def examine_nodes(plan: Plan, address: str, *, tell: Tell) -> list[CheckedNode]:
    """All at once; those without enough processors have no workers, and are not tried. "" is the plan's own address.
    Raises InputError for a plan that cannot be on a cluster, and for a cluster that cannot be had."""
    from toolablate.experiments.cluster.joining import too_few_cpus
    from toolablate.experiments.cluster.on_ray import try_each_node
    from toolablate.experiments.cluster.services import lent_to_be

    plan = plan.on_cluster(address or (plan.cluster.address if plan.cluster else "auto"))
    if plan.cluster is None:
        raise InputError("--cluster: 'none' has no nodes", hint="leave out --cluster", code="usage")
    conditions = plan.resolved_conditions()
    if any(goes_in_batches(model, condition) for model in plan.models for condition in conditions):
        raise in_batches()
    fingerprint = fingerprint_of(plan, conditions)
    lent = asyncio.run(lent_to_be(plan, conditions))
    read = questions_read(plan, conditions)
    opener = PlanOpener(plan, conditions, fingerprint, absolute(plan.file), lent, read=read)
    check = NodeCheck(opener, plan.cluster, versions())
    with ExitStack() as stack:
        said = try_each_node(plan.cluster, check, NODE_SECONDS, stack, tell)
    if not any(node.works for node in said):
        raise too_few_cpus(plan.cluster, [(node.name, node.cpus) for node in said])
    first: Environment | None = None
    checked = []
    for node in said:
        if not node.works:
            lacks = f"no worker is started there: it has {node.cpus:g} of {plan.cluster.cpus:g} CPUs (cluster.cpus)"
            checked.append(CheckedNode(node.name, (CheckResult("node", "processors", "ok", lacks),)))
        elif node.error:
            result = CheckResult("node", "worker", "missing", node.error, INSTALL_THERE)
            checked.append(CheckedNode(node.name, (result,)))
        else:
            findings, environment = node.found
            first = first or environment
            checked.append(CheckedNode(node.name, (*findings, *_unlike(first, environment))))
    return checked


def _unlike(first: Environment | None, environment: Environment | None) -> Iterator[CheckResult]:
    """As the driver leaves workers out: what kernels have, above all."""
    from toolablate.experiments.cluster.node import differing

    if first is not None and environment is not None and (told := differing(first, environment)):
        yield CheckResult("system", "first node", "missing", told, "install the same packages on each node")


def versions() -> dict[str, str]:
    """Of what the driver and the nodes have to have alike."""
    found = recorded_versions()
    with suppress(PackageNotFoundError):
        found["ray"] = version("ray")
    return found


@dataclass(frozen=True, slots=True)
class NodeCheck:
    """Is sent to each node, and called in a process as a worker has: with what Ray sets, and signals that it blocks.
    `versions` are those of the driver."""

    opener: PlanOpener
    section: ClusterSection
    versions: Mapping[str, str]

    async def __call__(self) -> tuple[list[CheckResult], Environment | None]:
        """With what trials would be recorded to run on, where they could."""
        findings = list(cgroup_findings())
        findings += [*_process(), *self._packages(), *_disks(self.opener.plan.sandbox, self.section.kernels)]
        opened, environment = await self._open()
        findings += opened
        # Now that the plan's `.env` is read. Judges are the driver's.
        keys = key_findings(self.opener.plan.model_copy(update={"judges": ()}))
        findings += [replace(key, remedy=KEYS_OF_NODES) if key.state == "missing" else key for key in keys]
        return findings, environment

    def _packages(self) -> Iterator[CheckResult]:
        there = versions()
        other = [
            f"{name} {there.get(name, 'not installed')} there, {self.versions.get(name, 'not installed')} at the driver"
            for name in sorted({**there, **self.versions})
            if there.get(name) != self.versions.get(name)
        ]
        if other:
            yield CheckResult("system", "versions", "missing", "; ".join(other), "install the same on each node")
        else:
            told = f"Python {there['python']}, Ray {there.get('ray')}, packages as at the driver"
            yield CheckResult("system", "versions", "ok", told)

    async def _open(self) -> tuple[list[CheckResult], Environment | None]:
        """As a worker opens, with lines in which nothing is asked."""
        plan, conditions = self.opener.plan, self.opener.conditions
        try:
            async with AsyncExitStack() as stack:
                environment = (await self.opener.open(stack, asked_lines(plan))).environment
        except ToolablateError as error:
            if error.code in ("missing_key", "bad_key"):
                # Told of with the others' keys.
                return [], None
            name = "sandbox" if error.code == "no_sandbox" else "environment"
            return [CheckResult("node", name, "missing", error.message, error.hint)], None
        except Exception as error:  # noqa: BLE001 - of users' own code, on a machine that they do not look at
            told = f"{type(error).__name__}: {one_line(str(error), 200)}"
            return [CheckResult("node", "environment", "missing", told)], None
        findings = [CheckResult("node", "environment", "ok", "as at the driver")]
        if "sandbox" in needed(conditions):
            findings.append(await _interrupted(plan.sandbox))
        return findings, environment


async def _interrupted(section: SandboxSection) -> CheckResult:
    """Whether a cell over its limit ends with its kernel's state kept, which it does not where SIGINT stays blocked."""
    sandbox = open_sandbox(section.backend, replace(section.limits, cell_seconds=1.0))
    try:
        kernel = await sandbox.start()
        await kernel.execute("x = 41")
        # One that waits lacks no processor, however busy the node is.
        stuck = await kernel.execute("import time; time.sleep(100)")
        after = await kernel.execute("x + 1")
    except KernelUnavailable as error:
        return CheckResult("node", "sandbox", "missing", error.message, error.hint)
    finally:
        await sandbox.close()
    if (stuck.status, after.text.strip()) != ("timeout", "42"):
        told = f"{section.backend}: a cell over its limit ended as {stuck.status!r}, and then x + 1 gave {after.text!r}"
        return CheckResult("node", "sandbox", "missing", one_line(told, 300), "run `toolablate doctor` on that node")
    return CheckResult("node", "sandbox", "ok", f"{section.backend} ran and interrupted cells")


def _process() -> Iterator[CheckResult]:
    """How Ray was started there."""
    if os.environ.get("RAY_AUTH_MODE") == "token":
        yield CheckResult("node", "token", "ok", "needed")
    else:
        remedy = "start Ray there with RAY_AUTH_MODE=token and the cluster's RAY_AUTH_TOKEN_PATH"
        yield CheckResult("node", "token", "missing", "whoever reaches its ports can run code there", remedy)
    if ".." in Path(sys.executable).parts:
        told = f"{sys.executable} holds .., with which bubblewrap does not start"
        remedy = f"start Ray there by {Path(os.path.abspath(sys.executable)).parent / 'ray'}"  # noqa: PTH100 - no links
        yield CheckResult("node", "interpreter", "missing", told, remedy)


def _disks(section: SandboxSection, kernels: int) -> Iterator[CheckResult]:
    folder = Path(tempfile.gettempdir())
    free, wanted = shutil.disk_usage(folder).free / 1e6, kernels * section.limits.disk_mb
    told = f"{free / 1e3:.3g} GB free in {folder}"
    if free < wanted:
        remedy = f"free some, or lower cluster.kernels: {kernels} kernels may write {wanted / 1e3:.3g} GB"
        yield CheckResult("node", "disk", "warning", told, remedy)
    else:
        yield CheckResult("node", "disk", "ok", told)
    if not _SHARED_MEMORY.is_dir():
        return
    size = shutil.disk_usage(_SHARED_MEMORY).total / 1e6
    state: State = "ok" if size >= SHARED_MEMORY_MB else "warning"
    remedy = "" if state == "ok" else "give the container more: docker run --shm-size=1g, or an emptyDir of Memory"
    yield CheckResult("node", str(_SHARED_MEMORY), state, f"{size / 1e3:.3g} GB", remedy)
