"""Evidence, attributions and effect decomposition of a store's trials; asks nobody."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Generic, TypeVar

from toolablate.analysis.attribution.arm_rules import blame_by_arms, fitted_signs, has_no_answer, stepped_by_arms
from toolablate.analysis.attribution.change_rates import ChangeRates, arm_rate, fitted_rates
from toolablate.analysis.attribution.decomposition import (
    Decomposition,
    DecompositionInputs,
    Replay,
    Scores,
    decompositions,
    inclusion_probability,
    is_sampled,
)
from toolablate.analysis.attribution.evidence import (
    Evidence,
    EvidenceOutline,
    Explained,
    Outlined,
    decomposition_signals,
    without_judge,
)
from toolablate.analysis.attribution.expected_failures import Expected, Pool, tally
from toolablate.analysis.attribution.fall_search import likeliest_fall
from toolablate.analysis.attribution.forced_answers import ForcedAndFree, Forcing, forcing_of
from toolablate.analysis.attribution.replay_rules import (
    attribute_by_replay,
    is_wrong_and_replayed,
    stepped,
)
from toolablate.analysis.attribution.signals.signal_types import Signals
from toolablate.analysis.attribution.trace_rules import attribute_by_trace, outside_signs
from toolablate.analysis.from_store import chosen_run, observe
from toolablate.analysis.pairing import RIGHT, counts, mean, unit
from toolablate.experiments.attribution.cases import scorers_of
from toolablate.experiments.attribution.readings_cache import KeptReadings, Known
from toolablate.experiments.attribution.replay_evidence import AnswerReAsks, Ladders, Replays, replays_of
from toolablate.reports.numbers import counted
from toolablate.traces.kept import stamp_of
from toolablate.traces.records import Condition, Diagnosis, ReplayDesign, digest_text
from toolablate.traces.store import Counterfactual, Store, TrialSummary

T = TypeVar("T", bound=Outlined)


@dataclass(frozen=True, slots=True)
class Gathered(Generic[T]):
    """What a store knows of its trials of conditions with tools.

    explained   the trials, in the order of the store, with all evidence or in outline
    design      the one that says which trials were to be replayed, None without any
    decompositions     by model and condition; none where one trial alone was asked for
    unreplayed  how many trials the design chooses that are not replayed yet: what is not known of them is unresolved
    notes       what makes all of this less than it could be, a sentence each
    rates       how often what is taken away of a trial changes anything, fitted to the replays of the store
    """

    explained: tuple[T, ...]
    design: ReplayDesign | None
    decompositions: tuple[Decomposition, ...]
    unreplayed: int
    notes: tuple[str, ...]
    rates: ChangeRates = field(default_factory=ChangeRates)


# The questions of a model and condition, as the rules over traces take them together.


class Pools:
    """All questions that the store has, where a single trial is asked about, too: it has one label, whoever asks. `run`
    keeps to the trials of one run."""

    def __init__(self, store: Store, scorers: Sequence[str], run: str | None) -> None:
        self._store, self._scorers, self._run = store, scorers, run
        self._known: dict[tuple[str, str], Pool] = {}

    def of(self, evidence: Evidence, pair: tuple[Condition, Condition]) -> Pool:
        """`pair` is the condition without tools that its own is set against, and its own."""
        of_whom = evidence.model, evidence.condition
        if of_whom not in self._known:
            trial = evidence.inputs.trial
            without, beside = (
                self._store.values_beside(trial, condition.identity(), scorers=self._scorers, run=self._run)
                for condition in pair
            )
            questions = without.keys() | beside.keys()
            self._known[of_whom] = Pool(tally(without.get(each, ()), beside.get(each, ())) for each in questions)
        return self._known[of_whom]


# What the other repeats of a trial tell of it: to the model they are one with it until something is called.


def beside_repeats(
    found: Sequence[Evidence],
    outlines: Sequence[EvidenceOutline] | None = None,
    tools_of: Callable[[str], str] = str,
) -> list[Evidence]:
    """Each with the scores of the others of its model, question and condition, and what they were asked at their
    outset; `outlines` are all of these, by default those that are found. And with scores of those that had the same
    tools, by `tools_of` their condition: of those found with and without its signs, and what comes of them without
    their results, and of their offer alone."""
    groups: dict[tuple[str, str, str], list[EvidenceOutline]] = defaultdict(list)
    of_tools: dict[tuple[str, str, str], list[EvidenceOutline]] = defaultdict(list)
    with_tools: dict[tuple[str, str, str], list[Evidence]] = defaultdict(list)
    for outline in found if outlines is None else outlines:
        groups[_start(outline)].append(outline)
        of_tools[outline.model, outline.question, tools_of(outline.condition)].append(outline)
    for each in found:
        with_tools[each.model, each.question, tools_of(each.condition)].append(each)
    beside: list[Evidence] = []
    for each in found:
        alike = each.model, each.question, tools_of(each.condition)
        known = _without_results(_beside(each, groups[_start(each)]), of_tools[alike])
        beside.append(_beside_signs(known, with_tools[alike]))
    return beside


def _beside(evidence: Evidence, group: Sequence[EvidenceOutline]) -> Evidence:
    others = [each for each in group if each.inputs.trial != evidence.inputs.trial]
    return replace(
        evidence,
        repeats=tuple(each.inputs.score for each in others),
        outset=tuple(score for each in others for score in _at_outset(each)),
    )


def _without_results(evidence: Evidence, group: Sequence[EvidenceOutline]) -> Evidence:
    others = [each.inputs for each in group if each.inputs.trial != evidence.inputs.trial]
    arms = {each.condition: each.inputs.arms for each in group}.values()
    # Nothing of a trial that has no results.
    replays = [(each.replay, each.replay.rollouts.get(each.tools, ())) for each in others if each.replay and each.tools]
    short = tuple(score for replay, swapped in replays for score in replay.short or swapped)
    if evidence.all_runs is None or not evidence.all_runs.short:
        evidence = replace(evidence, swapped=short)
    else:
        long = tuple(score for replay, swapped in replays if replay.short for score in swapped)
        evidence = replace(evidence, swapped=long, shortened=short)
    return replace(
        evidence,
        offered=tuple(score for each in arms for score in each.offered),
        offered_again=sum(each.again.get("offered", 0) for each in arms),
    )


def _beside_signs(evidence: Evidence, group: Sequence[Evidence]) -> Evidence:
    """Trials that called, or not, as this one did. An answer that could not be read tells nothing of what it says."""
    own = _signs(evidence)
    alike = [
        each
        for each in group
        if each.inputs.trial == evidence.inputs.trial or (each.called == evidence.called and not has_no_answer(each))
    ]
    if not own:
        return replace(
            evidence, signed=tuple(each.inputs.score for each in alike if each.condition == evidence.condition)
        )
    return replace(
        evidence,
        signed=tuple(each.inputs.score for each in alike if own <= _signs(each)),
        unsigned=tuple(each.inputs.score for each in alike if not own & _signs(each)),
    )


def _signs(evidence: Evidence) -> frozenset[str]:
    return frozenset(outside_signs(evidence.signals, evidence.score))


def _start(evidence: EvidenceOutline) -> tuple[str, str, str]:
    return evidence.model, evidence.question, evidence.condition


def _at_outset(evidence: EvidenceOutline) -> Scores:
    beliefs = evidence.trajectory.beliefs if evidence.trajectory else ()
    first = next((each for each in beliefs if each.step == 0), None)
    if first is None:
        return ()
    right = round(first.right.mean * first.samples)
    return (1.0,) * right + (0.0,) * (first.samples - right)


# Reads out of a store why its trials went as they did: evidence, labels and decompositions. Nothing is asked of anyone.


_CHUNK = 200
"""Trials whose traces are looked up, and kept, at once."""


def explained(
    path: str | PathLike[str],
    *,
    run: str = "all",
    models: Sequence[str] = (),
    conditions: Sequence[str] = (),
    scorer: str | None = None,
    trial: str | None = None,
    design: ReplayDesign | None = None,
    told: Callable[[int, int], None] | None = None,
    kept: Path | None = None,
) -> Gathered[Explained]:
    """Of the trials that one run called for (the beginning of its id, or `latest`), or `all` that the store holds; of
    all models and all conditions with tools, or of those of these names; or of one trial, by its id.

    `design` is by default the one that was kept last. `told` is called with how many trials of how many are read, which
    takes most of the time. `kept` is a file of one's own for what is read of traces, which is made where it is not
    there, so that none is read twice. Raises InputError for a run or a scorer that is not there, and StoreError.
    """
    return _gathered(
        path, run, models, conditions, scorer, trial, design, told, kept, of=lambda each: each, unread=None
    )


def outlined(
    path: str | PathLike[str],
    *,
    run: str = "all",
    models: Sequence[str] = (),
    conditions: Sequence[str] = (),
    scorer: str | None = None,
    told: Callable[[int, int], None] | None = None,
    kept: Path | None = None,
) -> Gathered[Outlined]:
    """The same in outline: of a large store the evidence of all trials would be most of what is held, and reading all
    traces most of the time. One is read where a wrong or a replayed trial's cause rests on it."""
    return _gathered(
        *(path, run, models, conditions, scorer, None, None, told, kept),
        of=Explained.outlined,
        unread=lambda outline: Outlined(outline, None),
    )


