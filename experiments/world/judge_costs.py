"""What judges are paid for: every reply that an endpoint gave, be it of use or not."""

from dataclasses import dataclass

from toolablate.agents import ChatModel, ModelSource
from toolablate.agents.chat import NoReplyError
from toolablate.agents.spending import known_cost
from toolablate.traces.records import Condition, Model, ModelReply, ModelRequest, OpenAIModel, Price, Question


@dataclass(slots=True)
class JudgeCosts:
    """What the replies to one judge's requests cost in US dollars, those of its re-gradings among them."""

    requests: int = 0
    known_usd: float = 0.0
    unpriced: int = 0

    def add(self, cost_usd: float | None) -> None:
        """None where it is unknown."""
        self.requests += 1
        self.known_usd += cost_usd or 0.0
        self.unpriced += cost_usd is None


@dataclass(frozen=True, slots=True)
class PaidSource:
    """A judge's model whose every reply is booked: those that are none, and those of gradings that fail later, are paid
    for too."""

    source: ModelSource
    costs: JudgeCosts
    price: Price | None

    @classmethod
    def of(cls, model: Model, source: ModelSource, costs: JudgeCosts) -> "PaidSource":
        return cls(source, costs, model.price if isinstance(model, OpenAIModel) else None)

    def session(self, question: Question, condition: Condition, repeat: int) -> ChatModel:
        return _PaidChat(self.source.session(question, condition, repeat), self.costs, self.price)

    async def close(self) -> None:
        await self.source.close()


@dataclass(frozen=True, slots=True)
class _PaidChat:
    chat: ChatModel
    costs: JudgeCosts
    price: Price | None

    async def complete(self, request: ModelRequest, *, seconds: float) -> ModelReply:
        try:
            reply = await self.chat.complete(request, seconds=seconds)
        except NoReplyError as error:
            self.costs.add(known_cost(error.reply, self.price))
            raise
        self.costs.add(known_cost(reply, self.price))
        return reply
