"""Replay rules: how likely each mechanism is to be what made a trial wrong, by what its replays came to."""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from functools import partial
from typing import Literal

import numpy as np

from toolablate.analysis.attribution.belief import Trajectory
from toolablate.analysis.attribution.change_rates import ChangeRates, Part, Step, SteppedTrial, Where
from toolablate.analysis.attribution.decomposition import Replay, ToolKind
from toolablate.analysis.attribution.evidence import (
    KINDS,
    VERY_LONG_RESULTS,
    Evidence,
    Fall,
    computes_an_answer,
    fall_at,
    is_locked_in,
    shown_chars,
)
from toolablate.analysis.attribution.fall_search import likeliest_fall
from toolablate.analysis.attribution.forced_answers import Forcing
from toolablate.analysis.attribution.level_chances import (
    LevelTally,
    changed,
    drawn_chances,
    fits_of,
    path_weights,
    paths_of,
)
from toolablate.analysis.attribution.levels import (
    AGAIN,
    LAST_REPLY,
    SHAM,
    WITHOUT_CALLS,
    Level,
    chains,
    swapped_results,
    tally_of,
    told_levels,
)
from toolablate.analysis.attribution.report import mechanism_name
from toolablate.analysis.attribution.sequential import best_of, expected_gains, log_beta
from toolablate.analysis.attribution.trace_rules import (
    BY_CHANCE,
    SHOWN,
    blamed,
    distraction,
    faults,
    lacks_packages,
    repairable,
)
from toolablate.analysis.pairing import RIGHT, mean
from toolablate.analysis.statistics.intervals import Floats
from toolablate.traces.records import Attribution, Distraction, Mechanism, ReplayPurpose

RE_ASKED_PRIOR = 0.1
"""Both parameters of the beta distribution of the share of right answers among those asked for once more after a final
reply: the model says again what it said there, so that they are mostly all right or all wrong."""

LIKELY = 0.5
"""Under it a page names the next likeliest mechanism as well."""


NO_RUNS = LevelTally(0, 0)

_Blamed = Part | Literal["both", "anyway"]
"""`both`: two kinds of tools together. `anyway`: what no part restores though most runs are right without one."""

OF_PARTS: Mapping[_Blamed, Mechanism] = {
    "budget": "budget",
    "tool_fault": "tool_fault",
    "again": "sampling_noise",
    "first_reply": "sampling_noise",
    "search": "retrieval_distraction",
    "code": "lock_in",
    "other": "other_results",
    "volume": "volume",
    "calling": "calling",
    "availability": "availability",
    "prompt": "prompt",
    "both": "interaction",
    "anyway": "sampling_noise",
}
ORDER: tuple[Mechanism, ...] = (
    *("format", "budget", "tool_fault", "retrieval_distraction", "lock_in", "other_results", "interaction", "volume"),
    *("calling", "availability", "prompt", "sampling_noise", "own_error"),
)


def blame(evidence: Evidence, rates: ChangeRates | None = None) -> dict[Mechanism, float]:
    """The probability of each mechanism, given that the trial is wrong; they sum to 1. `rates` are those of its store.

    Where the chance of being right is p with something and q without it, and taking it away makes nothing wrong that
    was right, a wrong trial would have been right without it with the probability (q - p) / (1 - p): the probability of
    necessity (Pearl 1999, "Probabilities of causation", Synthese 121; Tian and Pearl 2000, Annals of Mathematics and
    AI 28) under monotonicity. Along the chain each part gets what it adds to the highest chance before it. What no part
    restores is `sampling_noise` where any level, as the trial was or without tools, is right more often than not, else
    `own_error`. That is averaged over draws of what is known of the chances, and over orders of kinds of tools.

    An answer that could not be read is right with the share of those that were asked for once more: that is `format`,
    and the others share the rest.
    """
    return _blame(evidence, rates or ChangeRates(), _lost_by_form(evidence))


