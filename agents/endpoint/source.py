"""A model behind an OpenAI-compatible endpoint, for all its trials."""

import json
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from toolablate.agents.endpoint.completions import Completions
from toolablate.agents.endpoint.requirements import require_sampling
from toolablate.agents.endpoint.responses import Responses, asking_for_results
from toolablate.agents.endpoint.transport import Transport
from toolablate.agents.endpoint.wire import Dialect, bad_reply, merged, results_up_to
from toolablate.traces.records import Condition, Message, ModelReply, ModelRequest, OpenAIModel, Question


class Endpoint:
    """Raises InputError where the model cannot be asked as its record says."""

    def __init__(self, model: OpenAIModel) -> None:
        require_sampling(model)
        self._model = model
        self.transport = Transport(model)
        self.dialect: Dialect = Responses() if model.api == "responses" else Completions()
        self._settings = _json(self.dialect.settings(model))

    def session(self, question: Question, condition: Condition, repeat: int) -> "EndpointSession":
        settings = self._settings
        if more := asking_for_results(condition.provider_tools):
            settings = _json(merged(self.dialect.settings(self._model), more))
        return EndpointSession(self.transport, self.dialect, settings)

    async def close(self) -> None:
        await self.transport.close()


class EndpointSession:
    """One conversation. Messages that were written for one request are not written again for the next."""

    def __init__(self, transport: Transport, dialect: Dialect, settings: str) -> None:
        self._transport = transport
        self._dialect = dialect
        self._settings = settings
        self._written: list[tuple[Message, str]] = []

    async def complete(self, request: ModelRequest, *, seconds: float) -> ModelReply:
        """Raises ModelError with one of the codes of `refusals`, or `unreachable`, `disconnected`, `bad_reply`;
        NoReplyError with `content_filter`, `empty_reply`, `bad_reply` or `server_error` where a reply came that is
        none."""
        body = await self._transport.post(self._dialect.path, self.write(request), seconds=seconds)
        return self.read(body, request)

    def read(self, body: Mapping[str, Any], request: ModelRequest) -> ModelReply:
        """The reply to a request. Raises ModelError and NoReplyError as `complete` does."""
        turn = sum(message.role == "assistant" for message in request.messages)
        try:
            return self._dialect.read(body, turn)
        except ValidationError as error:
            # Nested too deep, or a number beyond all numbers.
            raise bad_reply(f"the reply cannot be recorded: {error.errors()[0]['msg'][:200]}") from None

    def write(self, request: ModelRequest) -> bytes:
        """The request's JSON, joined from the texts of its parts."""
        entries = ",".join(text for text in self._conversation(request) if text)
        tools = self._dialect.write_tools(request)
        written = f'{self._settings[:-1]},"{self._dialect.conversation_key}":[{entries}]'
        return (written + ("," + _json(tools)[1:] if tools else "}")).encode()

    def _conversation(self, request: ModelRequest) -> list[str]:
        for position, message in enumerate(request.messages):
            if position < len(self._written) and self._written[position][0] is message:
                continue
            del self._written[position:]
            entries = self._dialect.write_message(message)
            if results := results_up_to(request.messages, position):
                entries += self._dialect.write_pictures(results)
            self._written.append((message, _json(entries)[1:-1]))
        return [text for _, text in self._written[: len(request.messages)]]


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
