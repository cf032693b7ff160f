"""Observations of models that get so many questions right, and what a scoreboard makes of them."""

from collections.abc import Iterator, Mapping, Sequence

from toolablate.benchmarks.lpfqa.scoreboard_results import DomainScores, ModelScore, Scoreboard
from toolablate.traces.store.summaries import TrialSummary

Values = Sequence[Sequence[float | None]]
"""By question, then by repeat; None where infrastructure spoiled the trial."""


def seen(
    model: str,
    values: Values,
    *,
    condition: str = "none",
    domains: Sequence[str] = (),
    difficulties: Sequence[str] = (),
    clusters: Sequence[str] = (),
) -> Iterator[TrialSummary]:
    for number, repeats in enumerate(values):
        for repeat, value in enumerate(repeats):
            yield TrialSummary(
                question=f"q{number:04}",
                model=model,
                condition=condition,
                repeat=repeat,
                outcome="failed" if value is None else "answered",
                value=value,
                verdict=None if value is None else "correct" if value >= 0.5 else "wrong",
                domain=domains[number] if domains else "",
                difficulty=difficulties[number] if difficulties else "",
                cluster=clusters[number] if clusters else "",
            )


def once(values: Sequence[float | None]) -> list[list[float | None]]:
    """Of a single run."""
    return [[value] for value in values]


def right(count: int, questions: int) -> list[list[float | None]]:
    """So many of so many."""
    return once([1.0] * count + [0.0] * (questions - count))


def percents(scores: Sequence[ModelScore]) -> dict[str, str]:
    """As the view prints them."""
    return {each.model: f"{each.accuracy.percent:.2f}" for each in scores if each.accuracy.percent is not None}


def columns(found: Scoreboard) -> Mapping[str, DomainScores]:
    return {column.domain or "": column for column in (*found.domains, found.overall)}
