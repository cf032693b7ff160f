"""The numbers that a text may be read to hold, in digits, words or formulas: on the safe side, every reading counts."""

import html
import math
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import unquote_to_bytes

from toolablate.tools.guards.passages import normal_text

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
_CHINESE_NUMERAL = re.compile(rf"{_NUMERAL}{{1,30}}(?:点{_NUMERAL}{{1,20}})?")
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
    for numeral in _CHINESE_NUMERAL.finditer(text):
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


# Texts in the one form in which they are searched: what pages and programs write in many ways, as few.


_ENCODED = re.compile(r"(?:%[0-9A-Fa-f]{2})+")
_RAISED = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻]+")
_LOWERED = re.compile("[₀₁₂₃₄₅₆₇₈₉]+")
_FRACTION = re.compile("[¼-¾⅐-⅞↉]")
_LATEX_FRACTION = re.compile(r"\\[dt]?frac\s?\{\s?(\d{1,15})\s?\}\s?\{\s?(\d{1,15})\s?\}")
_ARABIC_SIGNS = str.maketrans("٫٬", ".,")


def searched(text: str) -> str:
    """In the spelling of `normal_text`, but with powers behind a `^` and fractions apart from what stands before them,
    and without the escapes of addresses and of HTML. A line stays a line."""
    if "%" in text:
        text = _ENCODED.sub(_decoded, text)
    if "&" in text:
        text = html.unescape(text)
    if "\\" in text:
        text = _LATEX_FRACTION.sub(r" \1/\2 ", text)
    if not text.isascii():
        text = _RAISED.sub(lambda raised: "^" + unicodedata.normalize("NFKC", raised[0]), text)
        text = _LOWERED.sub(lambda lowered: f" {lowered[0]} ", text)
        text = _FRACTION.sub(lambda fraction: f" {unicodedata.normalize('NFKC', fraction[0])} ", text)
    return normal_text(text.translate(_ARABIC_SIGNS))


def _decoded(encoded: re.Match[str]) -> str:
    """As it was where it is no text: a percent sign may stand before two letters."""
    try:
        return unquote_to_bytes(encoded[0]).decode("utf-8").replace("\n", " ")
    except UnicodeDecodeError:
        return encoded[0]


class Squeezed:
    """A searched text as its letters and digits alone, without accents, in lower case; `places` says where each
    stood."""

    def __init__(self, text: str) -> None:
        letters: list[str] = []
        places: list[int] = []
        apart: list[bool] = []
        inside = False
        for place, character in enumerate(text):
            if not character.isalnum():
                # An accent that stands by itself belongs to the letter before it.
                inside = inside and unicodedata.combining(character) > 0
                continue
            for letter in _plain(character):
                letters.append(letter)
                places.append(place)
                apart.append(not inside or stands_alone(letter))
                inside = True
        self.text = "".join(letters)
        self.places = places
        self._apart = apart

    def is_apart(self, start: int, end: int) -> bool:
        """Whether words begin and end there, or characters of a script that has none."""
        return self._apart[start] and (end == len(self._apart) or self._apart[end] or stands_alone(self.text[end - 1]))


def stands_alone(letter: str) -> bool:
    """Whether it is a character of a script without blanks between words."""
    return "\u3040" <= letter <= "\u9fff" or "\uf900" <= letter <= "\ufaff"


def _plain(character: str) -> str:
    if character.isascii():
        return character.lower()
    return "".join(each for each in unicodedata.normalize("NFKD", character.casefold()) if each.isalnum())


_GROUP = re.compile(r"\d+")
_POINTS = ".,"
_MARKS = ",.'’ _\u202f\u2009\n"
_MOST_GROUPS = 8
_MOST_DIGITS = 310

