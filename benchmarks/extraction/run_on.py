"""Finds where a reply has answered its question and goes on to answer others, as those do that were shown examples."""

import re

SERIES = 3
"""From this many different letters on, lines that do nothing but announce one are answers to several questions."""

_LONE_ANSWER = re.compile(
    r"^[ \t#>*-]{0,8}(?:(?:final )?answer: ?)?(?:the answer is)? ?[(\[]?(?P<letter>[A-Z])[)\]]?\.?[ \t]{0,8}$",
    re.IGNORECASE | re.MULTILINE,
)
_NEXT_ANSWER = re.compile(
    r"answer is[ :]{0,2}\(?(?P<first>[A-Z])\)?\.?[ \t]{0,8}(?P<end>\n)[\s-]{0,20}"
    r"answer: ?the answer is \(?(?!(?P=first))[A-Z]\)",
    re.IGNORECASE,
)


def without_other_answers(text: str) -> str:
    """The text without the answers to other questions that follow its own: "The answer is (J).", "The answer is (D)."

    They are lines of at least three different letters that do nothing but announce them, of which the first is the
    reply's own; or, right after an announcement, a block that begins "Answer: The answer is (D)" with another letter.
    Who corrects themselves says so in between, and seldom does it twice.
    """
    lines = [match for match in _LONE_ANSWER.finditer(text) if "nswer" in match[0]]
    if len({match["letter"].upper() for match in lines}) >= SERIES:
        text = text[: lines[0].end()]
    following = _NEXT_ANSWER.search(text)
    return text[: following.start("end")] if following else text
