"""Effect decomposition: the terms of each trial, which sum to its effect, and the mechanisms behind them."""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, pairwise
from typing import Any, Generic, Literal, TypeVar, get_args

from toolablate.analysis.effect import too_few
from toolablate.analysis.pairing import RIGHT, Unit, mean
from toolablate.analysis.shapley import design, shapley_values
from toolablate.analysis.statistics.intervals import RESAMPLES, bootstrap_intervals, by_unit
from toolablate.analysis.statistics.p_values import holm, sign_flip_p
from toolablate.traces.records import ReplayDesign, digest_text

Scores = tuple[float, ...]
"""Of runs that differ in nothing but chance, in [0, 1]; of none where nothing was run."""

ToolKind = Literal["search", "code", "other"]
"""Whose results a trial has: searches and the pages that they lead to, the code interpreter, any other tool."""

ArmWithoutCalls = Literal["none", "scaffold", "offered"]
"""Arms in which nothing is called, so that one more run is one request."""
ARMS_WITHOUT_CALLS: tuple[ArmWithoutCalls, ...] = get_args(ArmWithoutCalls)

Signal = Literal["lock_in", "computed", "answer_leak", "retrieved"]
"""What a trial's trace, belief or judge tells of it: that the belief falls at the code or its output and never
recovers, and setting the computation aside restores it; that code found what the model did not know; that the answer
stood in what a search found; that the search found what the model did not know."""


