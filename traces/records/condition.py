from typing import ClassVar, Literal

from pydantic import Field, JsonValue

from toolablate.traces.records._base import Record, TaggedRecord
from toolablate.traces.records.budget import Budget
from toolablate.traces.records.resumption import Resumption


class ToolUse(Record):
    """A tool of a condition, by its registered name, with its options."""

    name: str = Field(min_length=1)
    options: dict[str, JsonValue] = Field(default_factory=dict)


class InterventionUse(Record):
    """A change made to what tools return, by its registered name, with its options."""

    name: str = Field(min_length=1)
    options: dict[str, JsonValue] = Field(default_factory=dict)


class Condition(TaggedRecord):
    """Everything that differs between arms. Conditions of equal content have equal ids, whatever they are called.

    `tool_choice` is `auto`, `none`, `required` or the name of the tool that has to be called first. `reasoning` says
    whether what the model thought between its tool calls is given back to it. `parallel_tool_calls` None leaves to the
    endpoint whether a reply may call several tools. `resumed` is set where its trials go on from an event of another
    trial: they are counterfactuals of that one, and no arm of any plan. `imported` is what another harness says of the
    arm, where a log of it was imported (solvers, few-shot examples, parameters); such a condition cannot be run.
    """

    not_identity: ClassVar[frozenset[str]] = frozenset({"name"})

    version: Literal[1] = 1
    name: str = Field(min_length=1)
    prompt: str = ""
    tools: tuple[ToolUse, ...] = ()
    tool_choice: str = Field(default="auto", min_length=1)
    parallel_tool_calls: bool | None = None
    reasoning: Literal["keep", "drop"] = "keep"
    budget: Budget = Budget()
    interventions: tuple[InterventionUse, ...] = ()
    resumed: Resumption | None = None
    imported: dict[str, JsonValue] = Field(default_factory=dict)
