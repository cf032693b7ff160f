"""Reads texts that stand below an announcement as bullets or as a numbered list."""

import re

from toolablate.benchmarks.extraction.reading import Reading, unread

UNCLEAR_LIST = "a list is announced, but it cannot be read"

BULLET = re.compile(
    r"(?P<indent>[ \t]*)(?:(?P<mark>[-*•‣–])[ \t]+|(?P<number>[0-9]{1,3})(?:[.)][ \t]+|、[ \t]*))(?P<text>\S.*)"
)
_EMPHASIS = re.compile(r"(?<![*_])(?:\*{1,3}|_{1,3})$")


def read_bullets(head: str) -> Reading | None:
    """The bullets that follow an announcement, on the lines below it; None where none do.

    They end at the first line that is no bullet. A single numbered line is none: it may be the text itself
    ("1. FC Köln"). Bullets that are indented differently, marked differently or go on below themselves are unread.
    """
    first, *lines = head.splitlines()
    if first.strip(":*_ \t") and not first.rstrip("*_ \t").endswith(":"):
        return None
    bullets: list[re.Match[str]] = []
    for line in filter(str.strip, lines):
        bullet = BULLET.fullmatch(line)
        if bullet is None and bullets and line[0].isspace():
            return unread(UNCLEAR_LIST, line)
        if bullet is None:
            break
        bullets.append(bullet)
    if not bullets or (len(bullets) == 1 and bullets[0]["number"]):
        return None
    numbers = [bullet["number"] and int(bullet["number"]) for bullet in bullets]
    if len({(bullet["indent"], bullet["mark"]) for bullet in bullets}) > 1 or (
        bullets[0]["number"] and numbers != list(range(1, len(bullets) + 1))
    ):
        return unread(UNCLEAR_LIST, bullets[0][0])
    return Reading(tuple(undressed(bullet["text"].strip().rstrip(",;")) for bullet in bullets))


def after_marks(head: str, marks: str) -> str:
    """What follows an announcement, without the `marks` before it: those that end the label ("**Answer:** "), and those
    that open emphasis, which go from the end of the line as well ("Answer: *Paris*", "**Answer: Paris**")."""
    head = head.strip()
    text = head.lstrip(marks)
    opened = head[: len(head) - len(text)]
    line, newline, below = text.partition("\n")
    closing = _EMPHASIS.search(line)
    if closing and (opened.endswith(closing[0]) or (closing[0] == "**" and line.count("**") % 2)):
        line = line[: closing.start()].rstrip()
    return line + newline + below


def undressed(line: str) -> str:
    """Takes off bold, italic or code marks that stand on both sides; one-sided marks may belong to the text."""
    for mark in ("**", "__", "*", "`"):
        if len(line) > 2 * len(mark) and line.startswith(mark) and line.endswith(mark):
            return line[len(mark) : -len(mark)].strip()
    return line
