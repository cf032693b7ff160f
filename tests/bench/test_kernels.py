"""The benchmark runs, in every part of it, and says so when it cannot. No figure is judged here."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PROGRAMS = {
    "product": "ans = 6 * 7; units = ''",
    "nothing": "ans = 1 / 0",
    "place": "import os; ans = os.getcwd(); units = ''",
}
NOTHING = {"samples": 0, "rounds": 0, "live": 0, "steps": 0, "programs": 0, "row": 0}


def benchmark(ways: str, env: dict[str, str] | None = None, **options: object) -> "subprocess.CompletedProcess[str]":
    given = [f"--{name}" if value is True else f"--{name}={value}" for name, value in options.items()]
    command = [sys.executable, "-m", "bench.kernels", "--ways", ways, *given]
    return subprocess.run(
        command, cwd=ROOT, env={**os.environ, **(env or {})}, capture_output=True, text=True, check=False
    )


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    rows = [
        {
            **{
                "question_id": name,
                "question": "?",
                "text": name,
                "table": "",
                "answer": "42",
                "answer_type": "span",
                "scale": "",
            },
            "direct": {"generated": [""]},
            "cot": {"generated": [""]},
            "pot": {"generated": [program]},
        }
        for name, program in PROGRAMS.items()
    ]
    path = tmp_path / "recorded.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_every_part_of_it_runs(recorded: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    few = {"samples": 1, "pool": 1, "rounds": 1, "concurrency": 2, "seconds": 0.1, "live": 2, "steps": 1, "row": 2}
    done = benchmark("plain-tcp,forkserver,forkserver+pool", **few, recorded=recorded, json=out)
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(out.read_text(encoding="utf-8"))
    latency = {"first", "imports", "stop", "during_stop", "cpu", "cpu_imports"}
    memory = {"pss_kernel", "pss_guard", "pss_shared", "idle"}
    assert _measures(report) == {
        "plain-tcp": latency | memory | {"rate", "rate_imports", "programs"},
        "forkserver": latency | memory | {"rate", "rate_imports", "programs"},
        "forkserver+pool": latency,
    }
    assert sum(each["measure"] == "pss_kernel" for each in report["samples"]) == 4
    for measure in ("pss_guard", "pss_shared"):
        weight = {each["way"]: each["value"] for each in report["samples"] if each["measure"] == measure}
        assert weight["plain-tcp"] == 0 < weight["forkserver"]
    (row,) = report["rows"]
    assert row["kernels"] == 2
    assert not {"processes", "descriptors", "files"} & set(row["left"])
    assert {step["name"] for step in report["steps"]} >= {"process:KernelProcess.start", "jupyter:Execution.run"}
    assert report["failed"] == []
    for aim in ("start to the first reply", "kernels per second", "TAT-QA example"):
        assert aim in done.stdout
    # A program that gives its own place gives another one in each way; the rest is the same.
    assert {each["way"]: (each["programs"], each["raised"], each["differing"]) for each in report["programs"]} == {
        "plain-tcp": (3, 1, []),
        "forkserver": (3, 1, ["place"]),
    }


def _measures(report: dict[str, Any]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for sample in report["samples"]:
        assert sample["value"] > 0 or sample["measure"] in ("cpu", "cpu_imports", "pss_guard", "pss_shared", "idle")
        found.setdefault(sample["way"], set()).add(sample["measure"])
    return found


def test_a_way_that_is_none_is_named() -> None:
    done = benchmark("plain,chroot", **NOTHING)
    assert done.returncode == 2
    assert "chroot" in done.stderr
    assert "forkserver" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("option", ["samples=-1", "concurrency=0", "concurrency=2,x", "live=many"])
def test_a_number_that_is_none_is_refused(option: str) -> None:
    name, value = option.split("=")
    done = benchmark("plain", **{name: value})
    assert done.returncode == 2
    assert f"--{name}" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_way_that_does_not_work_is_a_failure_and_no_figure(tmp_path: Path) -> None:
    nowhere = {"DOCKER_HOST": f"unix://{tmp_path}/none.sock"}
    done = benchmark("docker,plain-ipc", nowhere, **NOTHING | {"samples": 1}, json=tmp_path / "out.json")
    assert done.returncode == 1
    report = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    assert {each["way"] for each in report["samples"]} == {"plain-ipc"}
    assert [each["way"] for each in report["failed"]] == ["docker", "docker+pool"]
    assert "FAILED  docker" in done.stdout


def test_the_whole_example_is_run_as_its_readme_says(recorded: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    done = benchmark("plain-ipc", **NOTHING, **{"whole-example": True}, recorded=recorded, json=out)
    assert done.returncode == 0, done.stdout + done.stderr
    whole = json.loads(out.read_text(encoding="utf-8"))["whole_example"]
    assert whole["programs"] == len(PROGRAMS)
    assert "(3 programs)" in done.stdout


def test_a_missing_file_of_programs_is_a_failure(tmp_path: Path) -> None:
    done = benchmark("plain-ipc", **NOTHING | {"programs": 1}, recorded=tmp_path / "none.jsonl")
    assert done.returncode == 1
    assert "none.jsonl" in done.stdout
