"""The passage of a text that is shown in a list of results."""

from collections.abc import Iterator, Mapping

from toolablate.tools.corpus.terms import UNSPACED

PASSAGE_CHARS = 280
MAX_OCCURRENCES = 50
"""Of one term; a term that is everywhere says little about where to look."""

_EDGE_CHARS = 40


def passage(text: str, weights: Mapping[str, float], *, complete: bool = True) -> str:
    """The stretch of the text whose terms weigh most, each counted once; the first of equals.

    `complete` tells whether the text is all there is; where something is left out there is an ellipsis.
    """
    start = _best_start(text, weights)
    end = start + PASSAGE_CHARS
    cut = text[start:end]
    more = end < len(text) or not complete
    # No half words at the edges, where there are blanks to cut at.
    head = cut.find(" ") + 1 if start and not text[start - 1].isspace() else 0
    tail = cut.rfind(" ") if more else -1
    inner = cut[head if head < _EDGE_CHARS else 0 : tail if tail > max(head, len(cut) - _EDGE_CHARS) else len(cut)]
    return f"{'…' if start else ''}{inner.strip()}{'…' if more else ''}"


def _best_start(text: str, weights: Mapping[str, float]) -> int:
    """Windows begin at every half of a passage, as far as the text goes."""
    step = PASSAGE_CHARS // 2
    last = max(0, (len(text) - 1) // step - 1)
    windows: dict[int, float] = {}
    folded = _of_same_length(text)
    for term, weight in weights.items():
        seen = set[int]()
        for place in _occurrences(folded, term):
            half = place // step
            # A window is two halves: the one that begins at this half, and the one before it.
            seen.update({min(half, last), max(0, min(half - 1, last))})
        for window in seen:
            windows[window] = windows.get(window, 0.0) + weight
    return min(windows, key=lambda window: (-windows[window], window)) * step if windows else 0


def _of_same_length(text: str) -> str:
    """Lower case where that leaves every character in its place."""
    lower = text.lower()
    return lower if len(lower) == len(text) else text


def _occurrences(text: str, term: str) -> Iterator[int]:
    """Where a term stands as a whole word, or anywhere for scripts that are written without blanks."""
    anywhere = UNSPACED.match(term) is not None
    left = MAX_OCCURRENCES
    place = text.find(term)
    while place >= 0 and left:
        end = place + len(term)
        if anywhere or not (text[place - 1 : place].isalnum() or text[end : end + 1].isalnum()):
            yield place
            left -= 1
        place = text.find(term, end)
