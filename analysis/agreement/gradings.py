"""Trials beside what several scorers made of them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from toolablate.traces.store import Observation

Gradings = Mapping[str, Mapping[str, Observation]]
"""By scorer, then by trial: the ended trials with its value and verdict, None where it has not looked at them. Trials
stand by question, model, condition and repeat."""


@dataclass(frozen=True, slots=True)
class Both:
    """One trial as two scorers see it."""

    first: Observation
    second: Observation

    @property
    def counts(self) -> bool:
        """Whether both gave it a value."""
        return self.first.value is not None and self.second.value is not None

    @property
    def looked(self) -> bool:
        """Whether both looked at it, and be it in vain."""
        return self.first.verdict is not None and self.second.verdict is not None

    @property
    def same(self) -> bool:
        """Whether both say that it is correct, or both that it is not."""
        return correct(self.first) == correct(self.second)


def gradings(observations: Mapping[str, Iterable[Observation]]) -> dict[str, dict[str, Observation]]:
    """Of all observations of each scorer. Scorers stay in their order; one that has looked at no trial is left out.
    What infrastructure spoiled counts for none."""
    found = {
        scorer: {each.trial: each for each in sorted(seen, key=_place) if each.outcome != "failed"}
        for scorer, seen in observations.items()
    }
    return {
        scorer: trials for scorer, trials in found.items() if any(each.verdict is not None for each in trials.values())
    }


def side_by_side(found: Gradings, first: str, second: str) -> list[Both]:
    """The trials that one of two scorers has looked at, in the order of the first; none where they have not looked at
    the same."""
    others = found[second]
    both = [Both(seen, others[trial]) for trial, seen in found[first].items() if trial in others]
    if not any(each.looked for each in both):
        return []
    return [each for each in both if each.first.verdict is not None or each.second.verdict is not None]


def correct(seen: Observation) -> bool:
    """Graded scores count as correct where they are whole."""
    return seen.verdict == "correct"


def arms(seen: Sequence[Both], order: Sequence[str] = ()) -> Iterator[tuple[str, str, list[Both]]]:
    """Trials by model name, then by condition: those named in `order` first, the others by name."""
    found: dict[tuple[str, str], list[Both]] = {}
    for each in seen:
        found.setdefault((each.first.model, each.first.condition), []).append(each)
    places = {name: place for place, name in reversed(list(enumerate(order)))}
    for model, condition in sorted(found, key=lambda arm: (arm[0], places.get(arm[1], len(places)), arm[1])):
        yield model, condition, found[model, condition]


def _place(seen: Observation) -> tuple[str, str, str, int, str]:
    return seen.question, seen.model, seen.condition, seen.repeat, seen.trial
