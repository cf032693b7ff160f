"""What a model costs by the price table of genai-prices, which is part of that package and needs no network.

Only what the table says of the very endpoint is taken: its provider is found by the endpoint's address, never by the
model's name. What a `Price` cannot say is unknown, with a reason: prices that depend on a request's hour, on a service
tier, on how long a cache keeps what is written to it, or on something else than tokens.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from importlib.metadata import version
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from toolablate.traces.records import LangChainModel, OpenAIModel, Price, PriceTier, ServedModel

if TYPE_CHECKING:
    from decimal import Decimal

    from genai_prices.types import ModelInfo, ModelPrice, Provider, TieredPrices

_RATES = {
    "input_mtok": "input",
    "output_mtok": "output",
    "cache_read_mtok": "cached_input",
    "cache_write_mtok": "cache_write",
}
# For keeping it longer than usual, which has to be asked for.
_LONG_WRITES = "cache_write_1h_mtok"
_LONG = "1h"
_ASKS_FOR_CACHING = "cache_control"
# Of the two APIs that an `openai` model speaks, Anthropic has Chat Completions, without its cache:
# https://platform.claude.com/docs/en/api/openai-sdk
_WITHOUT_CACHE = ("anthropic",)
# What a trial never uses, or what is known of calls of the provider's own tools alone.
_UNUSED = re.compile(r"audio|image|video|document|(web|storage)_searches")
# Of a thousand calls of the provider's own search.
_SEARCHES = "web_searches_kcount"
_SETTINGS = ("service_tier", "speed", "processing", "route", "search_type")
_STANDARD = ("default", "standard")
_PORTS = {"https": 443, "http": 80}


@dataclass(frozen=True, slots=True)
class Unpriced:
    """Why a price is not known, as a part of a sentence."""

    reason: str


def table_price(model: ServedModel, now: datetime) -> Price | Unpriced:
    """The price by the table's entry for the model's endpoint, as it stands at `now` (with a time zone)."""
    address = _address(model.endpoint)
    if address is None:
        return Unpriced(f"{model.endpoint} is not an address of the price table")
    # Loading it takes longer than all the rest of reading a plan.
    from genai_prices.data import providers

    table = f"{Price.table} {version(Price.table)}"
    known = [provider for provider in providers if _serves(provider.api_pattern, *address)]
    if not known:
        return Unpriced(f"{table} does not know the endpoint {model.endpoint}")
    found = next(_entries(known, model.wire_name), None)
    if found is None:
        return Unpriced(f"{table} has no model {model.wire_name!r} of {known[0].name}")
    provider, entry = found
    setting = next((key for key in _SETTINGS if model.extra.get(key, "default") not in _STANDARD), None)
    if setting:
        return Unpriced(f"the price depends on {setting} = {model.extra[setting]!r}")
    current = _current(entry, now)
    if isinstance(current, Unpriced):
        return current
    prices = {key: value for key, value in vars(current).items() if value is not None}
    source = f"{table}: {provider.id}/{entry.id}"
    caching = model.extra.get(_ASKS_FOR_CACHING)
    brief = isinstance(model, LangChainModel) and _LONG not in str(caching)
    if caching is not None and not brief and _LONG_WRITES in prices:
        return Unpriced(f"the price depends on {_ASKS_FOR_CACHING} ({source})")
    if provider.id in _WITHOUT_CACHE and isinstance(model, OpenAIModel):
        prices = {key: value for key, value in prices.items() if "cache" not in key}
    return _price(prices, source, searches=_always_searches(provider, entry))


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


def _price(prices: "Mapping[str, Decimal | TieredPrices]", source: str, *, searches: bool) -> Price | Unpriced:
    for key in prices:
        unused = _UNUSED.search(key) and not (searches and "searches" in key)
        if not unused and key not in _RATES and key != _LONG_WRITES:
            return Unpriced(f"it costs more than its tokens: {key} ({source})")
    rated = {name: prices[key] for key, name in _RATES.items() if key in prices}
    if not {"input", "output"} <= rated.keys():
        return Unpriced(f"the table prices no text of it ({source})")
    starts = {tier.start for value in rated.values() for tier in getattr(value, "tiers", ())}
    # A tier holds above its start, and for all of a request's tokens.
    tiers = tuple(PriceTier(above=start, **_rates(rated, start + 1)) for start in sorted(starts))
    # Where every request searches, that is no call of a tool.
    searched = float(_rate(prices[_SEARCHES], 0)) / 1000 if _SEARCHES in prices and not searches else None
    calls = {} if searched is None else {"google_search" if ": google/" in source else "web_search": searched}
    return Price(**_rates(rated, 0), tiers=tiers, calls=calls, source=source)


def _rates(rated: "Mapping[str, Decimal | TieredPrices]", read: int) -> dict[str, Any]:
    """The rates for so many tokens of input; that of writing to a cache only where it is not the usual one."""
    rates = {name: float(_rate(value, read)) for name, value in rated.items()}
    if rates.get("cache_write") == rates["input"]:
        del rates["cache_write"]
    return rates


def _rate(value: "Decimal | TieredPrices", read: int) -> "Decimal":
    from genai_prices.types import TieredPrices

    if not isinstance(value, TieredPrices):
        return value
    return next((tier.price for tier in reversed(value.tiers) if read > tier.start), value.base)
