"""Findings made by hand: of as many models and conditions as are wanted, under names of one's choice."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from tests.analysis.ladder_arms import graded, ladder_conditions
from tests.reports.attribution.samples import decomposition

from toolablate.analysis.arms import ladders
from toolablate.analysis.comparison import compare
from toolablate.analysis.effect import accuracy
from toolablate.analysis.findings import ArmScore, Findings, FlipMatrix, Why
from toolablate.analysis.flips import floors
from toolablate.analysis.ladder import waterfalls
from toolablate.analysis.selection import Ending
from toolablate.traces.store.summaries import TrialSummary

HOSTILE = "m\x1b]0;x\x07<script>alert(1)</script>\u202e$_a^b$ & \"'/../x"
DOMAINS = ("law", "medicine", "")


@dataclass(frozen=True, slots=True)
class Arm:
    model: str
    condition: str
    endings: dict[Ending, int]


def summaries(models: Sequence[str], conditions: Sequence[str], questions: int = 60) -> list[TrialSummary]:
    """Two repeats each, of which the condition named last is right less often than others."""
    found = []
    for place, model in enumerate(models):
        chances = {name: [0.3 if name == conditions[-1] else 0.7] * questions for name in conditions}
        for repeat in (0, 1):
            for seen in graded(chances, 10 * place + repeat, model=model, repeats=1):
                domain = DOMAINS[int(seen.question[1:]) % len(DOMAINS)]
                found.append(replace(seen, repeat=repeat, domain=domain, simulated=place == 1))
    return found


def findings(models: Sequence[str] = ("m", "n"), conditions: Sequence[str] = ("none", "search", "python")) -> Findings:
    seen = summaries(models, conditions)
    rng = np.random.default_rng(0)
    scores = [(model, name, rng.random(60).round().tolist()) for model in models for name in conditions]
    units = [("question", f"q{number}") for number in range(60)]
    return Findings(
        baseline=conditions[0],
        models=tuple(models),
        conditions=tuple(conditions),
        simulated=frozenset(models[1:2]),
        arms=tuple(ArmScore(model, name, accuracy(found, units)) for model, name, found in scores),
        comparisons=tuple(compare(seen, conditions[0], order=conditions, harm=False)),
        floors=tuple(floors(seen, conditions[0], order=conditions)),
        flips=tuple(
            FlipMatrix(model, conditions[0], name, 30, 12, 8, 10) for model in models for name in conditions[1:]
        ),
        by_domain=tuple(
            row for row in compare(seen, conditions[0], by=["domain"], order=conditions, harm=False) if row.by
        ),
        waterfalls=tuple(waterfalls(climbed(models[0]), ladders(ladder_conditions()), resamples=200)),
        why=Why(
            decompositions=tuple(decomposition(model=model, condition=conditions[-1]) for model in models),
            notes=("A note.",),
        ),
        notes=("What to know first.",),
    )


def climbed(model: str) -> list[TrialSummary]:
    chances = {label: [0.5] * 60 for label in ladder_conditions()}
    return list(graded(chances, 1, model=model))


def endings(of: Findings) -> list[Arm]:
    return [Arm(arm.model, arm.condition, {"correct": 50, "wrong": 6, "failed": 4}) for arm in of.arms]


def many(models: Sequence[str], conditions: Sequence[str]) -> Findings:
    """The figures of two conditions again and again."""
    found = findings()
    pairs = [(model, name) for model in models for name in conditions]
    one, row, flip = found.arms[0], found.comparisons[0], found.flips[0]
    later = [pair for pair in pairs if pair[1] != conditions[0]]
    return replace(
        found,
        baseline=conditions[0],
        models=tuple(models),
        conditions=tuple(conditions),
        arms=tuple(replace(one, model=model, condition=name) for model, name in pairs),
        comparisons=tuple(replace(row, model=model, condition=name) for model, name in later),
        flips=tuple(replace(flip, model=model, condition=name) for model, name in later),
        by_domain=tuple(
            replace(row, model=model, condition=name, by="domain", group=domain)
            for model, name in later
            for domain in DOMAINS
        ),
    )