def _gathered(
    path: str | PathLike[str],
    run: str,
    models: Sequence[str],
    conditions: Sequence[str],
    scorer: str | None,
    trial: str | None,
    design: ReplayDesign | None,
    told: Callable[[int, int], None] | None,
    kept: Path | None,
    of: Callable[[Explained], T],
    unread: Callable[[EvidenceOutline], T] | None,
) -> Gathered[T]:
    """`unread` makes a trial of what is known without its trace; None has every trace read."""
    stamp = stamp_of(Path(path))
    with Store(Path(path)) as store, KeptReadings(kept) as readings:
        designs = store.replay_designs()
        design = design or (designs[-1] if designs else None)
        reading = _read(store, run, scorer, design, trial, readings)
        wanted = [
            each
            for each in reading.seen
            if each.condition in (conditions or reading.ladders.with_tools)
            and each.condition in reading.ladders.with_tools
            and each.model in (models or (each.model,))
        ]
        if trial is not None:
            wanted = [each for each in wanted if each.trial == trial]
        asked = json.dumps([run, scorer, design.identity() if design else None])
        rates = readings.rates(stamp, asked)
        if rates is None:
            whole = reading if trial is None else _read(store, run, scorer, design, None, readings)
            rates = _with_arm_rates(_rates(whole), whole)
            readings.put_rates(stamp, asked, rates)
        found = _found(wanted, reading, rates, told or _nobody, of, unread)
    lonely = len(wanted) - len(found)
    all_inputs = [each.evidence.inputs for each in found]
    unreplayed = sum(reading.chosen(inputs.trial) and inputs.replay is None for inputs in all_inputs)
    return Gathered(
        explained=tuple(found),
        design=design,
        decompositions=tuple(decompositions(all_inputs)) if all_inputs and trial is None else (),
        unreplayed=unreplayed,
        notes=tuple(_notes(lonely, unreplayed, reading)),
        rates=rates,
    )


