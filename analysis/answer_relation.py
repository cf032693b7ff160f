"""How a wrong answer relates to the right one, by rule: another scale, the other sign, a part of it, nothing at all."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Literal, get_args

from toolablate.traces.records import Question, Score

Relation = Literal[
    "empty",
    "refusal",
    "unreadable",
    "option",
    "sign",
    "scale",
    "rounding",
    "unit",
    "off_by_one",
    "close",
    "wording",
    "part",
    "more",
    "named",
    "in_material",
    "other",
]
RELATIONS: tuple[Relation, ...] = get_args(Relation)

SAID: Mapping[str, str] = {
    "empty": "no answer at all",
    "refusal": "it declines to answer",
    "unreadable": "a reply without a readable answer",
    "option": "another option",
    "sign": "the other sign",
    "scale": "another scale (a factor of 10, 100, 1,000 ..., or % for a share)",
    "rounding": "rounded otherwise, or off in the last digit",
    "unit": "the number with another unit, or without it",
    "off_by_one": "off by one",
    "close": "within 5 %",
    "wording": "the same in other words or order",
    "part": "a part of the right answer",
    "more": "the right answer and more",
    "named": "another thing that the question names",
    "in_material": "something else from the question's material",
    "other": "something else",
}
"""Each relation in words."""

OWN = "relation"
"""The key of a score's metadata by which a scorer names a relation of its own; it goes before all rules."""

