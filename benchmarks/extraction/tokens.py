"""Cuts a line that may hold a number into tokens: figures with their separators, fractions, words, LaTeX."""

import re
from collections.abc import Sequence
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
