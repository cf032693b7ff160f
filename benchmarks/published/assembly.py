"""Puts tables together: columns that belong to others, and what rules speak of."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from toolablate.analysis.audit import Column, Kind, Paper, Place, PublishedTable, Row, Rule, RuleKind, Summary
from toolablate.benchmarks.published.form import TableForm
from toolablate.benchmarks.published.places import Place as FilePlace
from toolablate.benchmarks.published.places import quoted
from toolablate.benchmarks.published.rows import read_rows

# By their names in lower case, to which a capital delta has a small one.
DEPENDENT: Mapping[str, Kind] = {"δ": "delta", "delta": "delta", "rank": "rank", "share": "share"}
RULE_KEYS: Mapping[str, RuleKind] = {"sums": "sum", "means": "mean", "weighted_means": "mean", "copies": "copy"}
EXAMPLES: Mapping[RuleKind, str] = {
    "sum": '"Total = En + Zh" or "100 = Right + Wrong"',
    "mean": '"Overall = Law + Maths"',
    "copy": '"LPFQA = 2: Overall"',
}


def assembled(source: str, forms: Sequence[TableForm], places: Sequence[FilePlace]) -> Paper:
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


def _columns(form: TableForm, place: FilePlace) -> tuple[Column, ...]:
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


def _questions(form: TableForm, columns: Sequence[Column], place: FilePlace) -> dict[str, int]:
    scores = [column.name for column in columns if column.kind == "score"]
    if isinstance(form.questions, int):
        return dict.fromkeys(scores, form.questions)
    found = form.questions or {}
    for name in found:
        _among(name, scores, "questions", place)
    return found


def _among(name: str, allowed: Sequence[str], key: str, place: FilePlace) -> str:
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
    place: FilePlace
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
