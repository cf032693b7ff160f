"""Whether a score in percent can be the share of right answers to so many questions.

Brown, Heathers (2017): The GRIM test. Social Psychological and Personality Science 8(4). There for means of integers.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, comb, floor

from toolablate.analysis.audit.finding import Finding
from toolablate.analysis.audit.printed import Printed
from toolablate.analysis.audit.table import PublishedTable

NEAR = 0.1
"""How far from the number that is told others are looked for: the share of it."""
SHOWN = 4
BY_CHANCE = 0.05
"""Another number of questions is told of where chance would allow so many scores more seldom than this."""


@dataclass(frozen=True, slots=True)
class Fit:
    """How many of a column's scores a number of questions allows."""

    questions: int
    possible: int


def possible(score: Printed, answers: int) -> bool:
    """Whether some number of right answers out of so many, in percent, rounds to the score."""
    within = score.interval
    return ceil(within.low * answers / 100) <= floor(within.high * answers / 100)


def best_fits(scores: Sequence[Printed], questions: int, repeats: int) -> list[Fit]:
    """Numbers of questions near the one told that allow the most scores.

    None where those are no more than the one told allows, or than chance would make of scores that are none of them.
    """
    reach = max(2, round(NEAR * questions))
    fits = [_fit(scores, number, repeats) for number in range(max(1, questions - reach), questions + reach + 1)]
    most = max(fit.possible for fit in fits)
    if most <= _fit(scores, questions, repeats).possible or _chance(scores, most, questions * repeats) > BY_CHANCE:
        return []
    return sorted((fit for fit in fits if fit.possible == most), key=lambda fit: abs(fit.questions - questions))


def check_granularity(table: PublishedTable) -> list[Finding]:
    """Facts, not errors: failed or excluded questions, partial credit and repeats are all harmless reasons."""
    findings = []
    for column in table.scores:
        questions = table.questions.get(column.name)
        if questions is None:
            continue
        cells = table.printed_in(column.name)
        odd = [(row.name, cell) for row, cell in cells if not possible(cell, questions * table.repeats)]
        if odd:
            scores = [cell for _, cell in cells]
            text = _told(odd, scores, questions, table.repeats)
            findings.append(Finding("fact", "granularity", text, column=column.name))
    return findings


def _told(odd: Sequence[tuple[str, Printed]], scores: Sequence[Printed], questions: int, repeats: int) -> str:
    runs = "in one run" if repeats == 1 else f"in {repeats} runs"
    listed = ", ".join(f"{name} {cell.text}" for name, cell in odd[:SHOWN])
    more = f" and {len(odd) - SHOWN} more" if len(odd) > SHOWN else ""
    told = f"{len(odd)} of {len(scores)} scores cannot be a share of {questions} questions {runs}: {listed}{more}"
    fits = best_fits(scores, questions, repeats)
    if not fits:
        return told
    numbers = " or ".join(str(fit.questions) for fit in fits[:SHOWN])
    others = " or others" if len(fits) > SHOWN else ""
    return f"{told}. With {numbers}{others}, {fits[0].possible} of {len(scores)} can"


def _fit(scores: Sequence[Printed], questions: int, repeats: int) -> Fit:
    return Fit(questions, sum(possible(score, questions * repeats) for score in scores))


def _chance(scores: Sequence[Printed], possible_ones: int, answers: int) -> float:
    """At most, that some number near the one told allows so many scores that have nothing to do with it.

    Equal scores are one: they are allowed together.
    """
    distinct = {score.text: score for score in scores}
    possible_ones -= len(scores) - len(distinct)
    scores = list(distinct.values())
    share = min(1.0, max(float(score.unit) for score in scores) * answers / 100)
    count, tried = len(scores), 2 * NEAR * answers
    tail = sum(comb(count, k) * share**k * (1 - share) ** (count - k) for k in range(possible_ones, count + 1))
    return tail * tried
