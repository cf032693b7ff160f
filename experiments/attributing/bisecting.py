"""Probes that a bisection asks for: the search of a trial, as far as what is stored lets it go."""

from functools import lru_cache

from toolablate.analysis.attribution.bisection import Ask, Cost, Search, search, search_cost
from toolablate.experiments.attributing.case import Case
from toolablate.experiments.attributing.outcomes import TAU, Outcomes, is_right
from toolablate.experiments.attributing.program import Asked, Purpose, probe
from toolablate.traces.records import ReplayDesign

MOST = 8
"""How many times the design's samples a step is asked for at most, where fewer do not tell."""


def bisects(case: Case, design: ReplayDesign) -> bool:
    """Whether the design wants it, and it takes fewer answers, as far as can be told before, than asking after every
    step does."""
    if design.steps == "all" or len(case.steps) < 2:
        return False
    return _cost(plan_of(case, design)).samples_expected < len(case.steps) * design.samples


def searched(case: Case, outcomes: Outcomes, design: ReplayDesign) -> Asked | None:
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
                return probe(case, ask.step, begin + ask.samples)
            asked[ask.step] = begin + ask.samples
            ask = asking.send(right)
    except StopIteration:
        return None


def plan_of(case: Case, design: ReplayDesign) -> Search:
    """Of a trial of several steps."""
    return Search(len(case.steps) - 1, tau=TAU, batch=design.samples, most=MOST * design.samples)


def most_probes(case: Case, design: ReplayDesign) -> tuple[Asked, ...]:
    """As many as the search takes at most, all at the last step, where the model reads most; none without one."""
    if not bisects(case, design):
        return ()
    return (probe(case, len(case.steps) - 1, _cost(plan_of(case, design)).samples_at_most),)


def likely_share(case: Case, design: ReplayDesign) -> float:
    """Of `most_probes`, what a search takes on average."""
    cost = _cost(plan_of(case, design))
    return cost.samples_expected / cost.samples_at_most


def _given(outcomes: Outcomes, ask: Ask, begin: int) -> int | None:
    """How many of the samples are right, None where some are missing."""
    replays = outcomes.get(Purpose("probe", step=ask.step), ())[begin : begin + ask.samples]
    given = [each for each in replays if each.value is not None]
    return sum(map(is_right, given)) if len(given) == ask.samples else None


@lru_cache(maxsize=256)
def _cost(plan: Search) -> Cost:
    return search_cost(plan)
