"""Reads the grade, and the reason for it, from a judge's reply."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from toolablate.benchmarks.answer_extraction.announcements import final_part
from toolablate.traces.records import ModelReply
from toolablate.traces.thoughts import after_thoughts

MAX_REASON_CHARS = 300

_LOOKED_AT = 4_000
_NO_REASON = re.compile(
    r"[\W_]*+(?:json|(?:final |answer )?(?:score|grade)\W{0,6}\d?"
    r"|(?:最终)?(?:得分|评分|分数|打分)\W{0,6}\d?分?)?[\W_]*+\Z",
    re.IGNORECASE,
)
_GRADE_AT_END = re.compile(r"\s(?:score|得分|评分|分数)\W{0,6}[01](?:\.0)?\W{0,6}(?:json\W{0,6})?\Z", re.IGNORECASE)
_LABEL = re.compile(
    r"[\W_]{0,8}(?:(?:grading|scoring)\s(?:basis|reason|rationale)|reason(?:ing)?|rationale|basis|explanation|justification"
    r"|(?:评分|打分|判分)?(?:依据|理由)|原因|解释|说明)[*_\"'`”】\])\s]{0,6}[:：]",
    re.IGNORECASE,
)
_EDGES = " \t\"'“”`*_{},"


def short_reason(text: str, start: int, end: int) -> str:
    """What stands right before a grade at `start`, else within its object, else after `end`; "" where nothing does."""
    before, within, after = text[max(0, start - _LOOKED_AT) : start], text[start:end], text[end : end + _LOOKED_AT]
    within = within[: max(within.rfind("answer_score"), 0)]
    return _last_paragraph(before) or _one_line(within) or _one_line(after)


def _last_paragraph(text: str) -> str:
    """From the last label ("Reason:") on, else the last paragraph; lines that only announce a grade are left out."""
    lines: list[str] = []
    for line in reversed(text.splitlines()):
        if line.strip() and _NO_REASON.match(line):
            continue
        if not line.strip() and lines:
            break
        if line.strip():
            lines.append(line)
        if _LABEL.match(line):
            break
    return _one_line(" ".join(reversed(lines)))


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    labelled = _LABEL.match(line)
    line = _GRADE_AT_END.sub("", line[labelled.end() :] if labelled else line).strip(_EDGES)
    if not re.search(r"[^\W_]", line):
        return ""
    return line if len(line) <= MAX_REASON_CHARS else f"{line[: MAX_REASON_CHARS - 1]}…"


# Reads the grade out of a judge's reply, in time linear in the reply's length.


Fault = Literal["cut_off", "empty", "no_grade", "other_grade", "two_grades"]

_KEY = re.compile(
    r"""answer\\{0,2}_score[\\"'“”*`]{0,4}\s{0,40}[:=]\s{0,40}(?P<value>[^,;{}\n]{0,60})""", re.IGNORECASE
)
_LINE = re.compile(
    r"(?:^(?P<whole>[ \t>*#_`\"'“‘({\[•·+-]{0,16})|[.;!?)][ \t*_]{0,6})"
    r"(?:(?:(?:the|my|your|final|overall|total)[ _]|answer\s){0,3}(?:score|grade)"
    r"|(?:最终|最后|总|学生)?的?(?:得分|评分|分数|打分)(?:结果)?)"
    r"[*_`\"'”’)\] \t]{0,8}(?::|=|\bis\b|为|是)(?P<value>[^\n]{0,60})",
    re.IGNORECASE | re.MULTILINE,
)
_NUMBER = re.compile(r"""[\s*_`"'“”\\\[({]{0,8}(?P<number>[-+]?(?:\d{1,9}(?:\.\d{1,9})?|\.\d{1,9}))""")
_GRADE = re.compile(r"(?P<grade>[01])(?:\.0{1,9})?\Z")
_BARE_END = re.compile(r"[\W_]*(?:分|points?|pts?)?[\W_]*\Z", re.IGNORECASE)
_RANGE = re.compile(
    r"\s?(?:[/~–—-]\s?\d|%|(?:or|to|of|out|and)\b|[或至到和、])|\d|(?!pts?\b|points?\b)[a-z]", re.IGNORECASE
)
_ASIDE = re.compile(r"""[*_`"'”’\])}\s]*(?:分|points?)?[*_`"'”’\])}\s]*(?:\Z|[(\[{:;.,–—-])""", re.IGNORECASE)