_SIGN = r"[-+−–]?"
_WORDS = {
    **dict.fromkeys(("hundred", "百"), 1e2),
    **dict.fromkeys(("thousand", "thousands", "k", "千", "tsd"), 1e3),
    **dict.fromkeys(("million", "millions", "mio", "mn", "mln", "m", "百万"), 1e6),
    **dict.fromkeys(("billion", "billions", "bn", "b", "mrd", "mld", "g", "十亿"), 1e9),
    **dict.fromkeys(("trillion", "trillions", "tn", "t", "兆", "万亿", "萬億"), 1e12),
    **dict.fromkeys(("lakh", "lakhs"), 1e5),
    **dict.fromkeys(("crore", "crores", "千万"), 1e7),
    **dict.fromkeys(("dozen",), 12.0),
    **dict.fromkeys(("万", "萬"), 1e4),
    **dict.fromkeys(("亿", "億"), 1e8),
}
_LATIN = sorted((word for word in _WORDS if word.isascii()), key=len, reverse=True)
_CHINESE = sorted((word for word in _WORDS if not word.isascii()), key=len, reverse=True)
_SCALE = re.compile(rf"[\s-]?(?:(?P<latin>{'|'.join(_LATIN)})(?![A-Za-z])|(?P<chinese>{'|'.join(_CHINESE)}))", re.I)
_EXPONENT = re.compile(rf"[eE]({_SIGN}\d{{1,3}})(?!\d)")
# Where the power of ten was raised it may have come down: 6.02 x 1023.
_TIMES_TEN = re.compile(
    rf"\s?(?:[×x*·⋅∙•]|\\times|\\cdot)\s?10\s?(?:\^|\*\*)?\s?[{{(]?\s?({_SIGN}\s?\d{{1,3}})(?!\d)[)}}]?"
)
_POWER = re.compile(rf"\s?(?:\^|\*\*)\s?[{{(]?\s?({_SIGN}\s?\d{{1,3}})(?!\d)[)}}]?")
_BELOW = re.compile(r"\s?[/⁄]\s?(\d{1,15})(?!\d)")
_AND_PART = re.compile(r"[\s-]{1,2}(?:and\s)?(\d{1,6})\s?[/⁄]\s?(\d{1,6})(?!\d)")
_AND_HALF = re.compile(r"\s(?:and\s)?a\shalf(?![A-Za-z])", re.I)
_PARTS = re.compile(
    r"[\s-](?:(?P<half>halves|half)|(?P<third>thirds?)|(?P<quarter>quarters?|fourths?))(?![A-Za-z])", re.I
)
_PERCENT = re.compile(r"\s?(?:(?P<hundredth>%|(?:per\s?cent|pct)(?![A-Za-z]))|‰)", re.I)
_PERCENT_BEFORE = "百分之"
_ENDS = frozenset(("", *",.;:)]}'\"|<>=_~"))
"""What nothing stands behind that belongs to a number before it."""

_BEFORE = re.compile(r"(?:[-+−–~≈±$€£¥₹(\s<>≤≥=]|US|USD|EUR|GBP|CNY|RMB|Rs\.?|约|共|百分之)*")
_BEHIND = re.compile(r"\s?(?:[^\W\d_]{1,4})?[°%]?[.)$]*\s*")
_ROUNDED_DIGITS = 3
_SLACK = 1e-9


@dataclass(frozen=True, slots=True)
class ParsedNumber:
    """A value without its sign, and the place in the text between which it stands. Of a plain decimal, `decimals` are
    its digits behind the point and `digits` those from the first that is no zero on; else -1."""

    value: float
    start: int
    end: int
    decimals: int = -1
    digits: int = -1


def values_in(text: str) -> Iterator[ParsedNumber]:
    """Each reading of each number. Expects a searched text."""
    groups = [match.span() for match in _GROUP.finditer(text)]
    for place in range(len(groups)):
        before = _mark(text, groups, place - 1), _mark(text, groups, place - 2)
        for reading in _readings(text, groups[place : place + _MOST_GROUPS], before):
            if math.isfinite(reading.value):
                yield reading
                yield from _tailed(text, reading)
    for value, start, end in words_in(text):
        read = ParsedNumber(value, start, end)
        yield read
        yield from _tailed(text, read)


def _mark(text: str, groups: Sequence[tuple[int, int]], place: int) -> str:
    """What stands between a group and the next one, where it is one sign that may part or join them."""
    if not 0 <= place < len(groups) - 1:
        return ""
    between = text[groups[place][1] : groups[place + 1][0]]
    return between if len(between) == 1 and between in _MARKS else ""


def _readings(text: str, groups: Sequence[tuple[int, int]], before: tuple[str, str]) -> Iterator[ParsedNumber]:
    """Those that begin with the first of the groups; `before` parts it from the group before, and that from the one
    before it."""
    start, end = groups[0]
    marks = [_mark(text, groups, place) for place in range(len(groups) - 1)]
    first = marks[0] if marks else ""
    if not _is_of_decimal(text, groups, marks, before):
        yield from _read(text[start:end], "", start, end)
    if not before[0] and start and text[start - 1] == ".":
        yield from _read("", text[start:end], start - 1, end)
    if first and first in _POINTS:
        yield from _read(text[start:end], text[slice(*groups[1])], start, groups[1][1])
    if first and end - start <= 3:
        yield from _grouped(text, groups, marks)


def _is_of_decimal(text: str, groups: Sequence[tuple[int, int]], marks: Sequence[str], before: tuple[str, str]) -> bool:
    """Of a number with one point, and of no date, list or sentence that is full of them."""
    behind = [*marks[:2], "", ""]
    if before[0] == ".":
        last, is_last = groups[0], before[1] != "." and behind[0] != "."
    elif behind[0] == ".":
        last, is_last = groups[1], behind[1] != "."
    else:
        return False
    return is_last and text[last[1] : last[1] + 1] != "."


