"""Which replays a chosen trial needs, and what each is for."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, combinations

from toolablate.analysis.arms import ladders
from toolablate.analysis.attribution.belief import BeliefFlip, reply_began
from toolablate.analysis.attribution.change_rates import ChangeRates
from toolablate.analysis.attribution.decomposition import ARMS_WITHOUT_CALLS, ToolKind
from toolablate.analysis.attribution.evidence import Evidence
from toolablate.analysis.attribution.fall_search import FallSearch, fall_prior, next_step
from toolablate.analysis.attribution.replay_rules import blame, next_level
from toolablate.analysis.pairing import RIGHT, counts, mean
from toolablate.analysis.shapley import ALL_ORDERS
from toolablate.analysis.shapley import design as orders
from toolablate.experiments.attribution.cases import Case, ending_of
from toolablate.experiments.attribution.replay_evidence import AGAIN, COMPARED, LAST_REPLY, Outcomes, arms_below, values
from toolablate.experiments.attribution.sampled_trials import ChosenTrial
from toolablate.experiments.replay.requests import Content, ReplayRequest
from toolablate.traces.records import (
    Again,
    AnswerNow,
    Condition,
    IgnoreTools,
    ModelCall,
    ReplayChange,
    ReplayDesign,
    ReplayPurpose,
    ReplayPurposeKind,
    Rerun,
    ShownResult,
)
from toolablate.traces.store import Store, TrialSummary

RE_ASK = ReplayPurpose(kind="answer_re_ask")
REPAIRED = ReplayPurpose(kind="repaired")
SHORT = ReplayPurpose(kind="short")

SHORT_RESULT = 400
"""Characters of a placebo in place of a long one: results of ten calls are no volume then (`LONG_RESULTS`)."""


def early_answers(case: Case, step: int, samples: int) -> ReplayRequest:
    """Samples of the answer that the model gives if it has to answer at once before a step."""
    return _request(case, case.steps[step], AnswerNow(), samples, ReplayPurpose(kind="early_answer", step=step))


def first_round(trial: ChosenTrial, design: ReplayDesign) -> tuple[ReplayRequest, ...]:
    """Of every trial, right or wrong; nothing where no request was answered."""
    case = trial.case
    answers = (early_answers(case, step, design.samples) for step in _first_steps(trial, design))
    return (*answers, *_first_round(trial, design))


def _first_steps(trial: ChosenTrial, design: ReplayDesign) -> Sequence[int]:
    every = range(len(trial.case.steps))
    if design.steps == "all":
        return every
    # Of a right trial the end tells whether its belief rose, which it cannot where it was high (`may_have_risen`).
    asks_end = trial.is_wrong and not _draws_last_reply(trial, design)
    return sorted({*every[:1], *(every[-1:] if asks_end else ())})


def _draws_last_reply(trial: ChosenTrial, design: ReplayDesign) -> bool:
    return trial.is_wrong and _may_draw_last_reply(trial.case, design)


def _may_draw_last_reply(case: Case, design: ReplayDesign) -> bool:
    """Freely, not as an early answer: a forced answer to all results may differ from a free one. Where a limit ended
    the trial its last reply was forced as well."""
    return design.steps == "search" and bool(case.results) and case.budget is None


def without_results(
    case: Case, flip: BeliefFlip | None, nothing: Mapping[int, str], design: ReplayDesign
) -> tuple[ReplayRequest, ...]:
    """Of a wrong trial where its belief falls: without the result there, and without each choice of results. `nothing`
    is what each result of `Case.shown` is where its tool finds nothing."""
    return tuple(_without_results(case, flip, nothing, design)) if flip else ()


def without_results_at_most(case: Case, design: ReplayDesign) -> tuple[ReplayRequest, ...]:
    """As much as that can be, wherever it falls, from where it costs most."""
    if not design.each_result or not case.results or case.last is None:
        return ()
    first = case.results[0].event
    pivotal = ReplayPurpose(kind="pivotal", event=first)
    ablation = _request(case, first, Again(), 2 * design.rollouts, pivotal)
    if not 2 <= len(case.shown) <= ALL_ORDERS:
        return (ablation,)
    choices = len(orders(len(case.shown)).subsets)
    return (ablation, _request(case, case.last, Rerun(), choices * design.rollouts, ReplayPurpose(kind="shapley")))


def _request(
    case: Case, event: int, change: ReplayChange | Content, repeats: int, *purposes: ReplayPurpose
) -> ReplayRequest:
    return ReplayRequest(case.trial, event, change, repeats, purposes)


def _first_round(trial: ChosenTrial, design: ReplayDesign) -> Iterator[ReplayRequest]:
    case = trial.case
    if case.last is None:
        return
    if case.ending is not None and trial.seen.verdict == "unparsed":
        yield _request(case, case.ending, AnswerNow(), design.samples, RE_ASK)
    extended = [ReplayPurpose(kind="extended")] if case.budget is not None else []
    if not case.results:
        # Freely, not as an early answer: that a forced answer is worse than a free one is no luck.
        both = (*extended, ReplayPurpose(kind="rollout"))
        yield _request(case, case.last, Rerun(budget=case.budget), design.rollouts, *both)
        return
    if extended:
        yield _request(case, case.last, Rerun(budget=case.budget), design.rollouts, *extended)
    if _draws_last_reply(trial, design):
        yield _request(case, case.last, Rerun(), design.samples, LAST_REPLY)
    if trial.is_wrong and "code" in case.used and case.computes_answer:
        yield _request(case, case.steps[-1], IgnoreTools(), design.samples, ReplayPurpose(kind="ignore_tools"))
    rollouts = {placebos: _rollout(case, placebos) for placebos in _subsets(case.used)}
    repaired, first = Rerun(budget=case.budget, sound=True), case.results[0].event
    shared = (case.fault, repaired) == (first, rollouts[()])
    if case.fault is not None and not shared:
        yield _request(case, case.fault, repaired, design.rollouts, REPAIRED)
    # A right trial is run for the decomposition alone, and is mostly right again.
    runs = design.rollouts if trial.is_wrong else math.ceil(design.rollouts / 2)
    for placebos, change in rollouts.items():
        also = [REPAIRED] if shared and not placebos else []
        rollout = ReplayPurpose(kind="rollout", placebos=placebos)
        yield _request(case, first, change, runs, rollout, *also)
    yield from short_results(case, runs)


def _without_results(
    case: Case, flip: BeliefFlip, nothing: Mapping[int, str], design: ReplayDesign
) -> Iterator[ReplayRequest]:
    event = case.turned_by(flip)
    if event is not None:
        kept, ablated = (ReplayPurpose(kind="pivotal", event=event, kept=each) for each in (True, False))
        yield _request(case, event, Again(), design.rollouts, kept)
        yield _request(case, event, "null", design.rollouts, ablated)
    if case.last is None or not 2 <= len(case.shown) <= ALL_ORDERS:
        return
    for real in orders(len(case.shown)).subsets:
        hidden = (event for number, event in enumerate(case.shown) if number not in real)
        change = Rerun(shown=tuple(ShownResult(event=event, text=nothing[event]) for event in hidden))
        purpose = ReplayPurpose(kind="shapley", real=tuple(sorted(real)))
        yield _request(case, case.last, change, design.rollouts, purpose)


def _rollout(case: Case, placebos: tuple[ToolKind, ...]) -> Rerun:
    return Rerun(
        substitute="placebo" if placebos else None,
        tools=case.named(frozenset(placebos)),
        budget=case.budget,
        sound=case.fault is not None,
    )


def short_results(case: Case, runs: int) -> Iterator[ReplayRequest]:
    """With short placebos of all tools, where results are long: so their volume is told from their content."""
    if case.is_long:
        change = _rollout(case, tuple(sorted(case.used))).model_copy(update={"result_chars": SHORT_RESULT})
        yield _request(case, case.results[0].event, change, runs, SHORT)


def _subsets(of: frozenset[ToolKind]) -> Iterator[tuple[ToolKind, ...]]:
    kinds = sorted(of)
    return chain.from_iterable(combinations(kinds, size) for size in range(len(kinds) + 1))


# What is asked of a wrong trial after round one, by what its replays have come to, until its mechanism and the step at
# which it turned are settled.


MOST = 8
"""Samples of one step, and runs of one request, at most; or as many as the design asks for at once, if that is more."""

MOST_ROLLOUTS = 3
"""Runs of a level from the first call on, at most, as above: each takes many requests, and more of them tell less of a
mechanism than as many requests of the arms in which nothing is called do."""

LEAST_FALL = 0.3
"""How likely a fall has to be, by the mechanisms, for a search of its step."""

ROUNDS: frozenset[ReplayPurposeKind] = frozenset(
    {"early_answer", "rollout", "last_reply", "short", "extended", "repaired"}
)
"""What rounds ask for more of."""


def undecided(
    trial: ChosenTrial, evidence: Evidence, outcomes: Outcomes, rates: ChangeRates, design: ReplayDesign
) -> tuple[ReplayRequest, ...]:
    """The next runs of one level and the next early answers before one step; nothing of what is settled, or of what so
    many could not settle. It depends on what is stored alone: so a run that was stopped goes on where it was, once all
    that is `begun` has ended."""
    case = trial.case
    levels = _levels(trial, design)
    answers = _answers_at_most(case, design) - _answers_after_round_one(trial, outcomes, design)

    def cost(purpose: ReplayPurpose) -> float | None:
        """Requests of one run, about: as many as the trial itself made from there on. Replays count whether or not they
        have a score."""
        if purpose.kind == "early_answer":
            return 1.0 if answers > 0 and len(outcomes.get(purpose, ())) < MOST else None
        if purpose not in levels or len(outcomes.get(purpose, ())) >= _most_runs(case, purpose):
            return None
        return 1 + sum(step > levels[purpose].event for step in case.steps) / 2

    wanted = [
        next_level(evidence, rates, precision=design.precision, cost=cost),
        _where_it_falls(trial, evidence, rates, design) if answers > 0 else None,
    ]
    found = []
    for purpose in dict.fromkeys(each for each in wanted if each is not None):
        there = len(outcomes.get(purpose, ()))
        if purpose.step is None:
            most = max(_most_runs(case, purpose), design.rollouts)
            request, runs = levels[purpose], min(there + design.rollouts, most)
        else:
            more = min(design.samples, max(MOST, design.samples) - there, answers)
            request, runs = early_answers(case, purpose.step, 0), there + more
            answers -= more
        if runs > there:
            found.append(replace(request, repeats=runs))
    return tuple(found)


def _most_runs(case: Case, purpose: ReplayPurpose) -> int:
    return MOST_ROLLOUTS if case.results and purpose != LAST_REPLY else MOST


def may_have_risen(trial: ChosenTrial, outcomes: Outcomes, design: ReplayDesign) -> tuple[ReplayRequest, ...]:
    """Of a right trial early answers at its end that are not there yet, where fewer than half at its start are right:
    nowhere else can its belief have risen."""
    begin = outcomes.get(ReplayPurpose(kind="early_answer", step=0), ())[: design.samples]
    scores = values(begin)
    if len(scores) < len(begin) or not scores or mean(scores) >= RIGHT:
        return ()
    return tuple(
        request
        for request in end_at_most(trial, design)
        if len(values(outcomes.get(request.purposes[0], ()))) < request.repeats
    )


def end_at_most(trial: ChosenTrial, design: ReplayDesign) -> tuple[ReplayRequest, ...]:
    """Of a right trial, whatever its belief was."""
    last = len(trial.case.steps) - 1
    if trial.is_wrong or design.steps == "all" or last < 1:
        return ()
    return (early_answers(trial.case, last, design.samples),)


def begun(trial: ChosenTrial, outcomes: Outcomes, design: ReplayDesign) -> tuple[ReplayRequest, ...]:
    """What a round that was stopped has left of what it asked for: decided on a part of it, another would follow than
    without the stop."""
    levels = _levels(trial, design)
    return tuple(
        replace(request, repeats=len(replays))
        for purpose, replays in outcomes.items()
        if any(each.outcome in (None, "failed") for each in replays)
        and (request := _early(trial.case, purpose) or levels.get(purpose)) is not None
    )


def _levels(trial: ChosenTrial, design: ReplayDesign) -> dict[ReplayPurpose, ReplayRequest]:
    return {purpose: request for request in _first_round(trial, design) for purpose in request.purposes}


def _early(case: Case, purpose: ReplayPurpose) -> ReplayRequest | None:
    return None if purpose.step is None else early_answers(case, purpose.step, 0)


def _where_it_falls(
    trial: ChosenTrial, evidence: Evidence, rates: ChangeRates, design: ReplayDesign
) -> ReplayPurpose | None:
    """Not asked for where no mechanism that is at all likely makes a belief fall."""
    case = trial.case
    if design.steps == "all" or not case.results:
        return None
    prior = fall_prior(evidence, blame(evidence, rates))
    if sum(prior[:-2]) < LEAST_FALL:
        return None
    beliefs = evidence.trajectory.beliefs if evidence.trajectory else ()
    asked = {each.step: (round(each.right.mean * each.samples), each.samples) for each in beliefs}
    step = next_step(FallSearch(len(case.steps) - 1, most=MOST, prior=prior), asked)
    if step == len(case.steps) - 1 and _draws_last_reply(trial, design):
        return LAST_REPLY
    return None if step is None else ReplayPurpose(kind="early_answer", step=step)


def _answers_at_most(case: Case, design: ReplayDesign) -> int:
    """Of all rounds after the first: for both ends, and for a search that halves the steps."""
    return (2 + (len(case.steps) - 1).bit_length()) * max(MOST, design.samples)


def _answers_after_round_one(trial: ChosenTrial, outcomes: Outcomes, design: ReplayDesign) -> int:
    first = set(_first_steps(trial, design))
    return sum(
        max(0, len(replays) - design.samples) if purpose.step in first else len(replays)
        for purpose, replays in outcomes.items()
        if purpose.kind == "early_answer"
    )


def at_most_undecided(case: Case, design: ReplayDesign) -> tuple[ReplayRequest, ...]:
    """As much as all that can be, from where it costs most."""
    if case.last is None:
        return ()
    rollout = ReplayPurpose(kind="rollout")
    levels = 1 + 2 ** len(case.used) + case.is_long + (case.budget is not None) + (case.fault is not None)
    event = case.results[0].event if case.results else case.last
    runs = levels * max(_most_runs(case, rollout), design.rollouts)
    last = (_request(case, case.last, Rerun(), max(MOST, design.rollouts), LAST_REPLY),)
    return (
        _request(case, event, Rerun(), runs, rollout),
        *(last if _may_draw_last_reply(case, design) else ()),
        early_answers(case, len(case.steps) - 1, _answers_at_most(case, design)),
    )


# Answers that could not be read, of the runs that a trial is compared with: each is asked for once more, as the
# trial's own is, so that the loss of its form is not taken for anything else.


def re_ask(store: Store, trial: str) -> ReplayRequest | None:
    """Of a trial whose answer could not be read; None where it gave none."""
    ending = ending_of(store.conversation(trial))
    return None if ending is None else ReplayRequest(trial, ending, AnswerNow(), 1, (RE_ASK,))


def compared_runs(requests: Iterable[ReplayRequest]) -> int:
    """The runs of which the answer may turn out to be unreadable, and is then asked for again."""
    return sum(each.repeats for each in requests if each.purposes[0].kind in COMPARED)


def re_asks_of(case: Case, runs: int) -> ReplayRequest | None:
    """One of each of so many replays of a trial, asked of the trial itself; None where there are none."""
    event = case.last if case.ending is None else case.ending
    return _request(case, event, AnswerNow(), runs, RE_ASK) if runs and event is not None else None


def arms_without_calls(
    chosen: Iterable[ChosenTrial], seen: Sequence[TrialSummary], conditions: Mapping[str, Condition], baseline: str
) -> tuple[str, ...]:
    """The ids of trials that wrong ones are compared with and in which nothing is called: of the same question and
    model, without tools, or with tools that are only offered. No replay of a trial tells what these come to."""
    below = arms_below(conditions, baseline)
    wanted = {
        (each.seen.model, each.seen.question, below[each.seen.condition].get(arm))
        for each in chosen
        if each.is_wrong and each.seen.condition in below
        for arm in ARMS_WITHOUT_CALLS
    }
    return tuple(each.trial for each in seen if counts(each) and (each.model, each.question, each.condition) in wanted)


RUNS_AGAIN = 2
"""Runs of each trial of an arm in which nothing is called, for one of everything else: each takes one request, and all
wrong trials of its question share it. Of all levels more of these tell most of mechanisms."""


def run_again(store: Store, trial: str, design: ReplayDesign) -> ReplayRequest | None:
    """From the start of a trial in which nothing is called; None where it never asked its model."""
    conversation = store.conversation(trial)
    first = next((index for index, event in enumerate(conversation) if isinstance(event, ModelCall)), None)
    if first is None:
        return None
    return ReplayRequest(trial, reply_began(conversation, first), Rerun(), RUNS_AGAIN * design.rollouts, (AGAIN,))


def unparsed_arms(
    candidates: Sequence[TrialSummary], seen: Sequence[TrialSummary], conditions: Mapping[str, Condition]
) -> Iterator[str]:
    """The ids of trials of the same questions and models, under the arms that the candidates are compared with, whose
    answer could not be read; also of candidates that are not chosen, since the levels of arms must not depend on the
    sample. `conditions` has those of all trials by the names that these show."""
    of_ladders = {ladder.toolset: frozenset(ladder.arms.values()) - {ladder.toolset} for ladder in ladders(conditions)}
    no_tools = frozenset(name for name, condition in conditions.items() if condition.without_tools)
    arms = {(each.model, each.question, arm) for each in candidates for arm in of_ladders.get(each.condition, no_tools)}
    return (
        each.trial
        for each in seen
        if each.verdict == "unparsed"
        and each.outcome != "failed"
        and (each.model, each.question, each.condition) in arms
    )
