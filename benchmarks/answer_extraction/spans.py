"""Reads the texts of an answer: one, or a list."""

import ast
import json
import re
from typing import Literal

from toolablate.benchmarks.answer_extraction.announcements import (
    BULLET,
    EMPTY,
    NO_ANSWER,
    UNCLEAR_LIST,
    ExtractedAnswer,
    after_marks,
    announced,
    announcements,
    final_part,
    opening_line,
    read_bullets,
    undressed,
    unread,
)
from toolablate.traces.records import clean_text

MAX_LITERAL = 20_000
"""Longer lists are not evaluated as Python, whose parser needs memory out of proportion."""

NO_LIST = "a JSON list was asked for; where the announced texts begin and end is not clear"

Wanted = Literal["any", "one", "several"]

_SEPARATOR = re.compile(r"[,;、和与及]|\s(?:and|or|[&/|+])\s", re.IGNORECASE)
_FENCE = re.compile(r"```[A-Za-z]{0,12}[ \t]{0,8}(?:\n|$)|```")
_MARKS = ":*_ \n"
_LATEX_TEXT = re.compile(r"\\(?:text|mathrm)\{([^{}]*)\}")
_AMOUNT_ALONE = re.compile(r"([^A-Za-z\n]{1,60}[\d%)])[.*]{1,3}")


def read_spans(
    reply: str | None, *, wanted: Wanted = "any", unannounced: Literal["unparsed", "whole"] = "unparsed"
) -> ExtractedAnswer:
    """The texts that the reply finally gives: a JSON or Python list, or else the announced line as one text.

    Without an announcement ("Answer:", "So the answer is:") a reply or a last line that is a list is read as one, and
    any other reply is unparsed or taken as one text, `whole`, as `unannounced` says. Items that are no texts become
    JSON.

    Bullets below the announcement are a list. `wanted` is all that is known of the target: whether it has `one` text or
    `several`. For both, what opens like a list but is none is unread. For `several`, so is a text without brackets that
    holds a comma, a semicolon, an "and" or another line: nobody knows where to cut it ("Trinidad and Tobago, Cuba").
    That much of the target cannot make an answer right: one text never equals several. `any` takes an announced line
    that is no list as one text, whatever it holds.
    """
    text = final_part(reply or "").strip()
    if not text:
        return ExtractedAnswer(None, EMPTY)
    for head in announcements(text, window=len(text)):
        reading = _read_head(head, wanted)
        if reading is not None:
            return reading
    items = _list(text) or _list(text.rpartition("\n")[2])
    if items is not None:
        return ExtractedAnswer(items)
    return _whole(reply or "", wanted) if unannounced == "whole" else ExtractedAnswer(None, NO_ANSWER)


def read_scaled_spans(reply: str | None) -> tuple[ExtractedAnswer, str]:
    """The texts that the reply finally gives, and their scale ("" for none) where the reply ends in an object that
    gives it apart: `{"answer": [1496.5], "scale": "million"}`. A scale that the first text says as well is meant once.
    An `answer` that is null, "" or the bare number 0 is none, as TAT-QA's metric has it.

    Any other reply is read as by `read_spans`; one that announces no answer is one text. A single text is taken without
    the LaTeX around an amount, and without the full stop after one.
    """
    found = _object((reply or "").rstrip(" \n`*."))
    if found is None:
        reading = read_spans(reply, unannounced="whole")
        single = reading.value is not None and len(reading.value) == 1
        return (ExtractedAnswer(tuple(map(_bare_amount, reading.value or ()))) if single else reading), ""
    given, scale = found
    items = tuple(map(_as_text, given if isinstance(given, list) else [given] if given else []))
    unit = "" if scale is None else _as_text(scale).strip()
    return ExtractedAnswer(items), "" if items and unit in items[0] else unit


def _bare_amount(text: str) -> str:
    plain = _LATEX_TEXT.sub(r"\1", text).replace("\\%", "%").replace("\\$", "$").strip()
    ended = _AMOUNT_ALONE.fullmatch(plain)
    return ended[1] if ended else plain


def _object(text: str) -> tuple[object, object] | None:
    """The `answer` and the `scale` of the JSON object that the text ends in."""
    start = text.rfind("{")
    if start < 0 or not text.endswith("}"):
        return None
    try:
        value = json.loads(text[start:])
    except (ValueError, RecursionError):
        return None
    return (value["answer"], value.get("scale")) if isinstance(value, dict) and "answer" in value else None


def _read_head(head: str, wanted: Wanted) -> ExtractedAnswer | None:
    """Reads what follows an announcement; None where nothing does."""
    text = after_marks(head, _MARKS)
    if not text:
        return None
    items = _list(text)
    if items is not None:
        return ExtractedAnswer(items)
    bullets = read_bullets(head)
    if wanted == "any":
        whole = bullets is not None and bullets.value is not None
        return bullets if whole else ExtractedAnswer((undressed(text.splitlines()[0].strip()),))
    return bullets or _read_bare(text, wanted)