_NO_WORDS = r"<[^<>\n]{1,40}>|[\W_]"
_LABELS = (
    r"(?:(?:the|my|is|as|in|here|final|grade|score|verdict|result|output|json|format)(?![a-z])"
    rf"|最终|得分|评分|分数|打分|结果|输出|格式|为|是|[01](?!\d)|{_NO_WORDS})*+\Z"
)
_NOTHING_MORE = re.compile(rf"(?:,[^{{}}]{{0,2000}}+(?=\}}))?+(?:{_NO_WORDS})*+\Z")
_LINE_ENDS = re.compile(r"(?:,[^{}]{0,2000}+(?=\}))?+(?:[^\w\n]|_)*+(?:\n|\Z)")
_LABELS_ONLY = re.compile(_LABELS, re.IGNORECASE)
_OWN_SENTENCE = re.compile(rf"(?:^|[.!?;)]){_LABELS}", re.IGNORECASE)
_OBJECT_CHARS = 4_000
_BEFORE_CHARS = 200


@dataclass(frozen=True, slots=True)
class Grade:
    """`value` is 0 or 1, with the judge's short reason for it; or None, with the `fault` of the reply."""

    value: Literal[0, 1] | None
    fault: Fault | None = None
    reason: str = ""


class _GradeMark(NamedTuple):
    """A grade that stands in a reply, from `start` to `end`; `value` is None where it is neither 0 nor 1."""

    start: int
    end: int
    value: int | None


def read_grade(reply: ModelReply) -> Grade:
    """The grade in a reply: a JSON object with an `answer_score`, or a line "Score: x"."""
    if reply.finish_reason == "length":
        return Grade(None, "cut_off")
    text = after_thoughts(reply.message.content).strip()
    if not text:
        return Grade(None, "empty")
    # Replaces single characters by single ones, so that a place in the one is a place in the other.
    plain = final_part(text)
    marks = sorted([*_keys(plain), *_lines(plain)], key=lambda mark: mark.start)
    if not marks:
        return Grade(None, "no_grade")
    decided = _decide(plain, marks, may_open=len(text) == len(reply.message.content.strip()))
    if not isinstance(decided, _GradeMark):
        return Grade(None, decided)
    if decided.value is None:
        return Grade(None, "other_grade")
    return Grade(1 if decided.value else 0, reason=short_reason(text, decided.start, decided.end))


def _keys(plain: str) -> Iterator[_GradeMark]:
    for match in _KEY.finditer(plain):
        number = _NUMBER.match(match["value"])
        bare = number is not None and _BARE_END.match(match["value"], number.end())
        yield _GradeMark(match.start(), match.end(), _grade(number) if number and bare else None)


def _lines(plain: str) -> Iterator[_GradeMark]:
    for match in _LINE.finditer(plain):
        written = match["value"]
        number = _NUMBER.match(written)
        if number is None:
            continue
        ranges = _RANGE.match(written, number.end())
        value = None if ranges else _grade(number)
        whole = match["whole"] is not None
        start, end = match.start() + (not whole), match.start("value") + number.end()
        if whole and (ranges or _ASIDE.match(written, number.end())):
            line_end = plain.find("\n", end)
            end = len(plain) if line_end < 0 else line_end
        yield _GradeMark(start, end, value)


def _grade(number: re.Match[str]) -> int | None:
    grade = _GRADE.match(number["number"])
    return int(grade["grade"]) if grade else None


def _decide(plain: str, marks: list[_GradeMark], *, may_open: bool) -> _GradeMark | Fault:
    """The mark that counts, from the beginning of the object that it stands in."""
    differ = len({mark.value for mark in marks}) > 1
    first, last = _whole(plain, marks[0]), _whole(plain, marks[-1])
    if _NOTHING_MORE.match(plain, last.end):
        line = plain.rfind("\n", 0, last.start) + 1
        own = _OWN_SENTENCE.search(plain[max(line, last.start - _BEFORE_CHARS) : last.start])
        if own and not (differ and _contradicts_itself(plain, marks)):
            return last
    elif may_open and not differ and first.start < _BEFORE_CHARS and _opens(plain, first):
        return first
    return "two_grades" if differ else "no_grade"


def _contradicts_itself(plain: str, marks: list[_GradeMark]) -> bool:
    """Whether of the marks at the end, between which nothing but labels stands, two differ."""
    for earlier, later in zip(marks[-2::-1], marks[:0:-1], strict=True):
        if not _LABELS_ONLY.match(plain, earlier.end, max(earlier.end, later.start)):
            return False
        if earlier.value != later.value:
            return True
    return False


def _opens(plain: str, mark: _GradeMark) -> bool:
    return bool(_LABELS_ONLY.match(plain, 0, mark.start) and _LINE_ENDS.match(plain, mark.end))


def _whole(plain: str, mark: _GradeMark) -> _GradeMark:
    opened = plain.rfind("{", max(0, mark.start - _OBJECT_CHARS), mark.start)
    closed = plain.rfind("}", max(0, mark.start - _OBJECT_CHARS), mark.start)
    return mark._replace(start=opened) if opened > closed else mark
