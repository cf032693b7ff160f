"""What it will cost to have failures read: told before anything is spent."""

from collections.abc import Sequence

from toolablate.agents.costs import rates_of
from toolablate.agents.spending import estimated_tokens
from toolablate.experiments.diagnosing.readings import Reading
from toolablate.experiments.plans.plan import Plan
from toolablate.experiments.world.replies import is_replayed
from toolablate.reports.numbers import counted
from toolablate.traces.errors import InputError
from toolablate.traces.records import OpenAIModel
from toolablate.traces.store import Store

REPLY_TOKENS = 400
"""What a reply is taken to have, thoughts included. Those of a judge that thinks at length have more."""


def estimated_cost(plan: Plan, wanted: Sequence[Reading], store: Store) -> float | None:
    """US dollars, each judge asked once about each failure; None where the price of one is not known. What a library of
    recorded replies gives, and a scripted judge, cost nothing."""
    total = 0.0
    for reading in wanted:
        model = reading.judge.model
        if not isinstance(model, OpenAIModel) or is_replayed(plan, model):
            continue
        if model.price is None:
            return None
        read = estimated_tokens(reading.judge.request(reading.question, store.trace(reading.trial).events))
        rates = rates_of(model.price, read)
        total += (read * rates.input + REPLY_TOKENS * rates.output) / 1e6
    return total


def told(wanted: Sequence[Reading], cost: float | None) -> str:
    failures = f"{counted(len({reading.trial for reading in wanted}), 'failure')} to be read"
    judges = counted(len({reading.judge.name for reading in wanted}), "judge")
    if cost is None:
        return f"{failures} by {judges}, at a cost that is not known: a judge has no price"
    return f"{failures} by {judges}, for about ${cost:.4g} by the length of what is read"


def refuse_too_dear(cost: float | None, max_cost: float | None) -> None:
    """Raises InputError where all of it would cost more than allowed, or nobody knows what."""
    if max_cost is None or (cost is not None and cost <= max_cost):
        return
    if cost is None:
        raise InputError(
            "--max-cost: what this would cost is not known, since a judge has no price",
            hint="give the judge a price in the plan, or leave --max-cost out",
            code="unknown_cost",
        )
    raise InputError(
        f"--max-cost: the judges would cost about ${cost:.4g}, and ${max_cost:.4g} are allowed",
        hint="name fewer judges, or allow more; nothing was spent",
        code="too_dear",
    )
