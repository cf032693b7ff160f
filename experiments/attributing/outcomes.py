"""What the stored replays of a trial came to, by what they are for."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

from toolablate.experiments.attributing.case import Case
from toolablate.experiments.attributing.program import Purpose, purposes_of
from toolablate.traces.analysis.attribution.belief import Flip, Probe, Trajectory, flip_step, trajectory
from toolablate.traces.analysis.pairing import RIGHT
from toolablate.traces.records import Score
from toolablate.traces.store import Store

TAU = 0.3
"""How far a belief in the right answer has to fall for a flip."""

Outcomes = Mapping[Purpose, Sequence[Score | None]]
"""The scores of a trial's replays in the order of their repeats; None of one that did not end, or has no score."""


def outcomes_of(store: Store, case: Case, scorers: Collection[str]) -> Outcomes:
    found: dict[Purpose, list[Score | None]] = defaultdict(list)
    for trial, condition in store.resumptions(case.trial).items():
        purposes = purposes_of(condition.resumed, case) if condition.resumed else ()
        score = newest(store.scores(trial), scorers) if purposes else None
        for purpose in purposes:
            found[purpose].append(score)
    return found


def newest(scores: Sequence[Score], scorers: Collection[str]) -> Score | None:
    """The score that counts: of these scorers, the last version, if it has a value."""
    of_them = (each for each in scores if each.scorer in scorers)
    last = max(of_them, key=lambda each: each.scorer_version, default=None)
    return last if last is not None and last.value is not None else None


def belief_of(outcomes: Outcomes) -> Trajectory | None:
    """By the probes that there are, None without any."""
    probes = [
        probe
        for purpose, scores in outcomes.items()
        if purpose.step is not None and (probe := _probe(purpose.step, scores)) is not None
    ]
    return trajectory(probes) if probes else None


def flip_of(outcomes: Outcomes) -> Flip | None:
    """Where the belief falls by TAU for good."""
    found = belief_of(outcomes)
    return flip_step(found, TAU) if found else None


def is_right(score: Score) -> bool:
    return (score.value or 0.0) >= RIGHT


def _probe(step: int, scores: Sequence[Score | None]) -> Probe | None:
    given = [score for score in scores if score is not None]
    options: dict[str, int] = defaultdict(int)
    for score in given:
        if score.verdict != "unparsed":
            # A judge reads no answer out of a reply: its verdict is all that tells replies apart.
            options[", ".join(score.extracted) or score.verdict] += 1
    unreadable = len(given) - sum(options.values())
    return Probe(step, options, unreadable, sum(map(is_right, given))) if given else None
