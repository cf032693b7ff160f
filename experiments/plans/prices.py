"""Where the prices of a plan's models come from: the plan, a file of prices, the price table, in this order."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from toolablate.experiments.plans.price_file import PriceList, read_prices
from toolablate.traces.errors import InputError
from toolablate.traces.records import Budget, Model, OpenAIModel, Price, Rates

if TYPE_CHECKING:
    from toolablate.agents.prices import Unpriced

NO_PRICES = "none"


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
