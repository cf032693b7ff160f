"""Which trials a report shows where nobody says."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest

from toolablate.analysis.flips import Flip
from toolablate.analysis.pairing import RIGHT
from toolablate.traces.records import Attribution

UNTELLING = ("own_error", "unknown", "")
"""What says nothing of tools comes last."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A trial, and one of the baseline on the same question to show it beside; by id."""

    trial: str
    baseline: str


def telling(
    flips: Iterable[Flip],
    attributions: Mapping[str, Attribution],
    values: Mapping[str, float | None],
    most: int,
) -> tuple[Choice, ...]:
    """At most so many wrong trials of questions that a condition turned from right to wrong, each of another question:
    in turns of each mechanism that they are put down to, of each the surest first. `values` are scores of trials in
    [0, 1]."""
    by_mechanism: dict[str, list[_Candidate]] = defaultdict(list)
    for each in _candidates(flips, attributions, values):
        by_mechanism[each.mechanism].append(each)
    columns = [sorted(column, key=_surest_first) for column in by_mechanism.values()]
    columns.sort(key=lambda column: _surest_first(column[0]))
    in_turns = [each for turn in zip_longest(*columns) for each in turn if each is not None]
    in_turns.sort(key=lambda each: each.mechanism in UNTELLING)
    of_questions: dict[str, Choice] = {}
    for each in in_turns:
        of_questions.setdefault(each.question, each.choice)
    return tuple(of_questions.values())[:most]


@dataclass(frozen=True, slots=True)
class _Candidate:
    mechanism: str
    confidence: float
    question: str
    choice: Choice


def _surest_first(each: _Candidate) -> tuple[float, str, str]:
    return -each.confidence, each.question, each.choice.trial


def _candidates(
    flips: Iterable[Flip], attributions: Mapping[str, Attribution], values: Mapping[str, float | None]
) -> Iterator[_Candidate]:
    for flip in flips:
        if flip.direction != "right_to_wrong":
            continue
        right = [trial for trial in flip.baseline_trials if _is_right(values.get(trial))]
        for trial in flip.trials:
            if not _is_right(values.get(trial)):
                found = attributions.get(trial)
                mechanism, confidence = ("", 0.0) if found is None else (found.mechanism, found.confidence)
                choice = Choice(trial, (right or flip.baseline_trials)[0])
                yield _Candidate(mechanism, confidence, flip.question, choice)


def _is_right(value: float | None) -> bool:
    return value is not None and value >= RIGHT
