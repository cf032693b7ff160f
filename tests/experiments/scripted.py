"""Plans in which a scripted model calls tools by name, and what came of the calls."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from toolablate.experiments.plans.plan import load_plan
from toolablate.experiments.running.launch import launch
from toolablate.experiments.running.progress import RunProgress
from toolablate.traces.records import ToolCall
from toolablate.traces.store import Store

Call = tuple[str, Mapping[str, Any]]

QUESTION = {
    "id": "q",
    "prompt": "In which year was the lighthouse of Varnhem island lit for the first time after the great storm?",
    "target": {"kind": "number", "value": 1874},
}


def write_scripted(folder: Path, calls: Sequence[Call], conditions: str, extra: str, name: str = "plan.toml") -> Path:
    """A plan of one question, whose model makes the calls one after the other under every condition."""
    replies = [{"tool_calls": [{"name": tool, "arguments": dict(given)}]} for tool, given in calls]
    names = [condition["name"] for condition in _conditions(conditions)]
    lines = [{"question": "q", "condition": each, "replies": [*replies, {"content": "Answer: 1"}]} for each in names]
    (folder / "script.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    (folder / "questions.jsonl").write_text(json.dumps(QUESTION), encoding="utf-8")
    plan = folder / name
    plan.write_text(
        f"conditions = {conditions}\n[questions]\nfile = 'questions.jsonl'\n"
        f"[[models]]\nprovider = 'scripted'\nname = 'm'\nscript = 'script.jsonl'\n{extra}\n",
        encoding="utf-8",
    )
    return plan


def _conditions(written: str) -> list[dict[str, Any]]:
    import tomllib

    return list(tomllib.loads(f"conditions = {written}")["conditions"])


def run(plan: Path, store: str = "store.sqlite") -> dict[str, list[ToolCall]]:
    """The calls of each condition's trial, in order. Raises what the command line would print."""
    loaded, text = load_plan(plan)
    path = plan.parent / store
    with RunProgress(_silent()) as progress:
        launch(loaded.with_changes(store=path), text, progress)
    found: dict[str, list[ToolCall]] = {}
    with Store(path) as opened:
        for trace in opened.traces():
            assert trace.outcome == "answered", trace
            calls = [event for event in trace.events if isinstance(event, ToolCall)]
            found[opened.condition(trace.trial.condition).name] = calls
    return found


def _silent() -> Any:
    from rich.console import Console

    return Console(quiet=True)
