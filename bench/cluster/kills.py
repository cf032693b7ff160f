"""Workers, nodes and drivers that are killed while a run goes on, and what has to be true of its store after all."""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeVar

from bench.cluster.costs import run_coding, write_coding
from bench.cluster.nodes import Nodes, still_there
from bench.kernels.load import Key, descendants, processes
from bench.runner.processes import Served
from bench.runner.work import TOOL_CALLS

from toolablate.traces.records import Failure, ModelCall, ToolCall, Trace
from toolablate.traces.store import Store
from toolablate.traces.store.workers import read_workers

Kind = Literal["worker", "raylet", "silent", "driver"]
"""What is killed: a process that runs trials, a node with all that is on it, or the `toolablate run`. A silent node is
stopped until it is given up, and then goes on."""

_Seen = TypeVar("_Seen")

RANDOM_KINDS: tuple[Kind, ...] = ("worker", "raylet", "driver")
NOTICED_SECONDS = 5.0
# A run waits as long for a worker.
_STUCK_SECONDS = 300.0
_IN_FLIGHT = 4
_MOST_REQUESTS_BEFORE = 12
_LAST_RUNS = 5
_LAST_SECONDS = 600.0


@dataclass(slots=True)
class Report:
    """`wrong` is what may not be, in words; `lost` counts the attempts that ended for what was killed, by code; `gone`
    are the seconds after each kill until no process of it was left, `noticed` those until the driver told that a worker
    that was ready was lost, at least five where it told late or never."""

    kills: Counter[str] = field(default_factory=Counter)
    runs: int = 0
    trials: int = 0
    lost: Counter[str] = field(default_factory=Counter)
    gone: list[float] = field(default_factory=list)
    noticed: list[float] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    seconds: float = 0.0


@dataclass(slots=True)
class _Watch:
    """`processes` are to be gone; `told` is what the driver has to say of it, if it has to, after so much that was
    `said` before."""

    processes: set[Key]
    said: int
    told: str = ""
    since: float = field(default_factory=time.monotonic)


@dataclass(slots=True)
class _Killing:
    """One run, and whoever drives it at the moment. For each kill `share` requests are replied to: what is left to
    run must not end before all is killed, however long a kill takes."""

    nodes: Nodes
    served: Served
    key: str
    folder: Path
    rng: random.Random
    report: Report
    share: int
    driver: "subprocess.Popen[bytes] | None" = None

    @property
    def said(self) -> str:
        return (self.folder / "said.txt").read_text(encoding="utf-8", errors="replace")

    @property
    def asked(self) -> int:
        return len(self.served.watch(self.key).came)

    def drive(self, cluster: str) -> "subprocess.Popen[bytes]":
        self.report.runs += 1
        with (self.folder / "said.txt").open("ab") as said:
            return subprocess.Popen(
                [*run_coding(self.folder), "--cluster", cluster],
                env=self.nodes.env,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.STDOUT,
            )

    def going(self) -> "subprocess.Popen[bytes]":
        if self.driver is None or self.driver.poll() is not None:
            self.driver = self.drive(self.nodes.address)
        return self.driver

    def kill(self, kind: Kind) -> None:
        """At some moment: while requests are made, or while drivers and workers start."""
        asked = self.asked
        self.served.answer(self.key, asked + self.share)
        self.going()
        if kind == "worker" or self.rng.random() < 0.75:
            wanted = asked + self.rng.randint(1, _MOST_REQUESTS_BEFORE)
            self.wait(lambda: self.going() and self.asked >= wanted, f"there was no request before: {kind}")
        time.sleep(self.rng.random() * (0.3 if kind == "worker" else 1.5))
        # Of a worker that was not ready no loss is told.
        ready = self.wait(lambda: self.going() and self.ready(), "no worker is ready") if kind == "silent" else None
        workers = self.nodes.workers()
        if kind == "worker":
            workers = self.wait(lambda: self.going() and self.nodes.workers(), "no worker has come") or {}
        driver, raylets = self.going(), set((ready or workers).values())
        busy = sorted(node for node, raylet in self.nodes.raylets.items() if raylet in raylets)
        node = self.rng.choice(busy or sorted(self.nodes.raylets))
        raylet = self.nodes.raylets[node]
        victims = {
            "worker": set(self.rng.sample(sorted(workers), min(len(workers), 1))),
            "driver": {*workers, driver.pid},
        }.get(kind, {pid for pid, parent in workers.items() if parent == raylet})
        seen = processes()
        watch = _Watch({seen[pid].key for pid in descendants(seen, victims)}, len(self.said))
        if kind == "worker" and victims <= self.ready().keys():
            watch.told = "".join(map(_lost, victims))
        if kind == "driver":
            driver.kill()
            driver.wait()
        elif kind == "raylet":
            self.nodes.remove(node)
        elif kind == "silent":
            self.silence(node, raylet, [*map(_lost, victims)], watch.said)
            watch.since = time.monotonic()
        else:
            for pid in victims:
                os.kill(pid, signal.SIGKILL)
        self.report.kills[kind] += 1
        self.watch(kind, watch, driver)
        if kind in ("raylet", "silent"):
            self.nodes.add()

    def ready(self) -> dict[int, int]:
        """As `workers`, those that the driver says are ready; one that became so within two seconds may lack."""
        told, _ = read_workers(self.folder / "store.sqlite")
        ready = {int(each.name.rpartition(" ")[2]) for each in told if each.state == "ready"}
        return {pid: raylet for pid, raylet in self.nodes.workers().items() if pid in ready}

    def watch(self, kind: Kind, watch: "_Watch", driver: "subprocess.Popen[bytes]") -> None:
        """From the kill on: until nothing of what was killed is left, and the driver has told of it."""
        gone = noticed = None
        while (passed := time.monotonic() - watch.since) < _STUCK_SECONDS:
            if gone is None and not still_there(watch.processes):
                gone = passed
            if noticed is None and watch.told in self.said[watch.said :]:
                noticed = passed
            if gone is not None and (noticed is not None or passed > NOTICED_SECONDS):
                break
            time.sleep(0.01)
        if gone is None:
            left = len(still_there(watch.processes))
            self.report.wrong.append(f"{kind}: {left} of {len(watch.processes)} processes are still there")
        else:
            self.report.gone.append(gone)
        # A driver that was done told nothing more.
        if watch.told and (noticed is not None or driver.poll() is None):
            self.report.noticed.append(NOTICED_SECONDS if noticed is None else noticed)

    def silence(self, node: int, raylet: int, told: Sequence[str], said: int) -> None:
        """Until the driver says one of these, after what was said before."""
        key = processes()[raylet].key
        os.kill(raylet, signal.SIGSTOP)
        self.wait(lambda: any(each in self.said[said:] for each in told), "nobody noticed a silent node")
        os.kill(raylet, signal.SIGCONT)
        self.wait(lambda: not still_there({key}), "a node that was given up did not end itself")
        self.nodes.remove(node)

    def wait(self, happened: Callable[[], _Seen], otherwise: str) -> _Seen | None:
        until = time.monotonic() + _STUCK_SECONDS
        while not (seen := happened()):
            if time.monotonic() > until:
                self.report.wrong.append(otherwise)
                return None
            time.sleep(0.05)
        return seen

    def finish(self) -> None:
        """The same command goes on with what is left, without a cluster."""
        self.served.answer(self.key, sys.maxsize)
        for _ in range(_LAST_RUNS):
            driver = self.driver or self.drive("none")
            self.driver = None
            if driver.wait(_LAST_SECONDS) == 0:
                return


