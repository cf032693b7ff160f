"""Tokens and charges under the names that endpoints have for them. The figures of Google and OpenRouter are their own."""

from typing import Any

import pytest

from toolablate.agents.endpoint.wire import charged_usd, completions_usage, responses_usage
from toolablate.traces.records import Usage

TOLD = {"prompt_tokens": 100, "completion_tokens": 10}


@pytest.mark.parametrize(
    ("usage", "written"),
    [
        ({"prompt_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 7}}, 7),
        ({"prompt_tokens_details": {"cache_write_tokens": 0, "cache_creation_tokens": 9}}, 0),
        ({"prompt_tokens_details": {"cache_creation_tokens": 7}}, 7),
        ({"cache_creation_input_tokens": 7, "cache_read_input_tokens": 0}, 7),
        ({"prompt_tokens_details": {"cached_tokens": 0}}, None),
        ({"prompt_tokens_details": None}, None),
    ],
)
def test_what_was_written_to_a_cache(usage: dict[str, Any], written: int | None) -> None:
    assert completions_usage(TOLD | usage).cache_write_tokens == written
    details = usage.get("prompt_tokens_details")
    if details:
        assert responses_usage({"input_tokens_details": details}).cache_write_tokens == written


@pytest.mark.parametrize(
    ("usage", "counts"),
    [
        # OpenAI: thoughts are among what was written.
        ((100, 30, 130, {"completion_tokens_details": {"reasoning_tokens": 20}}), (100, 30, 20)),
        # xAI: they are not.
        ((100, 10, 130, {"completion_tokens_details": {"reasoning_tokens": 20}}), (100, 30, 20)),
        # Google, under no name.
        ((20, 198, 623, {}), (20, 603, None)),
        # A surplus that is none of these: more than was thought, or than can be.
        ((100, 10, 500, {"completion_tokens_details": {"reasoning_tokens": 5}}), (100, 10, 5)),
        ((100, 10, 500, {"completion_tokens_details": {"reasoning_tokens": 0}}), (100, 10, 0)),
        ((100, 10, 110 + 2**17, {}), (100, 10 + 2**17, None)),
        ((100, 10, 111 + 2**17, {}), (100, 10, None)),
        ((100, 10, 2**52, {}), (100, 10, None)),
        # A cache that is counted beside the prompt.
        ((100, 10, 160, {"prompt_tokens_details": {"cached_tokens": 50}}), (100, 10, None)),
        ((100, 10, 160, {"cache_creation_input_tokens": 40, "cached_tokens": 10}), (100, 10, None)),
        ((100, 10, 90, {}), (100, 10, None)),
        ((100, 10, None, {}), (100, 10, None)),
        ((None, 10, 90, {}), (None, 10, None)),
        ((100, None, 120, {}), (100, None, None)),
    ],
)
def test_thoughts_count_as_output(usage: tuple[Any, ...], counts: tuple[int | None, ...]) -> None:
    prompt, completion, total, more = usage
    told = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": total, **more}
    read = completions_usage(told)
    assert (read.input_tokens, read.output_tokens, read.reasoning_tokens) == counts


@pytest.mark.parametrize(
    ("usage", "charged"),
    [
        ({"cost": 0.95}, 0.95),
        ({"cost": 0}, 0.0),
        ({"cost": 0.95, "cost_details": {"upstream_inference_cost": None}, "is_byok": False}, 0.95),
        # The provider's part of it, and not something beside it.
        ({"cost": 0.95, "cost_details": {"upstream_inference_cost": 0.95}}, 0.95),
        ({"cost": 0.95, "cost_details": {"upstream_inference_cost": 1.9}, "is_byok": False}, 0.95),
        # By a key of the user's own the provider charges, and OpenRouter a fee.
        ({"cost": 0.95, "cost_details": {"upstream_inference_cost": 19}}, 19.95),
        ({"cost": 0, "cost_details": {"upstream_inference_cost": 19}, "is_byok": True}, 19.0),
        ({"cost": 0.95, "is_byok": True}, None),
        ({"cost_in_usd_ticks": 37_756_000}, 0.0037756),
        ({"cost": True}, None),
        ({"cost": "0.95"}, None),
        ({"cost": -1}, None),
        ({"cost": float("inf")}, None),
        ({"cost": 10**400}, None),
        ({"cost": 1e308, "cost_details": {"upstream_inference_cost": 1e308}, "is_byok": True}, None),
        ({"cost_in_usd_ticks": 10**400, "cost": 0.5}, 0.5),
        ({"cost": float("nan")}, None),
        ({"cost": {"total_cost": 1}}, None),
        ({}, None),
        (None, None),
    ],
)
def test_what_an_endpoint_says_it_charged(usage: Any, charged: float | None) -> None:
    assert charged_usd(usage) == pytest.approx(charged)


@pytest.mark.parametrize("usage", [None, [], "12", {}])
def test_no_usage_is_unknown(usage: Any) -> None:
    assert completions_usage(usage) == responses_usage(usage) == Usage()