@dataclass(frozen=True, slots=True)
class Arms:
    """Scores of a question under the arms of the ladder, each from the start. A condition without a prompt has the
    scores of `none` as its `scaffold`.

    Those of `none` are as they are. `no_tools` are the same with lost formats re-asked, as those of all other arms are;
    empty where none is lost, None where some are and nobody asked for them again. Of another arm there are none then.
    `scaffold` and `offered` have the runs of them that replays made; `none_again` are those without tools, which the
    effect does not have, as they are. `again` counts these runs by their arms.
    """

    none: Scores
    scaffold: Scores = ()
    offered: Scores = ()
    sham: Scores = ()
    placebo: Scores = ()
    no_tools: Scores | None = ()
    none_again: Scores = ()
    again: Mapping[ArmWithoutCalls, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.none:
            raise ValueError("without a score of the question without tools there is no effect to take apart")

    @property
    def without_tools(self) -> Scores:
        """All runs of the question without tools, those that replays made among them."""
        return (*self.none, *self.none_again)


@dataclass(frozen=True, slots=True)
class Replay:
    """What a trial comes to with one more thing changed, each on top of the changes before it. Where there is nothing
    to change, as where the budget did not run out, the scores are those of the level before. Lost formats are re-asked
    at every level.

    extended  with the budget extended
    repaired  with the errors of tools repaired
    rollouts  with the reasoning drawn again after the same results, by the kinds of tools whose results were swapped
              for placebo ones: by none of them, by all, and where several were used by each choice of them
    signals   by other runs than `rollouts`: a signal that is a sign of their noise would make that noise a mechanism
    re_asked    what the same answer scores with its format re-asked, where the inputs do not know it
    short     with short placebos of all of them; None where results are short as they are, so that it is the same
    last_reply  with nothing but the last reply drawn again; no term is made of it
    unread      how many of these could not be read before they were asked for once more
    """

    extended: Scores = ()
    repaired: Scores = ()
    rollouts: Mapping[frozenset[ToolKind], Scores] = field(default_factory=dict)
    signals: frozenset[Signal] = frozenset()
    re_asked: Scores = ()
    short: Scores | None = ()
    last_reply: Scores = ()
    unread: int = 0


@dataclass(frozen=True, slots=True)
class DecompositionInputs:
    """One trial of a condition with tools.

    unit         the independent unit of its question
    tools        kinds of tools whose results it has
    re_asked       what the same answer scores with its format re-asked; None where only a replay can tell
    inclusion_probability  with which a trial like it is replayed; it may depend on its score
    replay       None where it was not
    sampled      whether it was chosen to be replayed, be it that its replays are lacking; None: where it has a replay
    """

    model: str
    condition: str
    question: str
    unit: Unit
    trial: str
    score: float
    arms: Arms
    tools: frozenset[ToolKind] = frozenset()
    re_asked: float | None = None
    inclusion_probability: float = 0.0
    replay: Replay | None = None
    sampled: bool | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.inclusion_probability <= 1 or (self.replay is not None and not self.inclusion_probability):
            raise ValueError(f"trial {self.trial}: replayed with a probability of {self.inclusion_probability}")


# The difference that one trial makes, taken apart into consecutive differences that sum to it.


Term = Literal[
    "format",
    "budget",
    "tool_fault",
    "sampling_noise",
    "content",
    "volume",
    "use",
    "calling",
    "availability",
    "prompt",
    "unresolved",
]
Level = Literal[
    "observed",
    "re_asked",
    "extended",
    "repaired",
    "resampled",
    "swapped",
    "short",
    "placebo",
    "sham",
    "offered",
    "scaffold",
    "no_tools",
    "none",
]

TERMS: tuple[Term, ...] = get_args(Term)
LEVELS: tuple[Level, ...] = get_args(Level)

BELOW: Mapping[Level, Term] = {
    "observed": "format",
    "re_asked": "budget",
    "extended": "tool_fault",
    "repaired": "sampling_noise",
    "resampled": "content",
    "swapped": "volume",
    "short": "use",
    "placebo": "use",
    "sham": "calling",
    "offered": "availability",
    "scaffold": "prompt",
    "no_tools": "format",
}
"""What the difference of a level and the next one is. From `re_asked` to `no_tools` every level has its formats
re-asked, so that `format` is what the trial loses by its form more than the question does without tools."""


def terms(inputs: DecompositionInputs, replay: Replay | None, *, calling: bool) -> dict[Term, float]:
    """Of the trial's score less the mean without tools, by what is known with this replay, or without any.

    Each term is a difference of neighbouring levels, so that they sum to it whatever the levels are. Where levels are
    missing, the difference of their neighbours is `unresolved`, never another term, unless every step between belongs
    to one term: use, with or without the placebo arm. Where short results were tried, they take the place of that arm,
    whose results are long; where they were not, volume is a part of use. Terms that no pair of levels shows are not
    among those returned. Without `calling`, where the condition has no sham arm, use is all from the offered tools to
    placebo results.
    """
    known = dict(_levels(inputs, replay))
    left_out = {"placebo" if "short" in known else "short", *(() if calling else ("sham",))}
    order = [level for level in LEVELS if level not in left_out]
    of_level: Mapping[Level, Term] = BELOW if "short" in known else {**BELOW, "swapped": "use"}
    found: dict[Term, float] = defaultdict(float)
    for above, below in pairwise(level for level in order if level in known):
        between = order[order.index(above) : order.index(below)]
        of: set[Term] = {of_level[level] for level in between}
        found[of.pop() if len(of) == 1 else "unresolved"] += known[above] - known[below]
    return dict(found)


def points(inputs: DecompositionInputs) -> dict[Term, float]:
    """What one trial adds to an effect, in percentage points, as far as its own replays and arms tell; the
    decomposition estimates from them what all trials add."""
    own = terms(inputs, inputs.replay, calling=bool(inputs.arms.sham))
    return {name: 100 * value for name, value in own.items()}


def _levels(inputs: DecompositionInputs, replay: Replay | None) -> Iterator[tuple[Level, float]]:
    yield "observed", inputs.score
    re_asked = replay.re_asked if inputs.re_asked is None and replay is not None else ()
    if inputs.re_asked is not None or re_asked:
        yield "re_asked", mean(re_asked) if inputs.re_asked is None else inputs.re_asked
    arms = inputs.arms
    runs: dict[Level, Scores] = {
        "placebo": arms.placebo,
        "sham": arms.sham,
        "offered": arms.offered,
        "scaffold": arms.scaffold,
        "no_tools": () if arms.no_tools is None else arms.no_tools or arms.none,
        "none": arms.none,
    }
    if replay is not None:
        runs["extended"], runs["repaired"] = replay.extended, replay.repaired
        runs["resampled"] = replay.rollouts.get(frozenset(), ())
        runs["swapped"] = replay.rollouts.get(inputs.tools, ())
        runs["short"] = runs["swapped"] if replay.short is None else replay.short
    yield from ((level, mean(scores)) for level, scores in runs.items() if scores)


# Terms of a trial by the names of what was at work, after the tools that it used and its signals.


EffectMechanism = Literal[
    "retrieval_distraction",
    "knowledge_retrieved",
    "answer_leak",
    "computational_lock_in",
    "computation_misled",
    "computation_done",
    "other_results",
    "volume",
    "use",
    "calling",
    "tool_fault",
    "budget",
    "format_loss",
    "availability",
    "prompt",
    "sampling_noise",
    "unresolved",
]

MECHANISMS: tuple[EffectMechanism, ...] = get_args(EffectMechanism)

OF_TERMS: Mapping[Term, EffectMechanism] = {
    "format": "format_loss",
    "budget": "budget",
    "tool_fault": "tool_fault",
    "sampling_noise": "sampling_noise",
    "volume": "volume",
    "use": "use",
    "calling": "calling",
    "availability": "availability",
    "prompt": "prompt",
    "unresolved": "unresolved",
}
CONTENT: Mapping[ToolKind, EffectMechanism] = {
    "search": "retrieval_distraction",
    "code": "computation_misled",
    "other": "other_results",
}
SIGNALLED: Mapping[ToolKind, Mapping[Signal, EffectMechanism]] = {
    "search": {"answer_leak": "answer_leak", "retrieved": "knowledge_retrieved"},
    "code": {"lock_in": "computational_lock_in", "computed": "computation_done"},
    "other": {},
}
"""What content is called where a trial has a signal; the first that it has."""


def mechanisms(
    inputs: DecompositionInputs, replay: Replay | None, found: Mapping[Term, float]
) -> dict[EffectMechanism, float]:
    """The terms of a trial under other names, with the same sum.

    The content of a trial's results is shared among kinds of tools by their Shapley value: where both search and code
    were used, the mean over both orders of swapping them. It is `unresolved` here where some choice of swaps was not
    run. What it is called is by signals and not by its sign, because noise alone would make half of it harms and half
    gains; without a signal it has its harm's name, and is above 0 where unnamed gains outweigh harms. To a lock-in
    belongs the use as well where code is all that was used: the use of several kinds is not parted.
    """
    named: dict[EffectMechanism, float] = defaultdict(float)
    for term, value in found.items():
        if term != "content":
            named[OF_TERMS[term]] += value
    # Without results nothing was swapped, and the content is 0.
    if replay is None or "content" not in found or not inputs.tools:
        return dict(named)
    by_kind = _by_kind(inputs.tools, replay.rollouts)
    if not by_kind:
        named["unresolved"] += found["content"]
    for kind, value in by_kind.items():
        signalled = (name for signal, name in SIGNALLED[kind].items() if signal in replay.signals)
        named[next(signalled, CONTENT[kind])] += value
    if "lock_in" in replay.signals and inputs.tools == {"code"} and "use" in named:
        named["computational_lock_in"] += named.pop("use")
    return dict(named)


def _by_kind(tools: frozenset[ToolKind], rollouts: Mapping[frozenset[ToolKind], Scores]) -> dict[ToolKind, float]:
    """Shapley values of the results of each kind; nothing where rollouts are lacking."""
    kinds = sorted(tools)
    over = design(len(kinds))
    real = {subset: rollouts.get(tools - {kinds[number] for number in subset}, ()) for subset in over.subsets}
    if not all(real.values()):
        return {}
    return {kind: estimate.value for kind, estimate in zip(kinds, shapley_values(over, real), strict=True)}


# One trial's share of a decomposition where only some trials were replayed.


TermKey = TypeVar("TermKey", bound=str)


@dataclass(frozen=True, slots=True)
class SampledTrial(Generic[TermKey]):
    """A trial's accounts as far as they are `known` without a replay, and what its replay changes in them: nothing
    where it was not sampled, or its replays are lacking. `weight` is what it counts in the effect."""

    known: Mapping[TermKey, float]
    change: Mapping[TermKey, float]
    inclusion_probability: float
    sampled: bool
    weight: float


def estimated(trials: Sequence[SampledTrial[TermKey]]) -> list[dict[TermKey, float]]:
    """What each trial adds to each account, so that the sampled ones stand for all.

    Of trials with one inclusion probability (a stratum), each is known + m + s (change - m) / f, where s is 1 if it is
    sampled, f the weighted share of the stratum that is, and m the mean change of those. Summed, that is the ratio
    estimator of Hajek (1971, discussion of Basu, in "Foundations of statistical inference"): sampled trials stand for
    exactly as much as there is, so that the luck of how many were drawn is no error, as it is with the nominal
    probability. Trial by trial it is the estimator's linearization (Särndal, Swensson and Wretman 1992, "Model assisted
    survey sampling", section 5.5), so that a bootstrap over questions has its variance. A replay moves what was
    unresolved to other accounts: changes sum to 0, and every trial's accounts to the difference that it makes. Of a
    stratum without sampled trials all stays as it is known.
    """
    whole, sampled = defaultdict[float, float](float), defaultdict[float, float](float)
    sums: dict[float, dict[TermKey, float]] = defaultdict(lambda: defaultdict(float))
    for each in trials:
        whole[each.inclusion_probability] += each.weight
        if each.sampled:
            sampled[each.inclusion_probability] += each.weight
            for name, value in each.change.items():
                sums[each.inclusion_probability][name] += each.weight * value
    return [_estimated(each, whole, sampled, sums) for each in trials]


def _estimated(
    trial: SampledTrial[TermKey],
    whole: Mapping[float, float],
    sampled: Mapping[float, float],
    sums: Mapping[float, Mapping[TermKey, float]],
) -> dict[TermKey, float]:
    stratum = trial.inclusion_probability
    if not sampled.get(stratum):
        return dict(trial.known)
    share = sampled[stratum] / whole[stratum]
    means = {name: value / sampled[stratum] for name, value in sums[stratum].items()}
    return {
        name: trial.known.get(name, 0.0)
        + means.get(name, 0.0)
        + (trial.change.get(name, 0.0) - means.get(name, 0.0)) * trial.sampled / share
        for name in dict.fromkeys((*trial.known, *means, *trial.change))
    }


# The decomposition of an effect: terms and mechanisms in points, which sum to it.


Interval = tuple[float, float]
Name = TypeVar("Name")

FEWEST_CLUSTERS = 3
"""Of two independent questions a bootstrap knows three means: its intervals can exclude the figure itself."""

UNTESTED = frozenset({"sampling_noise", "unresolved"})
"""Sampling noise is 0 in expectation whatever tools do, and one trial less the mean of many rollouts is so skewed where
most are right, or wrong, that a test would find it in 17 % of such data; the unresolved is no mechanism."""


@dataclass(frozen=True, slots=True)
class Account:
    """One part of an effect.

    name        a term, a mechanism, or `effect`
    points      its mean over questions, of each question's mean over its trials, in percentage points; negative where
                tools are worse
    ci90, ci95  intervals by a bootstrap over independent questions, each with all its arms and rollouts; None where the
                data cannot tell
    small       too few questions, or too few in which it is not 0, for intervals that cover what they say (`effect`)
    p_value     two-sided sign-flip test of points = 0; of mechanisms alone, and not of UNTESTED
    p_holm      the same, corrected over all mechanisms of all decompositions that were made together
    """

    name: str
    points: float
    ci90: Interval | None
    ci95: Interval | None
    small: bool
    p_value: float | None = None
    p_holm: float | None = None


@dataclass(frozen=True, slots=True)
class Decomposition:
    """One model and condition against no tools. Terms sum to the effect, and so do mechanisms; those that no trial
    shows are not among them. `replayed` of its `trials` were replayed; the unresolved is what is not known."""

    model: str
    condition: str
    questions: int
    clusters: int
    trials: int
    replayed: int
    effect: Account
    terms: tuple[Account, ...]
    mechanisms: tuple[Account, ...]


@dataclass(frozen=True, slots=True)
class _Columns:
    """Of each question its unit, and its value in each account."""

    units: Sequence[Unit]
    effect: Sequence[float]
    terms: Mapping[Term, Sequence[float]]
    mechanisms: Mapping[EffectMechanism, Sequence[float]]


def decompositions(
    all_inputs: Iterable[DecompositionInputs], *, seed: int = 0, resamples: int = RESAMPLES
) -> list[Decomposition]:
    """One for each model and condition, by name. The result depends on the trials and the seed, not on their order."""
    ordered = sorted(all_inputs, key=lambda inputs: (inputs.model, inputs.condition, inputs.question, inputs.trial))
    groups = groupby(ordered, key=lambda inputs: (inputs.model, inputs.condition))
    return _corrected([_decomposition(list(trials), seed, resamples) for _, trials in groups])


def _decomposition(all_inputs: Sequence[DecompositionInputs], seed: int, resamples: int) -> Decomposition:
    columns = _columns(all_inputs)
    values = [columns.effect, *columns.terms.values(), *columns.mechanisms.values()]
    names = ["effect", *columns.terms, *columns.mechanisms]
    sizes, *sums = by_unit(columns.units, [1.0] * len(columns.units), *values)
    drawn = [(each, sizes) for each in sums]
    ci90, ci95 = (
        bootstrap_intervals(drawn, seed=seed, confidence=confidence, resamples=resamples)
        if len(sizes) >= FEWEST_CLUSTERS
        else [None] * len(drawn)
        for confidence in (0.9, 0.95)
    )
    accounts = [
        Account(name, 100 * mean(column), _hundredfold(narrow), _hundredfold(wide), too_few(each, sizes))
        for name, column, narrow, wide, each in zip(names, values, ci90, ci95, sums, strict=True)
    ]
    first = 1 + len(columns.terms)
    return Decomposition(
        model=all_inputs[0].model,
        condition=all_inputs[0].condition,
        questions=len(columns.units),
        clusters=len(sizes),
        trials=len(all_inputs),
        replayed=sum(inputs.replay is not None for inputs in all_inputs),
        effect=accounts[0],
        terms=tuple(accounts[1:first]),
        mechanisms=tuple(
            account
            if account.name in UNTESTED
            else replace(account, p_value=sign_flip_p(each, seed=seed, resamples=resamples))
            for account, each in zip(accounts[first:], sums[first:], strict=True)
        ),
    )


def _columns(all_inputs: Sequence[DecompositionInputs]) -> _Columns:
    """Of inputs in the order of their questions."""
    calling = any(inputs.arms.sham for inputs in all_inputs)
    by_question = [list(trials) for _, trials in groupby(all_inputs, key=lambda inputs: inputs.question)]
    booked = [(inputs, 1 / len(trials), _booked(inputs, calling)) for trials in by_question for inputs in trials]
    of_terms = _by_question(by_question, estimated([_sampled(*each, 0) for each in booked]))
    of_mechanisms = _by_question(by_question, estimated([_sampled(*each, 1) for each in booked]))
    return _Columns(
        units=[trials[0].unit for trials in by_question],
        effect=[mean([inputs.score - mean(inputs.arms.none) for inputs in trials]) for trials in by_question],
        terms={name: _column(name, of_terms) for name in TERMS if any(name in own for own in of_terms)},
        mechanisms={
            name: _column(name, of_mechanisms) for name in MECHANISMS if any(name in own for own in of_mechanisms)
        },
    )


Booked = tuple[dict[Term, float], dict[EffectMechanism, float]]
"""A trial's terms and mechanisms."""


def _booked(inputs: DecompositionInputs, calling: bool) -> tuple[Booked, Booked]:
    """Without its replay, and with it where it has one."""

    def booked(replay: Replay | None) -> Booked:
        own = terms(inputs, replay, calling=calling)
        return own, mechanisms(inputs, replay, own)

    known = booked(None)
    return known, known if inputs.replay is None else booked(inputs.replay)


def _sampled(
    inputs: DecompositionInputs, weight: float, booked: tuple[Booked, Booked], which: Literal[0, 1]
) -> SampledTrial[Any]:
    known, replayed = booked[0][which], booked[1][which]
    return SampledTrial(
        known=known,
        change={name: replayed.get(name, 0.0) - known.get(name, 0.0) for name in dict.fromkeys((*known, *replayed))},
        inclusion_probability=inputs.inclusion_probability,
        sampled=inputs.replay is not None if inputs.sampled is None else inputs.sampled,
        weight=weight,
    )


def _by_question(
    questions: Sequence[Sequence[DecompositionInputs]], of_trials: Sequence[Mapping[Name, float]]
) -> list[dict[Name, float]]:
    """The mean of each question's trials, which come in the order of their questions."""
    each = iter(of_trials)
    return [_means([next(each) for _ in trials]) for trials in questions]


def _means(trials: Sequence[Mapping[Name, float]]) -> dict[Name, float]:
    found: dict[Name, list[float]] = defaultdict(list)
    for trial in trials:
        for name, value in trial.items():
            found[name].append(value)
    return {name: math.fsum(values) / len(trials) for name, values in found.items()}


def _column(name: Name, questions: Sequence[Mapping[Name, float]]) -> list[float]:
    return [question.get(name, 0.0) for question in questions]


def _hundredfold(interval: Interval | None) -> Interval | None:
    return None if interval is None else (100 * interval[0], 100 * interval[1])


def _corrected(found: Sequence[Decomposition]) -> list[Decomposition]:
    tested = [each.p_value for decomposition in found for each in decomposition.mechanisms if each.p_value is not None]
    corrected = iter(holm(tested))
    return [
        replace(
            decomposition,
            mechanisms=tuple(
                each if each.p_value is None else replace(each, p_holm=next(corrected))
                for each in decomposition.mechanisms
            ),
        )
        for decomposition in found
    ]


# Which trials a design has replayed: a random sample, reproducible from its seed.


_DIGITS = 13


def inclusion_probability(design: ReplayDesign, value: float) -> float:
    """With which a trial of this score is chosen."""
    return design.failures if value < RIGHT else design.successes


def is_sampled(design: ReplayDesign, trial: str, value: float) -> bool:
    drawn = int(digest_text(f"{design.seed} {trial}")[:_DIGITS], 16) / float(16**_DIGITS)
    return drawn < inclusion_probability(design, value)
