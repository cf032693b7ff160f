"""Text from outside, made fit to be shown: data, never markup and never control codes."""

import re

from toolablate.traces.records import clean_text

_LINE_ENDS = re.compile("\r\n?|[\x85\u2028\u2029\x0b\x0c]")
_CONTROLS = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f]")
_BLANKS = re.compile(r"\s+")


def plain_text(text: str) -> str:
    """Valid Unicode with `\\n` line ends and no control characters but tab and newline."""
    return _CONTROLS.sub("", _LINE_ENDS.sub("\n", clean_text(text)))


def one_line(text: str, limit: int) -> str:
    """Plain text on one line of at most `limit` characters; what is cut ends in an ellipsis."""
    line = _BLANKS.sub(" ", plain_text(text)).strip()
    return line if len(line) <= limit else line[: limit - 1] + "…"