@dataclass(frozen=True, slots=True)
class _Reading:
    """An open store, and what is read of it once. `sampling_scores` set the inclusion probabilities."""

    store: Store
    seen: Sequence[TrialSummary]
    ladders: Ladders
    re_asks: AnswerReAsks
    scorers: Sequence[str]
    replays: "_Counterfactuals"
    diagnoses: Mapping[str, Sequence[Diagnosis]]
    design: ReplayDesign | None
    sampling_scores: Mapping[str, float]
    known: Known
    pools: Pools

    def inclusion_probability(self, trial: str) -> float:
        if self.design is None or trial not in self.sampling_scores:
            return 0.0
        return inclusion_probability(self.design, self.sampling_scores[trial])

    def chosen(self, trial: str) -> bool:
        scores = self.sampling_scores
        return self.design is not None and trial in scores and is_sampled(self.design, trial, scores[trial])


class _Counterfactuals:
    """Of a whole store at once, or, where a single trial is asked about, as they are wanted."""

    def __init__(self, store: Store, scorers: Sequence[str], *, at_once: bool) -> None:
        self._store, self._scorers = store, scorers
        self._all = store.counterfactuals(scorers=scorers) if at_once else None

    def of(self, trial: str) -> Sequence[Counterfactual]:
        found = self._store.counterfactuals(scorers=self._scorers, trial=trial) if self._all is None else self._all
        return found.get(trial, ())


