"""Where two JSON values first differ."""

import json
from dataclasses import dataclass
from typing import Any

SHOWN_CHARACTERS = 80
BEFORE_CHARACTERS = 20


class _Nothing:
    def __repr__(self) -> str:
        return "nothing"


NOTHING = _Nothing()
"""Stands where one of the two values has no such key or item."""


@dataclass(frozen=True, slots=True)
class Difference:
    """`path` names the place as in `messages[3].content`; `left` and `right` are what stands there, or NOTHING."""

    path: str
    left: Any
    right: Any

    def shown(self) -> tuple[str, str]:
        """Both values in short, each as JSON; of long texts the part where they part."""
        start = 0
        if isinstance(self.left, str) and isinstance(self.right, str):
            start = max(0, shared_start(self.left, self.right) - BEFORE_CHARACTERS)
        return _shown(self.left, start), _shown(self.right, start)


def first_difference(left: Any, right: Any, path: str = "") -> Difference | None:
    """The first place where two JSON values differ, in the order of the keys of `left`; None where they are equal."""
    if isinstance(left, dict) and isinstance(right, dict):
        places = [
            (f"{path}.{key}" if path else key, key) for key in (*left, *(key for key in right if key not in left))
        ]
        pairs = [(place, left.get(key, NOTHING), right.get(key, NOTHING)) for place, key in places]
    elif isinstance(left, list) and isinstance(right, list):
        longest = range(max(len(left), len(right)))
        pairs = [(f"{path}[{number}]", _item(left, number), _item(right, number)) for number in longest]
    else:
        same = type(left) is type(right) and left == right
        return None if same else Difference(path, left, right)
    found = (first_difference(one, other, place) for place, one, other in pairs)
    return next((difference for difference in found if difference is not None), None)


def shared_start(left: str, right: str) -> int:
    """How many characters two texts have in common at their beginning."""
    low, high = 0, min(len(left), len(right))
    while low < high:
        middle = (low + high + 1) // 2
        if left[low:middle] == right[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _item(items: list[Any], number: int) -> Any:
    return items[number] if number < len(items) else NOTHING


def _shown(value: Any, start: int) -> str:
    if value is NOTHING:
        return "nothing"
    if isinstance(value, str):
        end = start + SHOWN_CHARACTERS
        cut = ("…" if start else "") + value[start:end] + ("…" if end < len(value) else "")
        return json.dumps(cut, ensure_ascii=False)
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= SHOWN_CHARACTERS else text[: SHOWN_CHARACTERS - 1] + "…"
