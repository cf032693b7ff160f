"""The marks by which a model tells a link (`【3†text】`), kept ours: what comes from outside cannot write them."""

import re

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
