"""What an audit says of a table."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

Level = Literal["wrong", "remark", "fact"]
AverageOf = Literal["change_of_averages", "mean_of_changes", "mean_of_sizes"]
FindingKind = Literal[
    "average",
    "average_of",
    "copy",
    "delta",
    "equal",
    "granularity",
    "mean",
    "percent_sign",
    "rank",
    "share",
    "sign",
    "sum",
    "total",
    "unchecked",
    "units",
]


@dataclass(frozen=True, slots=True)
class Finding:
    """level      `wrong`: does not follow, whatever was rounded; `remark`: follows, and misleads or is remarkable;
                  `fact`: what the figures imply, of which there may be a harmless reason
    row, column   where; empty where it is about several
    off           how far a wrong figure is from the recomputed one, in units of its last printed digit
    """

    level: Level
    kind: FindingKind
    text: str
    row: str = ""
    column: str = ""
    off: float = 0.0


@dataclass(frozen=True, slots=True)
class Recomputed:
    """One cell that other cells give.

    printed      as it stands
    value        recomputed from the printed figures; `decimals`: to how many digits it is worth showing
    follows      whether the printed figure can be it, within what was rounded
    reading      of a delta: the unit in which it follows; empty for any other. With `follows` False `value` is in this
                 unit, which is not that of the other deltas
    average_of   of a delta in an average row: what it is read as; several where rounding leaves that open
    readings     of such a delta: what each reading gives, in the unit of `value`
    """

    row: str
    column: str
    printed: str
    value: Fraction
    decimals: int
    follows: bool
    reading: Literal["points", "relative", "both", "neither", ""] = ""
    average_of: tuple[AverageOf, ...] = ()
    readings: Mapping[AverageOf, Fraction] = field(default_factory=dict)

    @property
    def text(self) -> str:
        return figure(self.value, self.decimals)


def figure(value: Fraction, decimals: int) -> str:
    """Rounded to so many decimals, a half away from zero as in most papers, with a true minus."""
    scaled = abs(value) * 10**decimals
    digits = f"{int(scaled + Fraction(1, 2)):0{decimals + 1}d}"
    text = f"{digits[:-decimals]}.{digits[-decimals:]}" if decimals else digits
    return f"\N{MINUS SIGN}{text}" if value < 0 and int(digits) else text
