"""Answer keys of other harnesses as ours."""

import math
import re
from collections.abc import Sequence

from toolablate.traces.records import ChoiceTarget, NumberTarget, ReferenceTarget, Target, TextTarget, clean_text

_NUMBER = re.compile(r"\s*[+-]?\d{1,15}(?:\.\d{1,15})?\s*")
_NONE = "(none)"


def choice_target(letters: Sequence[str]) -> ChoiceTarget:
    return ChoiceTarget(letters=tuple(sorted(letters)))


def target_of(answers: Sequence[str]) -> Target:
    """One number, a reference in words, or several texts of which any is right."""
    said = tuple(clean_text(answer) for answer in answers if answer)
    if len(said) > 1:
        return TextTarget(answers=said)
    if len(answers) == 1 and _NUMBER.fullmatch(answers[0]) and math.isfinite(float(answers[0])):
        return NumberTarget(value=float(answers[0]))
    return ReferenceTarget(answer="".join(said) or _NONE)
