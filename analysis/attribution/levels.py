"""The levels of one wrong trial: how often runs are right as more and more of what was at work is taken away."""

import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import permutations

from toolablate.analysis.attribution.change_rates import Part
from toolablate.analysis.attribution.decomposition import Arms, Replay, Scores, ToolKind
from toolablate.analysis.attribution.evidence import KINDS, LONG_RESULTS, Evidence, Fall, fall_at, shown_chars
from toolablate.analysis.attribution.forced_answers import Forcing
from toolablate.analysis.attribution.level_chances import LevelTally
from toolablate.analysis.attribution.signals.signal_types import CallSeen
from toolablate.analysis.attribution.trace_rules import lacks_packages, ran_out, repairable
from toolablate.traces.records import ReplayPurpose

AGAIN, EXTENDED, REPAIRED = (
    "with the same results, all replies to them drawn again",
    "with twice the budget",
    "with tools that work",
)
LAST_REPLY = "with its last reply drawn again"
SHORT = "with short results of other questions"
OFFERED, SHAM, PLACEBO, SCAFFOLD = (
    "in another condition with the same tools, forbidden to call them",
    "in another condition with the same tools, whose calls work and find nothing",
    "in another condition with the same tools, whose results are equally long ones of another question",
    "in another condition, with this prompt and no tools",
)
REPEATED, WITHOUT_TOOLS = "as it was, this trial among them", "without tools"
BEFORE_CALLS = "asked for its answer before any call"
OUTSET, BOTH_OUTSETS = f"in its other repeats, {BEFORE_CALLS}", f"{BEFORE_CALLS}, here or in its other repeats"
SWAPPED_ELSEWHERE = (
    "in other trials with these tools, with all results swapped for equally long ones of another question"
)
SHORT_ELSEWHERE = "in other trials with these tools, with short results of other questions"
BOTH_PLACEBOS = "in another condition or other trials of this question, with equally long results of another question"
"""What runs differ in, in the words of a page."""

WITHOUT_CALLS = (BEFORE_CALLS, OUTSET, BOTH_OUTSETS, OFFERED, SCAFFOLD, WITHOUT_TOOLS)
"""Runs in which no tool is called, or could be."""

_RESULTS: dict[ToolKind, str] = {
    "search": "the search's results",
    "code": "the code's results",
    "other": "the other tools' results",
}


def swapped_results(kinds: Iterable[ToolKind]) -> str:
    results = " and ".join(_RESULTS[kind] for kind in sorted(kinds))
    return f"with {results} swapped for equally long ones of another question"


_NAMED: tuple[Part, ...] = (
    *("search", "code", "other", "volume", "tool_fault", "first_reply", "calling", "availability", "prompt", "budget"),
)


@dataclass(frozen=True, slots=True)
class Level:
    """Runs at one level, and what was taken away since the level before; `what` is these runs in words. More such runs
    are replays for the `purpose`; None of arms. `also` is what was taken away with the part, so that no runs tell them
    apart. `run_again` of the runs are of an arm's trials once more, by replays."""

    part: Part
    tally: LevelTally
    what: str
    purpose: ReplayPurpose | None = None
    also: frozenset[Part] = frozenset()
    run_again: int = 0

    @property
    def share(self) -> float:
        """Of right runs."""
        return self.tally.right / self.tally.runs


def chains(evidence: Evidence, forcing: Forcing) -> tuple[tuple[Level, ...], ...]:
    """The levels from the trial as it was to the question without tools, in the order of the decomposition's; one chain
    for each order in which kinds of tools lose their results. Levels without runs are left out, and orders that tell
    less apart than others: of a tool without placebos it is not known what taking it away first does. Early answers
    count as free ones do, by what is known of the loss by `forcing`."""
    orders = permutations(sorted(evidence.inputs.tools))
    fall = fall_at(evidence.flip, evidence.steps, evidence.signals.calls) if evidence.flip else None
    found = [
        tuple(_filled([*_before(evidence, forcing, order, fall), *_without_results(evidence, forcing, order)], fall))
        for order in orders
    ]
    most = max(map(len, found))
    return tuple(levels for levels in found if len(levels) == most)


def arm_levels(evidence: Evidence) -> tuple[Level, ...]:
    """The levels that need no replays: the trial with its repeats, then the arms with one thing more taken away each.
    `search` is the results, of whatever tool: no arm tells these apart."""
    arms = evidence.inputs.arms
    levels = [Level("again", tally_of((evidence.inputs.score, *evidence.repeats)), REPEATED)]
    if evidence.called:
        long = shown_chars(evidence.signals) >= LONG_RESULTS
        levels += [
            Level("search", tally_of(arms.placebo), PLACEBO),
            Level("volume" if long else "calling", tally_of(arms.sham), SHAM),
        ]
    levels += [
        _offered("calling" if evidence.called else "again", evidence),
        *_without_tools(arms, prompted=evidence.signals.prompted),
    ]
    return tuple(_filled(levels, None))


