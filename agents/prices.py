"""What a model costs by the price table of genai-prices, which is part of that package and needs no network.

Only what the table says of the very endpoint is taken: its provider is found by the endpoint's address, never by the
model's name. What a `Price` cannot say is unknown, with a reason: prices that depend on a request's length or hour,
on writing to a cache, on a service tier, or on something else than tokens.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from importlib.metadata import version
from ipaddress import ip_address
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from toolablate.traces.records import OpenAIModel, Price

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo, ModelPrice, Provider

TABLE = "genai-prices"

_PLAIN = {"input_mtok", "output_mtok", "cache_read_mtok"}
# What a trial never uses, or what only tools of the provider's own cost, which no condition asks for.
_UNUSED = re.compile(r"audio|image|video|document|(web|storage)_searches")
_WRITES = re.compile(r"cache_write")
_SETTINGS = ("service_tier", "speed", "processing", "route", "search_type")
_STANDARD = ("default", "standard")
_PORTS = {"https": 443, "http": 80}


@dataclass(frozen=True, slots=True)
class Unpriced:
    """Why a price is not known, as a part of a sentence."""

    reason: str


def table_price(model: OpenAIModel, now: datetime) -> Price | Unpriced:
    """The price by the table's entry for the model's endpoint, as it stands at `now` (with a time zone)."""
    address = _address(model.endpoint)
    if address is None:
        return Unpriced(f"{model.endpoint} is an address of somebody's own, which no price table knows")
    # Loading it takes longer than all the rest of reading a plan.
    from genai_prices.data import providers

    table = f"{TABLE} {version(TABLE)}"
    known = [provider for provider in providers if _serves(provider.api_pattern, *address)]
    if not known:
        return Unpriced(f"{table} does not know the endpoint {model.endpoint}")
    found = next(_entries(known, model.wire_name), None)
    if found is None:
        return Unpriced(f"{table} has no model {model.wire_name!r} of {known[0].name}")
    provider, entry = found
    setting = next((key for key in _SETTINGS if model.sampling.extra.get(key, "default") not in _STANDARD), None)
    if setting:
        return Unpriced(f"the price depends on {setting} = {model.sampling.extra[setting]!r}")
    current = _current(entry, now)
    if isinstance(current, Unpriced):
        return current
    return _plain(current, f"{table}: {provider.id}/{entry.id}", searches=_always_searches(provider, entry))


def _address(endpoint: str) -> tuple[str, str] | None:
    """Scheme and host, and the path, in the form that the table's patterns expect; None where no table can know it."""
    try:
        parts = urlsplit(endpoint)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return None
    if "." not in host or port not in (None, _PORTS.get(parts.scheme)) or _is_number(host):
        return None
    return f"{parts.scheme}://{host}", parts.path


def _is_number(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _serves(pattern: str, origin: str, path: str) -> bool:
    """Whether a provider's pattern means this address. The patterns are prefixes, so the host has to end where they
    do: `https://api.openai.com` is not `https://api.openai.com.example.org`."""
    with_path = "/" in pattern.rpartition("://")[2]
    subject = origin + (path or "/") if with_path else origin
    match = re.match(pattern, subject)
    if match is None:
        return False
    rest = subject[match.end() :]
    if match.group().endswith("."):
        # A pattern that leaves the last label open.
        return rest.isalpha()
    return not rest or rest.startswith("/") or match.group().endswith("/")


def _entries(providers: "list[Provider]", name: str) -> "Iterator[tuple[Provider, ModelInfo]]":
    for provider in providers:
        # Not the prices of another provider that sells the same model.
        if (entry := provider.find_model(name)) is not None:
            yield provider, entry


def _current(entry: "ModelInfo", now: datetime) -> "ModelPrice | Unpriced":
    from genai_prices.types import TimeOfDateConstraint

    if not isinstance(entry.prices, list):
        return entry.prices
    # Later entries win.
    for dated in reversed(entry.prices):
        if isinstance(dated.constraint, TimeOfDateConstraint):
            return Unpriced(f"the price of {entry.id} depends on the time of day")
        if dated.constraint is None or dated.constraint.active(now):
            return dated.prices
    return Unpriced(f"the table has no price of {entry.id} yet")


def _always_searches(provider: "Provider", entry: "ModelInfo") -> bool:
    return provider.id == "perplexity" or "search" in entry.id


def _plain(prices: "ModelPrice", source: str, *, searches: bool) -> Price | Unpriced:
    given = {key: value for key, value in vars(prices).items() if value is not None}
    amounts: dict[str, float] = {}
    for key, value in given.items():
        if _UNUSED.search(key) and not (searches and "searches" in key):
            continue
        if not isinstance(value, Decimal):
            return Unpriced(f"the price depends on how long a request is ({source})")
        if key in _PLAIN:
            amounts[key] = float(value)
        elif _WRITES.search(key):
            if value != given.get("input_mtok"):
                return Unpriced(
                    f"writing to its cache costs extra, and how much was written is not recorded ({source})"
                )
        else:
            return Unpriced(f"it costs more than its tokens: {key} ({source})")
    if not {"input_mtok", "output_mtok"} <= amounts.keys():
        return Unpriced(f"the table prices no text of it ({source})")
    return Price(
        input=amounts["input_mtok"],
        output=amounts["output_mtok"],
        cached_input=amounts.get("cache_read_mtok"),
        source=source,
    )
