"""What a reply cost, what a trial has spent, and which limit of its budget that reaches."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from toolablate.agents.provider_tools import charged_calls
from toolablate.traces.records import (
    CHARACTERS_PER_TOKEN,
    Budget,
    Condition,
    Event,
    Failure,
    Limit,
    Model,
    ModelCall,
    ModelReply,
    ModelRequest,
    OpenAIModel,
    Price,
    Rates,
    ToolCall,
    Usage,
)


def known_cost(reply: ModelReply, price: Price | None) -> float | None:
    """US dollars; None where the price is unknown, that of a call of the provider's own tools included, or where the
    reply does not report what the price needs.

    A cache of which nothing was reported gave nothing. Where writing to it has a price of its own, it may not be passed
    over in silence: what was written then has to be reported, if only as 0.
    """
    priced = None if price is None else _priced(reply.usage, price)
    if price is not None and priced is not None:
        charged = charged_calls(reply.message, price.calls)
        priced = None if charged.keys() - price.calls.keys() else priced + calls_cost(charged, price)
    if price is not None and not price.from_table and priced is not None:
        return priced
    return priced if reply.charged_usd is None else reply.charged_usd


def calls_cost(charged: Mapping[str, int], price: Price) -> float:
    """US dollars for calls of the provider's own tools, as far as they have a price."""
    return sum(count * price.calls.get(name, 0.0) for name, count in charged.items())


def _priced(usage: Usage, price: Price) -> float | None:
    if usage.input_tokens is None or usage.output_tokens is None:
        return None
    rates = rates_of(price, usage.input_tokens)
    cached, written = usage.cached_tokens or 0, usage.cache_write_tokens
    if written is None and rates.cache_write not in (None, rates.input):
        return None
    written = written or 0
    if cached + written > usage.input_tokens:
        return None
    return _cost(rates, usage.input_tokens, cached, written, usage.output_tokens)


def counted_cost(reply: ModelReply, price: Price | None, read: int, wrote: int) -> float:
    """US dollars that count against a limit; `read` and `wrote` are tokens of input and output, at least by estimate.

    Where both the price table and the endpoint say what a reply cost, the larger counts: an endpoint that reports 0
    would switch the limit off.
    """
    charged = reply.charged_usd or 0.0
    if price is None:
        return charged
    priced, of_calls = _priced(reply.usage, price), calls_cost(charged_calls(reply.message, price.calls), price)
    if priced is None:
        return charged or estimated_cost(reply, price, read, wrote) + of_calls
    priced += of_calls
    return max(priced, charged) if price.from_table else priced


def estimated_cost(reply: ModelReply, price: Price, read: int, wrote: int) -> float:
    """US dollars for a reply whose cost is not known; `read` and `wrote` are tokens of input and output. What may have
    been written to the cache counts as written."""
    cached = min(reply.usage.cached_tokens or 0, read)
    written = reply.usage.cache_write_tokens
    written = read - cached if written is None else min(written, read - cached)
    return _cost(rates_of(price, read), read, cached, written, wrote)


def rates_of(price: Price, read: int) -> Rates:
    """The rates of a request with so many tokens of input, all of which the highest tier that it reaches prices."""
    return next((tier for tier in reversed(price.tiers) if read > tier.above), price)


def _cost(rates: Rates, read: int, cached: int, written: int, wrote: int) -> float:
    cached_input = rates.input if rates.cached_input is None else rates.cached_input
    cache_write = rates.input if rates.cache_write is None else rates.cache_write
    plain = (read - cached - written) * rates.input
    return (plain + cached * cached_input + written * cache_write + wrote * rates.output) / 1e6


# What is asked in batches, and what that costs.


def goes_in_batches(model: Model, condition: Condition) -> bool:
    """Whether a run asks this in batches: after a call of a tool, the next request would wait for one more."""
    asked = isinstance(model, OpenAIModel) and model.batch is not None
    return asked and (condition.tool_choice == "none" or not (condition.tools or condition.provider_tools))


def batched_price(model: Model) -> Price | None:
    """The model's price for what it is asked in batches."""
    if not isinstance(model, OpenAIModel) or model.batch is None or model.price is None:
        return None
    price, factor = model.price, model.batch.price_factor
    tiers = tuple(tier.model_copy(update=_times(tier, factor)) for tier in price.tiers)
    return price.model_copy(update={**_times(price, factor), "tiers": tiers})


def _times(rates: Rates, factor: float) -> dict[str, float | None]:
    named = ((name, getattr(rates, name)) for name in Rates.model_fields)
    return {name: None if rate is None else rate * factor for name, rate in named}


