"""The rule that draws the hand-read sample from `mmlu_pro_outputs.jsonl`; it asks no extractor of ours.

A reply is hard where the authors' extractor gave no letter, or where the text does not announce exactly one letter,
the authors' own, as its very last words. Outside of these, all extractors agree. The hard replies, those with a letter
of the authors and those without apart, are put in the order of the SHA-256 of model and question. Of each the first
hundred are for development, the next hundred for measuring; the 41 with a letter that are left, and the next 59
without, are for measuring again what was mended after the first measure.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

EACH = 100

_ANNOUNCED = re.compile(r"(?i:answer is)\W{0,6}([A-J])\b")
_AT_THE_END = re.compile(r"(?i:answer is) \(?[A-J]\)?\.?\s*$")


class Reply(NamedTuple):
    """One model's reply to one question. `theirs` is the letter of the authors' extractor, None where it failed."""

    model: str
    question: int
    text: str
    choices: tuple[str, ...]
    theirs: str | None

    @property
    def allowed(self) -> str:
        return "ABCDEFGHIJ"[: len(self.choices)]


def replies(rows: Iterable[Mapping[str, Any]]) -> list[Reply]:
    return [
        Reply(model, row["question_id"], output["text"], tuple(row["options"]), output["pred"])
        for row in rows
        for model, output in row["outputs"].items()
    ]


def is_hard(reply: Reply) -> bool:
    return _ANNOUNCED.findall(reply.text) != [reply.theirs] or _AT_THE_END.search(reply.text) is None


def draw(all_replies: Iterable[Reply]) -> dict[str, list[Reply]]:
    """Two samples of 200 and one of 100, by name."""
    hard = sorted(filter(is_hard, all_replies), key=lambda reply: _order(reply.model, reply.question))
    failed, read = ([reply for reply in hard if (reply.theirs is None) is none] for none in (True, False))
    return {
        "development": failed[:EACH] + read[:EACH],
        "measure": failed[EACH : 2 * EACH] + read[EACH : 2 * EACH],
        "second measure": failed[2 * EACH : 3 * EACH - len(read[2 * EACH :])] + read[2 * EACH :],
    }


def _order(model: str, question: int) -> str:
    return hashlib.sha256(f"{model} {question}".encode()).hexdigest()
