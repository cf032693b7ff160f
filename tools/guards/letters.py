"""Where a text says that a letter is the answer, as keys of multiple-choice questions do, and which letters a question
itself gives its options."""

import re
from functools import lru_cache

LETTER = re.compile(r"[A-Z]")

_KEYS = (
    r"(?<!re)(?<!in)(?<!incorrect )(?<!wrong )"
    r"(?:answer|answer_?key|correct|solution|label|target|答案|正确选项|正確選項|故选|故選|选择|應選|应选)"
)
_LINKS = r"(?:is|was|choice|option|letter|answer|key|为|為|是|选|選)"
# No end of a sentence: "Choose the correct answer. A boat ...".
_BETWEEN = r"(?:[^\w.?!。]|_){0,6}"
# After "A" and a word it is an article, but for words that no article comes before.
_NO_WORD = (
    r"(?![A-Za-z0-9])(?![^\S\n]+(?!(?:because|since|and|is|was|Because|Since|Explanation|Rationale|Reasoning)\b)[^\W\d_])"
    r"(?!(?![项項选選正对對解考点點本故所因其])[\u3400-\u9fff])"
)

_OPTION = re.compile(r"(?<![A-Za-z0-9])([A-Z])\s?[.):、．）：]")
_UNKNOWN = 4
"""Options that a question is taken to have which names none."""


def lettered(prompt: str) -> int:
    """How many options a prompt lists by letters from A on, one after the other ("A. ...", "(B) ..."); four where it
    lists no two."""
    count = 0
    for found in _OPTION.finditer(prompt):
        count += found[1] == chr(ord("A") + count)
    return count if count > 1 else _UNKNOWN


@lru_cache(maxsize=32)
def named_as_answer(letter: str) -> re.Pattern[str]:
    """A capital letter that is said to be the answer, and that neither a word nor the list of choices follows:
    `Answer: B`, `The correct answer is (B).`, `"answer": "B"`, `正确答案是B`."""
    following = chr(ord(letter) + 1)
    no_list = rf"(?!(?P<mark>[.):、])(?s:.{{1,300}}?)(?<!\w){following}(?P=mark))"
    return re.compile(f"(?i:{_KEYS}){_BETWEEN}(?:(?i:{_LINKS}){_BETWEEN}){{0,3}}{letter}{no_list}{_NO_WORD}")
