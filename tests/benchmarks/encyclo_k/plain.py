"""The paper's description of its extraction taken plainly, to compare with: first patterns that fit, last match."""

import re
from collections.abc import Sequence

_LETTER = r"\W{0,3}?\(?([A-J])(?![\w'])"
_GROUPS = (
    re.compile(rf"(?i:the (?:correct |final |right |best )?answer is:?){_LETTER}"),
    re.compile(rf"(?i:answer|option|choice):?{_LETTER}"),
    re.compile(r"(?<![\w'])\(?([A-J])\)?(?![\w'])"),
)


def plain_letter(text: str, choices: Sequence[str]) -> str | None:
    lines = [line for line in text.splitlines() if line.strip()]
    for part in (*lines[-1:], text):
        for group in _GROUPS:
            if found := group.findall(part):
                return str(found[-1])
    return next(
        (letter for letter, own in zip("ABCDEFGHIJ", choices, strict=False) if own.lower() in text.lower()), None
    )
