"""What an endpoint's refusal means: from status, headers and body to a ModelError with a stable code.

Codes: `rate_limited`, `overloaded`, `server_error`, `timeout` (retryable); `unauthorized`, `unknown_model`,
`insufficient_quota`, `forbidden`, `redirected`, `context_length`, `request_too_large`, `content_filter`, `no_images`,
`bad_image`, `bad_request` (not); `not_found`, which is tried again where it is not the API that says so: a proxy's page
may be gone in a moment.
"""

import math
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Literal
from urllib.parse import urljoin, urlsplit, urlunsplit

from toolablate.traces.errors import ModelError

# What OpenAI, Anthropic, Google, Mistral, xAI, vLLM, SGLang, llama.cpp, LM Studio, TGI and Bedrock say of a
# conversation that is too long. Limits of other things (a tool's description, the reply, a parameter's value) are told
# in like words.
_TOO_LONG = re.compile(
    r"\b(maximum|exceed\w*|longer than)\b.{0,60}\b(context[ _-](length|window|size|limit)|(model|prompt|input) length)"
    r"|\bcontext[ _-]?(length|window|size|limit)[ _-]?(is )?exceed"
    r"|\bgreater than the (model.s )?context (length|window)|\breached context length of"
    r"|\bcontext the overflows|\bloaded with context length of only"
    r"|\b(prompt|input|conversation|request) is too long"
    r"|\b(input|prompt) token count\b.{0,40}\bexceed"
    r"|\brequest exceed\w*.{0,20} token limit"
    r"|\brange of input length"
    r"|`inputs` (tokens \+|must have less)"
    r"|\breduce the length of (the|your) (messages|prompt|input|conversation)"
    r"|^too many tokens|\btoo many (input|prompt) tokens",
    re.IGNORECASE,
)
_OF_TOKENS = re.compile(r"\b(context|tokens?)\b", re.IGNORECASE)
_OF_A_RATE = re.compile(r"\bper (minute|second|hour|day)\b|\brate.?limit", re.IGNORECASE)
# OpenAI and Groq tell a rate's limit, what of it is used, and what this request asks for.
_OF_ONE_REQUEST = re.compile(r"\blimit:? ([0-9][0-9,]*).{0,60}?\brequested:? ([0-9][0-9,]*)", re.IGNORECASE)
_REQUEST_TOO_LARGE = re.compile(r"\brequest (is |was )?too large\b", re.IGNORECASE)
# litellm names what has the limit ("for api_key: ...", "for team: ...", "for model_per_key: ..."), OpenRouter a key and
# Anthropic an account. An organization is no sign: at OpenAI and Anthropic each of its models has a limit of its own.
_HOLDER = r"(api[ _-]?key|virtual key|key|account|team|user)"
_OF_THE_KEY = re.compile(
    rf"\blimit\b.{{0,40}}\b(for|of) (this |your |the )?{_HOLDER}\b"
    rf"|\b(this|your|the) {_HOLDER}('s)? .{{0,20}}\b(limit|quota)\b"
    r"|\b(key|account)[ _-]((wide|rate|request|total) )?limit\b"
    r"|\b(key|account|team|user) (is )?over (its |the )?(rate |request )?limit\b",
    re.IGNORECASE,
)
_UNKNOWN_MODEL_WORDS = frozenset({"model_not_found", "model_not_available", "DeploymentNotFound"})
_UNKNOWN_MODEL = re.compile(
    r"\b(unknown|invalid|no such|unable to access) model\b|\bnot a valid model\b|\bmodel (is |was )?not found"
    r"|\bmodels?\W+\S+ (is |was |could )?(not found|not be found|does not exist|doesn't exist|not available)"
    r"|^model: ",
    re.IGNORECASE,
)
# Said by OpenRouter of what a request wants beside its model, such as tools.
_UNSUPPORTED = re.compile(r"\bno endpoints found that support\b", re.IGNORECASE)
# Google answers 400 to a bad key.
_BAD_KEY = re.compile(
    r"\b(invalid|incorrect|missing|expired|disabled|revoked)\b.{0,30}\bapi[ _-]?key\b"
    r"|\bapi[ _-]?key\b.{0,40}\b(invalid|incorrect|missing|expired|disabled|revoked|not valid)\b",
    re.IGNORECASE,
)
# What OpenAI, Anthropic, DeepSeek, Mistral, OpenRouter, vLLM, SGLang, llama.cpp and Ollama say of images that their
# model does not see, and of an image that they cannot read.
_NO_IMAGES = re.compile(
    r"\b(image|vision|multi-?modal)\w*( \w+){0,3} (is |are )?(not|un)[ -]?(supported|allowed|accepted|enabled)"
    r"|\b(does not|doesn't|do not|cannot|can't) (support|accept|take|handle|see|process)\b.{0,40}\b(image|vision)"
    r"|\bnot a (multi-?modal|vision)\b|\bsupports? image input|\bimage_url\W? is only supported\b"
    r"|\bunknown variant .?image_url|\bat most 0 image|\bmissing data required for image input",
    re.IGNORECASE,
)
_BAD_IMAGE = re.compile(
    r"\b(could not|unable to|failed to|cannot|can't) (process|decode|load|parse|read|open|identify)\b.{0,30}\bimage"
    r"|\b(invalid|unsupported|corrupt\w*) image|\binvalid_image\w*|\bimage\b.{0,60}\b(exceed\w*|too large|too small)\b"
    r"|\bimage (data|url|format)\b.{0,40}\b(not valid|invalid|unsupported|corrupt\w*)",
    re.IGNORECASE,
)
_WEB_PAGE = "(a web page, not JSON)"
_SHOWN_CHARACTERS = 500
# Overload is everybody's; any other 5xx, a `server_error`, may be due to one question. So may 403: gateways refuse a
# single question by their moderation.
_CODES = {
    401: "unauthorized",
    402: "insufficient_quota",
    403: "forbidden",
    404: "not_found",
    408: "timeout",
    429: "rate_limited",
    503: "overloaded",
    529: "overloaded",
}
# An endpoint's own word says more than its status: some refuse what goes beyond a rate with 400 or 413.
_WORDS = {
    "rate_limit_exceeded": "rate_limited",
    "rate_limit_error": "rate_limited",
    "insufficient_quota": "insufficient_quota",
    "context_length_exceeded": "context_length",
}
# llama.cpp answers 500.
_OF_IMAGES = (400, 404, 415, 422, 500, 501)
_RETRYABLE = frozenset({"rate_limited", "overloaded", "server_error", "timeout"})
_HINTS = {
    "forbidden": "the endpoint's rules bar this request, or its key lacks a right",
    "not_found": "check the endpoint's address and the model's name",
    "unknown_model": "check the model's name in the plan (model, or name)",
    "redirected": "write the address that it leads to as the model's endpoint, if you trust it",
    "no_images": "set the model's capabilities.images = false, and questions with images are refused before a run",
    "bad_image": "the endpoint cannot read this image; convert it to PNG, or make it smaller",
    "request_too_large": "the endpoint, or a proxy before it, takes no request of so many bytes",
}
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
    endpoint: str = "",
    model: str = "",
    max_tokens_key: str = "",
    safe: Callable[[str], str] = str,
    now: datetime | None = None,
) -> ModelError:
    """The error for a reply with this HTTP status.

    `key_variable` is the environment variable that holds the key, "" where none was sent; `endpoint` the address that a
    redirect may be relative to; `model` the model's name as it was sent; `max_tokens_key` the name under which the
    limit of a reply was sent, if one was; `safe` takes the key out of what the endpoint said.
    """
    word, said = _read_error(body)
    said = _short(safe(said))
    code = _code(status, word, said)
    hint = _key_hint(key_variable) if status == 401 else _hint(code, said, key_variable, max_tokens_key)
    retryable = code in _RETRYABLE or (code == "not_found" and not _is_of_the_api(body))
    if code == "redirected":
        said = _leading_to(headers, endpoint, safe)
    wait = retry_after(headers, now or datetime.now(UTC)) if retryable else None
    message = f"the endpoint answered {status}{': ' + said if said else ''}"
    error = ModelError(message, hint=hint, code=code, retryable=retryable, retry_after=wait)
    error.limit_of = _limit_of(said, model)
    return error


