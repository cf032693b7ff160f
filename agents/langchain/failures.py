"""What an exception of a provider's client means: a ModelError with one of the codes of `endpoint.refusals`, or
`unreachable`, `disconnected`, `bad_reply`, `client_error`.

Clients differ in where they keep a status, headers and the body of a refusal; the words in it are read as those of
any endpoint.
"""

import json
import socket
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

from toolablate.agents.endpoint.refusals import refused
from toolablate.agents.endpoint.wire import dicts_in
from toolablate.traces.errors import ModelError


class Asked(Protocol):
    """Whom a class asks, as far as it is known."""

    @property
    def endpoint(self) -> str: ...
    @property
    def class_path(self) -> str: ...
    @property
    def wire_name(self) -> str: ...


# LangChain's own classes of errors, by name, since earlier versions have not all of them; and the status that each of
# them stands for where the provider's client tells none.
_STATUSES = {
    "ModelAuthenticationError": 401,
    "ModelPermissionDeniedError": 403,
    "ModelNotFoundError": 404,
    "ModelRateLimitError": 429,
    "ModelInvalidRequestError": 400,
    "ModelAPIError": 500,
}
# What boto tells by a word, and gRPC.
_WORDS = {
    "throttlingexception": 429,
    "toomanyrequestsexception": 429,
    "servicequotaexceededexception": 429,
    "serviceunavailableexception": 503,
    "modelnotreadyexception": 503,
    "modeltimeoutexception": 408,
    "internalserverexception": 500,
    "accessdeniedexception": 403,
    "unrecognizedclientexception": 401,
    "expiredtokenexception": 401,
    "resourcenotfoundexception": 404,
    "validationexception": 400,
}
_MOST_SHOWN = 500


def model_error(error: BaseException, model: Asked, *, key_variable: str, safe: Callable[[str], str]) -> ModelError:
    """The error for what a class raised; `key_variable` holds its key, `safe` takes that out of a text."""
    chain = list(_chain(error))
    for cause in chain:
        status = _status(cause)
        if status is not None and status >= 300:
            return _of_status(status, cause, chain, model, key_variable, safe)
    said = _said(error, safe)
    if _named(chain, "ContextOverflowError"):
        return ModelError(said, code="context_length")
    if any(_is_timeout(cause) for cause in chain):
        return ModelError(f"{model.endpoint} did not reply in time: {said}", code="timeout", retryable=True)
    if any(_is_unreached(cause) for cause in chain):
        return ModelError(
            f"cannot reach {model.endpoint}: {said}",
            hint="check the address that the class asks, and that it is up",
            code="unreachable",
            retryable=True,
        )
    if any(_is_broken_connection(cause) for cause in chain):
        return ModelError(f"the connection to {model.endpoint} broke: {said}", code="disconnected", retryable=True)
    for name, status in _STATUSES.items():
        if _named(chain, name):
            return _of_status(status, error, chain, model, key_variable, safe)
    if any(isinstance(cause, json.JSONDecodeError) for cause in chain):
        return ModelError(f"the reply is not JSON: {said}", code="bad_reply", retryable=True)
    return ModelError(
        f"{model.class_path} failed: {said}",
        hint="the class or its package raised this; toolablate knows no more of it",
        code="client_error",
    )


def _of_status(
    status: int,
    cause: BaseException,
    chain: list[BaseException],
    model: Asked,
    key_variable: str,
    safe: Callable[[str], str],
) -> ModelError:
    body = _body(cause) or str(cause)
    made = refused(
        status,
        _headers(cause, body),
        body,
        key_variable=key_variable,
        endpoint=model.endpoint,
        model=model.wire_name,
        safe=safe,
    )
    if made.code in ("bad_request", "request_too_large") and _named(chain, "ContextOverflowError"):
        return ModelError(made.message, code="context_length")
    return made


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error and what it came from."""
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        current = current.__cause__ or current.__context__


def _status(error: BaseException) -> int | None:
    response = getattr(error, "response", None)
    if isinstance(response, Mapping):
        # botocore.
        word = str(_inside(response, "Error").get("Code", "")).lower()
        status = _WORDS.get(word, _inside(response, "ResponseMetadata").get("HTTPStatusCode"))
        return status if isinstance(status, int) else None
    held = (getattr(holder, name, None) for holder in (error, response) for name in ("status_code", "code", "status"))
    # `HTTPStatus` is an int; gRPC's codes are none.
    return next((int(value) for value in held if isinstance(value, int) and 100 <= value <= 599), None)


def _inside(holder: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = holder.get(key)
    return value if isinstance(value, Mapping) else {}


def _headers(error: BaseException, body: object) -> dict[str, str]:
    response = getattr(error, "response", None)
    if isinstance(response, Mapping):
        found: Any = _inside(response, "ResponseMetadata").get("HTTPHeaders")
    else:
        found = getattr(response, "headers", None)
    wait = _google_wait(body)
    asked = {"retry-after": wait} if wait else {}
    return {**asked, **{str(name).lower(): str(value) for name, value in dict(found or {}).items()}}


def _google_wait(body: object) -> str:
    """Seconds that a RetryInfo among the details of a Google error asks for ("9s"), "" where none does."""
    told = _inside(body, "error").get("details") if isinstance(body, Mapping) else None
    delays = (str(detail.get("retryDelay", "")) for detail in dicts_in(told))
    return next((delay.removesuffix("s") for delay in delays if delay), "")


def _body(error: BaseException) -> object:
    """The body of a refusal as its client keeps it."""
    for name in ("body", "details"):
        body = getattr(error, name, None)
        if isinstance(body, Mapping) and body:
            return body
    response = getattr(error, "response", None)
    if isinstance(response, Mapping):
        told = _inside(response, "Error")
        return {"error": {"type": told.get("Code", ""), "message": told.get("Message", "")}}
    try:
        text = getattr(response, "text", None)
    except Exception:  # noqa: BLE001 - a stream that was never read
        text = None
    if isinstance(text, str) and text:
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            return text
    message = getattr(error, "message", None) or getattr(error, "error", None)
    return {"error": {"message": message}} if isinstance(message, str) and message else None


def _is(error: BaseException, *names: str) -> bool:
    return any(kind.__name__ in names for kind in type(error).__mro__)


def _named(chain: list[BaseException], *names: str) -> bool:
    return any(_is(cause, *names) for cause in chain)


def _is_timeout(error: BaseException) -> bool:
    return isinstance(error, TimeoutError) or any("Timeout" in kind.__name__ for kind in type(error).__mro__)


_OF_CONNECTIONS = ("ModelConnectionError", "APIConnectionError", "TransportError", "RequestException")


def _is_unreached(error: BaseException) -> bool:
    refused_or_unknown = isinstance(error, ConnectionRefusedError | socket.gaierror)
    return refused_or_unknown or _is(error, "ConnectError", "NewConnectionError", "EndpointConnectionError")


def _is_broken_connection(error: BaseException) -> bool:
    return isinstance(error, ConnectionError) or _is(error, *_OF_CONNECTIONS)


def _said(error: BaseException, safe: Callable[[str], str]) -> str:
    text = " ".join(f"{type(error).__name__}: {safe(str(error))}".split())
    return text if len(text) <= _MOST_SHOWN else text[:_MOST_SHOWN] + " ..."
