"""python -m bench.structural, from the project's root: makes questions of the structural model, serves it, runs and
replays the plan's trials, and prints what attribution is worth where every cause is known."""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from bench.figures import print_tables
from bench.structural.graph import BUDGET, FAILING
from bench.structural.questions import make_questions, write
from bench.structural.scoring import figures_of, tables_of
from bench.structural.server import Model, serving
from rich.console import Console

PLAN = """\
# Questions of the structural model, half "{half}", seed {seed}. The model is SIMULATED.
name = "structural"
repeats = {repeats}
seed = {seed}
{conditions}

[questions]
file = "questions.jsonl"

[budget]
turns = {turns}
tool_calls = {calls}

[search]
provider = "corpus"
corpus = "corpus.jsonl"

[sandbox]
pool = 2

[runner]
kernels = 2

[[models]]
provider = "openai"
name = "structural"
endpoint = "{endpoint}"
price = {{ input = 0, output = 0 }}
concurrency = 8
"""

REQUESTS = "requests.json"


def main() -> int:
    options = _parser().parse_args()
    place = nullcontext(options.folder) if options.folder else tempfile.TemporaryDirectory(prefix="bench-structural-")
    with place as folder:
        figures = _measured(Path(folder), options)
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    print_tables(tables_of(figures), Console(width=160))
    print("a simulated model: what is measured is the attribution, and no model")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.structural", description=__doc__)
    add = parser.add_argument
    add("--questions", type=int, default=24, help="(%(default)s)")
    add("--repeats", type=int, default=2, help="trials of each question and condition (%(default)s)")
    add("--seed", type=int, default=1, help="of questions, pages and draws (%(default)s)")
    add("--half", choices=("dev", "test"), default="dev", help="of the templates (%(default)s)")
    add("--toolset", choices=("python", "search", "all"), default="all", help="(%(default)s)")
    add("--forcing", type=float, default=0.2, help="share of right answers lost when forced at once (%(default)s)")
    add("--ladder", action="store_true", help="with the arms between no tools and all tools")
    add("--no-replay", action="store_true", help="rules over traces alone")
    add("--samples", type=int, default=2, help="answers asked for at once after a step (%(default)s)")
    add("--rollouts", type=int, default=1, help="runs of everything else at once (%(default)s)")
    add("--successes", type=float, default=0.5, help="share of right trials to replay (%(default)s)")
    add("--folder", type=Path, help="where to keep all that is made; trials that are there are not run again")
    add("--json", type=Path, help="a file for the figures")
    return parser


def _measured(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    questions = make_questions(options.questions, options.seed, options.toolset, options.forcing)
    write(folder, questions, options.half, options.seed)
    earlier, store = _earlier(folder / REQUESTS), folder / "structural.sqlite"
    model, begun = Model(questions, options.half, options.seed, earlier["equal"]), time.perf_counter()
    with serving(model, _port(folder)) as endpoint:
        text = PLAN.format(
            half=options.half,
            seed=options.seed,
            repeats=options.repeats,
            conditions=_conditions(options.toolset, ladder=options.ladder),
            turns=BUDGET + 4,
            calls=BUDGET,
            endpoint=endpoint,
        )
        (folder / "plan.toml").write_text(text, encoding="utf-8")
        _call("run", folder / "plan.toml", "--store", store)
        before, ran = model.asked, time.perf_counter()
        design = ["--samples", options.samples, "--rollouts", options.rollouts, "--successes", options.successes]
        replay = (
            [] if options.no_replay else ["--replay", *design, "--seed", options.seed, "--plan", folder / "plan.toml"]
        )
        # Some replays cannot be made, where there is no placebo; it says so by 1.
        found = json.loads(_call("attribute", store, *replay, "--json", allowed=(0, 1)))
        replayed = time.perf_counter()
    now = {"equal": model.equal, "replayed": earlier["replayed"] + model.asked - before}
    (folder / REQUESTS).write_text(json.dumps(now), encoding="utf-8")
    (folder / "attributed.json").write_text(json.dumps(found, indent=1), encoding="utf-8")
    print(f"ran in {ran - begun:.0f} s, {before} requests; replayed in {replayed - ran:.0f} s, {model.asked - before}")
    asked = now["replayed"] or None
    return figures_of(store, questions, found, asked=asked, toolset=options.toolset, seed=options.seed)


def _conditions(toolset: str, *, ladder: bool) -> str:
    fails = f'interventions = [{{ name = "fail", options = {{ rate = {FAILING} }} }}]'
    flaky = f'{{ name = "flaky", base = "{toolset}", {fails} }}'
    if not ladder:
        return f'conditions = ["none", "{toolset}", {flaky}]'
    arms = 'arms = ["offered", "sham", "placebo"]'
    return f'conditions = ["none", {flaky}]\nladder = [{{ name = "{toolset}", {arms} }}]'


def _earlier(path: Path) -> dict[str, Any]:
    """The requests of earlier runs in one folder."""
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"equal": {}, "replayed": 0}


def _port(folder: Path) -> int:
    """The same for one folder, since an endpoint is a part of the model's identity in the store."""
    plan = folder / "plan.toml"
    if plan.exists():
        line = next(line for line in plan.read_text(encoding="utf-8").splitlines() if line.startswith("endpoint"))
        return int(line.split(":")[2].split("/")[0])
    return 0


def _call(*arguments: object, allowed: tuple[int, ...] = (0,)) -> str:
    command = [sys.executable, "-m", "toolablate", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in allowed:
        sys.exit(f"{' '.join(command[2:])}: {done.stdout[-1000:]}{done.stderr[-2000:]}")
    return done.stdout


if __name__ == "__main__":
    raise SystemExit(main())
