"""python -m bench.store, from the project's root; `--help` names what can be chosen."""

import argparse
import json
import os
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

from bench.store.contents import write_plan
from bench.store.filling import Filled, fill, write_lines
from bench.store.reading import Figure, load, measure
from bench.store.sizes import AIM, InspectLog, bytes_by_table, write_inspect_log
from bench.store.sources import Sources, open_sources
from rich.console import Console
from rich.table import Table

_INSPECT = "TOOLABLATE_BENCH_INSPECT"


def main() -> int:
    options = _parser().parse_args()
    sources = open_sources(options.texts, unrelated=options.unrelated)
    with tempfile.TemporaryDirectory(prefix="bench-store-", dir=options.folder) as name:
        folder = Path(name)
        plan = write_plan(folder, sources, questions=options.questions, repeats=options.repeats)
        _say("writing the store")
        filled = fill(plan, folder / "store.db", sources, left=options.left)
        tables = bytes_by_table(folder / "store.db")
        log = _inspect(options, plan, folder, sources) if options.inspect else None
        _say("reading it")
        figures = measure(plan, folder / "store.db", left=options.left)
    console = Console(width=110)
    _print_sizes(console, filled, tables, log)
    _print_times(console, figures)
    if options.json:
        report = {
            "filled": asdict(filled),
            "bytes": tables,
            "inspect": asdict(log) if log else None,
            "figures": [asdict(figure) for figure in figures],
        }
        options.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    return 0


def _inspect(options: argparse.Namespace, plan: Path, folder: Path, sources: Sources) -> InspectLog:
    _say("writing an Inspect log")
    write_lines(folder / "lines.jsonl", plan, sources, most=options.samples)
    return write_inspect_log(options.inspect, folder / "lines.jsonl", folder / "log.eval")


def _print_sizes(console: Console, filled: Filled, tables: dict[str, int], log: InspectLog | None) -> None:
    console.print(
        f"{filled.trials:,} trials of {filled.events // filled.trials} events written:"
        f" {filled.events / filled.seconds:,.0f} events/s,"
        f" {1000 * filled.cpu_seconds / filled.trials:.2f} ms of CPU a trial"
    )
    table = Table("table, with its indexes", "MB", "bytes a trial")
    total = sum(tables.values())
    for name, size in [*tables.items(), ("all", total)]:
        if size / total > 0.005:
            table.add_row(name, f"{size / 1e6:.1f}", f"{size / filled.trials:.0f}")
    console.print(table)
    if log is not None:
        ours, theirs = total / filled.trials, log.bytes / log.samples
        scaled = "" if log.samples == filled.trials else f" (told from {log.samples:,} samples)"
        console.print(
            f"Inspect {log.version}: {theirs:,.0f} bytes a trial{scaled}; ratio {ours / theirs:.2f}, aim {AIM}:"
            f" {_met(ours <= AIM * theirs)}; it reads one sample in {log.read_ms:.1f} ms"
        )


def _print_times(console: Console, figures: list[Figure]) -> None:
    table = Table("what", "median, ms", "largest", "CPU, median", "aim", "")
    for figure in figures:
        values = (f"{value:,.1f}" for value in (figure.median, figure.largest, figure.cpu, figure.aim))
        table.add_row(figure.what, *values, _met(figure.met))
    console.print(table)
    console.print(load())


def _met(met: bool) -> str:
    return "met" if met else "NOT MET"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m bench.store", description="A store of many traces: how large it is and how fast it is read."
    )
    add = parser.add_argument
    add("--questions", type=int, default=500, help="(%(default)s), each for two models under two conditions")
    add("--repeats", type=int, default=50, help="of each (%(default)s)")
    add("--left", type=int, default=20, help="trials that the resumed run is to do (%(default)s)")
    add("--texts", type=Path, help="a folder with recorded outputs of models; without it texts are made up")
    add("--unrelated", action="store_true", help="texts of one trial have nothing in common: the hardest case for size")
    add(
        "--inspect",
        default=os.environ.get(_INSPECT),
        metavar="PYTHON",
        help=f"a Python that has inspect_ai; default: ${_INSPECT}, and without it Inspect is left out",
    )
    add("--samples", type=int, default=5_000, help="of the Inspect log (%(default)s)")
    add("--folder", type=Path, help="where the store is kept meanwhile; default: the folder for temporary files")
    add("--json", type=Path, help="write the figures to this file")
    return parser


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
