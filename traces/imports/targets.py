"""Answer keys of other harnesses as ours."""

import math
import re
from collections.abc import Sequence

from toolablate.traces.records import ChoiceTarget, NumberTarget, ReferenceTarget, Target, clean_text

_NUMBER = re.compile(r"\s*[+-]?\d{1,15}(?:\.\d{1,15})?\s*")
_NONE = "(none)"
_OR = " | "


def choice_target(letters: Sequence[str]) -> ChoiceTarget:
    return ChoiceTarget(letters=tuple(sorted(letters)))


def target_of(answers: Sequence[str]) -> Target:
    """One number, or a reference in words; of several answers any is right."""
    if len(answers) == 1 and _NUMBER.fullmatch(answers[0]) and math.isfinite(float(answers[0])):
        return NumberTarget(value=float(answers[0]))
    return ReferenceTarget(answer=clean_text(_OR.join(answers)) or _NONE)
