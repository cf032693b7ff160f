"""Trace rules: a first attribution of a wrong trial, from the signals of its trace alone."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from toolablate.analysis.attribution.expected_failures import Expected, Pool, tally
from toolablate.analysis.attribution.sign_rates import SignRate
from toolablate.analysis.attribution.signals.signal_types import CallSeen, Form, MisstatedKind, Signals, Trouble
from toolablate.analysis.pairing import RIGHT, mean
from toolablate.traces.records import Attribution, Diagnosis, Distraction, Mechanism, Score

OUTWEIGHS = 1.5
"""How many times the words of the replies without tools make an elaborate one."""


def distraction(
    signals: Signals,
    no_tools: Sequence[Signals],
    diagnoses: Sequence[Diagnosis] = (),
    pivotal: Collection[int] = (),
) -> Distraction | None:
    """By judges where any say so; else by what results say of the answer, those at which the belief fell (`pivotal`,
    by their events) before others: one that claims it to be the better one misleads, one that only offers it, or only
    names it where others claim it, does not. Where they say neither, by the reply's own argument, which goes from what
    there is to what should be, or is much longer than replies without tools (`no_tools`): what a model says moved it
    need not be what did. Else by where the answer stands."""
    labels = Counter(each.distraction for each in diagnoses if each.distraction)
    if labels:
        return labels.most_common(1)[0][0]
    elaborate = bool(no_tools) and signals.echo.words > OUTWEIGHS * mean([each.echo.words for each in no_tools])
    backing = {each.event: each.kind for each in signals.backing}
    naming = signals.adoption.results if backing and signals.adoption is not None else ()
    # Where the belief fell at a result that names the answer, this is the reason, and no claim of another one.
    said = {backing.get(each, "offered") for each in pivotal if each in backing or each in naming}
    said = said or set(backing.values())
    if "claimed" in said:
        return "misleading_adoption"
    if said or signals.norm_hints:
        return "over_engineering" if elaborate else "existence_as_norm"
    if signals.adoption is not None and signals.adoption.form != "code":
        return "misleading_adoption"
    return "over_engineering" if elaborate else None


# What spoiled a trial from outside its reasoning: a limit that ran out, a tool that failed.


_NO_FAULTS = frozenset({"exception", "nothing_found", "cut_off"})
"""Kinds of trouble that are none of the tool's: the model's own code, and what was not there or not allowed."""

_NO_REPAIRS = frozenset({"missing_package"})
"""Kinds of trouble that are a tool's, and that no replay can undo: its kernel lacks the package as well."""

BEYOND_BUDGETS = frozenset({"reply_length", "context_length"})
"""Limits that a larger budget does not move."""


def ran_out(signals: Signals) -> bool:
    """Whether a limit of the condition's budget ended it."""
    return signals.budget.stopped is not None and signals.budget.stopped not in BEYOND_BUDGETS


def faults(signals: Signals) -> tuple[int, ...]:
    """The events of calls that a tool is to blame for, and after which it never worked."""
    return tuple(each.event for each in unrecovered(signals.troubles))


def repairable(signals: Signals) -> tuple[int, ...]:
    """The same without what no replay can have work: the provider's own tools, and packages that the kernel lacks."""
    of_provider = {call.event for call in signals.calls if call.by_provider}
    left = (each for each in unrecovered(signals.troubles) if each.kind not in _NO_REPAIRS)
    return tuple(each.event for each in left if each.event not in of_provider)


def lacks_packages(signals: Signals, *forms: Form) -> bool:
    """Whether its calls (those of these forms, where any are named) gave nothing, all for a package that the kernel
    lacks, but for those that were refused."""
    refused = {each.event for each in signals.refused}
    lacking = {each.event for each in signals.troubles if each.kind == "missing_package"}
    calls = [call for call in signals.calls if call.event not in refused and (not forms or call.form in forms)]
    return bool(calls) and all(call.event in lacking and not call.gave for call in calls)


def fail_by_themselves(troubles: Iterable[Trouble]) -> bool:
    """Whether one of these is a tool's that no intervention made fail, that replays could have work, and that was not
    recovered from."""
    return any(each.kind not in ("injected", *_NO_REPAIRS) for each in unrecovered(troubles))


