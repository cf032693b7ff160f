"""Wording that goes from what is possible or described to what should be: a hint that what exists was taken for a norm.

A hint and no more: good advice is worded so, too. Whether it is one is for a judge to say.
"""

import re

from toolablate.analysis.attribution.signals.records import NormHint
from toolablate.analysis.attribution.signals.steps import Steps

POSSIBLE = re.compile(
    r"\b(?:can\sbe\s(?:done|used|achieved|implemented|applied|performed)|(?:is|are)\s(?:supported|available|documented|possible)"
    r"|(?:documentation|docs|manual|page|article|source|paper|tutorial|example)s?\s(?:describes?|shows?|mentions?|lists?|says"
    r"|explains?|recommends?|documents?)|supports?|provides?|offers?|sells?|allows?|there\s(?:is|are)\sa)\b"
    r"|(?:文档|资料|网页|文章|手册|教程)[^。\n]{0,12}(?:描述|说明|提到|介绍|列出|指出)|可以(?:用|通过|使用|采用)|支持|提供|可供",
    re.IGNORECASE,
)
_NORM = re.compile(
    r"\b(?:should|must|ought\sto|recommended|best\spractice|standard\s(?:approach|practice|method)|preferred|the\s(?:right|proper"
    r"|correct)\s(?:way|approach|method)|required)\b|应该|应当|应采用|应使用|推荐|建议|必须|最佳(?:做法|实践)|标准做法",
    re.IGNORECASE,
)
NEAR = 200
"""Characters between what is possible and what should be."""

_MOST = 3
_READ = 20_000


def norm_hints(steps: Steps) -> tuple[NormHint, ...]:
    """In the final reply of a trial that searched or read."""
    sources = any(call.form in ("search", "page", "other") for call in steps.calls)
    if steps.ended is None or not sources:
        return ()
    text, found, end = steps.final[-_READ:], list[NormHint](), 0
    for possible in POSSIBLE.finditer(text):
        norm = _NORM.search(text, possible.end(), possible.end() + NEAR) if possible.start() >= end else None
        if norm:
            end = norm.end()
            found.append(NormHint(steps.ended, " ".join(text[possible.start() : end].split())))
    return tuple(found[:_MOST])
