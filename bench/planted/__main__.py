"""python -m bench.planted, from the project's root: makes both halves of the planted benchmark, runs and replays them,
and prints what attribution by replay and by trace are worth on each."""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from bench.figures import TableOf, print_tables
from rich.console import Console

HALVES = ("dev", "test")
METHODS = ("replay", "trace")

AIMS: dict[str, tuple[float | None, float | None]] = {
    "macro-F1 over causes": (0.85, None),
    "step exact": (0.60, None),
    "step within 1": (0.80, None),
    "cause and step": (0.50, None),
    "calibration error (ECE)": (None, 0.05),
    "pure sampling noise blamed on tools": (None, 0.10),
    "share error, points": (None, 1.0),
    "coverage of 90 % intervals": (0.85, 0.95),
    "the same, over samples of questions": (0.85, 0.95),
}
"""What attribution by replay is to reach, by the figures' names: at least, at most."""


def main() -> int:
    options = _parser().parse_args()
    folder = nullcontext(options.folder) if options.folder else tempfile.TemporaryDirectory(prefix="bench-planted-")
    with folder as place:
        rows = [row for half in options.half or HALVES for row in _half(Path(place), half, options)]
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    print_tables([_table(half, rows) for half in dict.fromkeys(row["half"] for row in rows)], Console(width=140))
    print("simulated models: what is measured is the attribution, and no model")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.planted", description=__doc__)
    add = parser.add_argument
    add("--questions", type=int, default=50, help="of each half (%(default)s)")
    add("--repeats", type=int, default=3, help="trials of each question and condition (%(default)s)")
    add("--half", action="append", choices=HALVES, help="only this one")
    add("--seed", type=int, default=0, help="of questions and lots (%(default)s)")
    add("--samples", type=int, default=2, help="answers asked for at once after a step (%(default)s)")
    add("--rollouts", type=int, default=1, help="runs of everything else at once (%(default)s)")
    add("--successes", type=float, default=0.5, help="share of right trials to replay (%(default)s)")
    add("--folder", type=Path, help="where to keep all that is made; what is there is not done again")
    add("--json", type=Path, help="a file for the figures")
    return parser


def _half(folder: Path, half: str, options: argparse.Namespace) -> list[dict[str, Any]]:
    place, start = folder / half, time.perf_counter()
    size = ["--questions", options.questions, "--repeats", options.repeats]
    _call("planted", "make", place, "--half", half, *size, "--seed", options.seed)
    _call("run", place / "plan.toml")
    store, ran = place / "runs" / f"planted-{half}.sqlite", time.perf_counter()
    design = ["--samples", options.samples, "--rollouts", options.rollouts, "--successes", options.successes]
    # Some replays cannot be made, where there is no placebo; it says so by 1.
    _call("attribute", store, "--replay", *design, "--seed", options.seed, "--json", allowed=(0, 1))
    replayed = time.perf_counter()
    rows = [
        {"half": half, "method": method, **json.loads(_call("planted", "score", store, "--method", method, "--json"))}
        for method in METHODS
    ]
    scored = time.perf_counter()
    print(
        f"{half}: ran in {ran - start:.0f} s, replayed in {replayed - ran:.0f} s, scored in {scored - replayed:.0f} s"
    )
    return rows


def _call(*arguments: object, allowed: tuple[int, ...] = (0,)) -> str:
    command = [sys.executable, "-m", "toolablate", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in allowed:
        sys.exit(f"{' '.join(command[2:])}: {done.stdout[-1000:]}{done.stderr[-2000:]}")
    return done.stdout


def _table(half: str, rows: list[dict[str, Any]]) -> TableOf:
    """One line for each figure, with its aim by replay."""
    by_method = {row["method"]: {each["what"]: each for each in row["figures"]} for row in rows if row["half"] == half}
    first = next(row for row in rows if row["half"] == half)
    lines = []
    for what, each in by_method["replay"].items():
        found = [_written(by_method[method].get(what, {}).get("found")) for method in METHODS]
        plain = [_written(each[key]) for key in ("at_best", "majority", "guessed")]
        lines.append((what, found[0], _aim(each), _met(each), found[1], *plain))
    title = f"{half}: {first['right'] + first['wrong']} trials with tools, {first['wrong']} of them wrong"
    return title, ("", "replay", "aim", "", "trace", "at best", "majority", "guess"), lines


def _written(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def _aim(figure: dict[str, Any]) -> str:
    low, high = (_written(each) for each in AIMS.get(figure["what"], (None, None)))
    if low and high:
        return f"{low} .. {high}"
    return f"≥ {low}" if low else f"≤ {high}" if high else ""


def _met(figure: dict[str, Any]) -> str:
    low, high = AIMS.get(figure["what"], (None, None))
    found = figure["found"]
    if found is None or (low is None and high is None):
        return ""
    return "met" if (low is None or found >= low) and (high is None or found <= high) else "NOT MET"


if __name__ == "__main__":
    raise SystemExit(main())
