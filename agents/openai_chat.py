"""Any OpenAI-compatible Chat Completions endpoint."""

import asyncio
import json
from typing import Any

import httpx2
from openai import APIConnectionError, APIError, APIStatusError, APITimeoutError, AsyncOpenAI

from toolablate.agents.api_key import read_api_key
from toolablate.agents.chat import ChatModel
from toolablate.agents.wire import REASONING_KEYS, is_address, read_reply, write_request
from toolablate.agents.wire_errors import error_in, refused
from toolablate.traces.errors import InputError, ModelError
from toolablate.traces.records import Condition, ModelReply, ModelRequest, OpenAIModel, Question, clean_text

# A model's longest reply is well under this; an endpoint that sends more is broken or hostile.
MAX_BODY_BYTES = 32 * 1024 * 1024
PLACEHOLDER_KEY = "no-key"
# Shorter "keys" are dummies for local servers, and blanking them out would spoil replies that hold the same word.
_SECRET_FROM_LENGTH = 12


class OpenAIChat:
    """A source and a session at once, since nothing in it belongs to one trial. Retries are the caller's."""

    def __init__(self, model: OpenAIModel) -> None:
        if not is_address(model.endpoint):
            raise InputError(
                f"model {model.name!r}: the endpoint {model.endpoint!r} is no address",
                hint="write it as http(s)://host[:port]/path, without /chat/completions",
                code="bad_endpoint",
            )
        self._model = model
        self._key = read_api_key(model)
        self._reasoning_key = REASONING_KEYS[0]
        self._client = AsyncOpenAI(
            api_key=self._key or PLACEHOLDER_KEY,
            base_url=model.endpoint,
            max_retries=0,
            timeout=model.timeout_seconds,
        )
        # The client takes these from the environment (OPENAI_ORG_ID, OPENAI_PROJECT_ID, OPENAI_CUSTOM_HEADERS) for any
        # endpoint; what is meant for one must not reach another. An empty argument would be sent as an empty header.
        self._client.organization = self._client.project = None
        self._client._custom_headers = {}

    def session(self, question: Question, condition: Condition, repeat: int) -> ChatModel:
        return self

    async def complete(self, request: ModelRequest, *, seconds: float) -> ModelReply:
        """Raises ModelError with one of the codes of `wire_errors`, or `unreachable`, `bad_reply`, `empty_reply`."""
        allowed = min(seconds, self._model.timeout_seconds)
        try:
            async with asyncio.timeout(allowed):
                body = await self._post(write_request(self._model, request, self._reasoning_key))
        except (TimeoutError, APITimeoutError, httpx2.TimeoutException):
            raise ModelError(
                f"{self._model.endpoint} did not reply within {allowed:g} s", code="timeout", retryable=True
            ) from None
        except APIStatusError as error:
            raise self._refusal(error.status_code, dict(error.response.headers), error.body) from None
        except APIConnectionError as error:
            raise self._unreachable(error.__cause__ or error) from None
        except httpx2.RequestError as error:
            # The SDK leaves alone what goes wrong while a body is read.
            raise self._unreachable(error) from None
        except APIError as error:
            raise ModelError(self._safe(error.message), code="bad_reply", retryable=True) from None
        return self._read(body, turn=sum(message.role == "assistant" for message in request.messages))

    async def close(self) -> None:
        await self._client.close()

    async def _post(self, request: dict[str, Any]) -> bytes:
        completions = self._client.chat.completions.with_streaming_response
        parts: list[bytes] = []
        size = 0
        async with completions.create(**request) as response:
            async for part in response.iter_bytes():
                size += len(part)
                if size > MAX_BODY_BYTES:
                    raise ModelError(f"the reply is larger than {MAX_BODY_BYTES} bytes", code="bad_reply")
                parts.append(part)
        return b"".join(parts)

    def _read(self, raw: bytes, turn: int) -> ModelReply:
        text = self._safe(clean_text(raw.decode("utf-8", "replace")), reply=True)
        try:
            body = json.loads(text)
        except (ValueError, RecursionError):
            body = None
        if not isinstance(body, dict):
            shown = " ".join(self._safe(text)[:200].split()) or "nothing"
            raise ModelError(f"the reply is not a JSON object; it begins: {shown}", code="bad_reply", retryable=True)
        status = error_in(body)
        if status is not None:
            raise self._refusal(status, {}, body)
        reply, reasoning_key = read_reply(body, turn)
        if reasoning_key:
            self._reasoning_key = reasoning_key
        return reply

    def _refusal(self, status: int, headers: dict[str, str], body: object) -> ModelError:
        return refused(status, headers, body, key_variable=self._model.key_variable, safe=self._safe)

    def _unreachable(self, cause: BaseException) -> ModelError:
        said = self._safe(str(cause).strip()) or type(cause).__name__
        return ModelError(f"cannot reach {self._model.endpoint}: {said}", code="unreachable", retryable=True)

    def _safe(self, text: str, *, reply: bool = False) -> str:
        """Foreign text without the key: an endpoint may echo what it was sent."""
        if not self._key or (reply and len(self._key) < _SECRET_FROM_LENGTH):
            return text
        return text.replace(self._key, "[key]")
