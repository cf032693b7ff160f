"""Reads a letter as Encyclo-K's published evaluation does, faults included, so that its accuracies can be recomputed.

Source: `eval/eval.py` (zero-shot) of https://github.com/Yiming-Liang/Encyclo-K, commit feeded7. The patterns match what
those do, written so that they stay linear: the published ones nest their repetitions, and give up after 5 seconds.
"""

import re
from collections.abc import Sequence

from toolablate.benchmarks.extraction.reading import EMPTY, Reading

LETTERS = "ABCDEFGHIJ"
"""Of every question, however many options it has."""

MISSED = "the published patterns find no letter and no option's text"

_NAME = r"(?:boxed|mathbf|mathrm|text)\{"
_COMMAND = rf"\\{_NAME}"
_MARK = rf"(?:{_COMMAND}|[*${{(\[\\])"
_END = r"[\\}$)\]]*(?:[\s:.*)]|$)"
_THE_ANSWER = r"[Tt]he\s+(?:\w+\s+)?(?:answer|option)(?:\w+\s)?\s+"
_LETTER = (
    re.compile(rf"{_THE_ANSWER}is?:?\s*(?:{_MARK}+\s*)?([{LETTERS}]){_END}", re.IGNORECASE),
    re.compile(rf"answer[*\s]*:\s*(?:{_MARK}+\s*)?([{LETTERS}]){_END}", re.IGNORECASE),
    re.compile(
        rf"^(?:[^\w\r\n\\]|\\(?!{_NAME}))*+(?:{_COMMAND}{_MARK}*)?\s*([{LETTERS}]){_END}",
        re.IGNORECASE,
    ),
)
_CONTENT = (
    rf"{_THE_ANSWER}is:?\s*(?:{_MARK}+?\s*)??",
    rf"(?i:answer)\s*(?:{_MARK}+?\s*)??",
    rf"^[^\w\r\n]*(?:{_COMMAND}{_MARK}*?\s*|[\r\n]\s*)?",
)


def read_official(reply: str | None, choices: Sequence[str] = ()) -> Reading:
    """The letter that the published evaluation takes from a reply, as a tuple of one; or None where it counts a miss.

    The last line is searched first and then the whole reply, each for "the answer is A", "Answer: A" and a letter at
    its beginning, of which the first match counts; then in the same way for the text of an option. A small letter is
    taken as such ("The answer is a matter of ..." gives "a"), and is never right.
    """
    text = (reply or "").rstrip()
    if not text:
        return Reading(None, EMPTY)
    parts = (text.rpartition("\n")[2], text)
    for part in parts:
        for pattern in _LETTER:
            if match := pattern.search(part):
                return Reading((match[1],))
    options = "|".join(map(re.escape, choices))
    for part in parts:
        for before in _CONTENT:
            if match := re.search(f"{before}({options}){_END}", part):
                return Reading((chr(ord("A") + choices.index(match[1])),)) if match[1] else Reading(None, MISSED)
    return Reading(None, MISSED)
