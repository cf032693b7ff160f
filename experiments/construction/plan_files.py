"""The files of `toolablate build` as they are written: a pipeline, and what fetches or captures its items."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from toolablate.experiments.plans.sections import Section, valid_plan
from toolablate.experiments.plans.written import plan_content, plan_text
from toolablate.traces.errors import InputError

S = TypeVar("S", bound=Section)


def load_plan(kind: type[S], path: Path, command: str) -> S:
    """Raises InputError: that it is a file of another command, or else the key, what was found and what is allowed."""
    content = plan_content(plan_text(path), path)
    if (other := _command_of(content)) and other != command:
        raise InputError(
            f"{path} is a file of `toolablate {other}`, not of `toolablate {command}`",
            hint=f"toolablate {other} {path}",
            code="bad_plan",
        )
    return valid_plan(kind, content, path)


def _command_of(content: Mapping[str, Any]) -> str:
    """By keys that no other has; "" where that does not tell."""
    if "conditions" in content or isinstance(content.get("questions"), dict):
        return "run"
    if "items" in content:
        return "build"
    forums = content.get("forums")
    first = forums[0] if isinstance(forums, list) and forums and isinstance(forums[0], dict) else {}
    if "kind" in first:
        return "build threads"
    return "build capture" if {"threads", "listing"} & first.keys() else ""
