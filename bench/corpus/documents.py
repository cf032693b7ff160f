"""Documents to measure with: made up, with word frequencies as in natural language."""

import json
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

WORDS = 300
VOCABULARY = 200_000
LETTERS = "etaoinshrdlucmfwypvbgk"
FIELDS = ("context", "reference", "response_a", "response_b")
_CHINESE = re.compile("[\u4e00-\u9fff]{6,}")


@dataclass(frozen=True, slots=True)
class Known:
    """A query, and the id of the document that it was taken from."""

    query: str
    id: str


def write_documents(path: Path, count: int) -> None:
    """`count` documents of WORDS words whose frequencies follow Zipf's law; ids are not in order."""
    # Not above: whoever reads documents would be measured with it.
    import numpy as np

    numbers = np.random.default_rng(0)
    words = np.array(_vocabulary(), dtype=object)
    shares = np.cumsum(1 / np.arange(1, VOCABULARY + 1))
    ids = random.Random(0).sample(range(count), count)
    with path.open("w", encoding="utf-8") as file:
        for identity in ids:
            drawn = words[np.searchsorted(shares / shares[-1], numbers.random(WORDS + 5))]
            document = {"id": f"{identity:07d}", "title": " ".join(drawn[:5]), "text": " ".join(drawn[5:])}
            file.write(json.dumps(document) + "\n")


def _vocabulary() -> list[str]:
    draw = random.Random(0)
    words: dict[str, None] = {}
    while len(words) < VOCABULARY:
        length = max(2, round(draw.gauss(3 + 5 * min(1.0, len(words) / 3_000), 2)))
        words["".join(draw.choices(LETTERS, k=length))] = None
    return list(words)


def rows(path: Path) -> Iterator[dict[str, str]]:
    with path.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def spans(path: Path, count: int) -> list[Known]:
    """Stretches of two to ten words, of documents drawn from all of the file."""
    draw = random.Random(1)
    with path.open("rb") as file:
        total = sum(1 for _ in file)
    chosen = frozenset(draw.sample(range(total), min(count, total)))
    known = []
    for number, row in enumerate(rows(path)):
        if number in chosen:
            words = row["text"].split()
            start = draw.randrange(len(words) - 10)
            known.append(Known(" ".join(words[start : start + draw.randint(2, 10)]), row["id"]))
    return known


def write_chinese(data: Path, path: Path) -> Sequence[Known]:
    """The distinct texts of LFQA-E in Chinese; of each a stretch of 6 to 12 characters to find it by."""
    draw = random.Random(1)
    found = json.loads(data.read_text(encoding="utf-8"))
    texts = sorted({row[field] for row in found for field in FIELDS if _CHINESE.search(row[field] or "")})
    known = []
    with path.open("w", encoding="utf-8") as file:
        for number, text in enumerate(texts):
            file.write(json.dumps({"id": f"{number:07d}", "text": text}, ensure_ascii=False) + "\n")
            run = draw.choice(_CHINESE.findall(text))
            length = min(len(run), draw.randint(6, 12))
            start = draw.randrange(len(run) - length + 1)
            known.append(Known(run[start : start + length], f"{number:07d}"))
    return known
