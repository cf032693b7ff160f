"""Reads one text or formula from a reply, as it is written."""

import re
from typing import Literal

from toolablate.benchmarks.extraction.bullets import after_marks, undressed
from toolablate.benchmarks.extraction.markers import announced, final_part, opening_line
from toolablate.benchmarks.extraction.reading import EMPTY, NO_ANSWER, Reading

MAX_FORMULA = 2_000
"""Characters; looking for one that is not closed takes time in the square of it."""

_FORMULA = re.compile(
    r"\$\$(?P<a>(?:[^$\\]|\\.){1,2000})\$\$|\$(?P<b>(?:[^$\\]|\\.){1,2000})\$"
    r"|\\\[(?P<c>(?:[^\\]|\\(?!\])){1,2000})\\\]|\\\((?P<d>(?:[^\\]|\\(?!\))){1,2000})\\\)",
    re.DOTALL,
)
_MARKS = ":*_#> \t\n"
_FEW_WORDS = re.compile(r"[^\s<]{1,40}(?:[ \t]{1,4}[^\s<]{1,40}){0,7}(?<![.,:;!?])")


def read_text(
    reply: str | None, *, extra: re.Pattern[str] | None = None, unannounced: Literal["unparsed", "whole"] = "unparsed"
) -> Reading:
    r"""The text that the reply finally gives: the last box or announced line (`announced`), else a reply of one line,
    else a last line that is one formula (`$x$`, `\[x\]`). A formula of several lines is one line.

    Any other reply is unparsed or taken whole, as `unannounced` says. `extra` finds further announcements. A first line
    of few words, without a full stop, is the reply where another question follows it.
    """
    text = final_part(reply or "").strip()
    if not text:
        return Reading(None, EMPTY)
    opening = opening_line(text)
    if opening and _FEW_WORDS.fullmatch(opening):
        return Reading((undressed(opening),))
    for head in announced(text, extra=extra, window=len(text)):
        if line := head.text.strip() if head.decides else _first_line(head.text):
            return Reading((line,))
    if unannounced == "whole" or "\n" not in text:
        return Reading((text,))
    tail = text[-MAX_FORMULA:]
    formulas = list(_FORMULA.finditer(tail))
    if formulas and not tail[formulas[-1].end() :].strip(" .*"):
        last = formulas[-1]
        if not tail[tail.rfind("\n", 0, last.start()) + 1 : last.start()].strip(" *"):
            return Reading((last[0],))
    return Reading(None, NO_ANSWER)


def _first_line(head: str) -> str:
    text = after_marks(head, _MARKS)
    formula = _FORMULA.match(text)
    end = text.find("\n", formula.end() if formula else 0)
    line = text[: end if end >= 0 else len(text)].partition("</answer>")[0].strip()
    return undressed(line.removesuffix("**").strip() if line.count("**") % 2 else line)
