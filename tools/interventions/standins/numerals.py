"""The numbers that a text may be read to hold, however they are written: on the safe side, every reading counts."""

import math
import re
from collections.abc import Iterator

from toolablate.tools.guards.normal import normal_text

_DIGITS = r"\d{1,300}"
_GROUP = r"[,.'’ _\u202f\u2009\n]"
_RUN = re.compile(
    rf"(?<![A-Za-z_.\d])(?:{_DIGITS}(?:{_GROUP}{_DIGITS})*|\.{_DIGITS})"
    r"(?P<power>[eE][-+]?\d{1,3}(?!\d)|\s?(?:[×x*·]|\\times|\\cdot)\s?10\s?(?:\^|\*\*)\s?\{?[-+−]?\d{1,3}\}?)?"
    rf"(?P<below>\s?[/⁄]\s?{_DIGITS})?(?P<percent>\s?%)?"
)
# Bounded, since a page may be one long row of groups.
_GROUPED = re.compile(r"\d{1,3}(?P<mark>[,.'’ _\u202f\u2009\n])\d{3}(?:(?P=mark)\d{3}){0,6}(?P<rest>[.,]\d+)?(?!\d)")
_MIXED = re.compile(r"\d{1,3}(?:[,'’ _]\d{2,3}){1,8}(?:\.\d+)?(?!\d)")
_DECIMAL = re.compile(r"\d*[.,]\d+|\d+")
_EXPONENT = re.compile(r"[-+−]?\d{1,3}(?=\}?$)")
_BARE = re.compile(
    r"[-+−–~≈$€£¥(\s]*(?P<number>[\d.](?:[\d.,'’ _]*\d)?(?:[eE][-+]?\d{1,3})?)(?:\s?[/⁄]\s?(?P<below>\d+))?"
    r"\s?%?(?:\s?[^\W\d_]{1,4})?[.)]?"
)
_THOUSANDS = re.compile(r"\d{1,3}([,'’ _])\d{3}(?:\1\d{3})*(?:\.\d+)?|\d+(?:\.\d+)?")
_ROUNDED_DIGITS = 3
_SLACK = 1e-9


def values_in(text: str) -> Iterator[tuple[float, int, int, int]]:
    """Each reading of each number, without its sign: the value, its digits behind the point (-1 where it is no plain
    decimal), and the place in the text between which it stands. Expects a normal text (`normal_text`)."""
    for run in _RUN.finditer(text):
        start, end = run.span()
        end -= len(run[0]) - len(run[0].rstrip())
        tail = run["power"] or run["below"] or run["percent"]
        body = run[0][: run.start("power") - start] if run["power"] else run[0]
        for value, decimals, first, last in _readings(body):
            yield value, decimals, start + first, start + last
            if tail:
                yield from ((scaled, -1, start + first, end) for scaled in _scaled(value, run))


def _readings(body: str) -> Iterator[tuple[float, int, int, int]]:
    for decimal in _DECIMAL.finditer(body):
        yield from _read(decimal[0].replace(",", "."), *decimal.span())
    for start in (0, *(match.end() for match in re.finditer(_GROUP, body))):
        if grouped := _GROUPED.match(body, start):
            rest = (grouped["rest"] or "").replace(",", ".")
            whole = grouped[0][: len(grouped[0]) - len(rest)]
            yield from _read(re.sub(r"\D", "", whole) + rest, *grouped.span())
        if mixed := _MIXED.match(body, start):
            yield from _read(re.sub(r"[,'’ _]", "", mixed[0]), *mixed.span())


def _read(plain: str, first: int, last: int) -> Iterator[tuple[float, int, int, int]]:
    value = float(plain)
    if math.isfinite(value):
        yield value, len(plain.partition(".")[2]), first, last


def _scaled(value: float, run: re.Match[str]) -> Iterator[float]:
    if run["power"] and (exponent := _EXPONENT.search(run["power"])):
        power = int(exponent[0].replace("−", "-"))
        if abs(power) <= 300:
            yield from (x for x in (value * 10.0**power,) if math.isfinite(x))
    if run["below"] and (below := float(re.sub(r"\D", "", run["below"]))):
        yield value / below
    if run["percent"]:
        yield value / 100


def is_value(read: float, decimals: int, value: float, tolerance: float) -> bool:
    """Whether a number that was read is `value`, within the tolerance or as a rounding of it to three digits or more.
    Signs do not count: a minus may be a dash."""
    wanted = abs(value)
    if abs(read - wanted) <= tolerance + _SLACK * wanted:
        return True
    digits = len(f"{read:.{decimals}f}".replace(".", "").lstrip("0")) if decimals >= 0 else 0
    return digits >= _ROUNDED_DIGITS and abs(read - wanted) <= 0.5 * 10.0**-decimals + _SLACK * wanted


def bare_number(text: str) -> float | None:
    """The value of a text that is a number or a fraction, with a sign, a currency or a unit at most. A comma before
    three digits parts thousands, a point never does."""
    bare = _BARE.fullmatch(normal_text(text).strip())
    if bare is None:
        return None
    number = bare["number"]
    plain = re.sub(r"[,'’ _]", "", number) if _THOUSANDS.fullmatch(number) else number.replace(",", ".")
    try:
        value = float(plain) / float(bare["below"] or 1)
    except (ValueError, ZeroDivisionError):
        return None
    return value if math.isfinite(value) else None
