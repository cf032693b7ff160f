"""Numbers in text, with sign, scale, unit and percent."""

import re
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple


class Token(NamedTuple):
    """`spaced` where a blank stands before it; `in_text` inside `\\text{}`, where letters are words, not variables."""

    kind: str
    text: str
    spaced: bool
    in_text: bool = False


# One separator throughout: "1,234,567", "1{,}234", "1,\!234", "12 000", "12\,000", "12'000".
_SEPARATOR = "(?P<{0}>(?:\\\\text)?\\{{,\\}}|,\\s?\\\\[!,]\\s?|\\\\[, ;:!]|[,\u2009\u202f'’ ])"
_TAIL = r"(?:\.[0-9]{1,300})?(?![0-9])"


def _plain(name: str) -> str:
    separator = _SEPARATOR.format(name)
    return (
        rf"(?:[1-9][0-9]{{0,2}}{separator}[0-9]{{3}}(?:(?P={name})[0-9]{{3}}){{0,99}}{_TAIL}"
        rf"|[0-9]{{1,300}}{_TAIL}|\.[0-9]{{1,300}}(?![0-9]))"
    )


def _argument(name: str) -> str:
    braced = rf"\{{\s?\{{?(?:\s|\\[,;:! ])?(?P<{name}>[-+]?\s?{_plain(f'{name}_by')})\s?\}}?\s?\}}"
    return rf"\s?(?:{braced}|(?P<{name}_digit>[0-9]))"


_SPACE = r"(?:\s|\\[,;:! ]|\\q?quad\b|~(?=\s?[\\A-Za-z]))+"
_TEXT = r"\\(?:text|mbox|hbox|math(?:rm|bf|sf|it)|text(?:bf|it|rm|sf|normal)|operatorname|bold|boldsymbol|bm|emph)\s?\{"
_TOKEN = re.compile(
    "|".join(
        (
            # A pair, or a negative sum as accountants write it.
            r"(?P<pair>[(\[]\s?-?[0-9]{1,3}(?:,[0-9]{3})+\s?[)\]])",
            rf"(?P<fraction>\\[dtc]?frac{_argument('above')}{_argument('below')})",
            rf"(?P<over>\{{?\s?(?P<over_above>[-+]?{_plain('by3')})\s?\\over\s?(?P<over_below>{_plain('by4')})\s?\}}?)",
            rf"(?P<number>{_plain('by5')}(?:[eE](?P<e>[-+]?[0-9]{{1,6}})(?![A-Za-z0-9]))?(?![.,][0-9]))",
            r"(?P<bad>[0-9][0-9.,]*|\.[0-9][0-9.,]*)",
            rf"(?P<space>{_SPACE})",
            rf"(?P<text>{_TEXT})",
            r"(?P<skip>\\(?:left|right|displaystyle|textstyle|[bB]igg?[lr]?|[a-z]?box|bf|rm|it|large|Large)(?![A-Za-z])|\\[()\[\]]"
            r"|\*\*|__|`|[\"“”‘]|</?[A-Za-z][A-Za-z0-9]{0,15}>)",
            r"(?P<currency>\\?\$|[€£¥₹₩₽]|\\(?:textdollar|pounds|euro)(?![A-Za-z]))",
            r"(?P<percent>\\?[%‰]|\\?¢|\\cents?(?![A-Za-z]))",
            r"(?P<degree>\^?\s?\{?\s?\\(?:circ|degree)(?![A-Za-z])\s?\}?|\^?[°º])",
            r"(?P<times>×|\\times(?![A-Za-z])|\\cdot(?![A-Za-z])|·|⋅)",
            r"(?P<equals>=|≈|\\approx(?![A-Za-z])|\\(?:simeq|doteq)(?![A-Za-z]))",
            r"(?P<about>±|\\pm(?![A-Za-z]))",
            r"(?P<arrow>-{1,2}>|=>|→|⇒|\\(?:to|[Rr]ightarrow|implies)(?![A-Za-z]))",
            r"(?P<superscript>[⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]{1,6})",
            r"(?P<vulgar>[¼½¾⅐-⅞])",
            r"(?P<ellipsis>\.{2,}|…|\\l?dots(?![A-Za-z]))",
            r"(?P<command>\\[A-Za-z]+|\\.|[₀-₉])",
            "(?P<han>[\u3007\u3400-\u9fff]+)",
            "(?P<word>[^\\W\\d_\u3007\u3400-\u9fff]+(?:['’][^\\W\\d_\u3007\u3400-\u9fff]+)*)",
            r"(?P<open>\{)|(?P<close>\})",
            r"(?P<symbol>.)",
        )
    ),
    re.DOTALL,
)
# Dollar signs around mathematics; "$5 and $6" and "$5-$7" have prices.
_MATHEMATICS = re.compile(r"(?<!\\)\${1,2}(?=[^\s$])((?:\\\$|[^$\n])*?[^\s\\$])\${1,2}(?![0-9])")
_SUPERSCRIPT = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")
_VULGAR = dict(
    zip(
        "¼½¾⅐⅑⅒⅓⅔⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞",
        [
            "1/4",
            "1/2",
            "3/4",
            "1/7",
            "1/9",
            "1/10",
            "1/3",
            "2/3",
            "1/5",
            "2/5",
            "3/5",
            "4/5",
            "1/6",
            "5/6",
            "1/8",
            "3/8",
            "5/8",
            "7/8",
        ],
        strict=True,
    )
)

PARTS = frozenset({"fraction", "over", "vulgar"})
NUMERIC = frozenset({"number", "fraction", "over", "vulgar", "bad"})
DASHES = "-–—"


def tokens_of(line: str) -> list[Token]:
    """The tokens of a line, without blanks, braces, typesetting and the dollar signs around mathematics."""
    tokens, texts, spaced = list[Token](), list[bool](), True
    for match in _TOKEN.finditer(_MATHEMATICS.sub(r"\1", line)):
        kind, _text = match.lastgroup or "", match[0]
        if kind in ("text", "open"):
            texts.append(kind == "text")
        elif kind == "close":
            del texts[-1:]
        elif kind == "space":
            spaced = True
        elif kind != "skip":
            tokens.append(Token(kind, _value_of(kind, match), spaced, any(texts)))
        if kind not in ("skip", "space"):
            spaced = kind == "text"
    return tokens


def text_at(tokens: Sequence[Token], place: int) -> str:
    return tokens[place].text if 0 <= place < len(tokens) else ""


def kind_at(tokens: Sequence[Token], place: int) -> str:
    return tokens[place].kind if 0 <= place < len(tokens) else ""


def past(tokens: Sequence[Token], place: int, *kinds: str) -> int:
    while kind_at(tokens, place) in kinds:
        place += 1
    return place


def _value_of(kind: str, match: re.Match[str]) -> str:
    if kind == "number":
        exponent = f"e{int(match['e'])}" if match["e"] else ""
        main = match[0][: match.start("e") - match.start() - 1] if match["e"] else match[0]
        return _digits(main) + exponent
    if kind == "fraction":
        return f"{_digits(match['above'] or match['above_digit'])}/{_digits(match['below'] or match['below_digit'])}"
    if kind == "over":
        return f"{_digits(match['over_above'])}/{_digits(match['over_below'])}"
    if kind == "vulgar":
        return _VULGAR[match[0]]
    if kind == "superscript":
        return match[0].translate(_SUPERSCRIPT)
    return match[0]


def _digits(text: str) -> str:
    return re.sub(r"[^0-9.+-]", "", text)


# Numbers in words: "one hundred and five", "twenty-one", 一百二十三, 两千, 1.2万.


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
