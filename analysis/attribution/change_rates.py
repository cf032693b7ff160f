"""How often a level differs from the one before it: estimated from the replayed trials of a store (empirical Bayes).

A level is what a wrong trial comes to with one more thing taken away (`levels.chains`). The prior probability
that taking it away changes anything is a rate, one for each kind of step. Rates are fitted: they are those under which
the store's replays are likeliest, with some trials' worth of prior, first for the whole store, then for each model and
condition, which are partially pooled towards the store's (Efron 2010, "Large-scale inference",
chapter 1; Gelman et al. 2013, "Bayesian data analysis", chapter 5).
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from toolablate.analysis.attribution.forced_answers import Forcing
from toolablate.analysis.attribution.level_chances import FIRST_LOW
from toolablate.analysis.attribution.sign_rates import SignRate
from toolablate.analysis.statistics.intervals import Floats
from toolablate.traces.records import Mechanism

Part = Literal[
    "first_low",
    "budget",
    "tool_fault",
    "again",
    "search",
    "code",
    "other",
    "volume",
    "first_reply",
    "calling",
    "availability",
    "prompt",
]
"""What is taken away on the way to a level; `again` is nothing but what was drawn after the first call, `first_reply`
nothing but the reply that made it, a kind of tool its results, and `volume` the length of what stands in for them.
`first_low` takes nothing away: it is that such trials are mostly wrong as they are."""

Where = Literal[
    "",
    "at_the_fall",
    "has_the_answer",
    "elsewhere",
    "not_asked",
    "called",
    "not_called",
    "long",
    "very_long",
    "results_gone",
    "calls_empty",
    "calls_gone",
]
"""What bears on a rate: of results and calls, whether the belief in the right answer falls for good there, whether a
result gave the wrong final answer, or whether the belief was never asked for; of the offer of tools and the condition's
words, whether anything was called; of the volume of results, how long they are; of a sign that no trial lacks, with
what else it may go."""

Step = tuple[Part, Where]
"""The kind of a step between two levels."""

JointSteps = tuple[Step, ...]
"""Steps between two levels that no runs tell apart: mostly one."""

Group = tuple[str, str]
"""Model and condition."""

_ALWAYS: Mapping[Part, float] = {"budget": 0.5, "tool_fault": 0.5, "again": 0.05, "first_reply": 0.1}
"""A limit that ran out and a tool that failed mostly matter; what is drawn again has no reason to be another."""
_OTHERS: Mapping[Where, float] = {"not_asked": 0.2, "called": 0.1, "not_called": 0.3, "long": 0.05, "very_long": 0.2}
_OF_ARMS = 0.1
"""Of results and calls where arms alone tell."""
_SIGNS_OF_ARMS: Mapping[Part, float] = {"budget": 0.3, "tool_fault": 0.1}
"""Of a limit and of a tool that failed, as many trials show that go wrong for another reason."""
_RESULTS, _CALLING = (0.5, 0.05), (0.3, 0.03)
"""At the fall of the belief, and elsewhere."""
_HAS_THE_ANSWER = 0.3
"""Of results elsewhere that gave the final answer, which is wrong."""

PRIOR_TRIALS = 20.0
"""How many trials' worth of evidence the prior rates are, and the store's rates for each model and condition."""
_ROUNDS = 15
_LEAST, _MOST = 0.002, 0.98


def prior_rate(step: Step) -> float:
    """Before any trial is seen."""
    part, where = step
    if part in _ALWAYS and where != "elsewhere":
        return _ALWAYS[part]
    if where == "has_the_answer":
        return _HAS_THE_ANSWER
    if where in _OTHERS:
        return _OTHERS[where]
    return (_CALLING if part == "calling" else _RESULTS)[where == "elsewhere"]


def arm_rate(step: Step) -> float:
    """The same where arms alone tell. Fewer of the wrong trials that nobody chose to replay are a tool's doing."""
    part, where = step
    if part == "first_low":
        return FIRST_LOW
    if part in _SIGNS_OF_ARMS:
        return _SIGNS_OF_ARMS[part]
    return _OF_ARMS if where == "not_asked" else prior_rate(step)


def either(rates: Iterable[float]) -> float:
    """How often one at least of several changes something."""
    return 1 - math.prod(1 - rate for rate in rates)