def _grouped(text: str, groups: Sequence[tuple[int, int]], marks: Sequence[str]) -> Iterator[ParsedNumber]:
    """Groups of three digits, or of two and three as in India, with a fraction behind them or none."""
    whole = text[slice(*groups[0])]
    for place in range(1, len(groups)):
        size = groups[place][1] - groups[place][0]
        if marks[place - 1] != marks[0] or size not in (2, 3):
            return
        whole += text[slice(*groups[place])]
        if size != 3:
            continue
        yield from _read(whole, "", groups[0][0], groups[place][1])
        if place < len(marks) and marks[place] and marks[place] in _POINTS:
            behind = groups[place + 1]
            yield from _read(whole, text[slice(*behind)], groups[0][0], behind[1])


def _read(whole: str, fraction: str, start: int, end: int) -> Iterator[ParsedNumber]:
    if len(whole) > _MOST_DIGITS:
        return
    digits = len((whole + fraction).lstrip("0"))
    yield ParsedNumber(float(f"{whole or 0}.{fraction[:_MOST_DIGITS] or 0}"), start, end, len(fraction), digits)


def _tailed(text: str, read: ParsedNumber) -> Iterator[ParsedNumber]:
    """What the number is together with what stands behind it: a power, a fraction, words of scale, a percent sign."""
    if text[max(read.start - 3, 0) : read.start] == _PERCENT_BEFORE:
        yield ParsedNumber(read.value / 100, read.start - 3, read.end)
    if text[read.end : read.end + 1] in _ENDS:
        return
    for value, end in _with_signs(text, read):
        if math.isfinite(value):
            yield ParsedNumber(value, read.start, end)
    scaled, end = read.value, read.end
    for _ in range(2):
        if (scale := _SCALE.match(text, end)) is None:
            break
        scaled, end = scaled * _WORDS[(scale["latin"] or scale["chinese"]).lower()], scale.end()
        if math.isfinite(scaled):
            yield ParsedNumber(scaled, read.start, end)
    if percent := _PERCENT.match(text, end):
        yield ParsedNumber(scaled / (100 if percent["hundredth"] else 1000), read.start, percent.end())


def _with_signs(text: str, read: ParsedNumber) -> Iterator[tuple[float, int]]:
    value, end = read.value, read.end
    if power := _EXPONENT.match(text, end) or _TIMES_TEN.match(text, end):
        yield _times_ten(value, power[1]), power.end()
    if power := _POWER.match(text, end):
        yield _raised(value, _integer(power[1])), power.end()
    if (below := _BELOW.match(text, end)) and int(below[1]):
        yield value / int(below[1]), below.end()
    if (part := _AND_PART.match(text, end)) and int(part[2]):
        yield value + int(part[1]) / int(part[2]), part.end()
    if half := _AND_HALF.match(text, end):
        yield value + 0.5, half.end()
    if parts := _PARTS.match(text, end):
        yield value / {"half": 2, "third": 3, "quarter": 4}[parts.lastgroup or ""], parts.end()


def _integer(text: str) -> int:
    return int(re.sub(r"\s", "", text).replace("−", "-").replace("–", "-"))


def _times_ten(value: float, power: str) -> float:
    return float(f"{value!r}e{_integer(power)}") if "e" not in repr(value) else value * _raised(10.0, _integer(power))


def _raised(value: float, power: int) -> float:
    try:
        return value**power
    except (OverflowError, ZeroDivisionError):
        return math.inf


def is_value(read: ParsedNumber, value: float, tolerance: float) -> bool:
    """Whether a number that was read is `value`, within the tolerance, or one of the two is the other rounded to three
    digits or more. Signs do not count: a minus may be a dash."""
    wanted = abs(value)
    off = abs(read.value - wanted)
    if off <= tolerance + _SLACK * wanted:
        return True
    if read.digits >= _ROUNDED_DIGITS and off <= 0.5 * 10.0 ** -min(read.decimals, 300) + _SLACK * wanted:
        return True
    decimals, digits = _precision(wanted)
    return decimals > 0 and digits >= _ROUNDED_DIGITS and off <= 0.5 * 10.0**-decimals + _SLACK * wanted


@lru_cache(maxsize=256)
def _precision(value: float) -> tuple[int, int]:
    """Digits behind the point, and digits in all, of the shortest text of the value; (0, 0) of one with a power."""
    text = repr(value)
    if "e" in text or value.is_integer():
        return 0, 0
    return len(text.partition(".")[2]), len(text.replace(".", "").lstrip("0"))


def stated(text: str) -> tuple[float, ...]:
    """What a text that is nothing but a number, with a sign, a currency or a unit at most, may mean; nothing where it
    is more than that."""
    plain = searched(text).strip()
    found = [
        reading.value
        for reading in values_in(plain)
        if _BEFORE.fullmatch(plain, 0, reading.start) and _BEHIND.fullmatch(plain, reading.end)
    ]
    return tuple(dict.fromkeys(found))
