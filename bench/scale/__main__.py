"""python -m bench.scale, from the project's root; `--help` names what can be chosen."""

import argparse
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.store.contents import conversation
from bench.store.copying import fill_by_copying
from bench.store.filling import letter_of
from bench.store.reading import load
from bench.store.sources import Sources, open_sources
from bench.viewer.contents import write_questions
from rich.console import Console
from rich.table import Table

from toolablate.benchmarks.prompt import render
from toolablate.experiments.plans.plan import PlannedTrial
from toolablate.traces.records import Event

ARMS = 4
"""Two models, with and without a tool."""

_PLANNING = """
import gc, sys
from pathlib import Path
from toolablate.cli import _COLLECTED_AFTER
gc.set_threshold(*_COLLECTED_AFTER)
from bench.store.filling import plan_run
from toolablate.experiments.plans.plan import design, load_plan
from toolablate.traces.store import Recorder
plan, text = load_plan(Path(sys.argv[1]))
planned = design(plan)
with Recorder(sys.argv[2]) as recorder:
    plan_run(recorder, plan, text, planned)
"""


@dataclass(frozen=True, slots=True)
class Figure:
    """A process from its start to its end: seconds by the clock and of processor time, the largest resident set in GB;
    with what is aimed at. Aims are of processor time, which others on the machine change less."""

    what: str
    seconds: float
    cpu: float
    gigabytes: float
    aim_cpu: float
    aim_gigabytes: float | None = None

    @property
    def met(self) -> bool:
        return self.cpu <= self.aim_cpu and self.gigabytes <= (self.aim_gigabytes or self.gigabytes)


def main() -> int:
    options = _parser().parse_args()
    sources, found = open_sources(options.texts), []
    if options.folder:
        options.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="bench-scale-", dir=options.folder) as name:
        folder = Path(name)
        plan, store = _plan(folder, sources, options.trials), folder / "store.db"
        scale = options.trials / 1_000_000
        _say(f"planning {options.trials:,} trials")
        command = [sys.executable, "-c", _PLANNING, str(plan), str(folder / "planned.db")]
        found.append(_measured("plan", command, cpu=25 * scale, gigabytes=1))
        (folder / "planned.db").unlink()
        _fill(plan, store, sources)
        program = [sys.executable, "-m", "toolablate"]
        resume = [*program, "run", str(plan), "--store", str(store)]
        found.append(_measured("run, nothing left", resume, cpu=30 * scale))
        found.append(_measured("compare", [*program, "compare", str(store)], cpu=60 * scale, gigabytes=2))
        few = min(options.trials, options.attribute)
        if few < options.trials:
            store.unlink()
            _fill(_plan(folder, sources, few), store, sources)
        # What is read of traces is kept among the user's caches: nothing has been read before.
        environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache")}
        for what in ("attribute, by trace", "attribute again"):
            attribute = [*program, "attribute", str(store)]
            found.append(_measured(f"{what}: {few:,}", attribute, cpu=60 * few / 100_000, environment=environment))
    _print(found, options.trials)
    if options.json:
        options.json.write_text(json.dumps([asdict(each) for each in found], indent=1) + "\n", encoding="utf-8")
    return 0


def _fill(plan: Path, store: Path, sources: Sources) -> None:
    """In a process of its own: the memory of this one counts as that of those which it starts."""
    _say("writing the store")
    began = time.perf_counter()
    fork = multiprocessing.get_context("fork")
    filling = fork.Process(target=fill_by_copying, args=(plan, store, sources), kwargs={"make": events})
    filling.start()
    filling.join()
    assert filling.exitcode == 0
    _say(f"{store.stat().st_size / 1e9:.1f} GB in {time.perf_counter() - began:.0f} s")


def _plan(folder: Path, sources: Sources, trials: int) -> Path:
    questions = min(5_000, max(trials // ARMS, 1))
    write_questions(folder, sources, questions)
    models = "".join(
        f'[[models]]\nprovider = "simulated"\nname = "model-{name}"\nseed = {seed}\n'
        for seed, name in enumerate(("one", "two"))
    )
    plan = folder / "plan.toml"
    plan.write_text(
        f'name = "bench-scale"\nbaseline = "none"\nrepeats = {max(trials // (questions * ARMS), 1)}\n'
        f'conditions = ["none", "python"]\n[questions]\nfile = "questions.jsonl"\n{models}',
        encoding="utf-8",
    )
    return plan


def events(entry: PlannedTrial, sources: Sources) -> list[Event]:
    """Twenty with a tool, else a question and an answer."""
    about, turns = sources.about(entry.question.id), 9 if entry.condition.tools else 0
    prompt = render(entry.question)
    return conversation(prompt, entry.condition.prompt, letter_of(entry), about, entry.trial.id, turns=turns)


def _measured(
    what: str,
    command: Sequence[str],
    *,
    cpu: float,
    gigabytes: float | None = None,
    environment: Mapping[str, str] | None = None,
) -> Figure:
    began = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, command
    took = time.perf_counter() - began
    figure = Figure(what, took, used.ru_utime + used.ru_stime, used.ru_maxrss / 1e6, cpu, gigabytes)
    _say(f"{what}: {figure.seconds:.1f} s, {figure.cpu:.1f} s of CPU, {figure.gigabytes:.2f} GB")
    return figure


def _print(found: Sequence[Figure], trials: int) -> None:
    console = Console(width=110)
    table = Table(f"{trials:,} trials", "s", "s of CPU", "aim", "GB", "aim", "")
    for each in found:
        pairs = (each.cpu, each.aim_cpu), (each.gigabytes, each.aim_gigabytes)
        cells = [cell for value, aim in pairs for cell in (f"{value:,.2f}", "" if aim is None else f"{aim:g}")]
        table.add_row(each.what, f"{each.seconds:,.1f}", *cells, "met" if each.met else "NOT MET")
    console.print(table)
    console.print(load())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m bench.scale",
        description="A store of very many trials: planning it, resuming it, comparing and attributing.",
    )
    add = parser.add_argument
    add("--trials", type=int, default=1_000_000, help="(%(default)s); aims of seconds are in proportion")
    add("--attribute", type=int, default=100_000, help="at most so many trials are attributed (%(default)s)")
    add("--texts", type=Path, help="a folder with recorded outputs of models; without it texts are made up")
    add("--folder", type=Path, help="where the store is meanwhile (4 GB for a million trials)")
    add("--json", type=Path, help="write the figures to this file")
    return parser


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
