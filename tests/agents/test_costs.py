"""What a reply costs, by figures worked out by hand and by the price table's own reckoning."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import genai_prices.data
import pytest
from genai_prices import Usage as TableUsage
from genai_prices.types import ModelInfo, Provider
from pydantic import ValidationError
from tests.agents.conftest import LocalTools, Play, condition, double
from tests.servers.chat_server import ChatServer, reply
from tests.servers.responses import response, says

from toolablate.agents.price_table import table_price
from toolablate.agents.spending import counted_cost, estimated_cost, known_cost, spent
from toolablate.traces.records import Message, ModelReply, OpenAIModel, Price, PriceTier, Usage

TABLE = "genai-prices 0: a/m"
CACHING = Price(input=2, output=10, cached_input=0.2, cache_write=2.5)
TIERED = Price(
    input=1,
    output=10,
    cached_input=0.1,
    tiers=(PriceTier(above=1_000, input=2, output=15), PriceTier(above=5_000, input=4, output=20, cached_input=1)),
)


def replied(charged: float | None = None, **usage: int) -> ModelReply:
    message = Message(role="assistant", content="A")
    return ModelReply(message=message, finish_reason="stop", usage=Usage(**usage), charged_usd=charged)


def cost(price: Price | None, read: int, wrote: int, cached: int | None = None, written: int | None = None) -> Any:
    counts = {"input_tokens": read, "output_tokens": wrote, "cached_tokens": cached, "cache_write_tokens": written}
    given = {name: count for name, count in counts.items() if count is not None}
    found = known_cost(replied(**given), price)
    return found and round(found * 1e6, 6)


@pytest.mark.parametrize(
    ("price", "counts", "millionths"),
    [
        # 300 plain at 2, 600 cached at 0.2, 100 written at 2.5, 50 out at 10.
        (CACHING, (1_000, 50, 600, 100), 600 + 120 + 250 + 500),
        (CACHING, (1_000, 50, 600, 0), 800 + 120 + 500),
        (CACHING, (1_000, 50, None, 100), 1_800 + 250 + 500),
        # Written and not told, at a price of its own.
        (CACHING, (1_000, 50, 600), None),
        (CACHING.model_copy(update={"cache_write": 2}), (1_000, 50, 600), 800 + 120 + 500),
        (Price(input=2, output=10), (1_000, 50, 600, 100), 2_000 + 500),
        # More than was read at all.
        (CACHING, (1_000, 50, 600, 401), None),
        # A tier holds above its start, for the whole request, with rates of its own.
        (TIERED, (1_000, 10, 500), 500 + 50 + 100),
        (TIERED, (1_001, 10, 500), 2_002 + 150),
        (TIERED, (5_001, 10, 5_000), 4 + 5_000 + 200),
        (None, (1_000, 50), None),
    ],
)
def test_cost_by_hand(price: Price | None, counts: tuple[int, ...], millionths: float | None) -> None:
    assert cost(price, *counts) == millionths


@pytest.mark.parametrize(
    ("source", "counts", "expected"),
    [
        (None, (1_000, 0), 0.5),
        (TABLE, (1_000, 0), 0.5),
        ("plan", (1_000, 0), 0.002),
        ("prices.toml", (1_000, 0), 0.002),
        # The plan's price has nothing to price.
        ("plan", (), 0.5),
    ],
)
def test_what_was_charged_goes_before_the_table_and_not_before_the_plan(
    source: str | None, counts: tuple[int, ...], expected: float
) -> None:
    price = None if source is None else Price(input=2, output=10, source=source)
    usage = dict(zip(("input_tokens", "output_tokens"), counts, strict=False))
    assert known_cost(replied(0.5, **usage), price) == expected
    assert known_cost(replied(0.0, **usage), None) == 0


def test_an_estimate_takes_what_may_have_been_written_as_written() -> None:
    told = replied(input_tokens=1_000, output_tokens=50, cached_tokens=600)
    assert estimated_cost(told, CACHING, 1_000, 50) == pytest.approx((120 + 400 * 2.5 + 500) / 1e6)
    odd = replied(input_tokens=1_000, output_tokens=0, cached_tokens=900, cache_write_tokens=900)
    assert estimated_cost(odd, CACHING, 1_000, 0) == pytest.approx((180 + 250) / 1e6)


@pytest.mark.parametrize("starts", [(5, 5), (9, 5)])
def test_tiers_that_do_not_ascend_are_refused(starts: tuple[int, ...]) -> None:
    with pytest.raises(ValidationError, match=r"`above` should ascend from tier to tier; found \["):
        Price(input=1, output=1, tiers=tuple(PriceTier(above=start, input=1, output=1) for start in starts))


def table() -> Iterator[tuple[Provider, ModelInfo, Price]]:
    now = datetime.now(UTC)
    for provider, endpoint in (
        ("openai", "https://api.openai.com/v1"),
        ("openrouter", "https://openrouter.ai/api/v1"),
        ("google", "https://generativelanguage.googleapis.com/v1beta/openai"),
        ("x-ai", "https://api.x.ai/v1"),
    ):
        (found,) = (one for one in genai_prices.data.providers if one.id == provider)
        for entry in found.models:
            price = table_price(OpenAIModel(name=entry.id, endpoint=endpoint), now)
            if isinstance(price, Price) and found.find_model(entry.id) is entry and price.source.endswith(entry.id):
                yield found, entry, price


def test_a_reply_costs_what_the_table_reckons() -> None:
    """The same counts for every model of some providers, below, at and above each length at which prices change."""
    entries = list(table())
    assert len(entries) > 300
    assert {"gpt-5.4", "gpt-6-sol", "gemini-2.5-pro"} <= {entry.id for _, entry, _ in entries}
    for provider, entry, price in entries:
        starts = [tier.above for tier in price.tiers]
        for read in (1_000, *starts, *(start + 1 for start in starts)):
            counts = {"input_tokens": read, "output_tokens": 70}
            cached, written = read // 2, read // 4
            theirs = entry.calc_price(
                TableUsage(**counts, cache_read_tokens=cached, cache_write_tokens=written), provider
            )
            ours = known_cost(replied(**counts, cached_tokens=cached, cache_write_tokens=written), price)
            assert ours == pytest.approx(
                float(theirs["total_price"] if isinstance(theirs, dict) else theirs.total_price)
            ), (
                entry.id,
                read,
            )


async def test_a_trial_costs_what_it_was_charged_and_no_less(chat_server: ChatServer, play: Play) -> None:
    usage = {"prompt_tokens": 1_000, "completion_tokens": 50, "total_tokens": 1_050}
    told = [reply("", ("double", {"x": 1}), usage={**usage, "cost": 0.25}), reply("2", usage={**usage, "cost": 0.125})]
    chat_server.plays(*told)
    played = await play(LocalTools(double=double))
    assert played.result.cost_usd == 0.375
    assert [event.reply.charged_usd for event in played.of("model_call")] == [0.25, 0.125]
    # By the price of one reply, with that of the other unknown, a sum would be too low.
    chat_server.plays(told[0], reply("2", usage=usage))
    played = await play(LocalTools(double=double))
    assert [event.cost_usd for event in played.of("model_call")] == [0.25, None]
    assert played.result.cost_usd is None
    assert spent(played.events) == (played.result.usage, None)


async def test_a_limit_holds_for_what_an_endpoint_charges(chat_server: ChatServer, play: Play) -> None:
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "cost": 0.5}
    chat_server.answers(lambda body: reply("", ("double", {"x": 1}), usage=usage) if "tools" in body else reply("2"))
    played = await play(LocalTools(double=double), condition(cost_usd=0.9))
    assert (played.result.outcome, played.answer.limit) == ("budget", "cost_usd")
    assert len(played.of("model_call")) == 3


@pytest.mark.parametrize(
    ("source", "charged", "millionths"),
    [
        (TABLE, 0.0, 2_500),
        (TABLE, 0.001, 2_500),
        (TABLE, 0.25, 250_000),
        (TABLE, None, 2_500),
        ("plan", 0.25, 2_500),
        ("plan", 0.0, 2_500),
        (None, 0.25, 250_000),
        (None, None, 0),
    ],
)
def test_the_larger_of_what_is_charged_and_what_the_table_says_counts_against_a_limit(
    source: str | None, charged: float | None, millionths: float
) -> None:
    price = None if source is None else Price(input=2, output=10, source=source)
    told = replied(charged, input_tokens=1_000, output_tokens=50)
    assert counted_cost(told, price, 1_000, 50) * 1e6 == pytest.approx(millionths)


def test_what_cannot_be_priced_counts_as_charged_or_by_an_estimate() -> None:
    untold = CACHING.model_copy(update={"source": TABLE})
    assert counted_cost(replied(0.25, input_tokens=1_000, output_tokens=50), untold, 1_000, 50) == 0.25
    for charged in (0.0, None):
        counted = counted_cost(replied(charged, input_tokens=1_000, output_tokens=50), untold, 1_000, 50)
        assert counted == pytest.approx((2_500 + 500) / 1e6)


async def test_an_endpoint_that_reports_no_charge_does_not_switch_a_limit_off(
    chat_server: ChatServer, play: Play
) -> None:
    usage = {"prompt_tokens": 1_000, "completion_tokens": 50, "cost": 0}
    call = reply("", ("double", {"x": 1}), usage=usage)
    chat_server.answers(lambda body: call if body["tool_choice"] == "auto" else reply("2", usage=usage))
    price = Price(input=2, output=10, source=TABLE)
    played = await play(LocalTools(double=double), condition(cost_usd=0.004), price=price)
    assert (played.result.outcome, played.answer.limit) == ("budget", "cost_usd")
    assert [event.cost_usd for event in played.of("model_call")] == [0, 0, 0]
    assert played.result.cost_usd == 0


async def test_responses_report_writes_and_charges_too(chat_server: ChatServer, play: Play) -> None:
    usage = {
        "input_tokens": 1_000,
        "output_tokens": 50,
        "input_tokens_details": {"cached_tokens": 600, "cache_write_tokens": 100},
        "cost_in_usd_ticks": 37_756_000,
    }
    chat_server.plays(response(says("A"), usage=usage))
    played = await play(model={"api": "responses"}, price=CACHING)
    (call,) = played.of("model_call")
    assert call.reply.usage.cache_write_tokens == played.result.usage.cache_write_tokens == 100
    assert call.reply.charged_usd == 0.0037756
    assert played.result.cost_usd == pytest.approx(0.00147)
