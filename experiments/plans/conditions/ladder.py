"""The ladder of a toolset: from nothing to the real tools, one factor at a time.

    none -> scaffold -> T:offered -> T:sham -> T:placebo -> T, and the bounds T:oracle and T:adversarial

A rung is the difference of two neighbours: prompt, availability, calling, irrelevant content, real content.
"""

from collections.abc import Sequence
from typing import Literal, get_args

from toolablate.experiments.plans.conditions.built_in import SCAFFOLD
from toolablate.tools import resources_needed
from toolablate.traces.errors import InputError
from toolablate.traces.records import Condition, InterventionUse

Arm = Literal["offered", "sham", "placebo", "oracle", "adversarial"]

ARMS: tuple[Arm, ...] = get_args(Arm)
"""The arms that are made from a toolset, in the order of the ladder; the real one stands after `placebo`."""

UNPROMPTED = "unprompted"
_RUNGS: tuple[Arm, ...] = ("offered", "sham", "placebo")
_BOUNDS: tuple[Arm, ...] = ("oracle", "adversarial")
_UNCALLED = frozenset({"sham", "oracle", "adversarial"})
_STAND_INS = _UNCALLED | {"placebo"}

SUFFIXES = (*ARMS, "scaffold", UNPROMPTED, *(f"{arm}-{UNPROMPTED}" for arm in _RUNGS))
"""What may stand behind the name of a toolset and a colon."""


def ladder_of(condition: Condition, arms: Sequence[Arm] = ARMS, *, shapley: bool = False) -> tuple[Condition, ...]:
    """The arms of a condition T with tools, in their order: `none`, `scaffold`, of the others those that `arms` names,
    and T itself; with `shapley` then those without T's prompt, which show what the prompt does in any other place.

    Without a prompt there is no `scaffold`; it is called `T:scaffold` where the prompt is T's own. Raises InputError
    where T cannot have a ladder.
    """
    _refuse(condition, shapley)
    nothing = Condition(name="none", budget=condition.budget)
    prompt, own = condition.prompt, condition.prompt != SCAFFOLD
    scaffold = nothing.model_copy(
        update={"name": f"{condition.name}:scaffold" if own else "scaffold", "prompt": prompt}
    )
    rungs = [_arm(condition, arm) for arm in _RUNGS if arm in arms]
    bounds = [_arm(condition, arm) for arm in _BOUNDS if arm in arms]
    unprompted = [_unprompted(condition, each) for each in (*rungs, condition)] if shapley else []
    return (nothing, *([scaffold] if prompt else []), *rungs, condition, *bounds, *unprompted)


def starts_kernel(condition: Condition) -> bool:
    """Whether a trial may come to run code: not where its calls are barred, or all answered by a stand-in."""
    answered = any(use.name in _UNCALLED and not use.options for use in condition.interventions)
    return condition.tool_choice != "none" and not answered and "sandbox" in resources_needed(condition.tools)


def _arm(condition: Condition, arm: Arm) -> Condition:
    name = f"{condition.name}:{arm}"
    if arm == "offered":
        return condition.model_copy(update={"name": name, "tool_choice": "none"})
    # Nearest to the tool, so that what the condition does to a tool's results it does to these as well.
    interventions = (InterventionUse(name=arm), *condition.interventions)
    return condition.model_copy(update={"name": name, "interventions": interventions})


def _unprompted(condition: Condition, arm: Condition) -> Condition:
    name = f"{arm.name}:{UNPROMPTED}" if arm is condition else f"{arm.name}-{UNPROMPTED}"
    return arm.model_copy(update={"name": name, "prompt": ""})


def _refuse(condition: Condition, shapley: bool) -> None:
    standing_in = [use.name for use in condition.interventions if use.name in _STAND_INS]
    if not condition.tools:
        wrong, hint = "has no tools", "a ladder is that of a toolset, such as 'python' or 'search'"
    elif condition.tool_choice == "none":
        wrong, hint = "bars its tools by tool_choice = 'none'", _whole(condition)
    elif standing_in:
        wrong, hint = f"has the intervention {standing_in[0]!r}", _whole(condition)
    elif shapley and not condition.prompt:
        wrong, hint = "has no prompt, whose place `shapley` would change", "give it a prompt, or leave shapley out"
    else:
        return
    raise InputError(f"ladder: {condition.name!r} {wrong}", hint=hint, code="no_ladder")


def _whole(condition: Condition) -> str:
    """What to write in place of an arm."""
    stem, _, suffix = condition.name.rpartition(":")
    there = "the ladder has an arm that does so"
    return f"{there}: name {stem!r}" if stem and suffix in SUFFIXES else f"{there}: leave it out"
