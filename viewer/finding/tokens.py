"""The words of texts as the index has them, and where they stand in a text."""

import re
from collections.abc import Iterator, Sequence

from toolablate.benchmarks.scoring.rouge import UNSPACED

_TOKEN = re.compile(rf"[{UNSPACED}]|[^\W_{UNSPACED}]+")

Span = tuple[int, int]


def tokens_of(text: str) -> list[str]:
    """Runs of letters and digits, and each Han or kana sign by itself, whatever their case: Chinese and Japanese are
    written without blanks, so that a word of them is a phrase of signs."""
    return _TOKEN.findall(text.casefold())


def to_index(text: str) -> str:
    """The same tokens with blanks between them, as SQLite's `ascii` tokenizer tells them apart: for it all that is not
    ASCII belongs to a word."""
    # NUL would end the text.
    return text.lower().replace("\0", " ") if text.isascii() else " ".join(tokens_of(text))


def spans_of(text: str, tokens: Sequence[str], *, prefix: bool) -> Iterator[Span]:
    """Where these tokens stand in a row; of the last its beginning is enough where `prefix` says so. By the tokens of
    the text itself, so that a match is one of the index."""
    found = [(each.group().casefold(), each.start(), each.end()) for each in _TOKEN.finditer(text)]
    length = len(tokens)
    for place in range(len(found) - length + 1):
        if _fits(found[place : place + length], tokens, prefix):
            yield found[place][1], found[place + length - 1][2]


def _fits(found: Sequence[tuple[str, int, int]], tokens: Sequence[str], prefix: bool) -> bool:
    for place, (token, (there, _, _)) in enumerate(zip(tokens, found, strict=True)):
        if there != token and not (prefix and place == len(tokens) - 1 and there.startswith(token)):
            return False
    return True
