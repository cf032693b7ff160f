"""Which replays a chosen trial needs, and what each stored one is for.

Round one takes the trial as it is:

probe      after each step, what the model would answer now
closing    after the answer, once more, in the form that the question asks for
set_aside  at the last step, with what the tools gave set aside
extended   before the last request, where the budget ran out: with twice of it
repaired   at the first fault of a tool: with tools that work
rollout    before the first result, the reasoning drawn again: with the same results, and with placebos in place of
           those of each choice of kinds of tools; budget and faults as in the two before

Round two is for a wrong trial whose belief falls for good:

turning    at the result at which it falls: that result again, and nothing in its place
worth      before the last request: each choice of results, with nothing in the place of the others

And last, one closing of each run that is compared with others and gave no answer that could be read (`mending`).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, combinations
from typing import Literal, TypeVar

from toolablate.analysis.attribution.belief import Flip
from toolablate.analysis.attribution.decomposition import ToolKind
from toolablate.analysis.shapley import ALL_ORDERS
from toolablate.analysis.shapley import design as orders
from toolablate.experiments.attributing.case import Case
from toolablate.experiments.counterfactual.wanted import Content
from toolablate.traces.records import (
    Again,
    AnswerNow,
    ReplayChange,
    ReplayDesign,
    Rerun,
    Resumption,
    SetAside,
    ShownResult,
    Swap,
)

PurposeKind = Literal["probe", "closing", "set_aside", "extended", "repaired", "rollout", "turning", "worth"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Purpose:
    """What a replay is for.

    step     of a probe: its number among the steps of the trial
    swapped  of a rollout: the kinds of tools that give placebos
    event    of turning: the call whose result it is about
    kept     of turning: whether the result is as it was
    real     of worth: the results that are as they were, by their numbers among `Case.shown`
    """

    kind: PurposeKind
    step: int | None = None
    swapped: frozenset[ToolKind] = frozenset()
    event: int | None = None
    kept: bool = True
    real: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Asked:
    """So many runs that go on from an event with one change, for this purpose."""

    purpose: Purpose
    event: int
    change: ReplayChange | Content
    repeats: int


def probe(case: Case, step: int, samples: int) -> Asked:
    """So many answers that are asked for at once before a step."""
    return Asked(Purpose("probe", step=step), case.steps[step], AnswerNow(), samples)


def probes(case: Case, design: ReplayDesign) -> tuple[Asked, ...]:
    """Of round one, after every step."""
    return tuple(probe(case, step, design.samples) for step in range(len(case.steps)))


def first_round(case: Case, design: ReplayDesign) -> tuple[Asked, ...]:
    """The rest of round one. Nothing where no request was answered."""
    return tuple(_first_round(case, design))


def second_round(case: Case, flip: Flip | None, nothing: Mapping[int, str], design: ReplayDesign) -> tuple[Asked, ...]:
    """Of a trial that is wrong. `nothing` is what each result of `Case.shown` is where its tool finds nothing."""
    return tuple(_second_round(case, flip, nothing, design)) if flip else ()


def second_round_at_most(case: Case, design: ReplayDesign) -> tuple[Asked, ...]:
    """As much as round two can be, whatever round one finds, from where it costs most."""
    if not case.results or case.last is None:
        return ()
    turning = Asked(
        Purpose("turning", event=case.results[0].event), case.results[0].event, Again(), 2 * design.rollouts
    )
    if not 2 <= len(case.shown) <= ALL_ORDERS:
        return (turning,)
    choices = len(orders(len(case.shown)).subsets)
    return (turning, Asked(Purpose("worth"), case.last, Rerun(), choices * design.rollouts))


def purposes_of(resumption: Resumption, case: Case) -> tuple[Purpose, ...]:
    """What a stored replay of the trial is for: of a trial whose first result is a fault the run that repairs it is
    also the one with the same results. Nothing for replays that are of no such program, as those that someone asked for
    by hand, and for those of another attempt."""
    if (resumption.trial, resumption.attempt) != (case.trial, case.attempt):
        return ()
    event = resumption.event
    match resumption.change:
        case AnswerNow() if event in case.steps:
            return (Purpose("probe", step=case.steps.index(event)),)
        case AnswerNow() if event == case.ending:
            return (Purpose("closing"),)
        case SetAside() if case.results and event == case.steps[-1]:
            return (Purpose("set_aside"),)
        case Again() if _is_result(case, event):
            return (Purpose("turning", event=event),)
        case Swap(content="null") if _is_result(case, event):
            return (Purpose("turning", event=event, kept=False),)
        case Rerun() as change:
            return tuple(_of_rerun(change, event, case))
        case _:
            return ()


def _first_round(case: Case, design: ReplayDesign) -> Iterator[Asked]:
    if case.last is None:
        return
    if case.ending is not None:
        yield Asked(Purpose("closing"), case.ending, AnswerNow(), design.samples)
    if case.budget is not None:
        yield Asked(Purpose("extended"), case.last, _extended(case), design.rollouts)
    if not case.results:
        return
    yield Asked(Purpose("set_aside"), case.steps[-1], SetAside(), design.samples)
    rollouts = {subset: _rollout(case, subset) for subset in _subsets(case.used)}
    if case.fault is not None and (case.fault, _repaired(case)) != (case.results[0].event, rollouts[frozenset()]):
        yield Asked(Purpose("repaired"), case.fault, _repaired(case), design.rollouts)
    for subset, change in rollouts.items():
        yield Asked(Purpose("rollout", swapped=subset), case.results[0].event, change, design.rollouts)


def _second_round(case: Case, flip: Flip, nothing: Mapping[int, str], design: ReplayDesign) -> Iterator[Asked]:
    turned_by = case.turned_by(flip)
    if turned_by is not None:
        kept, without = Purpose("turning", event=turned_by), Purpose("turning", event=turned_by, kept=False)
        yield Asked(kept, turned_by, Again(), design.rollouts)
        yield Asked(without, turned_by, "null", design.rollouts)
    if case.last is None or not 2 <= len(case.shown) <= ALL_ORDERS:
        return
    for real in orders(len(case.shown)).subsets:
        hidden = (event for number, event in enumerate(case.shown) if number not in real)
        change = Rerun(shown=tuple(ShownResult(event=event, text=nothing[event]) for event in hidden))
        yield Asked(Purpose("worth", real=real), case.last, change, design.rollouts)


def _extended(case: Case) -> Rerun:
    return Rerun(budget=case.budget)


def _repaired(case: Case) -> Rerun:
    return Rerun(budget=case.budget, sound=True)


def _rollout(case: Case, swapped: frozenset[ToolKind]) -> Rerun:
    return Rerun(
        stand_in="placebo" if swapped else None,
        tools=case.named(swapped),
        budget=case.budget,
        sound=case.fault is not None,
    )


def _of_rerun(change: Rerun, event: int, case: Case) -> Iterator[Purpose]:
    if event == case.last and change == Rerun(shown=change.shown):
        hidden = {each.event for each in change.shown}
        if hidden <= set(case.shown):
            yield Purpose("worth", real=frozenset(n for n, each in enumerate(case.shown) if each not in hidden))
    if event == case.last and case.budget is not None and change == _extended(case):
        yield Purpose("extended")
    if case.fault is not None and event == case.fault and change == _repaired(case):
        yield Purpose("repaired")
    if case.results and event == case.results[0].event:
        yield from (
            Purpose("rollout", swapped=subset) for subset in _subsets(case.used) if change == _rollout(case, subset)
        )


def _is_result(case: Case, event: int) -> bool:
    return any(result.event == event for result in case.results)


def _subsets(of: frozenset[ToolKind]) -> Iterator[frozenset[ToolKind]]:
    kinds = sorted(of)
    chosen = chain.from_iterable(combinations(kinds, size) for size in range(len(kinds) + 1))
    return (frozenset(each) for each in chosen)
