"""Scored replies, sorted into what the analyses rest on."""

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from toolablate.analysis.pairing import RIGHT, Unit, counts, unit
from toolablate.benchmarks.encyclo_k.composing import SOURCE
from toolablate.benchmarks.encyclo_k.sharing import clusters
from toolablate.benchmarks.encyclo_k.single import statement_ids
from toolablate.benchmarks.encyclo_k.wording import MOST_STATEMENTS, numeral
from toolablate.traces.records import Question
from toolablate.traces.store import Observation

_NUMERAL = re.compile(r"^\s*([ivx]{1,7})[.):、．]", re.MULTILINE | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Reply:
    """A trial, its question, the letter that was read from its reply ("" for none) and the tokens of its final reply
    (None where unknown)."""

    seen: Observation
    question: Question
    chosen: str = ""
    tokens: int | None = None

    @property
    def value(self) -> float:
        return self.seen.value or 0.0

    @property
    def right(self) -> bool:
        return self.value >= RIGHT

    @property
    def missed(self) -> bool:
        return self.seen.verdict == "unparsed"


@dataclass(frozen=True, slots=True)
class Arm:
    """The scored replies of one model under one condition to composed or published questions, and to statements judged
    one by one."""

    model: str
    condition: str
    composed: tuple[Reply, ...]
    single: tuple[Reply, ...]


@dataclass(frozen=True, slots=True)
class Scored:
    """A question with its mean score over repeats, in [0, 1]."""

    question: Question
    score: float
    unit: Unit


def is_ours(question: Question) -> bool:
    return question.source == SOURCE and question.target.kind == "choice"


def arms(replies: Iterable[Reply], order: Sequence[str] = ()) -> list[Arm]:
    """By model name, then by condition: those named in `order` first, the others by name. What has no score is left
    out."""
    found: dict[tuple[str, str], list[Reply]] = defaultdict(list)
    for reply in replies:
        if is_ours(reply.question) and counts(reply.seen):
            found[reply.seen.model, reply.seen.condition].append(reply)
    places = {name: place for place, name in reversed(list(enumerate(order)))}
    keys = sorted(found, key=lambda key: (key[0], places.get(key[1], len(places)), key[1]))
    return [
        Arm(
            *key,
            composed=tuple(reply for reply in found[key] if "statement" not in reply.question.metadata),
            single=tuple(reply for reply in found[key] if "statement" in reply.question.metadata),
        )
        for key in keys
    ]


def joined(arm: Arm) -> Arm:
    """With questions of one cluster where they share statements, in question sets of other seeds and forms too: when a
    set was composed nothing was known of the others."""
    asked = {reply.seen.question: reply for reply in arm.composed}
    shared = [
        [unit(reply.seen), *(("statement", each) for each in statement_ids(reply.question))] for reply in asked.values()
    ]
    cluster = dict(zip(asked, clusters(shared, list(asked)), strict=True))
    composed = tuple(
        replace(reply, seen=replace(reply.seen, cluster=cluster[reply.seen.question])) for reply in arm.composed
    )
    return replace(arm, composed=composed)


def scored(replies: Iterable[Reply]) -> list[Scored]:
    """One of each question, in the order of its first reply."""
    of_question: dict[str, list[Reply]] = defaultdict(list)
    for reply in replies:
        of_question[reply.seen.question].append(reply)
    return [
        Scored(
            found[0].question,
            math.fsum(reply.value for reply in found) / len(found),
            unit(found[0].seen),
        )
        for found in of_question.values()
    ]


def first_repeats(replies: Iterable[Reply]) -> list[Reply]:
    """One reply to each question, so that they are independent as far as questions are."""
    first: dict[str, Reply] = {}
    for reply in replies:
        kept = first.setdefault(reply.seen.question, reply)
        if reply.seen.repeat < kept.seen.repeat:
            first[reply.seen.question] = reply
    return list(first.values())


def statement_count(question: Question) -> int | None:
    """How many statements a question has: what was kept when it was composed, else the lines of its prompt that begin
    with i, ii, iii ... in turn. None where it has no such lines."""
    if identities := statement_ids(question):
        return len(identities)
    found = [each.lower() for each in _NUMERAL.findall(question.prompt)]
    count = 0
    for each in found:
        if count < MOST_STATEMENTS and each == numeral(count + 1):
            count += 1
    return count or None
