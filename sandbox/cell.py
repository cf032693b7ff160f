"""What a cell puts out, collected within limits."""

import json
import re
from dataclasses import dataclass, field
from typing import Any

from toolablate.sandbox.kernel import Limits, RichOutput

RICH_TYPES = ("image/png", "image/jpeg", "image/svg+xml", "text/html", "text/latex", "application/json")
RICH_CHARS = 4_000_000
"""All rich outputs of a cell together, in characters (base64 for images)."""

ERROR_CHARS = 4_000
"""What of `output_chars` a traceback may always have, however much was printed before it."""

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def plain_text(value: object) -> str:
    """Text as a person reads it: no escape codes, no ends of lines of a terminal, no lone surrogates; "" for what is no
    text."""
    if not isinstance(value, str):
        return ""
    return _LONE_SURROGATE.sub("\ufffd", _ESCAPES.sub("", value)).replace("\r\n", "\n")


@dataclass
class CellOutput:
    """Collects the messages of one cell. `take` may be handed anything: the kernel is not trusted."""

    limits: Limits
    truncated: bool = False
    error: str = ""
    idle: bool = False
    messages: int = 0
    rich: list[RichOutput] = field(default_factory=list)
    _parts: list[str] = field(default_factory=list)
    _chars: int = 0
    _rich_chars: int = 0

    def take(self, kind: object, content: dict[str, Any]) -> None:
        if kind == "status":
            self.idle = self.idle or content.get("execution_state") == "idle"
            return
        if kind not in ("stream", "execute_result", "display_data", "error", "clear_output"):
            return
        self.messages += 1
        if self.messages > self.limits.output_messages and kind != "error":
            self.truncated = True
        elif kind == "stream":
            self.write(plain_text(content.get("text")))
        elif kind == "error":
            self._take_error(content)
        elif kind != "clear_output":
            self._take_data(content.get("data"))

    def write(self, text: str, room: int | None = None) -> None:
        """Adds text up to `output_chars`, or up to `room` characters more."""
        left = self.limits.output_chars - self._chars if room is None else room
        if len(text) > left:
            self.truncated = True
            text = text[: max(left, 0)]
        if text:
            self._parts.append(text)
            self._chars += len(text)

    def _take_error(self, content: dict[str, Any]) -> None:
        if self.error:
            return
        self.error = plain_text(content.get("ename"))[:200] or "Error"
        lines = content.get("traceback")
        text = plain_text("\n".join(line for line in lines if isinstance(line, str)) if isinstance(lines, list) else "")
        text = text or f"{self.error}: {plain_text(content.get('evalue'))}"
        reserve = min(ERROR_CHARS, self.limits.output_chars)
        room = max(self.limits.output_chars - self._chars, reserve)
        if len(text) > room:
            self.truncated = True
            text = text[-room:]  # the end of a traceback says what happened
        self._own_line(text, room=room)

    def _take_data(self, data: object) -> None:
        if not isinstance(data, dict):
            return
        for mime in RICH_TYPES:
            if mime in data:
                self._keep_rich(mime, data[mime])
        self._own_line(plain_text(data.get("text/plain")))

    def _keep_rich(self, mime: str, value: object) -> None:
        text = plain_text(value) if isinstance(value, str) else _as_json(value)
        if self._rich_chars + len(text) > RICH_CHARS:
            self.truncated = True
            return
        self._rich_chars += len(text)
        self.rich.append(RichOutput(mime=mime, data=text.strip() if mime.startswith("image/") else text))

    def _own_line(self, text: str, room: int | None = None) -> None:
        if not text:
            return
        if self._parts and not self._parts[-1].endswith("\n"):
            self.write("\n", room=1)
        self.write(text + "\n", room=None if room is None else room + 1)

    def text(self, note: str = "") -> str:
        """All of it in order, then what we have to say about it ourselves."""
        notes = ["[output truncated]"] if self.truncated else []
        notes += [note] if note else []
        shown = "".join(self._parts)
        if notes and shown and not shown.endswith("\n"):
            shown += "\n"
        return shown + "\n".join(notes)


def _as_json(value: object) -> str:
    try:
        return plain_text(json.dumps(value, ensure_ascii=False))
    except (TypeError, ValueError, RecursionError):
        return ""
