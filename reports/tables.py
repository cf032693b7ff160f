"""A table that fits the width it is given: columns narrow, leave or stack before anything is lost without a word."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from toolablate.traces.terminal_text import shortened

NAME_CELLS = 8
READABLE_NAME_CELLS = 16
"""Columns that may be left out go before a name is folded more than this."""
ID_CELLS = 13
BETWEEN_PARTS = "-/_:@ "


@dataclass(frozen=True, slots=True)
class Column:
    """`least`: the cells it can be narrowed to, by folding, or by a cut in the middle where `cut`; None: never.
    `common`: may be said once for all rows where they agree. `spare`: may be left out, the lower the sooner; 0: never.
    """

    title: str
    cells: tuple[Text, ...]
    right: bool = False
    least: int | None = None
    cut: bool = False
    common: bool = False
    spare: int = 0

    @property
    def width(self) -> int:
        return max(cell_len(self.title), *(cell_len(cell.plain) for cell in self.cells), 0)

    @property
    def narrowest(self) -> int:
        return self.width if self.least is None else min(self.width, max(self.least, cell_len(self.title)))

    @property
    def shared(self) -> str | None:
        """What all rows say; an empty cell says nothing."""
        said = {cell.plain for cell in self.cells} - {""}
        return said.pop() if self.common and len(self.cells) > 1 and len(said) == 1 else None


def figures(title: str, cells: Iterable[str | Text], *, common: bool = False, spare: int = 0) -> Column:
    return Column(title, _texts(cells), right=True, common=common, spare=spare)


def words(title: str, cells: Iterable[str | Text], *, common: bool = False) -> Column:
    return Column(title, _texts(cells), common=common)


def names(title: str, cells: Iterable[str | Text], *, cut: bool = False, common: bool = False) -> Column:
    return Column(title, _texts(cells), least=ID_CELLS if cut else NAME_CELLS, cut=cut, common=common)


def _texts(cells: Iterable[str | Text]) -> tuple[Text, ...]:
    return tuple(Text(cell) if isinstance(cell, str) else cell for cell in cells)


@dataclass(frozen=True, slots=True)
class Fitted:
    """The columns as a table; where there is no room, each row as a heading (a name or id) and lines below it."""

    columns: tuple[Column, ...]
    styles: tuple[str, ...] = ()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        kept = _kept(self.columns, options.max_width)
        if kept is None:
            kept = [column for column in self.columns if column.shared is None]
            yield from self._stacked(kept, options.max_width)
        else:
            yield self._table(kept, options.max_width)
        gone = [column for column in self.columns if not any(column is other for other in kept)]
        shared = [f"{column.title} {column.shared}" for column in gone if column.shared is not None]
        left_out = [column.title for column in gone if column.shared is None]
        if shared:
            yield _note(f"In every row: {', '.join(shared)}.")
        if left_out:
            yield _note(f"Not shown, for want of width: {', '.join(left_out).rstrip('.')}.")

    def _table(self, columns: Sequence[Column], room: int) -> Table:
        gap = 1 if _total([column.width for column in columns], 1) <= room else 0
        table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, gap, 0, 0), header_style="")
        widths = _narrowed(columns, room)
        for column, width in zip(columns, widths, strict=True):
            table.add_column(
                Text(column.title),  # a text of its own would be read as markup
                justify="right" if column.right else "left",
                width=width,
                no_wrap=column.least is None or column.cut,
                overflow="fold",
            )
        for number in range(len(columns[0].cells)):
            cells = [_cell(column, number, width) for column, width in zip(columns, widths, strict=True)]
            table.add_row(*cells, style=self._style(number))
        return table

    def _stacked(self, columns: Sequence[Column], room: int) -> Iterator[RenderableType]:
        first, *others = columns
        yield Text()
        for number in range(len(first.cells)):
            style = self._style(number)
            yield Padding(_folded(first.cells[number], f"bold {style}"), (0, 0, 0, 1))
            parts = [
                Text.assemble((column.title, "dim"), " ", _cell(column, number, max(1, room - 4 - len(column.title))))
                for column in others
                if column.cells[number].plain
            ]
            for line in _packed(parts, room - 3):
                yield Padding(_folded(line, style), (0, 0, 0, 3))
        yield Text()

    def _style(self, number: int) -> str:
        return self.styles[number] if self.styles else ""


@dataclass(frozen=True, slots=True)
class Blocks:
    """Columns of equal worth, more than there may be room for: as many tables below each other as it takes, each with
    the first column and those that are next."""

    first: Column
    columns: tuple[Column, ...]
    styles: tuple[str, ...] = ()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        name = _readable(self.first)
        block: list[Column] = []
        for column in self.columns:
            if block and _total([name, *(each.width for each in (*block, column))], 0) > options.max_width:
                yield Fitted((self.first, *block), self.styles)
                block = []
            block.append(column)
        yield Fitted((self.first, *block), self.styles)


def _folded(text: Text, style: str) -> Text:
    text = text.copy()
    text.overflow = "fold"
    text.stylize_before(style.strip())
    return text


def _note(text: str) -> RenderableType:
    return Padding(Text(text, style="dim", overflow="fold"), (0, 1, 1, 1))


def _cell(column: Column, number: int, width: int) -> Text:
    cell = column.cells[number]
    if column.cut:
        return Text(shortened(cell.plain, width), style=cell.style)
    return cell if column.least is None else _broken(cell, width)


def _broken(name: Text, width: int) -> Text:
    """In lines of so many cells, broken behind a sign between the parts of a name, where that leaves no short line."""
    plain, start, breaks = name.plain, 0, []
    while cell_len(plain[start:]) > width:
        end = start + 1
        while cell_len(plain[start : end + 1]) <= width:
            end += 1
        signs = (at for at in range(end, start + (end - start) // 3, -1) if plain[at - 1] in BETWEEN_PARTS)
        start = next(signs, end)
        breaks.append(start)
    return Text("\n").join(name.divide(breaks)) if breaks else name


def _kept(columns: Sequence[Column], room: int) -> list[Column] | None:
    """What is shown side by side: all; else without what all rows share; else without what may be left out."""
    kept = list(columns)
    shared = [column for column in reversed(columns) if column.shared is not None]
    spare = sorted((column for column in columns if column.spare and column.shared is None), key=_spare)
    for column in shared:
        # Nothing is lost by these, so they go before a name is folded or cut.
        if _total([other.width for other in kept], 0) > room:
            kept = [other for other in kept if other is not column]
    for column in spare:
        if _total([_readable(other) for other in kept], 0) > room:
            kept = [other for other in kept if other is not column]
    return kept if _fits(kept, room) else None


def _spare(column: Column) -> int:
    return column.spare


def _readable(column: Column) -> int:
    if column.cut or column.least is None:
        return column.narrowest
    return max(column.narrowest, min(column.width, READABLE_NAME_CELLS))


def _fits(columns: Sequence[Column], room: int) -> bool:
    return _total([column.narrowest for column in columns], 0) <= room


def _total(widths: Sequence[int], gap: int) -> int:
    # The box draws a blank at both edges and one between columns.
    return sum(widths) + len(widths) + 1 + gap * (len(widths) - 1)


def _narrowed(columns: Sequence[Column], room: int) -> list[int]:
    widths, least = [column.width for column in columns], [column.narrowest for column in columns]
    while _total(widths, 0) > room:
        # What is cut in its middle gives way first: it stays on one line. Then the widest, so that no name suffers for
        # another's length.
        slack = [
            (column.cut, width) if width > narrowest else (False, 0)
            for column, width, narrowest in zip(columns, widths, least, strict=True)
        ]
        widths[slack.index(max(slack))] -= 1
    return widths


def _packed(parts: Iterable[Text], room: int) -> Iterator[Text]:
    line = Text()
    for part in parts:
        if line and cell_len(line.plain) + 3 + cell_len(part.plain) > room:
            yield line
            line = Text()
        line = Text.assemble(line, " · ", part) if line else part
    if line:
        yield line


def simulated_banner() -> Text:
    """What stands wherever figures or trials of a simulated model are shown together."""
    return Text.assemble(
        " ",
        (" SIMULATED ", "bold black on yellow"),
        " a simulated model: no measurement",
    )
