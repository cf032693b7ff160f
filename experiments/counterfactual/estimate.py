"""What counterfactuals will cost, by what their parents took: told before anything is spent."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from toolablate.agents import Start
from toolablate.agents.costs import rates_of
from toolablate.agents.spending import estimated_tokens
from toolablate.experiments.counterfactual.parent import Parent
from toolablate.experiments.counterfactual.taking_up import TakenUp
from toolablate.traces.errors import InputError
from toolablate.traces.records import Budget, Message, ModelCall, ModelRequest, OpenAIModel, Price


@dataclass(frozen=True, slots=True)
class Amount:
    """So many trials that are missing, and what they will cost in US dollars, None where no price is known."""

    missing: int
    usd: float | None


@dataclass(frozen=True, slots=True)
class Estimate:
    """How many trials are wanted, how many of these are missing, and what they will cost in US dollars, None where no
    price is known. `by_place` is that of each replay; a trial that several call for counts for the first."""

    trials: int
    missing: int
    usd: float | None
    by_place: Mapping[int, Amount]


def estimated(wanted: Sequence[TakenUp], finished: AbstractSet[str]) -> Estimate:
    """`finished` are the counterfactuals that the store has."""
    known, trials, missing = set(finished), set[str](), 0
    by_place: dict[int, Amount] = {}
    unnamed = 0
    for taken in sorted(wanted, key=lambda taken: taken.place):
        count = taken.missing(known)
        missing += count
        unnamed += 0 if taken.trials else count
        ids = {entry.trial.id for entry in taken.trials}
        trials |= ids
        known |= ids
        cost = _of_one(taken) if count else 0.0
        by_place[taken.place] = Amount(count, None if cost is None else cost * count)
    return Estimate(len(trials) + unnamed, missing, total_cost([each.usd for each in by_place.values()]), by_place)


def _of_one(taken: TakenUp) -> float | None:
    return total_cost([estimated_cost(taken.parent, taken.start, taken.condition.budget), taken.parent.grading_usd])


def told(estimate: Estimate) -> str:
    trials = "1 trial" if estimate.missing == 1 else f"{estimate.missing:,} trials"
    if estimate.usd is None:
        return f"{trials} to run, at a cost that is not known: a model or judge has no price"
    return f"{trials} to run, for about ${estimate.usd:.4g} by what was recorded from there on"


def estimated_cost(parent: Parent, start: Start, budget: Budget) -> float | None:
    """US dollars for one trial, None where the price is not known: what the parent paid from the event on; of a probe,
    and where the parent asked nothing more, one request that reads all that was said; with a larger budget, as many
    requests more as it has turns, at what the parent's cost on average."""
    if not isinstance(parent.model, OpenAIModel):
        return 0.0
    asked = [each for each in parent.conversation if isinstance(each, ModelCall)]
    rest = asked[len([each for each in start.before if isinstance(each, ModelCall)]) :]
    if start.node == "end":
        return 0.0
    if start.node == "final" or not rest:
        return _one_request(parent.model.price, asked, start)
    known = total_cost([each.cost_usd for each in rest])
    more = budget.turns - parent.condition.budget.turns
    mean = total_cost([each.cost_usd for each in asked])
    if known is None or mean is None or more <= 0:
        return known
    return known + more * mean / len(asked)


def refuse_too_dear(cost: float | None, max_cost: float | None) -> None:
    """Raises InputError where all of it would cost more than allowed, or nobody knows what."""
    if max_cost is None or (cost is not None and cost <= max_cost):
        return
    if cost is None:
        raise InputError(
            "--max-cost: what this would cost is not known, since a model or judge has no price",
            hint="give it a price in the plan, or leave --max-cost out",
            code="unknown_cost",
        )
    raise InputError(
        f"--max-cost: this would cost about ${cost:.4g}, and ${max_cost:.4g} are allowed",
        hint="ask for fewer runs, or allow more; nothing was spent",
        code="too_dear",
    )


def _one_request(price: Price | None, asked: Sequence[ModelCall], start: Start) -> float | None:
    """By the tokens that the next recorded request had for its length, since scripts and tokenizers differ, and with as
    long a reply as the last one."""
    if price is None:
        return None
    before = sum(isinstance(each, ModelCall) for each in start.before)
    like = asked[min(before, len(asked) - 1)]
    messages = (*start.messages, Message(role="user", content=start.closing))
    read = estimated_tokens(ModelRequest(messages=messages, tools=like.request.tools))
    if like.reply.usage.input_tokens is not None:
        read = round(read * like.reply.usage.input_tokens / max(1, estimated_tokens(like.request)))
    last = asked[-1].reply
    wrote = last.usage.output_tokens or len(last.message.content) // 4
    rates = rates_of(price, read)
    return (read * rates.input + wrote * rates.output) / 1e6


def total_cost(costs: Sequence[float | None]) -> float | None:
    """None where one of them is not known."""
    known = [cost for cost in costs if cost is not None]
    return sum(known) if len(known) == len(costs) else None
