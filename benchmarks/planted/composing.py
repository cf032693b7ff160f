"""From a seed to questions, scenes and pages whose causes are known."""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Literal, get_args

from toolablate.benchmarks.planted.case import Case, make_case, weight_for
from toolablate.benchmarks.planted.pages import Document
from toolablate.benchmarks.planted.stories import Story, tell
from toolablate.benchmarks.planted.templates import Half, templates
from toolablate.benchmarks.planted.wording import final_words
from toolablate.traces.records import Distraction, Question

Nature = Literal["tools", "churn", "own_error", "format"]
"""What a question is about: tools move the model, it wavers without any, it is wrong without any, or it loses the form
of its answer once it has called tools."""

NATURES: Mapping[Nature, float] = {"tools": 0.58, "churn": 0.22, "own_error": 0.1, "format": 0.1}
STORIES: Mapping[str, Mapping[Story, float]] = {
    "code": {"lock_in": 0.3, "tool_fault": 0.26, "budget": 0.16, "availability": 0.12, "gain": 0.04, "fine": 0.12},
    "search": {
        "misleading_adoption": 0.22,
        "existence_as_norm": 0.12,
        "over_engineering": 0.12,
        "tool_fault": 0.22,
        "budget": 0.12,
        "availability": 0.1,
        "gain": 0.04,
        "fine": 0.06,
    },
}
_SECOND_CAUSE = 0.1
_STEPS = (0.8191725133961645, 0.6710436067037893, 0.5497004779019703)
_DISTRACTIONS: frozenset[str] = frozenset(get_args(Distraction))


@dataclass(frozen=True, slots=True)
class Planted:
    """`scene` is a line of a scenes file (agents.simulated.planted.scene), as JSON has it. `nature` and `stories`, by
    toolset, say what was planted; no run reads them."""

    question: Question
    scene: dict[str, Any]
    documents: tuple[Document, ...]
    nature: Nature
    stories: Mapping[str, Story]

    @property
    def distraction(self) -> str:
        """How pages draw the model away, "" where they do not."""
        return self.stories["search"] if self.stories["search"] in _DISTRACTIONS else ""


def compose(half: Half, questions: int, seed: int = 0) -> tuple[Planted, ...]:
    """So many questions of the templates of one half. A longer list begins with the shorter one."""
    return tuple(_planted(half, number, seed) for number in range(questions))


def _planted(half: Half, number: int, seed: int) -> Planted:
    rng = random.Random(f"{seed} {half} {number}")  # noqa: S311 - a simulation, not a secret
    known = templates(half)
    nature, *drawn = _spread(half, number, seed)
    stories: dict[str, Story] = {
        toolset: story if nature == "tools" else "fine" for toolset, story in zip(STORIES, drawn, strict=True)
    }
    elaborate = stories["search"] in ("existence_as_norm", "over_engineering")
    case = make_case(half, rng.choice(known), number, rng, elaborate_lure=elaborate)
    prior = _prior(case, nature, "gain" in stories.values(), rng)
    told = {toolset: tell(case, toolset, story, prior, rng) for toolset, story in stories.items()}
    loses_format = rng.uniform(0.75, 0.95) if nature == "format" else 0.0
    if nature == "tools" and rng.random() < _SECOND_CAUSE:
        loses_format = rng.uniform(0.3, 0.6)
    scene = {
        "question": case.id,
        "prior": prior,
        "scripts": {toolset: each.script for toolset, each in told.items()},
        "loses_format": round(loses_format, 3),
        "set_aside": round(rng.uniform(0.0, 0.25), 3),
        "says": final_words(case, tuple(stories.values()), rng),
    }
    documents = tuple(document for each in told.values() for document in each.documents)
    return Planted(case.question(), scene, documents, nature, stories)


def _prior(case: Case, nature: Nature, gains: bool, rng: random.Random) -> dict[str, float]:
    """Weights with which the right answer has the probability that the question's nature says."""
    wrong = {letter: round(rng.uniform(-0.7, 0.7), 3) for letter in case.letters if letter != case.right}
    if nature == "own_error":
        peak = rng.choice(sorted(wrong))
        others = [nats for letter, nats in wrong.items() if letter != peak]
        wrong[peak] = round(weight_for(rng.uniform(0.9, 0.97), [*others, 0.0]), 3)
        return dict(sorted({**wrong, case.right: 0.0}.items()))
    shares = (0.15, 0.35) if gains else (0.55, 0.75) if nature == "churn" else (0.8, 0.95)
    right = round(weight_for(rng.uniform(*shares), list(wrong.values())), 3)
    return dict(sorted({**wrong, case.right: right}.items()))


def _spread(half: Half, number: int, seed: int) -> list[Any]:
    """The nature of a question, and a story for each toolset. Few questions have their shares of each as well as many
    do: they are spread by an additive recurrence in three dimensions (Roberts 2018, "The unreasonable effectiveness of
    quasirandom sequences"), from a start of each half and seed."""
    start = random.Random(f"{seed} {half}")  # noqa: S311 - a simulation, not a secret
    dimensions: tuple[Mapping[Any, float], ...] = (NATURES, *STORIES.values())
    return [_at((start.random() + number * step) % 1, shares) for step, shares in zip(_STEPS, dimensions, strict=True)]


def _at(place: float, shares: Mapping[Any, float]) -> Any:
    """Which of the shares, laid end to end, holds this place in [0, 1)."""
    ends = accumulate(shares.values())
    return next((name for name, end in zip(shares, ends, strict=True) if place < end), list(shares)[-1])
