"""Holds a store's attributions and ledgers against what is true of its simulated models."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from toolablate.analysis.attribution.decomposition import Scores
from toolablate.analysis.attribution.evidence import Explained
from toolablate.analysis.attribution.proof import (
    Bin,
    Cause,
    Rates,
    Verdict,
    blamed,
    calibration_error,
    cause_of,
    confusion,
    constant_step,
    error_of_calibrated,
    f1_scores,
    guessed_f1,
    guessed_step,
    macro_f1,
    majority_f1,
    reliability,
    said_of,
    share_error,
    step_rates,
)
from toolablate.analysis.pairing import mean
from toolablate.experiments.explaining import Gathered, explained
from toolablate.experiments.planted.covering import Coverage, coverage, over_samples
from toolablate.experiments.planted.judging import judged_beside
from toolablate.experiments.planted.labels import read_distractions
from toolablate.experiments.planted.making import LABELS
from toolablate.experiments.planted.truth import ConditionTruth, TrialTruth, Truth, truth_of
from toolablate.traces.errors import InputError
from toolablate.traces.records import Attribution, Distraction, JudgeMatrix, Method, SimulatedModel
from toolablate.traces.store import Store

Pair = tuple[TrialTruth, Explained]

_CERTAIN = 1 - 1e-9


@dataclass(frozen=True, slots=True)
class Shares:
    """The mean distance of a ledger's mechanisms from the true ones, in points: from what the trials come to given
    their answers (`realised`), and from what any number of repeats would tend to (`expected`). `arms` is what of the
    first is left where every replay is exact and all trials have one: the chance in the arms' few trials."""

    model: str
    condition: str
    mechanisms: int
    realised: float
    expected: float
    arms: float


@dataclass(frozen=True, slots=True)
class PlantedScore:
    """How good one method is.

    wrong       trials of conditions with tools that are wrong; `verdicts` of these the method has looked at, also where
                it has nothing to say
    right       trials of these conditions that are right
    macro_f1    over the classes that are true or said; `at_best` is that of whoever knows all that can be known of a
                trial but the draw of its answer
    shares      by model and condition
    whole       coverage of the 90 % intervals, over mechanisms x conditions; of what repeats tend to
    sampled     the same over samples of the questions
    blamed      share of pure churn for which a tool is blamed, of so many trials that are `pure`
    judges      what judges of failures said of them, beside what was planted
    """

    method: Method
    right: int
    wrong: int
    verdicts: int
    macro_f1: float
    at_best: float
    majority: float
    guessed: float
    f1: Mapping[Cause, float]
    confusion: Mapping[Cause, Mapping[Cause | None, int]]
    steps: Rates
    guessed_step: float | None
    constant_step: float | None
    calibration_error: float | None
    error_of_calibrated: float | None
    reliability: tuple[Bin, ...]
    blamed: float | None
    pure: int
    shares: tuple[Shares, ...]
    whole: Coverage
    sampled: Coverage
    judges: tuple[JudgeMatrix, ...]
    notes: tuple[str, ...]


def score_planted(
    store: Path, *, folder: Path | None = None, method: Method = "replay", samples: int = 60, seed: int = 0
) -> PlantedScore:
    """Of all trials of conditions with tools. `folder` is the one that `make_planted` wrote, by default the one in
    which the scenes lay when the plan was run; `samples` are drawn of the questions for the coverage.

    Raises InputError where the store holds no trial whose truth is known, nothing that the method says, or where what
    was planted cannot be read.
    """
    with Store(store) as opened:
        known = truth_of(opened, None if folder is None else folder / "scenes.jsonl")
        scenes = next((Path(each.scenes) for each in opened.models() if isinstance(each, SimulatedModel)), Path())
    if not known.trials:
        raise InputError(
            f"{store} holds no trial with tools of a model that acts out scenes",
            hint="`toolablate planted make` writes a plan with such a model",
            code="no_truth",
        )
    distractions = read_distractions((folder or scenes.parent) / LABELS)
    gathered = explained(store)
    pairs = _pairs(known, gathered)
    verdicts = [
        _verdict(true, _said(each, method), distractions)
        for true, each in pairs
        if true.mechanism is not None and _looked_at(each, method)
    ]
    if not verdicts:
        hint = (
            "`toolablate attribute STORE --replay` replays them" if method == "replay" else "all its trials are right"
        )
        raise InputError(f"{store} holds no wrong trial with an attribution by {method}", hint=hint, code="no_verdicts")
    return _score(method, known, gathered, pairs, verdicts, distractions, samples, seed)


