"""Reads out of a store what people hold for the causes of its trials, beside what is attributed to these now."""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path

from toolablate.analysis.from_store import observe
from toolablate.analysis.labelling import Attributed, LabelReport, held, label_report
from toolablate.experiments.explaining import outlined
from toolablate.traces.errors import InputError
from toolablate.traces.store import Store


def read_labels(path: str | PathLike[str], *, people: Sequence[str] = (), scorer: str | None = None) -> LabelReport:
    """Of all people, or of those named. Of trials that are right or were never explained nothing is attributed. Nobody
    is asked anything. Raises InputError for a person who has given no label or a scorer that is not there, StoreError.
    """
    with Store(Path(path)) as store:
        labels = store.labels()
        known = {label.person for label in labels}
        for name in people:
            if name not in known:
                raise InputError(
                    f"{store.path} has no label by {name!r}",
                    hint=f"Labels were given by: {', '.join(map(repr, sorted(known))) or 'nobody yet'}.",
                    code="unknown_person",
                )
        labels = tuple(label for label in labels if not people or label.person in people)
        about = {trial: _question(store, trial) for trial in dict.fromkeys(label.trial for label in labels)}
        if not labels and scorer is not None:
            observe(store, scorer=scorer)  # refuses one that is not there, as `explained` does
    if labels:
        for each in outlined(path, scorer=scorer).explained:
            if each.attribution is not None and each.attribution.trial in about:
                question, unit = about[each.attribution.trial].question, about[each.attribution.trial].unit
                about[each.attribution.trial] = Attributed(
                    question, unit, each.attribution.mechanism, each.attribution.method
                )
    return label_report(held(labels, about.__getitem__))


def _question(store: Store, trial: str) -> Attributed:
    question = store.question(store.trace(trial).trial.question)
    return Attributed(question.id, question.cluster or question.id)
