"""Texts as models and tools write them: recorded ones where they can be read, made-up ones elsewhere."""

import json
import random
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")

_DIGIT = re.compile(r"[0-9]")
_BLOCK = re.compile(r"```python\n(.*?)\n```", re.DOTALL)
_SENTENCE = re.compile(r"(?<=[.!?\n])\s+")

WORDS = (
    *(
        "the",
        "rate",
        "of",
        "change",
        "energy",
        "per",
        "mole",
        "entropy",
        "falls",
        "when",
        "pressure",
        "rises",
        "so",
        "we",
    ),
    *("divide", "by", "volume", "and", "find", "that", "this", "option", "cannot", "hold", "because", "margin", "cost"),
    *(
        "demand",
        "supply",
        "income",
        "table",
        "shows",
        "total",
        "net",
        "sales",
        "for",
        "each",
        "year",
        "first",
        "whether",
    ),
)


@dataclass(frozen=True, slots=True)
class Sources:
    """Sentences of replies, programs, and long outputs of tools (passages with tables)."""

    replies: Sequence[Sequence[str]]
    programs: Sequence[str]
    passages: Sequence[str]
    unrelated: bool = False

    def about(self, question: str) -> "Sources":
        """What a model works with when it answers one question: it thinks of the same things in all turns and
        repeats, and mends its programs more often than it writes new ones. All there is, where texts are unrelated."""
        if self.unrelated:
            return self
        rng = random.Random(question)
        return Sources(_near(self.replies, 12, rng), _near(self.programs, 4, rng), _near(self.passages, 2, rng))

    def thought(self, rng: random.Random) -> str:
        """Two to six sentences that follow each other in a reply, figures redrawn."""
        reply = rng.choice(self.replies)
        first = rng.randrange(len(reply))
        return redrawn(" ".join(reply[first : first + rng.randint(2, 6)]), rng)

    def program(self, rng: random.Random) -> str:
        return redrawn(rng.choice(self.programs), rng)

    def output(self, rng: random.Random) -> str:
        """A few figures, in one call of four a passage with its table."""
        if rng.random() < 0.25:
            return redrawn(rng.choice(self.passages), rng)
        return "\n".join(f"{rng.gauss(0, 1000):.6g}" for _ in range(rng.randint(1, 6)))


def _near(texts: Sequence[T], count: int, rng: random.Random) -> Sequence[T]:
    """Neighbours in a file are about like things: the replies of several models to one question, or to the next."""
    first = rng.randrange(max(1, len(texts) - count))
    return texts[first : first + count]


def redrawn(text: str, rng: random.Random) -> str:
    """The text with other digits, so that no two replies are one."""
    return _DIGIT.sub(lambda _: str(rng.randrange(10)), text)


def open_sources(folder: Path | None, *, unrelated: bool = False) -> Sources:
    """From a folder with recorded outputs of models (TAT-QA, GSM8K, MMLU-Pro); made up where there is none."""
    if folder is None:
        return _made_up(random.Random(0), unrelated)
    replies = [output["text"] for row in _rows(folder / "mmlu_pro_outputs.jsonl") for output in row["outputs"].values()]
    programs = [
        found
        for row in _rows(folder / "tora_70b_gsm8k.jsonl")
        for text in row["code"]
        for found in _BLOCK.findall(text)
    ]
    passages = [f"{row['text']}\n\n{row['table']}" for row in _rows(folder / "tatqa_codex_conditions.jsonl")]
    return Sources(_sentences(replies), programs, passages, unrelated)


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _sentences(texts: Iterable[str]) -> list[list[str]]:
    found = [[part for part in _SENTENCE.split(text) if part.strip()] for text in texts]
    return [sentences for sentences in found if sentences]


def _made_up(rng: random.Random, unrelated: bool) -> Sources:
    def sentence() -> str:
        return f"{' '.join(rng.choices(WORDS, k=rng.randint(6, 20)))} {rng.randrange(10_000)}.".capitalize()

    def several(write: Callable[[], str], count: int) -> list[str]:
        return [write() for _ in range(count)]

    def program() -> str:
        return "\n".join(f"{name} = {rng.randrange(1000)} * {rng.random():.4f}" for name in rng.sample(WORDS, 8))

    replies = [several(sentence, rng.randint(3, 12)) for _ in range(500)]
    passages = ["\n".join(several(sentence, rng.randint(6, 20))) for _ in range(200)]
    return Sources(replies, several(program, 200), passages, unrelated)
