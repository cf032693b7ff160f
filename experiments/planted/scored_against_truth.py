"""Compares a store's attributions and effect decompositions with what is true of its simulated models."""

import json
import random
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from toolablate.analysis.attribution.decomposition import Decomposition, DecompositionInputs, Scores, decompositions
from toolablate.analysis.attribution.evidence import Evidence, Explained
from toolablate.analysis.attribution.judge_labels import judge_matrices
from toolablate.analysis.pairing import mean
from toolablate.experiments.attribution.explained import Gathered, explained
from toolablate.experiments.planted.levels import Parts
from toolablate.experiments.planted.making import LABELS
from toolablate.experiments.planted.proof import (
    Bin,
    Cause,
    StepRates,
    Verdict,
    blamed,
    calibration_error,
    cause_of,
    confusion,
    constant_step,
    covers,
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
from toolablate.experiments.planted.truth import ConditionTruth, TrialTruth, Truth, truth_of
from toolablate.traces.errors import InputError
from toolablate.traces.records import Attribution, Distraction, DistractionLabel, JudgeMatrix, Method, SimulatedModel
from toolablate.traces.store import Store
from toolablate.traces.validation import why_unreadable

_RESAMPLES = 500
_SOMETHING = 0.1
"""Points from which on a share is not called nothing."""

Truths = Mapping[tuple[str, str], Parts]
"""By model and condition, what any number of repeats tends to."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """`held` of so many `intervals` hold the truth; the other two are of those alone that are not marked as too
    small to rely on. Of `missing` shares that are truly something there is no interval, since nothing of them came."""

    held: int
    intervals: int
    held_unmarked: int
    unmarked: int
    missing: int = 0

    @property
    def share(self) -> float | None:
        return self.held / self.intervals if self.intervals else None

    @property
    def share_unmarked(self) -> float | None:
        return self.held_unmarked / self.unmarked if self.unmarked else None


def coverage(found: Iterable[Decomposition], true: Truths) -> Coverage:
    """Over mechanisms x conditions. Mechanisms that are not found have no interval."""
    given = list(found)
    missing = sum(
        _missing(decomposition, parts)
        for decomposition in given
        if (parts := true.get((decomposition.model, decomposition.condition)))
    )
    return replace(_counted(_seen(given, true)), missing=missing)


def over_samples(all_inputs: Sequence[DecompositionInputs], true: Truths, samples: int, seed: int) -> Coverage:
    """Of decompositions over a third of the questions each, drawn without replacement, of what holds for all. The mean
    of such a third varies less than that of independent questions, by a factor of sqrt(2/3) as far as questions differ,
    which makes the intervals hold a little more than they promise; what chance does to trials is all there."""
    by_question: dict[str, list[DecompositionInputs]] = defaultdict(list)
    for inputs in all_inputs:
        by_question[inputs.question].append(inputs)
    names = sorted(by_question)
    rng = random.Random(seed)  # noqa: S311 - a simulation, not a secret
    seen: list[tuple[bool, bool]] = []
    for number in range(samples):
        drawn = rng.sample(names, k=max(1, len(names) // 3))
        own = [inputs for name in drawn for inputs in by_question[name]]
        seen += _seen(decompositions(own, seed=number, resamples=_RESAMPLES), true)
    return _counted(seen)


def _seen(found: Iterable[Decomposition], true: Truths) -> list[tuple[bool, bool]]:
    pairs = ((decomposition, true.get((decomposition.model, decomposition.condition))) for decomposition in found)
    return [hit for decomposition, parts in pairs if parts is not None for hit in _hits(decomposition, parts)]


def _hits(decomposition: Decomposition, true: Parts) -> Iterator[tuple[bool, bool]]:
    """Of each mechanism whether its interval holds the truth, and whether it is marked."""
    shares: Mapping[str, float] = {str(name): share for name, share in true.mechanisms.items()}
    for account in decomposition.mechanisms:
        if account.ci90 is not None:
            yield covers(account.ci90, 100 * shares.get(account.name, 0.0)), account.small


def _missing(decomposition: Decomposition, true: Parts) -> int:
    with_interval = {account.name for account in decomposition.mechanisms if account.ci90 is not None}
    return sum(abs(100 * share) >= _SOMETHING for name, share in true.mechanisms.items() if name not in with_interval)


def _counted(seen: Sequence[tuple[bool, bool]]) -> Coverage:
    unmarked = [hit for hit, marked in seen if not marked]
    return Coverage(sum(hit for hit, _ in seen), len(seen), sum(unmarked), len(unmarked))


# What judges of failures said of planted trials, beside what was planted.


def judged_beside(
    pairs: Iterable[tuple[TrialTruth, Evidence]], distractions: Mapping[str, Distraction]
) -> tuple[JudgeMatrix, ...]:
    """By judge and wording, over wrong trials that have results of a search: where nothing was searched nothing that
    was found can have drawn the model away, and a judge sees that. `distractions` are those of questions.

    A trial is drawn away where its own draw puts it down to retrieval distraction, and by the way that was planted; by
    `misleading_adoption` where pages mislead by themselves.
    """
    seen = [(true, each) for true, each in pairs if true.mechanism is not None and "search" in each.inputs.tools]
    truth = {true.trial: _label(true, distractions) for true, _ in seen}
    return judge_matrices((each for _, evidence in seen for each in evidence.diagnoses), truth)


def _label(true: TrialTruth, distractions: Mapping[str, Distraction]) -> DistractionLabel:
    if true.mechanism != "retrieval_distraction":
        return "none"
    return distractions.get(true.question, "misleading_adoption")


# What was planted, as `making` writes it.


_HINT = "It is the planted.jsonl that `toolablate planted make` wrote; name its folder: --folder FOLDER"


def read_distractions(path: Path) -> Mapping[str, Distraction]:
    """By question, how pages draw the model away; of those alone where they do. Raises InputError."""
    found: dict[str, Distraction] = {}
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {path}: {why_unreadable(error)}", hint=_HINT, code="no_labels") from None
    for number, line in enumerate(lines, 1):
        try:
            row = json.loads(line)
            if row["distraction"]:
                found[row["question"]] = row["distraction"]
        except (ValueError, KeyError, TypeError):
            raise InputError(
                f"{path}:{number}: is no line of synthetic failures", hint=_HINT, code="bad_labels"
            ) from None
    return found


Pair = tuple[TrialTruth, Explained]

_CERTAIN = 1 - 1e-9


@dataclass(frozen=True, slots=True)
class Shares:
    """The mean distance of a decomposition's mechanisms from the true ones, in points: from what the trials come to
    given their answers (`realised`), and from what any number of repeats would tend to (`expected`). `arms` is what of
    the first is left where every replay is exact and all trials have one: the chance in the arms' few trials."""

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
    blamed      share of pure sampling noise for which a tool is blamed, of so many trials that are `pure`
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
    steps: StepRates
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
    which the scenarios lay when the plan was run; `samples` are drawn of the questions for the coverage.

    Raises InputError where the store holds no trial whose truth is known, nothing that the method says, or where what
    was planted cannot be read.
    """
    with Store(store) as opened:
        known = truth_of(opened, None if folder is None else folder / "scenarios.jsonl")
        scenarios = next((Path(each.scenarios) for each in opened.models() if isinstance(each, SimulatedModel)), Path())
    if not known.trials:
        raise InputError(
            f"{store} holds no trial with tools of a model that acts out scenarios",
            hint="`toolablate planted make` writes a plan with such a model",
            code="no_truth",
        )
    distractions = read_distractions((folder or scenarios.parent) / LABELS)
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
        whole=coverage(gathered.decompositions, expected),
        sampled=over_samples([each.evidence.inputs for _, each in pairs], expected, samples, seed),
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
    replayed = method == "replay" and found.evidence.inputs.replay is not None
    return method == "trace" or replayed or _said(found, method) is not None


def _verdict(true: TrialTruth, said: Attribution | None, distractions: Mapping[str, Distraction]) -> Verdict:
    return Verdict(
        truth=_true_cause(true, distractions),
        said=said_of(said),
        confidence=said.confidence if said else 0.0,
        true_step=true.flip,
        said_step=_step(true.steps, said.turned_at) if said else None,
        pure=true.chances.get("sampling_noise", 0.0) > _CERTAIN,
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
    for decomposition in gathered.decompositions:
        each = true.get((decomposition.model, decomposition.condition))
        if each is None:
            continue
        said = {str(account.name): account.points for account in decomposition.mechanisms}
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
                model=decomposition.model,
                condition=decomposition.condition,
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
            scores: Scores = getattr(each.evidence.inputs.arms, name)
            errors.append(mean(scores) - exact[name] if scores else 0.0)
    levels = [0.0, *(mean(errors) for errors in off.values())]
    return sum(abs(above - below) for above, below in pairwise(levels))