def due_to(part: _Blamed, mechanism: Mechanism, evidence: Evidence, rates: ChangeRates) -> float:
    """How much of the probability of a mechanism, from 0 to 1, is that of a part that is named so: of the chain, or
    `anyway`."""
    named = _named(evidence)
    whole = _blame(evidence, rates, 0.0).get(mechanism, 0.0)
    if named[part] != mechanism or not whole:
        return 0.0
    apart: dict[_Blamed, Mechanism] = {**named, part: "unknown"}
    return 1 - _blame(evidence, rates, 0.0, named=apart).get(mechanism, 0.0) / whole


def before_runs(evidence: Evidence, rates: ChangeRates) -> dict[Mechanism, float]:
    """As `blame`, before any run of the trial is counted: by `rates`, and by where its early answers turn wrong."""
    asked_again = _lost_by_form(evidence) > 0
    return _blame(evidence, rates, 0.5 if asked_again else 0.0, as_if=lambda _what, _tally: NO_RUNS)


def blame_without(what: str, evidence: Evidence, rates: ChangeRates) -> dict[Mechanism, float]:
    """As `blame`, were the runs of one kind not there (`Level.what`, or `OTHER_ANSWERS`): how much the verdict rests on
    them. Their level stays, without any; where the belief falls is found anew without them."""
    lost, of_fall = _lost_by_form(evidence), _without_answers(_steps_of(what, evidence), evidence, rates)
    return _blame(of_fall, rates, lost, as_if=lambda each, tally: NO_RUNS if each == what else tally)


OTHER_ANSWERS = "early answers that are no level"
"""They tell where the belief falls alone."""


def _steps_of(what: str, evidence: Evidence) -> set[int]:
    """The steps at which runs of this kind tell what the model believes."""
    asked = {each.step for each in (evidence.trajectory.beliefs if evidence.trajectory else ())}
    of_levels = {
        level.what: level.purpose.step
        for levels in told_levels(evidence)
        for level in levels
        if level.purpose is not None and level.purpose.step is not None
    }
    if evidence.last_reply:
        of_levels[LAST_REPLY] = len(evidence.steps) - 1
    if what == OTHER_ANSWERS:
        return asked - {*of_levels.values()}
    return asked & {of_levels[what]} if what in of_levels else set()


def _without_answers(steps: Set[int], evidence: Evidence, rates: ChangeRates) -> Evidence:
    """With the place at which the belief falls by the answers at other steps."""
    if not steps or evidence.trajectory is None:
        return evidence
    beliefs = tuple(each for each in evidence.trajectory.beliefs if each.step not in steps)
    left = replace(evidence, trajectory=Trajectory(beliefs) if beliefs else None, flip=None)
    return replace(evidence, flip=likeliest_fall(left, blame(left, rates)))


def blame_with(what: str, more: LevelTally, evidence: Evidence, rates: ChangeRates) -> dict[Mechanism, float]:
    """As `blame`, with more runs of one kind: what these would tell. Where the belief falls stays as it is."""

    def summed(each: str, tally: LevelTally) -> LevelTally:
        return LevelTally(tally.runs + more.runs, tally.right + more.right) if each == what else tally

    return _blame(evidence, rates, _lost_by_form(evidence), as_if=summed)


_AsIf = Callable[[str, LevelTally], LevelTally]
"""By `Level.what`, the runs that a level is taken to have in place of its own."""


def _as_they_are(_what: str, tally: LevelTally) -> LevelTally:
    return tally


def _blame(
    evidence: Evidence,
    rates: ChangeRates,
    lost: float,
    *,
    as_if: _AsIf = _as_they_are,
    named: Mapping[_Blamed, Mechanism] | None = None,
) -> dict[Mechanism, float]:
    """`lost` is the probability that an answer was lost by its form."""
    found: dict[Mechanism, float] = defaultdict(float)
    named = _named(evidence) if named is None else named
    of_orders = []
    for levels in chains(evidence, _forcing(evidence, rates)):
        changes = [rates.of(_group(evidence), step) for step in _steps(levels[1:], evidence)]
        chances = drawn_chances([as_if(level.what, level.tally) for level in levels], changes)
        shared, left = _shared(levels, chances, evidence, partial(rates.of, _group(evidence)))
        of_orders.append(shared)
        for mechanism, share in left.items():
            found[mechanism] += share
    for part, share in _over_orders(evidence, of_orders, as_if).items():
        found[named[part]] += share
    found = {mechanism: share / len(of_orders) for mechanism, share in found.items()}
    shares = {mechanism: (1 - lost) * found[mechanism] for mechanism in ORDER if mechanism in found}
    return {"format": lost, **shares} if lost else shares


