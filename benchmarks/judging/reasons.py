"""The reason that a judge gives for its grade, as one short line."""

import re

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
