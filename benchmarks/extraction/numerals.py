"""Numbers in words: "one hundred and five", "twenty-one", 一百二十三, 两千, 1.2万."""

import re
from collections.abc import Sequence

# fmt: off
_SMALL = {word: value for value, word in enumerate((
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
))}
_TENS = {word: value for value, word in enumerate((
    "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety",
), 2)}
# fmt: on
_HUNDRED = 100
SCALES = {
    "hundred": 100,
    "thousand": 10**3,
    "million": 10**6,
    "billion": 10**9,
    "trillion": 10**12,
    "mn": 10**6,
    "mln": 10**6,
    "bn": 10**9,
    "tn": 10**12,
    "mio": 10**6,
    "mrd": 10**9,
    "lakh": 10**5,
    "crore": 10**7,
}
"""What a number is multiplied by where one of these follows it: "12 thousand"."""

WORDS = frozenset({*_SMALL, *_TENS, *SCALES})

_HAN_DIGITS = {character: value for value, character in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
_HAN_TENS = {"十": 10, "百": 100, "千": 1000}
_HAN_MYRIADS = {"万": 10**4, "亿": 10**8}
_HAN = re.compile("[零〇一二三四五六七八九两十百千万亿]+")
_HAN_SCALES = re.compile("[十百千]?[万亿]|[百千](?!分)")


def spelled_out(words: Sequence[str]) -> tuple[int, int] | None:
    """The number that lower-case words begin with, and how many of them it takes; None where they begin with none.

    Hyphens count as words of their own. What the language cannot say is read up to where it goes wrong: of "five six"
    only "five".
    """
    total = current = used = 0
    room, scale = _HUNDRED * 10, SCALES["trillion"] * 10
    for place, word in enumerate(words):
        if word in _SMALL or word in _TENS:
            value, floor = (_SMALL[word], 1) if word in _SMALL else (_TENS[word] * 10, 10)
            if value >= room or (word == "zero" and place):
                break
            current, room = current + value, floor
        elif word == "hundred" and current < 10 and room < _HUNDRED * 10 + (not place):
            current, room = max(current, 1) * _HUNDRED, _HUNDRED
        elif word in SCALES and word != "hundred" and SCALES[word] < scale:
            scale = SCALES[word]
            total, current, room = total + max(current, 1) * scale, 0, _HUNDRED * 10
        elif word in ("-", "and") and used == place and place:
            continue
        else:
            break
        used = place + 1
    return (total + current, used) if used else None


def han_number(text: str) -> tuple[int, int] | None:
    """The number that Chinese characters begin with, and how many of them it takes; None where they begin with none.

    Digits without a unit between them are one number only where they are a year's or a zero is among them (二〇二四);
    otherwise they may be several (三五 is "three to five").
    """
    match = _HAN.match(text)
    if match is None:
        return None
    said = match[0]
    if not set(said) - set(_HAN_DIGITS):
        value = int("".join(str(_HAN_DIGITS[character]) for character in said[:300]))
        return (value, len(said)) if len(said) in (1, 4) or "〇" in said else None
    total = section = digit = 0
    largest = 10**12
    for place, character in enumerate(said):
        if character in _HAN_DIGITS:
            if digit:
                return None
            digit = _HAN_DIGITS[character]
        elif character in _HAN_TENS:
            section, digit = section + (digit or 1) * _HAN_TENS[character], 0
        else:
            unit = _HAN_MYRIADS[character]
            if not place or unit >= largest:
                return None
            total, section, digit, largest = total + (section + digit) * unit, 0, 0, unit
    # 一百二 and 两万五 leave the last unit away: 120, 25,000.
    if digit and len(said) > 1 and said[-2] in "百千万亿":
        digit *= {"百": 10, "千": 100, "万": 1000, "亿": 10**7}[said[-2]]
    return total + section + digit, len(said)


def han_scale(text: str) -> tuple[int, int] | None:
    """What a number in figures is multiplied by where Chinese characters follow it (1.2万, 3千万), and their length."""
    match = _HAN_SCALES.match(text)
    if match is None:
        return None
    scale = 1
    for character in match[0]:
        scale *= (_HAN_TENS | _HAN_MYRIADS)[character]
    return scale, match.end()
