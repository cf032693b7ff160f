"""python -m bench.kernels, from the project's root; `--help` names what can be chosen."""

import argparse
import asyncio
import json
import logging
import random
import sys
from dataclasses import asdict
from pathlib import Path

from bench.kernels.aims import LIVE
from bench.kernels.programs import RECORDED
from bench.kernels.run import measure
from bench.kernels.tables import print_report
from bench.kernels.ways import default_families, way_names
from rich.console import Console

from toolablate.sandbox import KernelUnavailable

_WIDTH = 170


def main() -> int:
    options = _parser().parse_args()
    logging.getLogger("traitlets").setLevel(logging.ERROR)
    random.seed(options.seed)
    try:
        names = way_names(options.ways.split(","))
    except KernelUnavailable as unavailable:
        print(f"{unavailable.message}\n  {unavailable.hint}", file=sys.stderr)
        return 2
    try:
        report = asyncio.run(measure(options, names, _say))
    except KeyboardInterrupt:
        print("stopped: no figures", file=sys.stderr)
        return 130
    print_report(report, Console(width=_WIDTH))
    if options.json:
        options.json.write_text(json.dumps(asdict(report), indent=1) + "\n", encoding="utf-8")
    return 1 if report.failed else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m bench.kernels",
        description="Isolated kernels beside a plain ipykernel: how fast, how small, how costly. 0 leaves a part out.",
    )
    add = parser.add_argument
    add("--ways", default=",".join(default_families()), help="separated by commas; default: %(default)s")
    add("--samples", type=_count, default=10, help="latency: samples of each kind and way (%(default)s)")
    add("--pool", type=_count, default=4, help="how many kernels a pool starts ahead (%(default)s)")
    add("--rounds", type=_count, default=2, help="throughput: rounds over all ways and concurrencies (%(default)s)")
    add("--concurrency", type=_counts, default=(1, 2, 4, 8), help="throughput: kernels at once (1,2,4,8)")
    add("--seconds", type=float, default=5.0, help="throughput: of each measurement (%(default)s)")
    add("--live", type=_count, default=LIVE, help="memory: idle kernels at once (%(default)s)")
    add("--steps", type=_count, default=20, help="where the time goes: kernels (%(default)s)")
    add("--programs", type=_count, default=100, help="TAT-QA: programs in the sample (%(default)s)")
    add("--workers", type=_count, default=4, help="TAT-QA: kernels at once (%(default)s)")
    add("--recorded", type=Path, default=RECORDED, help="TAT-QA: the recorded programs (see examples/tatqa/README.md)")
    add("--whole-example", action="store_true", help="TAT-QA: run the whole example with `toolablate run` as well")
    add("--row", type=_count, default=0, help="kernels in a row of the default backend, 2000 say (%(default)s)")
    add("--seed", type=int, default=0, help="of the order and of the sample (%(default)s)")
    add("--json", type=Path, help="write every sample to this file")
    return parser


def _count(text: str) -> int:
    number = int(text)
    if number < 0:
        raise ValueError(text)
    return number


def _counts(text: str) -> tuple[int, ...]:
    numbers = tuple(map(int, text.split(",")))
    if min(numbers) < 1:
        raise ValueError(text)
    return numbers


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
