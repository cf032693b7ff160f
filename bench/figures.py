"""Figures that several benchmarks share; as tables, in Markdown, so that they can be put into a README as they are; and
whether they reach an aim."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from rich.box import MARKDOWN
from rich.console import Console
from rich.table import Table

NOTHING = "-"

TableOf = tuple[str, tuple[str, ...], list[tuple[str, ...]]]
"""Title, columns and rows."""


@dataclass(frozen=True, slots=True)
class Aim:
    """`found` is None where this run did not measure it."""

    what: str
    wanted: str
    found: str | None
    met: bool = False

    @property
    def verdict(self) -> str:
        return "not measured" if self.found is None else "met" if self.met else "NOT MET"


def aims_table(title: str, aims: Iterable[Aim]) -> TableOf:
    return title, ("", "aim", "found", ""), [(a.what, a.wanted, a.found or NOTHING, a.verdict) for a in aims]


def print_tables(tables: Iterable[TableOf], console: Console) -> None:
    """Those that have rows."""
    for title, columns, rows in tables:
        if not rows:
            continue
        table = Table(*columns, box=MARKDOWN, title=title, title_justify="left", title_style="bold")
        for column in table.columns[1:]:
            column.justify = "right"
        for row in rows:
            table.add_row(*row)
        console.print(table)
        console.print()


def print_notes(failed: Iterable[str], machine: Mapping[str, object], note: str, console: Console) -> None:
    """What failed, the machine, and how to read the tables."""
    for each in failed:
        console.print(f"FAILED  {each}", markup=False, highlight=False)
    console.print("  ".join(f"{name} {value}" for name, value in machine.items()), markup=False, highlight=False)
    console.print(note)


def macro_f1(pairs: Sequence[tuple[str, str | None]]) -> float | None:
    """Of (true, said), over all classes that are either."""
    classes = {true for true, _ in pairs} | {said for _, said in pairs if said}
    if not classes:
        return None
    return sum(map(f1_of(pairs), classes)) / len(classes)


def f1_of(pairs: Sequence[tuple[str, str | None]]) -> Callable[[str], float]:
    both, true, said = (Counter[str | None]() for _ in range(3))
    for one, other in pairs:
        true[one] += 1
        said[other] += 1
        both[one] += one == other
    return lambda name: 2 * both[name] / (true[name] + said[name])
