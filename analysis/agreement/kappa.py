"""Agreement beyond what chance gives.

Source: Cohen (1960), "A Coefficient of Agreement for Nominal Scales", Educational and Psychological Measurement 20.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from toolablate.analysis.agreement.jackknife import jackknifed_interval
from toolablate.analysis.statistics import RESAMPLES


@dataclass(frozen=True, slots=True)
class Table:
    """Trials by what two scorers say of each: correct or not."""

    both: int
    first_only: int
    second_only: int
    neither: int

    @property
    def trials(self) -> int:
        return self.both + self.first_only + self.second_only + self.neither

    @property
    def agreed(self) -> int:
        return self.both + self.neither

    def __add__(self, other: "Table") -> "Table":
        return Table(
            self.both + other.both,
            self.first_only + other.first_only,
            self.second_only + other.second_only,
            self.neither + other.neither,
        )

    @property
    def cells(self) -> tuple[float, ...]:
        return self.both, self.first_only, self.second_only, self.neither


def cohens_kappa(table: Table) -> float | None:
    """(observed - expected) / (1 - expected), where `observed` is the share of trials on which two scorers agree and
    `expected` the share on which they would if each kept its share of correct ones and drew them by chance (Cohen
    1960). None where both say the same of all trials, since they then agree by chance as well as by judgement."""
    first, second = table.both + table.first_only, table.both + table.second_only
    # Both sides times the square of the trials, so that it stays among whole numbers.
    beyond = table.trials * (first + second) - 2 * first * second
    return 2 * (table.trials * table.both - first * second) / beyond if beyond else None


def kappa_interval(tables: Sequence[Table], *, seed: int = 0, resamples: int = RESAMPLES) -> tuple[float, float] | None:
    """The 95 % interval of the kappa of all trials, by a bootstrap over independent units, of which each has a table.

    None where kappa is undefined with or without some unit, or where nothing says how much it varies: fewer than two
    units, or no trial on which the two differ.
    """
    if not any(each.agreed < each.trials for each in tables):
        return None
    found = jackknifed_interval(
        lambda cells: cohens_kappa(Table(*map(round, cells))),
        [each.cells for each in tables],
        [float(each.trials) for each in tables],
        seed=seed,
        resamples=resamples,
    )
    return None if found is None else (max(-1.0, found[0]), min(1.0, found[1]))
