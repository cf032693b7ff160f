"""The benchmark runs, in every part of it. No figure is judged here."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from bench.store.contents import write_plan
from bench.store.copying import fill_by_copying
from bench.store.sources import open_sources

from toolablate.traces.store import verify

ROOT = Path(__file__).parents[2]
INSPECT = "TOOLABLATE_BENCH_INSPECT"


def report(tmp_path: Path, *options: str) -> dict:  # type: ignore[type-arg]
    out = tmp_path / "out.json"
    command = [sys.executable, "-m", "bench.store", "--questions", "3", "--repeats", "2", "--left", "2"]
    environment = {name: value for name, value in os.environ.items() if name != INSPECT}
    subprocess.run([*command, "--json", out, *options], cwd=ROOT, env=environment, check=True)
    found: dict = json.loads(out.read_text(encoding="utf-8"))  # type: ignore[type-arg]
    return found


def test_every_part_gives_figures(tmp_path: Path) -> None:
    found = report(tmp_path)
    assert (found["filled"]["trials"], found["filled"]["events"]) == (22, 440)
    assert found["bytes"]["parts"] > found["bytes"]["(free)"] >= 0
    reads = ["run, 2 trials left", "run, nothing left", "status", "compare", "one trace"]
    assert [figure["what"] for figure in found["figures"]] == reads
    assert all(0 < figure["median"] <= figure["largest"] for figure in found["figures"])
    assert found["inspect"] is None


def test_a_store_of_copies_is_whole_and_read_as_one_of_records(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    sources = open_sources(None)
    plan = write_plan(tmp_path, sources, questions=40, repeats=3)
    assert fill_by_copying(plan, tmp_path / "s.db", sources, left=1) < 240
    report = verify(tmp_path / "s.db")
    assert (report.problems, report.finished, report.pending, report.unscored) == ((), 479, 1, 0)
    command = [sys.executable, "-m", "bench.scale", "--trials", "400", "--attribute", "200", "--json", out]
    command += ["--folder", tmp_path / "disk" / "new"]
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    measured = ["plan", "run, nothing left", "compare", "attribute, by trace: 200", "attribute again: 200"]
    assert [each["what"] for each in json.loads(out.read_text(encoding="utf-8"))] == measured


def test_an_inspect_log_of_the_same_traces_is_read_back(tmp_path: Path) -> None:
    python = os.environ.get(INSPECT)
    if not python:
        pytest.skip(f"set {INSPECT} to a Python that has inspect_ai")
    found = report(tmp_path, "--inspect", python, "--samples", "5", "--unrelated")
    assert found["inspect"]["samples"] == 5
    assert found["inspect"]["bytes"] > 5_000