@dataclass(slots=True)
class Spending:
    """A running account of one trial. Where neither a price nor the endpoint says what a reply
    costs, a cost limit is never reached. `out` are requests of which some are made at once, and without a reply yet."""

    budget: Budget
    price: Price | None
    turns: int = 0
    tool_calls: int = 0
    out: list[ModelRequest] = field(default_factory=list)
    _usages: list[Usage] = field(default_factory=list)
    _costs: list[float | None] = field(default_factory=list)
    _tokens: int = 0
    _dollars: float = 0.0

    def charge(self, request: ModelRequest, reply: ModelReply, *, of_use: bool = True) -> float | None:
        """Books a reply and returns its cost in US dollars, None where price or usage is unknown.

        The limits also count what an endpoint did not report, by an estimate that enters no record. A reply that is
        none (`of_use` is False) is paid for like any other and counts against `cost_usd`; its tokens are booked, and do
        not count against `tokens`, since what infrastructure broke must not use up what a model may write.
        """
        self._usages.append(reply.usage)
        self._count(request, reply, of_use=of_use)
        cost = known_cost(reply, self.price)
        self._costs.append(cost)
        return cost

    def charge_before(self, events: Iterable[Event]) -> None:
        """Counts against the limits what these events took, which another trial has booked."""
        request: ModelRequest | None = None
        for event in events:
            if isinstance(event, ModelCall):
                self.turns += event.purpose == "ask"
                self._count(request := event.request, event.reply)
            elif isinstance(event, ToolCall):
                self.tool_calls += 1
            elif isinstance(event, Failure) and event.reply is not None:
                self._count(request or ModelRequest(messages=()), event.reply, of_use=False)

    def _count(self, request: ModelRequest, reply: ModelReply, *, of_use: bool = True) -> None:
        usage = reply.usage
        read = estimated_tokens(request) if usage.input_tokens is None else usage.input_tokens
        wrote = _length(reply.message.content) if usage.output_tokens is None else usage.output_tokens
        self._tokens += read + wrote if of_use else 0
        self._dollars += counted_cost(reply, self.price, read, wrote)

    @property
    def usage(self) -> Usage:
        """Of all replies; tokens are None where any of them does not tell."""
        return total_usage(self._usages)

    @property
    def cost_usd(self) -> float | None:
        """What all replies cost, None where that of any of them is unknown."""
        return _sum(self._costs)

    def reached(self, seconds: float) -> Limit | None:
        """The limit that stops a trial wherever it is; `seconds` is how long it has worked."""
        if self.budget.tokens is not None and self._tokens >= self.budget.tokens:
            return "tokens"
        if self.budget.cost_usd is not None and self._dollars >= self.budget.cost_usd:
            return "cost_usd"
        return "seconds" if seconds >= self.budget.seconds else None

    def reached_before_turn(self, seconds: float) -> Limit | None:
        return "turns" if self.turns >= self.budget.turns else self.reached(seconds)

    def reached_beside(self, seconds: float) -> Limit | None:
        """The limit that leaves no room for one more request beside those that are out, which are counted as turns, and
        by the tokens that they are thought to hold at least."""
        if not self.out:
            return None
        read = sum(map(estimated_tokens, self.out))
        dollars = 0.0 if self.price is None else _cost(self.price, read, 0, 0, 0)
        then = replace(
            self, turns=self.turns + len(self.out), _tokens=self._tokens + read, _dollars=self._dollars + dollars
        )
        return then.reached_before_turn(seconds)


def spent(events: Iterable[Event]) -> tuple[Usage, float | None]:
    """What the replies among these events took, and what they cost in US dollars, None where that of any of them is
    unknown."""
    usages, costs = list[Usage](), list[float | None]()
    for event in events:
        if isinstance(event, ModelCall | Failure) and event.reply is not None:
            usages.append(event.reply.usage)
            costs.append(event.cost_usd)
    return total_usage(usages), _sum(costs)


def total_usage(usages: Iterable[Usage]) -> Usage:
    """Tokens of input and output are None where any does not tell its own, as a cost is."""
    usages = list(usages)
    total = sum(usages, Usage())
    untold = [name for name in ("input_tokens", "output_tokens") if any(getattr(each, name) is None for each in usages)]
    return total.model_copy(update=dict.fromkeys(untold)) if untold else total


def worked_seconds(events: Iterable[Event]) -> float:
    """Seconds in which a model was writing or a tool at work: calls that were made at once count once, waits and what
    failed not at all."""
    spans = sorted((event.at, event.at + event.seconds) for event in events if isinstance(event, ModelCall | ToolCall))
    total = until = 0.0
    for began, ended in spans:
        total += max(0.0, ended - max(began, until))
        until = max(until, ended)
    return total


def _sum(costs: list[float | None]) -> float | None:
    known = [cost for cost in costs if cost is not None]
    return sum(known) if known and len(known) == len(costs) else None


def estimated_tokens(request: ModelRequest) -> int:
    """About how many tokens a request has, by its length and the sides of its pictures."""
    said = sum(
        _length(message.content)
        + sum(_length(call.arguments) for call in message.tool_calls)
        + sum(picture.tokens for picture in message.images)
        for message in request.messages
    )
    return said + sum(_length(tool.description) for tool in request.tools)


def _length(text: str) -> int:
    return -(-len(text) // CHARACTERS_PER_TOKEN)