def _forcing(evidence: Evidence, rates: ChangeRates) -> Forcing:
    return rates.forcing.get(evidence.model, Forcing())


def stepped(evidence: Evidence, forcing: Forcing) -> SteppedTrial:
    """What `fitted_rates` has of a wrong trial."""
    return SteppedTrial(
        _group(evidence),
        [
            ([(step,) for step in _steps(levels[1:], evidence)], partial(changed, [level.tally for level in levels]))
            for levels in chains(evidence, forcing)
        ],
    )


# Which level to replay next.


def next_level(
    evidence: Evidence,
    rates: ChangeRates,
    *,
    precision: float,
    cost: Callable[[ReplayPurpose], float | None],
) -> ReplayPurpose | None:
    """What the runs are for that are expected to raise the probability of the likeliest mechanism most, for their
    `cost` in requests; None where that is as likely as `precision`, or no level is worth more runs of those that may
    have any: of others the cost is None."""
    named = _named(evidence)
    gains: dict[ReplayPurpose, float] = defaultdict(float)
    likely: dict[Mechanism, float] = defaultdict(float)
    orders = chains(evidence, _forcing(evidence, rates))
    for levels in orders:
        mechanisms, weights, good, bad = _hypotheses(evidence, levels, named, rates)
        distinct = list(dict.fromkeys(mechanisms))
        names = np.array([[mechanism == name for mechanism in mechanisms] for name in distinct], dtype=float)
        for name, probability in zip(distinct, (names @ weights).tolist(), strict=True):
            likely[name] += probability / len(orders)
        for level, gain in zip(levels, expected_gains(weights, names, good, bad).tolist(), strict=True):
            if level.purpose is not None:
                gains[level.purpose] += gain / len(orders)
    shared, of_two_kinds = _alone_or_both_next(evidence, named, likely, len(orders))
    for purpose, gain in of_two_kinds.items():
        gains[purpose] += gain
    # What a lost form may explain no run of a level does.
    left = 1 - _lost_by_form(evidence)
    if max(1 - left, left * max((likely | shared).values())) >= precision:
        return None
    gains = {purpose: left * gain for purpose, gain in gains.items()}
    costs = {purpose: known for purpose in gains if (known := cost(purpose)) is not None}
    place = best_of([gains[purpose] for purpose in costs], list(costs.values()))
    return None if place is None else list(costs)[place]


def _hypotheses(
    evidence: Evidence, levels: Sequence[Level], named: Mapping[_Blamed, Mechanism], rates: ChangeRates
) -> tuple[list[Mechanism], Floats, Floats, Floats]:
    """As `expected_gains` has them, with their mechanisms: every path of the levels. It has the mechanism of its first
    change from low to high; where it is high at once, or always low, what is drawn again decides, or nothing does."""
    tallies = [level.tally for level in levels]
    paths, fits = paths_of(len(levels)), fits_of(tuple(tallies))
    changes = [rates.of(_group(evidence), step) for step in _steps(levels[1:], evidence)]
    rises = (paths.states[:, 1:] == 1) & (paths.states[:, :-1] == 0)
    first = np.where(rises.any(axis=1), rises.argmax(axis=1), -1)
    of_levels = [named[level.part] for level in levels[1:]]
    mechanisms: list[Mechanism] = [
        "sampling_noise" if state else of_levels[place] if place >= 0 else "own_error"
        for place, state in zip(first.tolist(), paths.states[:, 0].tolist(), strict=True)
    ]
    places = paths.states, paths.owners
    return mechanisms, path_weights(paths, fits, changes), fits.good[places], fits.bad[places]


