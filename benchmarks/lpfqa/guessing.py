"""How often models guess the right option without the question, and whether that is more than chance."""

from collections import defaultdict
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

import numpy as np

from toolablate.analysis.pairing import RIGHT, unit
from toolablate.analysis.statistics.intervals import RESAMPLES, Interval, by_unit, share_over_units
from toolablate.benchmarks.prompt import letters_for
from toolablate.traces.records import Question
from toolablate.traces.store import Outlines, Store, TrialSummary


@dataclass(frozen=True, slots=True)
class Guesses:
    """Scored trials that saw the options alone, of questions with one right option; each question weighs the same.

    by_question  the share of right trials of each, by its name, in [0, 1]
    rate         the mean of these
    ci95         its 95 % interval over questions, or clusters of them
    chance       the mean of 1 / number of options
    p            the one-sided p-value of `more_than_chance`; None where no letters were read, as by a judge
    trials       how many
    unparsed     in how many of them no option could be read: these are not right
    """

    by_question: Mapping[str, float]
    rate: float
    ci95: Interval
    chance: float
    p: float | None
    trials: int
    unparsed: int


def read_guesses(
    path: Path, summaries: Sequence[TrialSummary], models: Collection[str], *, seed: int = 0
) -> Guesses | None:
    """Of these models' trials under conditions that show the choices alone; None where there are none. Raises
    StoreError."""
    with Outlines(path) as outlines, Store(path) as store:
        conditions = store.conditions_of(summaries)
        seen = [
            each
            for each in summaries
            if conditions[each.condition].shown == "choices" and each.model in models and each.value is not None
        ]
        if not seen:
            return None
        read = outlines.extracted(each.trial for each in seen)
        asked = {each.trial: each.question for each in outlines.trials()}
        questions = {question.identity(): question for question in store.questions()}
    trials: dict[str, list[TrialSummary]] = defaultdict(list)
    of_names: dict[str, Question] = {}
    for each in seen:
        question = questions[asked[each.trial]]
        if question.target.kind == "choice" and len(question.target.letters) == 1:
            trials[each.question].append(each)
            of_names[each.question] = question
    if not trials:
        return None
    shares = {name: mean((each.value or 0) >= RIGHT for each in group) for name, group in trials.items()}
    votes = [_votes(of_names[name], group, read) for name, group in trials.items()]
    units = [unit(group[0]) for group in trials.values()]
    count = sum(map(len, trials.values()))
    rate, ci95 = mean_share(list(shares.values()), count, units)
    return Guesses(
        by_question=shares,
        rate=rate,
        ci95=ci95,
        chance=mean(1 / len(question.choices) for question in of_names.values()),
        p=more_than_chance(votes, seed=seed) if any(any(each.shares) for each in votes) else None,
        trials=count,
        unparsed=sum(each.verdict == "unparsed" for group in trials.values() for each in group),
    )


def mean_share(shares: Sequence[float], trials: int, units: Sequence[Hashable]) -> tuple[float, Interval]:
    """The mean of questions' shares of right trials, with its 95 % interval over units: as `share_over_units` has it of
    so many trials, the same number in each question."""
    each = trials / len(shares)
    return share_over_units(*by_unit(units, [each * share for share in shares], [each] * len(shares)))


# Whether the options alone say which of them is right.


@dataclass(frozen=True, slots=True)
class Votes:
    """What trials chose of one question's options: of each option the share of all trials, which need not sum to 1; and
    the place of the right one."""

    shares: tuple[float, ...]
    right: int


def _votes(
    question: Question, trials: Sequence[TrialSummary], read: Mapping[str, Sequence[tuple[str, tuple[str, ...]]]]
) -> Votes:
    # Other scorers read the same reply; one that reads no letter says nothing of it.
    chosen = [next((said for _, said in reversed(read.get(each.trial, ())) if len(said) == 1), ()) for each in trials]
    letters = letters_for(question)
    assert question.target.kind == "choice"
    return Votes(
        tuple(sum(said == (letter,) for said in chosen) / len(trials) for letter in letters),
        letters.index(question.target.letters[0]),
    )


def more_than_chance(votes: Sequence[Votes], *, seed: int = 0, resamples: int = RESAMPLES) -> float:
    """One-sided p-value that the options alone do not say which is right: a randomisation test of the key.

    If they do not, each option of a question is as likely as another to be the right one, whatever was chosen. So the
    choices are held, and the key is drawn anew in each question by itself: p = (b + 1) / (n + 1) from n draws of which
    b are right as often (Phipson and Smyth 2010). Models that choose alike, and repeats, make it no less valid: what is
    drawn are keys, not trials. A binomial test of trials takes these for independent, and finds guessing where models
    merely agree.
    """
    observed = sum(each.shares[each.right] for each in votes)
    rng = np.random.default_rng(seed)
    drawn = np.zeros(resamples)
    for each in votes:
        drawn += np.asarray(each.shares)[rng.integers(len(each.shares), size=resamples)]
    # Sums that are equal on paper differ in the last bits.
    return float((np.sum(drawn >= observed - 1e-9) + 1) / (resamples + 1))
