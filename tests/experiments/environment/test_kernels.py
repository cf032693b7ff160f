"""What holds the code of a run: named, refused, recorded, and told where it changed."""

import asyncio
import json
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from tests.conftest import Cli
from tests.experiments.rerun import again

from toolablate.analysis.from_store import changed_kernels
from toolablate.experiments.doctor import CheckResult, fit_to_run
from toolablate.experiments.plans.plan import load_plan
from toolablate.sandbox import BACKENDS
from toolablate.sandbox.opening import LIST_PACKAGES
from toolablate.traces.errors import InputError
from toolablate.traces.records import Environment
from toolablate.traces.store import Store


def _with(plan: Path, line: str) -> Path:
    """The plan with a line before its first table."""
    text = plan.read_text(encoding="utf-8")
    plan.write_text(text.replace("[questions]", f"{line}\n[questions]", 1), encoding="utf-8")
    return plan


def _ran_on(**versions: str) -> Environment:
    return Environment(kernel_versions=versions, kernel_environment={"TZ": "UTC"})


@pytest.mark.parametrize("name", BACKENDS)
def test_a_backend_can_be_named_in_one_line(usual_plan: Path, name: str) -> None:
    plan, _ = load_plan(_with(usual_plan, f"sandbox = '{name}'"))
    assert plan.sandbox == load_plan(usual_plan)[0].sandbox.model_copy(update={"backend": name})


def test_the_default_is_the_first_backend_wherever_the_plan_is_read(usual_plan: Path) -> None:
    assert load_plan(usual_plan)[0].sandbox.backend == BACKENDS[0]
    assert BACKENDS[0] != "none"


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("sandbox = 'firejail'", "sandbox.backend: found 'firejail', allowed is 'forkserver', 'bubblewrap'"),
        ("sandbox = ''", "sandbox.backend: found ''"),
        ("sandbox = 'None'", "sandbox.backend: found 'None'"),
        ("sandbox = { backend = 3 }", "sandbox.backend"),
        ("sandbox = { pool = -1 }", "sandbox.pool"),
        ("sandbox = { pool = 1.5 }", "sandbox.pool"),
        ("sandbox = { pol = 1 }", "sandbox.pol: unknown key; did you mean 'pool'?"),
        ("sandbox = false", "sandbox: "),
        ("sandbox = ['none']", "sandbox: "),
    ],
)
def test_a_wrong_sandbox_is_named(usual_plan: Path, line: str, told: str) -> None:
    with pytest.raises(InputError) as caught:
        load_plan(_with(usual_plan, line))
    assert told in str(caught.value)


@pytest.mark.deep
def test_without_its_backend_a_run_is_refused_and_told_what_would_work(usual_plan: Path, cli: Cli, store: Path) -> None:
    refused = cli("run", usual_plan, env={"PATH": "/nonexistent"})
    assert refused.returncode == 2
    assert f"the sandbox {BACKENDS[0]!r} does not work here" in refused.stderr
    assert "apt-get install bubblewrap" in refused.stderr
    assert 'sandbox = "bubblewrap"' not in refused.stderr
    assert 'unprotected unless the plan says so: sandbox = "none"' in refused.stderr
    assert "Traceback" not in refused.stderr
    assert not store.exists()
    assert cli("run", _with(usual_plan, "sandbox = 'none'"), env={"PATH": "/nonexistent"}).returncode == 0


@pytest.mark.deep
def test_every_trace_tells_what_is_inside(usual_plan: Path, cli: Cli, store: Path) -> None:
    assert cli("run", usual_plan).returncode == 0
    with Store(store) as opened:
        traces = list(opened.traces())
        (environment,) = opened.environments()
    assert all(trace.environment == environment for trace in traces)
    assert environment.kernel_versions["numpy"] == version("numpy")
    assert environment.kernel_environment["PYTHONHASHSEED"] == "0"
    assert environment.kernel_environment["TZ"] == "UTC"
    assert "HOME" not in environment.kernel_environment
    ran_code = next(trace for trace in traces if any(event.kind == "tool_call" for event in trace.events))
    shown = " ".join(cli("show", store, ran_code.trial.id).stdout.split())
    assert f"numpy {version('numpy')}" in shown
    assert "packages more (see --json)" in shown