def _alone_or_both_next(
    evidence: Evidence, named: Mapping[_Blamed, Mechanism], likely: Mapping[Mechanism, float], orders: int
) -> tuple[dict[Mechanism, float], dict[ReplayPurpose, float]]:
    """Of two kinds of tools: what is `likely` by orders alone shared between each alone and both, as `blame` does, and
    how much more runs without the results of either would gain; nothing where there are not two."""
    pair = _two_kinds(evidence, orders)
    if pair is None or named[pair[0][0]] == named[pair[1][0]]:
        return {}, {}
    weights, good, bad = _alone_or_both([tally for _, tally in pair])
    names = np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 1]], dtype=float)
    mechanisms = [*(named[kind] for kind, _ in pair), named["both"]]
    whole = sum(likely.get(mechanism, 0.0) for mechanism in mechanisms)
    purposes = [ReplayPurpose(kind="rollout", placebos=(kind,)) for kind, _ in pair]
    return (
        dict(zip(mechanisms, (whole * (names @ weights)).tolist(), strict=True)),
        dict(zip(purposes, (whole * expected_gains(weights, names, good, bad)).tolist(), strict=True)),
    )


def _group(evidence: Evidence) -> tuple[str, str]:
    return evidence.model, evidence.condition


def _steps(levels: Sequence[Level], evidence: Evidence) -> list[Step]:
    return [(level.part, _where(level.part, evidence)) for level in levels]


def _where(part: Part, evidence: Evidence) -> Where:
    if part in ("budget", "tool_fault", "again"):
        return ""
    if part == "volume":
        return "very_long" if shown_chars(evidence.signals) >= VERY_LONG_RESULTS else "long"
    if part in ("availability", "prompt"):
        return "called" if evidence.called else "not_called"
    fall = fall_at(evidence.flip, evidence.steps, evidence.signals.calls) if evidence.flip else None
    if part == "first_reply":
        # Where the belief falls once results are there, the reply before them has not turned it.
        return "elsewhere" if fall is not None and fall.at == "results" else ""
    if evidence.trajectory is None:
        return "not_asked"
    if fall is not None and (fall.at != "results" if part == "calling" else fall.at != "reply" and part in fall.kinds):
        return "at_the_fall"
    adoption = evidence.signals.adoption
    adopted = adoption is not None and not adoption.in_question and part == KINDS[adoption.form]
    return "has_the_answer" if adopted else "elsewhere"


def _shared(
    levels: Sequence[Level], chances: Floats, evidence: Evidence, rate: Callable[[Step], float]
) -> tuple[dict[_Blamed, float], dict[Mechanism, float]]:
    """What each part restores, in the order of the levels, and `anyway`; then what no part does, of trials that are
    mostly right as they are, and of those that are wrong at all levels. Parts that no runs tell apart share what they
    restore by how often each changes anything."""
    highest = np.maximum.accumulate(chances, axis=1)
    wrong = 1 - chances[:, 0]
    found: dict[_Blamed, float] = defaultdict(float)
    for place, level in enumerate(levels[1:], start=1):
        restored = float(np.mean((highest[:, place] - highest[:, place - 1]) / wrong))
        rates = {part: rate((part, _where(part, evidence))) for part in (level.part, *sorted(level.also))}
        for part, likely in rates.items():
            found[part] += restored * likely / math.fsum(rates.values())
    left: Floats = (1 - highest[:, -1]) / wrong
    known, at_once = highest[:, -1] >= RIGHT, chances[:, 0] >= RIGHT
    found["anyway"] = float(np.mean(left * (known & ~at_once)))
    return found, {"sampling_noise": float(np.mean(left * at_once)), "own_error": float(np.mean(left * ~known))}


_TOGETHER = 0.1
"""Of two kinds of tools: how likely it is that both were needed for the harm, before anything is seen, beside one of
them alone; and that either of them sufficed."""
_ALONE_LOW, _ALONE_HIGH = (0.5, 3.0), (3.0, 0.5)
"""Chances without the results of one kind. Sharper than those of levels, or no number of runs would show that both took
part."""


