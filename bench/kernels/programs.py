"""TAT-QA's recorded programs, each in a kernel of its own, by several ways, and their results compared."""

import asyncio
import importlib.util
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType

from bench.kernels.latency import Say, loaded
from bench.kernels.load import Meter, between
from bench.kernels.records import Failed, Programs, Sample, WholeExample
from bench.kernels.ways import Reply, Way, failure

from toolablate.sandbox import KernelUnavailable

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "tatqa"
RECORDED = ROOT.parent / "shared" / "data" / "tatqa_codex_conditions.jsonl"
_CHUNKS = 4
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def read_programs(recorded: Path, count: int, seed: int) -> dict[str, str]:
    """A random sample, by question id; as the example's own converter makes them."""
    convert = _converter()
    with recorded.open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    sample = random.Random(seed).sample(rows, min(count, len(rows)))
    programs = {}
    for row in sample:
        line = next(line for line in convert.script_lines(row) if line["condition"] == "pot")
        programs[row["question_id"]] = line["replies"][0]["tool_calls"][0]["arguments"]["code"]
    return programs


async def measure_programs(
    ways: Sequence[Way], programs: Mapping[str, str], workers: int, meter: Meter, say: Say
) -> tuple[list[Programs], list[Sample | Failed]]:
    """All ways on all programs, a part after the other, the ways in random order in each; the first way's results are
    the ones that the others' are held against."""
    replies: dict[str, dict[str, Reply]] = {way.name: {} for way in ways}
    seconds = dict.fromkeys(replies, 0.0)
    found: list[Sample | Failed] = []
    broken: set[str] = set()
    names = sorted(programs)
    for part in range(_CHUNKS):
        chunk = names[part::_CHUNKS]
        for way in random.sample(ways, len(ways)):
            if way.name in broken or not chunk:
                continue
            try:
                async with loaded(meter, way) as load:
                    begun = time.perf_counter()
                    replies[way.name] |= await _run_all(way, {name: programs[name] for name in chunk}, workers)
                    elapsed = time.perf_counter() - begun
            except Exception as error:  # noqa: BLE001 - a way that fails is a finding, and the others go on
                broken.add(way.name)
                found.append(failure(way.name, "programs", error))
                say(f"programs  {way.name} FAILED: {error}")
                continue
            seconds[way.name] += elapsed
            rate = len(chunk) / elapsed
            found.append(Sample(way.name, "programs", rate, load[0].foreign_cores, workers))
            say(f"programs  {way.name}: {len(chunk)} at {rate:.1f}/s  (foreign load {load[0].foreign_cores:.2f})")
    whole = {name: each for name, each in replies.items() if name not in broken}
    reference = next(iter(whole.values()), {})
    return [_compared(name, each, reference, seconds[name]) for name, each in whole.items()], found


async def run_whole_example(recorded: Path, meter: Meter, say: Say) -> WholeExample:
    """The example as its README runs it, in a folder of its own; raises `KernelUnavailable` where that fails."""
    with tempfile.TemporaryDirectory(prefix="bench-kernels-") as name:
        folder = Path(name)
        questions = _converter().convert(recorded, folder / "data")
        (folder / "plan.toml").write_text((EXAMPLE / "plan.toml").read_text(encoding="utf-8"), encoding="utf-8")
        command = [sys.executable, "-m", "toolablate", "run", "plan.toml", "--store", "store.sqlite", "--json"]
        await meter.rest()
        before, begun = meter.read(), time.perf_counter()
        done = await asyncio.to_thread(
            subprocess.run, command, cwd=folder, capture_output=True, text=True, check=False, env=os.environ
        )
        seconds, load = time.perf_counter() - begun, between(before, meter.read())
    if done.returncode != 0:
        raise KernelUnavailable(f"`toolablate run` ended with {done.returncode}: {done.stderr[-400:]}")
    say(f"whole example: {seconds:.1f} s")
    return WholeExample(seconds, questions, load.foreign_cores)


async def _run_all(way: Way, programs: Mapping[str, str], workers: int) -> dict[str, Reply]:
    waiting = list(programs.items())
    replies: dict[str, Reply] = {}

    async def work() -> None:
        while waiting:
            name, program = waiting.pop()
            kernel = await way.start()
            try:
                replies[name] = await kernel.run(program)
            finally:
                await kernel.stop()

    async with asyncio.TaskGroup() as group:
        for _ in range(workers):
            group.create_task(work())
    return replies


def _compared(name: str, replies: Mapping[str, Reply], reference: Mapping[str, Reply], seconds: float) -> Programs:
    differing = tuple(sorted(each for each in reference if _essence(replies[each]) != _essence(reference[each])))
    return Programs(name, len(replies), seconds, sum(bool(each.error) for each in replies.values()), differing)


def _essence(reply: Reply) -> str:
    """What two ways must agree on: what was printed, or what was raised; tracebacks and addresses are their own."""
    return f"raised {reply.error}" if reply.error else _ADDRESS.sub("", reply.text.strip())


def _converter() -> ModuleType:
    spec = importlib.util.spec_from_file_location("tatqa_convert", EXAMPLE / "convert.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
