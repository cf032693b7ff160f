"""Conditions: built in, written in a plan, built in Python, and the ladders of toolsets."""

from toolablate.experiments.plans.conditions.built_in import BUILT_IN, SCAFFOLD
from toolablate.experiments.plans.conditions.entry import ConditionEntry, LadderEntry, named
from toolablate.experiments.plans.conditions.expansion import expanded
from toolablate.experiments.plans.conditions.ladder import ARMS, Arm, ladder_of, starts_kernel
from toolablate.experiments.plans.conditions.making import condition
from toolablate.experiments.plans.conditions.naming import named_condition

__all__ = [
    "ARMS",
    "BUILT_IN",
    "SCAFFOLD",
    "Arm",
    "ConditionEntry",
    "LadderEntry",
    "condition",
    "expanded",
    "ladder_of",
    "named",
    "named_condition",
    "starts_kernel",
]
