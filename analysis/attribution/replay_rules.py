"""Replay rules: how likely each mechanism is to be what made a trial wrong, by what its replays came to."""

import math
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, pairwise, permutations
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from toolablate.analysis.attribution.decomposition import Arms, Replay, Scores, ToolKind
from toolablate.analysis.attribution.evidence import KINDS, Evidence, Fall, computes_an_answer, fall_at, is_locked_in
from toolablate.analysis.attribution.trace_rules import distraction, faults, ran_out
from toolablate.analysis.pairing import RIGHT, mean
from toolablate.analysis.statistics.intervals import Floats
from toolablate.traces.records import Attribution, Distraction, Mechanism

PRIOR = 0.5
"""Both parameters of the beta distribution that a chance has before anything is seen (Jeffreys)."""

DRAWS = 400

LIKELY = 0.5
"""Under it a page names the next likeliest mechanism as well."""


@dataclass(frozen=True, slots=True)
class LevelTally:
    """Runs at one level, and the sum of their scores, each in [0, 1]."""

    runs: int
    right: float


def drawn_chances(
    tallies: Sequence[LevelTally], changes: Sequence[float], *, draws: int = DRAWS, seed: int = 0
) -> Floats:
    """Draws from what is known of the levels' chances, draws x levels.

    `changes` are the probabilities in (0, 1) that a level differs from the one before it, before anything is seen, one
    for each level but the first; levels between two changes have one chance, and their runs are pooled. So a few runs
    by chance make no difference, and one that is there is seen by the runs of all levels on both sides: a product
    partition model (Barry and Hartigan 1993, "A Bayesian analysis for change point problems", JASA 88), with
    beta-binomial levels and, for so few of them, every partition weighed.
    """
    pairs, owners, begins = _partitions(len(tallies))
    runs = np.array([0.0, *np.cumsum([each.runs for each in tallies])])
    right = np.array([0.0, *np.cumsum([each.right for each in tallies])])
    good = right[pairs[:, 1]] - right[pairs[:, 0]] + PRIOR
    bad = runs[pairs[:, 1]] - runs[pairs[:, 0]] - good + 2 * PRIOR
    # Every run of levels but the first follows a change.
    before = np.array([0.0, *(math.log(change / (1 - change)) for change in changes)])
    worth = _log_beta(good, bad) - _log_beta(PRIOR, PRIOR) + before[pairs[:, 0]]
    likely = (worth[owners] * begins).sum(axis=1)
    weights = np.exp(likely - likely.max())
    rng = np.random.default_rng(seed)
    chosen = rng.choice(len(weights), size=draws, p=weights / weights.sum())
    chances = rng.beta(good, bad, size=(draws, len(pairs)))
    return np.take_along_axis(chances, owners[chosen], axis=1)


