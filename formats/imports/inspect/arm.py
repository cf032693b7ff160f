"""What an Inspect log says of its model, its condition and its questions."""

from collections.abc import Collection
from typing import TYPE_CHECKING

from pydantic import ValidationError

from toolablate.formats.imports.inspect.events import choice_of
from toolablate.formats.imports.inspect.messages import json_of, message_of, text_of
from toolablate.formats.imports.inspect.ours import ours
from toolablate.formats.imports.naming import name_of
from toolablate.formats.imports.targets import choice_target, target_of
from toolablate.traces.records import (
    Condition,
    ImportedModel,
    Model,
    Question,
    SimulatedModel,
    Target,
    ToolUse,
    clean_text,
)

if TYPE_CHECKING:
    from inspect_ai.event import ModelEvent
    from inspect_ai.log import EvalLog, EvalSample

# What changes what a model says; an allow list, since other parts hold headers, and keys in them.
_CONFIG = (
    "temperature",
    "top_p",
    "top_k",
    "max_tokens",
    "seed",
    "stop_seqs",
    "frequency_penalty",
    "presence_penalty",
    "num_choices",
    "best_of",
    "system_message",
    "reasoning_effort",
    "reasoning_tokens",
    "max_tool_output",
)
_LIMITS = ("message_limit", "token_limit", "turn_limit", "time_limit", "working_limit", "cost_limit")
_DOMAIN = ("domain", "subject", "category", "topic")
_DIFFICULTY = ("difficulty", "level")
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def model_of(header: "EvalLog") -> Model:
    """A model that was simulated is never to be taken for one that was asked: it stays what it is."""
    kept = ours(header.eval.metadata).get("model")
    if isinstance(kept, dict) and kept.get("provider") == "simulated":
        try:
            return SimulatedModel.model_validate(kept)
        except ValidationError:
            pass
    return ImportedModel(name=name_of(header.eval.model, "unnamed"))


def condition_of(header: "EvalLog", first: "ModelEvent | None", called: Collection[str] | None = None) -> Condition:
    """By the log's solver, parameters and limits, and by the tools and the system message of the `first` request.
    Without events nothing tells which tools were offered: those that were `called` are known, None where it has some.
    Raises ValueError where it is no arm of a plan."""
    if (kept := ours(header.eval.metadata).get("condition")) is not None:
        condition = Condition.model_validate(kept)
        if condition.resumed is not None:
            raise ValueError("its condition goes on from a trial, which the log does not hold")
        return condition
    tools = sorted({clean_text(tool.name) for tool in first.tools} if first else called or ())
    system = [message for message in (first.input if first else []) if message.role == "system"]
    steps = [{"solver": step.solver, "params": json_of(step.params)} for step in header.plan.steps]
    config = {
        name: value
        for of in (header.eval.model_generate_config, header.plan.config)
        for name in _CONFIG
        if (value := getattr(of, name, None)) is not None
    }
    limits = {name: value for name in _LIMITS if (value := getattr(header.eval.config, name, None)) is not None}
    said = {"solver": header.eval.solver, "steps": steps, "config": config, "limits": limits}
    said |= {} if called is None else {"calls": "read from messages"}
    return Condition(
        name=_condition_name(header, tools),
        prompt=message_of(system[0]).content if system else "",
        tools=tuple(ToolUse(name=name) for name in tools),
        tool_choice=(choice_of(first.tool_choice) if first and tools else "") or "auto",
        imported={"harness": "inspect"} | {key: json_of(value) for key, value in said.items() if value},
    )


def _condition_name(header: "EvalLog", tools: list[str]) -> str:
    solver = header.eval.solver or (header.plan.steps[-1].solver if header.plan.steps else "")
    named = name_of(solver.rpartition("/")[2], "solver")
    return name_of(f"{named}[{','.join(tools)}]", named) if tools else named


def question_of(sample: "EvalSample", header: "EvalLog") -> Question:
    """Raises ValueError where it asks nothing."""
    if (kept := ours(sample.metadata).get("question")) is not None:
        return Question.model_validate(kept)
    prompt = _prompt(sample)
    if not prompt.strip():
        raise ValueError("it asks nothing: its input is empty")
    choices = tuple(clean_text(choice) for choice in sample.choices or ())
    return Question(
        id=name_of(str(sample.id), "unnamed"),
        prompt=prompt,
        choices=choices,
        as_is=not choices,
        target=_target(sample, choices),
        domain=_named(sample, _DOMAIN),
        difficulty=_named(sample, _DIFFICULTY),
        source=name_of(header.eval.dataset.name or header.eval.task, ""),
    )


def _prompt(sample: "EvalSample") -> str:
    if isinstance(sample.input, str):
        return clean_text(sample.input)
    if len(sample.input) == 1:
        return text_of(sample.input[0].content)
    return "\n\n".join(f"{message.role}: {text_of(message.content)}" for message in sample.input)


def _target(sample: "EvalSample", choices: tuple[str, ...]) -> Target:
    said = [sample.target] if isinstance(sample.target, str) else list(sample.target)
    letters = [each.strip() for each in (said[0].split(",") if len(said) == 1 else said)]
    known = _LETTERS[: len(choices)]
    if choices and letters and all(each and each in known for each in letters):
        return choice_target(letters)
    return target_of(said)


def _named(sample: "EvalSample", names: tuple[str, ...]) -> str:
    found = [sample.metadata[name] for name in names if isinstance(sample.metadata.get(name), str | int)]
    return name_of(str(found[0]), "") if found else ""
