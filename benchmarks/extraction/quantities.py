"""The grammar of one number, and of what may stand beside it without changing it.

    quantity = sign? currency? (whole fraction | fraction | plain "/" plain | plain ["x" power] | power | words) [scale]
    power    = "10" "^" integer
    scale    = "thousand" | "k" | "million" | ... | 万 | 亿
    rest     = unit* (end of the sentence | remark)

What is no rest ("10\\sqrt{2}", "5, 6", "5 or 6", "2x", "10!", "1010_2") changes the number or goes on after it.
"""

import re
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from toolablate.benchmarks.extraction.numerals import SCALES, WORDS, han_number, han_scale, spelled_out
from toolablate.benchmarks.extraction.tokens import DASHES, NUMERIC, PARTS, Token, kind_at, past, text_at

MAX_EXPONENT = 320
"""Beyond it no float could be compared with the number, and its digits would fill the memory."""

# fmt: off
CURRENCIES = frozenset((
    "us", "usd", "eur", "gbp", "jpy", "cny", "rmb", "inr", "chf", "cad", "aud", "hkd", "sgd", "krw", "rs", "ca",
    "au", "nt", "hk", "re", "euro", "euros",
))
_UNITS = frozenset((
    "m", "s", "g", "h", "l", "A", "V", "W", "J", "N", "K", "C", "F", "L", "T", "Ω", "km", "cm", "mm", "dm", "nm",
    "kg", "mg", "ml", "mL", "dl", "cl", "kmh", "kph", "mph", "hr", "hrs", "min", "mins", "sec", "secs", "ms", "ns",
    "ft", "in", "yd", "mi", "lb", "lbs", "oz", "Hz", "kHz", "MHz", "GHz", "kW", "MW", "GW", "kWh", "eV", "keV",
    "MeV", "GeV", "mol", "Pa", "kPa", "hPa", "MPa", "kJ", "MJ", "cal", "kcal", "kN", "mA", "mV", "kV", "dB", "cc",
    "ha", "gal", "qt", "pt", "KB", "MB", "GB", "TB", "kB", "bps", "ppm", "rpm", "bpm", "fps", "pcs", "yr", "yrs",
    "wk", "wks", "atm", "mmHg", "rad", "deg", "sq", "cu", "USD", "EUR", "GBP", "RMB", "CNY", "bits", "usd",
    "eur", "pts", "pct", "pc",
))
_SHORT_WORDS = frozenset((
    "a", "of", "in", "at", "on", "by", "is", "it", "he", "we", "no", "an", "as", "so", "up", "us", "my", "i", "to",
    "if", "or", "be", "per", "for", "the",
))
# What is told after one of these is no part of the answer.
_REMARKS = frozenset((
    "because", "since", "as", "so", "which", "that", "where", "whereas", "while", "is", "are", "was", "were", "in",
    "per", "after", "before", "every", "each", "on", "at", "from", "with", "given", "using", "but", "when", "for",
))
_TOLD = frozenset(("because", "since", "as", "so", "which", "where", "is", "per", "each", "every"))
_ALTERNATIVES = frozenset((
    "or", "and", "to", "through", "plus", "minus", "times", "divided", "over", "by", "versus", "vs",
))
_OPERATIONS = frozenset((
    "plus", "minus", "squared", "cubed", "factorial", "choose", "mod", "modulo", "base", "raised", "half", "halves",
    "third", "thirds", "fourth", "fourths", "fifths", "sixth", "sixths", "seventh", "sevenths", "eighth", "eighths",
    "ninth", "ninths", "tenth", "tenths", "hundredth", "hundredths", "thousandth", "thousandths", "pi", "sqrt",
    "root", "or", "below",
))
# fmt: on
HAN_LEAD = re.compile("(?:大约|大概|等于|一共|总共|答案|约|是|为|共|有){0,4}")
HAN_NO_UNIT = re.compile("[或到至和与多余几来分半以]")
_HAN_ONE = re.compile("[个只元人天次种年米名位本块条件岁张辆斤倍组对支秒克吨里]?")
_OPENED = {"(": ")", "[": "]"}
_SILENT = frozenset((")", "]", "'", "*", "_", "’", "\\"))


