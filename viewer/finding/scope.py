"""The trials that a search is among: those of one selection of runs, scorer and baseline, as columns."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from toolablate.analysis.comparison import METADATA
from toolablate.analysis.failures import baseline_sides, chosen_among
from toolablate.analysis.found import Bools, Ints
from toolablate.analysis.pairing import RIGHT, counts
from toolablate.traces.store import Outlines, TrialSummary

KEYS = ("mechanism", "flip", "model", "condition", "question", "domain", "difficulty", "language", "kind", "verdict")
"""What trials are chosen by, beside `metadata.KEY`: as failures are, without what only a wrong answer has."""

_OF_QUESTION = ("domain", "difficulty", "language", "kind")


def columns_of(
    summaries: Sequence[TrialSummary], asked: Mapping[str, str], *, baseline: str, order: Sequence[str]
) -> Mapping[str, Any]:
    """As JSON holds them: one list per property, with one value per trial; names once each. `asked` has the ids of
    questions by trial, `order` the conditions'."""
    named = {name: place for place, name in enumerate(order)}
    seen = sorted(summaries, key=lambda each: each.trial)
    conditions = sorted({each.condition for each in seen}, key=lambda name: (named.get(name, len(named)), name))
    models = sorted({each.model for each in seen})
    questions: dict[str, dict[str, Any]] = {}
    for each in seen:
        if each.question not in questions:
            own = {name: getattr(each, name) for name in _OF_QUESTION}
            questions[each.question] = {"id": asked[each.trial], "metadata": dict(each.metadata), **own}
    sides = baseline_sides((each for each in seen if counts(each)), baseline)
    places = {name: place for place, name in enumerate(questions)}
    return {
        "baseline": baseline,
        "conditions": conditions,
        "models": models,
        "questions": questions,
        "simulated": any(each.simulated for each in seen),
        "trial": [each.trial for each in seen],
        "question": [places[each.question] for each in seen],
        "model": [models.index(each.model) for each in seen],
        "condition": [conditions.index(each.condition) for each in seen],
        "repeat": [each.repeat for each in seen],
        "value": [each.value if counts(each) else None for each in seen],
        "verdict": [each.verdict or "" for each in seen],
        "flip": ["" if each.condition == baseline else sides.get((each.model, each.question), "") for each in seen],
    }


def asked_by(outlines: Outlines) -> dict[str, str]:
    """The id of each trial's question."""
    return {each.trial: each.question for each in outlines.trials()}


@dataclass(frozen=True, slots=True)
class ScopeTrial:
    """One of them, by its place."""

    scope: "SearchScope"
    place: int
    mechanism: str = ""

    def values(self, key: str) -> tuple[str, ...]:
        """Of one of `KEYS`, or of `metadata.KEY`: several where the question's metadata has a list."""
        columns, place = self.scope.columns, self.place
        name = self.scope.question_names[columns["question"][place]]
        match key:
            case "question":
                return (name,)
            case "model" | "condition":
                return (columns[f"{key}s"][columns[key][place]],)
            case "flip" | "verdict":
                return (columns[key][place],)
            case "mechanism":
                return (self.mechanism,)
        about = columns["questions"][name]
        if key.startswith(METADATA):
            return tuple(about["metadata"].get(key.removeprefix(METADATA), ("",)))
        return (str(about[key] or ""),)


class SearchScope:
    """`columns` are those of `columns_of`, in the order of the trials' ids: a random one, since ids are digests."""

    def __init__(self, columns: Mapping[str, Any]) -> None:
        self.columns = columns
        self.trials: Sequence[str] = columns["trial"]
        self.baseline: str = columns["baseline"]
        self.conditions: Sequence[str] = columns["conditions"]
        self.models: Sequence[str] = columns["models"]
        self.question_names: Sequence[str] = list(columns["questions"])
        self.question = _ints(columns["question"])
        self.condition = _ints(columns["condition"])
        self.model = _ints(columns["model"])

    def __len__(self) -> int:
        return len(self.trials)

    @cached_property
    def places(self) -> Mapping[str, int]:
        return {trial: place for place, trial in enumerate(self.trials)}

    @cached_property
    def question_ids(self) -> Sequence[str]:
        return [each["id"] for each in self.columns["questions"].values()]

    @cached_property
    def scored(self) -> Bools:
        return np.array([value is not None for value in self.columns["value"]], dtype=bool)

    @cached_property
    def turned(self) -> Bools:
        """Wrong, of questions that are mostly right under the baseline."""
        return np.array(
            [
                flip == "right" and value is not None and value < RIGHT
                for flip, value in zip(self.columns["flip"], self.columns["value"], strict=True)
            ],
            dtype=bool,
        )

    def chosen(self, wanted: Mapping[str, str], mechanisms: Mapping[str, str] | None) -> Bools:
        """Those with these values of keys. Raises InputError for a key or value that there is not."""
        if not wanted:
            return np.ones(len(self), dtype=bool)
        named = mechanisms or {}
        items = [ScopeTrial(self, place, named.get(trial, "")) for place, trial in enumerate(self.trials)]
        metadata = sorted({key for each in self.columns["questions"].values() for key in each["metadata"]})
        left = chosen_among(items, wanted, keys=KEYS, metadata=metadata, what="Trials", one="trial")
        return mask_of(len(self), (item.place for item in left))


def mask_of(size: int, places: Iterable[int]) -> Bools:
    found = np.zeros(size, dtype=bool)
    found[np.fromiter(places, dtype=np.int64)] = True
    return found


def _ints(values: Sequence[int]) -> Ints:
    return np.array(values, dtype=np.int64)
