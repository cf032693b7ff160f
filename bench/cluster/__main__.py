"""python -m bench.cluster, from the project's root; `--help` names what can be chosen."""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from bench.cluster.costs import Bench, Costs
from bench.cluster.kills import Kind, Report, kill_while_running, random_kinds
from bench.cluster.nodes import open_nodes
from bench.figures import Aim, aims_table, print_tables
from bench.runner.processes import serving
from bench.store.reading import load
from rich.console import Console

_TRIALS_PER_KILL = 6
# Without other kills: how soon a lost worker is noticed.
_TO_BE_NOTICED: tuple[Kind, ...] = ("worker",) * 3
_SIMULATED_WORKERS = 100
_SIMULATED_PER_SECOND = 60
_SIMULATED_TRIAL_SECONDS = 10
# A trial lasts as long as it takes and as it waits for its places in line and for the disk.
_WITH_WAITS = 1.3
_FAST_TRIALS = 500
# A million trials more then take a gigabyte, as what is planned of them does.
_FLAT_MB = 1.0


def main() -> int:
    options = _parser().parse_args()
    costs = report = None
    steady: dict[str, Any] = {}
    fast: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="bench-cluster-", dir=options.folder) as name:
        folder = Path(name)
        if options.simulate:
            per_trial, rate = _SIMULATED_TRIAL_SECONDS, _SIMULATED_PER_SECOND
            in_flight = int(per_trial * rate * _WITH_WAITS)
            steady = _simulated(folder, _SIMULATED_WORKERS, options.simulate * rate, in_flight, per_trial)
            steady["in_flight"] = in_flight
            fast = [_simulated(folder, 10, trials, 64, 0) for trials in (_FAST_TRIALS // 5, _FAST_TRIALS)]
        if options.trials or options.kills:
            with (
                tempfile.TemporaryDirectory(prefix="tr", dir="/tmp") as ray_folder,
                serving() as served,
                open_nodes(Path(ray_folder), 2) as nodes,
            ):
                if options.trials:
                    costs = Bench(nodes, served, folder, _say).measure(options.trials, options.alone)
                kinds = random_kinds(options.kills, options.seed) if options.kills else _TO_BE_NOTICED
                trials, place = _TRIALS_PER_KILL * len(kinds), folder / "kills"
                place.mkdir()
                report = kill_while_running(nodes, served, place, kinds, trials=trials, seed=options.seed, say=_say)
    aims = [*_of_costs(costs), *_of_kills(report), *_of_simulated(steady, fast)]
    print_tables([aims_table("Trials on a cluster", aims)], Console(width=140))
    for wrong in report.wrong if report else ():
        print(f"WRONG  {wrong}")
    print(load())
    if options.json:
        found = {"costs": costs and asdict(costs), "kills": report and _as_json(report), "steady": steady, "fast": fast}
        options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 1 if report and report.wrong else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m bench.cluster",
        description="Trials on a Ray cluster on this machine beside trials without one, and kills while a run goes on.",
    )
    add = parser.add_argument
    add(
        "--trials",
        type=int,
        default=1200,
        help="with four tools, here and there (%(default)s); 0: no costs, and without --kills no cluster",
    )
    add("--alone", type=int, default=40, help="of them one at a time (%(default)s)")
    add(
        "--kills",
        type=int,
        default=50,
        help="at random (%(default)s), about 14 s each; 0: three workers alone, for how soon they are missed",
    )
    add("--seed", type=int, default=0, help="of what is killed when (%(default)s)")
    add("--simulate", type=int, default=120, help="seconds of a hundred simulated workers (%(default)s); 0: none")
    add("--folder", type=Path, help="where stores are kept meanwhile; default: the folder for temporary files")
    add("--json", type=Path, help="write the figures to this file")
    return parser


def _simulated(folder: Path, workers: int, trials: int, in_flight: int, seconds: float) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="simulated-", dir=folder) as name:
        options = map(str, (name, workers, trials, in_flight, seconds))
        command = [sys.executable, "-m", "bench.cluster.simulated", *options]
        done = subprocess.run(command, cwd=Path(__file__).parents[2], stdout=subprocess.PIPE, text=True, check=True)
    seen: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    _say(f"simulated: {trials} trials in {seen['seconds']:.0f} s, {seen['cpu']:.1f} s of CPU, {seen['rss'][-1]:.0f} MB")
    return seen