def _over_orders(
    evidence: Evidence, of_orders: Sequence[Mapping[_Blamed, float]], as_if: _AsIf
) -> dict[_Blamed, float]:
    """Summed over orders. What two kinds of tools restore is shared between each alone and both."""
    found: dict[_Blamed, float] = defaultdict(float)
    for shared in of_orders:
        for part, share in shared.items():
            found[part] += share
    pair = _two_kinds(evidence, len(of_orders))
    if pair is not None:
        whole = sum(found[kind] for kind, _ in pair)
        tallies = [as_if(swapped_results((kind,)), tally) for kind, tally in pair]
        first, second, *_ = _alone_or_both(tallies)[0].tolist()
        for (kind, _), share in zip(pair, (first, second), strict=True):
            found[kind] = share * whole
        found["both"] = (1 - first - second) * whole
    return found


def _two_kinds(evidence: Evidence, orders: int) -> list[tuple[ToolKind, LevelTally]] | None:
    """Both with the runs without its results; None where these are not all, or there are not two, or swapped results
    fail as the real ones did."""
    if lacks_packages(evidence.signals, "code"):
        return None
    rollouts = (evidence.all_runs or Replay()).rollouts
    found = [(kind, tally_of(rollouts.get(frozenset({kind}), ()))) for kind in sorted(evidence.inputs.tools)]
    return found if len(found) == orders == 2 and all(tally.runs for _, tally in found) else None


def _alone_or_both(without: Sequence[LevelTally]) -> tuple[Floats, Floats, Floats]:
    """Of two kinds of tools, given that the runs without either are right, as `expected_gains` has them: the first or
    the second did it alone, so that its own runs are right and the other's are not; both were needed, so that both are
    right; either sufficed, so that neither is."""
    high = np.array([[1, 0], [0, 1], [1, 1], [0, 0]], dtype=bool)
    right = np.array([tally.right for tally in without])
    wrong = np.array([tally.runs for tally in without]) - right
    before = [np.where(high, _ALONE_HIGH[part], _ALONE_LOW[part]) for part in (0, 1)]
    good, bad = before[0] + right, before[1] + wrong
    found = (log_beta(good, bad) - log_beta(*before)).sum(axis=1)
    weights = np.exp(found - found.max()) * [1, 1, _TOGETHER, _TOGETHER]
    return weights / weights.sum(), good, bad


def _named(evidence: Evidence) -> Mapping[_Blamed, Mechanism]:
    """Calls of code that did it whatever they gave are a lock-in where the model comes back once the computation is set
    aside: with placebo results it has put the question into the same code. Results that hold nothing mislead nobody:
    what goes with them is that a call was made."""
    named = dict(OF_PARTS)
    for kind in _kinds_without_content(evidence):
        named[kind] = "calling"
    return {**named, "calling": "lock_in"} if calls_are_lock_in(evidence) else named


def blamed_at(parts: Sequence[Part], evidence: Evidence) -> tuple[Mechanism, ...]:
    """The mechanisms that are gone where these were taken away."""
    named = _named(evidence)
    return tuple(dict.fromkeys(named[part] for part in parts))


def calls_are_lock_in(evidence: Evidence) -> bool:
    """Whether what its calls do, whatever they give, is named so."""
    return "code" not in _kinds_without_content(evidence) and _comes_back(evidence)


def _kinds_without_content(evidence: Evidence) -> frozenset[ToolKind]:
    """Of tools whose calls all failed, or found nothing, whatever they give in replays in which they work. An attempt
    that infrastructure spoiled does not say of which it was."""
    calls = evidence.signals.calls
    if not set(faults(evidence.signals)) <= {call.event for call in calls}:
        return frozenset()
    return evidence.inputs.tools - {KINDS[call.form] for call in calls if call.gave}


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
    return (sum(re_asked) + RE_ASKED_PRIOR) / (len(re_asked) + 2 * RE_ASKED_PRIOR) if re_asked else 0.0


# Why a trial went wrong, from what it comes to when it is taken up again with one thing changed.


