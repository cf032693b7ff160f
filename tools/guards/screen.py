"""A quick look that finds the few places of a text where a passage need be looked for."""

import re
from collections import Counter, deque
from collections.abc import Iterator
from functools import cached_property
from typing import Any

from toolablate.tools.guards.normal import normal_text
from toolablate.tools.guards.passages import CJK, LIGHT, SLACK

PROBES = 8

_RUN = 4
_ROOM = 100
_RUNS = re.compile(f"[{CJK}]{{{_RUN}}}")
_WORDS = re.compile(rf"[^\W\d_{CJK}]{{2,}}")


class Screen:
    """Whether half of a text's least common words stand close together in another text, a normal one.

    These are taken to be the longest ones; in scripts without blanks, runs of a few characters.
    """

    def __init__(self, text: str) -> None:
        normal = normal_text(text).lower()
        self._probes = _probes(normal)
        self._room = int(len(normal.encode()) * SLACK) + _ROOM

    def stretches(self, text: str) -> list[str]:
        """The parts of the text in which they do, with room around; none in nearly all texts."""
        encoded = text.encode("utf-8", "replace")
        if not self._probes:
            return [text]
        merged: list[list[int]] = []
        for place in self._places(encoded):
            start, end = max(place - 2 * self._room, 0), place + self._room
            if merged and start <= merged[-1][1]:
                merged[-1][1] = end
            else:
                merged.append([start, end])
        return [encoded[start:end].decode("utf-8", "ignore") for start, end in merged]

    def _places(self, encoded: bytes) -> Iterator[int]:
        """Where one of them stands, and enough others not far before it."""
        needed = len(self._probes) - len(self._probes) // 2
        near: deque[tuple[int, bytes]] = deque()
        counts: Counter[bytes] = Counter()
        for match in self._expression.finditer(encoded):
            place, probe = match.start(), b"".join(match.group().lower().split())
            near.append((place, probe))
            counts[probe] += 1
            while place - near[0][0] > self._room:
                _, left = near.popleft()
                counts[left] -= 1
                if not counts[left]:
                    del counts[left]
            if len(counts) >= needed:
                yield place

    @cached_property
    def _expression(self) -> Any:
        import re2

        options = re2.Options()
        options.case_sensitive = False
        # Between characters there may be blanks, as PDF files have them; words are of letters alone.
        spaced = (r"\s*".join(probe) if _RUNS.fullmatch(probe) else probe for probe in self._probes)
        return re2.compile("|".join(spaced), options)


def _probes(normal: str) -> tuple[str, ...]:
    words = sorted(set(_WORDS.findall(normal)) - LIGHT, key=lambda word: (-len(word), word))
    runs = _RUNS.findall(normal)
    every = max(len(runs) // PROBES, 1)
    return tuple((runs[::every] if len(runs) > len(words) else words)[:PROBES])
