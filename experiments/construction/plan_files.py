"""The files of `toolablate build` as they are written: a pipeline, and what fetches or captures its items."""

from pathlib import Path
from typing import TypeVar

from toolablate.experiments.plans.sections import Section, valid_plan
from toolablate.experiments.plans.written import plan_content, plan_text, require_file_of

S = TypeVar("S", bound=Section)


def load_plan(kind: type[S], path: Path, command: str) -> S:
    """Raises InputError: that it is a file of another command, or else the key, what was found and what is allowed."""
    content = plan_content(plan_text(path, "pipeline" if command == "build" else "file"), path)
    require_file_of(command, content, path)
    return valid_plan(kind, content, path)
