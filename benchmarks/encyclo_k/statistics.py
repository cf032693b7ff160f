"""What statements, and questions composed of them, are like: the data tables of the Encyclo-K paper, of one's own."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from toolablate.benchmarks.encyclo_k.analyses import statement_count
from toolablate.benchmarks.encyclo_k.statements import Item, Statement, load_statements
from toolablate.benchmarks.questions import load_questions
from toolablate.benchmarks.scoring.rouge import UNSPACED
from toolablate.reports.numbers import UNKNOWN
from toolablate.reports.tables import Blocks, Column, figures, names
from toolablate.traces.records import Question
from toolablate.traces.terminal_text import inert, one_line

_TOKEN = re.compile(rf"[{UNSPACED}]|[^\W_{UNSPACED}]+")
_NUMERAL = re.compile(r"(?<!\w)[ivx]+(?!\w)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Spread:
    """Of one figure over all items that have it; None where none has."""

    least: int
    mean: float
    most: int


@dataclass(frozen=True, slots=True)
class StatementRow:
    """The statements of one discipline, None of all. `tokens` are words, and Han and kana characters one by one.
    `derived` incorrect statements name the correct one that they were made from."""

    discipline: str | None
    total: int
    languages: Mapping[str, int]
    correct: int
    incorrect: int
    derived: int
    tokens: Spread | None
    fields: int
    subfields: int


@dataclass(frozen=True, slots=True)
class QuestionRow:
    """The questions of one discipline, None of all. `statements` and `options` are of a question, `combination` those
    of an option; `clusters` count questions that share statements as one."""

    discipline: str | None
    total: int
    languages: Mapping[str, int]
    clusters: int
    tokens: Spread | None
    statements: Spread | None
    options: Spread | None
    combination: Spread | None


def statement_rows(statements: Sequence[Statement]) -> list[StatementRow]:
    """By discipline, the largest first, then of all."""
    return [
        StatementRow(
            discipline,
            total=len(own),
            languages=_languages(each.language for each in own),
            correct=sum(each.correct for each in own),
            incorrect=sum(not each.correct for each in own),
            derived=sum(bool(each.of) for each in own),
            tokens=_spread(_tokens(each.text) for each in own),
            fields=len({(each.discipline, each.field) for each in own if each.field}),
            subfields=len({(each.discipline, each.field, each.subfield) for each in own if each.subfield}),
        )
        for discipline, own in _by(statements, lambda each: each.discipline)
    ]


def question_rows(questions: Sequence[Question]) -> list[QuestionRow]:
    """By discipline, the largest first, then of all."""
    return [
        QuestionRow(
            discipline,
            total=len(own),
            languages=_languages(each.language for each in own),
            clusters=len({("cluster", each.cluster) if each.cluster else ("question", each.id) for each in own}),
            tokens=_spread(_tokens("\n".join((each.prompt, *each.choices))) for each in own),
            statements=_spread(count for each in own if (count := statement_count(each)) is not None),
            options=_spread(len(each.choices) for each in own if each.choices),
            combination=_spread(
                count for each in own for choice in each.choices if (count := len(_NUMERAL.findall(choice)))
            ),
        )
        for discipline, own in _by(questions, lambda each: str(each.metadata.get("discipline", "")) or each.domain)
    ]


def _by(items: Sequence[Item], key: Callable[[Item], str]) -> list[tuple[str | None, list[Item]]]:
    counts = Counter(map(key, items))
    ordered = sorted(counts, key=lambda name: (-counts[name], name))
    groups = [(name, [item for item in items if key(item) == name]) for name in ordered]
    return [*(groups if len(groups) > 1 else []), (None, list(items))]


def _languages(found: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(found).items()))


def _tokens(text: str) -> int:
    return len(_TOKEN.findall(text))


def _spread(found: Iterable[int]) -> Spread | None:
    values = list(found)
    return Spread(min(values), sum(values) / len(values), max(values)) if values else None


Rows = Sequence[StatementRow] | Sequence[QuestionRow]


def read_statistics(path: Path, *, questions: bool = False) -> Rows:
    """Of a file of statements, or of questions. Raises InputError as their readers do."""
    return question_rows(load_questions(path)) if questions else statement_rows(load_statements(path))


def statistics_json(rows: Rows) -> str:
    return json.dumps([asdict(row) for row in rows], ensure_ascii=False, indent=2)


# In a terminal.


def statistics_view(rows: Rows) -> RenderableType:
    of_statements = [row for row in rows if isinstance(row, StatementRow)]
    of_questions = [row for row in rows if isinstance(row, QuestionRow)]
    title = "Statements" if of_statements else "Questions"
    languages = sorted({language for row in rows for language in row.languages})
    columns = [
        figures("total", [f"{row.total:,}" for row in rows]),
        *(figures(one_line(name), [_count(row.languages.get(name, 0)) for row in rows]) for name in languages),
        *_spreads("tokens", [row.tokens for row in rows]),
    ]
    if of_statements:
        for name in ("correct", "incorrect", "derived", "fields", "subfields"):
            columns.append(figures(name, [_count(getattr(row, name)) for row in of_statements]))
    for name in ("statements", "options", "combination") if of_questions else ():
        columns += _spreads(name, [getattr(row, name) for row in of_questions])
    if of_questions:
        columns.append(figures("clusters", [f"{row.clusters:,}" for row in of_questions]))
    disciplines = ["all" if row.discipline is None else one_line(row.discipline) or "(none)" for row in rows]
    first = names("discipline", map(inert, disciplines))
    note = "tokens: words, and Han and kana characters one by one; of a question with its options."
    return Group(
        Text(f" {title}", style="bold"), Blocks(first, tuple(columns)), Padding(Text(note, style="dim"), (0, 1, 1, 1))
    )


def _spreads(name: str, found: Sequence[Spread | None]) -> list[Column]:
    return [
        figures(f"{name}, min", [UNKNOWN if each is None else f"{each.least:,}" for each in found]),
        figures("mean", [UNKNOWN if each is None else f"{each.mean:,.2f}" for each in found]),
        figures("max", [UNKNOWN if each is None else f"{each.most:,}" for each in found]),
    ]


def _count(number: int) -> str:
    return f"{number:,}" if number else UNKNOWN
