"""From what a plan says to a search provider that can be asked."""

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from pydantic import JsonValue

from toolablate.tools.search.ddgs import DdgsSearch, ddgs_identity
from toolablate.tools.search.provider import SearchProvider
from toolablate.tools.search.rest import RestSearch, Service, Settings
from toolablate.tools.search.services import Brave, Exa, Searxng, Serper, Tavily
from toolablate.traces.errors import InputError

_ENGINES = re.compile(r"[\w.-][\w. -]*(,[\w.-][\w. -]*)*", re.ASCII)
_REGION = re.compile(r"[a-z]{2}-[a-z]{2}")
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*")
# What a header can carry, without the quotes and backslashes that JSON would write otherwise.
_KEY = re.compile(r"[!#-\[\]-~]+")


@dataclass(frozen=True, slots=True)
class _Kind:
    """`options` are the service's own parameters that a plan may set, each with its values."""

    make: Callable[[Settings], Service]
    key_variable: str = ""
    takes_region: bool = True
    takes_backend: bool = False
    options: Mapping[str, tuple[str, ...]] | None = None


_SAFESEARCH = ("off", "moderate", "strict")
_KINDS: Mapping[str, _Kind] = {
    "searxng": _Kind(Searxng, takes_backend=True, options={"safesearch": ("0", "1", "2")}),
    "brave": _Kind(Brave, "BRAVE_API_KEY", options={"safesearch": _SAFESEARCH}),
    "serper": _Kind(Serper, "SERPER_API_KEY"),
    "tavily": _Kind(
        Tavily,
        "TAVILY_API_KEY",
        takes_region=False,
        options={
            "search_depth": ("basic", "advanced", "fast", "ultra-fast"),
            "topic": ("general", "news", "finance"),
        },
    ),
    "exa": _Kind(Exa, "EXA_API_KEY", options={"type": ("auto", "neural", "fast", "instant", "deep")}),
}

PROVIDERS: tuple[str, ...] = ("ddgs", *_KINDS)
"""The names of the providers that ask a service."""


def open_provider(
    name: str,
    *,
    endpoint: str = "",
    backend: str = "",
    api_key_env: str = "",
    region: str = "",
    language: str = "",
    options: Mapping[str, str] | None = None,
) -> SearchProvider:
    """The provider of that name; nothing is asked yet. What is left out is the provider's own.

    `endpoint` is put in place of the service's address: the key, if there is one, then goes there. `backend` is the
    engine of ddgs, or the engines of a SearXNG. `region` is country and language (`us-en`), and its language goes
    before `language`. The API key is read from the environment variable `api_key_env`, or from the provider's usual
    one. Raises InputError, which names the key of the plan that is wrong.
    """
    settings = Settings(endpoint, backend, region, language, options or {})
    _check(name, settings)
    if name == "ddgs":
        _refuse_key(name, api_key_env)
        return DdgsSearch(backend or "duckduckgo", region=region or "us-en", endpoint=endpoint or None)
    kind = _KINDS[name]
    return RestSearch(kind.make(settings), _read_key(name, kind, api_key_env))


def provider_identity(
    name: str,
    *,
    endpoint: str = "",
    backend: str = "",
    region: str = "",
    language: str = "",
    options: Mapping[str, str] | None = None,
) -> tuple[str, Mapping[str, JsonValue]]:
    """Name and parameters that `open_provider` would give, without a key and without anything that could ask.

    Raises InputError as it does, but for keys, and for engines that ddgs does not have.
    """
    settings = Settings(endpoint, backend, region, language, options or {})
    _check(name, settings)
    if name == "ddgs":
        return ddgs_identity(backend or "duckduckgo", region or "us-en", endpoint)
    service = _KINDS[name].make(settings)
    return service.traits.name, service.parameters


def _check(name: str, settings: Settings) -> None:
    if name not in PROVIDERS:
        raise InputError(
            f"search.provider: there is no provider {name!r}",
            hint=f"there are {', '.join(PROVIDERS)}, and corpus",
            code="unknown_provider",
        )
    kind = _KINDS.get(name, _Kind(Searxng, takes_backend=True))
    _check_endpoint(name, settings.endpoint)
    if settings.region and not (kind.takes_region and _REGION.fullmatch(settings.region)):
        hint = "country and language: us-en" if kind.takes_region else f"{name} takes none"
        raise InputError(f"search.region: {settings.region!r} is no region", hint=hint, code="bad_region")
    if settings.language and not _LANGUAGE.fullmatch(settings.language):
        raise InputError(f"web.language: {settings.language!r} is no language", hint="as in: en", code="bad_language")
    if settings.backend and not kind.takes_backend:
        raise InputError(f"search.backend: {name} has no engines to choose from", code="unknown_backend")
    if settings.backend and not _ENGINES.fullmatch(settings.backend):
        raise InputError(f"search.backend: {settings.backend!r} names no engines", code="unknown_backend")
    _check_options(name, settings.options, kind.options or {})


def _check_endpoint(name: str, endpoint: str) -> None:
    if not endpoint:
        if name == "searxng":
            raise InputError(
                "search.endpoint: missing", hint='the address of a SearXNG: "http://localhost:8888"', code="no_endpoint"
            )
        return
    if not _is_plain_address(endpoint):
        raise InputError(
            "search.endpoint: not an address that can be asked",
            hint="http(s)://host[:port]/path, without user name, query or fragment: it is recorded, and keys are not",
            code="bad_endpoint",
        )


def _is_plain_address(endpoint: str) -> bool:
    try:
        parts: SplitResult = urlsplit(endpoint)
        port_is_good = parts.port is None or parts.port > 0
    except ValueError:
        return False
    plain = not any(mark in endpoint for mark in "@?#\\") and endpoint.isascii() and endpoint.isprintable()
    return plain and " " not in endpoint and parts.scheme in ("http", "https") and bool(parts.hostname) and port_is_good


def _check_options(name: str, options: Mapping[str, str], allowed: Mapping[str, tuple[str, ...]]) -> None:
    for option, value in options.items():
        if option not in allowed:
            known = ", ".join(allowed) or "none"
            raise InputError(
                f"search.options: {name} has no option {option!r}", hint=f"it has {known}", code="unknown_option"
            )
        if value not in allowed[option]:
            raise InputError(
                f"search.options.{option}: {value!r} is none of {', '.join(allowed[option])}", code="bad_option"
            )


def _refuse_key(name: str, variable: str) -> None:
    if variable:
        raise InputError(f"search.api_key_env: {name} takes no key", code="unknown_option")


def _read_key(name: str, kind: _Kind, variable: str) -> str:
    if not kind.key_variable:
        _refuse_key(name, variable)
        return ""
    variable = variable or kind.key_variable
    key = os.environ.get(variable, "").strip()
    if not key:
        raise InputError(
            f"search.api_key_env: the environment variable {variable} is not set, and {name} needs a key",
            hint=f"export {variable}=...",
            code="missing_key",
        )
    if not _KEY.fullmatch(key):
        raise InputError(
            f"search.api_key_env: what the environment variable {variable} holds is no key",
            hint="a key is one word of ASCII characters without quotes",
            code="bad_key",
        )
    return key
