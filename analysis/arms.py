"""Which of a store's conditions are the arms of a ladder: found by what they are, not by what they are called."""

from collections.abc import Container, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal, TypeVar, get_args

from toolablate.traces.records import Condition, InterventionUse

Factor = Literal["prompt", "availability", "calling", "irrelevant content", "real content"]
ArmKind = Literal["none", "scaffold", "offered", "sham", "placebo", "real"]
BoundKind = Literal["oracle", "adversarial"]

K = TypeVar("K")

FACTORS: tuple[Factor, ...] = get_args(Factor)
ARMS: tuple[ArmKind, ...] = get_args(ArmKind)
BOUNDS: tuple[BoundKind, ...] = get_args(BoundKind)
SUBSTITUTES = frozenset({"sham", "placebo", *BOUNDS})
"""Interventions that put something else in the place of a tool's result. A condition with one is an arm of another's
ladder, and has none of its own."""

UNPROMPTED = ":unprompted"
"""How a plan's Shapley check calls T without its prompt: behind T's name."""

ENDS: frozenset[ArmKind] = frozenset({"none", "scaffold", "real"})
"""Arms that a comparison has as well. A ladder has one between."""


@dataclass(frozen=True, slots=True)
class Contrast:
    """The difference of two neighbouring arms: what it is called, and the labels of the two."""

    name: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Ladder:
    """The arms of one condition with tools, by the labels of conditions.

    toolset      the label of that condition, the ladder's last arm
    prompted     whether it has a prompt: without one there is neither an arm `scaffold` nor a contrast `prompt`
    arms         in order, the first is `none` and the last `real`; those that the store lacks are not among them
    bounds       `oracle` and `adversarial`, where the store has them
    unprompted   arms from `offered` to `real` without their prompt, for the Shapley check
    """

    toolset: str
    prompted: bool
    arms: Mapping[ArmKind, str]
    bounds: Mapping[BoundKind, str]
    unprompted: Mapping[ArmKind, str]

    @property
    def contrasts(self) -> tuple[Contrast, ...]:
        """Neighbouring arms; where one between them is missing, its two contrasts are one ("availability +
        calling")."""
        kinds = list(self.arms)
        return tuple(
            Contrast(self._crossed(before, after), self.arms[before], self.arms[after])
            for before, after in pairwise(kinds)
        )

    @property
    def parted(self) -> bool:
        """Whether an arm between those without tools and the real one takes its effect apart."""
        return bool(self.arms.keys() - ENDS)

    @property
    def missing(self) -> tuple[ArmKind, ...]:
        """Arms that would part a contrast further."""
        return tuple(kind for kind in ARMS if kind not in self.arms and (self.prompted or kind != "scaffold"))

    @property
    def below(self) -> str:
        """The label of the arm just below the real one, against which the bounds stand."""
        *_, below, _ = self.arms.values()
        return below

    @property
    def missing_unprompted(self) -> tuple[ArmKind, ...]:
        """Arms that the Shapley check lacks: without its prompt, each that the ladder has with one."""
        wanted = [kind for kind in self.arms if kind not in ("none", "scaffold")]
        scaffold: tuple[ArmKind, ...] = () if "scaffold" in self.arms else ("scaffold",)
        return (*scaffold, *(kind for kind in wanted if kind not in self.unprompted))

    def among(self, labels: Container[str]) -> "Ladder | None":
        """What is left of it where only these arms were run; None without its first, its last, or one between."""
        kept = replace(
            self,
            arms={kind: label for kind, label in self.arms.items() if label in labels},
            bounds={kind: label for kind, label in self.bounds.items() if label in labels},
            unprompted={kind: label for kind, label in self.unprompted.items() if label in labels},
        )
        return kept if {"none", "real"} <= kept.arms.keys() and kept.parted else None

    def _crossed(self, before: ArmKind, after: ArmKind) -> str:
        factors = FACTORS[ARMS.index(before) : ARMS.index(after)]
        return " + ".join(factor for factor in factors if self.prompted or factor != "prompt")


def ladders(conditions: Mapping[str, Condition]) -> list[Ladder]:
    """The ladders among conditions, in their order; `conditions` has them by the labels that summaries bear.

    Each condition with tools that a model may call, and no substitute among its interventions, has a ladder where the
    baseline is there: the same budget, without prompt and tools. Its other arms differ from it in the named factor
    alone. The unprompted arm of another's Shapley check has none of its own, if that is what it is called; a condition
    without a prompt that is called otherwise was asked for.
    """
    labels = {condition.identity(): label for label, condition in conditions.items()}
    real = {label: condition for label, condition in conditions.items() if has_ladder(condition)}
    found = {label: _ladder(label, condition, labels) for label, condition in real.items()}
    checks = {ladder.unprompted.get("real") for ladder in found.values() if "none" in ladder.arms}
    return [
        ladder
        for label, ladder in found.items()
        if "none" in ladder.arms and not (label in checks and conditions[label].name.endswith(UNPROMPTED))
    ]


def has_ladder(condition: Condition) -> bool:
    """Whether a condition can be the real arm of a ladder: its tools may be called, and answer themselves."""
    named = {use.name for use in condition.interventions}
    return condition.has_tools and condition.tool_choice != "none" and not named & SUBSTITUTES


def _ladder(label: str, condition: Condition, labels: Mapping[str, str]) -> Ladder:
    unprompted = condition.model_copy(update={"prompt": ""})
    arms: dict[ArmKind, Condition] = {
        "none": Condition(name="none", budget=condition.budget),
        "scaffold": Condition(name="scaffold", budget=condition.budget, prompt=condition.prompt),
        **_with_tools(condition),
    }
    if not condition.prompt:
        del arms["scaffold"]
    bounds: dict[BoundKind, Condition] = {kind: _substituted(condition, kind) for kind in BOUNDS}
    return Ladder(
        toolset=label,
        prompted=bool(condition.prompt),
        arms=_among(labels, arms),
        bounds=_among(labels, bounds),
        unprompted=_among(labels, _with_tools(unprompted)) if condition.prompt else {},
    )


def _with_tools(condition: Condition) -> dict[ArmKind, Condition]:
    return {
        "offered": condition.model_copy(update={"tool_choice": "none"}),
        "sham": _substituted(condition, "sham"),
        "placebo": _substituted(condition, "placebo"),
        "real": condition,
    }


def _substituted(condition: Condition, name: str) -> Condition:
    interventions = (InterventionUse(name=name), *condition.interventions)
    return condition.model_copy(update={"interventions": interventions})


def _among(labels: Mapping[str, str], wanted: Mapping[K, Condition]) -> dict[K, str]:
    found = {kind: labels.get(condition.identity()) for kind, condition in wanted.items()}
    return {kind: label for kind, label in found.items() if label is not None}
