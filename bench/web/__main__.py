"""python -m bench.web, from the project's root; `--help` names what can be chosen."""

import argparse
import asyncio
import json
import os
import random
import statistics
import sys
import tempfile
import time
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from bench.web.ways import Call, Folder, Ours, from_table, from_warc, record
from rich.console import Console
from rich.table import Table

AIMS = {"p50": 0.5, "p99": 2.0}
"""Milliseconds of `browser_open` from the archive."""
OPEN, OPEN_UNHELD, SEARCH = "browser_open", "browser_open, no page held", "web_search"
WARC, TABLE = "warcio + trafilatura", "SQLite + trafilatura"


@dataclass(frozen=True, slots=True)
class Row:
    """Milliseconds of one call by the clock and, as `cpu_`, of processor time, which other programs disturb less."""

    what: str
    calls: int
    p50: float
    p99: float
    cpu_p50: float
    cpu_p99: float
    ratio: float | None = None


def main() -> int:
    options = _parser().parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-web-") as name:
        folder = Folder(Path(name), options.pages, options.queries)
        _say(f"recording {options.pages} pages and {options.queries} searches")
        asyncio.run(record(folder))
        size = sum(path.stat().st_size for path in folder.archive.rglob("*") if path.is_file())
        rows = asyncio.run(_measure(folder, options))
    _print(rows, size)
    if options.json:
        options.json.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n", encoding="utf-8")
    return 0


async def _measure(folder: Folder, options: argparse.Namespace) -> list[Row]:
    async with AsyncExitStack() as stack:
        held, unheld = (Ours(folder, stack, options.calls, held=held) for held in (True, False))
        searching = Ours(folder, stack, options.calls)
        rows = [
            await _timed(OPEN, held.open, options.calls, folder.pages),
            await _timed(OPEN_UNHELD, unheld.open, options.calls, folder.pages),
            await _timed(SEARCH, searching.search, options.calls, folder.queries),
            await _timed(WARC, from_warc(folder), options.slow_calls, folder.pages),
            await _timed(TABLE, from_table(folder, stack), options.slow_calls, folder.pages),
        ]
    base = rows[0].p50
    return [row if row.what == SEARCH else replace(row, ratio=row.p50 / base) for row in rows]


async def _timed(what: str, call: Call, calls: int, many: int) -> Row:
    """Calls one after the other, in random order; what is opened for the first time counts as all else does."""
    numbers = [number % many for number in range(calls)]
    random.Random(0).shuffle(numbers)
    times, cpu_times = [], []
    for number in numbers:
        started, cpu_started = time.perf_counter(), time.thread_time()
        await call(number)
        cpu_times.append((time.thread_time() - cpu_started) * 1000)
        times.append((time.perf_counter() - started) * 1000)
    _say(f"{what}: {calls} calls")
    return Row(what, calls, *_percentiles(times), *_percentiles(cpu_times))


def _percentiles(times: list[float]) -> tuple[float, float]:
    cuts = statistics.quantiles(times, n=100, method="inclusive")
    return cuts[49], cuts[98]


def _print(rows: list[Row], size: int) -> None:
    console = Console(width=110)
    table = Table("call", "calls", "p50, ms", "p99, ms", "CPU p50", "CPU p99", f"p50 / {OPEN}")
    for row in rows:
        ratio = "" if row.ratio is None else f"{row.ratio:.1f}"
        figures = (f"{figure:.3f}" for figure in (row.p50, row.p99, row.cpu_p50, row.cpu_p99))
        table.add_row(row.what, str(row.calls), *figures, ratio)
    console.print(table)
    console.print(
        f"archive: {size / 1e6:.1f} MB; load of the machine: {os.getloadavg()[0]:.1f} of {os.cpu_count()} cores"
    )
    for row in rows[:2]:
        for figure, aim in AIMS.items():
            value = getattr(row, figure)
            console.print(f"{row.what}: {figure} {value:.3f} ms, aim {aim} ms: {'met' if value <= aim else 'NOT MET'}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m bench.web", description="Pages and searches from a sealed archive: how fast."
    )
    add = parser.add_argument
    add("--pages", type=int, default=1_000, help="pages in the archive (%(default)s)")
    add("--queries", type=int, default=500, help="searches in the archive (%(default)s)")
    add("--calls", type=int, default=10_000, help="calls of each of our tools (%(default)s)")
    add("--slow-calls", type=int, default=300, help="calls of what extracts anew (%(default)s)")
    add("--json", type=Path, help="write the figures to this file")
    return parser


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