def _score(
    method: Method,
    known: Truth,
    gathered: Gathered[Explained],
    pairs: Sequence[Pair],
    verdicts: Sequence[Verdict],
    distractions: Mapping[str, Distraction],
    samples: int,
    seed: int,
) -> PlantedScore:
    wrong = [true for true, _ in pairs if true.mechanism is not None]
    expected = {(each.model, each.condition): each.expected for each in known.conditions}
    falling = [(true.flip, len(true.steps)) for true in wrong if true.flip is not None]
    return PlantedScore(
        method=method,
        right=len(pairs) - len(wrong),
        wrong=len(wrong),
        verdicts=len(verdicts),
        macro_f1=macro_f1(verdicts),
        at_best=macro_f1([_best(true, distractions) for true in wrong]),
        majority=majority_f1(verdicts),
        guessed=guessed_f1(verdicts, seed=seed),
        f1=f1_scores(verdicts),
        confusion=confusion(verdicts),
        steps=step_rates(verdicts),
        guessed_step=guessed_step(falling),
        constant_step=constant_step(falling),
        calibration_error=calibration_error(verdicts),
        error_of_calibrated=error_of_calibrated(verdicts, seed=seed),
        reliability=tuple(reliability(verdicts)),
        blamed=blamed(verdicts),
        pure=sum(each.pure for each in verdicts),
        shares=tuple(_shares(known.conditions, gathered, pairs)),
        whole=coverage(gathered.ledgers, expected),
        sampled=over_samples([each.evidence.chain for _, each in pairs], expected, samples, seed),
        judges=judged_beside([(true, each.evidence) for true, each in pairs], distractions),
        notes=gathered.notes,
    )


def _pairs(known: Truth, gathered: Gathered[Explained]) -> list[Pair]:
    by_trial = {each.evidence.score.trial: each for each in gathered.explained}
    return [(true, by_trial[true.trial]) for true in known.trials if true.trial in by_trial]


def _said(found: Explained, method: Method) -> Attribution | None:
    every = (found.attribution, *found.hypotheses)
    return next((each for each in every if each is not None and each.method == method), None)


def _looked_at(found: Explained, method: Method) -> bool:
    """Whoever has nothing to say of a trial that was replayed, or of a trace, is not spared it."""
    replayed = method == "replay" and found.evidence.chain.replay is not None
    return method == "trace" or replayed or _said(found, method) is not None


def _verdict(true: TrialTruth, said: Attribution | None, distractions: Mapping[str, Distraction]) -> Verdict:
    return Verdict(
        truth=_true_cause(true, distractions),
        said=said_of(said),
        confidence=said.confidence if said else 0.0,
        true_step=true.flip,
        said_step=_step(true.steps, said.turned_at) if said else None,
        pure=true.chances.get("luck", 0.0) > _CERTAIN,
    )


def _true_cause(true: TrialTruth, distractions: Mapping[str, Distraction]) -> Cause:
    assert true.mechanism is not None
    cause = cause_of(true.mechanism, distractions.get(true.question))
    assert cause is not None
    return cause


def _best(true: TrialTruth, distractions: Mapping[str, Distraction]) -> Verdict:
    """What is said by whoever knows the beliefs and not the draw."""
    likely: Counter[Cause | None] = Counter()
    for mechanism, chance in true.chances.items():
        likely[cause_of(mechanism, distractions.get(true.question))] += chance  # type: ignore[assignment]
    ((cause, confidence),) = likely.most_common(1)
    return Verdict(_true_cause(true, distractions), cause, confidence)


def _step(steps: Sequence[int], event: int | None) -> int | None:
    """The first step after the event at which a belief fell."""
    return None if event is None else min(bisect_right(steps, event), len(steps) - 1)


def _shares(conditions: Sequence[ConditionTruth], gathered: Gathered[Explained], pairs: Sequence[Pair]) -> list[Shares]:
    true = {(each.model, each.condition): each for each in conditions}
    found: list[Shares] = []
    for ledger in gathered.ledgers:
        each = true.get((ledger.model, ledger.condition))
        if each is None:
            continue
        said = {str(account.name): account.points for account in ledger.mechanisms}
        realised, expected = (
            {str(name): 100 * share for name, share in parts.mechanisms.items()}
            for parts in (each.realised, each.expected)
        )
        # What is nothing by all of them would only make the mean smaller.
        every = (said, realised, expected)
        names = {name for shares in every for name, points in shares.items() if points}
        own = [pair for pair in pairs if (pair[0].model, pair[0].condition) == (each.model, each.condition)]
        found.append(
            Shares(
                model=ledger.model,
                condition=ledger.condition,
                mechanisms=len(names),
                realised=share_error(said, realised, names),
                expected=share_error(said, expected, names),
                arms=100 * _error_of_arms(own) / len(names),
            )
        )
    return found


def _error_of_arms(pairs: Sequence[Pair]) -> float:
    """The sum of what chance in the arms adds to the terms between them, over mechanisms: each is the difference of two
    arms, and the first has an exact level above it."""
    off: dict[str, list[float]] = {"sham": [], "offered": [], "scaffold": [], "none": []}
    for true, each in pairs:
        exact: Mapping[str, float] = {str(arm): level for arm, level in true.levels.arms.items()}
        for name, errors in off.items():
            scores: Scores = getattr(each.evidence.chain.arms, name)
            errors.append(mean(scores) - exact[name] if scores else 0.0)
    levels = [0.0, *(mean(errors) for errors in off.values())]
    return sum(abs(above - below) for above, below in pairwise(levels))
