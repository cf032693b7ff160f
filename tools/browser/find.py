"""Finds text or a pattern in a page, in time linear in the page.

RE2 does the work, since a model may write any pattern. It is linear for one search; looking for all matches is linear
too because a page is searched in stretches of a few thousand characters, each with what follows it, and because
counting stops somewhere.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from toolablate.tools.browser.page import Page
from toolablate.tools.text import one_line

_WORD = (
    r"\x{c0}-\x{d6}\x{d8}-\x{f6}\x{f8}-\x{1fff}\x{3005}-\x{3007}\x{3041}-\x{30fa}\x{30fc}-\x{31ff}\x{3400}-\x{d7ff}"
    r"\x{f900}-\x{fdff}\x{ff10}-\x{ff19}\x{ff21}-\x{ff3a}\x{ff41}-\x{ff5a}\x{ff66}-\x{ffdc}\x{20000}-\x{3ffff}\w"
)
_BLANK = r"\p{Z}\x{85}\s"
_ALONE = {r"\w": f"[{_WORD}]", r"\W": f"[^{_WORD}]", r"\s": f"[{_BLANK}]", r"\S": f"[^{_BLANK}]"}
_IN_BRACKETS = {r"\w": _WORD, r"\s": _BLANK}
_TOKEN = re.compile(r"\\Q.*?(?:\\E|\Z)|\\.|\[\^?\]?|.", re.DOTALL)
_TOKEN_IN_BRACKETS = re.compile(r"\\.|\[:\^?[a-z]+:\]|.", re.DOTALL)


def widened(pattern: str) -> str:
    r"""A valid RE2 pattern with `\w \W \s \S` widened; in brackets only `\w` and `\s`."""
    parts: list[str] = []
    position, in_brackets = 0, False
    while token := (_TOKEN_IN_BRACKETS if in_brackets else _TOKEN).match(pattern, position):
        parts.append((_IN_BRACKETS if in_brackets else _ALONE).get(token[0], token[0]))
        in_brackets = token[0] != "]" if in_brackets else token[0].startswith("[")
        position = token.end()
    return "".join(parts)


PATTERN_CHARS = 200
MAX_LINES = 1_000
SPAN_CHARS = 4_000
"""A match this long is found wherever it begins; a longer one may not be."""

_STRETCH_CHARS = 8_000
# In instructions times bytes. Where a pattern has too many states, RE2 falls back from its automaton to a simulation of
# some nanoseconds for each: some seconds at these limits.
_MAX_WORK = 300_000_000
_MAX_WORK_AGAIN = 1_000_000_000
_MAX_MEMORY = 8_000_000
_BLANKS = r"[\s\p{Z}\x{85}]+"
_SYNTAX = (
    "patterns are in RE2 syntax, where case does not matter, . stops at the end of a paragraph, and there is no"
    " look-around, no backreference and no possessive or atomic group; a repeat goes up to 1000"
)


class PatternError(Exception):
    """A pattern that cannot be searched for; the message, for the model, says why."""


@dataclass(frozen=True, slots=True)
class MatchingLines:
    """Numbers of lines, in order; where they are not `complete` there may be more."""

    lines: tuple[int, ...] = ()
    complete: bool = True


def lines_with(page: Page, pattern: str, *, regex: bool) -> MatchingLines:
    """The lines in which a match begins, MAX_LINES at most.

    Without `regex` the pattern is text, in which a blank stands for any, since lines may be wrapped there. Raises
    PatternError.
    """
    words = pattern.split()
    if not words:
        return MatchingLines()
    if not regex:
        pattern = _BLANKS.join(map(_literal, words))
    # Only where it makes a difference, since it takes longer.
    wide = widened(pattern) if regex and not page.text.isascii() else pattern
    expression = _compiled(pattern, wide)
    instructions = expression.programsize if regex else 0
    if instructions * len(page.text.encode()) > _MAX_WORK:
        raise PatternError(f"the pattern repeats too much for {len(page.text):,} characters of text; make it smaller")
    found: list[int] = []
    work = 0
    for number, bytes_left in _matching(page.lines, expression):
        found.append(number)
        work += instructions * bytes_left
        if len(found) == MAX_LINES or work > _MAX_WORK_AGAIN:
            return MatchingLines(tuple(found), complete=False)
    return MatchingLines(tuple(found))


def _literal(word: str) -> str:
    import re2

    return str(re2.escape(word))


def _compiled(pattern: str, wide: str) -> Any:
    import re2

    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    options.max_mem = _MAX_MEMORY
    try:
        # As it was written first: only what is valid can be widened, and errors are about what the model wrote.
        expression = re2.compile(f"(?im){pattern}", options)
        return re2.compile(f"(?im){wide}", options) if wide != pattern else expression
    except re2.error as error:
        reason = error.args[0] if error.args else ""
        said = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
        raise PatternError(f"the pattern cannot be read: {one_line(said, 200)} ({_SYNTAX})") from None
    finally:
        # It would keep the automata of the last 128 patterns, of some megabytes each.
        re2.purge()


def _matching(lines: tuple[str, ...], expression: Any) -> Iterator[tuple[int, int]]:
    """Lines with a match, and over how many bytes the search for the next one goes.

    Stretch by stretch, with the line before it, so that what looks at a boundary sees it.
    """
    first = 0
    while first < len(lines):
        end = _after(lines, first, _STRETCH_CHARS)
        before = lines[first - 1].encode() if first else b""
        encoded = [line.encode() for line in lines[first : _after(lines, end, SPAN_CHARS)]]
        for number, bytes_left in _matching_lines(expression, before, encoded, end - first):
            yield first + number, bytes_left
        first = end


def _after(lines: tuple[str, ...], first: int, chars: int) -> int:
    """The number of the line behind those that hold that many characters."""
    while first < len(lines) and chars > 0:
        chars -= len(lines[first])
        first += 1
    return first


def _matching_lines(expression: Any, before: bytes, lines: list[bytes], count: int) -> Iterator[tuple[int, int]]:
    """Which of the first `count` lines a match begins in."""
    data = before + b"".join(lines)
    number, start = 0, len(before)
    while match := expression.search(data, start):
        begin = match.start()
        while number < count and start + len(lines[number]) <= begin:
            start += len(lines[number])
            number += 1
        if number >= count:
            return
        start += len(lines[number])
        yield number, len(data) - start
        number += 1
        if number >= count:
            return
