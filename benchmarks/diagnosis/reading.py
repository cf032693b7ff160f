"""Reads the labels out of a judge's reply, in time linear in the reply's length.

What a judge says of a trial may quote it, and a trial may hold labels of its own. So labels count only where the judge
puts them: in a JSON object that ends the reply on a line of its own, or that opens a reply which holds no other. Where
another object stands before the one at the end, with words between them, the judge quoted it, or thought better of it.
Anything else holds no labels, and is asked for again.

Numbers of steps that do not exist, or are no numbers, are passed over: the labels stand without them.
"""

import json
import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from toolablate.benchmarks.diagnosis.wording import DISTRACTIONS, ERROR_TYPES, NONE, Fault
from toolablate.benchmarks.extraction.markers import final_part
from toolablate.benchmarks.judging.reading import after_thoughts
from toolablate.benchmarks.judging.reasons import MAX_REASON_CHARS, short_reason
from toolablate.traces.records import Distraction, ErrorType, ModelReply

_KEY = re.compile(r'["“”‘’\']error_type["“”‘’\']\s{0,9}:')
_NO_WORDS = r"<[^<>\n]{1,40}>|[\W_]"
_ANNOUNCED = re.compile(
    r"(?:(?:the|my|is|are|as|in|here|final|labels?|result|output|json|reply|answer)(?![a-z])"
    rf"|最终|标签|结果|输出|格式|回复|如下|为|是|{_NO_WORDS})*+\Z",
    re.IGNORECASE,
)
_NOTHING_MORE = re.compile(rf"(?:{_NO_WORDS})*+\Z")
_LINE_ENDS = re.compile(r"(?:[^\w\n]|_)*+(?:\n|\Z)")
_REASON = re.compile(
    r"^[\W_]{0,8}(?:(?P<error>error(?:[ _]type)?|错误(?:类型)?)|(?P<drawn>drawn(?:[ _]by)?|引偏))"
    r"[*_`\"”)）\] ]{0,6}[:：](?P<said>[^\n]*)",
    re.IGNORECASE | re.MULTILINE,
)
_NUMBER = re.compile(r"(?:step|步骤|#)?\s?(?P<number>[0-9]{1,6})", re.IGNORECASE)
_ASIDE = re.compile(r"[(\[][^()\[\]]{0,60}[)\]]\Z")
_CURLY = str.maketrans("“”", '""')
_SINGLE = str.maketrans("“”‘’'", '"' * 5)
_OBJECT_CHARS = 4_000
_BEFORE_CHARS = 200
_REASONS_CHARS = 6_000
_MOST_KEYS = 50
"""A reply with more of them is a loop; only the first and the last are looked at."""

_DECODER = json.JSONDecoder(object_pairs_hook=lambda pairs: list(pairs), strict=False)
_ALIASES = {
    "others": "other",
    "oversimplification": "over_simplification",
    "overengineering": "over_engineering",
    "过度简化": "over_simplification",
    "推理错误": "reasoning",
    "知识缺失": "knowledge",
    "虚构": "hallucination",
    "误解题意": "misinterpretation",
    "计算错误": "calculation",
    "其他": "other",
    "误信误导内容": "misleading_adoption",
    "以存在为规范": "existence_as_norm",
    "过度工程化": "over_engineering",
    "无": NONE,
}


@dataclass(frozen=True, slots=True)
class Labels:
    """What a judge says; both labels None, with the `fault` of the reply, where it says nothing that counts. Each label
    has its reason and the steps that it points to."""

    error_type: ErrorType | None = None
    distraction: Distraction | None = None
    fault: Fault | None = None
    reason: str = ""
    steps: tuple[int, ...] = ()
    distraction_reason: str = ""
    distraction_steps: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class _Mark:
    """An object with labels, from `start` to `end`; `fault` says why it has none."""

    start: int
    end: int
    said: tuple[str, str] = ("", "")
    steps: tuple[Any, Any] = ((), ())
    fault: Fault | None = None


def read_labels(reply: ModelReply, steps: Collection[int]) -> Labels:
    """The labels in a reply about a trial with these steps."""
    if reply.finish_reason == "length":
        return Labels(fault="cut_off")
    text = after_thoughts(reply.message.content)
    if not text:
        return Labels(fault="empty")
    # Replaces single characters by single ones, so that a place in the one is a place in the other.
    plain = final_part(text)
    found = [match.start() for match in _KEY.finditer(plain)]
    marks = [_mark(plain, place) for place in (found if len(found) <= _MOST_KEYS else [found[0], *found[-2:]])]
    if not marks:
        return Labels(fault="no_labels")
    decided = _decide(plain, marks)
    if not isinstance(decided, _Mark):
        return Labels(fault=decided)
    if decided.fault is not None:
        return Labels(fault=decided.fault)
    return _labels(text, decided, steps)


