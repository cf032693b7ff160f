"""Scalar reward models over HTTP: one number for a question and an answer.

vLLM's /pooling (reward models) and /score (classifiers of pairs):
https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html; /predict of Text Embeddings Inference:
https://huggingface.github.io/text-embeddings-inference/
"""

import json
import math
from typing import Any, Literal

from toolablate.agents.chat import ChatModel
from toolablate.agents.endpoint.transport import Transport
from toolablate.agents.endpoint.wire import bad_reply
from toolablate.traces.records import Condition, Message, ModelReply, ModelRequest, OpenAIModel, Question

RewardApi = Literal["pooling", "score", "predict"]


class RewardEndpoint:
    """A request's first message is the question, its last the answer; the reply's content is the number.

    Raises InputError where the endpoint is no address or its key cannot be had."""

    def __init__(self, model: OpenAIModel, api: RewardApi) -> None:
        self._model, self._api = model, api
        self._transport = Transport(model)

    def session(self, question: Question, condition: Condition, repeat: int) -> ChatModel:
        return self

    async def complete(self, request: ModelRequest, *, seconds: float) -> ModelReply:
        """Raises ModelError as chat models do."""
        written = json.dumps(self._body(request), ensure_ascii=False, separators=(",", ":")).encode()
        body = await self._transport.post(f"/{self._api}", written, seconds=seconds, list_as="data")
        value = _number(body.get("data"), self._api)
        if value is None or not math.isfinite(value):
            raise bad_reply(f"the reply of /{self._api} has no number where a reward is expected")
        return ModelReply(message=Message(role="assistant", content=repr(value)), finish_reason="stop")

    async def close(self) -> None:
        await self._transport.close()

    def _body(self, request: ModelRequest) -> dict[str, Any]:
        asked, answer = request.messages[0].content, request.messages[-1].content
        if self._api == "score":
            return {"model": self._model.wire_name, "text_1": asked, "text_2": answer}
        if self._api == "predict":
            return {"inputs": [asked, answer], "raw_scores": True}
        turns = [{"role": "user", "content": asked}, {"role": "assistant", "content": answer}]
        return {"model": self._model.wire_name, "messages": turns}


def _number(data: Any, api: RewardApi) -> float | None:
    """Of a list of vectors (one for each token) the last one's last number counts."""
    found = data
    while isinstance(found, list) and found:
        found = found[-1] if api == "pooling" else found[0]
    if isinstance(found, dict):
        return _number(found.get("data") if api == "pooling" else found.get("score"), api)
    return float(found) if isinstance(found, int | float) and not isinstance(found, bool) else None
