"""Replies whose making is known."""

import random
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

from toolablate.benchmarks.encyclo_k.analyses import Reply
from toolablate.benchmarks.lettering import LETTERS
from toolablate.traces.analysis.encyclo_k import ArmAccuracy
from toolablate.traces.records import ChoiceTarget, Question
from toolablate.traces.store import Observation


def question(number: int, right: str = "A", options: int = 4, **metadata: Any) -> Question:
    return Question(
        id=f"q{number}",
        prompt="Which hold?",
        choices=tuple(LETTERS[:options].lower()),
        target=ChoiceTarget(letters=(right,)),
        source="encyclo-k",
        metadata={"discipline": "Science", "field": "Physics", "subfield": "Optics", **metadata},
    )


def reply(of: Question, chosen: str, *, model: str = "m", condition: str = "none", **changes: Any) -> Reply:
    assert of.target.kind == "choice"
    right = (chosen,) == of.target.letters
    verdict: Any = "unparsed" if not chosen else "correct" if right else "wrong"
    tokens = changes.pop("tokens", None)
    seen = Observation(
        of.id, model, condition, value=float(right), verdict=verdict, cluster=of.cluster, domain=of.domain
    )
    return Reply(replace(seen, **changes), of, chosen, tokens)


@cache
def plain(right: str, options: int) -> Question:
    return question(0, right, options)


def drawn(count: int, answer: Callable[[random.Random, str, int], str], seed: int, **arm: str) -> list[Reply]:
    draws = random.Random(seed)
    found = []
    for n in range(count):
        options = draws.randint(4, 8)
        right = LETTERS[draws.randrange(options)]
        found.append(reply(plain(right, options), answer(draws, right, options), question=f"q{n}", **arm))
    return found


def fair(draws: random.Random, right: str, options: int) -> str:
    """Right less often where there are more options, and wrong without a preference."""
    if draws.random() < 3 / options:
        return right
    return draws.choice([letter for letter in LETTERS[:options] if letter != right])


def shy_of_a(draws: random.Random, right: str, options: int) -> str:
    """As a model in the paper's table 5: half as often right where A is, and seldom wrong there."""
    given = fair(draws, right, options)
    return draws.choice(LETTERS[1:options]) if given == "A" and draws.random() < 0.5 else given


def levels(arm: ArmAccuracy) -> dict[str, tuple[int, float | None]]:
    return {each.level: (each.groups, each.accuracy.percent) for each in arm.levels}


def groups(arm: ArmAccuracy, by: str) -> dict[str, tuple[int, float | None]]:
    return {each.group: (each.accuracy.questions, each.accuracy.percent) for each in arm.groups if each.by == by}
