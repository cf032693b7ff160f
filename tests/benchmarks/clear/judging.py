"""A judge of checklists that goes by the strings: it maps lines "Name: text", and judges by exact containment."""

import json
import re
from typing import Any

FENCED = re.compile(r"<([^<>]+) [0-9a-f]{16}>\n(.*?)\n</\1 [0-9a-f]{16}>", re.DOTALL)


def judged(messages: list[dict[str, Any]]) -> str:
    """What it replies to a request of the mapper or of the judge, in English or Chinese."""
    parts = dict(FENCED.findall(messages[1]["content"]))
    if {"text A", "text B"} <= parts.keys():
        return "Yes" if parts["text B"] in parts["text A"] else "No"
    if {"文字 A", "文字 B"} <= parts.keys():
        return "是" if parts["文字 B"] in parts["文字 A"] else "否"
    text, item = parts.get("text") or parts["文字"], parts.get("item") or parts["条目"]
    if item.startswith("- "):
        names = [line.removeprefix("- ").partition(":")[0] for line in item.splitlines()]
        return json.dumps({name: mapped(text, name) for name in names}, ensure_ascii=False)
    return mapped(text, item.partition(":")[0])


def mapped(text: str, name: str) -> str:
    found = [line.partition(": ")[2] for line in text.splitlines() if line.startswith(f"{name}: ")]
    return found[0] if found else "N/A"
