"""python -m bench.viewer, from the project's root; `--help` names what can be chosen."""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

from bench.store.reading import load
from bench.store.sources import open_sources
from bench.viewer.contents import ARMS
from bench.viewer.figure import Figure
from bench.viewer.filling import LONG_TURNS, add, prepare
from bench.viewer.indexing import measure_index
from bench.viewer.serving import Viewer, addresses, measure_pages, viewing
from rich.console import Console
from rich.table import Table

from toolablate.analysis.selection import Selection
from toolablate.viewer.index import ViewerIndex
from toolablate.viewer.selection import questions_address

_PATIENCE_MS = 180_000.0
INSPECT = "TOOLABLATE_BENCH_INSPECT"


def main() -> int:
    options = _parser().parse_args()
    if options.tasks:
        return _do_tasks(options.tasks)
    sources = open_sources(options.texts)
    with tempfile.TemporaryDirectory(prefix="bench-viewer-", dir=options.folder) as name:
        folder = Path(name)
        _say("writing the store")
        kept = prepare(options.store or folder / "kept", sources, questions=options.questions, repeats=options.repeats)
        store = folder / kept.name
        for path in kept.parent.glob("*.*"):
            shutil.copy(path, folder)
        long_trial = add(store, sources, 1, turns=LONG_TURNS)
        _say("making the index")
        found = {"index": measure_index(store, folder / "index.db", sources)}
        index = ViewerIndex.open(folder / "index.db")
        kinds = addresses(index.facets(), index.questions(Selection()).pages)
        _say("asking for pages")
        with viewing(store, folder / "cache") as viewer:
            started = viewer.started
            found["pages"] = measure_pages(viewer, kinds, long_trial)
            if options.inspect:
                _say("in a browser, beside Inspect View")
                found["browser"] = _browse(viewer, options, kept.with_name("inspect"))
        size = (folder / "index.db").stat().st_size / 1e6
    _print(found, started, size)
    if options.json:
        report = {what: [asdict(each) for each in figures] for what, figures in found.items()}
        options.json.write_text(json.dumps(report | {"started": started, "index_mb": size}, indent=1) + "\n")
    return 0


def _do_tasks(store: Path) -> int:
    """1 where a task takes more clicks or keys than is aimed at."""
    from bench.viewer.browsing import browser
    from bench.viewer.tasks import LABELLING, reading_tasks, stopped

    with tempfile.TemporaryDirectory(prefix="bench-viewer-") as name, browser() as opened:
        folder = Path(name)
        own = Path(shutil.copy(store, folder))
        drawn = folder / "queue.json"
        command = ("labels", "queue", own, "--by", "condition", "--each", "20", "--people", "ada", "-o", drawn)
        subprocess.run([sys.executable, "-m", "toolablate", *map(str, command)], check=True, stdout=subprocess.DEVNULL)
        found = []
        for tasks, more in ((reading_tasks(own), ()), ([LABELLING], ("--queue", drawn, "--person", "ada"))):
            with viewing(own, folder / "cache", *more) as viewer, opened.new_context(accept_downloads=True) as context:
                page = context.new_page()
                page.goto(viewer.url)
                if not more:
                    page.locator("table.attributed").wait_for(timeout=_PATIENCE_MS)
                found += [stopped(task, page, viewer.url.partition("/?")[0]) for task in tasks]
    table = Table("task", "clicks", "aim", "keys", "aim", "seconds", "")
    for each in found:
        aims = ["" if aim is None else str(aim) for aim in (each.task.clicks, each.task.keys)]
        said = "met" if each.met else "NOT MET"
        table.add_row(each.task.what, str(each.clicks), aims[0], str(each.keys), aims[1], f"{each.seconds:.1f}", said)
    Console(width=110).print(table)
    return 0 if all(each.met for each in found) else 1


def _browse(viewer: Viewer, options: argparse.Namespace, log: Path) -> list[Figure]:
    from bench.viewer.browsing import browser, first_rows, inspect_rows

    trials = options.questions * ARMS * options.repeats
    url = viewer.url.partition("/?")[0] + questions_address(Selection())
    with browser() as opened:
        ours = first_rows(opened, f"toolablate view, {trials:,} trials", url, "q0", letting_in=viewer.url)
        return [ours, inspect_rows(opened, options.inspect, trials, log)]


def _print(found: dict[str, list[Figure]], started: float, size: float) -> None:
    console = Console(width=110)
    for what, figures in found.items():
        table = Table(what, "p50, ms", "p95", "largest", "CPU, mean", "times", "aim", "")
        for each in figures:
            values = (f"{value:,.1f}" for value in (each.p50, each.p95, each.largest, each.cpu))
            aim = ("", "") if each.aim is None else (f"{each.aim:,.0f}", "met" if each.met else "NOT MET")
            table.add_row(each.what, *values, str(each.count), *aim)
        console.print(table)
    console.print(f"`toolablate view` has tables to show after {started:.1f} s; the index has {size:.1f} MB")
    console.print(load())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m bench.viewer",
        description="A viewer of many trials: how soon it is there, how fast its pages are.",
    )
    add = parser.add_argument
    add("--questions", type=int, default=5000, help="(%(default)s), each for two models under five conditions")
    add("--repeats", type=int, default=2, help="of each (%(default)s)")
    add("--store", type=Path, metavar="FOLDER", help="keep the store and the Inspect log there, and use them again")
    add("--texts", type=Path, help="a folder with recorded outputs of models; without it texts are made up")
    add(
        "--inspect",
        default=os.environ.get(INSPECT),
        metavar="PYTHON",
        help=f"a Python that has inspect_ai; default: ${INSPECT}, and without it no browser is opened",
    )
    add(
        "--tasks",
        type=Path,
        metavar="STORE",
        help="only count clicks, keys and seconds of what people do with the pages of this store, in Chromium",
    )
    add("--folder", type=Path, help="where all else is kept meanwhile; default: the folder for temporary files")
    add("--json", type=Path, help="write the figures to this file")
    return parser


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