def _of_costs(costs: Costs | None) -> Iterator[Aim]:
    if costs is None:
        return
    driver, in_all = costs.driver / costs.here, costs.in_all / costs.here
    added = (costs.pause_there - costs.pause_here) * 1000
    times = costs.rates[4] / costs.rates[1] if costs.rates[1] else 0.0
    yield Aim(
        "CPU of the driver for a trial with four tools, of one without a cluster",
        "<= .3",
        f"{driver:.2f}",
        driver <= 0.3,
    )
    yield Aim("CPU in all: of driver and workers", "<= 1.3", f"{in_all:.2f}", in_all <= 1.3)
    yield Aim("CPU of Ray's services meanwhile", "", f"{costs.services / costs.here:.2f}", met=True)
    yield Aim("added to a request, p50", "<= 20 ms", f"{added:.1f} ms", added <= 20)
    yield Aim("4 workers of 1, replies of 2 s, places full", ">= 3.8", f"{times:.2f}", times >= 3.8)


def _of_kills(report: Report | None) -> Iterator[Aim]:
    if report is None:
        return
    kills = ", ".join(f"{count} {kind}" for kind, count in sorted(report.kills.items()))
    yield Aim(
        f"lost, doubled, scored or damaged of {report.trials} trials ({kills} killed)",
        "0",
        str(len(report.wrong)),
        not report.wrong,
    )
    yield _latest("a lost worker that was ready is noticed, at the latest", report.noticed, 1)
    yield _latest("nothing of what was killed is left, at the latest", report.gone, 5)


def _latest(what: str, seconds: Sequence[float], most: float) -> Aim:
    """Not measured where there was nothing to see."""
    found = max(seconds, default=0.0)
    return Aim(what, f"<= {most:g} s", f"{found:.2f} s" if seconds else None, found <= most)


def _of_simulated(steady: dict[str, Any], fast: Sequence[dict[str, Any]]) -> Iterator[Aim]:
    if not steady:
        return
    few, many = fast
    per_second = (many["trials"] - few["trials"]) / (many["cpu"] - few["cpu"])
    yield Aim("50-event trials, for a second of CPU", ">= 100", f"{per_second:.0f}", per_second >= 100)
    done, rss = steady["done"], steady["rss"]
    # What trials in flight take is there once all of the first have ended, and others in their place.
    filled = min(2 * steady["in_flight"], steady["trials"] // 2)
    going = [second for second, count in enumerate(done) if filled <= count <= steady["trials"] * 0.95]
    first, last = going[0], going[-1]
    rate = (done[last] - done[first]) / max(last - first, 1)
    grown = statistics.linear_regression([done[each] / 1000 for each in going], [rss[each] for each in going]).slope
    yield Aim(
        "100 simulated workers, trials per second",
        f"{_SIMULATED_PER_SECOND}",
        f"{rate:.0f}",
        rate >= 0.95 * _SIMULATED_PER_SECOND,
    )
    cpu, most = steady["cpu"] / steady["trials"] * 1000, 1000 / _SIMULATED_PER_SECOND
    yield Aim("CPU of a trial of these, so that one core is enough", f"<= {most:.1f} ms", f"{cpu:.1f} ms", cpu <= most)
    yield Aim("memory for 1,000 trials more", f"<= {_FLAT_MB:g} MB", f"{grown:.1f} MB", grown <= _FLAT_MB)


def _as_json(report: Report) -> dict[str, Any]:
    """`asdict` makes the keys of a Counter pairs, which JSON has not."""
    return {each.name: getattr(report, each.name) for each in fields(report)}


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
