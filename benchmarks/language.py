"""The language of a question, by its characters."""

import re

CHINESE_SHARE = 0.1
"""Of the letters of a Chinese question: formulas and names in it have Latin ones."""

_CHINESE = re.compile("[\u4e00-\u9fff]")
_LETTER = re.compile(r"[^\W\d_]")


def language_of(text: str) -> str:
    """`zh` or `en`."""
    letters, chinese = len(_LETTER.findall(text)), len(_CHINESE.findall(text))
    return "zh" if chinese > CHINESE_SHARE * letters else "en"
