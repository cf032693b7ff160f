"""Texts of choices as they are compared with what a reply says."""

import re
from collections.abc import Mapping

from toolablate.benchmarks.extraction.markers import final_part

LONG_CHOICE = 12
"""From this many characters on, a choice's text is told from other prose without punctuation after it."""

TOLD_APART = 20
"""So many characters of a choice's text, beside its letter, tell that the letter is a choice's."""

_MARKUP = re.compile(r"[*`$]|\\(?:text|mathrm|mathbf|textbf|mathsf|mathit|rm|bf)\b|\\(?=[()\[\]])|\\[,;! ]")
_ENDS = re.compile(r"[.,;:!?)\]}\"'”’]{1,3}(?:\s|$)|\s?\n|\s\(|$")

_COMPLETE = re.compile(r"[.!][\"'”’)\]}*]{0,3}$")


def without_markup(text: str) -> str:
    return _MARKUP.sub("", text)


def normalised(text: str) -> str:
    """Lower case, single blanks, no markup, no quotes or brackets before and no full stop after."""
    plain = without_markup(final_part(text)).casefold().strip(" \t\n\"'“”‘’([{")
    return re.sub(r"\s*\n\s*", "\n", re.sub(r"[ \t]+", " ", plain)).rstrip(". ")


def match_text(head: str, texts: Mapping[str, str]) -> tuple[str, int] | None:
    """The letter of the choice whose whole text the head begins with, and that text's length.

    The longest choice wins; None where two choices share the text.
    """
    start = normalised(head)
    fitting = [text for text in texts.values() if text and start.startswith(text) and _ends_there(start, text)]
    if not fitting:
        return None
    longest = max(fitting, key=len)
    letters = [letter for letter, text in texts.items() if text == longest]
    return (letters[0], len(longest)) if len(letters) == 1 else None


def is_text(line: str, text: str) -> bool:
    """Whether a line is a choice's text and nothing else."""
    return bool(text) and normalised(line) == text


def is_complete(reply: str) -> bool:
    """Whether the reply ends as a sentence does; one that broke off might have gone on."""
    return _COMPLETE.search(reply[-8:]) is not None


def _ends_there(start: str, text: str) -> bool:
    if _ENDS.match(start, len(text)):
        return True
    return len(text) >= LONG_CHOICE and not start[len(text)].isalnum()
