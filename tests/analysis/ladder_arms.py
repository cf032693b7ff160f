"""Conditions and summaries of ladders, as a plan would make them."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from toolablate.traces.records import Budget, Condition, InterventionUse, ToolUse
from toolablate.traces.store.summaries import TrialSummary

BUDGET = Budget(turns=5)
REAL = Condition(name="python", prompt="Work step by step.", tools=(ToolUse(name="python"),), budget=BUDGET)


def changed(condition: Condition, **changes: object) -> Condition:
    return condition.model_copy(update=changes)


def substituted(condition: Condition, by: str) -> Condition:
    return changed(condition, interventions=(InterventionUse(name=by), *condition.interventions))


def ladder_conditions(real: Condition = REAL, *, shapley: bool = False) -> dict[str, Condition]:
    """All arms of one condition by label."""
    found = {"none": Condition(name="none", budget=real.budget)}
    if real.prompt:
        found["scaffold"] = changed(found["none"], prompt=real.prompt)
    found |= _tooled(real, real.name, "")
    found |= {f"{real.name}:{bound}": substituted(real, bound) for bound in ("oracle", "adversarial")}
    if shapley:
        found |= _tooled(changed(real, prompt=""), real.name, "unprompted")
    return {label: changed(condition, name=label) for label, condition in found.items()}


def _tooled(real: Condition, name: str, ending: str) -> dict[str, Condition]:
    after = f"-{ending}" if ending else ""
    return {
        f"{name}:offered{after}": changed(real, tool_choice="none"),
        f"{name}:sham{after}": substituted(real, "sham"),
        f"{name}:placebo{after}": substituted(real, "placebo"),
        f"{name}:{ending}" if ending else name: real,
    }


def graded(
    chances: Mapping[str, Sequence[float]], seed: int, *, model: str = "gpt-x", repeats: int = 3
) -> Iterator[TrialSummary]:
    """A trial of each question under each condition, scored by `repeats` answers at once, each right with its chance."""
    rng = np.random.default_rng(seed)
    for condition, by_question in chances.items():
        for number, right in enumerate(rng.binomial(repeats, by_question).tolist()):
            yield TrialSummary(question=f"q{number:04}", model=model, condition=condition, value=right / repeats)
