"""What was planted, as `making` writes it."""

import json
from collections.abc import Mapping
from pathlib import Path

from toolablate.traces.errors import InputError
from toolablate.traces.records import Distraction
from toolablate.traces.validation import why_unreadable

_HINT = "It is the planted.jsonl that `toolablate planted make` wrote; name its folder: --folder FOLDER"


def read_distractions(path: Path) -> Mapping[str, Distraction]:
    """By question, how pages draw the model away; of those alone where they do. Raises InputError."""
    found: dict[str, Distraction] = {}
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {path}: {why_unreadable(error)}", hint=_HINT, code="no_labels") from None
    for number, line in enumerate(lines, 1):
        try:
            row = json.loads(line)
            if row["distraction"]:
                found[row["question"]] = row["distraction"]
        except (ValueError, KeyError, TypeError):
            raise InputError(
                f"{path}:{number}: is no line of what was planted", hint=_HINT, code="bad_labels"
            ) from None
    return found