@lru_cache(maxsize=32)
def _partitions(levels: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    """Runs of neighbouring levels as begin and end; then, of every way to cut the chain into such runs, the run that
    each level belongs to, and whether one begins there."""
    pairs = list(combinations(range(levels + 1), 2))
    places = {pair: place for place, pair in enumerate(pairs)}
    numbers = np.arange(2 ** (levels - 1))[:, None]
    cut = (numbers >> np.arange(levels - 1)) & 1
    begins = np.hstack([np.ones((len(numbers), 1), dtype=bool), cut.astype(bool)])
    owners = [
        [places[begin, end] for begin, end in pairwise(ends) for _ in range(begin, end)]
        for ends in ([*np.flatnonzero(row).tolist(), levels] for row in begins)
    ]
    return np.array(pairs), np.array(owners), begins


def _log_beta(first: Floats | float, second: Floats | float) -> Floats:
    log_gamma = np.vectorize(math.lgamma, otypes=[float])
    found: Floats = log_gamma(first) + log_gamma(second) - log_gamma(np.add(first, second))
    return found


# The levels of one wrong trial: how often runs are right as more and more of what was at work is taken away.


Part = Literal[
    "budget",
    "tool_fault",
    "again",
    "search",
    "code",
    "other",
    "first_reply",
    "calling",
    "availability",
    "prompt",
]
"""What is taken away on the way to a level; `again` is nothing but what was drawn after the first call, `first_reply`
nothing but the reply that made it, and a kind of tool its results."""

_NAMED: tuple[Part, ...] = (
    *("search", "code", "other", "first_reply", "calling", "availability", "prompt", "tool_fault", "budget"),
)


@dataclass(frozen=True, slots=True)
class Level:
    """Runs at one level, and what was taken away since the level before."""

    part: Part
    tally: LevelTally


def chains(evidence: Evidence) -> tuple[tuple[Level, ...], ...]:
    """The levels from the trial as it was to the question without tools, in the order of the decomposition's; one chain
    for each order in which kinds of tools lose their results. Levels without runs are left out, and orders that tell
    less apart than others: of a tool without placebos it is not known what taking it away first does."""
    orders = permutations(sorted(evidence.inputs.tools))
    fall = fall_at(evidence.flip, evidence.steps, evidence.signals.calls) if evidence.flip else None
    found = [
        tuple(_filled([*_before(evidence, order, fall), *_without_results(evidence, order)], fall)) for order in orders
    ]
    most = max(map(len, found))
    return tuple(levels for levels in found if len(levels) == most)


def _filled(levels: Sequence[Level], fall: Fall | None) -> Iterator[Level]:
    """A level without runs hands on what was taken away for it."""
    passed: list[Part] = []
    for level in levels:
        passed.append(level.part)
        if level.tally.runs:
            yield Level(_named_of(passed, fall), level.tally)
            passed = []


def _named_of(passed: Sequence[Part], fall: Fall | None) -> Part:
    """Of what was taken away together what the belief falls at; else the results before the calls, and these before
    what is there without any."""
    fell: list[Part] = []
    if fall is not None and fall.at == "results":
        fell += sorted(fall.kinds)
    elif fall is not None and fall.at == "reply":
        fell.append("calling")
    return next((part for part in (*fell, *_NAMED) if part in passed), "again")


def _before(evidence: Evidence, order: Sequence[ToolKind], fall: Fall | None) -> Iterator[Level]:
    """As it was, repaired from outside, drawn again, and without the results of one kind of tool after another."""
    replay, signals = evidence.inputs.replay or Replay(), evidence.signals
    stopped, broken = ran_out(signals), bool(faults(signals))
    yield Level("again", _believed(evidence, len(evidence.steps) - 1))
    if stopped:
        yield Level("budget", _tally(replay.extended))
    if broken:
        yield Level("tool_fault", _tally(replay.repaired))
    if not order:
        return
    # What goes on from the one result has the trial's own budget and faults.
    pivotal = None if stopped or broken else evidence.pivotal
    turned = fall.kinds if fall else frozenset()
    yield Level("again", _tally((*replay.rollouts.get(frozenset(), ()), *(pivotal.kept if pivotal else ()))))
    for number, kind in enumerate(order, start=1):
        if pivotal and kind in turned:
            yield Level(kind, _tally(pivotal.without))
        yield Level(kind, _tally(replay.rollouts.get(frozenset(order[:number]), ())))
    if not replay.rollouts.get(frozenset(order)):
        yield Level(order[-1], _believed(evidence, _step_before_results(evidence)))


def _step_before_results(evidence: Evidence) -> int:
    """Where there are no placebos: once the first calls that were not refused are made, and nothing is given yet."""
    refused = {each.event for each in evidence.signals.refused}
    first = min((call.event for call in evidence.signals.calls if call.event not in refused), default=0)
    return bisect_right(evidence.steps, first) - 1


def _without_results(evidence: Evidence, order: Sequence[ToolKind]) -> Iterator[Level]:
    """The arms of the ladder, and the belief at the first step, at which nothing was called yet. Calls that were all
    refused have no results, and are calls."""
    arms = evidence.inputs.arms
    if order:
        # Replays keep this trial's first reply, the arm draws it anew: its luck is no cause.
        yield Level("first_reply", _tally(arms.placebo))
        yield Level("calling", _tally(arms.sham))
    if evidence.called:
        yield Level("calling", _believed(evidence, 0))
    yield Level("calling" if evidence.called else "again", _tally((*arms.offered, *evidence.outset)))
    yield from _without_tools(arms, prompted=evidence.signals.prompted)


def _without_tools(arms: Arms, *, prompted: bool) -> Iterator[Level]:
    """Without a prompt the scaffold is the question alone."""
    if prompted:
        yield Level("availability", _tally(arms.scaffold))
    yield Level("prompt" if prompted else "availability", _tally(arms.none))


def _believed(evidence: Evidence, step: int) -> LevelTally:
    beliefs = evidence.trajectory.beliefs if evidence.trajectory else ()
    found = next((belief for belief in beliefs if belief.step == step), None)
    return LevelTally(found.samples, found.right.mean * found.samples) if found else LevelTally(0, 0.0)


def _tally(scores: Scores) -> LevelTally:
    return LevelTally(len(scores), math.fsum(scores))


# How likely each mechanism is to be what made a trial wrong.


OF_PARTS: Mapping[Part, Mechanism] = {
    "budget": "budget",
    "tool_fault": "tool_fault",
    "again": "sampling_noise",
    "first_reply": "sampling_noise",
    "search": "retrieval_distraction",
    "code": "lock_in",
    "other": "other_results",
    "calling": "calling",
    "availability": "availability",
    "prompt": "prompt",
}
CHANGES: Mapping[Part, float] = {
    "budget": 0.5,
    "tool_fault": 0.5,
    "again": 0.05,
    "first_reply": 0.1,
}
"""How likely a level is to differ from the one before it, before any run is seen: a limit that ran out and a tool that
failed mostly matter, and what is drawn again has no reason to be another."""

RESULTS, CALLS = (0.5, 0.05), (0.3, 0.03)
"""The same of results, where the belief falls for good at results of their kind and where it does not; and of calls,
where it falls at a reply that makes some and where it does not. Set by hand, on the planted benchmark's half for
tuning, where it hardly matters by how much the two differ."""

OFFER = (0.3, 0.1)
"""The same of the offer of tools and of the condition's words, where nothing was called, so that little else can have
done it, and where something was."""

UNPROBED = 0.2
"""Of both where no belief was asked for."""

ORDER: tuple[Mechanism, ...] = (
    *("format", "budget", "tool_fault", "retrieval_distraction", "lock_in", "other_results", "calling"),
    *("availability", "prompt", "sampling_noise", "own_error"),
)


def blame(evidence: Evidence) -> dict[Mechanism, float]:
    """The probability of each mechanism, given that the trial is wrong; they sum to 1.

    Where the chance of being right is p with something and q without it, and taking it away makes nothing wrong that
    was right, a wrong trial would have been right without it with the probability (q - p) / (1 - p): the probability of
    necessity (Pearl 1999, "Probabilities of causation", Synthese 121; Tian and Pearl 2000, Annals of Mathematics and
    AI 28) under monotonicity. Along the chain each part gets what it adds to the highest chance before it. What no part
    restores is `sampling_noise` where the question without tools is right more often than not, else `own_error`. Over
    the draws of what is known of the chances, that is averaged; over orders of kinds of tools as well.

    An answer that could not be read is right with the share of those that were asked for once more: that is `format`,
    and the others share the rest.
    """
    found: dict[Mechanism, float] = defaultdict(float)
    named = _named(evidence)
    orders = chains(evidence)
    for levels in orders:
        chances = drawn_chances([level.tally for level in levels], _changes(levels[1:], evidence))
        for mechanism, share in _shared(levels, chances, named).items():
            found[mechanism] += share / len(orders)
    lost = _lost_by_form(evidence)
    shares = {mechanism: (1 - lost) * found[mechanism] for mechanism in ORDER if mechanism in found}
    return {"format": lost, **shares} if lost else shares


def _changes(levels: Sequence[Level], evidence: Evidence) -> list[float]:
    fall = fall_at(evidence.flip, evidence.steps, evidence.signals.calls) if evidence.flip else None
    at_calls = fall is not None and fall.at != "results"
    at_results = fall.kinds if fall is not None and fall.at != "reply" else frozenset[ToolKind]()
    probed = evidence.trajectory is not None

    def change(part: Part) -> float:
        if part in CHANGES:
            return CHANGES[part]
        if part in ("availability", "prompt"):
            return OFFER[evidence.called]
        if not probed:
            return UNPROBED
        expected, other = CALLS if part == "calling" else RESULTS
        return expected if (at_calls if part == "calling" else part in at_results) else other

    return [change(level.part) for level in levels]


def _shared(levels: Sequence[Level], chances: Floats, named: Mapping[Part, Mechanism]) -> dict[Mechanism, float]:
    highest = np.maximum.accumulate(chances, axis=1)
    wrong = 1 - chances[:, 0]
    found: dict[Mechanism, float] = defaultdict(float)
    for place, level in enumerate(levels[1:], start=1):
        found[named[level.part]] += float(np.mean((highest[:, place] - highest[:, place - 1]) / wrong))
    left: Floats = (1 - highest[:, -1]) / wrong
    no_tools = chances[:, -1] >= RIGHT
    found["sampling_noise"] += float(np.mean(left * no_tools))
    found["own_error"] += float(np.mean(left * ~no_tools))
    return found


def _named(evidence: Evidence) -> Mapping[Part, Mechanism]:
    """Calls of code that did it whatever they gave are a lock-in where the model comes back once the computation is set
    aside: with placebo results it has put the question into the same code. Results that hold nothing mislead nobody:
    what goes with them is that a call was made."""
    named = dict(OF_PARTS)
    for kind in _kinds_without_content(evidence):
        named[kind] = "calling"
    return {**named, "calling": "lock_in"} if named["code"] == "lock_in" and _comes_back(evidence) else named


def _kinds_without_content(evidence: Evidence) -> frozenset[ToolKind]:
    """Of tools whose calls all failed by the model's own doing, or found nothing. Of a tool that failed itself the
    replays have what it gives when it works; an attempt that infrastructure spoiled does not say of which it was."""
    calls, broken = evidence.signals.calls, set(faults(evidence.signals))
    if not broken <= {call.event for call in calls}:
        return frozenset()
    return evidence.inputs.tools - {KINDS[call.form] for call in calls if call.gave or call.event in broken}


def _comes_back(evidence: Evidence) -> bool:
    """To a belief nearer to the first than to the last, where no other fall was found."""
    if evidence.inputs.tools != {"code"} or evidence.trajectory is None or not evidence.ignore_tools:
        return False
    if not computes_an_answer(evidence.signals):
        return False
    if evidence.flip is not None:
        return is_locked_in(evidence.flip, evidence.steps, evidence.signals, evidence.ignore_tools)
    shares = [belief.right.mean for belief in evidence.trajectory.beliefs]
    return mean(evidence.ignore_tools) > (shares[0] + shares[-1]) / 2


def _lost_by_form(evidence: Evidence) -> float:
    re_asked = evidence.re_asked if evidence.score.verdict == "unparsed" else ()
    return (sum(re_asked) + PRIOR) / (len(re_asked) + 2 * PRIOR) if re_asked else 0.0


# Why a trial went wrong, from what it comes to when it is taken up again with one thing changed.


NOTES: dict[Mechanism, str] = {
    "format": "the answer re-ask gives the right answer",
    "budget": "right with a larger budget",
    "tool_fault": "right with tools that work",
    "retrieval_distraction": "right without what was found",
    "lock_in": "right without the computation",
    "other_results": "right without the tools' results",
    "calling": "right without the calls, whatever their results",
    "availability": "right without the offer of tools",
    "prompt": "right without the condition's prompt",
    "sampling_noise": "resampled with nothing taken away",
    "own_error": "nothing that was taken away makes it right",
}
"""What is counted; how many runs are right comes after it."""


def attribute_by_replay(evidence: Evidence) -> Attribution | None:
    """The likeliest mechanism of a wrong trial (scored below one half) that was replayed, None for any other. None also
    where the answer is the right one in another form: whether a replay has it in that form is not looked at.

    The confidence is the probability that it is this one (`blame`), as far as the number of runs lets it be known.
    """
    value = evidence.score.value
    if value is None or value >= RIGHT or evidence.inputs.replay is None or evidence.signals.misstated:
        return None
    shares = blame(evidence)
    mechanism = max(shares, key=lambda each: shares[each])
    flip = evidence.flip
    fall = fall_at(flip, evidence.steps, evidence.signals.calls) if flip else None
    return Attribution(
        trial=evidence.inputs.trial,
        mechanism=mechanism,
        method="replay",
        confidence=round(min(shares[mechanism], 1.0), 4),
        distraction=_distraction(evidence, fall) if mechanism == "retrieval_distraction" else None,
        turned_at=fall.event if fall else None,
        evidence=tuple(sorted(set(_events(mechanism, evidence, fall)))),
        note=_note(mechanism, shares, evidence),
    )


def _distraction(evidence: Evidence, fall: Fall | None) -> Distraction | None:
    no_tools = [each.signals for each in evidence.no_tools]
    return distraction(evidence.signals, no_tools, evidence.diagnoses, fall.events if fall else ())


def _note(mechanism: Mechanism, shares: Mapping[Mechanism, float], evidence: Evidence) -> str:
    """With the counts that it rests on, and the next likeliest where the likeliest is less likely than not."""
    arms = evidence.inputs.arms
    what = NOTES[mechanism]
    if mechanism == "availability" and evidence.signals.prompted and not arms.scaffold:
        what = "without the offer of tools and the condition's words, which no arm tells apart, it is right"
    restored = _restored(mechanism, evidence)
    counted = f": {restored.right:g} of {restored.runs} right" if restored else ""
    other = max((each for each in shares if each != mechanism), key=lambda each: shares[each], default=None)
    beside = ""
    if other is not None and shares[mechanism] < LIKELY:
        beside = f"; next {other.replace('_', ' ')}, {shares[other]:.2f}"
    right = sum(score >= RIGHT for score in arms.none)
    without = f"{right} of {len(arms.none)} trials without tools are right"
    return f"{what}{counted} (probability {shares[mechanism]:.2f}{beside}); {without}"


def _restored(mechanism: Mechanism, evidence: Evidence) -> LevelTally | None:
    """Of the levels at which the mechanism is gone first, that at which most runs are right."""
    named = _named(evidence)
    tallies = [level.tally for level in chains(evidence)[0][1:] if named[level.part] == mechanism]
    return max(tallies, key=lambda tally: tally.right / tally.runs, default=None)


def _events(mechanism: Mechanism, evidence: Evidence, fall: Fall | None) -> Iterator[int]:
    signals = evidence.signals
    match mechanism:
        case "format":
            yield from (event for event in (signals.ending.event,) if event is not None)
        case "budget":
            yield from (*signals.budget.not_run, *(() if signals.budget.event is None else (signals.budget.event,)))
        case "tool_fault":
            yield from faults(signals)
        case "availability":
            yield from (tool.event for tool in signals.unused)
        case "retrieval_distraction" | "lock_in" | "other_results" | "calling":
            yield from _events_of_results(mechanism, evidence, fall)
        case _:
            pass


def _events_of_results(mechanism: Mechanism, evidence: Evidence, fall: Fall | None) -> Iterator[int]:
    """Where the belief fell; else results of negative Shapley value, else those of the tool."""
    forms = {"lock_in": ("code",), "retrieval_distraction": ("search", "page"), "other_results": ("other",)}.get(
        mechanism
    )
    calls = [call for call in evidence.signals.calls if forms is None or call.form in forms]
    adopted = evidence.signals.adoption
    if adopted is not None and forms is not None and adopted.form in forms:
        yield adopted.event
    if fall is not None:
        yield from (fall.event, *fall.events)
        return
    harming = [
        call.event for call in calls if call.event in evidence.shapley and evidence.shapley[call.event].value < 0
    ]
    yield from harming or [call.event for call in calls if call.gave or mechanism == "calling"]
