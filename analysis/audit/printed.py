"""One figure of a published table, as it is printed."""

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from toolablate.analysis.audit.interval import Interval, exactly

Sign = Literal[-1, 0, 1]

EMPTY = frozenset(["-", "–", "—", "−", "/", "--", "---", "n/a", "N/A", "NA"])
_SIGNS: dict[str, Sign] = {"+": 1, "↑": 1, "▲": 1, "-": -1, "–": -1, "−": -1, "↓": -1, "▼": -1}
_FIGURE = re.compile(
    r"(?P<open>\()?(?P<sign>[-–−+]?)(?P<before>[↑▲↓▼]?)"
    r"(?P<whole>[0-9]{1,3}(?:,[0-9]{3}){1,4}|[0-9]{0,15})(?:\.(?P<decimals>[0-9]{1,12}))?"
    r"(?:±(?:[0-9]{1,15}(?:\.[0-9]{1,12})?|\.[0-9]{1,12}))?"
    r"(?P<percent>%?)(?P<after>[↑▲↓▼]?)(?(open)\))"
)


@dataclass(frozen=True, slots=True)
class Printed:
    """text       as it stands in the table
    size          without its sign
    decimals      how many digits are printed behind the point
    sign          of a plus, minus or arrow; 0 where there is none
    percent       whether a percent sign follows
    """

    text: str
    size: Fraction
    decimals: int
    sign: Sign
    percent: bool

    @property
    def value(self) -> Fraction:
        return -self.size if self.sign < 0 else self.size

    @property
    def unit(self) -> Fraction:
        """The worth of the last printed digit."""
        return Fraction(1, 10**self.decimals)

    @property
    def interval(self) -> Interval:
        """What rounds to this."""
        return Interval(self.value - self.unit / 2, self.value + self.unit / 2)

    @property
    def counted(self) -> Interval:
        """The same where figures without decimals are counts, which are not rounded."""
        return self.interval if self.decimals else exactly(self.value)


def printed(text: str) -> Printed:
    """Reads `35.89`, `10,606`, `2.89%↓`, `-4.5`, `(+0.3)`, and `35.9±0.4` without its spread.

    Raises ValueError that says what is wrong.
    """
    match = _FIGURE.fullmatch(text)
    if match is None or not (match["whole"] or match["decimals"]):
        raise ValueError("is no figure")
    marks = [match["sign"], match["before"], match["after"]]
    signs = {_SIGNS[mark] for mark in marks if mark}
    if len(signs) > 1:
        raise ValueError("has a sign and an arrow that say different things")
    decimals = match["decimals"] or ""
    size = Fraction(int(match["whole"].replace(",", "") + decimals or "0"), 10 ** len(decimals))
    return Printed(text, size, len(decimals), signs.pop() if signs else 0, bool(match["percent"]))
