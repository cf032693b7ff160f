"""Published tables from a TOML file: what it may hold, and what exactly is wrong with one that is none."""

import difflib
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar

from examples.published_tables.tables import (
    EMPTY,
    Column,
    Kind,
    Paper,
    Place,
    Printed,
    PublishedTable,
    Row,
    Rule,
    RuleKind,
    Summary,
    printed,
)
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from toolablate.traces.errors import InputError

PUBLISHED = {path.stem: path for path in sorted(Path(__file__).parent.glob("*.toml"))}
"""The files that come along, by name."""

Text = Annotated[str, Field(min_length=1)]
Count = Annotated[int, Field(ge=1, le=1_000_000_000)]
Texts = Annotated[list[Text], Field(min_length=1)]

TEXT = "a text in quotes"
NAMES = 'a list of names of columns: ["Max"]'
RULES = 'a list of texts such as ["Total = En + Zh"]'
ALLOWED = {
    "source": f"{TEXT}: the paper that the tables are from",
    "table": "a list of tables, each begun by [[table]]",
    "name": f"{TEXT}, by which other tables speak of it",
    "caption": TEXT,
    "columns": f'{NAMES}, "Δ", "rank" and "share" being of the column before them',
    "rows": "a text, in ''' ''', with one row per line: a name, then its cells",
    "baseline": f'{TEXT}: a column, "No tools", or one of another table, "1: Score"',
    "average": f"{TEXT}: the name of the row that averages the others",
    "total": f"{TEXT}: the name of the row that adds the others up",
    "largest": NAMES,
    "smallest": NAMES,
    "weights": 'a table of columns by columns: { "Tokens avg" = "Total" }',
    "sums": RULES,
    "means": RULES,
    "weighted_means": RULES,
    "copies": 'a list of texts such as ["LPFQA = 2: Overall"]',
    "questions": "a whole number of 1 or more, or one for each column: { Law = 43 }",
    "repeats": "a whole number of 1 or more",
}


class _Form(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class TableForm(_Form):
    name: Text
    columns: Texts
    rows: str
    caption: str = ""
    baseline: Text | None = None
    average: Text | None = None
    total: Text | None = None
    largest: list[Text] = []
    smallest: list[Text] = []
    weights: dict[str, Text] = {}
    sums: list[Text] = []
    means: list[Text] = []
    weighted_means: list[Text] = []
    copies: list[Text] = []
    questions: Count | dict[str, Count] | None = None
    repeats: Count = 1


class PaperForm(_Form):
    source: Text
    table: Annotated[list[dict[str, Any]], Field(min_length=1)]


# Where in a file of published tables something stands: a TOML parser does not tell.


SHOWN_CHARS = 80
_TABLE = re.compile(r"\s*\[\[\s*table\s*\]\]")


@dataclass(frozen=True, slots=True)
class PlaceInFile:
    """One table of a file, or its top where `number` is None."""

    path: Path
    lines: tuple[str, ...]
    number: int | None = None

    def error(self, message: str, *, key: str = "", row: int | None = None, hint: str = "") -> InputError:
        """`row` is the line of a text of rows, counted from 0."""
        where = self.line(key) + (0 if row is None else row)
        return InputError(f"{self.path}:{where}: {message}", hint=hint, code="bad_table")

    def line(self, key: str = "") -> int:
        """From 1; that of the table's heading where the key is not found."""
        start, end = self._section()
        wanted = re.compile(
            rf"""\s*\[*\s*["']?{re.escape(key)}["']?\s*[=.\]]|\s*\[\s*table\.["']?{re.escape(key)}["']?\s*\]"""
        )
        found = (at for at in range(start, end) if key and wanted.match(self.lines[at]))
        return next(found, start) + 1

    def _section(self) -> tuple[int, int]:
        headings = [at for at, line in enumerate(self.lines) if _TABLE.match(line)]
        if self.number is None:
            return 0, headings[0] if headings else len(self.lines)
        if self.number >= len(headings):
            return 0, len(self.lines)
        after = headings[self.number + 1 :]
        return headings[self.number], after[0] if after else len(self.lines)


def quoted(value: object) -> str:
    """A value in quotes, with what cannot be printed as escapes, cut short."""
    text = repr(value)
    return text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]}..."


# Reads rows as they are copied or typed from a paper: a name, then one cell for each column.


KEY = "rows"
_WRITTEN = {r"\downarrow": "↓", r"\uparrow": "↑", r"\%": "%", r"\pm": "±", r"\&": "&", "$": ""}
_BOLD = re.compile(r"\\(?:textbf|mathbf|underline)\{([^{}]*)\}|\*\*([^*]*)\*\*")
_LOOSE = re.compile(r" (?=[%±]|[↑↓▲▼](?: |$))|(?<=±) ")
_AFTER_ARROW = re.compile(r"(?<=[↑↓▲▼]) ")
_ARROWS = frozenset("↑↓▲▼")
_FOOTNOTES = "*†‡"
_LINES = frozenset([r"\hline", r"\toprule", r"\midrule", r"\bottomrule"])
_LATEX_END = "\\\\"