NOTES: dict[Mechanism, str] = {
    "format": "the answer re-ask gives the right answer",
    "budget": "right with a larger budget",
    "tool_fault": "right with tools that work",
    "retrieval_distraction": "right without what was found",
    "lock_in": "right without the computation",
    "other_results": "right without the tools' results",
    "volume": "right with short results",
    "interaction": "the results of both kinds of tools took part",
    "calling": "right without the calls, whatever their results",
    "availability": "right without the offer of tools",
    "prompt": "right without the condition's prompt",
    "sampling_noise": "right by chance",
    "own_error": "nothing that was taken away makes it right more often than chance does",
}
"""What is counted; how many runs are right, and which runs these are, comes after it."""


def is_wrong_and_replayed(evidence: Evidence) -> bool:
    """Whether it has a mechanism by replay."""
    value = evidence.score.value
    wrong = value is not None and value < RIGHT
    # A reply that no scorer reads is asked for its answer again: whatever the form, that answer is scored.
    misstated = evidence.signals.misstated and evidence.score.verdict != "unparsed"
    return wrong and evidence.all_runs is not None and not misstated


def attribute_by_replay(evidence: Evidence, rates: ChangeRates | None = None) -> Attribution | None:
    """The likeliest mechanism of a wrong trial (scored below one half) that was replayed, None for any other. None also
    where the answer is the right one in another form: whether a replay has it in that form is not looked at.

    The confidence is the probability that it is this one (`blame`), as far as the number of runs lets it be known.
    `rates` are those of its store, by default those of before any trial is seen.
    """
    if not is_wrong_and_replayed(evidence):
        return None
    # Where the belief falls is likelier by what is known of mechanisms than by early answers alone, and these by it.
    evidence = replace(evidence, flip=likeliest_fall(evidence, blame(evidence, rates)))
    shares = blame(evidence, rates)
    mechanism = blamed(shares)
    shown = {each: round(min(share, 1.0), 4) for each, share in shares.items() if share >= SHOWN}
    flip = likeliest_fall(evidence, shown)
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
        shares=shown,
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
    if mechanism == "tool_fault" and faults(evidence.signals) and not repairable(evidence.signals):
        what = "right where no code fails for a package that the kernel lacks"
    restored, before = deciding(mechanism, evidence) or (None, None)
    counted = f": {'; '.join(_counted(each) for each in (restored, before) if each)}" if restored else ""
    if mechanism == "interaction":
        counted = f" ({_without_each(evidence)})"
    other = max((each for each in shares if each != mechanism), key=lambda each: shares[each], default=None)
    beside = ""
    if other is not None and shares[mechanism] < LIKELY:
        beside = f" (next {mechanism_name(other)}, {shares[other]:.2f})"
        if shares[other] > shares[mechanism]:
            together = math.fsum(shares.get(each, 0.0) for each in BY_CHANCE)
            beside = f" (with or without tools, {together:.2f}; {mechanism_name(other)}, {shares[other]:.2f})"
    right = sum(score >= RIGHT for score in arms.without_tools)
    without = f"{right} of {len(arms.without_tools)} trials without tools are right"
    return f"{what}{counted}{beside}; {without}"


def _counted(level: Level) -> str:
    return f"{level.tally.right:g} of {level.tally.runs:g} right {level.what}"


def _without_each(evidence: Evidence) -> str:
    """Of two kinds of tools the runs without the results of each, and of both."""
    runs, kinds = evidence.all_runs or Replay(), sorted(evidence.inputs.tools, reverse=True)
    without = {" and ".join(each): runs.rollouts.get(frozenset(each), ()) for each in ([kinds[0]], kinds[1:], kinds)}
    return "search x code: " * (kinds == ["search", "code"]) + ", ".join(
        f"{sum(scores):g} of {len(scores)} right without {name}" for name, scores in without.items()
    )


_OF_RESULTS = ("retrieval_distraction", "lock_in", "other_results", "interaction")


