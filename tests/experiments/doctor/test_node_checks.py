"""What is found on a node of a cluster, in this process as in one of Ray's."""

import json
import signal
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.conftest import WritePlan
from tests.experiments.plan_files import endpoint_plan

from toolablate.experiments import node_checks
from toolablate.experiments.cluster.opening import PlanOpener
from toolablate.experiments.doctor import CheckResult
from toolablate.experiments.environment.environment import fingerprint_of
from toolablate.experiments.node_checks import CheckedNode, NodeCheck, examine_nodes, fit_to_run, versions
from toolablate.experiments.plans.plan import SandboxSection, load_plan
from toolablate.experiments.plans.sections import ClusterSection
from toolablate.traces.errors import InputError


def check_of(path: Path) -> NodeCheck:
    plan, _ = load_plan(path)
    conditions = plan.resolved_conditions()
    return NodeCheck(
        PlanOpener(plan, conditions, fingerprint_of(plan, conditions), plan.file), ClusterSection(), versions()
    )


def states(findings: list[CheckResult]) -> dict[str, str]:
    return {finding.name: finding.state for finding in findings if finding.name != "cgroups"}


@pytest.fixture
def _sigint_blocked() -> Iterator[None]:
    """As Ray has it in its workers."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    yield
    signal.pthread_sigmask(signal.SIG_SETMASK, before)


@pytest.mark.deep
@pytest.mark.usefixtures("_sigint_blocked")
async def test_a_node_like_the_driver_runs_and_interrupts_cells(
    write_plan: WritePlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    findings, environment = await check_of(write_plan({}, conditions="['none', 'python']"))()
    assert states(findings) == dict.fromkeys(
        ("token", "versions", "disk", "/dev/shm", "environment", "sandbox"),
        "ok",
    )
    assert environment is not None
    assert environment.kernel_versions
    node = CheckedNode("n", tuple(findings))
    assert node.state in ("ok", "warning")
    assert fit_to_run([node])


async def test_what_a_node_lacks_is_named_in_one_line_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RAY_AUTH_MODE", raising=False)
    monkeypatch.setenv("MY_KEY", "sk-secret")
    check = check_of(endpoint_plan(tmp_path, "http://e/v1", count=1, model="api_key_env = 'MY_KEY'"))
    monkeypatch.delenv("MY_KEY")
    other = replace(check, versions={**versions(), "langgraph": "0.1"})
    findings, environment = await other()
    assert environment is None
    assert {name for name, state in states(findings).items() if state == "missing"} == {"token", "versions", "MY_KEY"}
    node = CheckedNode("host-7 (10.0.0.7)", tuple(findings))
    line = node.in_a_line
    assert (line.name, line.state) == ("host-7 (10.0.0.7)", "missing")
    assert "langgraph " in line.detail
    assert "there, 0.1 at the driver" in line.detail
    assert "MY_KEY is not set" in line.detail
    assert "disk" not in line.detail
    assert "RAY_AUTH_MODE=token" in line.remedy
    assert not fit_to_run([node])
    (told,) = json.loads(node_checks.as_json([node]))["nodes"]
    assert (told["name"], told["state"], len(told["findings"])) == (node.name, "missing", len(findings))


async def test_an_environment_that_is_another_is_named(write_plan: WritePlan) -> None:
    check = check_of(write_plan({}, conditions="['none']"))
    check = replace(check, opener=replace(check.opener, fingerprint={**check.opener.fingerprint, "tool a:b": "12"}))
    found = {finding.name: finding for finding in (await check())[0]}["environment"]
    assert found.state == "missing"
    assert "tool a:b: nothing there, 12 at the driver" in found.detail
    assert found.remedy


def test_disks_and_the_interpreter(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    wide = SandboxSection.model_validate({"limits": {"disk_mb": 10**9}})
    (disk, *_) = node_checks._disks(wide, 4)
    assert (disk.state, "cluster.kernels" in disk.remedy) == ("warning", True)
    monkeypatch.setattr(node_checks, "SHARED_MEMORY_MB", 10**9)
    assert [(each.name, each.state) for each in node_checks._disks(SandboxSection(), 1)][1:] == [
        ("/dev/shm", "warning")
    ]
    monkeypatch.setattr(sys, "executable", "/opt/a/../b/bin/python")
    found = {each.name: each for each in node_checks._process()}["interpreter"]
    assert (found.state, found.remedy) == ("missing", "start Ray there by /opt/b/bin/ray")


@pytest.mark.parametrize(
    ("address", "code"), [("local", "no_ray"), ("none", "usage"), ("127.0.0.1:1", "no_ray"), ("x", "")]
)
def test_nodes_that_cannot_be_had_are_an_error(
    write_plan: WritePlan, monkeypatch: pytest.MonkeyPatch, address: str, code: str
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    plan, _ = load_plan(write_plan({}, conditions="['none']"))
    with pytest.raises(InputError) as refused:
        examine_nodes(plan, address, tell=lambda _: None)
    assert refused.value.code == code or not code
    if code == "no_ray":
        assert "[cluster]" in refused.value.hint
