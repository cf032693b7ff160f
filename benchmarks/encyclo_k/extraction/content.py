"""Finds the text of an option where a reply ends with it and names no letter."""

import re
from collections.abc import Mapping

from toolablate.benchmarks.extraction.wording import is_complete, normalised

SHORTEST = 4
"""Shorter texts ("3", "60") stand in too many sentences that decide nothing."""

_SENTENCE_END = re.compile(r"[.!?](?=\s)")
_NEGATION = re.compile(
    r"\b(?:not|no|none|neither|nor|never|except|incorrect|wrong|false|instead|unlike|than|if|or|but|however)\b|n't\b"
    r"|不|非|错|但",
)
# Chinese has no blanks between words: only Latin letters and digits can go on beyond the text.
_NAMED = re.compile(r"\s\((?:option\s)?(?P<letter>[a-z])\)?$")
_BEFORE = re.compile(r"(?<![A-Za-z0-9_.,^×*/\\-])(?<![\^×*/\\-]\s)")
_AFTER = re.compile(r"(?![A-Za-z0-9_^×*/])(?![.,]\w)(?!\s[\^×*/+-])(?!,\s[ivx\d])(?!\s(?:and|or)\b)")


def read_content(text: str, texts: Mapping[str, str]) -> str | None:
    """The letter of the one option whose whole text stands in the reply's last sentence.

    A reply that broke off has none: it might have gone on. Nor has a sentence that denies, or that holds two options
    of which neither is a part of the other.
    """
    if not is_complete(text):
        return None
    sentence = _last_sentence(text)
    if named := _NAMED.search(sentence):
        letter = named["letter"].upper()
        # "... due to the need for a defence (E).": the letter stands behind its own text.
        return letter if texts.get(letter) and sentence[: named.start()].endswith(texts[letter]) else None
    found = {letter: own for letter, own in texts.items() if len(own) >= SHORTEST and _stands_in(own, sentence)}
    longest = max(found.values(), key=len, default="")
    letters = [letter for letter, own in found.items() if own == longest]
    if len(letters) != 1 or any(own not in longest for own in found.values()):
        return None
    # The option's own words may deny.
    return None if _NEGATION.search(sentence.replace(longest, " ")) else letters[0]


def _last_sentence(text: str) -> str:
    line = text.rpartition("\n")[2]
    start = max((match.end() for match in _SENTENCE_END.finditer(line)), default=0)
    return normalised(line[start:])


def _stands_in(own: str, sentence: str) -> bool:
    start = sentence.find(own)
    # No pattern: it would try all of a long option at each character of a long reply.
    while start >= 0:
        end = start + len(own)
        if _BEFORE.match(sentence, start) and _AFTER.match(sentence, end):
            return True
        start = sentence.find(own, end)
    return False