class OutOfRange(ValueError):
    """A number that no float could be compared with."""


class Quantity(NamedTuple):
    """A number as exact text for `fractions.Fraction`, and the place of the token after it."""

    value: str
    end: int


def quantity_at(tokens: Sequence[Token], place: int) -> Quantity | None:
    """The number that begins at a place, with its scale; None where none begins there or what begins is unclear."""
    negative, place = _sign(tokens, place)
    if text_at(tokens, place).lower() in CURRENCIES:
        place += 1 + (text_at(tokens, place + 1) == ".")
    priced = past(tokens, place, "currency")
    if priced > place and not negative:
        negative, priced = _sign(tokens, priced)
    place = priced
    found = _in_figures(tokens, place)
    found = _scaled(tokens, found) if found else _in_words(tokens, place)
    if found is None or not negative:
        return found
    return Quantity(found.value.removeprefix("-") if found.value.startswith("-") else f"-{found.value}", found.end)


def exact(text: str) -> Fraction:
    """Raises OutOfRange where the exponent is beyond what a float holds."""
    _, _, exponent = text.partition("e")
    if exponent and abs(int(exponent)) > MAX_EXPONENT:
        raise OutOfRange(text)
    return Fraction(text)


def _sign(tokens: Sequence[Token], place: int) -> tuple[bool, int]:
    said = text_at(tokens, place).lower()
    signed = said in ("+", *DASHES, "minus", "negative", "负")
    return signed and said != "+", place + signed


def _in_figures(tokens: Sequence[Token], place: int) -> Quantity | None:
    kind, value = kind_at(tokens, place), text_at(tokens, place)
    if kind in PARTS:
        return _quotient(value, place + 1)
    if kind != "number" or _is_glued(tokens, place):
        return None
    following, second = kind_at(tokens, place + 1), text_at(tokens, place + 2)
    if following in PARTS:
        return _mixed(value, text_at(tokens, place + 1), place + 2)
    if following == "number" and second in ("/", "⁄") and kind_at(tokens, place + 3) == "number":
        return _mixed(value, f"{text_at(tokens, place + 1)}/{text_at(tokens, place + 3)}", place + 4)
    if text_at(tokens, place + 1) in ("/", "⁄") and kind_at(tokens, place + 2) == "number":
        return None if text_at(tokens, place + 3) in ("/", "⁄") else _quotient(f"{value}/{second}", place + 3)
    if (following == "times" or text_at(tokens, place + 1) in ("*", "x", "X")) and second == "10":
        return _power(tokens, place + 2, value)
    return (_power(tokens, place, "1") if value == "10" else None) or Quantity(value, place + 1)


def _is_glued(tokens: Sequence[Token], place: int) -> bool:
    """Whether a figure is part of a name or an index: "H2O", "x5", "x_5"."""
    if place == 0 or tokens[place].spaced:
        return place > 0 and text_at(tokens, place - 1) in ("_", "^")
    before = tokens[place - 1]
    named = before.kind == "word" and not before.in_text and before.text.lower() not in CURRENCIES
    return named or before.text in ("_", "^", ".") or before.kind in NUMERIC


def _quotient(text: str, end: int) -> Quantity | None:
    above, below = (exact(side) for side in text.split("/"))
    return Quantity(str(above / below), end) if below else None


def _mixed(whole: str, part: str, end: int) -> Quantity | None:
    above, below = (exact(side) for side in part.split("/"))
    if not whole.isdigit() or not 0 < above < below or above.denominator > 1 or below.denominator > 1:
        return None
    return Quantity(str(int(whole) + above / below), end)


def _power(tokens: Sequence[Token], place: int, factor: str) -> Quantity | None:
    """A factor times the power of ten that begins at a place."""
    if kind_at(tokens, place + 1) == "superscript":
        exponent, end = text_at(tokens, place + 1), place + 2
    elif text_at(tokens, place + 1) == "^":
        signed = text_at(tokens, place + 2) in ("+", *DASHES)
        exponent, end = ("-" if signed and text_at(tokens, place + 2) != "+" else ""), place + 3 + signed
        exponent += text_at(tokens, end - 1)
    else:
        return None
    if not re.fullmatch("[-+]?[0-9]{1,6}", exponent) or "e" in factor:
        return None
    return Quantity(f"{factor}e{int(exponent)}" if int(exponent) else factor, end)


