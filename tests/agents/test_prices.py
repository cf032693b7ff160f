"""A price is what the table says of the very endpoint, or unknown with a reason; never a guess, never 0."""

from datetime import UTC, date, datetime, time
from decimal import Decimal
from importlib.metadata import version

import genai_prices.data
import pytest
from genai_prices.types import (
    ClauseEquals,
    ConditionalPrice,
    ModelInfo,
    ModelPrice,
    Provider,
    StartDateConstraint,
    Tier,
    TieredPrices,
    TimeOfDateConstraint,
)

from toolablate.agents.price_table import Unpriced, table_price
from toolablate.traces.records import OpenAIModel, Price, Sampling

NOW = datetime(2026, 7, 1, 12, tzinfo=UTC)
PLAIN = {"input_mtok": Decimal("2.5"), "output_mtok": Decimal(10)}


def amounts(**prices: object) -> ModelPrice:
    return ModelPrice(
        **{key: value if isinstance(value, TieredPrices) else Decimal(str(value)) for key, value in prices.items()}
    )


def from_table(
    monkeypatch: pytest.MonkeyPatch, prices: ModelPrice | list[ConditionalPrice], **extra: str
) -> Price | Unpriced:
    """What a table with one model says of it."""
    entry = ModelInfo(id="m", match=ClauseEquals("m"), prices=prices)
    provider = Provider(id="corner", name="Corner", api_pattern=r"https://api\.corner\.example", models=[entry])
    monkeypatch.setattr(genai_prices.data, "providers", [provider])
    endpoint = "https://api.corner.example/v1"
    return table_price(OpenAIModel(name="m", endpoint=endpoint, sampling=Sampling(extra=dict(extra))), NOW)


def test_what_the_table_says_is_taken_with_its_version(monkeypatch: pytest.MonkeyPatch) -> None:
    found = from_table(
        monkeypatch, ModelPrice(**PLAIN, cache_read_mtok=Decimal("0.25"), web_searches_kcount=Decimal(10))
    )
    source = f"genai-prices {version('genai-prices')}: corner/m"
    assert found == Price(input=2.5, output=10, cached_input=0.25, calls={"web_search": 0.01}, source=source)


@pytest.mark.parametrize(
    ("prices", "said"),
    [
        (ModelPrice(**PLAIN, requests_kcount=Decimal(5)), "more than its tokens: requests_kcount"),
        (ModelPrice(**PLAIN, output_reasoning_mtok=Decimal(3)), "more than its tokens: output_reasoning_mtok"),
        (ModelPrice(input_mtok=Decimal(1)), "prices no text"),
        (ModelPrice(), "prices no text"),
    ],
)
def test_what_a_price_cannot_say_is_unknown(monkeypatch: pytest.MonkeyPatch, prices: ModelPrice, said: str) -> None:
    found = from_table(monkeypatch, prices)
    assert isinstance(found, Unpriced)
    assert said in found.reason


def test_rates_of_longer_requests_and_of_writing_to_a_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """Amounts whose tiers begin at different lengths, and one that has none."""
    prices = ModelPrice(
        input_mtok=TieredPrices(Decimal(1), [Tier(200_000, Decimal(2)), Tier(500_000, Decimal(4))]),
        output_mtok=TieredPrices(Decimal(10), [Tier(200_000, Decimal(15))]),
        cache_read_mtok=Decimal("0.1"),
        cache_write_mtok=TieredPrices(Decimal("1.25"), [Tier(200_000, Decimal("2"))]),
    )
    found = from_table(monkeypatch, prices)
    assert isinstance(found, Price)
    assert found.model_dump(exclude={"source", "tiers", "calls"}) == {
        "input": 1,
        "output": 10,
        "cached_input": 0.1,
        "cache_write": 1.25,
    }
    assert [tier.model_dump() for tier in found.tiers] == [
        # Writing costs what input does.
        {"above": 200_000, "input": 2, "output": 15, "cached_input": 0.1, "cache_write": None},
        {"above": 500_000, "input": 4, "output": 15, "cached_input": 0.1, "cache_write": 2},
    ]


