"""Reads a list of texts from a reply."""

import ast
import json
from typing import Literal

from toolablate.benchmarks.extraction.markers import announcements, final_part
from toolablate.benchmarks.extraction.reading import EMPTY, NO_ANSWER, Reading

MAX_LITERAL = 20_000
"""Longer lists are not evaluated as Python, whose parser needs memory out of proportion."""


def read_spans(reply: str | None, *, unannounced: Literal["unparsed", "whole"] = "unparsed") -> Reading:
    """The texts that the reply finally gives: a JSON or Python list, or else the announced line as one text.

    Without an announcement ("Answer:", "So the answer is:") a reply or a last line that is a list is read as one, and
    any other reply is unparsed or taken as one text, `whole`, as `unannounced` says. Items that are no texts become
    JSON.
    """
    text = final_part(reply or "").strip()
    if not text:
        return Reading(None, EMPTY)
    for head in announcements(text, window=len(text)):
        head = head.strip().lstrip(":*_ \n")
        if not head:
            continue
        items = _list(head)
        return Reading(items if items is not None else (_undressed(head.splitlines()[0].strip()),))
    items = _list(text) or _list(text.rpartition("\n")[2])
    if items is None and unannounced == "whole":
        items = ((reply or "").strip(),)
    return Reading(items) if items is not None else Reading(None, NO_ANSWER)


def _list(text: str) -> tuple[str, ...] | None:
    """The list that the text begins with, or None. JSON first: it is what the prompt asks for."""
    text = text.removeprefix("```json").removeprefix("```").lstrip()
    if not text.startswith("["):
        return None
    try:
        value, _ = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        value = _python_list(text)
    return tuple(_as_text(item) for item in value) if isinstance(value, list) else None


def _python_list(text: str) -> object:
    end = text.rfind("]", 0, MAX_LITERAL) + 1
    try:
        return ast.literal_eval(text[:end])
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None


def _as_text(item: object) -> str:
    return item if isinstance(item, str) else json.dumps(item, ensure_ascii=False, default=str)


def _undressed(line: str) -> str:
    """Takes off bold, italic or code marks that stand on both sides; one-sided marks may belong to the text."""
    for mark in ("**", "__", "*", "`"):
        if len(line) > 2 * len(mark) and line.startswith(mark) and line.endswith(mark):
            return line[len(mark) : -len(mark)].strip()
    return line
