"""What a trial has spent, and which limit of its budget that reaches."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from toolablate.traces.records import Budget, Event, Failure, Limit, ModelCall, ModelReply, ModelRequest, Price, Usage

# For endpoints that do not report usage; roughly right for English, and only ever used to stop a runaway trial.
CHARACTERS_PER_TOKEN = 4


@dataclass(slots=True)
class Spending:
    """A running account of one trial. A cost limit without a price is never reached, since nothing is known to cost."""

    budget: Budget
    price: Price | None
    turns: int = 0
    tool_calls: int = 0
    usage: Usage = field(default_factory=Usage)
    cost_usd: float | None = None
    _tokens: int = 0
    _dollars: float = 0.0

    def charge(self, request: ModelRequest, reply: ModelReply) -> float | None:
        """Books a reply and returns its cost in US dollars, None where price or usage is unknown.

        The limits also count what an endpoint did not report, by an estimate that enters no record.
        """
        usage = reply.usage
        self.usage = self.usage + usage
        read = estimated_tokens(request) if usage.input_tokens is None else usage.input_tokens
        wrote = _length(reply.message.content) if usage.output_tokens is None else usage.output_tokens
        self._tokens += read + wrote
        if self.price is None:
            return None
        estimate = self._price_of(self.price, read, usage.cached_tokens or 0, wrote)
        self._dollars += estimate
        if usage.input_tokens is None or usage.output_tokens is None:
            return None
        self.cost_usd = (self.cost_usd or 0.0) + estimate
        return estimate

    @staticmethod
    def _price_of(price: Price, read: int, cached: int, wrote: int) -> float:
        """US dollars. Cached tokens are among those read, by the way OpenAI counts."""
        cached = min(cached, read)
        cached_price = price.input if price.cached_input is None else price.cached_input
        return ((read - cached) * price.input + cached * cached_price + wrote * price.output) / 1e6

    def reached(self, seconds: float) -> Limit | None:
        """The limit that stops a trial wherever it is; `seconds` is how long it has worked."""
        if self.budget.tokens is not None and self._tokens >= self.budget.tokens:
            return "tokens"
        if self.budget.cost_usd is not None and self._dollars >= self.budget.cost_usd:
            return "cost_usd"
        return "seconds" if seconds >= self.budget.seconds else None

    def reached_before_turn(self, seconds: float) -> Limit | None:
        return "turns" if self.turns >= self.budget.turns else self.reached(seconds)


def spent(events: Iterable[Event]) -> tuple[Usage, float | None]:
    """What the replies among these events took, and what they cost in US dollars, as far as either is known."""
    usage, costs = Usage(), []
    for event in events:
        if isinstance(event, ModelCall | Failure) and event.reply is not None:
            usage = usage + event.reply.usage
            costs += [] if event.cost_usd is None else [event.cost_usd]
    return usage, sum(costs) if costs else None


def estimated_tokens(request: ModelRequest) -> int:
    """About how many tokens a request has, by its length."""
    said = sum(
        _length(message.content) + sum(_length(call.arguments) for call in message.tool_calls)
        for message in request.messages
    )
    return said + sum(_length(tool.description) for tool in request.tools)


def _length(text: str) -> int:
    return -(-len(text) // CHARACTERS_PER_TOKEN)
