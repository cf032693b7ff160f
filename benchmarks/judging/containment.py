"""Reads a judge's yes or no."""

import re

from toolablate.traces.records import ModelReply
from toolablate.traces.thoughts import after_thoughts

_YES_NO = re.compile(
    r"""[\W_]*
    (?:(?:(?:(?:the|my)\ )?(?:final\ )?(?:answer|verdict)(?:\ is\b)?|correct
        |(?:答案?|答复|回答|结论|判断)是?|是否[^:：？?\n]{0,20}|是\s*或\s*否)
        (?:["'`*_]*\s*[:：？?]|(?<=is))[\s"'`*_“”‘’]*)?
    (?:(?P<yes>yes(?![^\W_])|是)|(?P<no>no(?![^\W_])|否(?!则)|不是))
    (?!\s*(?:/|\||or\b|and\s+(?:yes|no)\b|、?\s*(?:还是|或|和)?\s*(?:是(?!的)|否|不是)|或))""",
    re.IGNORECASE | re.VERBOSE,
)


def read_yes_no(text: str) -> bool | None:
    """By the first word of the last line that is not blank, behind a label as "Answer:" or "The answer is", or the
    repeated question ("是或否："); None where it is neither yes nor no, or both. Thoughts that an endpoint left in a
    reply are skipped."""
    lines = [line for line in after_thoughts(text).splitlines() if line.strip()]
    match = _YES_NO.match(lines[-1]) if lines else None
    return None if match is None else match["yes"] is not None


def read_reply(reply: ModelReply) -> bool | None:
    """As `read_yes_no`; a reply that its limit of tokens cut off says nothing."""
    return None if reply.finish_reason == "length" else read_yes_no(reply.message.content)