def _lost(worker: int) -> str:
    """What the driver says of it, by its process."""
    return f" {worker} was lost: "


def check(folder: Path, trials: int, report: Report) -> None:
    """Of a run that has ended: each trial is answered once and right, and nothing is damaged."""
    wrong, store_path = report.wrong, folder / "store.sqlite"
    said = (folder / "said.txt").read_text(encoding="utf-8", errors="replace")
    report.trials = trials
    with Store(store_path) as store:
        summaries = store.summaries()
        attempts = [store.attempts(each.trial) for each in summaries]
    seen = Counter((each.outcome, each.verdict) for each in summaries)
    if seen != {("answered", "correct"): trials}:
        wrong.append(f"of {trials} trials, by outcome and verdict: {dict(seen)}")
    for traces in attempts:
        done = [each for each in traces if each.outcome == "answered"]
        report.lost.update(_last_code(each) for each in traces if each.outcome != "answered")
        if len(done) != 1 or _steps(done[0]) != (TOOL_CALLS + 1, TOOL_CALLS):
            wrong.append(f"a trial has {len(done)} answers, of {[_steps(each) for each in done]} requests and calls")
    if "Traceback" in said:
        wrong.append("a traceback: " + said[said.index("Traceback") :][:2000])
    verify = [sys.executable, "-m", "toolablate", "verify", str(store_path)]
    verified = subprocess.run(verify, capture_output=True, text=True, check=False)
    if verified.returncode:
        wrong.append(f"verify: {verified.stdout}{verified.stderr}")


def _last_code(trace: Trace) -> str:
    return next((each.code for each in reversed(trace.events) if isinstance(each, Failure)), trace.outcome)


def _steps(trace: Trace) -> tuple[int, int]:
    """How many requests it has, and calls of tools."""
    kinds = Counter(type(event) for event in trace.events)
    return kinds[ModelCall], kinds[ToolCall]


def kill_while_running(
    nodes: Nodes,
    served: Served,
    folder: Path,
    kinds: Sequence[Kind],
    *,
    trials: int,
    seed: int = 0,
    latency: float = 0.3,
    say: Callable[[str], None] = lambda _: None,
) -> Report:
    """Runs a plan of so many trials, each with a kernel, until all have ended, and kills these meanwhile, one after
    the other. Each needs work that it can interrupt: four trials. `folder` is empty."""
    began_at, report = time.monotonic(), Report()
    # Those that are held back from before are replied to as well.
    share = trials * (TOOL_CALLS + 1) // len(kinds) - _IN_FLIGHT
    assert share > _MOST_REQUESTS_BEFORE
    killing = _Killing(nodes, served, f"kills{seed}", folder, random.Random(seed), report, share)
    cluster = "retries = 3\nkernels = 2"
    write_coding(folder, served.url(killing.key, latency), trials=trials, in_flight=_IN_FLIGHT, cluster=cluster)
    try:
        for number, kind in enumerate(kinds, 1):
            killing.kill(kind)
            gone = f", gone in {report.gone[-1]:.2f} s" if report.gone else ""
            say(f"{number}/{len(kinds)} {kind}{gone}; {killing.asked} requests; wrong: {len(report.wrong)}")
        killing.finish()
    finally:
        if killing.driver is not None:
            killing.driver.kill()
            killing.driver.wait()
    check(folder, trials, report)
    report.seconds = time.monotonic() - began_at
    return report


def random_kinds(count: int, seed: int) -> list[Kind]:
    return random.Random(seed).choices(RANDOM_KINDS, k=count)
