"""The one command that tells the likeliest cause of a wrong trial from its strongest rival."""

import math
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from toolablate.analysis.attribution.evidence import LONG_RESULTS, Explanation
from toolablate.analysis.attribution.level_chances import LevelTally
from toolablate.analysis.attribution.levels import EXTENDED, LAST_REPLY
from toolablate.analysis.attribution.replay_rules import blame_with
from toolablate.analysis.attribution.trace_rules import BY_CHANCE, repairable, unrecovered
from toolablate.reports.cause_wording import chance
from toolablate.reports.why.causes import FEW, POSSIBLE, quoted_name, ranked
from toolablate.reports.why.changed_runs import (
    AFTER_FIRST,
    BEFORE,
    RE_ASKED,
    REDRAWN,
    Row,
    levels_of,
    of_scores,
    total,
    uncounted,
)
from toolablate.reports.why.happened import Apart, Said, happened, last_reply, reply_after
from toolablate.reports.why.named_causes import LEAST_LEFT, named_shares
from toolablate.reports.why.turn import AT_CALLS
from toolablate.traces.records import Mechanism, ModelCall, ToolCall
from toolablate.traces.terminal_text import ID_CHARS

_NEVER_ASKED: Mapping[str, str] = {
    "scripted": "No command can: its replies are recordings, so nothing can be run again.",
    "imported": "No command can: it is from another program's log, and its model cannot be asked again.",
}
_SMALLEST_FIRST: tuple[Mechanism, ...] = (
    *("format", "budget", "tool_fault", "lock_in", "retrieval_distraction", "other_results", "volume"),
    *("calling", "availability"),
)
"""What takes one away leaves those that come later."""


_OF_RESULTS: tuple[Mechanism, ...] = ("lock_in", "retrieval_distraction", "other_results")


@dataclass(frozen=True, slots=True)
class _Test:
    """A replay from an event on: `right` is the cause that mostly right runs speak for, `wrong` the other."""

    event: int
    change: str
    what: str
    right: Mechanism
    wrong: Mechanism


def would_tell(told: Explanation) -> Iterator[Said]:
    if told.explained.attribution is None:
        return
    if told.provider in _NEVER_ASKED:
        yield _NEVER_ASKED[told.provider]
        return
    tests = list(_tests(told))
    left = [test for test in tests if (row := _so_far(test, told)) is None or row.runs < FEW]
    test = next((test for test in left if not _changes_nothing(test, told)), None)
    if left and test is None:
        same = f"would leave the same cause{_either_way(left[0], told)}"
        yield f"{FEW} more replays {left[0].what}, {same}. {_more(told)}"
        return
    if test is None:
        within = any(call.by_provider for call in told.explained.evidence.signals.calls)
        why = (
            ": results within a reply of the provider's nobody can keep or exchange. Add a condition with a tool of"
            " ours."
            if within
            else f"{_MADE}. {_more(told)}"
        )
        first, rival, *_ = _candidates(told)
        yield f"No further replay is likely to tell {quoted_name(first)} from {quoted_name(rival)}{why}"
        return
    replies = sum(isinstance(event, ModelCall) for event in told.conversation[test.event :])
    requests = FEW if test.change == "--answer-now" else FEW * max(1, replies)
    row = _so_far(test, told)
    so_far = "" if row is None else f" So far {row.count} right ({row.changed})."
    outcomes = _by_counts(test, told) or _by_words(test, told)
    yield f"{FEW} replays {test.what} (about {requests} requests).{so_far} {outcomes}{_unreadable(test, told)}"
    trial = told.explained.evidence.signals.trial[:ID_CHARS]
    change = f" {test.change}" if test.change else ""
    yield Apart(f"toolablate replay {shlex.quote(told.store)} {trial} --from {test.event}{change} --repeats {FEW}")


def _changes_nothing(test: _Test, told: Explanation) -> bool:
    """Whether the same cause is the likeliest either way, and less than `LEAST_CHANGE` apart."""
    found = _after(test, told)
    return len(found) == 2 and found[0][0] == found[1][0] and abs(found[0][1] - found[1][1]) < LEAST_CHANGE