def test_keeping_a_cache_for_long_has_a_price_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    prices = ModelPrice(**PLAIN, cache_write_mtok=Decimal(3), cache_write_1h_mtok=Decimal(5))
    assert isinstance(from_table(monkeypatch, prices), Price)
    found = from_table(monkeypatch, prices, cache_control="ephemeral")
    assert isinstance(found, Unpriced)
    assert "depends on cache_control" in found.reason


def test_what_an_api_has_no_cache_for_costs_no_writing() -> None:
    found = table_price(OpenAIModel(name="claude-sonnet-4-5", endpoint="https://api.anthropic.com/v1"), NOW)
    assert isinstance(found, Price)
    assert (found.cached_input, found.cache_write) == (None, None)
    assert found.tiers


def test_a_price_of_a_day_is_that_of_the_day(monkeypatch: pytest.MonkeyPatch) -> None:
    def on(day: date, price: int) -> ConditionalPrice:
        return ConditionalPrice(StartDateConstraint(day), prices=amounts(input_mtok=price, output_mtok=price))

    first = ConditionalPrice(prices=amounts(input_mtok=3, output_mtok=3))
    found = from_table(monkeypatch, [first, on(date(2026, 6, 1), 2), on(date(2026, 8, 1), 1)])
    assert isinstance(found, Price)
    assert found.input == 2


def test_a_price_of_the_hour_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    night = ConditionalPrice(TimeOfDateConstraint(time(0), time(6)), prices=amounts(input_mtok=1, output_mtok=1))
    day = ConditionalPrice(prices=amounts(input_mtok=2, output_mtok=2))
    found = from_table(monkeypatch, [day, night])
    assert isinstance(found, Unpriced)
    assert "time of day" in found.reason
    # One that a later price has replaced decides nothing.
    later = ConditionalPrice(StartDateConstraint(date(2026, 1, 1)), prices=amounts(input_mtok=4, output_mtok=4))
    assert isinstance(from_table(monkeypatch, [day, night, later]), Price)


@pytest.mark.parametrize(("tier", "known"), [("flex", False), ("auto", False), ("default", True)])
def test_a_service_tier_has_a_price_of_its_own(monkeypatch: pytest.MonkeyPatch, tier: str, known: bool) -> None:
    assert isinstance(from_table(monkeypatch, ModelPrice(**PLAIN), service_tier=tier), Price) is known


@pytest.mark.parametrize(
    ("endpoint", "model", "said"),
    [
        ("https://api.openai.com/v1", "gpt-4o", None),
        ("https://API.OpenAI.com:443/v1/", "gpt-4o", None),
        ("https://api.openai.com/v1", "ft:gpt-4o:me::x", "has no model"),
        ("https://api.openai.com.example.org/v1", "gpt-4o", "does not know the endpoint"),
        ("https://example.org/https://api.openai.com", "gpt-4o", "does not know the endpoint"),
        ("https://example.org/x.googleapis.com", "gemini-2.5-flash", "does not know the endpoint"),
        ("https://api.openai.com:8443/v1", "gpt-4o", "not an address of the price table"),
        ("http://127.0.0.1:8000/v1", "gpt-4o", "not an address of the price table"),
        ("http://localhost/v1", "gpt-4o", "not an address of the price table"),
        ("http://[::1]/v1", "gpt-4o", "not an address of the price table"),
        ("https://[", "gpt-4o", "not an address of the price table"),
    ],
)
def test_only_the_endpoints_own_prices_count(endpoint: str, model: str, said: str | None) -> None:
    """By the table as it comes."""
    found = table_price(OpenAIModel(name="mine", model=model, endpoint=endpoint), datetime.now(UTC))
    if said is None:
        assert isinstance(found, Price)
        assert 0 < found.input < found.output
        assert found.source.endswith("openai/gpt-4o")
    else:
        assert isinstance(found, Unpriced)
        assert said in found.reason