_REFUSAL = re.compile(
    r"\b(?:I(?:'m| am)? (?:sorry|unable|not able|cannot|can't|can not|won't)|as an AI\b|cannot (?:answer|be determined|"
    r"determine|provide)|not (?:possible|enough information)|insufficient information|I don't know|no answer)"
    r"|(?:抱歉|无法(?:回答|确定|提供)|不能回答|不知道|信息不足)",
    re.IGNORECASE,
)
_NUMERAL = re.compile(
    r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?:\.\d+)?(?![\d])|(?<![\d.,])(?:\d+(?:\.\d+)?|\.\d+)(?:e[-+]?\d+)?(?![\d])"
)
_DIGITS = re.compile(r"\d+(?:\.\d+)?")
_PERCENT = 0.01
_BASIS_POINT = 0.0001
_SCALES = {"hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
_SCALE = re.compile(
    r"\)?\s*(?:(?P<scale>hundred|thousand|million|billion|trillion)s?\b|(?P<percent>%|percent\b|per cent\b)"
    r"|(?P<points>basis points?\b|bps?\b))",
    re.IGNORECASE,
)
_MINUS = re.compile(r"[-\u2212\u2013(]\s*[^\w\s]{0,2}\s*$|\bminus\s*$", re.IGNORECASE)
_WORD = re.compile(r"[\u3400-\u9fff]|[^\W\d_]+|\d+(?:[.,]\d+)*")
_ENUMERATED = re.compile(r"\((?:\d{1,2}|[ivx]{1,4}|[a-z])\)")
_SMALL_WORDS = frozenset(
    {"and", "the", "a", "an", "of", "in", "on", "to", "is", "are", "was", "were", "和", "与", "的", "是"}
)
_ERROR = re.compile(r"^(?:Traceback \(most recent|[A-Z]\w*(?:Error|Exception): )", re.MULTILINE)
_ARTICLE = re.compile(r"^(?:the|an?) ")
_QUESTION = re.compile(r"(?:[^.?!\n。？！]|\.(?=\d))*[?？]")
_LISTED = re.compile(r",\s+|;\s*|\s+(?:and|or)\s+")
_POWERS = (1, 2, 3, 6, 9, 12)
_CLOSE = 0.05
_COUNTED = 1000
"""Off by one in a larger number is off in the last digit."""
_YEARS = range(1800, 2200)
_MOST_PAIRED = 5
_TELLING_DIGITS = 2


def relation_of(question: Question, score: Score, reply: str) -> str:
    """Of an answer that is not right; `reply` is the whole text, "" where there is none. Numbers are compared first,
    then words, then what the question itself holds. A scorer's own name for it goes before (`OWN`)."""
    own = score.metadata.get(OWN)
    if isinstance(own, str) and own:
        return own
    given = tuple(text for text in score.extracted if text.strip())
    if not given:
        if not reply.strip():
            return "empty"
        if _REFUSAL.search(reply):
            return "refusal"
        # A judge reads replies whole: it extracts nothing of what it finds wrong.
        return "unreadable" if score.verdict == "unparsed" or _is_no_answer(reply) else "other"
    if question.target.kind == "choice":
        return _of_letters(set(given), set(question.target.letters))
    wanted = _wanted(question)
    if not any(_NUMERAL.search(text) for text in given) and _REFUSAL.search(" ".join(given)):
        return "refusal"
    if all(map(_is_no_answer, given)) and not any("{" in text for text in wanted):
        return "unreadable"
    found = (_of_numbers(given, wanted, question.prompt) or _of_words(given, wanted)) if wanted else None
    return found or _of_question(given, question.prompt)


def _is_no_answer(text: str) -> bool:
    """JSON where an answer was asked for, which is the form of a tool's result or of a call; and what a program says
    that broke off."""
    bare = text.strip()
    return (bare.startswith("{") and bare.endswith("}") and ":" in bare) or _ERROR.search(bare) is not None


def _wanted(question: Question) -> tuple[str, ...]:
    target = question.target
    match target.kind:
        case "number":
            return (f"{target.value:.15g}",)
        case "spans":
            return target.stated
        case "text" | "math":
            return target.answers[:1]
        case "reference":
            return (target.answer,)
        case _:
            return ()


def _of_letters(given: set[str], wanted: set[str]) -> Relation:
    if given < wanted:
        return "part"
    return "more" if wanted < given else "option"


# Numbers: one against one, or as many against as many.


@dataclass(frozen=True, slots=True)
class _Amount:
    """`number` as it is written, with its sign; `factor` is that of its scale, .01 of a percentage; `step` is one of
    its last digit; `rest` are the words around it."""

    number: float
    factor: float
    step: float
    rest: frozenset[str]

    @property
    def whole(self) -> float:
        return self.number * self.factor


def _amounts(texts: Sequence[str]) -> list[_Amount] | None:
    """One of each text; None where any has none or several."""
    found = [_amount(text) for text in texts]
    return [each for each in found if each is not None] if all(found) else None


def _amount(text: str) -> _Amount | None:
    numerals = [each for each in _NUMERAL.finditer(text.casefold()) if not _within_word(text, each)]
    if len(numerals) != 1:
        return None
    numeral = numerals[0]
    said = numeral[0].replace(",", "")
    scale = _SCALE.match(text, numeral.end())
    after = text[scale.end() if scale else numeral.end() :]
    before = text[: numeral.start()]
    # 27.0 is 26.87, rounded.
    decimals = len(said.partition("e")[0].partition(".")[2].rstrip("0"))
    number = float(said) * (-1 if _MINUS.search(before) else 1)
    return _Amount(number, _factor(scale), 10.0**-decimals, frozenset(_words([before, after])))


def _factor(scale: re.Match[str] | None) -> float:
    if scale is None:
        return 1.0
    if scale["scale"]:
        return _SCALES[scale["scale"].casefold()]
    return _PERCENT if scale["percent"] else _BASIS_POINT


def _within_word(text: str, numeral: re.Match[str]) -> bool:
    """As in CO2e; RMB77 and 3rd are numbers."""
    return text[: numeral.start()][-1:].isalpha() and text[numeral.end() :][:1].isalpha()


def _of_numbers(given: Sequence[str], wanted: Sequence[str], prompt: str) -> Relation | None:
    """None where these are no numbers, or other ones."""
    ours, theirs = _amounts(given), _amounts(wanted)
    if ours is None or theirs is None:
        return None
    if len(ours) != len(theirs):
        # 6,209 that was read as a list of 6 and 209.
        return "wording" if _groups_of_digits(given) == _groups_of_digits(wanted) else None
    orders = permutations(theirs) if len(theirs) <= _MOST_PAIRED else (theirs,)
    pairings = ([_of_pair(*pair, prompt) for pair in zip(ours, order, strict=True)] for order in orders)
    # The furthest from its right number names a pairing, and the nearest pairing counts.
    furthest = [min(_NEARNESS.index(each) for each in found if each) for found in pairings if all(found)]
    return _NEARNESS[max(furthest)] if furthest else None


def _groups_of_digits(texts: Sequence[str]) -> list[float]:
    return [float(each) for text in texts for each in _DIGITS.findall(text)]


_NEARNESS: tuple[Relation, ...] = ("close", "off_by_one", "sign", "scale", "rounding", "unit", "wording")


def _of_pair(given: _Amount, wanted: _Amount, prompt: str) -> Relation | None:
    if given.number != wanted.number and all(each.whole in _YEARS for each in (given, wanted)):
        # Another year is another one, however near it is.
        return None
    same_scale, steps = given.factor == wanted.factor, max(given.step, wanted.step)
    if abs(given.number - wanted.number) == 1 == steps and same_scale and given.factor >= 1:
        return "off_by_one" if abs(wanted.number) < _COUNTED else "rounding"
    for ours, theirs, step in (
        (given.whole, wanted.whole, max(given.step * given.factor, wanted.step * wanted.factor)),
        (given.number, wanted.number, steps),
    ):
        if ours == theirs or _near(ours, theirs, 1e-9 * abs(theirs)):
            return "scale" if ours == given.number and not same_scale else _of_same(given, wanted)
        if _near(ours, theirs, step):
            # $2.9 million is 2880 thousand, rounded; .16 instead of 15.99 % is no matter of digits.
            alike = ours == given.whole and _PERCENT not in {given.factor, wanted.factor}
            return "rounding" if same_scale or alike else "scale"
        if _near(-ours, theirs, step):
            return "sign"
    if _of_power(given, wanted):
        return "scale"
    for ours, theirs in ((given.whole, wanted.whole), (given.number, wanted.number)):
        if theirs and _near(abs(ours), abs(theirs), _CLOSE * abs(theirs)):
            return None if _stands(given, prompt) else "close" if ours * theirs > 0 else "sign"
    return None


def _of_same(given: _Amount, wanted: _Amount) -> Relation | None:
    if given.rest != wanted.rest:
        return "unit"
    if given.factor == wanted.factor:
        return "wording"
    return "scale" if _PERCENT in {given.factor, wanted.factor} else "wording"


def _near(ours: float, theirs: float, within: float) -> bool:
    return abs(ours - theirs) <= within * (1 + 1e-9)


def _of_power(given: _Amount, wanted: _Amount) -> bool:
    """The same digits, with the point elsewhere; two of them at least."""
    if not given.number or not wanted.number:
        return False
    telling = min(_digits(wanted.number), _digits(given.number)) >= _TELLING_DIGITS
    if telling and _power_between(given.whole, wanted.whole) is not None:
        return True
    power = _power_between(given.number, wanted.number)
    if power is not None:
        # One digit has nothing to tell a factor of 10 from another number by.
        return abs(power) in (_POWERS if telling else _POWERS[1:])
    return telling and any(
        _near(abs(given.number) * 10.0**power, abs(wanted.number), max(wanted.step, given.step * 10.0**power) / 2)
        for each in _POWERS
        for power in (each, -each)
    )


def _digits(number: float) -> int:
    """Those that tell it from another: without the zeros at its ends."""
    return len(f"{abs(number):.12g}".replace(".", "").strip("0"))


def _power_between(ours: float, theirs: float) -> int | None:
    """Of 10, exactly; whatever their signs. None where there is none, or one of both is 0."""
    if not ours or not theirs or not math.isfinite(ours) or not math.isfinite(theirs):
        return None
    power = round(math.log10(abs(theirs)) - math.log10(abs(ours)))
    return power if math.isclose(abs(ours) * 10.0**power, abs(theirs), rel_tol=1e-9) else None


# Words, and what the question holds.


def _of_words(given: Sequence[str], wanted: Sequence[str]) -> Relation | None:
    ours, theirs = set(_words(given)), set(_words(wanted))
    if not ours or not theirs:
        return None
    if ours == theirs:
        return "wording"
    if ours < theirs:
        return "part"
    return "more" if theirs < ours else None


def _words(texts: Sequence[str]) -> Iterator[str]:
    for text in texts:
        for word in _WORD.findall(_ENUMERATED.sub(" ", text.casefold())):
            if word not in _SMALL_WORDS:
                yield word.replace(",", "")


def _of_question(given: Sequence[str], prompt: str) -> Relation:
    asked = " ".join(_QUESTION.findall(prompt)) or prompt.strip().rpartition("\n")[2]
    if all(_is_in(text, asked) for text in given):
        return "named"
    return "in_material" if all(_is_in(text, prompt) for text in given) else "other"


def _is_in(text: str, where: str) -> bool:
    said = _ARTICLE.sub("", " ".join(text.casefold().split()).strip(" .\"'"))
    amount = _amount(text)
    if amount is not None and (not amount.rest or _NUMERAL.match(said.lstrip("-($€£¥ "))):
        return _stands(amount, where)
    if not said:
        return False
    parts = [each for each in _LISTED.split(said) if each]
    return said in " ".join(where.casefold().split()) or (
        1 < len(parts) <= _MOST_PAIRED and all(_amount(part) and _is_in(part, where) for part in parts)
    )


def _stands(amount: _Amount, where: str) -> bool:
    """By itself, whatever its unit; or as the same amount on another scale, which a table may state in its head."""
    folded, telling = where.casefold(), _digits(amount.number) > _TELLING_DIGITS
    for each in _NUMERAL.finditer(folded):
        there = float(each[0].replace(",", ""))
        power = _power_between(amount.number, there)
        if there == abs(amount.number) or (telling and power is not None and power % 3 == 0):
            return True
        scale = _SCALE.match(folded, each.end())
        if scale and scale["scale"] and there * _SCALES[scale["scale"]] == abs(amount.whole):
            return True
    return False
