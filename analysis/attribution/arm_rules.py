"""What is known of a wrong trial without any replay: by the arms between no tools and all, and by trials that had the
same tools and lack its signs."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from toolablate.analysis.attribution.change_rates import (
    ChangeRates,
    JointSteps,
    Part,
    Step,
    SteppedTrial,
    Where,
    either,
)
from toolablate.analysis.attribution.evidence import LONG_RESULTS, VERY_LONG_RESULTS, Evidence, shown_chars
from toolablate.analysis.attribution.expected_failures import Expected
from toolablate.analysis.attribution.level_chances import LevelTally, drawn_chances, low_or_changed
from toolablate.analysis.attribution.levels import tally_of
from toolablate.analysis.attribution.sequential import HIGH, LOW
from toolablate.analysis.attribution.sign_rates import SignRate, SignSeen, fitted_sign_rate
from toolablate.analysis.attribution.trace_rules import ArmShares, beside_pool, outside_signs, taken_from
from toolablate.analysis.pairing import RIGHT
from toolablate.analysis.statistics.intervals import Floats
from toolablate.traces.records import Mechanism

_MECHANISMS: Mapping[Part, Mechanism] = {
    "budget": "budget",
    "tool_fault": "tool_fault",
    "again": "sampling_noise",
    "volume": "volume",
    "calling": "calling",
    "availability": "availability",
    "prompt": "prompt",
}
"""Of all parts but results, which no arm tells apart: `search` stands for those of any tool."""

_FIRST: JointSteps = (("first_low", ""),)


@dataclass(frozen=True, slots=True)
class _Level:
    """Runs at one level, and all that was taken away since the level before: no runs tell these steps apart."""

    tally: LevelTally
    steps: JointSteps = ()


def _between(evidence: Evidence) -> dict[str, tuple[float, ...]]:
    """The arms between no tools and all that have runs."""
    arms = evidence.inputs.arms
    found = {"placebo": arms.placebo, "sham": arms.sham, "offered": arms.offered}
    if evidence.signals.prompted:
        found["scaffold"] = arms.scaffold
    return {name: scores for name, scores in found.items() if scores}


def _levels(evidence: Evidence) -> list[_Level]:
    """The trials with its signs, those of the same tools without, and the arms.

    A sign from outside (a limit, a tool that failed) is a level of its own where trials of the question lack it. Where
    none does, whatever goes with the calls may as well be the sign's doing: arms with calls are stopped and fail too,
    or are not, and their scores do not tell.
    """
    arms = evidence.inputs.arms
    signs = outside_signs(evidence.signals, evidence.score)
    levels = [_Level(tally_of(evidence.signed or (evidence.inputs.score, *evidence.repeats)))]
    if evidence.unsigned:
        levels.append(_Level(tally_of(evidence.unsigned), tuple((sign, "") for sign in signs)))
    untold = () if evidence.unsigned else signs
    long = shown_chars(evidence.signals) >= LONG_RESULTS
    below: list[tuple[Part, Where, tuple[float, ...]]] = []
    if evidence.called:
        below += [
            ("search", "results_gone", arms.placebo),
            ("volume" if long else "calling", "calls_empty", arms.sham),
        ]
    below.append(("calling" if evidence.called else "again", "calls_gone", arms.offered))
    if evidence.signals.prompted:
        below.append(("availability", "", arms.scaffold))
    below.append(("prompt" if evidence.signals.prompted else "availability", "", arms.without_tools))
    passed: list[Step] = []
    for part, gone, scores in below:
        passed += [_step(part, evidence), *((sign, gone) for sign in untold if gone)]
        if scores:
            # A level without runs hands on what was taken away for it. What is drawn again is no cause beside others.
            told = tuple(step for step in dict.fromkeys(passed) if step[0] != "again")
            levels.append(_Level(tally_of(scores), told or (("again", ""),)))
            passed = []
    return levels


def _step(part: Part, evidence: Evidence) -> Step:
    where: Where = "not_asked"
    if part == "again":
        where = ""
    elif part == "volume":
        where = "very_long" if shown_chars(evidence.signals) >= VERY_LONG_RESULTS else "long"
    elif part in ("availability", "prompt"):
        where = "called" if evidence.called else "not_called"
    return part, where


def stepped_by_arms(evidence: Evidence) -> SteppedTrial | None:
    """What `fitted_rates` has of a wrong trial that was not replayed. None without an answer."""
    if has_no_answer(evidence):
        return None
    levels = _levels(evidence)
    return SteppedTrial(
        (evidence.model, evidence.condition),
        [
            (
                [_FIRST, *(level.steps for level in levels[1:])],
                partial(_low_or_changed, [level.tally for level in levels]),
            )
        ],
    )


def before_wrong(first_low: float) -> float:
    """How likely trials like a wrong one are mostly wrong, before that one is seen: the first level counts it, and it
    is there because it is wrong, which must not count twice."""
    (low_right, low_wrong), (high_right, high_wrong) = LOW, HIGH
    odds = first_low / (1 - first_low)
    odds *= (high_wrong / (high_right + high_wrong)) / (low_wrong / (low_right + low_wrong))
    return odds / (1 + odds)


def _low_or_changed(tallies: Sequence[LevelTally], chances: Sequence[float]) -> Floats:
    return low_or_changed(tallies, [before_wrong(chances[0]), *chances[1:]])


def has_no_answer(evidence: Evidence) -> bool:
    """Whether it ended by itself, and its answer cannot be read: its score says nothing of what it would be."""
    unread = evidence.score.verdict == "unparsed" and not evidence.signals.names_another
    return unread and "budget" not in outside_signs(evidence.signals, evidence.score)


def blame_by_arms(evidence: Evidence, rates: ChangeRates | None = None) -> ArmShares | None:
    """The same as `replay_rules.blame` without any replay: by what differs between the trials of the condition, those
    that lack its signs, the arms between it and no tools, and the trials without tools. `rates` are those of its store.
    None where neither this condition has an arm in between, nor another one that rates were fitted to."""
    between, rates, group = _between(evidence), rates or ChangeRates(), (evidence.model, evidence.condition)
    if not between and group not in rates.arms:
        return None
    rate: Callable[[Step], float] = partial(rates.of_arms, group)
    levels = _levels(evidence)
    joint = [level.steps for level in levels[1:]]
    chances = drawn_chances(
        [level.tally for level in levels],
        [either(rate(step) for step in steps) for steps in joint],
        first_low=before_wrong(rate(*_FIRST)),
    )
    highest, wrong = np.maximum.accumulate(chances, axis=1), 1 - chances[:, 0]
    found: dict[Mechanism, float] = defaultdict(float)
    results = 0.0
    for place, steps in enumerate(joint, start=1):
        restored = float(np.mean((highest[:, place] - highest[:, place - 1]) / wrong))
        whole = math.fsum(rate(step) for step in steps)
        for step in steps:
            share = restored * rate(step) / whole
            if step[0] == "search":
                results += share
            else:
                found[_MECHANISMS[step[0]]] += share
    left, no_tools = (1 - highest[:, -1]) / wrong, chances[:, -1] >= RIGHT
    found["sampling_noise"] += float(np.mean(left * no_tools))
    found["own_error"] += float(np.mean(left * ~no_tools))
    counted = (f"{name} {sum(score >= RIGHT for score in of)} of {len(of)}" for name, of in between.items())
    return ArmShares(dict(found), results, ", ".join(counted) or "no arm in between", _right_anyway(evidence))


def _right_anyway(evidence: Evidence) -> float:
    """How likely the question is right where no call loses the answer's form."""
    arms = evidence.inputs.arms
    scores = (*arms.without_tools, *arms.offered)
    return (sum(score >= RIGHT for score in scores) + 0.5) / (len(scores) + 1)


def fitted_signs(found: Iterable[tuple[Evidence, ArmShares, Expected]]) -> dict[Mechanism, SignRate]:
    """Of wrong trials with what arms tell of each: by the mechanism of a kind of tool, how surely an answer that comes
    from its results was made wrong by them."""
    seen: dict[Mechanism, list[SignSeen]] = defaultdict(list)
    for evidence, arms, expected in found:
        _, results = beside_pool(arms, expected)
        for mechanism, taken in taken_from(evidence.signals).items():
            seen[mechanism].append(SignSeen(taken is not None, results))
    return {mechanism: fitted_sign_rate(trials) for mechanism, trials in seen.items()}