LEAST_CHANGE = 0.3
LEAST_MOVED = 0.05
"""Of the probability of the likeliest cause."""


def _either_way(test: _Test, told: Explanation) -> str:
    """`: with 7 right, or with 1, “sampling noise” would have .86 to .89`."""
    (cause, many), (_, hardly) = _after(test, told)
    low, high = (chance(min(0.99, share)) for share in sorted((many, hardly)))
    return f": with {_MANY} right, or with {_HARDLY}, {quoted_name(cause)} would have {low} to {high}"


_MANY, _HARDLY = FEW - 1, 1
"""Of `FEW` runs, right ones of which it is told what they would make of the probabilities."""


def _by_counts(test: _Test, told: Explanation) -> str:
    """What more of the same runs would make of the probabilities; empty where none of them were made, or where these
    are no kind of run that is weighed."""
    if not (found := _after(test, told)):
        return ""
    (first, many), (other, hardly) = ((cause, chance(min(0.99, share))) for cause, share in found)
    again = "it would still have" if other == first else f"{quoted_name(other)} would have"
    most = f"With {_MANY} of these {FEW} right, {quoted_name(first)} would have {many}"
    now = _shares(told)
    # Runs that come out as the verdict has it already make it hardly likelier.
    same = abs(found[1][1] - now.get(other, 0.0)) < LEAST_MOVED and other == next(iter(now))
    return f"{most}; with {_HARDLY} right, {'little would change' if same else f'{again} {hardly}'}."


def _after(test: _Test, told: Explanation) -> list[tuple[Mechanism, float]]:
    """The likeliest cause after runs that are mostly right, then mostly wrong."""
    attribution, evidence = told.explained.attribution, told.explained.evidence
    if attribution is None or attribution.method != "replay" or not attribution.shares:
        return []
    level = _level_of(test, told)
    if not level or test.change == "--answer-now":  # of forced answers several make one free one
        return []
    found = (blame_with(level, LevelTally(FEW, right), evidence, told.rates) for right in (_MANY, _HARDLY))
    return [max(shares.items(), key=lambda each: each[1]) for shares in found]


def _level_of(test: _Test, told: Explanation) -> str:
    """The kind of run that it is more of; empty where there is none, or several."""
    row = _so_far(test, told)
    if row is None:
        return ""
    same = [each for each in levels_of(told.explained.evidence) if each.changed == row.changed]
    return same[0].level if len(same) == 1 else ""


def _by_words(test: _Test, told: Explanation) -> str:
    of_right, of_wrong = (" or ".join(map(quoted_name, causes)) for causes in _outcomes(test, told))
    return f"Mostly right speaks for {of_right}, mostly wrong for {of_wrong}."


def _unreadable(test: _Test, told: Explanation) -> str:
    """How a reply counts that names the right answer in no form that is read."""
    if told.explained.evidence.score.verdict != "unparsed" or test.change == "--answer-now":
        return ""
    if "format" in (test.right, test.wrong):
        return ""
    return " A reply without a readable answer counts by what it answers when asked once more."


_MADE = f"; those that can were made {FEW} times already"


def _more(told: Explanation) -> str:
    """What would tell where replays do not."""
    arms = told.explained.evidence.inputs.arms
    if arms.offered or arms.sham or arms.placebo:
        return "More repeats of this question in all conditions of its plan may tell."
    return "More conditions in its plan may tell, each of which adds one thing (a ladder)."


def _shares(told: Explanation) -> dict[Mechanism, float]:
    attribution = told.explained.attribution
    assert attribution is not None
    return dict(ranked(attribution))


def _candidates(told: Explanation) -> list[Mechanism]:
    """The likeliest, and the others in order; of those that need no tool both, if improbable. A lost form that is
    improbable was told by answers for the form, and no other run tells more of it."""
    shares = _shares(told)
    first, *others = shares
    lost: tuple[Mechanism, ...] = ("format",) if 100 * shares.get("format", 0.0) < POSSIBLE else ()
    return [first, *(each for each in dict.fromkeys((*others, *BY_CHANCE)) if each not in (first, "unknown", *lost))]


