"""python -m bench.runner, from the project's root; `--help` names what can be chosen."""

import argparse
import json
import os
import random
import sys
from dataclasses import asdict
from pathlib import Path

from bench.runner.harnesses import Inspect, NotRightError, all_harnesses
from bench.runner.records import INSPECT, OURS
from bench.runner.run import measure
from bench.runner.tables import print_report
from rich.console import Console

_WIDTH = 230
_INSPECT = "TOOLABLATE_BENCH_INSPECT"


def main() -> int:
    parser = _parser()
    options = parser.parse_args()
    random.seed(options.seed)
    harnesses = all_harnesses(options.inspect)
    known = [harness.name for harness in harnesses]
    ways = options.ways.split(",") if options.ways else known
    if unknown := [name for name in ways if name not in known]:
        parser.error(f"--ways: {', '.join(unknown)}: here there are {', '.join(known)}; {INSPECT} needs --inspect")
    chosen = [harness for harness in harnesses if harness.name in ways]
    try:
        for harness in chosen:
            if isinstance(harness, Inspect):
                harness.version()
    except NotRightError as error:
        parser.error(f"--inspect: {error}")
    try:
        report = measure(options, chosen, _say)
    except KeyboardInterrupt:
        print("stopped: no figures", file=sys.stderr)
        return 130
    print_report(report, Console(width=_WIDTH))
    if options.json:
        options.json.write_text(json.dumps(asdict(report), indent=1) + "\n", encoding="utf-8")
    return 1 if report.failed else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m bench.runner",
        description="What a trial costs, beside Inspect AI, the openai client alone and a bare LangGraph loop.",
    )
    add = parser.add_argument
    add("--trials", type=_several, default=1000, help="of each run, at least 2 (%(default)s)")
    add("--rounds", type=_count, default=3, help="runs of each harness and kind (%(default)s); 0 leaves them out")
    add("--concurrency", type=_positive, default=64, help="trials in flight (%(default)s)")
    add(
        "--inspect",
        default=os.environ.get(_INSPECT),
        metavar="PYTHON",
        help=f"a Python that has inspect_ai; default: ${_INSPECT}, and without it Inspect is left out",
    )
    add("--ways", help="harnesses, separated by commas; default: all there are")
    add("--in-flight", type=_count, default=500, help="trials in flight against a slow server (%(default)s); 0: none")
    add("--flight-trials", type=_positive, default=5000, help="how many of them in all (%(default)s)")
    add("--flight-ways", default=OURS, help="harnesses, separated by commas (%(default)s)")
    add("--latency", type=float, default=2.0, help="seconds of the slow server (%(default)s)")
    add("--seconds", type=float, default=600.0, help="the most that one command may take (%(default)s)")
    add("--folder", type=Path, help="where stores and logs are kept meanwhile; default: the folder for temporary files")
    add("--seed", type=int, default=0, help="of the order (%(default)s)")
    add("--json", type=Path, help="write every sample to this file")
    return parser


def _count(text: str) -> int:
    number = int(text)
    if number < 0:
        raise ValueError(text)
    return number


def _positive(text: str) -> int:
    number = _count(text)
    if number == 0:
        raise ValueError(text)
    return number


def _several(text: str) -> int:
    """A run of one trial is what a harness takes to start."""
    number = _count(text)
    if number < 2:
        raise ValueError(text)
    return number


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
