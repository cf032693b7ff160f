"""python -m bench.real_traces, from the project's root: real flips with the labels of two readers, and what the trace
rules say of them."""

import argparse
import json
import os
import sys
import tempfile
from contextlib import nullcontext
from pathlib import Path

from bench.figures import print_tables
from bench.real_traces.scoring import (
    LABELS,
    READERS,
    figures_of,
    read_labels,
    said_by_attribute,
    said_by_rules,
    tables_of,
)
from bench.real_traces.sets import SETS, draw_all, make_store, read_drawn, write_drawn
from bench.real_traces.sheets import write_sheets
from rich.console import Console

HALVES = ("dev", "test")


def main() -> int:
    options = _parser().parse_args()
    flips = read_drawn()
    files = {reader: options.labels / f"{reader}.jsonl" for reader in READERS}
    labels = {reader: read_labels(path, flips) for reader, path in files.items() if path.exists()}
    if not labels and not options.draw and not options.sheets:
        print(f"No reader has labelled these flips yet: {' and '.join(map(str, files.values()))} are not there.")
        return 0
    place = nullcontext(options.folder) if options.folder else tempfile.TemporaryDirectory(prefix="bench-real-")
    with place as folder:
        stores = {name: make_store(name, options.data, Path(folder) / name) for name in SETS}
        if options.draw:
            write_drawn(draw_all(stores))
        if options.sheets:
            write_sheets(read_drawn(), stores, options.sheets)
        if not labels or options.draw or options.sheets:
            return 0
        flips = [flip for flip in flips if flip.half == options.half]
        said: dict[str, dict[str, str]] = {"attribute": {}, "rules alone": {}}
        for name, store in stores.items():
            own = [flip for flip in flips if flip.set == name]
            said["attribute"] |= said_by_attribute(own, store)
            said["rules alone"] |= said_by_rules(own, store)
    figures = {"half": options.half, **figures_of(flips, labels, said)}
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    print(f"{len(flips)} flips, half {options.half}")
    print_tables(tables_of(figures), Console(width=200))
    for method, (blamed, pairs) in figures["null_cases_blamed_on_tools"].items():
        print(f"{method}: {blamed} of {pairs} pairs without tools are blamed on a tool")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.real_traces", description=__doc__)
    add, data = parser.add_argument, os.environ.get("TOOLABLATE_DATA", "../shared/data")
    add("--data", type=Path, default=Path(data), help="the folder of the recorded data (%(default)s)")
    add("--half", choices=HALVES, default="dev", help="rules may be tuned on dev only (%(default)s)")
    add("--labels", type=Path, default=LABELS, help="the folder of reader1.jsonl and reader2.jsonl (%(default)s)")
    add("--folder", type=Path, help="where to keep the stores; trials that are there are not run again")
    add("--sheets", type=Path, help="write what a reader needs to this file, and score nothing")
    add("--draw", action="store_true", help="draw the flips anew: labels of others are void then")
    add("--json", type=Path, help="a file for the figures")
    return parser


if __name__ == "__main__":
    sys.exit(main())
