"""Reads out of a store what goes out of it, one trial after the other."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

from toolablate.formats.exports.choosing import Chosen
from toolablate.formats.exports.exported import Exported, Reasons
from toolablate.traces.records import Label
from toolablate.traces.store import Store

REMEMBERED = 1_000
"""Questions, models and conditions that are kept at hand."""

_NOTHING = Reasons()


def read_exported(
    store: Store, wanted: Iterable[Chosen], reasons: Mapping[str, Reasons] | None = None
) -> Iterator[Exported]:
    """The current traces of these trials, each with what belongs to it at one moment, also while a recorder writes.
    Holds one trial at a time. Raises StoreError."""
    known = reasons or {}
    labels: dict[str, list[Label]] = defaultdict(list)
    for label in store.labels():
        labels[label.trial].append(label)
    question, model = lru_cache(REMEMBERED)(store.question), lru_cache(REMEMBERED)(store.model)
    condition = lru_cache(REMEMBERED)(store.condition)
    for each in wanted:
        with store.at_one_moment():
            trace = store.trace(each.trial)
            scores, diagnoses = store.scores(each.trial), store.diagnoses(each.trial)
        under = condition(trace.trial.condition)
        called = each.called.model_copy(update={"condition": under.name}) if each.replay else each.called
        yield Exported(
            trial=each.trial,
            called=called,
            trace=trace,
            question=question(trace.trial.question),
            model=model(trace.trial.model),
            condition=under,
            scores=tuple(sorted(scores, key=lambda score: (score.scorer, score.scorer_version))),
            reasons=known.get(each.trial, _NOTHING),
            diagnoses=diagnoses,
            labels=tuple(labels.get(each.trial, ())),
        )