def _read(
    store: Store,
    run: str,
    scorer: str | None,
    design: ReplayDesign | None,
    trial: str | None,
    readings: KeptReadings,
) -> _Reading:
    named = scorer or (design.scorer if design else "")
    with store.at_one_moment():
        # Of a single trial nothing is asked but what bears on it: a store may hold a hundred thousand.
        seen = observe(store, run=run, scorer=named or None, beside=trial)
        of_design = named if design is None else design.scorer
        sampling_scores = (
            seen if of_design == named else observe(store, run=run, scorer=of_design or None, beside=trial)
        )
        conditions = store.seen_conditions() if trial is not None and run == "all" else store.conditions_of(seen)
        scorers = scorers_of(store, ReplayDesign(scorer=named), run)
        replays = _Counterfactuals(store, scorers, at_once=trial is None)
    re_asks = AnswerReAsks(store, replays.of)
    diagnoses: dict[str, list[Diagnosis]] = defaultdict(list)
    for each in store.all_diagnoses() if trial is None else store.diagnoses(trial):
        # What was asked repeats the trace, and would be most of what is held of a store with many diagnoses.
        diagnoses[each.trial].append(each.model_copy(update={"calls": ()}))
    return _Reading(
        *(store, [each for each in seen if counts(each)]),
        ladders=Ladders(seen, conditions, store.runs()[-1].baseline, re_asks),
        re_asks=re_asks,
        scorers=scorers,
        replays=replays,
        diagnoses=diagnoses,
        design=design,
        sampling_scores={each.trial: each.value or 0.0 for each in sampling_scores if counts(each)},
        known=Known(store, scorers, readings),
        pools=Pools(store, scorers, None if run == "all" else chosen_run(store, run).id),
    )


_FITTED = 400
"""Replayed trials that rates are fitted to at most: more change them little, and each trace has to be read."""


def _rates(reading: _Reading) -> ChangeRates:
    """Fitted to a sample of the store's wrong trials that were replayed, whichever trials are asked about: a trial has
    one label, whoever asks."""
    replayed = [
        seen
        for seen in reading.seen
        if seen.condition in reading.ladders.with_tools
        and reading.chosen(seen.trial)
        and reading.replays.of(seen.trial)
    ]
    wrong = [seen for seen in replayed if (seen.value or 0.0) < RIGHT]
    sample = {seen.trial: seen for seen in sorted(wrong, key=lambda seen: digest_text(seen.trial))[:_FITTED]}
    questions = {(seen.model, seen.question) for seen in sample.values()}
    # With the others of their questions, right ones too: what these came to bears on them here as on their labels.
    found = _all_evidence([seen for seen in replayed if (seen.model, seen.question) in questions], reading)
    forcing = _forcing([each for each in found if each.inputs.trial in sample])
    trials = [
        stepped(each, forcing.get(each.model, Forcing()))
        for each in beside_repeats(found, tools_of=reading.ladders.tools_of)
        if each.inputs.trial in sample and is_wrong_and_replayed(each)
    ]
    return replace(fitted_rates(trials), forcing=forcing)


