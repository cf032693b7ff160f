"""Statements, how they are read, and the words that questions put them in."""

import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, TypeVar

from pydantic import Field

from toolablate.benchmarks.rows.row_errors import Identities, LineError, at, shown
from toolablate.benchmarks.rows.sources import typed_rows
from toolablate.traces.records import Record

_TEXT = "a text in quotes"
_NAME = "a text in quotes that is not empty"
ALLOWED: Mapping[str, str] = {
    "id": _NAME,
    "text": _NAME,
    "correct": "true or false",
    "discipline": _NAME,
    "field": _TEXT,
    "subfield": _TEXT,
    "language": 'the name of a language: "en", "zh"',
    "of": "the id of the correct statement that an incorrect one was made from",
    **dict.fromkeys(("reason", "strategy", "book", "page", "licence", "canary"), _TEXT),
}


class Statement(Record):
    """A sentence or more of a textbook, as it stands or made incorrect.

    A discipline has fields, and these subfields. `of` is the id of the correct statement that an incorrect one was made
    from: both are one `point` of knowledge, and never stand in one question. `reason` and `strategy` say how it was
    made incorrect, `book` and `page` where the correct one stands, `licence` is the book's, `canary` is what filters of
    training data look for; questions have none of them.
    """

    id: str = Field(min_length=1)
    text: str = Field(min_length=1)
    correct: bool
    discipline: str = Field(min_length=1)
    field: str = ""
    subfield: str = ""
    language: str = Field(default="en", min_length=1)
    of: str = ""
    reason: str = ""
    strategy: str = ""
    book: str = ""
    page: str = ""
    licence: str = ""
    canary: str = ""

    @property
    def point(self) -> str:
        return self.of or self.id


def load_statements(path: str | Path) -> tuple[Statement, ...]:
    """Reads one statement in each row: `id`, `text`, `correct`, `discipline`, and optionally `field`, `subfield`,
    `language` ("en") and `of`. `path` is a JSONL, or another source that `rows_of` reads.

    Raises InputError that names the file, the row, the key, what was found and what is allowed; also for an id that is
    taken, and for an `of` that names no correct statement of this file.
    """
    identities = Identities("statement")
    statements: dict[str, Statement] = {}
    for place, statement in typed_rows(path, Statement, ALLOWED):
        try:
            identities.take(statement.id, place)
        except LineError as error:
            raise at(place, error) from error
        statements[statement.id] = statement
    for statement in statements.values():
        try:
            _check_origin(statement, statements)
        except LineError as error:
            raise at(identities.places[statement.id], error) from error
    return tuple(statements.values())


def _check_origin(statement: Statement, statements: Mapping[str, Statement]) -> None:
    if not statement.of:
        return
    origin = statements.get(statement.of)
    if statement.correct:
        raise LineError("'of' is given for a correct statement", f"It is {ALLOWED['of']}.")
    if origin is None or not origin.correct:
        found = "no statement" if origin is None else "an incorrect statement"
        raise LineError(f"'of' names {found} of this file: {shown(statement.of)}", f"It is {ALLOWED['of']}.")
    for key in ("discipline", "field", "subfield", "language"):
        here, there = getattr(statement, key), getattr(origin, key)
        if here != there:
            raise LineError(
                f"'{key}' is {shown(here)}, and {shown(there)} in the statement that 'of' names, {shown(origin.id)}",
                "Both are of one subfield and language.",
            )


# Draws that are the same in every version of Python: of a generator, only `random()` is promised to stay as it is.


Item = TypeVar("Item")


class Draws:
    """Seeded by a text; the same text draws the same."""

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed).random  # noqa: S311 - chance, not a secret

    def below(self, count: int) -> int:
        """From 0 to count - 1."""
        return int(self._random() * count)

    def between(self, bounds: tuple[int, int]) -> int:
        """Both ends included."""
        low, high = bounds
        return low + self.below(high - low + 1)

    def one(self, items: Sequence[Item]) -> Item:
        return items[self.below(len(items))]

    def several(self, items: Sequence[Item], count: int) -> list[Item]:
        """Different ones, in random order."""
        left = list(items)
        for place in range(count):
            other = place + self.below(len(left) - place)
            left[place], left[other] = left[other], left[place]
        return left[:count]

    def shuffled(self, items: Sequence[Item]) -> list[Item]:
        return self.several(items, len(items))


# The words of composed questions. Every one asks for exactly the statements of a kind: all of them, and no others.


Asked = Literal["correct", "incorrect"]
Language = Literal["en", "zh"]

ASKS: Mapping[Language, Sequence[str]] = {
    "en": (
        "Read the numbered statements. Which option lists all of those that {are}, and none of the others?",
        "Judge every statement by itself, then choose the option that names just the ones that {are}.",
        "Some of the statements here {are}. Which option has all of them and nothing else?",
        "Make a list of the statements that {are}. Which option matches it?",
        "One option brings together every one of the statements that {are}, and leaves out the rest. Which is it?",
        "Of the statements that follow, which {are}?",
        "Sort the statements into two groups. Which option is the group of those that {are}?",
    ),
    "zh": (
        "阅读下列编号的陈述。哪个选项恰好列出了其中所有{are}的陈述？",
        "请逐条判断下列陈述，再选出恰好由全部{are}的陈述组成的选项。",
        "下列陈述中有一部分{are}。哪个选项列全了这些陈述，又不含其他陈述？",
        "把{are}的陈述列成一份清单，哪个选项与这份清单一致？",
        "以下各条陈述里，{are}的是哪几条？",
    ),
}
KINDS: Mapping[Language, Mapping[Asked, Sequence[str]]] = {
    "en": {
        "correct": (
            "hold true",
            "are free of mistakes",
            "agree with the facts",
            "state the matter as it is",
            "say nothing wrong",
            "can be relied upon as written",
        ),
        "incorrect": (
            "do not hold true",
            "contain a mistake",
            "go against the facts",
            "misstate the matter",
            "say something wrong",
            "cannot be relied upon as written",
        ),
    },
    "zh": {
        "correct": ("内容属实", "没有错误", "符合事实", "能够成立", "表述无误"),
        "incorrect": ("内容不实", "含有错误", "与事实不符", "不能成立", "表述有误"),
    },
}
JUDGED: Mapping[Language, tuple[str, str, str]] = {
    "en": ("Does this statement hold true?", "It holds true.", "It does not hold true."),
    "zh": ("这条陈述是否成立？", "成立。", "不成立。"),
}
"""What is asked of a single statement, and the answers for a correct and for an incorrect one."""

_NUMERALS = ((10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"))
MOST_STATEMENTS = 39


def spoken(language: str) -> Language:
    """The language that a question's words are in: English where there are none in its own."""
    return "zh" if language.lower().startswith("zh") else "en"


def ask(draws: Draws, language: str, asked: Asked) -> str:
    words = spoken(language)
    sentence, are = draws.one(ASKS[words]), draws.one(KINDS[words][asked])
    return sentence.format(are=are)


def numeral(number: int) -> str:
    """In lower case, from 1 to 39: i, ii, iii, iv."""
    written = ""
    for value, sign in _NUMERALS:
        count, number = divmod(number, value)
        written += sign * count
    return written
