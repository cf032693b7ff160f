"""A Ray of several nodes on this machine, while whoever takes part in a run is killed."""

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from bench.cluster.costs import Bench
from bench.cluster.kills import kill_while_running
from bench.cluster.nodes import Nodes, open_nodes, processes_of
from bench.runner.processes import serving
from tests.experiments.plan_files import endpoint_plan

pytestmark = [pytest.mark.deep, pytest.mark.timeout(600)]
pytest.importorskip("ray")


@pytest.fixture(scope="session")
def nodes() -> Iterator[Nodes]:
    """A head, and two nodes."""
    folder = Path(tempfile.mkdtemp(prefix="tr", dir="/tmp"))
    with open_nodes(folder, 2) as opened:
        yield opened
    assert processes_of(folder) == []
    shutil.rmtree(folder, ignore_errors=True)


def test_doctor_tries_each_node_that_could_have_workers(nodes: Nodes, tmp_path: Path) -> None:
    plan = endpoint_plan(tmp_path, "http://127.0.0.1:9/v1", count=1, extra="sandbox = 'bubblewrap'")
    plan.write_text(plan.read_text(encoding="utf-8").replace("['none']", "['python']"), encoding="utf-8")
    code = "import json, sys, toolablate as tb; print(json.dumps(tb.doctor(sys.argv[1], cluster=sys.argv[2]).json))"
    command = [sys.executable, "-c", code, str(plan), nodes.address]
    looked = subprocess.run(command, env=dict(nodes.env), capture_output=True, text=True, check=False)
    assert looked.returncode == 0, looked.stdout + looked.stderr
    found = [{each["name"]: each["detail"] for each in node["findings"]} for node in json.loads(looked.stdout)["nodes"]]
    (head,) = [each for each in found if "processors" in each]
    assert "no worker is started there: it has 0 of 1 CPUs (cluster.cpus)" in head["processors"]
    assert [each.get("sandbox", "") for each in found if each is not head] == [
        "bubblewrap ran and interrupted cells"
    ] * 2


AVOIDING = """
import asyncio, contextlib, sys
from tests.experiments.cluster.fleets import Scripted
from toolablate.experiments.cluster.on_ray import open_ray
from toolablate.experiments.plans.sections import ClusterSection

async def main(stack):
    engine = open_ray(ClusterSection(address=sys.argv[1]), Scripted(), {}, stack, print)
    for avoided in engine.places():
        workers = [await engine.start({avoided}) for _ in range(2)]
        for worker in workers:
            await worker.take()
        print("avoided", worker.place() != "", {worker.place() for worker in workers} & {avoided})
        for worker in workers:
            await worker.close()

with contextlib.ExitStack() as stack:
    asyncio.run(main(stack))
"""


def test_a_worker_is_started_at_no_node_that_it_is_to_avoid(nodes: Nodes) -> None:
    command = [sys.executable, "-c", AVOIDING, nodes.address]
    ran = subprocess.run(command, env=dict(nodes.env), capture_output=True, text=True, check=False)
    assert ran.stdout.splitlines()[1:] == ["avoided True set()"] * 2, ran.stdout + ran.stderr


def test_whatever_is_killed_no_trial_is_lost_or_doubled_or_scored_for_it(nodes: Nodes, tmp_path: Path) -> None:
    """What goes on after the last driver does so without a cluster."""
    kinds = ["silent", "worker", "raylet", "worker", "driver", "driver"]
    with serving() as served:
        report = kill_while_running(nodes, served, tmp_path, kinds, trials=24, latency=0.1)
    assert report.wrong == [], (tmp_path / "said.txt").read_text(encoding="utf-8")
    assert report.kills.total() == len(kinds)
    assert report.lost["worker_lost"] >= 1


def test_what_a_trial_costs_on_workers_can_be_told(nodes: Nodes, tmp_path: Path) -> None:
    with serving() as served:
        bench = Bench(nodes, served, tmp_path, lambda _: None)
        watch, driver, in_all, services = bench.adding(nodes.address, 3, 2)
    assert len(watch.came) == len(watch.left) == 15
    assert 0 < driver < in_all
    assert services >= 0