_FITTED_ARMS = 400
"""Trials that rates of arms are fitted to at most, right ones among them."""


def _with_arm_rates(rates: ChangeRates, reading: _Reading) -> ChangeRates:
    """With those by which arms and signs are weighed where nothing is replayed: fitted to whole questions of a sample,
    whichever trials are asked about. None where no condition has an arm between no tools and all."""
    with_tools = reading.ladders.with_tools
    if not any(map(reading.ladders.has_arms, with_tools)):
        return rates
    questions: dict[tuple[str, str], list[TrialSummary]] = defaultdict(list)
    for seen in reading.seen:
        if seen.condition in with_tools:
            questions[seen.model, seen.question].append(seen)
    sample: list[TrialSummary] = []
    for key in sorted(questions, key=lambda each: digest_text(" ".join(each))):
        if len(sample) + len(questions[key]) <= _FITTED_ARMS or not sample:
            sample += questions[key]
    found = beside_repeats(_all_evidence(sample[:_FITTED_ARMS], reading), tools_of=reading.ladders.tools_of)
    wrong = [each for each in found if (each.score.value or 0.0) < RIGHT]
    trials = [stepped for each in wrong if (stepped := stepped_by_arms(each)) is not None]
    rates = replace(rates, arms=fitted_rates(trials, arm_rate).groups)
    told = [
        (each, arms, _expected(each, reading)) for each in wrong if (arms := blame_by_arms(each, rates)) is not None
    ]
    return replace(rates, signs=fitted_signs(told))


def _expected(evidence: Evidence, reading: _Reading) -> Expected:
    pool = reading.pools.of(evidence, reading.ladders.pair(evidence.condition))
    scores = [each.score.value for each in evidence.no_tools if each.score.value is not None]
    return pool.expected(tally(scores, (evidence.score.value or 0.0, *evidence.repeats)))


def _forcing(found: Sequence[Evidence]) -> dict[str, Forcing]:
    """By model: early answers before anything was called beside the arm whose tools are only offered, and those of
    trials that called nothing beside runs of the same; of one condition each, as they have one state."""
    forced, free = (defaultdict[tuple[str, str, str], list[float]](list) for _ in range(2))
    offered: dict[tuple[str, str, str], Scores] = {}
    for each in found:
        key = _start(each)
        if each.inputs.arms.offered:
            offered[key] = each.inputs.arms.offered
        if not each.called and each.all_runs is not None:
            free[key] += each.all_runs.rollouts.get(frozenset(), ())
        elif not each.inputs.arms.offered:
            continue
        forced[key] += _at_outset(each)
    pairs: dict[tuple[str, str], list[ForcedAndFree]] = defaultdict(list)
    for key, scores in forced.items():
        pairs[key[:2]].append(ForcedAndFree(scores, (*free[key], *offered.get(key, ()))))
    of_models: dict[str, list[ForcedAndFree]] = defaultdict(list)
    for (model, _), of_question in pairs.items():
        both = [each for each in of_question if each.forced and each.free]
        if both:
            # One question counts once, however many conditions it has.
            of_models[model].append(
                ForcedAndFree([mean(each.forced) for each in both], [mean(each.free) for each in both])
            )
    return {model: forcing_of(of_model) for model, of_model in of_models.items()}