def told_levels(evidence: Evidence) -> tuple[tuple[Level, ...], ...]:
    """What a page counts: early answers as they were asked for; of a trial that was not replayed the arms alone."""
    return (arm_levels(evidence),) if evidence.all_runs is None else chains(evidence, Forcing())


def _filled(levels: Sequence[Level], fall: Fall | None) -> Iterator[Level]:
    """A level without runs hands on what was taken away for it."""
    passed: list[Part] = []
    for level in levels:
        passed.append(level.part)
        if level.tally.runs:
            named, told = _named_of(passed, fall)
            yield replace(level, part=named, also=frozenset[Part]() if told else frozenset(passed) - {named})
            passed = []


def _named_of(passed: Sequence[Part], fall: Fall | None) -> tuple[Part, bool]:
    """Of what was taken away together what the belief falls at, which tells it from the others; else the results before
    the calls, and these before what is there without any."""
    fell: list[Part] = []
    if fall is not None and fall.at == "results":
        fell += sorted(fall.kinds)
    elif fall is not None and fall.at == "reply":
        fell.append("calling")
    again: Part = "again"
    named = next((part for part in (*fell, *_NAMED) if part in passed), again)
    return named, named in fell


def _before(evidence: Evidence, forcing: Forcing, order: Sequence[ToolKind], fall: Fall | None) -> Iterator[Level]:
    """As it was, repaired from outside, drawn again, and without the results of one kind of tool after another."""
    replay, signals = evidence.all_runs or Replay(), evidence.signals
    stopped, broken = ran_out(signals), bool(repairable(signals))
    # What goes on from the one result has the trial's own budget and faults.
    pivotal = None if stopped or broken else evidence.pivotal
    again = (*replay.rollouts.get(frozenset(), ()), *(pivotal.kept if pivotal else ()))
    # Where its last reply is the only one after its first result, to draw these again is one state.
    only_reply = bool(order) and _step_before_results(evidence) == len(evidence.steps) - 2
    one_state = only_reply and bool(replay.last_reply) and not (stopped or broken)
    yield from _last_reply_again(evidence, replay, forcing, again if one_state else ())
    if stopped:
        yield Level("budget", tally_of(replay.extended), EXTENDED, ReplayPurpose(kind="extended"))
    if broken:
        yield Level("tool_fault", tally_of(replay.repaired), REPAIRED, ReplayPurpose(kind="repaired"))
    if not order:
        yield _rollouts("again", replay, ())
        return
    turned = fall.kinds if fall else frozenset()
    # Where the first call is the one that failed, to repair it and to draw again what follows it are the same runs.
    repaired_first = broken and replay.repaired and repairable(signals)[0] == _first_result(evidence)
    if not one_state and not repaired_first:
        yield _rollouts("again", replay, (), pivotal.kept if pivotal else ())
    # Without a long result neither what it says nor its length is there.
    both = pivotal if pivotal and replay.short and _is_long(pivotal.event, signals.calls) else None
    lacking: frozenset[ToolKind] = frozenset({"code"}) if lacks_packages(signals, "code") else frozenset()
    parts: dict[ToolKind, Part] = {kind: "tool_fault" if kind in lacking else kind for kind in order}
    for number, kind in enumerate(order, start=1):
        if pivotal and not both and kind in turned:
            yield Level(parts[kind], tally_of(pivotal.without), f"with no result at event {pivotal.event}")
        # Placebos of code that failed for a missing package fail so, too.
        yield _rollouts("again" if kind in lacking else kind, replay, order[:number])
    if not replay.rollouts.get(frozenset(order)):
        yield from (Level(parts[kind], tally_of(()), "") for kind in lacking)
        yield _believed(parts[order[-1]], evidence, forcing, _step_before_results(evidence))
    # Of the arm too, results are as long as the real ones. Replays with short ones keep this trial's first reply: where
    # nobody drew it anew beside long ones, its luck has no part in what they restore.
    anew = _first_reply_drawn_again(evidence)
    if anew.tally.runs or not replay.short:
        yield anew
    if replay.short:
        short = tally_of((*replay.short, *(both.without if both else ())))
        yield Level("volume", short, SHORT, ReplayPurpose(kind="short"))
        yield Level("first_reply", tally_of(evidence.shortened), SHORT_ELSEWHERE)


def _last_reply_again(evidence: Evidence, replay: Replay, forcing: Forcing, more: Scores) -> Iterator[Level]:
    """Drawn freely, with `more` runs of the same state, or as an early answer. Where the provider made calls within it,
    to be asked before it is to be asked without them, and nothing that was drawn again."""
    if replay.last_reply:
        yield Level("again", tally_of((*replay.last_reply, *more)), LAST_REPLY, ReplayPurpose(kind="last_reply"))
    elif not any(call.by_provider and call.event >= evidence.steps[-1] for call in evidence.signals.calls):
        last = len(evidence.steps) - 1
        yield _believed("again", evidence, forcing, last) if last else _at_outset("again", evidence, forcing)


