"""Trials beside what several scorers made of them, and those on which two scorers disagree."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from toolablate.traces.records import Verdict
from toolablate.traces.store import TrialSummary

Gradings = Mapping[str, Mapping[str, TrialSummary]]
"""By scorer, then by trial: the ended trials with its value and verdict, None where it has not looked at them. Trials
stand by question, model, condition and repeat."""


@dataclass(frozen=True, slots=True)
class Both:
    """One trial as two scorers see it."""

    first: TrialSummary
    second: TrialSummary

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


def gradings(summaries: Mapping[str, Iterable[TrialSummary]]) -> dict[str, dict[str, TrialSummary]]:
    """Of all summaries of each scorer. Scorers stay in their order; one that has looked at no trial is left out.
    What infrastructure spoiled counts for none."""
    found = {
        scorer: {each.trial: each for each in sorted(seen, key=_place) if each.outcome != "failed"}
        for scorer, seen in summaries.items()
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


def correct(seen: TrialSummary) -> bool:
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


def _place(seen: TrialSummary) -> tuple[str, str, str, int, str]:
    return seen.question, seen.model, seen.condition, seen.repeat, seen.trial


# Names of scorers: which are judges, and which grade again what another has graded.


# The name of a model can hold whatever a user gives it, but what follows the last of these is ours.
_AGAIN = ",again="
_AFTER = re.compile(r"([1-9][0-9]*)((?:,[a-z]+=[a-z0-9]+)*\])")


def is_judge(scorer: str) -> bool:
    """Whether it is a model that grades, and so may grade the same answer in two ways."""
    return scorer.startswith("judge[")


def grading(scorer: str) -> tuple[str, int]:
    """The name of a judge's grading that counts, and which one this is: `judge[m@1a2b3c4d,again=2]` is grading 2 of
    `judge[m@1a2b3c4d]`. Any other scorer is grading 0 of itself."""
    before, _, after = scorer.rpartition(_AGAIN)
    found = _AFTER.fullmatch(after) if is_judge(before) else None
    return (before + found[2], int(found[1])) if found else (scorer, 0)


def ordered(scorers: Iterable[str], first: Iterable[str] = ()) -> list[str]:
    """Rules before judges; of each the scorers named `first` before the others; each judge's gradings together."""
    preferred = set(first)

    def place(scorer: str) -> tuple[bool, bool, str, int]:
        judge, number = grading(scorer)
        return is_judge(scorer), judge not in preferred, judge, number

    return sorted(scorers, key=place)


def scorer_pairs(scorers: Iterable[str]) -> list[tuple[str, str]]:
    """Each two scorers; a re-grading only beside the grading of its own judge, of which it says how sure it is."""
    return [
        (one, other)
        for one, other in combinations(scorers, 2)
        if grading(other)[1] == 0 == grading(one)[1] or (grading(one)[1] == 0 and grading(other)[0] == one)
    ]


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A trial that one of two scorers calls correct and the other does not; `trial` is its id, values are in [0, 1]."""

    first: str
    second: str
    trial: str
    question: str
    model: str
    condition: str
    repeat: int
    simulated: bool
    first_value: float
    first_verdict: Verdict
    second_value: float
    second_verdict: Verdict


def disagreements(
    found: Gradings, pairs: Sequence[tuple[str, str]], *, order: Sequence[str] = ()
) -> list[Disagreement]:
    """By pair of scorers, then by model name, in the `order` of conditions, by question and by repeat."""
    return [
        Disagreement(
            first=first,
            second=second,
            trial=each.first.trial,
            question=each.first.question,
            model=model,
            condition=condition,
            repeat=each.first.repeat,
            simulated=each.first.simulated,
            first_value=each.first.value,
            first_verdict=each.first.verdict,
            second_value=each.second.value,
            second_verdict=each.second.verdict,
        )
        for first, second in pairs
        for model, condition, trials in arms(side_by_side(found, first, second), order)
        for each in trials
        if each.first.value is not None and each.second.value is not None
        if each.first.verdict is not None and each.second.verdict is not None
        if not each.same
    ]