def _found(
    wanted: Sequence[TrialSummary],
    reading: _Reading,
    rates: ChangeRates,
    told: Callable[[int, int], None],
    of: Callable[[Explained], T],
    unread: Callable[[EvidenceOutline], T] | None,
) -> list[T]:
    """Of those with trials without tools to set them against, in their order."""
    named = {seen.trial for seen in wanted}
    around, compared = _around(wanted, reading, with_arms=bool(rates.arms))
    done, found = 0, list[T]()
    for chunk in _chunks(around):
        read = {
            seen.trial
            for seen in chunk
            if unread is None or seen.trial in compared or _rests_on_its_trace(seen, reading)
        }
        no_tools = (each for seen in chunk if seen.trial in read for each in reading.ladders.without_tools(seen))
        reading.known.turn_to(dict.fromkeys((*(seen.trial for seen in chunk), *no_tools)))
        evidence, outlines = list[Evidence](), list[EvidenceOutline]()
        for seen in chunk:
            told(done, len(around))
            done += 1
            if unread is not None and seen.trial not in read:
                if (outline := _outline(seen, reading)) is not None:
                    outlines.append(outline)
                    found += [unread(outline)] if seen.trial in named else []
            elif (each := _evidence(seen, reading, at_once=unread is None)) is not None:
                outlines.append(each)
                evidence.append(each)
        found += [
            of(_explained(each, reading, rates))
            for each in beside_repeats(evidence, outlines, reading.ladders.tools_of)
            if each.inputs.trial in named
        ]
        reading.known.keep()
    order = {seen.trial: place for place, seen in enumerate(wanted)}
    return sorted(found, key=lambda each: order[each.evidence.inputs.trial])


def _around(
    wanted: Sequence[TrialSummary], reading: _Reading, *, with_arms: bool
) -> tuple[list[TrialSummary], frozenset[str]]:
    """Those asked about with the others of their questions that bear on their labels, which are the same whoever asks:
    those of the same tools. Of these, where arms are weighed, those that a wrong one is compared with by what their
    traces show."""
    tools = {name: reading.ladders.tools_of(name) for name in reading.ladders.with_tools}

    def start(seen: TrialSummary) -> tuple[str, str, str]:
        return seen.model, seen.question, tools[seen.condition]

    starts = set(map(start, wanted))
    around = [seen for seen in reading.seen if seen.condition in tools and start(seen) in starts]
    wrong = {start(seen) for seen in around if with_arms and (seen.value or 0.0) < RIGHT}
    return around, frozenset(seen.trial for seen in around if start(seen) in wrong)


def _all_evidence(trials: Sequence[TrialSummary], reading: _Reading) -> list[Evidence]:
    """Of those with trials without tools to set them against."""
    no_tools = (each for seen in trials for each in reading.ladders.without_tools(seen))
    reading.known.turn_to(dict.fromkeys((*(seen.trial for seen in trials), *no_tools)))
    found = [each for seen in trials if (each := _evidence(seen, reading)) is not None]
    reading.known.keep()
    return found


def _chunks(wanted: Sequence[TrialSummary]) -> Iterator[list[TrialSummary]]:
    """Whole questions, whose trials are set against each other."""
    questions: dict[str, list[TrialSummary]] = defaultdict(list)
    for seen in wanted:
        questions[seen.question].append(seen)
    chunk: list[TrialSummary] = []
    for of_question in questions.values():
        chunk += of_question
        if len(chunk) >= _CHUNK:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def _nobody(done: int, of: int) -> None:
    """Told where nobody asks how far it is."""


def _explained(evidence: Evidence, reading: _Reading, rates: ChangeRates) -> Explained:
    pool = reading.pools.of(evidence, reading.ladders.pair(evidence.condition))
    by_trace = attribute_by_trace(
        *(evidence.signals, evidence.score, evidence.no_tools, evidence.repeats, pool, evidence.inputs.arms.scaffold),
        *(blame_by_arms(evidence, rates), rates.signs),
    )
    by_replay = attribute_by_replay(evidence, rates)
    if by_replay is None:
        return Explained(evidence, by_trace)
    # A page shows the fall that the label names.
    shown = replace(evidence, flip=likeliest_fall(evidence, by_replay.shares))
    return Explained(shown, by_replay, () if by_trace is None else (by_trace,))


