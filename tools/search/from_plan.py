"""From what a plan says to a search provider that can be asked."""

import os
import re
from collections.abc import Mapping
from urllib.parse import SplitResult, urlsplit

from pydantic import JsonValue

from toolablate.tools.search.provider import ProviderKind, SearchProvider, SearchSettings
from toolablate.tools.user_code import load_own, open_own, registered, said_of
from toolablate.traces.errors import InputError, ToolablateError
from toolablate.traces.plugins import checked, is_not

_ENGINES = re.compile(r"[\w.-][\w. -]*(,[\w.-][\w. -]*)*", re.ASCII)
_REGION = re.compile(r"[a-z]{2}-[a-z]{2}")
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*")
# What a header can carry, without the quotes and backslashes that JSON would write otherwise.
_KEY = re.compile(r"[!#-\[\]-~]+")


def provider_names() -> tuple[str, ...]:
    """Of the providers that ask a service, ours first: what packages name in the entry-point group
    `toolablate.search_providers`."""
    return tuple(registered("search_providers"))


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
    settings = SearchSettings(endpoint, backend, region, language, options or {})
    kind = _checked(name, settings)
    key = _read_key(name, kind, api_key_env)
    parts = ("name", "parameters", "search")
    provider: SearchProvider = open_own(
        name, "search_providers", lambda: kind.open(settings, key), parts, "a SearchProvider"
    )
    return provider


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
    settings = SearchSettings(endpoint, backend, region, language, options or {})
    kind = _checked(name, settings)
    identity: tuple[str, Mapping[str, JsonValue]] = checked(
        f"{said_of(name, 'search_providers')} does not say its name and parameters",
        lambda: kind.identity(settings),
        _is_identity,
        "a name and a mapping",
        code="bad_provider",
        passing=(ToolablateError,),
    )
    return identity


def _is_identity(found: object) -> bool:
    return isinstance(found, tuple) and len(found) == 2 and isinstance(found[0], str) and isinstance(found[1], Mapping)


def _checked(name: str, settings: SearchSettings) -> ProviderKind:
    """The provider that a package registers by that name. Raises InputError."""
    if name not in registered("search_providers"):
        raise InputError(
            f"search.provider: there is no provider {name!r}",
            hint=f"there are {', '.join(provider_names())}, and corpus",
            code="unknown_provider",
        )
    kind = load_own(name, "search_providers")
    if not isinstance(kind, ProviderKind):
        raise InputError(f"{said_of(name, 'search_providers')} {is_not('ProviderKind', kind)}", code="bad_provider")
    _check_endpoint(name, kind, settings.endpoint)
    if settings.region and not (kind.takes_region and _REGION.fullmatch(settings.region)):
        hint = "country and language: us-en" if kind.takes_region else f"{name} takes none"
        raise InputError(f"search.region: {settings.region!r} is not a valid region", hint=hint, code="bad_region")
    if settings.language and not _LANGUAGE.fullmatch(settings.language):
        raise InputError(
            f"web.language: {settings.language!r} is not a valid language", hint="as in: en", code="bad_language"
        )
    if settings.backend and not kind.takes_backend:
        raise InputError(f"search.backend: {name} has no engines to choose from", code="unknown_backend")
    if settings.backend and not _ENGINES.fullmatch(settings.backend):
        raise InputError(f"search.backend: {settings.backend!r} names no engines", code="unknown_backend")
    _check_options(name, settings.options, kind.options)
    return kind


def _check_endpoint(name: str, kind: ProviderKind, endpoint: str) -> None:
    if not endpoint:
        if kind.needs_endpoint:
            hint = f'where {name} listens, as in "http://localhost:8888"'
            raise InputError("search.endpoint: missing", hint=hint, code="no_endpoint")
        return
    if not _is_plain_address(endpoint):
        raise InputError(
            "search.endpoint: not a valid endpoint",
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


def _read_key(name: str, kind: ProviderKind, variable: str) -> str:
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
