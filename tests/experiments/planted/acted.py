"""A run of a model that acts out one scenario of each kind, its replays, and what came of both."""

import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.experiments.replay.scenes import run

from toolablate.agents.simulated.planted.wording import answer_of
from toolablate.analysis.from_store import observe
from toolablate.experiments.attribution.planned_replays import first_round
from toolablate.experiments.attribution.replay_evidence import outcomes_of
from toolablate.experiments.attribution.sampled_trials import choose
from toolablate.experiments.planted.truth import Truth, truth_of
from toolablate.experiments.replay.batch import replay_many
from toolablate.traces.records import Message, Question, ReplayDesign, ReplayPurpose, Trace
from toolablate.traces.store import Store

REPEATS = 8
DESIGN = ReplayDesign(failures=1, successes=1, samples=5, rollouts=8, steps="all")
RIGHT = "B"
PRIOR = {"A": 0.0, "B": 1.6, "C": 0.2, "D": 0.0}


def code(text: str) -> dict[str, str]:
    return {"kind": "code", "text": text}


def turn(*calls: dict[str, str], **more: Any) -> dict[str, Any]:
    return {"says": ["Let me see.", "I look into it."], "calls": list(calls), **more}


def holds(kind: str, phrase: str, **moves: float) -> dict[str, Any]:
    return {"kind": kind, "phrase": phrase, "moves": moves}


def fails(kind: str, **moves: float) -> dict[str, Any]:
    return {"kind": kind, "when": "fail", "moves": moves}


READ = {
    "turns": [
        turn({"kind": "query", "text": "turbine startup sequence"}),
        turn({"kind": "open", "text": "https://manuals.test/turbine"}),
    ],
    "reactions": [holds("open", "always purge twice", C=2.0)],
    "offered": {"B": -0.2},
}
COMPUTED = {
    "turns": [
        turn(code("total = sum(range(7))"), commits={"C": 0.8}),
        turn(code("print('finite total', total)")),
    ],
    "reactions": [holds("code", "finite total 21", C=1.5, B=-0.4)],
    "called": {"A": 0.2},
    "offered": {"B": 0.3},
}
BROKEN_OFF = {
    "turns": [
        turn(code("print('part one')"), commits={"D": 2.6}),
        turn(code("print('part two')"), code("print('part three')")),
        turn(code("1 / 0")),
        turn(code("print('all parts agree')")),
    ],
    "reactions": [
        holds("code", "all parts agree", D=-3.0, B=0.5),
        fails("code", A=0.6),
        holds("code", "part three", A=0.5),
    ],
}
NEEDS_IT = {
    "turns": [turn(code("print('gauge reads 7')")), turn(code("print('valve reads 3')"))],
    "reactions": [holds("code", "gauge reads 7", B=1.5), holds("code", "valve reads 3", B=0.7), fails("code", C=1.8)],
}
SCENARIOS: Mapping[str, dict[str, Any]] = {
    "locked": {"scripts": {"code": COMPUTED}, "ignore_tools": 0.25, "prompted": {"D": 0.3}},
    "short": {"scripts": {"code": BROKEN_OFF}},
    "needs": {"scripts": {"code": NEEDS_IT}},
    "formless": {"scripts": {"code": NEEDS_IT}, "loses_format": 0.4},
    "both": {"scripts": {"code": COMPUTED, "search": READ}},
    "untouched": {},
}

_FAIL = '{ name = "fail", options = { rate = 0.5 } }'
_PLAN = f"""\
repeats = {REPEATS}
ladder = [
    {{ name = "python", arms = ["offered", "sham", "placebo"] }},
    {{ name = "all", arms = ["offered", "sham", "placebo"] }},
    {{ name = "flaky", base = "python", arms = ["sham", "placebo"], interventions = [{_FAIL}] }},
]
[questions]
file = "questions.jsonl"
[budget]
turns = 5
tool_calls = 3
[search]
provider = "corpus"
corpus = "corpus.jsonl"
[[models]]
provider = "simulated"
name = "acting"
scenarios = "scenarios.jsonl"
"""


@dataclass(frozen=True)
class Acted:
    """`replayed` are the letters of replays, by trial and purpose; `told` those of planned trials, by question and
    condition."""

    store: Path
    truth: Truth
    traces: Mapping[str, Trace]
    told: Mapping[tuple[str, str], list[str]]
    replayed: Mapping[str, Mapping[ReplayPurpose, list[str]]]


def write_plan(folder: Path) -> Path:
    texts = ("the inlet", "the outlet", "the bypass", "none of these")
    lines = [
        {"id": name, "prompt": f"Of plant {name}: which valve is first?", "choices": texts, "answer": RIGHT}
        for name in SCENARIOS
    ]
    _write(folder / "questions.jsonl", lines)
    _write(
        folder / "scenarios.jsonl",
        [{"question": name, "prior": PRIOR, **scenario} for name, scenario in SCENARIOS.items()],
    )
    pages = [("turbine", "Turbine startup", "On every turbine startup sequence always purge twice before ignition.")]
    pages += [
        (f"p{n}", f"Plant report {n}", f"Which valve of plant {n} was first in year {1990 + n}.") for n in range(8)
    ]
    _write(
        folder / "corpus.jsonl",
        [
            {"id": name, "url": f"https://manuals.test/{name}", "title": title, "text": text}
            for name, title, text in pages
        ],
    )
    plan = folder / "plan.toml"
    plan.write_text(_PLAN, encoding="utf-8")
    return plan


def act(folder: Path) -> Acted:
    """Runs the plan and, of each condition with tools, all of round one for the first repeat of each question."""
    store = run(write_plan(folder))
    with Store(store) as opened:
        truth = truth_of(opened)
        traces = {trace.trial.id: trace for trace in opened.traces()}
        first = [each.trial for each in truth.trials if traces[each.trial].trial.repeat == 0]
        chosen = {each.case.trial: each for each in choose(opened, DESIGN, observe(opened)) if each.case.trial in first}
    replay_many(store, [request for each in chosen.values() for request in first_round(each, DESIGN)])
    told: dict[tuple[str, str], list[str]] = defaultdict(list)
    with Store(store) as opened:
        for trace in traces.values():
            question, condition = opened.question(trace.trial.question), opened.condition(trace.trial.condition)
            told[question.id, condition.name].append(letter(trace, question))
        found = opened.counterfactuals()
        replayed = {
            trial: {
                purpose: [
                    letter(opened.trace(run.trial), opened.question(traces[trial].trial.question)) for run in runs
                ]
                for purpose, runs in outcomes_of(each.case, found[trial]).items()
            }
            for trial, each in chosen.items()
        }
    return Acted(store, truth, traces, told, replayed)


def letter(trace: Trace, question: Question) -> str:
    """Of an answer in whatever form."""
    found = answer_of([Message(role="assistant", content=trace.answer or "")], question)
    assert found is not None, trace
    return found


def _write(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
