"""What each person has done in a review, as the first page shows it to another person."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from toolablate.experiments.construction.review_desk import ToReview
from toolablate.experiments.construction.reviewers import Reviewer, ReviewerFigures, reviewer_figures


@dataclass(frozen=True, slots=True)
class PersonLine:
    figures: ReviewerFigures
    verdicts: Counter[str] | None


def person_lines(now: ToReview, known: Mapping[str, Reviewer], person: str) -> list[PersonLine]:
    """One line a person, by alias. Verdicts of others only where no item waits: from counts that tick one reads what
    a person said before deciding oneself."""
    verdicts: dict[str, Counter[str]] = {}
    for decisions in now.said.values():
        for decision in decisions:
            verdicts.setdefault(decision.reviewer.casefold(), Counter())[decision.verdict] += 1
    hidden = verdicts.keys() - {person.casefold()} if now.waiting else set()
    found = []
    for each in reviewer_figures(now.said, known):
        alias = each.alias.casefold()
        found.append(PersonLine(each, None if alias in hidden else verdicts[alias]))
    return found
