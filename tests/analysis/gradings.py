"""Trials that several scorers have graded."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from toolablate.analysis.agreement.gradings import Gradings, gradings
from toolablate.analysis.agreement.kappa import CrossTable
from toolablate.traces.records import Verdict
from toolablate.traces.store.summaries import TrialSummary

RULE = "choice"
JUDGE = "judge[m@1a2b3c4d]"
AGAIN = "judge[m@1a2b3c4d,again=1]"
OTHER = "judge[o@99aa88bb]"

Grade = float | Verdict | None
"""A value in [0, 1]; a verdict that has none, or 0 where it is `wrong` or `unparsed`; None where it was not graded."""


def trial(question: str, condition: str = "none", repeat: int = 0, model: str = "gpt-x", **facts: str) -> TrialSummary:
    name = f"{question}-{model}-{condition}-{repeat}"
    return TrialSummary(question, model, condition, repeat=repeat, trial=name, **facts)  # type: ignore[arg-type]


def graded(rows: Iterable[tuple[TrialSummary, Mapping[str, Grade]]]) -> Gradings:
    """Each trial with the grade of each scorer."""
    rows = list(rows)
    scorers = dict.fromkeys(scorer for _, grades in rows for scorer in grades)
    return gradings({scorer: list(_seen(rows, scorer)) for scorer in scorers})


def _seen(rows: Sequence[tuple[TrialSummary, Mapping[str, Grade]]], scorer: str) -> Iterator[TrialSummary]:
    for seen, grades in rows:
        grade = grades.get(scorer)
        if isinstance(grade, str):
            yield replace(seen, value=0.0 if grade in ("unparsed", "wrong") else None, verdict=grade)
        elif grade is None:
            yield seen
        else:
            verdict: Verdict = "correct" if grade == 1 else "wrong" if grade == 0 else "partial"
            yield replace(seen, value=float(grade), verdict=verdict)


# Grades of two scorers of which the truth is known.


def tables(
    rng: np.random.Generator, questions: int, repeats: int, kappa: float, correct: float, *, sizes: Sequence[int] = ()
) -> list[CrossTable]:
    """One for each question, or with `sizes` for each cluster of so many questions. Both scorers call the share
    `correct` of all trials correct, and agree beyond chance by `kappa`: in that share of trials the second repeats the
    first, in the others it draws for itself. With repeats or clusters it depends on the question, or the cluster, how
    often the first calls correct and how often the second repeats it."""
    of = np.repeat(np.arange(len(sizes)), sizes) if len(sizes) else np.arange(questions)
    alone = repeats == 1 and not len(sizes)
    units = int(of.max()) + 1
    right = np.full(units, correct) if alone else rng.beta(2 * correct, 2 * (1 - correct), units)
    repeated = np.full(units, kappa) if alone else rng.beta(4 * kappa, 4 * (1 - kappa), units)
    shape = (len(of), repeats)
    first = rng.random(shape) < right[of][:, None]
    own = rng.random(shape) < correct
    second = np.where(rng.random(shape) < repeated[of][:, None], first, own)
    cells = [
        np.bincount(of, each.sum(axis=1), minlength=units).astype(int)
        for each in (first & second, first & ~second, ~first & second, ~first & ~second)
    ]
    return [CrossTable(*map(int, row)) for row in zip(*cells, strict=True)]
