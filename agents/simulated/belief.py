"""What a simulated model believes: a weight in nats for each answer it considers."""

import json
import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from toolablate.tools.guards.leaks import lettered
from toolablate.traces.records import (
    ChoiceTarget,
    NumberTarget,
    Question,
    ReferenceTarget,
    SimulatedModel,
    SpansTarget,
    TextTarget,
)

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_WRONG_SETS = 3
_NOTHING = "nothing of the kind"
_WRONG_FACTORS = (0.5, 2.0, 0.1, 10.0, 1.5, 0.75, -1.0)


@dataclass(frozen=True, slots=True)
class Candidate:
    """An answer as it would be written, the texts that speak for it, its value if it is a number, and its weight."""

    answer: str
    texts: tuple[str, ...] = ()
    value: float | None = None
    nats: float = 0.0


@dataclass(frozen=True, slots=True)
class Belief:
    candidates: tuple[Candidate, ...]

    def probabilities(self) -> tuple[float, ...]:
        """The softmax of the weights."""
        top = max(candidate.nats for candidate in self.candidates)
        weights = [math.exp(candidate.nats - top) for candidate in self.candidates]
        return tuple(weight / sum(weights) for weight in weights)

    def moved(self, nats: Sequence[float]) -> "Belief":
        pairs = zip(self.candidates, nats, strict=True)
        return Belief(tuple(replace(candidate, nats=candidate.nats + more) for candidate, more in pairs))

    def sample(self, rng: random.Random) -> Candidate:
        return rng.choices(self.candidates, self.probabilities())[0]


def opening_belief(question: Question, model: SimulatedModel, rng: random.Random, distractor: str | None) -> Belief:
    """The belief before any tool is used; the only place where a simulated model looks at the target.

    With probability `ability` the peak is at the right answer; else at the distractor, or at any wrong answer.
    """
    right, wrong = _candidates(question, rng)
    knows = rng.random() < model.ability
    tempting = next((candidate for candidate in wrong if candidate.answer == distractor), None)
    at_random = rng.choice(wrong) if wrong else right
    peak = right if knows else tempting or at_random
    ordered = sorted([right, *wrong], key=lambda candidate: candidate.answer)
    return Belief(
        tuple(replace(candidate, nats=model.confidence if candidate is peak else 0.0) for candidate in ordered)
    )


def _candidates(question: Question, rng: random.Random) -> tuple[Candidate, list[Candidate]]:
    target = question.target
    if isinstance(target, NumberTarget):
        wrong = [_number(value) for value in _wrong_values(target, rng)]
        return _number(target.value), wrong
    if isinstance(target, SpansTarget):
        return _spans(target.stated), [_spans(spans) for spans in _wrong_spans(target.stated)]
    if isinstance(target, ReferenceTarget):
        return _reference(target.answer), [_reference(_NOTHING)]
    if isinstance(target, TextTarget):
        return _reference(target.answers[0]), [_reference(_NOTHING)]
    if not isinstance(target, ChoiceTarget):
        # Neither a pattern nor tests say what would be right.
        return _reference(_NOTHING), []
    return _choices(question, target, rng)


def _choices(question: Question, target: ChoiceTarget, rng: random.Random) -> tuple[Candidate, list[Candidate]]:
    count = len(question.choices) or max(lettered(question.prompt), *(_LETTERS.find(x) + 1 for x in target.letters))
    texts = dict(zip(_LETTERS[:count], question.choices or [""] * count, strict=False))

    def choice(letters: tuple[str, ...]) -> Candidate:
        return Candidate(", ".join(letters), tuple(texts.get(letter, "") for letter in letters))

    right = tuple(sorted(target.letters))
    if len(right) == 1:
        return choice(right), [choice((letter,)) for letter in texts if letter != right[0]]
    wrong = {
        changed for changed in (_changed(right, list(texts), rng) for _ in range(_WRONG_SETS * 3)) if changed != right
    }
    return choice(right), [choice(letters) for letters in sorted(wrong)[:_WRONG_SETS]]


def _changed(right: tuple[str, ...], letters: list[str], rng: random.Random) -> tuple[str, ...]:
    """A set of letters that differs in one of them."""
    return tuple(sorted(set(right) ^ {rng.choice(letters)}))


def _number(value: float) -> Candidate:
    return Candidate(written(value), value=value)


def written(value: float) -> str:
    """A number as a model writes it: plain digits where that is short."""
    short = f"{value:.10g}"
    return short if "e" not in short else f"{value:.6e}"


def _wrong_values(target: NumberTarget, rng: random.Random) -> Iterator[float]:
    """Two values that are wrong by the target's own tolerance."""
    allowed = max(target.absolute, target.relative * abs(target.value))
    given = 0
    for factor in rng.sample(_WRONG_FACTORS, len(_WRONG_FACTORS)):
        value = target.value * factor if target.value else factor
        if abs(value - target.value) > allowed and math.isfinite(value) and given < 2:
            given += 1
            yield value


def _spans(spans: tuple[str, ...]) -> Candidate:
    return Candidate(json.dumps(list(spans), ensure_ascii=False), spans)


def _reference(answer: str) -> Candidate:
    return Candidate(answer, (answer,))


def _wrong_spans(spans: tuple[str, ...]) -> list[tuple[str, ...]]:
    return [(_NOTHING,), spans[1:] or (spans[0] * 2,)]
