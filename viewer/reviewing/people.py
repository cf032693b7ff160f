"""What each person has done in a review, as the first page shows it to another person."""

import statistics
from collections import Counter
from dataclasses import dataclass

from toolablate.experiments.construction.review_desk import ToReview
from toolablate.experiments.construction.reviewers import Reviewer
from toolablate.experiments.construction.workbench import Decision


@dataclass(frozen=True, slots=True)
class PersonLine:
    alias: str
    field: str
    items: int
    verdicts: Counter[str] | None
    seconds: float | None


def person_lines(now: ToReview, known: dict[str, Reviewer], person: str) -> list[PersonLine]:
    """One line a person, by alias. Verdicts of others only where no item waits: from counts that tick one reads what
    a person said before deciding oneself."""
    said: dict[str, list[Decision]] = {}
    for decisions in now.said.values():
        for each in decisions:
            said.setdefault(each.reviewer.casefold(), []).append(each)
    blind = bool(now.waiting)
    return [
        _line(each, known.get(alias), shown=not blind or alias == person.casefold())
        for alias, each in sorted(said.items())
    ]


def _line(said: list[Decision], known: Reviewer | None, *, shown: bool) -> PersonLine:
    seconds = [each.seconds for each in said if each.seconds is not None]
    return PersonLine(
        said[0].reviewer,
        known.field if known else "",
        len(said),
        Counter(each.verdict for each in said) if shown else None,
        statistics.median(seconds) if seconds else None,
    )