@pytest.mark.deep
def test_another_kernel_is_told_by_run_and_by_compare(usual_plan: Path, cli: Cli, store: Path) -> None:
    first = cli("run", usual_plan, "--limit", "1")
    assert "Warning" not in first.stderr
    assert "Warning" not in cli("compare", store).stderr
    asyncio.run(again(store, numpy="1.0"))
    second = cli("run", usual_plan)
    assert second.returncode == 0
    (told,) = (part for part in " ".join(second.stderr.split()).split("Warning: ") if "same kernel" in part)
    assert f": numpy {version('numpy')} / 1.0. To keep" in told
    assert "--store" in told
    compared = cli("compare", store, "--json")
    assert "Warning: the trials' code did not all run on the same kernel" in compared.stderr
    assert json.loads(compared.stdout)["comparisons"]
    (latest,) = json.loads(cli("compare", store, "--json", "--run", "latest").stdout)["comparisons"]
    assert latest["questions"] == 2


def test_a_package_that_brings_a_benchmark_is_none_of_a_kernel(tmp_path: Path) -> None:
    for name, group in (("capitals-bench", "toolablate.benchmarks"), ("other-thing", "console_scripts")):
        about = tmp_path / f"{name.replace('-', '_')}-1.0.dist-info"
        about.mkdir()
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", encoding="utf-8")
        (about / "entry_points.txt").write_text(f"[{group}]\nx = m:x\n", encoding="utf-8")
    listed = subprocess.run(
        [sys.executable, "-c", f"{LIST_PACKAGES.replace('json.dumps', 'print(json.dumps').rstrip()})"],
        env={"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    packages = json.loads(listed.stdout)
    assert packages["other-thing"] == "1.0"
    assert packages["toolablate"] == version("toolablate")
    assert "capitals-bench" not in packages


@pytest.mark.parametrize(
    ("ran_on", "told"),
    [
        ([], ""),
        ([Environment()], ""),
        ([Environment(), _ran_on(numpy="1")], ""),
        ([_ran_on(numpy="1", pip="2")] * 2, ""),
        ([_ran_on(numpy="1"), Environment(), _ran_on(numpy="2"), _ran_on(numpy="1")], ": numpy 1 / 2"),
        ([_ran_on(), _ran_on(numpy="2"), _ran_on(numpy="2", torch="3")], ": torch (none) / 3"),
        ([_ran_on(a="1", numpy="1"), _ran_on(a="2", numpy="2")], ": numpy 1 / 2, a 1 / 2"),
        ([_ran_on(numpy="1"), Environment(kernel_environment={"TZ": "CET"})], ": variable TZ UTC / CET"),
        (
            [_ran_on(**dict.fromkeys("abcdefghi", version)) for version in ("1", "2")],
            ": a 1 / 2, b 1 / 2, c 1 / 2, d 1 / 2, e 1 / 2, f 1 / 2 and 3 more",
        ),
    ],
)
def test_what_differs_between_kernels(ran_on: list[Environment], told: str) -> None:
    said = changed_kernels(ran_on)
    assert said.partition("kernel")[2] == told


@pytest.mark.parametrize(
    ("name", "states", "fits"),
    [
        ("forkserver", {"forkserver": "ok", "bubblewrap": "ok"}, True),
        ("forkserver", {"forkserver": "missing", "bubblewrap": "ok"}, False),
        ("bubblewrap", {"forkserver": "missing", "bubblewrap": "ok"}, True),
        ("none", {"forkserver": "missing", "none": "warning"}, True),
    ],
)
def test_doctor_judges_by_the_backend_of_the_plan(
    usual_plan: Path, name: str, states: dict[str, str], fits: bool
) -> None:
    plan, _ = load_plan(_with(usual_plan, f"sandbox = '{name}'"))
    findings = [CheckResult("sandbox", backend, state, "") for backend, state in states.items()]  # type: ignore[arg-type]
    assert fit_to_run(findings, plan) is fits


@pytest.mark.deep
def test_doctor_looks_at_every_backend_and_at_what_bounds_memory(cli: Cli) -> None:
    looked = json.loads(cli("doctor", "--json", env={"PATH": "/nonexistent"}).stdout)["findings"]
    found = {(finding["topic"], finding["name"]): finding for finding in looked}
    for backend in ("forkserver", "bubblewrap"):
        finding = found["sandbox", backend]
        assert finding["state"] == "missing"
        assert finding["remedy"] == "apt-get install bubblewrap"
    assert found["sandbox", "none"]["state"] == "warning"
    bounded = found["system", "cgroups"]["detail"]
    assert "limits" in bounded or "rlimits and a watch" in bounded
