"""A published reference: the answer, and the points that an answer has to meet."""

import re
from typing import NamedTuple

_OPEN, _CLOSE = "<＜〈《【\\[［", ">＞〉》】\\]］"
_MARKER = re.compile(
    rf"[{_OPEN}]\s{{0,4}}(?:(?P<answer>参考答案|reference answer)|评估[要考]点|evaluation points)\s{{0,4}}[{_CLOSE}]"
    r"\s{0,4}[:：]?",
    re.IGNORECASE,
)
_NO_POINTS = frozenset({"", "无", "暂无", "none", "null", "n/a", "na", "nan", "-", "/"})


class Reference(NamedTuple):
    """`points` is "" where there are none."""

    answer: str
    points: str


def split_reference(text: str) -> Reference:
    """Takes apart what stands under `<参考答案>` and under `<评估要点>` (or `<评估考点>`), in any order, or under
    `<Reference Answer>` and `<Evaluation Points>`, as the papers print them.

    What stands before the first marker belongs to the answer, which is all of it where there is no marker.
    """
    answer: list[str] = []
    points: list[str] = []
    into, start = answer, 0
    for marker in _MARKER.finditer(text):
        into.append(text[start : marker.start()].strip())
        into, start = answer if marker["answer"] else points, marker.end()
    into.append(text[start:].strip())
    found = "\n".join(filter(None, points))
    return Reference("\n".join(filter(None, answer)), "" if found.rstrip("。.").casefold() in _NO_POINTS else found)
