"""What a capability check finds out through litellm's proxy is what holds of the endpoint behind it, though it rewrites both
sides."""

from typing import Any

import pytest
from tests.agents.personalities import Chat, Responses
from tests.compatible.conftest import Proxy
from tests.servers.chat_server import Json, Step, reply

from toolablate.agents.capability_checks import CheckedModel, check_capabilities
from toolablate.traces.records import Capabilities, OpenAIModel

pytestmark = [pytest.mark.compatible, pytest.mark.timeout(400)]

ALL = Capabilities(
    max_tokens_key="max_tokens",
    tools=True,
    tool_choice_required=True,
    parallel_tool_calls=True,
    seed=True,
    logprobs=True,
    images=True,
)


async def checked(proxy: Proxy, model: str, **fields: Any) -> CheckedModel:
    return await check_capabilities(
        OpenAIModel(name=model, endpoint=proxy.url, api_key_env="TEST_KEY", **fields), attempts=1
    )


@pytest.mark.parametrize(
    ("model", "personality", "differs"),
    [
        (
            "openai",
            Chat(refuses=("max_tokens",), limits=("max_completion_tokens",)),
            {"max_tokens_key": "max_completion_tokens"},
        ),
        ("openai", Chat(required="refused"), {"tool_choice_required": False}),
        ("openai", Chat(keeps_single=False, logprobs=False), {"parallel_tool_calls": False, "logprobs": False}),
        ("deepseek", Chat(thoughts={"reasoning_content": "hm"}, insists=True), {"images": False}),
    ],
)
async def test_an_endpoint_behind_it(proxy: Proxy, model: str, personality: Chat, differs: dict[str, Any]) -> None:
    proxy.upstream.answers(personality)
    found = await checked(proxy, model)
    assert found.capabilities == ALL.model_copy(update=differs)
    if personality.insists:
        assert (found.state("reasoning_given_back"), found.state("reasoning_left_out")) == ("yes", "no")
        assert "reasoning_content is missing" in found.evidence("reasoning_left_out")


async def test_responses_behind_it(proxy: Proxy) -> None:
    def stamped(body: dict[str, Any]) -> Step:
        step = Responses()(body)
        return Json({"created_at": 1, **step.value}) if isinstance(step, Json) else step

    proxy.upstream.answers(stamped)
    found = await checked(proxy, "openai", api="responses")
    assert found.capabilities == Capabilities(
        tools=True,
        tool_choice_required=True,
        parallel_tool_calls=True,
        logprobs=True,
        encrypted_reasoning=True,
        images=True,
    )
    assert found.state("reasoning_given_back") == "yes"


async def test_a_reply_that_it_makes_up_is_not_taken_for_a_capability(proxy: Proxy) -> None:
    """It takes a limit, tools and log probabilities, and gives its own text for all of them."""
    found = await checked(proxy, "plain")
    assert found.capabilities == Capabilities(
        tools=False, tool_choice_required=False, seed=True, logprobs=False, images=False
    )
    assert "not kept" in found.evidence("max_tokens")


async def test_a_rate_limit_says_nothing_of_the_model(proxy: Proxy) -> None:
    found = await checked(proxy, "RateLimitError")
    assert (found.requests, found.capabilities) == (1, Capabilities())
    assert found.state("reachable") == "yes"


async def test_a_model_that_it_does_not_know_is_named(proxy: Proxy) -> None:
    found = await checked(proxy, "no-such-model")
    assert found.state("model") == "no"
    assert "no-such-model" in found.evidence("model")


async def test_cache_writes_and_charges_pass_through_it(proxy: Proxy) -> None:
    usage = {
        "prompt_tokens": 100,
        "completion_tokens": 10,
        "total_tokens": 110,
        "prompt_tokens_details": {"cached_tokens": 30, "cache_write_tokens": 20},
        "cost": 0.25,
    }
    proxy.upstream.answers(lambda body: reply("ready", usage=usage))
    found = await checked(proxy, "openai")
    assert found.evidence("usage") == (
        "tokens: input, output, cached, cache write; not told: reasoning; tells what it charges ($0.25)"
    )