def _tests(told: Explanation) -> Iterator[_Test]:
    """Of the likeliest cause beside each other one: first beside the second likeliest; then of causes that the page
    names, by how evenly the two outcomes share the probability; of the others the likelier first."""
    first, *rivals = _candidates(told)
    shares = _shares(told)

    def worth(pair: tuple[Mechanism, _Test]) -> tuple[bool, bool, float]:
        share, test = shares.get(pair[0], 0.0), pair[1]
        second = pair[0] == rivals[0]
        even = min(math.fsum(shares.get(each, 0.0) for each in side) for side in _outcomes(test, told))
        return (second, True, even) if 100 * share >= POSSIBLE else (second, False, share)

    rivals = [each for each in rivals if each == rivals[0] or shares.get(each, 0.0) >= LEAST_TESTED]
    found = [(rival, test) for rival in rivals if (test := _test(first, rival, told)) is not None]
    yield from (test for _, test in sorted(found, key=worth, reverse=True))
    yield from _after_first_result([first, *rivals], told)


LEAST_TESTED = 0.05
"""Of the probability of a cause that a test tells from the likeliest, unless it is the second."""


def _after_first_result(causes: list[Mechanism], told: Explanation) -> Iterator[_Test]:
    """Later calls drawn again too, where no other replays tell more: with chance among the likeliest two."""
    first = next((number for number, event in enumerate(told.conversation) if isinstance(event, ToolCall)), None)
    within = any(call.by_provider for call in told.explained.evidence.signals.calls)
    after = None if first is None or within else reply_after(first, told)
    if after is not None and "sampling_noise" in causes[:2]:
        (other, *_) = (each for each in causes if each != "sampling_noise")
        test = _Test(after, "", f"that keep all up to event {after - 1}", "sampling_noise", other)
        # What it kept need not be what the other cause is: where such runs are weighed, they tell by their counts.
        if _after(test, told) and _shares(told).get(other, 0.0) >= LEAST_TESTED:
            yield test


def _so_far(test: _Test, told: Explanation) -> Row | None:
    """What has come of such replays; None of none, or where the page has no row of these alone."""
    evidence, last = told.explained.evidence, last_reply(told)
    if test.event == 0 and test.change == "--answer-now":
        asked, right = evidence.at_outset
        return Row(BEFORE, asked, right) if asked else None
    if test.right == "format":
        return of_scores(RE_ASKED, evidence.re_asked, evidence) if evidence.re_asked else None
    if test.change.startswith("--extend"):
        return next((row for row in levels_of(evidence) if row.changed == EXTENDED), None)
    if test.change:
        return None
    calls = [number for number, event in enumerate(told.conversation) if isinstance(event, ToolCall)]
    which = {REDRAWN} if test.event == 0 else set[str]()
    which |= {LAST_REPLY} if calls and test.event == last else set()
    which |= {AFTER_FIRST} if calls and test.event == reply_after(calls[0], told) else set()
    rows = [row for row in (*levels_of(evidence), *uncounted(evidence)) if row.changed in which]
    return replace(total(rows), changed=" and ".join(row.changed for row in rows)) if rows else None


def _outcomes(test: _Test, told: Explanation) -> tuple[list[Mechanism], list[Mechanism]]:
    """What mostly right runs speak for, and mostly wrong ones: the two that it is to tell apart, and all that the page
    names. What is chance comes out right whatever is changed, and what is not taken away comes out wrong."""
    attribution = told.explained.attribution
    assert attribution is not None
    gone = {test.right, "sampling_noise", *(AT_CALLS if (test.event, test.change) == (0, "--answer-now") else ())}
    named = [each for each in named_shares(told, attribution).named if each not in ("unknown", test.right, test.wrong)]
    # Of what is left to the rest this comes out wrong, whatever is changed.
    if "own_error" not in (*named, test.right, test.wrong) and attribution.shares.get("own_error", 0.0) >= LEAST_LEFT:
        named.append("own_error")
    return (
        [test.right, *(each for each in named if each in gone)],
        [test.wrong, *(each for each in named if each not in gone)],
    )


