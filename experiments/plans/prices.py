"""Where the prices of a plan's models come from: the plan, a file of prices, the price table, in this order."""

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from ipaddress import IPv6Address
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pydantic import ValidationError

from toolablate.traces.errors import InputError
from toolablate.traces.records import Condition, Model, OpenAIModel, Price, Rates, ServedModel
from toolablate.traces.terminal_text import one_line
from toolablate.traces.validation import explain

if TYPE_CHECKING:
    from toolablate.agents.price_table import Unpriced

_SHAPE = '["api.example.com"]\n  "a-model" = { input = 2.5, output = 10, cached_input = 1.25 }'
_NAME = re.compile(r"[^\s/?#@:\[\]]+")
_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class PriceList:
    """Prices of a file, by host and by the model's name in requests. The host bears its port where the file names one,
    and brackets where it is an IPv6 address."""

    prices: Mapping[tuple[str, str], Price]

    def find(self, model: ServedModel) -> Price | None:
        try:
            parts = urlsplit(model.endpoint)
            host, port = parts.hostname or "", parts.port or _PORTS.get(parts.scheme)
            found = [self.prices.get((_host(host, at), model.wire_name)) for at in (port, None)]
        except ValueError:
            return None
        return found[0] or found[1]


def read_prices(path: Path) -> PriceList:
    """Reads a file of prices, in US dollars per million tokens. Raises InputError that names the line and the key."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise _refused(path, 'is not there; `prices` is a file, "genai-prices" or "none"') from None
    except (OSError, UnicodeDecodeError) as error:
        raise _refused(path, f"cannot be read: {error}") from None
    try:
        return PriceList(_prices(path, text, tomllib.loads(text)))
    except RecursionError:
        raise _refused(path, "is nested too deeply") from None
    except ValueError as error:
        # Beside what is no TOML, numbers with more digits than Python reads or shows.
        raise _refused(path, f"is not valid TOML: {error}") from None


def _prices(path: Path, text: str, content: dict[str, Any]) -> dict[tuple[str, str], Price]:
    prices: dict[tuple[str, str], Price] = {}
    for written, models in content.items():
        try:
            host = _written_host(written)
        except ValueError:
            line = _line(text, [written])
            raise _refused(
                path, f"{line}: {written!r} is no host; write it as host or host:port, in lower case"
            ) from None
        if not isinstance(models, dict):
            raise _refused(path, f"{_line(text, [written])}: {written}: should be a table of models; found {models!r}")
        for model, entry in models.items():
            if (host, model) in prices:
                line = _line(text, [written, model])
                raise _refused(path, f"{line}: {written!r} {model!r}: this host and model have a price already")
            prices[host, model] = _price(path, text, [written, model], entry)
    return prices


def _price(path: Path, text: str, keys: list[str], entry: Any) -> Price:
    shown = " ".join(map(repr, keys))
    if not isinstance(entry, dict):
        raise _refused(path, f"{_line(text, keys)}: {shown}: should be a table of prices; found {entry!r}")
    try:
        return Price.model_validate({"source": path.name, **entry})
    except ValidationError as error:
        place = error.errors()[0]["loc"]
        line = _line(text, [*keys, *map(str, place)])
        raise _refused(path, f"{line}: {shown}: {explain(error, Price)}") from None


def _refused(path: Path, said: str) -> InputError:
    return InputError(f"prices: {path}: {said}", hint=f"a file of prices looks so:\n  {_SHAPE}", code="bad_prices")


def _written_host(written: str) -> str:
    """The host as it is looked up. Raises ValueError for what is none."""
    if written.count(":") > 1 and not written.startswith("["):
        return _host(written, None)
    parts = urlsplit(f"//{written}")
    if parts.netloc != written or "@" in written or written.endswith(":") or written != written.lower():
        raise ValueError(written)
    return _host(parts.hostname or "", parts.port)


def _host(name: str, port: int | None) -> str:
    """Raises ValueError where it is neither a name nor an address."""
    if ":" in name:
        name = f"[{IPv6Address(name).compressed}]"
    elif not _NAME.fullmatch(name):
        raise ValueError(name)
    return name if port is None else f"{name}:{port}"


def _line(text: str, keys: list[str]) -> str:
    """Where a key was written: the first line of the first statement that holds it, or the longest part of its path
    that is there."""
    best, place = 0, 1
    for number, content in _statements(text):
        found: Any = content
        for length, key in enumerate(keys, 1):
            found = found.get(key) if isinstance(found, dict) else None
            if found is None:
                break
            if length > best:
                best, place = length, number
        if best == len(keys):
            break
    return f"line {place}"


def _statements(text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Each statement of a valid text with the number of its first line, read below the header that it stands under.
    Read one by one, since a long file that is read again up to each line takes minutes."""
    header, pending, first = "", "", 1
    for number, line in enumerate(text.split("\n"), 1):
        if not pending:
            first = number
            if line.lstrip().startswith("["):
                header = f"{line}\n"
                yield number, tomllib.loads(header)
                continue
        pending += f"{line}\n"
        try:
            content = tomllib.loads(header + pending)
        except ValueError:
            # Inside a value of several lines.
            continue
        yield first, content
        pending = ""


