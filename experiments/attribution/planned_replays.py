"""Which replays a chosen trial needs, and what each is for."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain, combinations

from toolablate.analysis.arms import ladders
from toolablate.analysis.attribution.belief import BeliefFlip
from toolablate.analysis.attribution.bisection import Ask, Cost, Search, search, search_cost
from toolablate.analysis.attribution.decomposition import ToolKind
from toolablate.analysis.shapley import ALL_ORDERS
from toolablate.analysis.shapley import design as orders
from toolablate.experiments.attribution.cases import Case, ending_of
from toolablate.experiments.attribution.replay_evidence import COMPARED, TAU, Outcomes, is_right
from toolablate.experiments.replay.requests import Content, ReplayRequest
from toolablate.traces.records import (
    Again,
    AnswerNow,
    Condition,
    IgnoreTools,
    ReplayChange,
    ReplayDesign,
    ReplayPurpose,
    Rerun,
    ShownResult,
)
from toolablate.traces.store import Store, TrialSummary

RE_ASK = ReplayPurpose(kind="answer_re_ask")
REPAIRED = ReplayPurpose(kind="repaired")


def early_answers(case: Case, step: int, samples: int) -> ReplayRequest:
    """Samples of the answer that the model gives if it has to answer at once before a step."""
    return _request(case, case.steps[step], AnswerNow(), samples, ReplayPurpose(kind="early_answer", step=step))


def all_early_answers(case: Case, design: ReplayDesign) -> tuple[ReplayRequest, ...]:
    """Of round one, after every step."""
    return tuple(early_answers(case, step, design.samples) for step in range(len(case.steps)))


def first_round(case: Case, design: ReplayDesign) -> tuple[ReplayRequest, ...]:
    """The rest of round one. Nothing where no request was answered."""
    return tuple(_first_round(case, design))


def second_round(
    case: Case, flip: BeliefFlip | None, nothing: Mapping[int, str], design: ReplayDesign
) -> tuple[ReplayRequest, ...]:
    """Of a trial that is wrong. `nothing` is what each result of `Case.shown` is where its tool finds nothing."""
    return tuple(_second_round(case, flip, nothing, design)) if flip else ()


def second_round_at_most(case: Case, design: ReplayDesign) -> tuple[ReplayRequest, ...]:
    """As much as round two can be, whatever round one finds, from where it costs most."""
    if not case.results or case.last is None:
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


def _first_round(case: Case, design: ReplayDesign) -> Iterator[ReplayRequest]:
    if case.last is None:
        return
    if case.ending is not None:
        yield _request(case, case.ending, AnswerNow(), design.samples, RE_ASK)
    if case.budget is not None:
        yield _request(case, case.last, Rerun(budget=case.budget), design.rollouts, ReplayPurpose(kind="extended"))
    if not case.results:
        return
    yield _request(case, case.steps[-1], IgnoreTools(), design.samples, ReplayPurpose(kind="ignore_tools"))
    rollouts = {placebos: _rollout(case, placebos) for placebos in _subsets(case.used)}
    repaired, first = Rerun(budget=case.budget, sound=True), case.results[0].event
    shared = (case.fault, repaired) == (first, rollouts[()])
    if case.fault is not None and not shared:
        yield _request(case, case.fault, repaired, design.rollouts, REPAIRED)
    for placebos, change in rollouts.items():
        also = [REPAIRED] if shared and not placebos else []
        rollout = ReplayPurpose(kind="rollout", placebos=placebos)
        yield _request(case, first, change, design.rollouts, rollout, *also)


def _second_round(
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


def _subsets(of: frozenset[ToolKind]) -> Iterator[tuple[ToolKind, ...]]:
    kinds = sorted(of)
    return chain.from_iterable(combinations(kinds, size) for size in range(len(kinds) + 1))


# Probes that a bisection asks for: the search of a trial, as far as what is stored lets it go.


MOST = 8
"""How many times the design's samples a step is asked for at most, where fewer do not tell."""


def bisects(case: Case, design: ReplayDesign) -> bool:
    """Whether the design wants it, and it takes fewer answers, as far as can be told before, than asking after every
    step does."""
    if design.steps == "all" or len(case.steps) < 2:
        return False
    return _cost(plan_of(case, design)).samples_expected < len(case.steps) * design.samples


def searched(case: Case, outcomes: Outcomes, design: ReplayDesign) -> ReplayRequest | None:
    """What the search wants next that is not stored, None where it has come to its end. It is made again from its
    beginning, which what is stored answers the same each time: so a run that was killed goes on where it was."""
    asking = search(plan_of(case, design))
    asked: dict[int, int] = {}
    try:
        ask = next(asking)
        while True:
            begin = asked.get(ask.step, 0)
            right = _given(outcomes, ask, begin)
            if right is None:
                return early_answers(case, ask.step, begin + ask.samples)
            asked[ask.step] = begin + ask.samples
            ask = asking.send(right)
    except StopIteration:
        return None


def plan_of(case: Case, design: ReplayDesign) -> Search:
    """Of a trial of several steps."""
    return Search(len(case.steps) - 1, tau=TAU, batch=design.samples, most=MOST * design.samples)


def most_early_answers(case: Case, design: ReplayDesign) -> tuple[ReplayRequest, ...]:
    """As many as the search takes at most, all at the last step, where the model reads most; none without one."""
    if not bisects(case, design):
        return ()
    return (early_answers(case, len(case.steps) - 1, _cost(plan_of(case, design)).samples_at_most),)


def likely_share(case: Case, design: ReplayDesign) -> float:
    """Of `most_early_answers`, what a search takes on average."""
    cost = _cost(plan_of(case, design))
    return cost.samples_expected / cost.samples_at_most


def _given(outcomes: Outcomes, ask: Ask, begin: int) -> int | None:
    """How many of the samples are right, None where some are missing."""
    replays = outcomes.get(ReplayPurpose(kind="early_answer", step=ask.step), ())[begin : begin + ask.samples]
    given = [each for each in replays if each.value is not None]
    return sum(map(is_right, given)) if len(given) == ask.samples else None


@lru_cache(maxsize=256)
def _cost(plan: Search) -> Cost:
    return search_cost(plan)


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


def unparsed_arms(
    candidates: Sequence[TrialSummary], seen: Sequence[TrialSummary], conditions: Mapping[str, Condition]
) -> Iterator[str]:
    """The ids of trials of the same questions and models, under the arms that the candidates are compared with, whose
    answer could not be read; also of candidates that are not chosen, since the levels of arms must not depend on the
    sample. `conditions` has those of all trials by the names that these show."""
    of_ladders = {ladder.toolset: frozenset(ladder.arms.values()) - {ladder.toolset} for ladder in ladders(conditions)}
    no_tools = frozenset(name for name, condition in conditions.items() if not condition.tools)
    arms = {(each.model, each.question, arm) for each in candidates for arm in of_ladders.get(each.condition, no_tools)}
    return (
        each.trial
        for each in seen
        if each.verdict == "unparsed"
        and each.outcome != "failed"
        and (each.model, each.question, each.condition) in arms
    )
