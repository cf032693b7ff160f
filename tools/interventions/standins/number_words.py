"""Numbers in words: English ones up to a hundred, and Chinese numerals."""

import re
from collections.abc import Iterator

_UNITS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_TEENS = ("ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen")
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_SMALL: dict[str, float] = {
    **{word: float(value) for value, word in enumerate(("zero", *_UNITS, *_TEENS))},
    **{word: 10.0 * value for value, word in enumerate(_TENS, start=2)},
    "fourty": 40.0,
    "half": 0.5,
    "quarter": 0.25,
    "third": 1 / 3,
    "hundred": 100.0,
    "thousand": 1e3,
    "million": 1e6,
    "billion": 1e9,
    "dozen": 12.0,
}
_ENGLISH = re.compile(
    rf"(?<![A-Za-z])(?:(?P<tens>{'|'.join((*_TENS, 'fourty'))})(?:[\s-]{{1,2}}(?P<unit>{'|'.join(_UNITS)}))?"
    rf"|(?:an?\s)?(?P<word>{'|'.join(_SMALL)}))(?![A-Za-z])",
    re.IGNORECASE,
)

_DIGITS = {
    **{character: value for value, character in enumerate("零一二三四五六七八九")},
    **{character: value for value, character in enumerate("〇壹贰叁肆伍陆柒捌玖")},
    **{"两": 2, "兩": 2, "貳": 2, "參": 3, "陸": 6},
}
_TIMES = {"十": 10, "拾": 10, "百": 100, "佰": 100, "千": 1_000, "仟": 1_000}
_MYRIADS = {"万": 10**4, "萬": 10**4, "亿": 10**8, "億": 10**8, "兆": 10**12}
_NUMERAL = f"[{''.join((*_DIGITS, *_TIMES, *_MYRIADS))}]"
_CHINESE = re.compile(rf"{_NUMERAL}{{1,30}}(?:点{_NUMERAL}{{1,20}})?")
_MEASURES = frozenset("个名次倍种位年月日天元度分秒条人岁件张本台只章节页号楼层米克吨")


def words_in(text: str) -> Iterator[tuple[float, int, int]]:
    """The value of each number in words, and the place in the text between which it stands."""
    for found in _ENGLISH.finditer(text):
        if found["tens"]:
            yield _SMALL[found["tens"].lower()] + _SMALL.get((found["unit"] or "zero").lower(), 0), *found.span()
        else:
            yield _SMALL[found["word"].lower()], *found.span()
    if text.isascii():
        return
    for numeral in _CHINESE.finditer(text):
        if len(numeral[0]) > 1 or _counts(text, numeral.start()):
            yield _value(numeral[0]), *numeral.span()


def _counts(text: str, place: int) -> bool:
    """A single numeral is a part of many words; it counts where it stands apart, as a percentage, and before a
    measure unless it is the one that is hardly more than an article."""
    before, after = text[place - 1 : place] if place else "", text[place + 1 : place + 2]
    if before == "之" or not (before.isalnum() or after.isalnum()):
        return True
    return after in _MEASURES and bool(after) and text[place] not in "一万千百"


def _value(numeral: str) -> float:
    whole, _, rest = numeral.partition("点")
    if all(character in _DIGITS for character in numeral.replace("点", "")):
        return float("".join(str(_DIGITS[character]) for character in whole) + "." + _digits(rest))
    total = section = number = 0
    for character in whole:
        if character in _DIGITS:
            number = _DIGITS[character]
        elif character in _TIMES:
            section, number = section + (number or 1) * _TIMES[character], 0
        else:
            total = (total + section + number or 1) * _MYRIADS[character]
            section = number = 0
    return float(total + section + number) + float(f"0.{_digits(rest)}")


def _digits(numerals: str) -> str:
    return "".join(str(_DIGITS.get(character, 0)) for character in numerals) or "0"