def _limit_of(said: str, model: str) -> Literal["", "key", "model"]:
    if (model and model.lower() in said.lower()) or re.search(r"(?<!free-)\bmodel", said, re.IGNORECASE):
        return "model"
    return "key" if _OF_THE_KEY.search(said) else ""


def _code(status: int, word: str, said: str) -> str:
    code = _code_of_words(status, word, said) or _CODES.get(status)
    if code:
        return "context_length" if code == "rate_limited" and _never_passes(said) else code
    if status >= 500:
        return "server_error"
    if status < 400:
        return "redirected"
    if status == 413 and not _OF_TOKENS.search(said):
        return "request_too_large"
    if status == 413:
        return "rate_limited" if _OF_A_RATE.search(said) and not _never_passes(said) else "context_length"
    if _TOO_LONG.search(said):
        return "context_length"
    return "content_filter" if word == "content_filter" else "bad_request"


def _code_of_words(status: int, word: str, said: str) -> str:
    """What is plain from what was said, whatever the status means else."""
    if status in (400, 403, 404) and (word in _UNKNOWN_MODEL_WORDS or _UNKNOWN_MODEL.search(said)):
        return "unknown_model"
    if status in (400, 403) and _BAD_KEY.search(said):
        return "unauthorized"
    if status in _OF_IMAGES and (code := _of_images(said)):
        return code
    if status == 404 and _UNSUPPORTED.search(said):
        return "bad_request"
    if status == 401 and said == _WEB_PAGE:
        # A proxy before the endpoint, whose key nobody has refused yet.
        return "forbidden"
    return _WORDS.get(word, "")