def _is_long(event: int, calls: Sequence[CallSeen]) -> bool:
    """Whether this one result makes results long, or nearly."""
    return any(call.event == event and 2 * call.chars >= LONG_RESULTS for call in calls)


def _rollouts(part: Part, replay: Replay, swapped: Sequence[ToolKind], others: Scores = ()) -> Level:
    purpose = ReplayPurpose(kind="rollout", placebos=tuple(sorted(swapped)))
    what = swapped_results(swapped) if swapped else AGAIN
    return Level(part, tally_of((*replay.rollouts.get(frozenset(swapped), ()), *others)), what, purpose)


def _step_before_results(evidence: Evidence) -> int:
    """Where there are no placebos: once the first calls that were not refused are made, and nothing is given yet."""
    return bisect_right(evidence.steps, _first_result(evidence)) - 1


def _first_result(evidence: Evidence) -> int:
    refused = {each.event for each in evidence.signals.refused}
    return min((call.event for call in evidence.signals.calls if call.event not in refused), default=0)


def _without_results(evidence: Evidence, forcing: Forcing, order: Sequence[ToolKind]) -> Iterator[Level]:
    """The arms of the ladder, and the belief at the first step, at which nothing was called yet. Calls that were all
    refused have no results, and are calls."""
    arms = evidence.inputs.arms
    if order:
        # No replay has the package: the first calls that work are those of the arm.
        swapped = (evidence.all_runs or Replay()).rollouts.get(frozenset(order))
        lacks = bool(swapped) and lacks_packages(evidence.signals, "code")
        yield Level("tool_fault" if lacks else "calling", tally_of(arms.sham), SHAM)
    else:
        # Of calls that the provider made nobody can exchange the results: they go with the calls.
        kinds = sorted({KINDS[call.form] for call in evidence.signals.calls if call.by_provider and call.gave})
        yield from (Level(kind, tally_of(()), "") for kind in kinds)
    part: Part = "calling" if evidence.called else "again"
    if evidence.called or len(evidence.steps) > 1:
        yield _at_outset(part, evidence, forcing)
    yield _offered(part, evidence)
    yield from _without_tools(arms, prompted=evidence.signals.prompted)


def _first_reply_drawn_again(evidence: Evidence) -> Level:
    """Replays keep this trial's first reply, other trials and the arm draw it anew: its luck is no cause."""
    placebo, swapped = evidence.inputs.arms.placebo, evidence.swapped
    what = PLACEBO if not swapped else BOTH_PLACEBOS if placebo else SWAPPED_ELSEWHERE
    return Level("first_reply", tally_of((*placebo, *swapped)), what)


def _offered(part: Part, evidence: Evidence) -> Level:
    scores, again = evidence.offered, evidence.offered_again
    if not scores:
        scores, again = evidence.inputs.arms.offered, evidence.inputs.arms.again.get("offered", 0)
    return Level(part, tally_of(scores), OFFERED, run_again=again)


def _without_tools(arms: Arms, *, prompted: bool) -> Iterator[Level]:
    """Without a prompt the scaffold is the question alone."""
    if prompted:
        again = arms.again.get("scaffold", 0)
        yield Level("availability", tally_of(arms.scaffold), SCAFFOLD, run_again=again)
    part: Part = "prompt" if prompted else "availability"
    yield Level(part, tally_of(arms.without_tools), WITHOUT_TOOLS, run_again=len(arms.none_again))


def _at_outset(part: Part, evidence: Evidence, forcing: Forcing) -> Level:
    """Before any call a trial is in one state with its other repeats: what all of these were asked there is one level,
    or their difference by chance would be taken for a cause."""
    own = _believed(part, evidence, forcing, 0)
    asked, right = evidence.at_outset
    what = BEFORE_CALLS if not evidence.outset else BOTH_OUTSETS if own.tally.runs else OUTSET
    return replace(own, tally=LevelTally(*forcing.as_free(asked, right)), what=what)


def _believed(part: Part, evidence: Evidence, forcing: Forcing, step: int) -> Level:
    beliefs = evidence.trajectory.beliefs if evidence.trajectory else ()
    found = next((belief for belief in beliefs if belief.step == step), None)
    asked, right = (found.samples, found.right.mean * found.samples) if found else (0, 0.0)
    what = f"asked for its answer before event {evidence.steps[step]}" if step > 0 else BEFORE_CALLS
    return Level(part, LevelTally(*forcing.as_free(asked, right)), what, ReplayPurpose(kind="early_answer", step=step))


def tally_of(scores: Scores) -> LevelTally:
    return LevelTally(len(scores), math.fsum(scores))