def unrecovered(troubles: Iterable[Trouble]) -> list[Trouble]:
    """Those that a tool is to blame for, and after which it never worked."""
    return [each for each in troubles if each.recovered is None and each.kind not in _NO_FAULTS]


# Which of several mechanisms is named.


BY_CHANCE: tuple[Mechanism, ...] = ("sampling_noise", "own_error")
"""Two names of one hypothesis: nothing of the condition's is needed to make the trial wrong."""


def blamed(shares: Mapping[Mechanism, float]) -> Mechanism:
    """The likeliest; of those by chance, where they are likelier together."""
    likeliest = max(shares, key=lambda each: shares[each])
    together = sum(shares.get(each, 0.0) for each in BY_CHANCE)
    if likeliest in BY_CHANCE or shares[likeliest] >= together:
        return likeliest
    return max(BY_CHANCE, key=lambda each: shares.get(each, 0.0))


# A first guess why a trial with tools went wrong, from the signals of its trace alone.


REFORMULATED = 0.4
"""The score from which on code counts as an answer to another question."""

MISSTATED: dict[MisstatedKind, float] = {
    "scale": 0.65,
    "rounding": 0.65,
    "wording": 0.7,
    "more": 0.65,
    "part": 0.6,
    "unread": 0.7,
    "place": 0.9,
}
"""How surely an answer that is the right one in another form was lost by its form alone."""

ECHOED = 0.3
"""The share of a final reply, in the words of what was read alone, from which on it counts as taken from there."""

_READ: Mapping[Mechanism, tuple[Form, ...]] = {"retrieval_distraction": ("search", "page"), "other_results": ("other",)}