def _test(first: Mechanism, rival: Mechanism, told: Explanation) -> _Test | None:
    pair = {first, rival}
    if pair <= {*BY_CHANCE, "unknown"}:
        right: Mechanism = "sampling_noise" if "sampling_noise" in pair else first
        (wrong,) = pair - {right}
        return _drawn_again(right, wrong, told)
    if "sampling_noise" in pair:
        (cause,) = pair - {"sampling_noise"}
        return _beside_chance(cause, told)
    if "own_error" in pair or "unknown" in pair:
        (cause, other) = (first, rival) if rival in ("own_error", "unknown") else (rival, first)
        return _without(cause, other, told)
    if pair <= {*_OF_RESULTS}:
        return _without(first, rival, told)
    cause, other = sorted((first, rival), key=lambda each: (*_SMALLEST_FIRST, each).index(each))
    return _without(cause, other, told)


def _beside_chance(cause: Mechanism, told: Explanation) -> _Test | None:
    """With the cause still there, chance brings the right answer back."""
    last = last_reply(told)
    if cause == "format" and last is not None:
        return _without(cause, "sampling_noise", told)
    forced = last is not None and isinstance(end := told.conversation[last], ModelCall) and end.purpose == "final"
    if cause == "budget" and last is not None and forced:
        return _Test(last, "", "of its last reply, drawn again within the limit", "sampling_noise", cause)
    if cause in ("availability", "prompt", "calling", "budget"):
        return _drawn_again("sampling_noise", cause, told)
    at = happened(cause, told).event
    if cause in _OF_RESULTS and at is not None:
        # What replays keep is the result, of calls that a reply makes the first that gave something.
        gave = sorted(call.event for call in told.explained.evidence.signals.calls if call.gave)
        at = next((event for event in gave if event >= at), at)
    if cause == "tool_fault":
        at = max((each.event for each in unrecovered(told.explained.evidence.signals.troubles)), default=None)
    within = any(call.by_provider and call.event == at for call in told.explained.evidence.signals.calls)
    after = None if at is None or within else reply_after(at, told)
    if after is None:
        return None
    kept = "of its last reply, drawn again" if after == last else f"that keep all up to event {after - 1}"
    return _Test(after, "", kept, "sampling_noise", cause)


def _drawn_again(right: Mechanism, wrong: Mechanism, told: Explanation) -> _Test:
    last = last_reply(told) or 0
    return _Test(last, "", f"of {'its last reply' if last else 'all of it'}, drawn again", right, wrong)


def _without(cause: Mechanism, other: Mechanism, told: Explanation) -> _Test | None:
    """With the cause taken away, and the other still there."""
    evidence, last = told.explained.evidence, last_reply(told)
    signals = evidence.signals
    match cause:
        case "format" if last is not None:
            return _Test(last, "--answer-now", "of its last reply, asked for the answer alone", cause, other)
        case "budget" if last is not None and signals.budget.stopped in ("turns", "tool_calls"):
            kind = "model_call" if signals.budget.stopped == "turns" else "tool_call"
            used = sum(event.kind == kind for event in told.conversation)
            limit = f"--extend {signals.budget.stopped}={2 * used}"
            return _Test(last, limit, "that go on with twice the room", cause, other)
        case "tool_fault" if repairable(signals):
            event = repairable(signals)[0]
            return _Test(event, "--repair", f"whose call at event {event} works", cause, other)
        case "lock_in" | "retrieval_distraction" | "other_results" | "volume":
            return _without_result(cause, other, told)
        case "calling":
            return _Test(
                0,
                "--answer-now",
                "that are asked for the answer before any call, tools offered as they were",
                cause,
                other,
            )
        case _:
            return None


def _without_result(cause: Mechanism, other: Mechanism, told: Explanation) -> _Test | None:
    calls = {call.event: call for call in told.explained.evidence.signals.calls if not call.by_provider}
    event: int | None
    if cause == "volume":
        long = (event for event, call in calls.items() if 2 * call.chars >= LONG_RESULTS)
        event, change, what = next(long, None), "--swap null", "without the long result at event {}"
    else:
        event, change = happened(cause, told).event, "--swap placebo"
        what = "with another question's result at event {}"
    if event is not None and event not in calls:
        # The reply whose code is quoted makes the call.
        event = next((each for each in sorted(calls) if each > event), None)
    return None if event is None else _Test(event, change, what.format(event), cause, other)
