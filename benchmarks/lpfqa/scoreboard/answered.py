"""What each model made of each question under one condition: what the tables of a scoreboard start from."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from toolablate.analysis.effect import Accuracy, accuracy
from toolablate.analysis.pairing import Arm, Side, Unit, counts, mean, side, unit
from toolablate.traces.store import Observation

Scores = Mapping[str, Mapping[int, float]]
"""The values in [0, 1] of a model's trials that count, by question, then by repeat; no question without one."""


@dataclass(frozen=True, slots=True)
class Answered:
    """models     by name
    scores     of each model; a model without a trial that counts has no question
    asked      one trial of each question that some model has a score of, by question: for what it says of the question
    simulated  the models that are stand-ins
    sides      what became of each model's trials"""

    models: tuple[str, ...]
    scores: Mapping[str, Scores]
    asked: Mapping[str, Observation]
    simulated: frozenset[str]
    sides: Mapping[str, Side]

    def shared(self, models: Sequence[str]) -> list[str]:
        """The questions that each of these models has a score of, by name."""
        return [question for question in self.asked if all(question in self.scores[model] for model in models)]

    def domain(self, question: str) -> str:
        return self.asked[question].domain

    def units(self, questions: Iterable[str]) -> list[Unit]:
        return [unit(self.asked[question]) for question in questions]

    def means(self, model: str, questions: Iterable[str]) -> list[float]:
        """Of each question the mean over its repeats."""
        return [mean(list(self.scores[model][question].values())) for question in questions]

    def accuracy(self, model: str, questions: Sequence[str], *, seed: int = 0) -> Accuracy:
        """Over those of these questions that the model has a score of."""
        own = [question for question in questions if question in self.scores[model]]
        return accuracy(self.means(model, own), self.units(own), seed=seed)


def answered(observations: Iterable[Observation], condition: str) -> Answered:
    """Of all trials under one condition. What infrastructure spoiled has no score, and is never a wrong answer."""
    scores: dict[str, dict[str, dict[int, float]]] = defaultdict(lambda: defaultdict(dict))
    asked: dict[str, Observation] = {}
    arms: dict[str, Arm] = defaultdict(lambda: defaultdict(list))
    simulated = set()
    for seen in observations:
        if seen.condition != condition:
            continue
        arms[seen.model][seen.question].append(seen)
        if seen.simulated:
            simulated.add(seen.model)
        if counts(seen):
            asked.setdefault(seen.question, seen)
            scores[seen.model][seen.question][seen.repeat] = seen.value or 0.0
    return Answered(
        models=tuple(sorted(arms)),
        scores={model: {name: dict(sorted(tries.items())) for name, tries in scores[model].items()} for model in arms},
        asked=dict(sorted(asked.items())),
        simulated=frozenset(simulated),
        sides={model: side(arm, ()) for model, arm in arms.items()},
    )
