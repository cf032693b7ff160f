"""One request to an endpoint and the JSON object that comes back: bounded in time and size, with errors that say what
happened, and with the key in nothing that comes out."""

import asyncio
import json
import re
import ssl
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import httpx2

from toolablate.agents.endpoint.api_key import blanking, read_api_key
from toolablate.agents.endpoint.completions import max_tokens_key
from toolablate.agents.endpoint.lanes import Lanes, RefusedError
from toolablate.agents.endpoint.refusals import error_in, refused
from toolablate.agents.endpoint.wire import bad_reply
from toolablate.traces.errors import InputError, ModelError
from toolablate.traces.records import OpenAIModel, clean_text

# A model's longest reply is well under this; an endpoint that sends more is broken or hostile.
MAX_BODY_BYTES = 32 * 1024 * 1024
_MAX_REFUSAL_BYTES = 64 * 1024
# Shorter "keys" are dummies for local servers, and blanking them out would spoil replies that hold the same word.
_SECRET_FROM_LENGTH = 12
# Deeper JSON could be written to a store and not be read from it again.
_MOST_LEVELS = 100
# What JSON has no number for and some servers write all the same.
_NO_NUMBERS: dict[str, None] = {"NaN": None, "Infinity": None, "-Infinity": None}


class Transport:
    """Retries are the caller's. Raises InputError where the endpoint is no address or its key cannot be had."""

    def __init__(self, model: OpenAIModel) -> None:
        if not is_address(model.endpoint):
            shown = re.split("[?#]", model.endpoint)[0]
            raise InputError(
                f"model {model.name!r}: the endpoint {shown!r} is no address",
                hint="write it as http(s)://host[:port]/path, without /chat/completions or /responses, ? or #",
                code="bad_endpoint",
            )
        self._model = model
        key = read_api_key(model)
        self._without_key = blanking(key)
        self._blank: Callable[[str], str] = self._without_key if len(key) >= _SECRET_FROM_LENGTH else str
        self._lanes = Lanes(model, key, most_bytes=_MAX_REFUSAL_BYTES)

    async def post(self, path: str, content: bytes, *, seconds: float) -> dict[str, Any]:
        """Raises ModelError with one of the codes of `refusals`, or `unreachable`, `disconnected`, `bad_reply`."""
        allowed = min(seconds, self._model.timeout_seconds)
        try:
            async with asyncio.timeout(allowed):
                raw = await self._read(path, content)
        except (TimeoutError, httpx2.TimeoutException):
            raise ModelError(
                f"{self._model.endpoint} did not reply within {allowed:g} s", code="timeout", retryable=True
            ) from None
        except RefusedError as error:
            raise self._refusal(error.status, error.headers, _parsed(_text(error.body))) from None
        except (httpx2.RequestError, ssl.SSLError) as error:
            # The client leaves alone what goes wrong with an encrypted connection after its handshake.
            raise self._unreachable(error) from None
        return self._parse(raw)

    async def close(self) -> None:
        await self._lanes.close()

    async def _read(self, path: str, content: bytes) -> bytes:
        parts: list[bytes] = []
        size = 0
        async with self._lanes.post(path, content) as response:
            async for part in response.aiter_bytes():
                size += len(part)
                if size > MAX_BODY_BYTES:
                    raise ModelError(f"the reply is larger than {MAX_BODY_BYTES} bytes", code="bad_reply")
                parts.append(part)
        return b"".join(parts)

    def _parse(self, raw: bytes) -> dict[str, Any]:
        text = self._blank(_text(raw))
        body = _parsed(text)
        if not isinstance(body, dict):
            shown = " ".join(self._safe(text)[:200].split()) or "nothing"
            raise bad_reply(f"the reply is not a JSON object; it begins: {shown}")
        if text.count("[") + text.count("{") > _MOST_LEVELS and _is_deeper(body, _MOST_LEVELS):
            raise bad_reply(f"the reply is nested more than {_MOST_LEVELS} levels deep")
        if "\\u" in text:
            body = _cleaned(body)
        status = error_in(body)
        if status is not None:
            raise self._refusal(status, {}, body)
        return body

    def _refusal(self, status: int, headers: dict[str, str], body: object) -> ModelError:
        limited = self._model.api == "chat" and self._model.sampling.max_tokens is not None
        return refused(
            status,
            headers,
            body,
            key_variable=self._model.key_variable,
            endpoint=self._model.endpoint,
            model=self._model.wire_name,
            max_tokens_key=max_tokens_key(self._model) if limited else "",
            safe=self._safe,
        )

    def _unreachable(self, cause: BaseException) -> ModelError:
        said = self._safe(str(cause).strip()) or type(cause).__name__
        if isinstance(cause, httpx2.ConnectError | httpx2.ProxyError):
            return ModelError(
                f"cannot reach {self._model.endpoint}: {said}",
                hint="check that its server runs, and the model's endpoint in the plan",
                code="unreachable",
                retryable=True,
            )
        return ModelError(
            f"the connection to {self._model.endpoint} broke: {said}", code="disconnected", retryable=True
        )

    def _safe(self, text: str) -> str:
        """Foreign text without the key: an endpoint may echo what it was sent."""
        return clean_text(self._without_key(text))


def _text(body: bytes) -> str:
    return body.decode("utf-8-sig", "replace")


def _parsed(text: str) -> object:
    """The JSON value of a text, or the text where it is none."""
    try:
        return json.loads(text, parse_constant=_NO_NUMBERS.get)
    except (ValueError, RecursionError):
        return text


def _cleaned(value: Any) -> Any:
    """A value without the lone surrogates that JSON can escape."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, list):
        return [_cleaned(item) for item in value]
    if isinstance(value, dict):
        return {clean_text(key): _cleaned(item) for key, item in value.items()}
    return value


def _is_deeper(value: object, levels: int) -> bool:
    if not isinstance(value, dict | list):
        return False
    within = value.values() if isinstance(value, dict) else value
    return levels == 0 or any(_is_deeper(child, levels - 1) for child in within)


def is_address(endpoint: str) -> bool:
    """Whether an endpoint is something that can be connected to at all, and that paths can be added to."""
    printable = endpoint.isprintable() and not any(sign in endpoint for sign in " ?#")
    try:
        parts = urlsplit(endpoint)
        # Reading the port is what checks it.
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0 and printable
    except ValueError:
        return False