def _scaled(tokens: Sequence[Token], found: Quantity) -> Quantity:
    """The number times the scale that follows it: "12 thousand", "12k", "$1.5M", 1.2万."""
    place, scale = found.end, Fraction(1)
    while (factor := SCALES.get(text_at(tokens, place).lower().removesuffix("s"))) is not None:
        place, scale = place + 1, scale * factor
    if scale == 1 and place < len(tokens) and not tokens[place].spaced and not tokens[place].in_text:
        priced = any(token.kind == "currency" for token in tokens[:place])
        letters = {"k": 10**3, **({"K": 10**3, "M": 10**6, "m": 10**6, "B": 10**9} if priced else {})}
        if (letter := letters.get(tokens[place].text)) is not None:
            place, scale = place + 1, Fraction(letter)
    if scale == 1 and kind_at(tokens, place) == "han" and (han := han_scale(tokens[place].text)):
        scale = Fraction(han[0])
        # What is left of the characters is the unit: 1.2万元.
        place += han[1] == len(tokens[place].text)
    return found if scale == 1 else Quantity(str(exact(found.value) * scale), place)


def _in_words(tokens: Sequence[Token], place: int) -> Quantity | None:
    if kind_at(tokens, place) == "han":
        return _in_characters(tokens[place].text, place)
    words = [token.text.lower() for token in tokens[place : place + 30]]
    found = spelled_out(words)
    if found is None:
        return None
    following = [token.text.lower().removesuffix("s") for token in tokens[place + found[1] :]]
    # "One" is a pronoun as well.
    if (
        not (WORDS | {"quarter"}).isdisjoint(following[:1])
        or len(following) > (1 if words[0] == "one" else 3)
        or "of" in following
    ):
        return None
    if words[0] == "one" and text_at(tokens, place - 1).lower() in ("the", "only"):
        return None
    return Quantity(str(found[0]), place + found[1])


def _in_characters(text: str, place: int) -> Quantity | None:
    start = (match.end() if (match := HAN_LEAD.match(text)) else 0) + text.startswith("负")
    found = han_number(text[start:])
    if found is None:
        return None
    unit = text[start + found[1] :]
    clear = len(unit) <= 2 if found[1] > 1 else _HAN_ONE.fullmatch(unit)
    value = f"-{found[0]}" if text.startswith("负") else str(found[0])
    return Quantity(value, place + 1) if clear and not HAN_NO_UNIT.search(unit) else None


def is_rest(tokens: Sequence[Token], place: int, *, opened: str = "", remarks: bool = True) -> bool:
    """Whether what follows a number is its unit, and after that the end or a remark, and nothing that changes it.

    `opened` are the brackets before the number, to be closed after it.
    """
    start = place
    for bracket in reversed(opened):
        place = past(tokens, place, "currency", "percent", "degree")
        if text_at(tokens, place) != _OPENED[bracket]:
            return False
        place += 1
    if opened:
        return place == len(tokens) or (place + 1 == len(tokens) and tokens[place].text == ".")
    while place < len(tokens):
        if remarks and _is_remark(tokens, place, after_number=place == start):
            return True
        length = _unit_length(tokens, place, after_number=place == start)
        if not length:
            return False
        place += length
    return True


def _is_remark(tokens: Sequence[Token], place: int, *, after_number: bool) -> bool:
    """Whether something begins that is said of the answer and is no part of it."""
    token, word = tokens[place], text_at(tokens, place + 1)
    told = kind_at(tokens, place + 1) in ("word", "han") and (len(word) > 1 or kind_at(tokens, place + 1) == "han")
    low = word.lower()
    if token.text in DASHES:
        return told and token.spaced and tokens[place + 1].spaced and low not in _OPERATIONS
    if token.text in (",", ";", ":"):
        return place + 1 == len(tokens) or (
            told
            and low not in _ALTERNATIVES | _OPERATIONS | WORDS
            and text_at(tokens, place + 2) not in ("=", "(")
            and not low.startswith(("或", "和"))
        )
    if token.text in ("(", "["):
        aside = told or (tokens[place + 1 : place + 2] and tokens[place + 1].text in ("≈", "~", "\\approx"))
        return bool(aside) and not (after_number and not token.spaced) and low not in _OPERATIONS | _ALTERNATIVES
    if token.kind == "word" and token.text.lower() in (_TOLD if after_number else _REMARKS):
        return kind_at(tokens, place + 1) not in ("symbol", "command") and not any(
            other.text.lower() in ("base", "otherwise") for other in tokens[place:]
        )
    return False