@dataclass(frozen=True, slots=True)
class SteppedTrial:
    """A wrong trial that was replayed: for each order of its levels the steps between them, and by rates of these the
    probability that each step changes anything."""

    group: Group
    orders: Sequence[tuple[Sequence[JointSteps], Callable[[Sequence[float]], Floats]]]


@dataclass(frozen=True, slots=True)
class FittedRate:
    """Of one kind of step: its rate before and after, how many such steps were seen, and how many trials have one: some
    have several."""

    step: Step
    prior: float
    rate: float
    seen: float
    trials: float


@dataclass(frozen=True, slots=True)
class ChangeRates:
    """Rates of the whole store, and of each model and condition; without any, those of before. `forcing` is by
    model. `arms` are rates where arms alone tell, and `signs` how often a mechanism shows in a trace."""

    store: Mapping[Step, FittedRate] = field(default_factory=dict)
    groups: Mapping[Group, Mapping[Step, float]] = field(default_factory=dict)
    forcing: Mapping[str, Forcing] = field(default_factory=dict)
    arms: Mapping[Group, Mapping[Step, float]] = field(default_factory=dict)
    signs: Mapping[Mechanism, SignRate] = field(default_factory=dict)

    def of_arms(self, group: Group, step: Step) -> float:
        own = self.arms.get(group, {})
        return own[step] if step in own else arm_rate(step)

    def of(self, group: Group, step: Step) -> float:
        own = self.groups.get(group, {})
        if step in own:
            return own[step]
        return self.store[step].rate if step in self.store else prior_rate(step)


def fitted_rates(trials: Sequence[SteppedTrial], prior: Callable[[Step], float] = prior_rate) -> ChangeRates:
    """By expectation and maximization: how probable each step's change is by the rates, then the rates that these
    probabilities have. Steps that no runs tell apart share a change by their rates."""
    steps = sorted({step for trial in trials for order, _ in trial.orders for joint in order for step in joint})
    priors = {step: prior(step) for step in steps}
    store, groups = dict(priors), dict[Group, dict[Step, float]]()
    counts: dict[Step, float] = {}
    for _ in range(_ROUNDS):
        sums: dict[Group, dict[Step, float]] = defaultdict(lambda: defaultdict(float))
        numbers: dict[Group, dict[Step, float]] = defaultdict(lambda: defaultdict(float))
        for trial in trials:
            rates = groups.get(trial.group, store)
            for order, changed in trial.orders:
                of_order = [either(rates[step] for step in joint) for joint in order]
                for joint, whole, probability in zip(order, of_order, changed(of_order).tolist(), strict=True):
                    for step in joint:
                        sums[trial.group][step] += probability * rates[step] / whole / len(trial.orders)
                        numbers[trial.group][step] += 1 / len(trial.orders)
        counts = _summed(numbers.values(), steps)
        changes = _summed(sums.values(), steps)
        store = {step: _pooled(priors[step], changes[step], counts[step]) for step in steps}
        # Towards what the other groups say: its own trials count once.
        groups = {
            group: {
                step: _pooled(
                    _pooled(priors[step], changes[step] - of[step], counts[step] - numbers[group][step]),
                    *(of[step], numbers[group][step]),
                )
                for step in steps
            }
            for group, of in sums.items()
        }
    having = _having(trials)
    return ChangeRates(
        store={step: FittedRate(step, priors[step], store[step], counts[step], having[step]) for step in steps},
        groups=groups,
    )


def _having(trials: Sequence[SteppedTrial]) -> Mapping[Step, float]:
    """How many trials have a step of each kind; of a trial whose orders differ in it, the share of these."""
    found: dict[Step, float] = defaultdict(float)
    for trial in trials:
        for order, _ in trial.orders:
            for step in {step for joint in order for step in joint}:
                found[step] += 1 / len(trial.orders)
    return found


def _pooled(towards: float, changes: float, trials: float) -> float:
    return min(_MOST, max(_LEAST, (PRIOR_TRIALS * towards + changes) / (PRIOR_TRIALS + trials)))


def _summed(each: Iterable[Mapping[Step, float]], steps: Sequence[Step]) -> dict[Step, float]:
    found = dict.fromkeys(steps, 0.0)
    for of in each:
        for step, value in of.items():
            found[step] += value
    return found