def _read_bare(text: str, wanted: Wanted) -> ExtractedAnswer | None:
    """Reads an announced text that is no list as it stands."""
    fence = _FENCE.match(text)
    text = text[fence.end() if fence else 0 :].partition("```")[0].partition("</answer>")[0].strip()
    if not text:
        return None
    first, *others = text.splitlines()
    line = undressed(_unboxed(first.strip()))
    items = _list(text) or _list(line)
    if items is not None:
        return ExtractedAnswer(items)
    if line.startswith("["):
        return unread(UNCLEAR_LIST, line)
    if wanted == "several" and (_SEPARATOR.search(line) or _goes_on(others)):
        return unread(NO_LIST, line)
    return ExtractedAnswer((line,))


def _goes_on(lines: list[str]) -> bool:
    """Whether the lines below an announced one may belong to it: the next one, or bullets after blank lines."""
    following = next((line for line in lines if line.strip()), "")
    return bool(following) and (following is lines[0] or BULLET.match(following) is not None)


def _whole(reply: str, wanted: Wanted) -> ExtractedAnswer:
    text = reply.strip()
    if wanted == "several" and ("\n" in text or _SEPARATOR.search(final_part(text))):
        return unread(NO_LIST, text)
    return ExtractedAnswer((text,))


def _list(text: str) -> tuple[str, ...] | None:
    """The list that the text begins with, or None. JSON first: it is what the prompt asks for."""
    text = text.removeprefix("```json").removeprefix("```").lstrip()
    if not text.startswith("["):
        return None
    try:
        value, _ = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        value = _python_list(text)
    try:
        return tuple(map(_as_text, value)) if isinstance(value, list) else None
    except (TypeError, ValueError, RecursionError):  # Python has items that no JSON can show: {(1, 2): 3}.
        return None


def _python_list(text: str) -> object:
    end = text.rfind("]", 0, MAX_LITERAL) + 1
    try:
        return ast.literal_eval(text[:end])
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None


def _as_text(item: object) -> str:
    """Without the lone surrogates that JSON can spell out ("\\ud800") and no store can hold."""
    return clean_text(item if isinstance(item, str) else json.dumps(item, ensure_ascii=False, default=str))


def _unboxed(line: str) -> str:
    """Ends the line where the brace closes that the announcement itself (`\\boxed{`) has opened."""
    depth = 0
    for place, character in enumerate(line):
        depth += (character == "{") - (character == "}")
        if depth < 0:
            return line[:place].strip()
    return line


# Reads one text or formula from a reply, as it is written.


MAX_FORMULA = 2_000
"""Characters; looking for one that is not closed takes time in the square of it."""

_FORMULA = re.compile(
    r"\$\$(?P<a>(?:[^$\\]|\\.){1,2000})\$\$|\$(?P<b>(?:[^$\\]|\\.){1,2000})\$"
    r"|\\\[(?P<c>(?:[^\\]|\\(?!\])){1,2000})\\\]|\\\((?P<d>(?:[^\\]|\\(?!\))){1,2000})\\\)",
    re.DOTALL,
)
_MARKS_BEFORE_TEXT = ":*_#> \t\n"
_FEW_WORDS = re.compile(r"[^\s<]{1,40}(?:[ \t]{1,4}[^\s<]{1,40}){0,7}(?<![.,:;!?])")


def read_text(
    reply: str | None, *, extra: re.Pattern[str] | None = None, unannounced: Literal["unparsed", "whole"] = "unparsed"
) -> ExtractedAnswer:
    r"""The text that the reply finally gives: the last box or announced line (`announced`), else a reply of one line,
    else a last line that is one formula (`$x$`, `\[x\]`). A formula of several lines is one line.

    Any other reply is unparsed or taken whole, as `unannounced` says. `extra` finds further announcements. A first line
    of few words, without a full stop, is the reply where another question follows it.
    """
    text = final_part(reply or "").strip()
    if not text:
        return ExtractedAnswer(None, EMPTY)
    opening = opening_line(text)
    if opening and _FEW_WORDS.fullmatch(opening):
        return ExtractedAnswer((undressed(opening),))
    for head in announced(text, extra=extra, window=len(text)):
        if line := head.text.strip() if head.decides else _first_line(head.text):
            return ExtractedAnswer((line,))
    if unannounced == "whole" or "\n" not in text:
        return ExtractedAnswer((text,))
    tail = text[-MAX_FORMULA:]
    formulas = list(_FORMULA.finditer(tail))
    if formulas and not tail[formulas[-1].end() :].strip(" .*"):
        last = formulas[-1]
        if not tail[tail.rfind("\n", 0, last.start()) + 1 : last.start()].strip(" *"):
            return ExtractedAnswer((last[0],))
    return ExtractedAnswer(None, NO_ANSWER)


def _first_line(head: str) -> str:
    text = after_marks(head, _MARKS_BEFORE_TEXT)
    formula = _FORMULA.match(text)
    end = text.find("\n", formula.end() if formula else 0)
    line = text[: end if end >= 0 else len(text)].partition("</answer>")[0].strip()
    return undressed(line.removesuffix("**").strip() if line.count("**") % 2 else line)