def read_rows(text: str, columns: Sequence[Column], place: PlaceInFile) -> tuple[Row, ...]:
    """One row per line; blank lines are passed over, and a heading as Markdown has it. Raises InputError."""
    rows = tuple(_rows(text, columns, place))
    if not rows:
        raise place.error("'rows' holds no row", key=KEY, hint="One row per line: a name, then its cells.")
    return rows


def _rows(text: str, columns: Sequence[Column], place: PlaceInFile) -> Iterator[Row]:
    # TOML leaves out a line break behind the opening quotes, so the first row may stand one line below the key.
    below = place.lines[place.line(KEY) - 1].rstrip(" \t\\")[-3:] in ('"""', "'''")
    seen: set[str] = set()
    lines = text.splitlines()
    for number, line in enumerate(lines, start=1 if below else 0):
        if not line.strip() or line.strip() in _LINES:
            continue
        at = number - below
        if _underlines(line) or (at + 1 < len(lines) and _underlines(lines[at + 1])):
            continue
        row = _row(line, columns, place, number)
        same = row.name.casefold()
        if same in seen:
            raise place.error(f"a row named {quoted(row.name)} stands above already", key=KEY, row=number)
        seen.add(same)
        yield row


def _underlines(line: str) -> bool:
    """Whether it is what Markdown draws below a heading."""
    return "|" in line and "---" in line and set(line) <= set("|:- \t")


def _row(line: str, columns: Sequence[Column], place: PlaceInFile, number: int) -> Row:
    apart = _apart(line, len(columns))
    parts = apart or _plain(line).split()
    name, cells = parts[: -len(columns)], parts[-len(columns) :]
    joined = " ".join(name)
    if not joined or (apart and len(name) > 1):
        raise place.error(
            f"the row {quoted(line.strip())} has {len(parts)} parts; expected are a name and {len(columns)} cells",
            key=KEY,
            row=number,
            hint=f"The columns are {', '.join(column.name for column in columns)}. An empty cell is a dash: -",
        )
    if not apart and _is_cell(name[-1]):
        raise place.error(
            f"the row {quoted(line.strip())} has {quoted(name[-1])} before its {len(columns)} cells: one cell too many,"
            " or the end of the name",
            key=KEY,
            row=number,
            hint=f"A name that ends in a figure is set apart: {quoted(' | '.join([joined, *cells]))[1:-1]}",
        )
    read = tuple(_cell(cell, joined, column, place, number) for cell, column in zip(cells, columns, strict=True))
    return Row(joined, read)


def _apart(line: str, columns: int) -> list[str]:
    """The name and the cells, where more than blanks stands between them; else nothing."""
    written = line.strip(" ")
    if "|" in written:
        parts = written.strip().removeprefix("|").removesuffix("|").split("|")
    elif written.endswith(_LATEX_END):
        parts = re.split(r"(?<!\\)&", written.removesuffix(_LATEX_END))
    elif written.count("\t") == columns:
        parts = written.split("\t")
    else:
        return []
    return [_AFTER_ARROW.sub("", _plain(part)) for part in parts]


def _plain(text: str) -> str:
    """With one blank for each run of them, and signs in place of what LaTeX and Markdown write."""
    for written, sign in _WRITTEN.items():
        text = text.replace(written, sign)
    return _LOOSE.sub("", " ".join(_BOLD.sub(r"\1\2", text).split()))


def _is_cell(text: str) -> bool:
    if text in EMPTY:
        return True
    try:
        printed(text)
    except ValueError:
        return False
    return True


def _cell(text: str, row: str, column: Column, place: PlaceInFile, number: int) -> Printed | None:
    text = text.rstrip(_FOOTNOTES)
    if not text or text in EMPTY:
        return None
    where = f"row {quoted(row)}, column {quoted(column.name)}: {quoted(text)}"
    try:
        read = printed(text)
    except ValueError as error:
        raise place.error(
            f"{where} {error}",
            key=KEY,
            row=number,
            hint="Allowed are figures such as 35.89, 10,606, 2.89%↓, -4.5, (+0.3) and 35.9±0.4, and - for an empty"
            " cell. Blanks, tabs or | stand between cells.",
        ) from error
    if column.kind != "delta" and not _ARROWS.isdisjoint(text):
        raise place.error(
            f"{where} has an arrow, and {quoted(column.name)} is no change",
            key=KEY,
            row=number,
            hint="Name a column of changes Δ; leave out arrows behind scores; and put | between cells whose arrows"
            " stand before their figures.",
        )
    return read


