"""What the stored replays of a trial came to, by what they are for."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from toolablate.analysis.attribution.belief import Flip, Probe, Trajectory, flip_step, trajectory
from toolablate.analysis.pairing import RIGHT
from toolablate.experiments.attributing.case import Case
from toolablate.experiments.attributing.program import Purpose, purposes_of
from toolablate.traces.store import Counterfactual

TAU = 0.3
"""How far a belief in the right answer has to fall for a flip."""

Outcomes = Mapping[Purpose, Sequence[Counterfactual]]
"""A trial's replays by what they are for, in the order of their repeats, those that did not end among them."""


def outcomes_of(case: Case, counterfactuals: Iterable[Counterfactual]) -> Outcomes:
    """Of the counterfactuals of its trial, as `Store.counterfactuals` gives them."""
    found: dict[Purpose, list[Counterfactual]] = defaultdict(list)
    for each in counterfactuals:
        for purpose in purposes_of(each.resumption, case):
            found[purpose].append(each)
    return found


def belief_of(outcomes: Outcomes) -> Trajectory | None:
    """By the probes that there are, None without any."""
    probes = [
        probe
        for purpose, replays in outcomes.items()
        if purpose.step is not None and (probe := _probe(purpose.step, replays)) is not None
    ]
    return trajectory(probes) if probes else None


def flip_of(outcomes: Outcomes) -> Flip | None:
    """Where the belief falls by TAU for good."""
    found = belief_of(outcomes)
    return flip_step(found, TAU) if found else None


def is_right(replay: Counterfactual) -> bool:
    return replay.value is not None and replay.value >= RIGHT


def _probe(step: int, replays: Sequence[Counterfactual]) -> Probe | None:
    scored = [each for each in replays if each.value is not None]
    options: dict[str, int] = defaultdict(int)
    for each in scored:
        if each.verdict != "unparsed":
            # A judge reads no answer out of a reply: its verdict is all that tells replies apart.
            options[", ".join(each.answered) or str(each.verdict)] += 1
    unreadable = len(scored) - sum(options.values())
    return Probe(step, options, unreadable, sum(map(is_right, scored))) if scored else None
