"""python -m bench.cluster, from the project's root; `--help` names what can be chosen."""

import argparse
import json
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

from bench.cluster.kills import Report, kill_while_running, random_kinds
from bench.cluster.nodes import open_nodes
from bench.runner.processes import serving
from bench.store.reading import load

TRIALS_PER_KILL = 6


def main() -> int:
    options = _parser().parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="bench-cluster-", dir=options.folder) as name,
        tempfile.TemporaryDirectory(prefix="tr", dir="/tmp") as ray_folder,
        serving() as served,
        open_nodes(Path(ray_folder), 2) as nodes,
    ):
        kinds = random_kinds(options.kills, options.seed)
        trials = TRIALS_PER_KILL * len(kinds)
        report = kill_while_running(nodes, served, Path(name), kinds, trials=trials, seed=options.seed, say=_say)
    _print_kills(report)
    if options.json:
        options.json.write_text(json.dumps(asdict(report), indent=1) + "\n", encoding="utf-8")
    return 1 if report.wrong else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m bench.cluster",
        description="Kills workers, nodes and drivers of a Ray cluster on this machine while a run goes on.",
    )
    add = parser.add_argument
    add("--kills", type=int, default=50, help="at random (%(default)s); about 10 s each")
    add("--seed", type=int, default=0, help="of what is killed when (%(default)s)")
    add("--folder", type=Path, help="where the store is kept meanwhile; default: the folder for temporary files")
    add("--json", type=Path, help="write the figures to this file")
    return parser


def _print_kills(report: Report) -> None:
    kills = ", ".join(f"{kind} {count}" for kind, count in sorted(report.kills.items()))
    lost = ", ".join(f"{code} {count}" for code, count in report.lost.items()) or "none"
    print(f"{report.kills.total()} kills ({kills}) in {report.seconds:.0f} s and {report.runs} runs")
    print(f"{report.trials} trials; attempts that were lost: {lost}")
    print(f"nothing of what was killed was left after {max(report.gone, default=0):.2f} s at most")
    for wrong in report.wrong:
        print(f"WRONG  {wrong}")
    print(load())


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