def _unit_length(tokens: Sequence[Token], place: int, *, after_number: bool) -> int:
    """How many tokens from a place on are a unit's, or words that leave the number as it is; 0 for none."""
    token, following = tokens[place], kind_at(tokens, place + 1)
    if token.kind in ("currency", "percent", "degree") or token.text in _SILENT:
        return 1
    if token.kind == "word":
        return 1 + _exponent_length(tokens, place + 1) if _is_unit(tokens, place, after_number=after_number) else 0
    if token.kind == "han":
        return 0 if HAN_NO_UNIT.search(token.text[:8]) else 1
    if token.text in ("/", "-", "–", "·", "*", "⋅") or token.kind == "times":
        # m/s, 5-day, N·m, $5/hour.
        joins = following == "word" and (not after_number or len(text_at(tokens, place + 1)) > 1 or token.text == "/")
        return 1 if joins else 2 if token.text == "/" and text_at(tokens, place + 1) == "(" else 0
    if token.kind == "ellipsis":
        return 1 if after_number and not token.spaced and "." in text_at(tokens, place - 1) else 0
    if token.text in ("!", "."):
        return 1 if place + 1 == len(tokens) and not (after_number and token.text == "!") else 0
    if token.kind == "about":
        return _uncertainty_length(tokens, place) if after_number else 0
    return 1 if token.text in ("\\Omega", "\\mu", ",") and following in ("word", "", "percent") else 0


def _is_unit(tokens: Sequence[Token], place: int, *, after_number: bool) -> bool:
    """Whether a word can follow a number as its unit, or further on as a word of the same sentence."""
    token, low = tokens[place], tokens[place].text.lower()
    if low in _OPERATIONS and (after_number or low in ("or", "plus", "minus", "mod", "base", "modulo")):
        return False
    if low in _ALTERNATIVES:
        following = text_at(tokens, place + 1).lower()
        further = kind_at(tokens, place + 1) in ("word", "han") and (len(following) > 1 or following == "a")
        if low == "times":
            return further or not following
        return further and not after_number and following not in WORDS
    if after_number and token.text == "K" and not token.spaced and not token.in_text:
        return False  # Kelvin, or thousand.
    if token.text in _UNITS:
        return True
    if after_number and not token.spaced:
        return low in ("million", "percent") or ord(low[0]) > 0x3FF or (len(low) > 3 and _is_word(low))
    return (low in _SHORT_WORDS and not after_number) or (low in ("a", "of", "in", "per") or _is_word(low))


def _is_word(low: str) -> bool:
    """Whether letters are a word, and no product of variables."""
    if not low.isascii():
        return len(low) > 1 or ord(low) > 0x3FF
    return len(low) > 2 and low not in ("abc", "xyz") and re.search("[aeiouy]", low) is not None


def _exponent_length(tokens: Sequence[Token], place: int) -> int:
    if kind_at(tokens, place) == "superscript":
        return 1
    if text_at(tokens, place) != "^":
        return 0
    signed = text_at(tokens, place + 1) in ("-", "–")
    return 2 + signed if re.fullmatch("[1-9]", text_at(tokens, place + 1 + signed)) else 0


def _uncertainty_length(tokens: Sequence[Token], place: int) -> int:
    """The length of "± 0.1" after a number at least ten times as large; two solutions (1 ± 2) lie further apart."""
    value, tolerance = text_at(tokens, place - 1), text_at(tokens, place + 1)
    if kind_at(tokens, place - 1) != "number" or kind_at(tokens, place + 1) != "number":
        return 0
    return 2 if exact(tolerance) <= exact(value) / 10 else 0