def _rests_on_its_trace(seen: TrialSummary, reading: _Reading) -> bool:
    """Whether anything that an outline tells of a trial does: of a right one that nothing goes on from, nothing."""
    return (seen.value or 0.0) < RIGHT or bool(reading.replays.of(seen.trial))


def _outline(seen: TrialSummary, reading: _Reading) -> EvidenceOutline | None:
    """Of one whose trace is not read; None where there is no trial without tools to set it against."""
    arms = reading.ladders.below(seen)
    if arms is None:
        return None
    score, value, chosen = reading.known.score(seen.trial), seen.value or 0.0, reading.chosen(seen.trial)
    inputs = DecompositionInputs(
        *(seen.model, seen.condition, seen.question, unit(seen), seen.trial, value, arms),
        re_asked=None if score.verdict == "unparsed" else value,
        inclusion_probability=reading.inclusion_probability(seen.trial),
        sampled=chosen,
    )
    return EvidenceOutline(
        *(seen.model, seen.condition, seen.question, seen.domain, without_judge(score), inputs),
        diagnoses=tuple(reading.diagnoses.get(seen.trial, ())),
    )


def _evidence(seen: TrialSummary, reading: _Reading, *, at_once: bool = True) -> Evidence | None:
    """None where there is no trial without tools to set it against. Unless all is to be read `at_once`, the traces of
    these are read where a cause asks for what they say, before others are turned to."""
    arms = reading.ladders.below(seen)
    if arms is None:
        return None
    known = reading.known
    read, score = known.reading(seen.trial), known.score(seen.trial)
    signals, case = read.signals, read.case
    value = seen.value or 0.0
    own = () if score.verdict == "unparsed" else (value,)
    design = reading.design or ReplayDesign()
    chosen = reading.chosen(seen.trial)
    no_tools = known.no_tools if at_once else known.no_tools_unread
    found = replays_of(
        *(case, signals, own, reading.replays.of(seen.trial), reading.re_asks, reading.store.trace, design.rollouts)
    )
    inputs = DecompositionInputs(
        *(seen.model, seen.condition, seen.question, unit(seen), seen.trial, value, arms, case.used),
        re_asked=value if own else None,
        inclusion_probability=reading.inclusion_probability(seen.trial),
        replay=_replay(found, case.steps, signals) if chosen else None,
        sampled=chosen,
    )
    return Evidence(
        *(seen.model, seen.condition, seen.question, seen.domain, score, inputs, signals),
        runs=found.runs if chosen else None,
        no_tools=tuple(no_tools(each) for each in reading.ladders.without_tools(seen)),
        steps=case.steps,
        trajectory=found.trajectory,
        flip=found.flip,
        re_asked=found.re_asked,
        ignore_tools=found.ignore_tools,
        pivotal=found.pivotal,
        shapley=found.shapley,
        answered=found.answered,
        came_again=found.came_again,
        diagnoses=tuple(reading.diagnoses.get(seen.trial, ())),
    )


def _replay(found: Replays, steps: Sequence[int], signals: Signals) -> Replay | None:
    if found.replay is None:
        return None
    return replace(
        found.replay, signals=decomposition_signals(signals, steps, found.trajectory, found.flip, found.ignore_tools)
    )


def _notes(lonely: int, unreplayed: int, reading: _Reading) -> Iterator[str]:
    for name in sorted(reading.ladders.prompted):
        yield f"Compared with {name!r}, which has its own system prompt; no prompt-free baseline was run."
    if lonely:
        yield f"{counted(lonely, 'trial')} left out: no trial of the same question without tools has a score."
    if unreplayed:
        yield f"{counted(unreplayed, 'trial')} in the sample without usable replays: unresolved."
    if reading.re_asks.never_re_asked:
        yield (
            f"{counted(reading.re_asks.never_re_asked, 'trial')} of arms and replays without a readable answer,"
            " never re-asked: counted as wrong."
        )
