"""The benchmark runs, in every part of it, and counts nothing that is not done and right. No figure is judged here."""

import json
import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
INSPECT = "TOOLABLATE_BENCH_INSPECT"
FEW = ["--rounds", "1", "--trials", "10", "--concurrency", "4"]


def benchmark(*options: str, **env: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "bench.runner", *options]
    return subprocess.run(command, cwd=ROOT, env={**os.environ, **env}, capture_output=True, text=True, check=False)


def test_every_harness_gives_figures(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    done = benchmark(*FEW, "--in-flight", "0", "--ways", "toolablate,client,graph", "--json", str(out))
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(out.read_text(encoding="utf-8"))
    assert report["failed"] == []
    runs = {(each["harness"], each["kind"], each["trials"]) for each in report["samples"]}
    harnesses = {"toolablate", "client", "graph"}
    assert runs == {
        (name, kind, trials) for name in harnesses for kind in ("one-call", "four-tools") for trials in (1, 10)
    }
    for sample in report["samples"]:
        assert sample["cpu"] > 0
        assert sample["wall"] > 0
        assert sample["connections"] >= 1
        assert (sample["traces"] is not None) == (sample["harness"] == "toolablate")
    assert "one-call: Inspect's CPU for a trial, of ours" in done.stdout


def test_many_in_flight_are_seen_by_the_server(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    flight = ["--in-flight", "4", "--flight-trials", "12", "--latency", "0.1"]
    done = benchmark("--rounds", "0", *flight, "--flight-ways", "client", "--json", str(out))
    assert done.returncode == 0, done.stdout + done.stderr
    (found,) = json.loads(out.read_text(encoding="utf-8"))["flights"]
    assert (found["trials"], found["most"]) == (12, 4)
    # Three waves of four; timers may go off a little early.
    assert 0 < found["whole"] <= 1.01
    assert 0 < found["steady"] <= 1
    assert 0 < found["before_mb"] <= found["peak_mb"]


def test_a_harness_that_does_less_is_a_failure_and_no_figure(tmp_path: Path) -> None:
    """An Inspect that ends well at once and has done nothing."""
    fake = tmp_path / "python"
    fake.write_text('#!/bin/sh\necho \'{"answered": 0, "right": 0}\'\n', encoding="utf-8")
    fake.chmod(0o755)
    out = tmp_path / "out.json"
    options = ["--ways", "inspect", "--in-flight", "0", "--inspect", str(fake), "--json", str(out)]
    done = benchmark(*FEW, *options)
    assert done.returncode == 1
    report = json.loads(out.read_text(encoding="utf-8"))
    assert report["samples"] == []
    assert {each["what"] for each in report["failed"]} >= {"10 x one-call", "10 x four-tools"}
    assert "of 10 trials 0 were answered" in done.stdout
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("option", ["--trials=1", "--concurrency=0", "--in-flight=many", "--ways=inspekt"])
def test_an_option_that_is_none_is_refused(option: str) -> None:
    done = benchmark(option, **{INSPECT: ""})
    assert done.returncode == 2
    assert option.split("=")[0] in done.stderr
    assert "Traceback" not in done.stderr


def test_a_python_without_inspect_is_refused(tmp_path: Path) -> None:
    venv.create(tmp_path, symlinks=True, with_pip=False)
    done = benchmark("--inspect", str(tmp_path / "bin" / "python"))
    assert done.returncode == 2
    assert "inspect_ai" in done.stderr


@pytest.mark.skipif(not os.environ.get(INSPECT), reason=f"{INSPECT} names no Python that has inspect_ai")
def test_inspect_does_the_same_work(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    done = benchmark(*FEW, "--in-flight", "0", "--ways", "inspect", "--json", str(out))
    assert done.returncode == 0, done.stdout + done.stderr
    samples = json.loads(out.read_text(encoding="utf-8"))["samples"]
    assert {(each["kind"], each["trials"]) for each in samples} >= {("one-call", 10), ("four-tools", 10)}
    assert all(each["traces"] > 0 for each in samples)
