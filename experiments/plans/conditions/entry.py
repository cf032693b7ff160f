"""A condition as a plan writes it, and what it stands for."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, StrictBool

from toolablate.experiments.plans.conditions.ladder import ARMS, Arm, ladder_of
from toolablate.experiments.plans.conditions.naming import named_condition, well_known
from toolablate.experiments.plans.web import Section
from toolablate.traces.errors import InputError
from toolablate.traces.records import Budget, Condition, InterventionUse, ToolUse


def named(value: object) -> object:
    """A name alone is short for a table with nothing but the name."""
    return {"name": value} if isinstance(value, str) else value


class ConditionEntry(Section):
    """A condition in a plan: the name of one that there is, or a table.

    `base` names the condition that it starts from; what else is given replaces that part. A table that bears the name
    of a condition that there is, and no tools of its own, starts from that one; where it has a prompt of its own, only
    from what toolablate itself knows by the name.
    """

    name: str = Field(min_length=1)
    base: str | None = None
    prompt: str | None = None
    tools: tuple[Annotated[ToolUse, BeforeValidator(named)], ...] | None = None
    tool_choice: str | None = Field(default=None, min_length=1)
    parallel_tool_calls: bool | None = None
    reasoning: Literal["keep", "drop"] | None = None
    interventions: tuple[Annotated[InterventionUse, BeforeValidator(named)], ...] | None = None
    budget: Budget | None = None

    def resolve(self, default_budget: Budget) -> Condition:
        """The condition in full; what no one says of its budget is the default's. Raises InputError."""
        if self.base is not None:
            return self.applied_to(named_condition(self.base), self.name, default_budget)
        start = self._start()
        return self.applied_to(start, start.name, default_budget)

    def applied_to(self, start: Condition, name: str, default_budget: Budget) -> Condition:
        """`start` with what the table replaces, under another name."""
        changes = self.model_dump(
            include={"prompt", "tools", "tool_choice", "parallel_tool_calls", "reasoning", "interventions"},
            exclude_none=True,
        )
        said = (default_budget, start.budget, self.budget or Budget())
        budget = {key: value for each in said for key, value in each.model_dump(exclude_unset=True).items()}
        return Condition.model_validate({**start.model_dump(), **changes, "name": name, "budget": budget})

    def _start(self) -> Condition:
        blank = Condition(name=self.name)
        if self.tools is not None:
            return blank
        return (well_known(self.name) or blank) if self.prompt is not None else named_condition(self.name)


class LadderEntry(ConditionEntry):
    """A toolset whose ladder is run: its name, or the table of a condition with tools.

    `arms` names those that are wanted; `none`, `scaffold` and the real tools are always there. `shapley` adds the arms
    without the prompt, from which `toolablate ladder` tells what the order of the rungs does.
    """

    arms: tuple[Arm, ...] = ARMS
    shapley: StrictBool = False

    def expand(self, default_budget: Budget) -> tuple[Condition, ...]:
        """Its arms. Raises InputError as `resolve` does, and where it can have none."""
        try:
            toolset = self.resolve(default_budget)
        except InputError as error:
            raise InputError(_about_ladder(error.message), hint=error.hint, code=error.code) from error
        return ladder_of(toolset, self.arms, shapley=self.shapley)


def _about_ladder(message: str) -> str:
    """What is wrong with a condition that stands under another key."""
    about = "conditions: "
    return f"ladder: {message.removeprefix(about)}" if message.startswith(about) else message