NO_PRICES = "none"


@dataclass(frozen=True, slots=True)
class PriceSources:
    """What a plan's key `prices` stands for."""

    listed: PriceList | None
    table: bool

    def find(self, model: ServedModel, now: datetime) -> "Price | Unpriced":
        if model.price is not None:
            return model.price if model.price.source else model.price.model_copy(update={"source": "plan"})
        if self.listed is not None and (price := self.listed.find(model)) is not None:
            return price
        # It brings the agents with it, which reading a plan does not need.
        from toolablate.agents.price_table import Unpriced, table_price

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
        found = sources.find(model, now) if isinstance(model, ServedModel) else None
        return model.model_copy(update={"price": found}) if isinstance(found, Price) else model

    return tuple(priced(model) for model in models)


def require_prices(plan: Path, models: Iterable[Model], conditions: Iterable[Condition], sources: PriceSources) -> None:
    """Refuses a limit on the cost of what has no price. Raises InputError."""
    limited = [condition for condition in conditions if condition.budget.cost_usd is not None]
    for model in models if limited else ():
        found = sources.find(model, datetime.now(UTC)) if isinstance(model, ServedModel) else None
        if found is not None and not isinstance(found, Price):
            raise InputError(
                f"{plan}: budget.cost_usd: the model {model.name!r} has no price, so its cost is unknown:"
                f" {found.reason}",
                hint="give it price = { input = ..., output = ... }, in dollars per million tokens",
                code="bad_plan",
            )
        if isinstance(model, ServedModel) and isinstance(found, Price):
            _require_prices_of_calls(plan, model, found, limited)


def _require_prices_of_calls(plan: Path, model: ServedModel, price: Price, limited: Iterable[Condition]) -> None:
    """What the provider's own tools cost may be more than all tokens. How their calls are called is known from replies
    alone; so any price of calls will do."""
    running = next((condition for condition in limited if condition.provider_tools), None)
    if running is not None and not price.calls:
        raise InputError(
            f"{plan}: budget.cost_usd: condition {running.name!r} has provider_tools, and the model {model.name!r} has"
            " no price of their calls, so its cost is unknown",
            hint="add it: price = { input = ..., output = ..., calls = { web_search = 0.01 } }, in dollars per call",
            code="bad_plan",
        )


def unpriced_calls(models: Iterable[Model], conditions: Iterable[Condition]) -> Iterator[str]:
    """Tools that OpenAI runs by itself and whose calls have no price, a sentence for each model that has prices: one
    call makes a trial's cost unknown. What others call their tools' calls is known from replies alone."""
    used = {_called(tool): None for condition in conditions for tool in condition.provider_tools}
    for model in models:
        if isinstance(model, OpenAIModel) and model.price is not None:
            missing = [name for name in used if name and name not in model.price.calls]
            if missing:
                calls = ", ".join(f"{name} = ..." for name in missing)
                yield (
                    f"the price of the model {model.name!r} has none of a call of {', '.join(missing)}: what is made"
                    f" with one has no known cost. Add to it: calls = {{ {calls} }}"
                )


def _called(tool: Mapping[str, object]) -> str:
    """What the calls of one of OpenAI's own tools are called: of a search without what its versions add."""
    kind = str(tool.get("type", ""))
    return "web_search" if kind.startswith("web_search") else one_line(kind, max_chars=80)


def show_price(price: Price) -> str:
    """`$2.5 in, $1.25 cached, $10 out per million tokens; above 272,000 tokens in: $5 in, $2.5 cached, $20 out`."""
    tiers = (f"; above {tier.above:,} tokens in: {_show_rates(tier)}" for tier in price.tiers)
    calls = ", ".join(f"${amount:g} a call of {name}" for name, amount in price.calls.items())
    return f"{_show_rates(price)} per million tokens{''.join(tiers)}" + (f"; {calls}" if calls else "")


def _show_rates(rates: Rates) -> str:
    amounts = (
        ("in", rates.input),
        ("cached", rates.cached_input),
        ("to be cached", rates.cache_write),
        ("out", rates.output),
    )
    return ", ".join(f"${amount:g} {name}" for name, amount in amounts if amount is not None)
