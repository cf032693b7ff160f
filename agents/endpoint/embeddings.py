"""Vectors of texts by an OpenAI-compatible `/embeddings`: https://platform.openai.com/docs/api-reference/embeddings"""

import json
import math
from collections.abc import Sequence
from typing import Any

from toolablate.agents.endpoint.transport import Transport
from toolablate.agents.endpoint.wire import bad_reply
from toolablate.traces.records import OpenAIModel


class EmbeddingEndpoint:
    """Raises InputError where the endpoint is no address or its key cannot be had."""

    def __init__(self, model: OpenAIModel) -> None:
        self._model = model
        self._transport = Transport(model)

    async def embed(self, texts: Sequence[str]) -> list[tuple[float, ...]]:
        """One vector per text, in their order. Raises ModelError as chat models do."""
        body = {"model": self._model.wire_name, "input": list(texts), "encoding_format": "float"}
        written = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode(errors="replace")
        found = await self._transport.post("/embeddings", written, seconds=self._model.timeout_seconds)
        vectors = _vectors(found.get("data"), len(texts))
        if vectors is None:
            raise bad_reply(f"the reply of /embeddings has not one vector of numbers for each of {len(texts)} texts")
        return vectors

    async def close(self) -> None:
        await self._transport.close()


def _vectors(data: Any, count: int) -> list[tuple[float, ...]] | None:
    if not isinstance(data, list) or len(data) != count:
        return None
    found: dict[int, tuple[float, ...]] = {}
    for place, each in enumerate(data):
        vector = each.get("embedding") if isinstance(each, dict) else None
        index = each.get("index", place) if isinstance(each, dict) else None
        if not isinstance(vector, list) or not vector or not all(map(_is_number, vector)) or not isinstance(index, int):
            return None
        found[index] = tuple(map(float, vector))
    if set(found) != set(range(count)) or len({len(vector) for vector in found.values()}) != 1:
        return None
    return [found[place] for place in range(count)]


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