# Puts tables together: columns that belong to others, and what rules speak of.


# By their names in lower case, to which a capital delta has a small one.
DEPENDENT: Mapping[str, Kind] = {"δ": "delta", "delta": "delta", "rank": "rank", "share": "share"}
RULE_KEYS: Mapping[str, RuleKind] = {"sums": "sum", "means": "mean", "weighted_means": "mean", "copies": "copy"}
EXAMPLES: Mapping[RuleKind, str] = {
    "sum": '"Total = En + Zh" or "100 = Right + Wrong"',
    "mean": '"Overall = Law + Maths"',
    "copy": '"LPFQA = 2: Overall"',
}


def assembled(source: str, forms: Sequence[TableForm], places: Sequence[PlaceInFile]) -> Paper:
    """Raises InputError."""
    known: dict[str, tuple[Column, ...]] = {}
    for form, place in zip(forms, places, strict=True):
        if form.name in known:
            raise place.error(f"a table named {quoted(form.name)} stands above already", key="name")
        known[form.name] = _columns(form, place)
    questions = {
        form.name: _questions(form, known[form.name], place) for form, place in zip(forms, places, strict=True)
    }
    return Paper(
        source,
        tuple(_Assembly(form, place, known, questions).table() for form, place in zip(forms, places, strict=True)),
    )


def _columns(form: TableForm, place: PlaceInFile) -> tuple[Column, ...]:
    columns: list[Column] = []
    for name in form.columns:
        kind = DEPENDENT.get(name.casefold())
        if kind is None:
            columns.append(Column(name))
            continue
        score = next((column for column in reversed(columns) if column.kind == "score"), None)
        if score is None:
            raise place.error(
                f"{quoted(name)} stands first in 'columns', and must stand behind a column", key="columns"
            )
        columns.append(Column(f"{score.name} {name}", kind, score.name))
    name, count = Counter(column.name for column in columns).most_common(1)[0]
    if count > 1:
        raise place.error(
            f"two columns are named {quoted(name)}",
            key="columns",
            hint='Put what stands over them before their names: "Tokens Max", "Options Max".',
        )
    return tuple(columns)


def _questions(form: TableForm, columns: Sequence[Column], place: PlaceInFile) -> dict[str, int]:
    scores = [column.name for column in columns if column.kind == "score"]
    if isinstance(form.questions, int):
        return dict.fromkeys(scores, form.questions)
    found = form.questions or {}
    for name in found:
        _among(name, scores, "questions", place)
    return found


def _among(name: str, allowed: Sequence[str], key: str, place: PlaceInFile) -> str:
    if name not in allowed:
        raise place.error(
            f"'{key}' names the column {quoted(name)}, which is none",
            key=key,
            hint=f"Allowed are {', '.join(allowed)}.",
        )
    return name