@dataclass(frozen=True, slots=True)
class _Finding:
    mechanism: Mechanism
    confidence: float
    evidence: tuple[int, ...]
    note: str
    shares: Mapping[Mechanism, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Taken:
    """How far an answer comes from results."""

    confidence: float
    evidence: tuple[int, ...]
    note: str


@dataclass(frozen=True, slots=True)
class NoToolTrial:
    """A trial of the same question and model without tools."""

    signals: Signals
    score: Score


@dataclass(frozen=True, slots=True)
class ArmShares:
    """What the arms between no tools and all tell, without any replay: how likely each thing is that needs no results,
    how likely it is that results did it, how many trials of each arm are right, in words, and how likely the question
    is right where no call loses the answer's form."""

    shares: Mapping[Mechanism, float]
    results: float
    counted: str
    right_anyway: float = 1.0


SHOWN = 0.01
"""Mechanisms that are less likely are left out of an attribution's shares."""

_NOTHING = _Finding("unknown", 0.2, (), "no signal in the trace")


def attribute_by_trace(
    signals: Signals,
    score: Score,
    no_tools: Sequence[NoToolTrial] = (),
    repeats: Sequence[float] = (),
    pool: Pool | None = None,
    scaffold: Sequence[float] = (),
    arms: ArmShares | None = None,
    rates: Mapping[Mechanism, SignRate] | None = None,
) -> Attribution | None:
    """The likeliest mechanism of a trial that was scored wrong (below one half), None for any other trial.

    `no_tools` are trials of the same question and model without tools; those that have no value are left out.
    `repeats` are scores of the question's other trials under the condition; `pool` are the questions of the model and
    condition, by default this one alone; `scaffold` are scores of the question with the prompt and no tools. `arms` is
    what arms between no tools and all tell (`arm_rules.blame_by_arms`); where there are any, signs of the trace
    are weighed beside them, as surely as they tell by the `rates` of the store.
    """
    if score.value is None or score.value >= RIGHT:
        return None
    finding = _strongest(signals, score, scaffold)
    scored = [each for each in no_tools if each.score.value is not None]
    # A right answer in another form is right: whatever its chance was to be wrong, it was not.
    if scored and not (finding.mechanism == "format" and signals.misstated):
        own = tally([each.score.value or 0.0 for each in scored], (score.value, *repeats))
        expected = (pool or Pool([own])).expected(own)
        if arms:
            finding = _beside_arms(signals, score, arms, expected, _counted(scored, repeats), rates or {})
        else:
            finding = _beside_bare(finding, signals, scored, repeats, expected)
    return Attribution(
        trial=signals.trial,
        mechanism=finding.mechanism,
        method="trace",
        confidence=round(finding.confidence, 4),
        distraction=distraction(signals, [each.signals for each in scored])
        if finding.mechanism == "retrieval_distraction"
        else None,
        evidence=tuple(sorted(set(finding.evidence))),
        note=finding.note,
        shares={each: round(min(share, 1.0), 4) for each, share in finding.shares.items() if share >= SHOWN},
    )


def sign_of(
    signals: Signals, score: Score, scaffold: Sequence[float] = ()
) -> tuple[Mechanism, tuple[int, ...], str] | None:
    """The strongest sign in the trace alone: of which mechanism, at which events, and what it is. None without any."""
    found = _strongest(signals, score, scaffold)
    return None if found is _NOTHING else (found.mechanism, tuple(sorted(set(found.evidence))), found.note)


def _strongest(signals: Signals, score: Score, scaffold: Sequence[float]) -> _Finding:
    found = [_budget(signals, score), _format(signals, score), *_by_rules(signals, scaffold)]
    # max() keeps the first of equals.
    return max((each for each in found if each), key=lambda each: each.confidence, default=_NOTHING)


def _beside_bare(
    finding: _Finding, signals: Signals, no_tools: Sequence[NoToolTrial], repeats: Sequence[float], expected: Expected
) -> _Finding:
    """The same once it is known how many such trials are wrong without tools as well."""
    sure, note = finding.confidence, finding.note
    wrong = (each.signals for each in no_tools if (each.score.value or 0.0) < RIGHT)
    taken = finding.mechanism in ("lock_in", *_READ) and signals.answer
    # The traces of those without tools are read for this alone.
    if taken and any(each.answer == signals.answer for each in wrong):
        sure, note = sure / 2, f"{note}, and a trial without tools has the same answer"
    if finding is _NOTHING:
        named, left, chance = expected.beyond, 0.0, 1.0
    else:
        named, left, chance = expected.beyond * sure, expected.beyond * (1 - sure), min(1.0, (1 - sure) / sure)
    noise, own = expected.sampling_noise * chance, expected.own_error * chance
    if finding.mechanism == "own_error":
        # Nothing of the condition's is needed, so that what is not expected counts as chance too.
        noise, own, named = noise + named, own, 0.0
    whole = named + left + noise + own
    weighed: list[tuple[Mechanism, float]] = [
        (finding.mechanism, named), ("sampling_noise", noise), ("own_error", own), ("unknown", left)
    ]  # fmt: skip
    shares: dict[Mechanism, float] = defaultdict(float)
    for mechanism, weight in weighed:
        shares[mechanism] += weight / whole
    counted = f"{_counted(no_tools, repeats)}; {_anyway(expected)}"
    # Without a sign, sampling noise and own error are one hypothesis: that nothing of the condition's is needed.
    if named >= (noise + own if finding is _NOTHING else max(noise, own)):
        return _Finding(finding.mechanism, named / whole, finding.evidence, f"{note}; {counted}", shares)
    by_noise = noise >= own
    said = "sampling noise may explain it" if by_noise else "no tool is needed to explain it"
    if finding is not _NOTHING:
        said += f", or else (probability {named / whole:.2f}) {note}"
    elif by_noise:
        said = note
    name: Mechanism = "sampling_noise" if by_noise else "own_error"
    return _Finding(name, max(noise, own) / whole, (), f"{counted}: {said}", shares)


def _beside_arms(
    signals: Signals,
    score: Score,
    arms: ArmShares,
    expected: Expected,
    counted: str,
    rates: Mapping[Mechanism, SignRate],
) -> _Finding:
    """The same where arms tell what the condition does without real results. What results did is the doing of the tools
    that gave any: likelier of those that the answer comes from, by the odds of that sign."""
    shares, results = beside_pool(arms, expected)
    found: dict[Mechanism, float] = defaultdict(float, shares)
    taken = taken_from(signals)
    for mechanism, seen in taken.items():
        odds = rates.get(mechanism, SignRate()).odds(seen=seen is not None)
        found[mechanism] += results * odds / len(taken)
    if not any(call.gave for call in signals.calls):
        # Results that hold nothing mislead nobody.
        held: Mechanism = "tool_fault" if lacks_packages(signals) else "calling"
        found[held if signals.calls else "availability"] += results
    whole = math.fsum(found.values())
    found = {mechanism: share / whole for mechanism, share in found.items()}
    lost = _format(signals, score)
    if lost is not None:
        found = {mechanism: share * (1 - arms.right_anyway) for mechanism, share in found.items()}
        found["format"] = arms.right_anyway
    mechanism = blamed(found)
    signs = [lost, _budget(signals, score), _tool_fault(signals), _calling(signals), _availability(signals)]
    if mechanism in taken:
        seen, calls = taken[mechanism], [call.event for call in signals.calls if call.gave]
        note = seen.note if seen else "beside the arms, results explain it best"
        evidence = seen.evidence if seen else tuple(calls)
        sign = (_lock_in(signals) if seen and mechanism == "lock_in" else None) or _Finding(
            mechanism, 0, evidence, note
        )
    else:
        named = (each for each in signs if each is not None and each.mechanism == mechanism)
        sign = next(named, _Finding(mechanism, 0, (), _BESIDE_ARMS.get(mechanism, _NOTHING.note)))
    return _Finding(mechanism, found[mechanism], sign.evidence, f"{sign.note}; right: {arms.counted}; {counted}", found)


def beside_pool(arms: ArmShares, expected: Expected) -> tuple[Mapping[Mechanism, float], float]:
    """How likely chance is by the question's arms and by all questions without arms, half and half: the first knows few
    runs, the second no arms. Which chance it is the arms tell, as they are more runs of the question. What is left
    keeps its proportions; results come second."""
    of_arms = sum(arms.shares.get(each, 0.0) for each in BY_CHANCE)
    chance = (of_arms + expected.sampling_noise + expected.own_error) / 2
    by_chance, scale = chance / max(of_arms, 1e-9), (1 - chance) / max(1 - of_arms, 1e-9)
    shares = {each: share * (by_chance if each in BY_CHANCE else scale) for each, share in arms.shares.items()}
    return shares, arms.results * scale


_BESIDE_ARMS: Mapping[Mechanism, str] = {
    "volume": "beside the arms, the volume of results explains it best",
    "calling": "beside the arms, calls explain it best, whatever they return",
    "availability": "beside the arms, the offer of tools explains it best",
    "prompt": "beside the arms, the condition's prompt explains it best",
    "sampling_noise": "beside the arms and the other questions, sampling noise explains it best",
    "own_error": "beside the arms and the other questions, no tool is needed to explain it",
}

_KINDS: Mapping[Mechanism, tuple[Form, ...]] = {"lock_in": ("code",), **_READ}
_TAKEN = 0.5
"""How surely an answer comes from results that it counts as a sign beside arms."""


def taken_from(signals: Signals) -> dict[Mechanism, _Taken | None]:
    """By the mechanism of each kind of tool that gave anything, whether the answer comes from there. A program that
    needs no other computation to be right is none of these."""
    found: dict[Mechanism, _Taken | None] = {}
    for mechanism, forms in _KINDS.items():
        read = [call.event for call in signals.calls if call.form in forms and call.gave]
        if read and not (mechanism == "lock_in" and signals.repair):
            taken = _taken(signals, forms, read)
            found[mechanism] = taken if taken is not None and taken.confidence >= _TAKEN else None
    return found


def outside_signs(signals: Signals, score: Score) -> tuple[Literal["budget", "tool_fault"], ...]:
    """What may have spoiled it from outside its reasoning: a limit that ran out, a tool that never worked again."""
    signs: list[Literal["budget", "tool_fault"]] = []
    if _budget(signals, score):
        signs.append("budget")
    if _tool_fault(signals):
        signs.append("tool_fault")
    return tuple(signs)


def _counted(no_tools: Sequence[NoToolTrial], repeats: Sequence[float]) -> str:
    right = sum((each.score.value or 0.0) >= RIGHT for each in no_tools)
    told = f"{right} of {len(no_tools)} trials without tools are right"
    beside = f", and {sum(score >= RIGHT for score in repeats)} of {len(repeats)} other repeats" if repeats else ""
    return told + beside


def _anyway(expected: Expected) -> str:
    return f"about {100 * (1 - expected.beyond):.0f} of 100 {_EXPECTED}"


_EXPECTED = "such failures are expected without tools as well"


def expected_in(note: str) -> str:
    """Of 100 such failures how many are expected by the note of an attribution by trace; empty where it is silent."""
    found = re.search(rf"about (\d+) of 100 {_EXPECTED}", note)
    return found[1] if found else ""


_LIMITS = {
    "tool_calls": "its number of tool calls",
    "turns": "its number of replies",
    "messages": "its number of messages",
    "cost_usd": "its cost",
    "seconds": "its time",
    "reply_length": "the length of a reply",
    "context_length": "what its model can read at once",
}


def _budget(signals: Signals, score: Score) -> _Finding | None:
    budget, ending = signals.budget, signals.ending
    if budget.stopped is None:
        if score.verdict != "unparsed" or not (ending.cut_off or ending.open):
            return None
        how = "broke off at its length" if ending.cut_off else "stops in the middle of a sentence"
        return _Finding("budget", 0.9, _one(ending.event), f"the reply {how}, without an answer")
    evidence = budget.not_run if budget.event is None else (*budget.not_run, budget.event)
    limit = _LIMITS.get(budget.stopped, budget.stopped)
    if score.verdict == "unparsed":
        return _Finding("budget", 0.9, evidence, f"stopped at the limit of {limit}, without an answer")
    left = " with calls unanswered" if budget.not_run else ""
    return _Finding("budget", 0.75 if left else 0.7, evidence, f"stopped at the limit of {limit}{left}")


def _format(signals: Signals, score: Score) -> _Finding | None:
    form = signals.misstated
    if score.verdict == "unparsed" and signals.budget.stopped is None and form is None:
        # An answer that is another one is wrong in any form.
        if signals.names_another:
            return None
        return _Finding("format", 0.9, _one(signals.ending.event), "the reply has no readable answer")
    if form is None:
        return None
    return _Finding("format", MISSTATED[form.kind], (form.event,), f"the right answer in another form ({form.kind})")


def _tool_fault(signals: Signals) -> _Finding | None:
    left = unrecovered(signals.troubles)
    if not left:
        return None
    # By the plan, which takes the part of a tool that is broken.
    words = {"injected": "made to fail on purpose", "missing_package": "a package that the kernel lacks"}
    kinds = ", ".join(dict.fromkeys(words.get(each.kind, each.kind.replace("_", " ")) for each in left))
    since = "never gave anything since" if all(each.kind in _NO_REPAIRS for each in left) else "never worked again"
    useful = [call for call in signals.calls if call.gave]
    confidence = 0.75 if not useful else 0.5 if _is_last(left[-1], signals.calls) else 0.35
    return _Finding("tool_fault", confidence, tuple(each.event for each in left), f"a tool failed and {since}: {kinds}")


def _own_error(signals: Signals) -> _Finding | None:
    """A slip that needs no tool: the trial had none, or its program needs no other computation to be right."""
    if not (signals.calls or signals.unused or signals.prompted):
        return _Finding("own_error", 0.6, (), "the condition has neither tools nor a prompt of its own")
    if signals.repair is None:
        return None
    if signals.repair.kind == "stated":
        return _Finding("own_error", 0.6, (signals.repair.event,), "the program only states the answer")
    named = "the program gives the right answer with other numbers of the question in place of its own"
    return _Finding("own_error", 0.6, (signals.repair.event,), named)


def _lock_in(signals: Signals) -> _Finding | None:
    """The answer that a program gave; surest where the program answers another question."""
    code = [call.event for call in signals.calls if call.form == "code" and call.gave]
    if signals.repair is not None:
        return None
    taken = _taken(signals, ("code",), code)
    other = signals.reformulation.score >= REFORMULATED
    if not code or not (taken or other):
        return None
    if not other:
        return _Finding("lock_in", taken.confidence, taken.evidence, taken.note) if taken else None
    checks = signals.reformulation.events
    asks = "code looks at finitely many cases of a general question"
    if taken is None:
        return _Finding("lock_in", 0.45, checks, asks)
    return _Finding("lock_in", min(taken.confidence + 0.2, 0.9), (*checks, *taken.evidence), f"{asks}; {taken.note}")


def _read(signals: Signals, mechanism: Mechanism) -> _Finding | None:
    forms = _READ[mechanism]
    read = [call.event for call in signals.calls if call.form in forms and call.gave]
    if taken := _taken(signals, forms, read):
        return _Finding(mechanism, taken.confidence + 0.1, taken.evidence, taken.note)
    echoed = sum(share for event, share in signals.echo.by_event.items() if event in read)
    if min(echoed, signals.echo.from_tools_alone) < ECHOED:
        return None
    evidence = tuple(event for event in signals.echo.by_event if event in read)
    return _Finding(mechanism, 0.4, evidence, "the reply copies the wording of what was read")


def _calling(signals: Signals) -> _Finding | None:
    if not signals.calls or any(call.gave for call in signals.calls):
        return None
    return _Finding("calling", 0.7, tuple(call.event for call in signals.calls), "no call returned anything usable")


def _availability(signals: Signals) -> _Finding | None:
    if signals.calls or not signals.unused:
        return None
    evidence = tuple(tool.event for tool in signals.unused)
    return _Finding("availability", 0.7, evidence, "tools were offered and none was called")


def _prompt(signals: Signals, scaffold: Sequence[float]) -> _Finding | None:
    """Of a trial without calls: where the condition's prompt alone, without tools, is mostly wrong as well."""
    if signals.calls or not signals.prompted:
        return None
    if not signals.unused:
        return _Finding("prompt", 0.4, (), "no tools were offered, and the condition has its own prompt")
    right = sum(score >= RIGHT for score in scaffold)
    if not scaffold or mean(scaffold) >= RIGHT:
        return None
    counted = f"{right} of {len(scaffold)} trials with the condition's prompt and no tools are right"
    return _Finding("prompt", 0.75, (), f"no tool was called, and {counted}")


def _by_rules(signals: Signals, scaffold: Sequence[float]) -> Iterator[_Finding | None]:
    yield _tool_fault(signals)
    yield _lock_in(signals)
    yield from (_read(signals, mechanism) for mechanism in _READ)
    yield from (_calling(signals), _availability(signals), _prompt(signals, scaffold), _own_error(signals))


def _taken(signals: Signals, forms: Sequence[str], results: Sequence[int]) -> _Taken | None:
    """How far the final answer comes from results of these forms: it stands in one and was not said before, or the
    model supported another one until it saw one."""
    turned = next((each for each in reversed(signals.changes) if set(each.results) & set(results)), None)
    turned = turned if turned is not None and turned.after.answer == signals.answer else None
    adopted = signals.adoption
    if adopted is not None and adopted.is_new and adopted.form in forms and adopted.event in results:
        if turned is None:
            return _Taken(0.6, (adopted.event,), "its final answer first appears in a result")
        evidence = (turned.before.event, adopted.event, turned.after.event)
        return _Taken(0.8, evidence, "the answer changed to one that occurs in a result")
    if turned is None:
        # Of a program alone: pages hold much of what a question says.
        repeats = adopted is not None and adopted.in_question and adopted.last and adopted.said_before is None
        if adopted is not None and repeats and adopted.form == "code" and "code" in forms:
            return _Taken(
                0.45, (adopted.event,), "the answer is a program's last result, and occurs in the question as well"
            )
        return None
    seen = (event for event in turned.results if event in results)
    return _Taken(0.5, (turned.before.event, *seen, turned.after.event), "the answer changed after a result")


def _is_last(trouble: Trouble, calls: Sequence[CallSeen]) -> bool:
    return not any(call.event > trouble.event and call.gave for call in calls)


def _one(event: int | None) -> tuple[int, ...]:
    return () if event is None else (event,)
