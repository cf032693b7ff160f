"""Prices in a plan: who says them, in which order, and what is kept of it."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Cli
from tests.experiments.plan_files import endpoint_plan, right
from tests.servers.chat_server import ChatServer, Json

from toolablate.experiments.plans.plan import load_plan
from toolablate.experiments.plans.prices import read_prices, show_price
from toolablate.traces.errors import InputError
from toolablate.traces.records import OpenAIModel, Price, PriceTier
from toolablate.traces.store import Store

PLAN = """
conditions = ["none"]
{top}
[questions]
file = "builtin"
[[models]]
provider = "openai"
name = "mine"
model = "gpt-4o"
endpoint = "{endpoint}"
{model}
"""
OPENAI = "https://api.openai.com/v1"
LOCAL = "http://127.0.0.1:8000/v1"


def price_of(folder: Path, *, top: str = "", model: str = "", endpoint: str = OPENAI, listed: str = "") -> Price | None:
    (folder / "prices.toml").write_text(listed, encoding="utf-8")
    path = folder / "plan.toml"
    path.write_text(PLAN.format(top=top, model=model, endpoint=endpoint), encoding="utf-8")
    (found,) = load_plan(path)[0].models
    assert isinstance(found, OpenAIModel)
    return found.price


def test_the_plan_goes_before_the_file_and_the_file_before_the_table(tmp_path: Path) -> None:
    own, listed = "price = { input = 1, output = 2 }", "['api.openai.com']\ngpt-4o = { input = 3, output = 4 }"
    file = "prices = 'prices.toml'"
    assert price_of(tmp_path, top=file, model=own, listed=listed) == Price(input=1, output=2, source="plan")
    assert price_of(tmp_path, top=file, listed=listed) == Price(input=3, output=4, source="prices.toml")
    table = price_of(tmp_path, top=file, listed="['api.openai.com']\nmine = { input = 3, output = 4 }")
    assert table is not None
    assert table.source.startswith("genai-prices ")
    assert price_of(tmp_path) == table
    assert price_of(tmp_path, top="prices = 'none'") is None
    assert price_of(tmp_path, endpoint=LOCAL) is None


@pytest.mark.parametrize(
    ("host", "price"), [("127.0.0.1", 1), ("127.0.0.1:8000", 1), ("127.0.0.1:9000", None), ("localhost", None)]
)
def test_a_file_names_a_host_with_or_without_its_port(tmp_path: Path, host: str, price: float | None) -> None:
    listed = f"['{host}']\ngpt-4o = {{ input = 1, output = 2 }}"
    found = price_of(tmp_path, top="prices = 'prices.toml'", endpoint=LOCAL, listed=listed)
    assert (found and found.input) == price


@pytest.mark.parametrize(
    ("listed", "expected"),
    [
        ("# prices\n['a.example']\nm = { input = 1 }", r"line 3: 'a.example' 'm': output: missing"),
        ("['a.example']\n\nm = { input = 1, output = -2 }", r"line 3: 'a.example' 'm': output: .*found -2"),
        ("['a.example']\nm = { input = true, output = 2 }", r"line 2: 'a.example' 'm': input: .*found True"),
        ("['a.example']\nm = { input = '2.5', output = 2 }", r"line 2: 'a.example' 'm': input: .*found '2.5'"),
        ("['a.example']\nm = { input = inf, output = 2 }", r"line 2: 'a.example' 'm': input: .*found inf"),
        (
            "['a.example'.m]\ninput = 1\noutput = 2\ntiers = [\n  { above = true, input = 1, output = 2 },\n]",
            r"line 4: 'a.example' 'm': tiers\[0\]\.above: .*found True",
        ),
        (
            "['[::1]:9']\nm = { input = 1, output = 2 }\n['[0:0::1]:9']\nm = { input = 1, output = 2 }",
            "line 4: .*already",
        ),
        ("x = " + "[" * 5_000, "is nested too deeply"),
        ("['a.example']\nm = { input = " + "9" * 5_000 + ", output = 2 }", "is not valid TOML: .*4300 digits"),
        ("['a.example']\nm = 0x" + "f" * 5_000, "4300 digits"),
        ("['[::1']\nm = { input = 1, output = 2 }", r"line 1: '\[::1' is no host"),
        ("['a.example:port']\nm = { input = 1, output = 2 }", r"line 1: 'a.example:port' is no host"),
        (
            "['a.example'.m]\ninput = 1\noutput = 2\ncached = 1",
            r"line 4: .*cached: unknown key; did you mean 'cached_input'",
        ),
        (
            "['a.example'.m]\ninput = 1\noutput = 2\ntiers = [{ above = 5, input = 1 }]",
            r"line 4: 'a.example' 'm': tiers\[0\]\.output: missing",
        ),
        (
            "['a.example'.m]\ninput = 1\noutput = 2\n"
            "tiers = [{ above = 5, input = 1, output = 2 }, { above = 5, input = 2, output = 2 }]",
            r"'a.example' 'm': .*`above` should ascend from tier to tier; found \[5, 5\]",
        ),
        ("['a.example']\nm = 3", r"line 2: 'a.example' 'm': should be a table of prices; found 3"),
        ("\n'a.example' = 3", r"line 2: a\.example: should be a table of models; found 3"),
        ("['https://a.example/v1']\nm = { input = 1, output = 2 }", r"line 1: 'https://a.example/v1' is no host"),
        ("['a.example']\nm = { input = 1, output = 2 }\n['a.example']", r"not valid TOML: .*line 3"),
    ],
)
def test_a_mistake_in_a_file_of_prices_is_named(tmp_path: Path, listed: str, expected: str) -> None:
    with pytest.raises(InputError) as caught:
        price_of(tmp_path, top="prices = 'prices.toml'", listed=listed)
    assert re.search(expected, str(caught.value)), str(caught.value)
    assert str(tmp_path / "prices.toml") in str(caught.value)


@pytest.mark.parametrize(
    ("host", "endpoint", "known"),
    [
        ("[::1]", "http://[::1]:9/v1", True),
        ("[::1]:9", "http://[::1]:9/v1", True),
        ("::1", "http://[::1]:9/v1", True),
        ("[0:0:0::1]:9", "http://[::1]:9/v1", True),
        ("[::1]:8", "http://[::1]:9/v1", False),
        ("a.example:443", "https://a.example/v1", True),
        ("a.example:80", "https://a.example/v1", False),
        ("a.example", "HTTPS://A.example:9/v1", True),
    ],
)
def test_hosts_are_found_as_addresses_and_with_the_port_of_their_scheme(
    tmp_path: Path, host: str, endpoint: str, known: bool
) -> None:
    listed = f"['{host}']\ngpt-4o = {{ input = 1, output = 2 }}"
    assert bool(price_of(tmp_path, top="prices = 'prices.toml'", endpoint=endpoint, listed=listed)) == known


def test_the_line_of_a_mistake_is_found_in_a_long_file_without_reading_it_again_for_each_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = [f"['h{n}.example']\nm = {{ input = 1, output = 2 }}\n" for n in range(500)]
    path = tmp_path / "prices.toml"
    path.write_text("".join(tables) + "['bad.example']\nm = { input = -1, output = 2 }\n", encoding="utf-8")
    read, loads = 0, tomllib.loads

    def counting(text: str) -> dict[str, Any]:
        nonlocal read
        read += len(text)
        return loads(text)

    monkeypatch.setattr(tomllib, "loads", counting)
    with pytest.raises(InputError, match=r"line 1002: 'bad\.example' 'm': input: .*found -1"):
        read_prices(path)
    assert read < 5 * path.stat().st_size


def test_a_price_in_a_plan_is_a_number(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"price\.input: .*found True"):
        price_of(tmp_path, model="price = { input = true, output = 2 }")


def test_a_file_of_prices_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"prices: .*missing\.toml: is not there; `prices` is"):
        price_of(tmp_path, top="prices = 'missing.toml'")


def test_the_file_of_the_plans_page_can_be_read(tmp_path: Path) -> None:
    page = (Path(__file__).parents[3] / "docs" / "plans.md").read_text(encoding="utf-8")
    (example,) = (block for block in re.findall(r"```text\n(.*?)```", page, re.DOTALL) if "cache_write" in block)
    (tmp_path / "prices.toml").write_text(example, encoding="utf-8")
    prices = read_prices(tmp_path / "prices.toml").prices
    rates = {"input": 4, "output": 15, "cached_input": 0.4, "cache_write": 5}
    assert prices["api.example.com", "another-model"] == Price(
        input=2,
        output=10,
        cached_input=0.2,
        cache_write=2.5,
        tiers=(PriceTier(above=200_000, **rates),),
        calls={"web_search": 0.01},
        source="prices.toml",
    )


def test_a_limit_on_cost_needs_a_price_and_says_why_there_is_none(tmp_path: Path) -> None:
    limit = "budget = { cost_usd = 1 }"
    assert price_of(tmp_path, top=limit)
    with pytest.raises(InputError, match=r"budget\.cost_usd: the model 'mine' has no price.*unknown: http://127"):
        price_of(tmp_path, top=limit, endpoint=LOCAL)
    with pytest.raises(InputError, match=r"the plan gives none, and asks no price table"):
        price_of(tmp_path, top=limit + "\nprices = 'none'")


@pytest.mark.deep
def test_a_new_price_leaves_what_earlier_trials_cost(
    chat_server: ChatServer, tmp_path: Path, cli: Cli, store: Path
) -> None:
    """A reply of the server's takes 10 tokens in and 5 out."""
    chat_server.answers(right)
    for price, count in ((1_000, 1), (10_000, 2)):
        plan = endpoint_plan(tmp_path, chat_server.url, count=count, extra="prices = 'prices.toml'")
        listed = f"['127.0.0.1']\nm = {{ input = {price}, output = 0 }}"
        (tmp_path / "prices.toml").write_text(listed, encoding="utf-8")
        ran = cli("run", plan)
        assert ran.returncode == 0, ran.stderr
    with Store(store) as opened:
        traces = [opened.trace(seen.trial) for seen in opened.summaries()]
        costs = sorted(trace.cost_usd or 0 for trace in traces)
        models = {trace.trial.model: opened.model(trace.trial.model) for trace in traces}
    assert costs == pytest.approx([0.01, 0.1])
    (model,) = models.values()
    assert isinstance(model, OpenAIModel)
    assert model.price == Price(input=10_000, output=0, source="prices.toml")