@dataclass(frozen=True, slots=True)
class _Assembly:
    form: TableForm
    place: PlaceInFile
    known: Mapping[str, tuple[Column, ...]]
    questions: Mapping[str, Mapping[str, int]]

    def table(self) -> PublishedTable:
        form, columns = self.form, self.known[self.form.name]
        rows = read_rows(form.rows, columns, self.place)
        baseline = None if form.baseline is None else self._place(form.baseline, "baseline")
        if baseline is None and any(column.kind == "delta" for column in columns):
            raise self.place.error("'columns' has changes (Δ), and the key 'baseline' is missing", key="columns")
        return PublishedTable(
            name=form.name,
            caption=form.caption,
            columns=columns,
            rows=rows,
            summary=self._summary(rows),
            baseline=baseline,
            rules=tuple(self._rules()),
            questions=self.questions[form.name],
            repeats=form.repeats,
        )

    def _summary(self, rows: Sequence[Row]) -> Summary | None:
        form = self.form
        if form.average and form.total:
            raise self.place.error("both 'average' and 'total' are given; allowed is one of them", key="total")
        key, name = ("average", form.average) if form.average else ("total", form.total)
        if name is None:
            for key in ("largest", "smallest", "weights"):
                if getattr(form, key):
                    raise self.place.error(
                        f"'{key}' is of the row that sums up; name it by 'total' or 'average'", key=key
                    )
            return None
        if name not in [row.name for row in rows]:
            raise self.place.error(
                f"'{key}' names the row {quoted(name)}, which is none",
                key=key,
                hint=f"Allowed are {', '.join(row.name for row in rows)}.",
            )
        largest, smallest = (
            self._own(names, key) for names, key in ((form.largest, "largest"), (form.smallest, "smallest"))
        )
        weights = dict(
            zip(self._own(form.weights, "weights"), self._own(form.weights.values(), "weights"), strict=True)
        )
        return Summary(name, bool(form.average), frozenset(largest), frozenset(smallest), weights)

    def _own(self, names: Iterable[str], key: str) -> list[str]:
        scores = [column.name for column in self.known[self.form.name] if column.kind == "score"]
        return [_among(name, scores, key, self.place) for name in names]

    def _rules(self) -> Iterator[Rule]:
        for key, kind in RULE_KEYS.items():
            for text in getattr(self.form, key):
                yield self._rule(text, key, kind)

    def _rule(self, text: str, key: str, kind: RuleKind) -> Rule:
        left, sign, right = text.partition(" = ")
        of = tuple(self._place(name.strip(), key) for name in right.split(" + ") if name.strip())
        if not sign or not of or (kind == "copy" and len(of) > 1):
            raise self.place.error(
                f"'{key}': {quoted(text)} is no rule", key=key, hint=f"A rule is such as {EXAMPLES[kind]}."
            )
        if kind == "sum" and left.strip().isdecimal():
            result = Place(self.form.name, f"sum of {', '.join(place.column for place in of)}")
            return Rule("sum", result, of, total=int(left))
        result = self._place(left.strip(), key)
        return Rule(kind, result, of, self._weights(of, key) if key == "weighted_means" else ())

    def _weights(self, of: Sequence[Place], key: str) -> tuple[int, ...]:
        for place in of:
            if place.column not in self.questions[place.table]:
                raise self.place.error(f"'{key}' weighs by questions, and {quoted(place.column)} has none", key=key)
        return tuple(self.questions[place.table][place.column] for place in of)

    def _place(self, name: str, key: str) -> Place:
        """Of this table's column, or another's: "1: Score"."""
        table, sign, column = name.partition(": ")
        if not sign or table not in self.known:
            table, column = self.form.name, name
        allowed = [each.name for each in self.known[table] if each.kind == "score"]
        if column not in allowed:
            tables = ", ".join(self.known)
            raise self.place.error(
                f"'{key}' names the column {quoted(name)}, which is none",
                key=key,
                hint=f'Table {table} has {", ".join(allowed)}. Another\'s is "table: column", tables: {tables}.',
            )
        return Place(table, column)


# Reads published tables from a TOML file, and says exactly what is wrong with one that is none.


Form = TypeVar("Form", bound=BaseModel)
_LINE = re.compile(r"\s*\(at line (\d+), column (\d+)\)")


def load_published(path: str | Path) -> Paper:
    """Raises InputError that names the file, the line, the key, what was found and what is allowed."""
    path = Path(path)
    text = _text(path)
    place = PlaceInFile(path, tuple(text.splitlines()))
    try:
        content = tomllib.loads(text)
    except RecursionError as error:
        raise place.error("is nested too deeply") from error
    except ValueError as error:
        raise _broken(path, str(error)) from error
    paper = _form(PaperForm, content, place)
    places = [PlaceInFile(path, place.lines, number) for number in range(len(paper.table))]
    forms = [_form(TableForm, each, at) for each, at in zip(paper.table, places, strict=True)]
    return assembled(paper.source, forms, places)


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig").replace("\r\n", "\n")
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}", code="unreadable") from error
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise InputError(
            f"{path}:{line}: not UTF-8: byte 0x{error.object[error.start]:02x}",
            hint="Save the file as UTF-8.",
            code="bad_encoding",
        ) from error


def _broken(path: Path, message: str) -> InputError:
    found = _LINE.search(message)
    told = _LINE.sub("", message)
    where = f"{path}:{found[1]}: broken TOML at column {found[2]}" if found else f"{path}: broken TOML"
    hint = "`python -m examples.published_tables --help` shows such a file; the rows of any table are pasted into one."
    if "escape" in message:
        hint = r"Rows with a backslash, such as \downarrow, stand in ''' '''."
    return InputError(f"{where}: {told}", hint=hint, code="bad_toml")


def _form(form: type[Form], content: Mapping[str, Any], place: PlaceInFile) -> Form:
    try:
        return form.model_validate(content)
    except ValidationError as error:
        found = error.errors(include_url=False)
        # A key that is misspelt is unknown, and makes another missing.
        first = next((one for one in found if one["type"] == "extra_forbidden"), found[0])
    key = str(first["loc"][0])
    if first["type"] == "extra_forbidden":
        raise place.error(f"unknown key {quoted(key)}", key=key, hint=_similar(key, form))
    if first["type"] == "missing":
        raise place.error(f"the key '{key}' is missing", hint=f"It is {ALLOWED[key]}.")
    raise place.error(f"'{key}' must be {ALLOWED[key]}; found {quoted(content[key])}", key=key)


def _similar(key: str, form: type[BaseModel]) -> str:
    close = difflib.get_close_matches(key, form.model_fields, n=1)
    return (f"Did you mean '{close[0]}'? " if close else "") + f"Allowed are {', '.join(form.model_fields)}."
