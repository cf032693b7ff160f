"""Finds where a reply announces its answer: "The answer is", "Answer:", a box, 答案...

Every pattern is made of bounded pieces, so that the search stays linear on hostile text.
"""

import re
import unicodedata
from collections.abc import Iterator

THOUGHT_END = "</think>"
MAX_ANNOUNCEMENTS = 1_000
"""A reply with more is a loop that broke off; only the last ones are looked at."""

_VERB = (
    r"(?:(?:should|would|must|will|could|might)\s)?(?:(?:then|thus|therefore|so|likely|most\slikely|probably|clearly|also)\s)?"
    r"(?:is|are|was|were|be)\b"
)
_RIGHT = r"(?:correct|right|best|closest|nearest|appropriate|suitable|accurate|proper|final|chosen|true)"
_NOUN = r"(?:answers?|options?|choices?|statements?|letters?|values?|match|ones?|responses?|selection|verdict)"
_QUOTE = r"""["'_)\]]{0,4}"""

_MARKERS = (
    r"<answer>",
    r"\\f?boxed\s?\{",
    # A heading of its own: the answer is on the next line.
    r"(?m:^[ \t#>_-]{0,12}(?:the\s)?(?:final\s|correct\s)?answer[ \t#_]{0,6}$)",
    rf"\banswers?(?:\s(?:choice|option|letter)s?)?{_QUOTE}\s{{0,3}}(?:[:=→]|-{{1,3}}>?\s|[–—]\s)",
    rf"\banswers?(?:\s(?:choice|option|letter)s?)?{_QUOTE}"
    rf"(?:\s(?:to|for|of)(?:\s[^\s.:;]{{1,24}}){{1,8}}?)?,?\s{{1,3}}(?:(?:here|then|thus|therefore),?\s)?{_VERB}",
    rf"\b{_RIGHT}\s(?:{_NOUN}(?:\s|(?=:))){{0,2}}(?:{_VERB}|:)",
    r"答案(?:选项)?[_\"”』」)\]]{0,4}\s{0,3}(?:应该|应当|应|就|即|只能|可能)?(?:是|为|选|[:=])?",
    r"(?:故|因此|所以|综上|本题|应该?|我)[,]?\s?(?:应该?|正确)?(?:选择|选项[为是]|选)",
    r"(?:正确|最佳|最终)的?(?:选项|选择|答案|说法|表述|陈述|组合)(?:应该|应|只有)?(?:是|为|:)",
)
_MARKER = re.compile("|".join(_MARKERS), re.IGNORECASE)
_NEXT_QUESTION = re.compile(r"^[ \t#*]{0,8}(?:Question|Problem)\s?\d{0,4}\s?[:.]", re.IGNORECASE | re.MULTILINE)

_GAP = re.compile(r"\n{5}")

# Full-width forms and the letters of mathematical fonts become the plain characters that they stand for.
_PLAIN: dict[int, str] = {code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)}
_PLAIN |= {code: unicodedata.normalize("NFKC", chr(code)) for code in range(0x1D400, 0x1D800)}
_PLAIN |= {0x3000: " ", 0x2212: "-", 0xA0: " ", 0x3010: "[", 0x3011: "]", 0x3002: "."}


def final_part(reply: str) -> str:
    """The reply in plain characters, without the thoughts that some endpoints leave in it."""
    return reply.rpartition(THOUGHT_END)[2].translate(_PLAIN)


def is_announced(text: str) -> bool:
    return _MARKER.search(text) is not None


def before_next_question(text: str) -> str:
    """The text up to where, having announced an answer, it asks itself another question."""
    first = _MARKER.search(text)
    following = _NEXT_QUESTION.search(text, first.end()) if first else None
    return text[: following.start()] if following else text


def before_another_question(text: str) -> str:
    """The text up to where it asks itself another question or is empty for lines, answer announced or not."""
    following = _NEXT_QUESTION.search(text, 1) or _GAP.search(text)
    return text[: following.start()].rstrip() if following else text


def announcements(text: str, *, extra: re.Pattern[str] | None = None, window: int = 400) -> Iterator[str]:
    """What follows each announcement of an answer, the last one first, each up to the next and at most `window` long.

    A reply that has given an answer and goes on to ask itself another question ends there. `extra` finds further
    announcements that only one kind of answer knows.
    """
    found = [match.span() for match in _MARKER.finditer(text)]
    if extra is not None:
        found = sorted(found + [match.span() for match in extra.finditer(text)])
    end = len(text)
    if found:
        next_question = _NEXT_QUESTION.search(text, found[0][1])
        end = next_question.start() if next_question else end
    for start, stop in reversed(found[-MAX_ANNOUNCEMENTS:]):
        if stop > end:
            continue
        yield text[stop : min(end, stop + window)]
        end = start