def _mark(plain: str, key: int) -> _Mark:
    """The object whose first key this is."""
    start = plain.rfind("{", max(0, key - _BEFORE_CHARS), key)
    if start < 0:
        return _Mark(key, key, fault="no_labels")
    written = plain[start : start + _OBJECT_CHARS]
    found = (_decoded(written.translate(quotes)) for quotes in ({}, _CURLY, _SINGLE))
    pairs, length = next((each for each in found if each), (None, 0))
    if pairs is None:
        return _Mark(start, key, fault="no_labels")
    given = dict(pairs)
    end = start + length
    if len(given) < len(pairs):
        return _Mark(start, end, fault="two_labels")
    said = _name(given.get("error_type")), _name(given.get("drawn_by", ""))
    known = said[0] in ERROR_TYPES and said[1] in (*DISTRACTIONS, NONE)
    steps = given.get("error_steps"), given.get("drawn_steps")
    return _Mark(start, end, said, steps, None if known else "other_labels")


def _decoded(written: str) -> tuple[list[tuple[str, Any]], int] | None:
    try:
        pairs, length = _DECODER.raw_decode(written)
    except (ValueError, RecursionError):
        return None
    return (pairs, length) if isinstance(pairs, list) else None


def _name(said: Any) -> str:
    if said is None:
        return NONE
    plain = _ASIDE.sub("", said.strip().casefold()).strip() if isinstance(said, str) else ""
    name = re.sub(r"[\s-]+", "_", plain)
    return _ALIASES.get(name, name)


def _decide(plain: str, marks: list[_Mark]) -> _Mark | Fault:
    """The object that counts."""
    differ = len({(mark.said, mark.fault) for mark in marks}) > 1
    first, last = marks[0], marks[-1]
    if _NOTHING_MORE.match(plain, last.end) and _stands_alone(plain, last):
        return "two_labels" if differ and _contradicts_itself(plain, marks) else last
    if not differ and _opens(plain, first):
        return first
    return "two_labels" if differ else "no_labels"


def _stands_alone(plain: str, mark: _Mark) -> bool:
    line = plain.rfind("\n", 0, mark.start) + 1
    return mark.start - line <= _BEFORE_CHARS and bool(_ANNOUNCED.match(plain, line, mark.start))


def _contradicts_itself(plain: str, marks: list[_Mark]) -> bool:
    """Whether of the objects at the end, between which nothing but announcements stands, two differ."""
    for earlier, later in zip(marks[-2::-1], marks[:0:-1], strict=True):
        if not _ANNOUNCED.match(plain, earlier.end, max(earlier.end, later.start)):
            return False
        if earlier.said != later.said:
            return True
    return False


def _opens(plain: str, mark: _Mark) -> bool:
    announced = mark.start <= _BEFORE_CHARS and _ANNOUNCED.match(plain, 0, mark.start)
    return bool(announced and _LINE_ENDS.match(plain, mark.end))


def _labels(text: str, mark: _Mark, steps: Collection[int]) -> Labels:
    error = next(name for name in ERROR_TYPES if name == mark.said[0])
    drawn = next((name for name in DISTRACTIONS if name == mark.said[1]), None)
    before, after = text[max(0, mark.start - _REASONS_CHARS) : mark.start], text[mark.end : mark.end + _REASONS_CHARS]
    reasons = {"error": "", "drawn": ""}
    for match in [*_REASON.finditer(after), *_REASON.finditer(before)]:
        reasons["error" if match["error"] else "drawn"] = _one_line(match["said"])
    return Labels(
        error_type=error,
        distraction=drawn,
        reason=reasons["error"] or short_reason(text, mark.start, mark.end),
        steps=_numbers(mark.steps[0], steps),
        distraction_reason=reasons["drawn"],
        distraction_steps=_numbers(mark.steps[1], steps),
    )


def _numbers(given: Any, steps: Collection[int]) -> tuple[int, ...]:
    if not isinstance(given, list):
        return ()
    numbers = {int(match["number"]) for match in map(_NUMBER.fullmatch, map(str, given)) if match}
    return tuple(sorted(numbers.intersection(steps)))


def _one_line(said: str) -> str:
    line = " ".join(said.split()).strip(' *_`"')
    return line if len(line) <= MAX_REASON_CHARS else f"{line[: MAX_REASON_CHARS - 1]}…"