def test_what_an_endpoint_charged_is_kept_with_its_reply(
    chat_server: ChatServer, tmp_path: Path, cli: Cli, store: Path
) -> None:
    chat_server.answers(lambda body: charging(right(body)))
    ran = cli("run", endpoint_plan(tmp_path, chat_server.url, count=1))
    assert ran.returncode == 0, ran.stderr
    assert "$0.25" in cli("show", store, _only_trial(store)).stdout
    with Store(store) as opened:
        trace = opened.trace(_only_trial(store))
    (call,) = (event for event in trace.events if event.kind == "model_call")
    assert (trace.cost_usd, call.cost_usd, call.reply.charged_usd) == (0.25, 0.25, 0.25)
    assert trace.usage.cache_write_tokens == 4
    assert cli("verify", store).returncode == 0


def charging(told: Json) -> Json:
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "prompt_tokens_details": {"cache_write_tokens": 4}}
    return Json({**told.value, "usage": {**usage, "cost": 0.25}})


def _only_trial(store: Path) -> str:
    with Store(store) as opened:
        (seen,) = opened.summaries()
    return seen.trial


def test_all_rates_of_a_price_are_shown() -> None:
    price = Price(input=2, output=10, tiers=(PriceTier(above=200_000, input=4, output=15, cache_write=5),))
    assert show_price(price) == (
        "$2 in, $10 out per million tokens; above 200,000 tokens in: $4 in, $5 to be cached, $15 out"
    )


@pytest.mark.deep
def test_doctor_tells_each_price_and_who_says_it(tmp_path: Path, cli: Cli) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(
        PLAN.format(top="", model="price = { input = 1, output = 2 }", endpoint=LOCAL)
        + f"[[models]]\nprovider = 'openai'\nname = 'unpriced'\nendpoint = '{LOCAL}'\n",
        encoding="utf-8",
    )
    findings = json.loads(cli("doctor", path, "--json").stdout)["findings"]
    told = {
        finding["name"]: (finding["state"], finding["detail"]) for finding in findings if finding["topic"] == "price"
    }
    assert told["mine"] == ("ok", "$1 in, $2 out per million tokens (plan)")
    assert told["unpriced"][0] == "warning"
    assert told["unpriced"][1].startswith("unknown: ")
