"""Text shown to a model: foreign text made plain, link marks kept ours, one message for each kind of miss."""

import re
from collections.abc import Mapping
from types import MappingProxyType

from toolablate.traces.records import MissKind, clean_text

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


# The marks by which a model tells a link (`【3†text】`), kept ours: what comes from outside cannot write them.


# From bracket to dagger whatever a reader would pass over or take for a number: digits of any script, blanks, signs,
# letters that have no width. Chinese text is full of these brackets, but with words in them.
_RUN = re.compile(
    r"【(?:[\W\d_]|[\xb2\xb3\xb9\u115f\u1160\u2070-\u209f\u2150-\u218f\u2460-\u24ff\u2776-\u2793\u3164\u3220-\u32ff\uffa0"
    r"\U0001f100-\U0001f10c])*"
)


def without_marks(text: str) -> str:
    """Text from outside in which nothing looks like a link of ours: `【` before a number and a dagger becomes `[`."""
    return _RUN.sub(_unmarked, text) if "【" in text and "†" in text else text


def _unmarked(run: re.Match[str]) -> str:
    before, dagger, after = run[0].rpartition("†")
    return before.replace("【", "[") + dagger + after


# What a model is told of something that is not to be had: one text for each kind, whatever the tool and condition.


MISS_MESSAGES: Mapping[MissKind, str] = MappingProxyType(
    {
        "not_in_archive": "this is not in the copy of the web that is used here",
        "recorded_error": "this could not be had when the copy of the web that is used here was made",
        "blocked_by_policy": "this may not be used here",
        "after_cutoff": "this is not in the copy of the web that is used here as of the date that is set",
    }
)
"""As `told` takes them. The nearest recorded request is for the trace alone: a model that
was told of it would learn of the archive what it could not learn of the web."""


def told(message: str) -> str:
    """The whole of what a model is told of something that it cannot have: the same words, whatever tool it used."""
    return f"Error: {message.removesuffix('.')}."