def _of_images(said: str) -> str:
    if _BAD_IMAGE.search(said):
        return "bad_image"
    return "no_images" if _NO_IMAGES.search(said) else ""


def _never_passes(said: str) -> bool:
    """Whether one request alone is larger than what a rate allows, so that no wait mends it; a shorter one may pass."""
    told = _OF_ONE_REQUEST.search(said)
    if not told:
        return bool(_REQUEST_TOO_LARGE.search(said))
    limit, requested = (int(number.replace(",", "")) for number in told.groups())
    return requested > limit


def _hint(code: str, said: str, key_variable: str, max_tokens_key: str) -> str:
    if code == "unauthorized":
        return _key_hint(key_variable)
    if code == "insufficient_quota":
        account = f"the account behind {key_variable}" if key_variable else "the account"
        return f"{account} has nothing left to spend"
    return _advice(said, max_tokens_key) if code == "bad_request" else _HINTS.get(code, "")


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


def _leading_to(headers: Mapping[str, str], endpoint: str, safe: Callable[[str], str]) -> str:
    """Where a redirect leads, as an endpoint would be written: without what may be secret, and the API's own path."""
    try:
        parts = urlsplit(urljoin(endpoint, headers.get("location", "")))
        host = parts.netloc.rpartition("@")[2]
        path = re.sub(r"/(chat/completions|completions|responses)/?$", "", parts.path)
        return "it leads to " + _short(safe(urlunsplit((parts.scheme, host, path, "", "")))) if host else ""
    except ValueError:
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
        code = int(code) if re.fullmatch("[0-9]{3}", code) else _STATUSES.get(code)
    return code if isinstance(code, int) and 400 <= code <= 599 else 500


def _read_error(body: object) -> tuple[str, str]:
    """The endpoint's own word for an error, and what it said."""
    if isinstance(body, list) and body:
        # Gemini's way.
        body = body[0]
    if isinstance(body, dict):
        inner = body.get("error", body)
        if isinstance(inner, dict):
            return str(inner.get("code") or inner.get("type") or ""), str(
                inner.get("message") or inner.get("detail") or ""
            )
        return "", str(inner)
    text = str(body or "")
    return "", _WEB_PAGE if text.lstrip().startswith("<") else text


def _is_of_the_api(body: object) -> bool:
    """Whether an error is in the API's own form, and not the word of some server before it."""
    if isinstance(body, list) and body:
        body = body[0]
    return isinstance(body, dict) and ("error" in body or body.get("object") == "error")


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
        return max(0.0, ((date if date.tzinfo else date.replace(tzinfo=UTC)) - now).total_seconds())
    except (ValueError, OverflowError):
        return None


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None
