"""Trials that several scorers have graded."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from toolablate.analysis.agreement.gradings import Gradings, gradings
from toolablate.traces.records import Verdict
from toolablate.traces.store.observations import Observation

RULE = "choice"
JUDGE = "judge[m@1a2b3c4d]"
AGAIN = "judge[m@1a2b3c4d,again=1]"
OTHER = "judge[o@99aa88bb]"

Grade = float | Verdict | None
"""A value in [0, 1]; a verdict that has none, or 0 where it is `wrong` or `unparsed`; None where it was not graded."""


def trial(question: str, condition: str = "none", repeat: int = 0, model: str = "gpt-x", **facts: str) -> Observation:
    name = f"{question}-{model}-{condition}-{repeat}"
    return Observation(question, model, condition, repeat=repeat, trial=name, **facts)  # type: ignore[arg-type]


def graded(rows: Iterable[tuple[Observation, Mapping[str, Grade]]]) -> Gradings:
    """Each trial with the grade of each scorer."""
    rows = list(rows)
    scorers = dict.fromkeys(scorer for _, grades in rows for scorer in grades)
    return gradings({scorer: list(_seen(rows, scorer)) for scorer in scorers})


def _seen(rows: Sequence[tuple[Observation, Mapping[str, Grade]]], scorer: str) -> Iterator[Observation]:
    for seen, grades in rows:
        grade = grades.get(scorer)
        if isinstance(grade, str):
            yield replace(seen, value=0.0 if grade in ("unparsed", "wrong") else None, verdict=grade)
        elif grade is None:
            yield seen
        else:
            verdict: Verdict = "correct" if grade == 1 else "wrong" if grade == 0 else "partial"
            yield replace(seen, value=float(grade), verdict=verdict)
