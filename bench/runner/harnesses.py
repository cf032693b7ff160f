"""The harnesses, each as the command that its user would type, and whether what it gave is right."""

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol

from bench.runner.records import CLIENT, GRAPH, INSPECT, OURS, SAVED_GRAPH
from bench.runner.work import Kind, is_right, read_items, write_items

from toolablate.traces.store import Store

ROOT = Path(__file__).parents[2]
_HERE = Path(__file__).parent
_CHECK_SECONDS = 300
_CONDITION: Mapping[Kind, str] = {
    "one-call": '[[conditions]]\nname = "none"',
    "four-tools": '[[conditions]]\nname = "adding"\ntools = ["adding:add"]',
}


class NotRightError(Exception):
    """A harness ended, and not every trial was answered and right."""


@dataclass(frozen=True, slots=True)
class Job:
    """One run: `trials` of a kind against `url`, `in_flight` at once; everything is kept in `folder`, empty before."""

    kind: Kind
    trials: int
    url: str
    in_flight: int
    folder: Path

    @property
    def items(self) -> Path:
        return self.folder / "items.jsonl"


@dataclass(frozen=True, slots=True)
class Command:
    """`env` is beside what this process has."""

    arguments: Sequence[str]
    env: Mapping[str, str] = field(default_factory=dict)


class Harness(Protocol):
    @property
    def name(self) -> str: ...

    def prepare(self, job: Job) -> Command:
        """Writes what the harness reads; gives the command to be measured."""
        ...

    def check(self, job: Job) -> None:
        """Raises NotRightError."""
        ...

    def traces(self, job: Job) -> int | None:
        """Bytes that it keeps on disk; None where it keeps nothing."""
        ...


@dataclass(frozen=True, slots=True)
class Ours:
    """`toolablate run`, with its store and its full traces."""

    name: str = OURS

    def prepare(self, job: Job) -> Command:
        write_items(job.items, job.kind, job.trials)
        shutil.copy(_HERE / "adding.py", job.folder)
        plan = f"""
store = "store.sqlite"

[questions]
file = "items.jsonl"

[[models]]
provider = "openai"
name = "served"
endpoint = "{job.url}"
concurrency = {job.in_flight}

{_CONDITION[job.kind]}
"""
        path = job.folder / "plan.toml"
        path.write_text(plan, encoding="utf-8")
        return Command([sys.executable, "-m", "toolablate", "run", str(path)])

    def check(self, job: Job) -> None:
        with Store(job.folder / "store.sqlite") as store:
            seen = store.summaries()
        answered = sum(each.outcome == "answered" for each in seen)
        _require(job, answered, sum(each.value == 1.0 for each in seen))

    def traces(self, job: Job) -> int | None:
        """With what lies beside the store while it is open, though it is closed by now."""
        return sum(path.stat().st_size for path in job.folder.glob("store.sqlite*"))


@dataclass(frozen=True, slots=True)
class Inspect:
    """`inspect eval` with its defaults, but for the address, the number in flight and the folder of the log. `python`
    is one that has inspect_ai. Its own caches go into the job's folder as well."""

    python: str
    name: str = INSPECT

    def prepare(self, job: Job) -> Command:
        write_items(job.items, job.kind, job.trials)
        task = f"{_HERE / 'inspect_tasks.py'}@{job.kind.replace('-', '_')}"
        options = {
            "-T": f"items={job.items}",
            "--model": "openai-api/bench/served",
            "--model-base-url": job.url,
            "--max-connections": str(job.in_flight),
            "--log-dir": str(job.folder / "logs"),
            "--log-format": "eval",
        }
        given = [text for pair in options.items() for text in pair]
        home = {"HOME": str(job.folder), "XDG_DATA_HOME": str(job.folder / "data"), "BENCH_API_KEY": "none"}
        return Command([self.python, "-P", "-m", "inspect_ai", "eval", task, *given], home)

    def check(self, job: Job) -> None:
        command = [self.python, "-P", str(_HERE / "inspect_check.py"), str(job.folder / "logs")]
        done = subprocess.run(command, capture_output=True, text=True, timeout=_CHECK_SECONDS, check=False)
        if done.returncode:
            raise NotRightError(f"its log cannot be read: {done.stderr[-500:]}")
        found = json.loads(done.stdout)
        _require(job, found["answered"], found["right"])

    def traces(self, job: Job) -> int | None:
        return sum(path.stat().st_size for path in (job.folder / "logs").glob("*.eval"))

    def version(self) -> str:
        """Of inspect_ai. Raises NotRightError where `python` has none."""
        asked = "from importlib.metadata import version; print(version('inspect_ai'))"
        try:
            done = subprocess.run([self.python, "-c", asked], capture_output=True, text=True, timeout=60, check=False)
        except OSError as error:
            raise NotRightError(str(error)) from None
        if done.returncode:
            raise NotRightError(f"{self.python} has no inspect_ai")
        return done.stdout.strip()


@dataclass(frozen=True, slots=True)
class Plain:
    """A way of `plain.py`."""

    name: str

    def prepare(self, job: Job) -> Command:
        write_items(job.items, job.kind, job.trials)
        given = [self.name, job.kind, str(job.items), job.url, str(job.in_flight), str(self._answers(job))]
        return Command([sys.executable, "-m", "bench.runner.plain", *given])

    def check(self, job: Job) -> None:
        answers = json.loads(self._answers(job).read_text(encoding="utf-8"))
        right = sum(is_right(item, answers.get(item.id, "")) for item in read_items(job.items))
        _require(job, len(answers), right)

    def traces(self, job: Job) -> int | None:
        kept = [path.stat().st_size for path in job.folder.glob("answers.sqlite*")]
        return sum(kept) if kept else None

    def _answers(self, job: Job) -> Path:
        return job.folder / "answers.json"


def all_harnesses(inspect: str | None) -> list[Harness]:
    """Ours first; Inspect only where its Python is named, the checkpointer only where it is installed."""
    found: list[Harness] = [Ours(), *([Inspect(inspect)] if inspect else []), Plain(CLIENT), Plain(GRAPH)]
    try:
        saver = find_spec("langgraph.checkpoint.sqlite")
    except ModuleNotFoundError:
        saver = None
    return [*found, Plain(SAVED_GRAPH)] if saver else found


def _require(job: Job, answered: int, right: int) -> None:
    if not answered == right == job.trials:
        raise NotRightError(f"of {job.trials} trials {answered} were answered and {right} are right")
