"""Answers that are the right one in another form: of another scale, not rounded, or with more or fewer words.

Whether a scorer should have taken them is not asked here. Such an answer is what is left where a program's number comes
out as it was computed, and the unit and the precision that the question wants do not.
"""

import re
from collections.abc import Sequence

from toolablate.analysis.attribution.signals.answers import AMOUNT, NUMBER, normal_number, normal_text, plain
from toolablate.analysis.attribution.signals.records import Answered, Misstated, MisstatedKind
from toolablate.analysis.attribution.signals.steps import Steps
from toolablate.traces.records import Target

_SCALES = (2, 3, 6, 9)
_TELLING_DIGITS = 2
_WORD = re.compile(r"\d+(?:[.,]\d+)*|[\u3400-\u9fff]|[^\W\d\u3400-\u9fff]+")
_SMALL_WORDS = frozenset({"and", "the", "a", "an", "of", "in", "和", "与", "的"})


def misstated(steps: Steps, final: Answered, target: Target) -> Misstated | None:
    """None where the answer is another one, where it is the right one as it stands, and for choices and references."""
    if steps.ended is None or not final:
        return None
    match target.kind:
        case "number":
            wanted: tuple[str, ...] = (repr(target.value),)
        case "spans":
            wanted = target.stated
        case "text" | "math":
            wanted = target.answers[:1]
        case _:
            return None
    kind = _number_kind(final, wanted) or _words_kind(final, wanted)
    return Misstated(steps.ended, kind) if kind else None


def _number_kind(final: Sequence[str], wanted: Sequence[str]) -> MisstatedKind | None:
    """One number against one number, which may have a unit beside it ("$2.7 million")."""
    numerals = [found[0] for text in wanted for found in NUMBER.finditer(plain(text))]
    amount = AMOUNT.fullmatch(final[0]) if len(final) == 1 else None
    if len(numerals) != 1 or amount is None:
        return None
    given, right = float(amount["number"]), normal_number(numerals[0])
    if amount["scale"] and amount["scale"] not in " ".join(wanted).casefold() and _rounds_to(given, numerals[0]):
        return "scale"
    if given == float(right):
        return None
    if _rounds_to(given, numerals[0]):
        return "rounding"
    telling = len(re.sub(r"\D", "", numerals[0]).lstrip("0")) >= _TELLING_DIGITS
    scaled = any(_rounds_to(given * 10.0**power, numerals[0]) for scale in _SCALES for power in (scale, -scale))
    return "scale" if telling and scaled else None


def _rounds_to(given: float, numeral: str) -> bool:
    """Whether it is the number once it has as many decimals."""
    decimals = len(numeral.partition(".")[2]) if "e" not in numeral.lower() else 0
    return abs(given - float(normal_number(numeral))) <= 0.5 * 10.0**-decimals * (1 + 1e-9)


def _words_kind(final: Sequence[str], wanted: Sequence[str]) -> MisstatedKind | None:
    given, right = _words(final), _words(wanted)
    if not given or not right or not any(word.isalpha() for word in given | right):
        return None
    items, targets = set(final), set(map(normal_text, wanted))
    if items == targets or items < targets or targets < items:
        # A whole item too many, or too few, makes another answer.
        return None
    if given == right:
        return "wording"
    if right < given:
        return "more"
    return "part" if given < right else None


def _words(texts: Sequence[str]) -> set[str]:
    return {word for text in texts for word in _WORD.findall(text.casefold())} - _SMALL_WORDS
