"""What an endpoint's refusal means: from status, headers and body to a ModelError with a stable code.

Codes: `rate_limited`, `overloaded`, `server_error`, `timeout` (retryable); `unauthorized`, `insufficient_quota`,
`forbidden`, `not_found`, `context_length`, `content_filter`, `bad_request` (not).
"""

import math
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from toolablate.traces.errors import ModelError

_TOO_LONG = re.compile(
    r"context.?(length|window|size)|maximum.{0,20}(context|tokens)|prompt is too long|too many (input )?tokens"
    r"|reduce the length",
    re.IGNORECASE,
)
_SHOWN_CHARACTERS = 500
# What may pass. Overload is everybody's; any other 5xx, a `server_error`, may be due to one question.
_PASSING = {408: "timeout", 429: "rate_limited", 503: "overloaded", 529: "overloaded"}
# What the codes of a failed response mean; any other is the endpoint's own trouble.
_STATUSES = {"rate_limit_exceeded": 429, "insufficient_quota": 429, "invalid_prompt": 400, "content_filter": 400}
_MAX_TOKENS_KEYS = ("max_tokens", "max_completion_tokens")
_UNKNOWN_KEY = re.compile(
    r"unsupported|not supported|unknown|unrecogni[sz]ed|unexpected|extra|not permitted", re.IGNORECASE
)
_WANTS_THOUGHTS = re.compile(
    r"(reasoning|thought_signature).*(passed back|missing)|missing.*(reasoning|thought_signature)", re.IGNORECASE
)


def refused(
    status: int,
    headers: Mapping[str, str],
    body: object,
    *,
    key_variable: str,
    max_tokens_key: str = "",
    safe: Callable[[str], str] = str,
    now: datetime | None = None,
) -> ModelError:
    """The error for a reply with this HTTP status.

    `key_variable` is the environment variable that holds the key, "" where none was sent; `max_tokens_key` the name
    under which the limit of a reply was sent, if one was; `safe` takes the key out of what the endpoint said.
    """
    word, said = _read_error(body)
    said = _short(safe(said))
    code, retryable, hint = _classify(status, word, said, key_variable)
    if code == "bad_request":
        hint = _advice(said, max_tokens_key)
    wait = retry_after(headers, now or datetime.now(UTC)) if retryable else None
    message = f"the endpoint answered {status}{': ' + said if said else ''}"
    return ModelError(message, hint=hint, code=code, retryable=retryable, retry_after=wait)


def _classify(status: int, word: str, said: str, key_variable: str) -> tuple[str, bool, str]:
    if status == 401:
        return "unauthorized", False, _key_hint(key_variable)
    if status == 402 or word == "insufficient_quota":
        account = f"the account behind {key_variable}" if key_variable else "the account"
        return "insufficient_quota", False, f"{account} has nothing left to spend"
    if status == 403:
        # Gateways refuse a single question so, by their moderation; it says nothing of the other questions.
        return "forbidden", False, "the endpoint's rules bar this request, or its key lacks a right"
    if status in _PASSING or status >= 500:
        return _PASSING.get(status, "server_error"), True, ""
    if status == 404:
        return "not_found", False, "check the endpoint's address and the model's name"
    if word == "context_length_exceeded" or status == 413 or _TOO_LONG.search(said):
        return "context_length", False, ""
    if word == "content_filter":
        return "content_filter", False, ""
    return "bad_request", False, ""


def _advice(said: str, max_tokens_key: str) -> str:
    other = next((key for key in _MAX_TOKENS_KEYS if key != max_tokens_key), "")
    named = re.search(rf"\b{other}\b", said) or (max_tokens_key in said and _UNKNOWN_KEY.search(said))
    if max_tokens_key and named:
        return f'if the endpoint knows this limit as {other}, set the model\'s capabilities.max_tokens_key = "{other}"'
    if "encrypted" in said.lower():
        return "if the model has no encrypted reasoning, set the model's capabilities.encrypted_reasoning = false"
    if _WANTS_THOUGHTS.search(said):
        return 'the endpoint wants back what its model thought; a condition with reasoning = "drop" cannot be run on it'
    return ""


def _key_hint(key_variable: str) -> str:
    if key_variable:
        return f"check the API key in the environment variable {key_variable}"
    return "no API key was sent; put one into an environment variable and name that as the model's api_key_env"


def error_in(body: Mapping[str, Any]) -> int | None:
    """The status that a body with HTTP status 200 gives for its error: gateways wrap the errors of others so, and a
    failed response is one."""
    error, status = body.get("error"), body.get("status")
    if status == "failed":
        error = error or {"message": "the response failed"}
    if not error or body.get("choices") or status in ("completed", "incomplete"):
        return None
    code = error.get("code") if isinstance(error, dict) else None
    if isinstance(code, str):
        code = int(code) if code.isdecimal() else _STATUSES.get(code)
    return code if isinstance(code, int) and 400 <= code <= 599 else 500


def _read_error(body: object) -> tuple[str, str]:
    """The endpoint's own word for an error, and what it said."""
    if isinstance(body, list) and body:
        # Gemini's way.
        body = body[0]
    if isinstance(body, dict):
        inner = body.get("error", body)
        if isinstance(inner, dict):
            return str(inner.get("code") or inner.get("type") or ""), str(inner.get("message") or "")
        return "", str(inner)
    text = str(body or "")
    return "", "(a web page, not JSON)" if text.lstrip().startswith("<") else text


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + " ..."


def retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """Seconds to wait by `retry-after-ms` or `Retry-After` (seconds or an HTTP date, RFC 9110 section 10.2.3)."""
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    written = headers.get("retry-after")
    seconds = _number(written)
    if seconds is not None or not written:
        return seconds
    try:
        date = parsedate_to_datetime(written)
    except ValueError:
        return None
    if date.tzinfo is None:
        date = date.replace(tzinfo=UTC)
    return max(0.0, (date - now).total_seconds())


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None
