"""What is known of one trial with tools when it is said why it went as it did."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import pairwise
from typing import Literal

import numpy as np

from toolablate.analysis.attribution.belief import BeliefFlip, Trajectory, cuts
from toolablate.analysis.attribution.change_rates import ChangeRates
from toolablate.analysis.attribution.decomposition import DecompositionInputs, Replay, Scores, Signal, ToolKind
from toolablate.analysis.attribution.signals.signal_types import CallSeen, Form, Signals
from toolablate.analysis.attribution.trace_rules import NoToolTrial, faults, ran_out
from toolablate.analysis.pairing import RIGHT, mean
from toolablate.analysis.shapley import ShapleyEstimate
from toolablate.traces.records import (
    Attribution,
    Diagnosis,
    Event,
    Outcome,
    Question,
    ReplayDesign,
    ReplayPurpose,
    Score,
)


@dataclass(frozen=True, slots=True)
class PivotalResult:
    """What the result at which a belief fell has to do with it: scores of runs that go on from the tool call `event`
    with its result as it was (`kept`), and with none (`without`)."""

    event: int
    kept: Scores
    without: Scores


@dataclass(frozen=True, slots=True)
class EvidenceOutline:
    """Of one trial of a condition with tools what lists and decompositions are made of, of however many trials.

    score       without what a judge was asked
    inputs       what the decomposition needs; `tools` of those alone that are wrong or were replayed
    steps       the events of its `belief_steps`; step k of the trajectory is before event steps[k]; of the same alone
    trajectory  by answers asked for before these; None where none were, or too few steps
    flip        where the belief in the right answer falls for good
    diagnoses   labels of judges, without what these were asked
    redrawn     scores of its last reply drawn again
    """

    model: str
    condition: str
    question: str
    domain: str
    score: Score
    inputs: DecompositionInputs
    steps: tuple[int, ...] = field(default=(), kw_only=True)
    trajectory: Trajectory | None = field(default=None, kw_only=True)
    flip: BeliefFlip | None = field(default=None, kw_only=True)
    diagnoses: tuple[Diagnosis, ...] = field(default=(), kw_only=True)
    redrawn: Scores = field(default=(), kw_only=True)

    @property
    def last_reply(self) -> Scores:
        """Scores of its last reply drawn again."""
        return self.redrawn


@dataclass(frozen=True, slots=True)
class Evidence(EvidenceOutline):
    """Of one trial all that a page about it is made of; `score` is whole.

    runs        all its replays, where more were run to settle what made it wrong than `inputs` has: those are as many
                as of any other trial, so that how many were run here does not bear on the decomposition
    no_tools        its question's trials without tools, of the same model, and their runs that replays made
    repeats     scores of the question's other trials under the condition, of the same model
    signed      scores of trials of its question and model with the same tools, itself among them, that show its signs
                from outside (a limit, a tool that failed); without such signs of all under the condition
    unsigned    scores of those that show none of these signs
    outset      scores of answers that were asked for before anything was called, of `repeats`: to the model they are
                one with this trial there (`at_outset`)
    swapped     scores of replays of other trials of its question, model and tools with all results swapped, where its
                own are short for short ones: but for the first reply what its own come to
    shortened   where its own results are long, the same for short ones
    offered     scores of trials of its question and model to which the same tools were only offered, whatever condition
                it was the arm of; `offered_again` of them are runs that replays made
    re_asked     scores of answers that were asked for once more after the final reply
    ignore_tools  scores of answers that were to ignore the tool results
    pivotal     None where the belief did not fall at a result, or nobody looked
    shapley     of its results, by their events: Shapley values of being right
    answered    what replays that ran to their end answered, as a scorer read it: of one that it could not read when it
                was asked once more; empty where neither could be read
    came_again  of each result after the second reply, by its event, in how many of the replays that go on from the
                first result a call gave the same
    """

    signals: Signals
    runs: Replay | None = None
    no_tools: tuple[NoToolTrial, ...] = ()
    repeats: Scores = ()
    signed: Scores = ()
    unsigned: Scores = ()
    outset: Scores = ()
    swapped: Scores = ()
    shortened: Scores = ()
    offered: Scores = ()
    offered_again: int = 0
    re_asked: Scores = ()
    ignore_tools: Scores = ()
    pivotal: PivotalResult | None = None
    shapley: Mapping[int, ShapleyEstimate] = field(default_factory=dict)
    answered: Mapping[ReplayPurpose, tuple[str, ...]] = field(default_factory=dict)
    came_again: Mapping[int, int] = field(default_factory=dict)

    @property
    def called(self) -> bool:
        """Whether it made any call, be it that all were refused."""
        return bool(self.signals.calls)

    @property
    def at_outset(self) -> tuple[int, float]:
        """How many answers were asked for before anything was called, here and in other repeats, and how many of them
        are right."""
        beliefs = self.trajectory.beliefs if self.trajectory else ()
        own = next((each for each in beliefs if each.step == 0), None)
        asked, right = (own.samples, round(own.right.mean * own.samples)) if own else (0, 0)
        return asked + len(self.outset), right + math.fsum(self.outset)

    @property
    def all_runs(self) -> Replay | None:
        return self.runs or self.inputs.replay

    @property
    def last_reply(self) -> Scores:
        return self.all_runs.last_reply if self.all_runs is not None else ()

    def outline(self) -> EvidenceOutline:
        known = {each.name: getattr(self, each.name) for each in fields(EvidenceOutline)}
        return EvidenceOutline(**{**known, "score": without_judge(self.score), "redrawn": self.last_reply})


def without_judge(score: Score) -> Score:
    """Without what a judge was asked."""
    return score.model_copy(update={"judgement": None, "mapping": None})


@dataclass(frozen=True, slots=True)
class Outlined:
    """A trial in outline, and what each method makes of it. `attribution` is the one to go by: by replay where there
    is one, else by trace; None for a trial that is right. `hypotheses` are the others."""

    evidence: EvidenceOutline
    attribution: Attribution | None
    hypotheses: tuple[Attribution, ...] = ()


@dataclass(frozen=True, slots=True)
class Explained(Outlined):
    """The same with all evidence."""

    evidence: Evidence

    def outlined(self) -> Outlined:
        return Outlined(self.evidence.outline(), self.attribution, self.hypotheses)


# One trial with all that a page about it is made of.


@dataclass(frozen=True, slots=True)
class Explanation:
    """`conversation` are the events of the trial, `store` the path by which commands name its store; `provider` is that
    of its model, `design` the sample of replays that was asked for last, None without any; `rates` are those of its
    store."""

    explained: Explained
    question: Question
    conversation: tuple[Event, ...]
    outcome: Outcome
    repeat: int
    store: str
    provider: str = ""
    design: ReplayDesign | None = None
    rates: ChangeRates = field(default_factory=ChangeRates)

    @property
    def simulated(self) -> bool:
        """Whether its model is a stand-in: no measurement."""
        return self.provider == "simulated"


# How much results a model was shown.


LONG_RESULTS, VERY_LONG_RESULTS = 4_000, 16_000
"""Characters of all results from which on their volume may matter, and from which on it is likely to."""


def shown_chars(signals: Signals) -> int:
    return sum(call.chars for call in signals.calls)


# At what a belief fell: between which two steps, and what happened there.


KINDS: dict[Form, ToolKind] = {"code": "code", "search": "search", "page": "search", "other": "other"}


@dataclass(frozen=True, slots=True)
class Fall:
    """Where a belief fell.

    at      `results` where it fell at what calls gave, `reply` where it fell at a reply that makes calls, before their
            results; `either` where steps between were not probed
    event   the last result, or the reply; the first event of the stretch where it is either
    events  the calls that it is about: whose results these are, or that the reply makes
    kinds   of their tools
    """

    at: Literal["results", "reply", "either"]
    event: int
    events: tuple[int, ...]
    kinds: frozenset[ToolKind]


def fall_at(flip: BeliefFlip, steps: Sequence[int], calls: Sequence[CallSeen]) -> Fall:
    """Of a flip between steps that stand before the events `steps`; `calls` are those of the trial."""
    begin, end = steps[flip.after], steps[flip.step]
    following = steps[flip.step + 1] if flip.step + 1 < len(steps) else None
    within = [call for call in calls if begin <= call.event < end]
    called = [call for call in calls if call.event >= end and (following is None or call.event < following)]
    about = within or called
    events, kinds = tuple(call.event for call in about), frozenset(KINDS[call.form] for call in about)
    if flip.step - flip.after > 1:
        return Fall("either", begin, events, kinds)
    return Fall("results", events[-1], events, kinds) if within else Fall("reply", begin, events, kinds)


# What a trial's trace and its beliefs tell the decomposition of its results: what harmed, and what helped.


FOUND: dict[ToolKind, Signal] = {"code": "computed", "search": "retrieved"}


def computes_an_answer(signals: Signals) -> bool:
    """Whether code supports the answer at all: it looks at finitely many cases of a general question, or gave what
    the model answers. Code that does neither is a call like any other."""
    adopted = signals.adoption
    return bool(signals.reformulation.checks) or (adopted is not None and adopted.form == "code")


def is_locked_in(flip: BeliefFlip | None, steps: Sequence[int], signals: Signals, ignore_tools: Scores) -> bool:
    """Whether the belief falls for good at code or what it gave, which supports the answer, and is nearer to what it
    was before once the computation is set aside."""
    if flip is None or not ignore_tools or not computes_an_answer(signals):
        return False
    fall = fall_at(flip, steps, signals.calls)
    return fall.kinds == {"code"} and mean(ignore_tools) > (flip.before + flip.level) / 2


def decomposition_signals(
    signals: Signals, steps: Sequence[int], trajectory: Trajectory | None, flip: BeliefFlip | None, ignore_tools: Scores
) -> frozenset[Signal]:
    found: set[Signal] = {FOUND[kind] for kind in _rises(trajectory, steps, signals) if kind in FOUND}
    if signals.reading.leaks:
        found.add("answer_leak")
    if is_locked_in(flip, steps, signals, ignore_tools) and not (ran_out(signals) or faults(signals)):
        # Of a limit that ran out and of a tool that failed the answer is not the computation's.
        found.add("lock_in")
    return frozenset(found)


def _rises(trajectory: Trajectory | None, steps: Sequence[int], signals: Signals) -> Iterator[ToolKind]:
    """The kinds of tools at whose results the belief rises from below one half to above it, to stay there to the end.
    By levels, as a fall is (`flip_step`)."""
    if trajectory is None:
        return
    beliefs = trajectory.beliefs
    samples = np.array([belief.samples for belief in beliefs])
    right = np.array([round(belief.right.mean * belief.samples) for belief in beliefs])
    (levels,) = cuts(right[None], samples)
    heights = [float(right[begin:end].sum() / samples[begin:end].sum()) for begin, end in pairwise(levels)]
    for number, (before, after) in enumerate(pairwise(heights), start=1):
        if before < RIGHT <= after and min(heights[number:]) >= RIGHT:
            place = levels[number]
            begin, end = steps[beliefs[place - 1].step], steps[beliefs[place].step]
            yield from (KINDS[call.form] for call in signals.calls if begin <= call.event < end)
