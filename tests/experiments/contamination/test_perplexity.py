"""Perplexity of the rests of prompts, by the real command line and over real HTTP."""

import json
import math
import random
from pathlib import Path
from typing import Any

import pytest
from tests.experiments.contamination.contamination_plans import prompt, ran, text, write_plan
from tests.servers.chat_server import ChatServer, Json

KNOWN, UNKNOWN = 0.9, 0.25


def tokens_of(given: str) -> list[str]:
    """A token is a word with its blank; of Chinese each byte."""
    return [chr(0xFFFD)] * len(given.encode()) if not given.isascii() else given.split(" ")


def scoring(known: str, *, vllm: bool = False) -> Any:
    """A model that gives each token of texts that begin with `known` the one probability, of others the other."""

    def answer(request: dict[str, Any]) -> Json:
        given = request["prompt"]
        if not request.get("echo"):
            return text(" and so on")
        tokens = tokens_of(given)
        logprob = math.log(KNOWN if given.startswith(known) else UNKNOWN)
        values = [None, *[logprob] * (len(tokens) - 1)]
        usage = {"prompt_tokens": len(tokens), "completion_tokens": 1}
        if vllm:
            listed = [None, *[{"7": {"logprob": each, "rank": 3}, "9": {"logprob": -0.01}} for each in values[1:]]]
            choice = {"text": "x", "finish_reason": "length", "prompt_logprobs": listed}
        else:
            logprobs = {"tokens": [*tokens, "x"], "token_logprobs": [*values, -5.0]}
            choice = {"text": given + "x", "finish_reason": "length", "logprobs": logprobs}
        return Json({"choices": [choice], "usage": usage})

    return answer


@pytest.mark.parametrize("vllm", [False, True])
def test_rests_are_scored_by_benchmark(chat_server: ChatServer, tmp_path: Path, vllm: bool) -> None:
    drawn = random.Random(1)
    chat_server.answers(scoring("known", vllm=vllm))
    benchmarks = {
        "seen": {f"s{n}": "known " + prompt(drawn, 20) for n in range(12)},
        "fresh": {f"f{n}": prompt(drawn, 20) for n in range(12)},
        "mixed": {f"m{n}": "known " * (n % 2) + prompt(drawn, 20) for n in range(12)},
        "chinese": {"z": "某公司在2023年的收入是多少亿元人民币？请说明。"},
    }
    plan = write_plan(tmp_path, chat_server.url, benchmarks)
    plan.write_text("perplexity = true\n" + plan.read_text(encoding="utf-8"), encoding="utf-8")
    done = ran(plan, "--json")
    assert done.exit_code == 0, done.output
    rows = {each["benchmark"]: each for each in json.loads(done.stdout)["perplexities"]}
    assert [rows[name]["questions"] for name in benchmarks] == [12, 12, 12, 1]
    assert rows["seen"]["perplexity"]["value"] == pytest.approx(1 / KNOWN)
    assert rows["fresh"]["perplexity"]["value"] == pytest.approx(1 / UNKNOWN)
    # Two bits a token; words of three letters and a blank.
    assert rows["fresh"]["bits_per_byte"]["value"] == pytest.approx(0.5, abs=0.02)
    assert rows["chinese"]["bits_per_byte"]["value"] == pytest.approx(2.0, abs=0.01)
    low, high = rows["mixed"]["perplexity"]["ci95"]
    assert 1 / KNOWN < low < rows["mixed"]["perplexity"]["value"] < high < 1 / UNKNOWN
    assert rows["fresh"]["perplexity"]["ci95"] is None, "all alike"
    asked = len(chat_server.requests)
    page = ran(plan).stdout
    assert "Perplexity of the rests" in page
    assert len(chat_server.requests) == asked, "what is known is not asked for again"


def test_an_endpoint_that_does_not_say_is_given_up_and_continuations_are_kept(
    chat_server: ChatServer, tmp_path: Path
) -> None:
    chat_server.answers(lambda request: text(" and so on"))
    drawn = random.Random(2)
    plan = write_plan(tmp_path, chat_server.url, {"B": {f"q{n}": prompt(drawn, 20) for n in range(9)}})
    plan.write_text("perplexity = true\n" + plan.read_text(encoding="utf-8"), encoding="utf-8")
    done = ran(plan, "--json")
    assert done.exit_code == 1
    assert "base (perplexity): " in done.stderr
    assert "gives no log probabilities of a prompt's tokens" in " ".join(done.stderr.split())
    found = json.loads(done.stdout)
    assert (found["results"][0]["questions"], found["perplexities"][0]["missing"]) == (9, 9)
    assert found["perplexities"][0]["perplexity"] is None


def test_it_is_not_asked_for_by_default(chat_server: ChatServer, tmp_path: Path) -> None:
    chat_server.answers(lambda request: text(" and so on"))
    plan = write_plan(tmp_path, chat_server.url, {"B": {"q": prompt(random.Random(3), 20)}})
    assert json.loads(ran(plan, "--json").stdout)["perplexities"] == []
    assert not any("echo" in request for request in chat_server.requests)
