"""In what two trials of one question differ by design: condition, model and repeat."""

import json
from collections.abc import Iterator
from dataclasses import dataclass

from pydantic import JsonValue

from toolablate.traces.records import Condition, Model, Trial

_CONDITION = {
    "prompt": "prompt",
    "tools": "tools",
    "tool_choice": "tool choice",
    "parallel_tool_calls": "parallel calls",
    "reasoning": "reasoning between calls",
    "budget": "budget",
    "interventions": "interventions",
    "resumed": "change",
}
_UNTOLD = frozenset({"version", "name", "price", "capabilities", "api_key_env", "concurrency"})


@dataclass(frozen=True, slots=True)
class Setting:
    """Something that is not the same for both, as text; "" where one side has none."""

    name: str
    left: str
    right: str


def settings(left: tuple[Trial, Model, Condition], right: tuple[Trial, Model, Condition]) -> tuple[Setting, ...]:
    """What differs, and nothing else: names of models and conditions first, then what stands behind them."""
    ours, theirs = dict(_told(*left)), dict(_told(*right))
    names = [*ours, *(name for name in theirs if name not in ours)]
    found = (Setting(name, ours.get(name, ""), theirs.get(name, "")) for name in names)
    return tuple(each for each in found if each.left != each.right)


def _told(trial: Trial, model: Model, condition: Condition) -> Iterator[tuple[str, str]]:
    yield "model", model.name
    yield "condition", condition.name if condition.resumed is None else f"replay of {condition.resumed.trial[:10]}"
    yield "repeat", str(trial.repeat)
    content = condition.model_dump(mode="json")
    for field, name in _CONDITION.items():
        if field == "resumed":
            yield name, _change(condition)
        else:
            yield name, _text(content[field])
    for field, value in model.model_dump(mode="json").items():
        if field not in _UNTOLD:
            yield field.replace("_", " "), _text(value)


def _change(condition: Condition) -> str:
    if condition.resumed is None:
        return ""
    change = condition.resumed.change
    said = {name: value for name, value in change.model_dump(mode="json").items() if name != "kind" and value}
    return f"{change.kind.replace('_', ' ')} from event {condition.resumed.event}" + (
        f": {_text(said)}" if said else ""
    )


def _text(value: JsonValue) -> str:
    """Tools and interventions by their names, with the options that they have; of objects what is set."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return ", ".join(map(_text, value))
    if isinstance(value, dict):
        if set(value) == {"name", "options"}:
            options = _text(value["options"])
            return f"{value['name']} ({options})" if options else str(value["name"])
        return ", ".join(f"{name.replace('_', ' ')} {_text(each)}" for name, each in value.items() if each is not None)
    return json.dumps(value)
