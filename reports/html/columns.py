"""Tables of plain text with wide letters: columns that stand below each other.

A browser gives a Chinese letter one em, and a letter of a monospaced font about .6: neither who pads a column by the
number of its letters (pandas) nor who pads it by the cells of a terminal (rich, tabulate) gets straight columns. Wide
letters become two cells wide by a class; where letters were counted, blanks that are no part of the text are added.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from rich.cells import cell_len

Token = tuple[str, str]
"""The class of a piece of text, and the piece. Of the class `pad-3` the piece is empty: three blanks are shown."""

WIDE = re.compile(
    "[\u1100-\u115f\u2e80-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6]+"
)
"""East Asian letters and signs of two cells (Unicode Standard Annex 11, W and F), without emoji."""
LONGEST_LINE, MOST_LINES = 1_000, 2_000
LEAST_GAP = 1


def aligned(text: str) -> Iterator[Token]:
    """The same text in pieces, of which those of tables are wide or followed by blanks."""
    lines = text.split("\n")
    for number, block in enumerate(_blocks(lines)):
        if number:
            yield "", "\n"
        yield from _block(block)


def has_wide(text: str) -> bool:
    return WIDE.search(text) is not None


def _blocks(lines: Sequence[str]) -> Iterator[Sequence[str]]:
    """Runs of lines that may be a table, and single lines that are none."""
    for filled, run in groupby(lines, key=lambda line: bool(line.strip()) and len(line) <= LONGEST_LINE):
        block = list(run)
        if filled and len(block) <= MOST_LINES:
            yield block
        else:
            yield from ([line] for line in block)


def _block(lines: Sequence[str]) -> Iterator[Token]:
    wide = len(lines) > 1 and any(map(has_wide, lines))
    padded = [[0] * (len(line) + 1) for line in lines] if wide and _by_letters(lines) else None
    if padded is not None:
        _pad(lines, padded)
    for number, line in enumerate(lines):
        if number:
            yield "", "\n"
        if not wide:
            yield "", line
        else:
            yield from _line(line, padded[number] if padded else None)


def _line(line: str, pads: Sequence[int] | None) -> Iterator[Token]:
    begin = 0
    cuts = [place for place, blanks in enumerate(pads or ()) if blanks]
    for cut in (*cuts, len(line)):
        yield from _wide(line[begin:cut])
        if pads and pads[cut]:
            yield f"pad-{pads[cut]}", ""
        begin = cut


def _wide(text: str) -> Iterator[Token]:
    begin = 0
    for found in WIDE.finditer(text):
        if found.start() > begin:
            yield "", text[begin : found.start()]
        yield "wide", found[0]
        begin = found.end()
    if begin < len(text):
        yield "", text[begin:]


def _by_letters(lines: Sequence[str]) -> bool:
    """Whether columns were padded by the number of letters: more gaps go through all lines by their letters than by
    their cells; where the lines end says it too."""
    if len({cell_len(line) for line in lines}) == 1:
        return False
    if len({len(line) for line in lines}) == 1:
        return True
    return len(_gaps(lines)) > len(_gaps([_in_cells(line) for line in lines]))


def _in_cells(line: str) -> str:
    return WIDE.sub(lambda found: "xx" * len(found[0]), line)


def _gaps(lines: Sequence[str]) -> list[tuple[int, int]]:
    """Places where all lines have a blank, or are over; as stretches. Not those before the first letter of all."""
    length = max(map(len, lines))
    free = [True] * length
    for line in lines:
        for place, letter in enumerate(line):
            if letter != " ":
                free[place] = False
    gaps = []
    for blank, run in groupby(range(length), key=lambda place: free[place]):
        stretch = list(run)
        if blank and stretch[0] and len(stretch) >= LEAST_GAP:
            gaps.append((stretch[0], stretch[-1] + 1))
    return gaps


def _pad(lines: Sequence[str], pads: Sequence[list[int]]) -> None:
    """Writes how many blanks come before each letter. A column is as wide as its widest cell. It was pushed to the
    right unless one of its cells ends with a blank, or a line ends before it does."""
    begin = 0
    for start, stop in [*_gaps(lines), (max(map(len, lines)),) * 2]:
        cells = [line[begin:start] for line in lines]
        extra = [sum(map(len, WIDE.findall(cell))) for cell in cells]
        most = max(extra)
        right = all(not cell.strip() or (len(cell) == start - begin and cell[-1] != " ") for cell in cells)
        for line, own, places in zip(lines, extra, pads, strict=True):
            if most > own and len(line) > begin:
                places[begin if right else min(start, len(line))] += most - own
        begin = stop
