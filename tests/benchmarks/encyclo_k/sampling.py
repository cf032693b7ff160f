"""The rule that draws the hand-read sample from `mmlu_pro_outputs.jsonl`; it asks no extractor of ours.

A reply is hard where the authors' extractor gave no letter, or where the text does not announce exactly one letter,
the authors' own, as its very last words. Outside of these, all extractors agree. The hard replies, those with a letter
of the authors and those without apart, are put in the order of the SHA-256 of model and question. Of each the first
hundred are for development, the next hundred for measuring; the 41 with a letter that are left, and the next 59
without, are for measuring again what was mended after the first measure. That leaves 198 hard replies, all without a
letter of the authors: the next 120 are "blind", the last 78 "second blind". Replies that are not hard fill up neither,
since every extractor reads them right.

The blind samples are read by these rules, written before any of them was seen. The reader sees the options and the
reply, and neither the right answer nor what any extractor gives.

A letter is named

- where the reply says in its own voice that it is the answer, the right or best option, what it chooses, what fits,
  matches, or comes closest: by the letter, or by the text of one option that is given as the result;
- and stays so where the reply breaks off afterwards, explains on, goes on to other questions, adds a remark that the
  match is not exact, or writes beside the letter a number or a text that is not the option's;
- by the last such statement, where the reply takes back an earlier one in words or plainly decides anew for the same
  question;
- for the whole question: a letter for the last of several parts is none, unless its option answers all of them.

None is named

- where the reply breaks off before, even where the letter can be worked out from its numbers;
- where the letter is denied, doubted in its own sentence ("may", "if", "not sure that") or taken back later and no
  other takes its place, so also where the reply ends with saying that no option is right;
- where two or more letters are left standing, joined by "and" or "or", or each for a part or a case;
- where a letter stands only in passing: what another might say, what an option means, a name ("vitamin C"), a list;
- where the letter is beyond the options, or there is but a result that is no option's text word for word or number
  for number (unit and spelling aside).
"""

import hashlib
import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

EACH = 100
BLIND = 120

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
    """Two samples of 200, one of 100, one of 120 and one of 78, by name."""
    hard = sorted(filter(is_hard, all_replies), key=lambda reply: _order(reply.model, reply.question))
    failed, read = ([reply for reply in hard if (reply.theirs is None) is none] for none in (True, False))
    rest = 3 * EACH - len(read[2 * EACH :])
    return {
        "development": failed[:EACH] + read[:EACH],
        "measure": failed[EACH : 2 * EACH] + read[EACH : 2 * EACH],
        "second measure": failed[2 * EACH : rest] + read[2 * EACH :],
        "blind": failed[rest : rest + BLIND],
        "second blind": failed[rest + BLIND :],
    }


def _order(model: str, question: int) -> str:
    return hashlib.sha256(f"{model} {question}".encode()).hexdigest()
