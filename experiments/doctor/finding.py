"""What looking at the machine has shown."""

from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "missing", "warning"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at; `remedy` is the command or step that mends it."""

    topic: str
    name: str
    state: State
    detail: str
    remedy: str = ""
