"""A model whose requests go in batches where a condition lets no tool be called, and directly where it does."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from toolablate.agents.batches.api import BatchApi, CameInBatch
from toolablate.agents.batches.asking import ModelBatches
from toolablate.agents.batches.kept import KeptBatches
from toolablate.agents.chat import ChatModel, ModelSource
from toolablate.agents.endpoint.source import Endpoint, EndpointSession
from toolablate.agents.pacing.waits import in_line
from toolablate.agents.spending import goes_in_batches
from toolablate.traces.records import Condition, ModelReply, ModelRequest, OpenAIModel, Question, digest_json


@dataclass(slots=True)
class Batches:
    """The batches of all models of a run, kept in one file."""

    path: Path
    tell: Callable[[str], None]
    _models: list[ModelBatches] = field(default_factory=list)

    def source(self, model: OpenAIModel, direct: ModelSource, endpoint: ModelSource) -> "BatchedSource":
        """`endpoint` is what `connect` gives for the model."""
        assert isinstance(endpoint, Endpoint)
        api = BatchApi(endpoint.transport, endpoint.dialect.path)
        batches = ModelBatches(model.name, api, KeptBatches(self.path), self.tell)
        self._models.append(batches)
        return BatchedSource(model, direct, endpoint, batches)

    @property
    def standing(self) -> tuple[str, ...]:
        """What is waited for now."""
        return tuple(said for model in self._models for said in model.standing)

    def let_go(self) -> None:
        for model in self._models:
            model.let_go()


@dataclass(frozen=True, slots=True)
class BatchedSource:
    """`direct` is the model as others ask it, and holds `endpoint`."""

    model: OpenAIModel
    direct: ModelSource
    endpoint: Endpoint
    batches: ModelBatches

    def session(self, question: Question, condition: Condition, repeat: int) -> ChatModel:
        if not goes_in_batches(self.model, condition):
            return self.direct.session(question, condition, repeat)
        # Two models of a plan may differ in their endpoint alone, which the body does not tell.
        whose = (self.model.identity(), question.identity(), condition.identity(), str(repeat))
        return _BatchedChat(self.endpoint, self.endpoint.session(question, condition, repeat), self.batches, whose)

    async def close(self) -> None:
        await self.batches.close()
        await self.direct.close()


@dataclass(frozen=True, slots=True)
class _BatchedChat:
    """One trial. `whose` tells it apart from others that ask the same."""

    endpoint: Endpoint
    session: EndpointSession
    batches: ModelBatches
    whose: tuple[str, ...]

    async def complete(self, request: ModelRequest, *, seconds: float) -> ModelReply:
        """As the model's own, however long it takes: all of that is a wait. Raises as `ModelBatches.ask`."""
        body = self.session.write(request)
        name = digest_json([*self.whose, body.decode()])
        with in_line():
            return await self.batches.ask(name, body, partial(self._read, request))

    def _read(self, request: ModelRequest, came: CameInBatch) -> ModelReply:
        return self.session.read(self.endpoint.transport.in_batch(came.status, came.body), request)
