"""How much of the final reply comes word for word from what tools returned, beside what comes from the question."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import pairwise

from toolablate.analysis.attribution.signals.records import Echo, Run
from toolablate.analysis.attribution.signals.steps import Steps

GRAM_WORDS = 5
GRAM_CHARACTERS = 8
"""A run counts from five words on, or eight characters of a script that writes no blanks; shorter ones are common
property."""

MOST_WORDS = 5_000
"""Of the end of a final reply, which are looked at."""

_RUNS = 5
_EXCERPT = 12
_UNSPACED = "\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W_{_UNSPACED}]+")
_WHOLE = GRAM_WORDS * GRAM_CHARACTERS

Gram = tuple[str, ...]
Spans = Mapping[Gram, Sequence[tuple[int, int]]]


def echo(steps: Steps, prompt: str) -> Echo:
    """Shares of the words of the final reply that lie in a run which a result, or the question, has too."""
    words = _words(steps.final)[-MOST_WORDS:]
    spans: dict[Gram, list[tuple[int, int]]] = {}
    for gram, start, stop in _grams(words, range(len(words))):
        spans.setdefault(gram, []).append((start, stop))
    begun = {gram[:2] for gram in spans}
    asked = _covered(spans, begun, prompt) if spans else set()
    shown = {call.event: _covered(spans, begun, call.output) for call in steps.calls if spans}
    tools = set[int]().union(*shown.values())
    runs = [run for event, covered in shown.items() for run in _runs(event, covered, words)]
    size = max(len(words), 1)
    return Echo(
        words=len(words),
        from_tools=len(tools) / size,
        from_question=len(asked) / size,
        from_tools_alone=len(tools - asked) / size,
        by_event={event: len(covered) / size for event, covered in shown.items() if covered},
        runs=_longest(runs) + _longest(list(_runs(None, asked, words))),
    )


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _grams(words: Sequence[str], starts: Iterable[int]) -> Iterator[tuple[Gram, int, int]]:
    """From each of these places the fewest words that make a whole one: five words, eight characters, or as much of
    both."""
    for start in starts:
        stop, weight = start, 0
        while weight < _WHOLE and stop < len(words):
            word = words[stop]
            weight += GRAM_WORDS if len(word) == 1 and word >= "\u3005" else GRAM_CHARACTERS
            stop += 1
        if weight >= _WHOLE:
            yield tuple(words[start:stop]), start, stop


def _covered(spans: Spans, begun: AbstractSet[Gram], text: str) -> set[int]:
    """The places of the final reply that lie in runs which a text has too; `begun` are the first two words of each."""
    words = _words(text)
    starts = (start for start, pair in enumerate(pairwise(words)) if pair in begun)
    # Each gram once: a reply and a result that say one word a million times must not be held against each other.
    both = {gram for gram, _, _ in _grams(words, starts) if gram in spans}
    return {place for gram in both for start, stop in spans[gram] for place in range(start, stop)}


def _runs(event: int | None, covered: set[int], words: Sequence[str]) -> Iterator[Run]:
    """What lies together."""
    for start in sorted(place for place in covered if place - 1 not in covered):
        stop = start
        while stop in covered:
            stop += 1
        yield Run(event, start, stop - start, " ".join(words[start : min(stop, start + _EXCERPT)]))


def _longest(runs: list[Run]) -> tuple[Run, ...]:
    return tuple(sorted(runs, key=lambda run: (-run.words, run.start))[:_RUNS])
