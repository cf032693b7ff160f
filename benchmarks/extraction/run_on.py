"""Finds where a reply has answered its question and goes on to answer others."""

import re

SERIES = 3
"""From this many different letters on, lines that do nothing but announce one are answers to several questions."""

_LONE_ANSWER = re.compile(
    r"^[ \t#>*-]{0,8}(?:(?:final )?answer: ?)?(?:the answer is)? ?[(\[]?(?P<letter>[A-Z])[)\]]?\.?[ \t]{0,8}$",
    re.IGNORECASE | re.MULTILINE,
)


def without_series(text: str) -> str:
    """The text up to the end of the first of several lines that announce different letters, one a line.

    Models that were shown worked examples go on to answer those too: "The answer is (J).", "The answer is (D).", ...
    Who corrects themselves seldom does so twice, and not in lines of their own.
    """
    lines = [match for match in _LONE_ANSWER.finditer(text) if "nswer" in match[0]]
    letters = {match["letter"].upper() for match in lines}
    return text[: lines[0].end()] if len(letters) >= SERIES else text
