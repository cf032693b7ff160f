"""Where the prices of a plan's models come from: the plan, a file of prices, the price table, in this order."""

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pydantic import ValidationError

from toolablate.experiments.finding import Finding
from toolablate.experiments.plan_errors import explain
from toolablate.traces.errors import InputError
from toolablate.traces.records import Budget, Model, OpenAIModel, Price, Rates

if TYPE_CHECKING:
    from toolablate.agents.prices import Unpriced
    from toolablate.experiments.plan import Plan

NO_PRICES = "none"
_SHAPE = '["api.example.com"]\n  "a-model" = { input = 2.5, output = 10, cached_input = 1.25 }'


@dataclass(frozen=True, slots=True)
class PriceList:
    """Prices of a file, by host (with its port where the endpoint names one) and by the model's name in requests."""

    prices: Mapping[tuple[str, str], Price]

    def find(self, model: OpenAIModel) -> Price | None:
        try:
            parts = urlsplit(model.endpoint)
            host, port = parts.hostname or "", parts.port
        except ValueError:
            return None
        exact = self.prices.get((f"{host}:{port}", model.wire_name)) if port else None
        return exact or self.prices.get((host, model.wire_name))


@dataclass(frozen=True, slots=True)
class PriceSources:
    """What a plan's key `prices` stands for."""

    listed: PriceList | None
    table: bool

    def find(self, model: OpenAIModel, now: datetime) -> "Price | Unpriced":
        if model.price is not None:
            return model.price if model.price.source else model.price.model_copy(update={"source": "plan"})
        if self.listed is not None and (price := self.listed.find(model)) is not None:
            return price
        # It brings the agents with it, which reading a plan does not need.
        from toolablate.agents.prices import Unpriced, table_price

        if not self.table:
            return Unpriced("the plan gives none, and asks no price table")
        return table_price(model, now)


def names_a_file(prices: str) -> bool:
    """Whether a plan's `prices` is the path of a file."""
    return prices not in (Price.table, NO_PRICES)


def open_prices(prices: str) -> PriceSources:
    """What `prices` in a plan names: the price table, a file before that table, or nothing.

    Raises InputError for a file that cannot be read or understood.
    """
    if names_a_file(prices):
        return PriceSources(read_prices(Path(prices)), table=True)
    return PriceSources(None, table=prices == Price.table)


def with_prices(models: Iterable[Model], sources: PriceSources) -> tuple[Model, ...]:
    """The models with their prices filled in where they are known."""
    now = datetime.now(UTC)

    def priced(model: Model) -> Model:
        found = sources.find(model, now) if isinstance(model, OpenAIModel) else None
        return model.model_copy(update={"price": found}) if isinstance(found, Price) else model

    return tuple(priced(model) for model in models)


def require_prices(plan: Path, models: Iterable[Model], budgets: Iterable[Budget], sources: PriceSources) -> None:
    """Refuses a limit on the cost of what has no price. Raises InputError."""
    limited = any(budget.cost_usd is not None for budget in budgets)
    for model in models if limited else ():
        found = sources.find(model, datetime.now(UTC)) if isinstance(model, OpenAIModel) else None
        if found is not None and not isinstance(found, Price):
            raise InputError(
                f"{plan}: budget.cost_usd: the model {model.name!r} has no price, so its cost is unknown:"
                f" {found.reason}",
                hint="give it price = { input = ..., output = ... }, in dollars per million tokens",
                code="bad_plan",
            )


def price_findings(plan: "Plan") -> Iterator[Finding]:
    """What each model costs and who says so; an unknown price stops no run."""
    sources = open_prices(plan.prices)
    for model in plan.models:
        if not isinstance(model, OpenAIModel):
            continue
        found = sources.find(model, datetime.now(UTC))
        if not isinstance(found, Price):
            remedy = "give it price = { input = ..., output = ... }, in dollars per million tokens"
            yield Finding("price", model.name, "warning", f"unknown: {found.reason}", remedy)
        else:
            yield Finding("price", model.name, "ok", f"{show_price(found)} ({found.source})")


def show_price(price: Price) -> str:
    """`$2.5 in, $1.25 cached, $10 out per million tokens; above 272,000 tokens in: $5 in, $2.5 cached, $20 out`."""
    tiers = (f"; above {tier.above:,} tokens in: {_show_rates(tier)}" for tier in price.tiers)
    return f"{_show_rates(price)} per million tokens{''.join(tiers)}"


def _show_rates(rates: Rates) -> str:
    amounts = (
        ("in", rates.input),
        ("cached", rates.cached_input),
        ("to be cached", rates.cache_write),
        ("out", rates.output),
    )
    return ", ".join(f"${amount:g} {name}" for name, amount in amounts if amount is not None)


def read_prices(path: Path) -> PriceList:
    """Reads a file of prices, in US dollars per million tokens: a table for each host, in it one for each model.

    Raises InputError that names the line and the key.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
        content = tomllib.loads(text)
    except (OSError, UnicodeDecodeError) as error:
        raise _refused(path, f"cannot be read: {error}") from None
    except tomllib.TOMLDecodeError as error:
        raise _refused(path, f"is not valid TOML: {error}") from None
    prices: dict[tuple[str, str], Price] = {}
    for host, models in content.items():
        if host != host.strip().lower() or "/" in host or not host:
            raise _refused(
                path, f"{_line(text, [host])}: {host!r} is no host; write it as host or host:port, in lower case"
            )
        if not isinstance(models, dict):
            raise _refused(path, f"{_line(text, [host])}: {host}: should be a table of models; found {models!r}")
        for model, entry in models.items():
            prices[host, model] = _price(path, text, [host, model], entry)
    return PriceList(prices)


def _price(path: Path, text: str, keys: list[str], entry: Any) -> Price:
    shown = " ".join(map(repr, keys))
    try:
        if not isinstance(entry, dict):
            raise _refused(path, f"{_line(text, keys)}: {shown}: should be a table of prices; found {entry!r}")
        return Price.model_validate({"source": path.name, **entry})
    except ValidationError as error:
        place = error.errors()[0]["loc"]
        line = _line(text, [*keys, *map(str, place)])
        raise _refused(path, f"{line}: {shown}: {explain(error, Price)}") from None


def _refused(path: Path, said: str) -> InputError:
    return InputError(f"prices: {path}: {said}", hint=f"a file of prices looks so:\n  {_SHAPE}", code="bad_prices")


def _line(text: str, keys: list[str]) -> str:
    """Where a key was written: the first line with which the text up to it holds that key, or the longest part of its
    path that is there."""
    lines = text.splitlines(keepends=True)
    for length in range(len(keys), 0, -1):
        for number in range(1, len(lines) + 1):
            try:
                found: Any = tomllib.loads("".join(lines[:number]))
            except tomllib.TOMLDecodeError:
                # Inside a value of several lines.
                continue
            for key in keys[:length]:
                found = found.get(key) if isinstance(found, dict) else None
            if found is not None:
                return f"line {number}"
    return "line 1"