def deciding(mechanism: Mechanism, evidence: Evidence) -> tuple[Level, Level | None] | None:
    """Of the levels at which a mechanism is gone, the one that it takes most for, with that of those at which it is
    still at work at which most runs are right. None of these before the first level; None at all where no runs take the
    mechanism away."""
    found: list[tuple[Level, Level | None]] = []
    for levels in told_levels(evidence):
        gone = _gone(mechanism, levels, evidence)
        # What is drawn again goes at several levels, a part at each.
        first = 0 if mechanism == "sampling_noise" or not gone else _without(gone, levels)
        for place in (each for each in gone if each >= first):
            still = levels[: place if mechanism == "sampling_noise" else first]
            found.append(
                (levels[place], max(reversed(still), key=lambda each: (each.share, each.tally.runs), default=None))
            )

    def gains(pair: tuple[Level, Level | None]) -> tuple[float, bool]:
        """Of equals that in which nothing was taken away tells more of what is drawn again."""
        return pair[0].share - (pair[1].share if pair[1] else 0.0), pair[0].what in (AGAIN, LAST_REPLY)

    return max(found, key=gains, default=None)


def levels_without(mechanism: Mechanism, evidence: Evidence) -> Iterator[Level]:
    """Those at which a mechanism is gone, and those after them."""
    for levels in told_levels(evidence):
        gone = _gone(mechanism, levels, evidence)
        yield from levels[_without(gone, levels) :] if gone else ()


def _without(gone: Sequence[int], levels: Sequence[Level]) -> int:
    """The first place at which nothing of it is left. Calls that give nothing are calls still; and where calls have the
    name of what they give, they are there still in runs with other results that are mostly wrong."""
    place, *later = [each for each in gone if levels[each].what != SHAM] or gone
    bare = next((each for each in later if levels[each].what in WITHOUT_CALLS), None)
    if bare is None or levels[place].what in WITHOUT_CALLS:
        return place
    tallies = [each.tally for each in levels[place:bare]]
    return place if sum(each.right for each in tallies) >= RIGHT * sum(each.runs for each in tallies) else bare


def _gone(mechanism: Mechanism, levels: Sequence[Level], evidence: Evidence) -> list[int]:
    """The places of the levels that take it away: a part of it each."""
    named = dict(_named(evidence))
    if evidence.all_runs is None and mechanism in _OF_RESULTS:
        # Arms alone do not tell kinds of results apart.
        named["search"] = mechanism
    return [
        place
        for place, level in enumerate(levels)
        if mechanism in {named[part] for part in (level.part, *(level.also if mechanism != "sampling_noise" else ()))}
    ]


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
        case "volume":
            yield from (call.event for call in signals.calls if call.gave)
        case "retrieval_distraction" | "lock_in" | "other_results" | "interaction" | "calling":
            yield from _events_of_results(mechanism, evidence, fall)
        case _:
            pass


def _events_of_results(mechanism: Mechanism, evidence: Evidence, fall: Fall | None) -> Iterator[int]:
    """Where the belief fell, unless at other calls; else results of negative Shapley value. Else of calls, whatever
    they return, all; of results the only one of its kind: runs without several do not tell which of them misled."""
    forms = {"lock_in": ("code",), "retrieval_distraction": ("search", "page"), "other_results": ("other",)}.get(
        mechanism
    )
    calls = [call for call in evidence.signals.calls if forms is None or call.form in forms]
    adopted = evidence.signals.adoption
    if adopted is not None and forms is not None and adopted.form in forms:
        yield adopted.event
    if fall is not None:
        # A call that gave nothing, or of another tool, is no sign of what results do.
        fits = {call.event for call in calls if call.gave or mechanism == "calling"}
        others = {call.event for call in evidence.signals.calls} - fits
        if places := [event for event in (fall.event, *fall.events) if event not in others]:
            yield from places
            return
    harming = [
        call.event for call in calls if call.event in evidence.shapley and evidence.shapley[call.event].value < 0
    ]
    of_kinds = Counter(KINDS[call.form] for call in calls if call.gave)
    yield from harming or [
        call.event for call in calls if mechanism == "calling" or (call.gave and of_kinds[KINDS[call.form]] == 1)
    ]
