"""What a capability check finds out about endpoints of different makes, over HTTP; and that it never guesses."""

from typing import Any

import pytest
from tests.agents.personalities import NOT_FOUND, Chat, Personality, Responses, unsupported
from tests.servers.chat_server import ChatServer, Drop, Echo, Raw, Status, Step, closed_port, reply

from toolablate.agents.capability_checks import (
    MOST_REQUESTS,
    MOST_TOKENS_IN,
    MOST_TOKENS_OUT,
    CheckedModel,
    check_capabilities,
)
from toolablate.traces.errors import InputError
from toolablate.traces.records import Capabilities, OpenAIModel, Sampling

OPENAI_LIKE = Chat(refuses=("max_tokens",), limits=("max_completion_tokens",))
VLLM_LIKE = Chat(required="refused", thoughts={"reasoning_content": "hm"})
LLAMA_LIKE = Chat(tools=False, limits=("max_tokens",), logprobs=False, sees=None)
INSISTING = Chat(thoughts={"reasoning_content": "hm"}, insists=True)


async def checked(server: ChatServer, personality: Personality, **model: Any) -> CheckedModel:
    server.answers(personality)
    before = len(server.requests)
    found = await check_capabilities(OpenAIModel(name="m", endpoint=server.url, **model), attempts=1)
    assert found.requests == len(server.requests) - before <= MOST_REQUESTS
    return found


@pytest.mark.parametrize(
    ("personality", "expected"),
    [
        (
            OPENAI_LIKE,
            Capabilities(
                max_tokens_key="max_completion_tokens",
                tools=True,
                tool_choice_required=True,
                parallel_tool_calls=True,
                seed=True,
                logprobs=True,
                images=True,
            ),
        ),
        (
            VLLM_LIKE,
            Capabilities(
                max_tokens_key="max_tokens",
                tools=True,
                tool_choice_required=False,
                parallel_tool_calls=True,
                seed=True,
                logprobs=True,
                images=True,
            ),
        ),
        (
            LLAMA_LIKE,
            Capabilities(
                max_tokens_key="max_tokens",
                tools=False,
                tool_choice_required=False,
                seed=True,
                logprobs=False,
                images=False,
            ),
        ),
        (
            Chat(refuses=("seed", "logprobs", "parallel_tool_calls"), limits=(), required="ignored"),
            Capabilities(
                tools=True,
                tool_choice_required=False,
                parallel_tool_calls=False,
                seed=False,
                logprobs=False,
                images=True,
            ),
        ),
        (
            Chat(refuses=("tools",)),
            Capabilities(
                max_tokens_key="max_tokens",
                tools=False,
                tool_choice_required=False,
                seed=True,
                logprobs=True,
                images=True,
            ),
        ),
        (
            Chat(keeps_single=False, sees=False),
            Capabilities(
                max_tokens_key="max_tokens",
                tools=True,
                tool_choice_required=True,
                parallel_tool_calls=False,
                seed=True,
                logprobs=True,
                images=False,
            ),
        ),
    ],
    ids=["openai", "vllm", "llama", "old", "toolless", "always_parallel"],
)
async def test_each_make_of_endpoint_is_found_out(
    chat_server: ChatServer, personality: Chat, expected: Capabilities
) -> None:
    found = await checked(chat_server, personality)
    assert found.capabilities == expected
    assert all(seen.evidence for seen in found.observations)
    assert found.state("chat") == "yes"
    assert found.state("responses") == "no"


async def test_reasoning_is_named_and_given_back_as_it_came(chat_server: ChatServer) -> None:
    found = await checked(chat_server, VLLM_LIKE)
    assert "reasoning_content" in found.evidence("reasoning")
    assert found.state("reasoning_given_back") == "yes"
    assert found.state("reasoning_left_out") == "yes"
    back = [body["messages"][1] for body in chat_server.requests if len(body.get("messages", [])) == 3]
    assert [message.get("reasoning_content") for message in back] == ["hm", None]


async def test_an_endpoint_that_insists_on_its_reasoning_is_found_out(chat_server: ChatServer) -> None:
    found = await checked(chat_server, INSISTING)
    assert found.state("reasoning_given_back") == "yes"
    assert found.state("reasoning_left_out") == "no"
    assert "reasoning_content is missing" in found.evidence("reasoning_left_out")


@pytest.mark.parametrize(("encrypts", "back"), [(True, "yes"), (False, "no")])
async def test_responses_are_probed_by_themselves(chat_server: ChatServer, encrypts: bool, back: str) -> None:
    found = await checked(chat_server, Responses(encrypts=encrypts), api="responses")
    assert found.capabilities == Capabilities(
        tools=True,
        tool_choice_required=True,
        parallel_tool_calls=True,
        logprobs=True,
        encrypted_reasoning=encrypts,
        images=True,
    )
    assert found.state("chat") == "no"
    assert found.state("max_output_tokens") == "yes"
    assert found.state("reasoning_given_back") == back
    assert found.evidence("reasoning") == "as reasoning items"


async def test_an_endpoint_with_the_other_api_only_is_told(chat_server: ChatServer) -> None:
    found = await checked(chat_server, Responses())
    assert (found.state("chat"), found.state("responses")) == ("no", "yes")
    assert found.capabilities == Capabilities()
    assert found.requests == 2


async def test_a_model_for_the_other_api_only_is_not_called_unknown(chat_server: ChatServer) -> None:
    refusal = Status(404, {"message": "This model is only supported in v1/responses."})
    found = await checked(chat_server, lambda body: refusal if "messages" in body else Responses()(body))
    assert (found.state("chat"), found.state("responses"), found.state("model")) == ("no", "yes", "unknown")
    found = await checked(chat_server, lambda body: refusal)
    assert (found.state("chat"), found.state("responses"), found.state("model")) == ("unknown", "unknown", "no")


async def test_usage_is_told_by_its_parts(chat_server: ChatServer) -> None:
    assert (await checked(chat_server, OPENAI_LIKE)).evidence("usage") == (
        "tokens: input, output, cached, reasoning; not told: cache write"
    )
    found = await check_capabilities(OpenAIModel(name="m", endpoint=chat_server.url))
    assert found.usage.input_tokens
    chat_server.answers(lambda body: reply("ready", usage={"unknown": 1}))
    found = await check_capabilities(OpenAIModel(name="m", endpoint=chat_server.url))
    assert found.state("usage") == "no"


async def test_what_is_asked_stays_small(chat_server: ChatServer) -> None:
    await checked(chat_server, INSISTING, sampling=Sampling(max_tokens=50_000, logprobs=True, top_logprobs=20))
    limits = [body.get("max_tokens") or body.get("max_completion_tokens") for body in chat_server.requests]
    # The two first requests are for one word.
    assert limits[:2] == [None, None]
    assert sum(limit or 100 for limit in limits) < MOST_TOKENS_OUT
    assert sum(len(str(body)) for body in chat_server.requests) / 3 < MOST_TOKENS_IN


@pytest.mark.parametrize("step", [Status(429), Status(503), Raw(b"<html>"), Drop(), Status(402), Status(403)])
async def test_what_says_nothing_about_a_request_finds_nothing_out(chat_server: ChatServer, step: Step) -> None:
    found = await checked(chat_server, lambda body: step if "tools" in body else OPENAI_LIKE(body))
    assert found.state("tools") == found.state("tool_choice_required") == "unknown"
    assert found.capabilities.tools is None
    assert found.capabilities.seed is True
    found = await check_capabilities(OpenAIModel(name="m", endpoint=chat_server.url), attempts=1)
    chat_server.answers(lambda body: step)
    found = await check_capabilities(OpenAIModel(name="m", endpoint=chat_server.url), attempts=1)
    assert found.requests == 1
    assert found.capabilities == Capabilities()
    assert found.state("chat") == "unknown"


async def test_a_request_that_met_a_limit_is_made_again(chat_server: ChatServer) -> None:
    chat_server.plays(Status(429, headers={"retry-after": "0"})).answers(OPENAI_LIKE)
    found = await check_capabilities(OpenAIModel(name="m", endpoint=chat_server.url))
    assert found.capabilities.tools is True
    assert found.requests == len(chat_server.requests)


async def test_an_endpoint_that_breaks_down_is_left_alone(chat_server: ChatServer) -> None:
    chat_server.plays(reply("ready"), *[Status(500)] * 3)
    found = await check_capabilities(OpenAIModel(name="m", endpoint=chat_server.url), attempts=1)
    assert found.requests == 4
    assert "not asked" in found.evidence("logprobs")
    assert found.capabilities == Capabilities()


async def test_nothing_listens(chat_server: ChatServer) -> None:
    found = await check_capabilities(OpenAIModel(name="m", endpoint=f"http://127.0.0.1:{closed_port()}/v1"))
    assert found.state("reachable") == "no"
    assert found.requests == 1
    assert found.capabilities == Capabilities()


@pytest.mark.parametrize(
    ("step", "subject"),
    [
        (Status(401), "key"),
        (Status(404, {"message": "The model `m` does not exist.", "code": "model_not_found"}), "model"),
        (NOT_FOUND, "chat"),
    ],
)
async def test_what_stops_everything_is_named(chat_server: ChatServer, step: Step, subject: str) -> None:
    found = await checked(chat_server, lambda body: step)
    assert found.state("reachable") == "yes"
    assert next(seen.subject for seen in found.observations if seen.state == "no") == subject
    assert found.capabilities == Capabilities()


async def test_parameters_of_the_plan_that_are_refused_are_not_taken_for_everything(chat_server: ChatServer) -> None:
    def picky(body: dict[str, Any]) -> Step:
        return unsupported("temperature") if "temperature" in body else OPENAI_LIKE(body)

    found = await checked(chat_server, picky, sampling=Sampling(temperature=0.5))
    assert found.state("sampling") == "no"
    assert "temperature" in found.evidence("sampling")
    assert found.capabilities.tools is True
    assert (await check_capabilities(OpenAIModel(name="m", endpoint=chat_server.url))).state("sampling") == "unknown"


async def test_declared_capabilities_are_not_believed(chat_server: ChatServer) -> None:
    declared = Capabilities(tools=False, seed=False, logprobs=False, max_tokens_key="max_tokens")
    sampling = Sampling(seed=1, logprobs=True, max_tokens=5)
    found = await checked(chat_server, OPENAI_LIKE, capabilities=declared, sampling=sampling)
    assert found.capabilities.tools is found.capabilities.seed is found.capabilities.logprobs is True


async def test_no_key_is_in_what_was_found(chat_server: ChatServer, monkeypatch: pytest.MonkeyPatch) -> None:
    key = "sk-very-secret-0123456789"
    monkeypatch.setenv("TEST_KEY", key)
    found = await checked(
        chat_server, lambda body: Echo() if "seed" in body else OPENAI_LIKE(body), api_key_env="TEST_KEY"
    )
    assert {headers["authorization"] for headers in chat_server.headers} == {f"Bearer {key}"}
    assert found.state("seed") == "no"
    assert key[:8] not in repr(found)
    with pytest.raises(InputError, match="UNSET_KEY"):
        await check_capabilities(OpenAIModel(name="m", endpoint=chat_server.url, api_key_env="UNSET_KEY"))
