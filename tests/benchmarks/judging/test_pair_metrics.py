"""Scales, reward models and trained judges: what they are asked, and how their verdicts are read."""

import asyncio
import math
from typing import Any

import pytest
from tests.benchmarks.judging.test_pairs import TEXTS, ZH, replied

from toolablate.benchmarks.judging.pair_metrics import PointwiseJudge, RewardModel, TrainedFormat, TrainedJudge
from toolablate.benchmarks.judging.pairs import Preference
from toolablate.traces.records import JudgeCall, ModelReply, ModelRequest, OpenAIModel

MODEL = OpenAIModel(name="m", endpoint="http://127.0.0.1:1")


def preferred(metric: Any, *replies: str | ModelReply, texts: Any = TEXTS) -> tuple[Preference, list[ModelRequest]]:
    requests: list[ModelRequest] = []
    left = list(replies)

    async def ask(request: ModelRequest) -> JudgeCall:
        requests.append(request)
        said = left.pop(0)
        return JudgeCall(request=request, reply=replied(said) if isinstance(said, str) else said)

    return asyncio.run(metric.prefer(texts, ask)), requests


def test_each_answer_is_rated_by_itself() -> None:
    found, requests = preferred(PointwiseJudge(MODEL), 'Fine. {"score": 8}', '{"score": 9}')
    assert (found.verdict, found.scores) == ("b", (8.0, 9.0))
    assert TEXTS.b not in requests[0].messages[1].content
    assert TEXTS.a not in requests[1].messages[1].content
    assert all(TEXTS.reference in each.messages[1].content for each in requests)
    assert preferred(PointwiseJudge(MODEL), '{"score": 7}', "{'score': 7}")[0].verdict == "same"


@pytest.mark.parametrize("said", ["8 of 10", '{"score": 0}', '{"score": 10}', '{"score": 7.5}', '{"score": "N"}'])
def test_a_reply_without_a_score_is_asked_again(said: str) -> None:
    found, requests = preferred(PointwiseJudge(MODEL, asks=2), said, '{"score": 3}', '{"score": 2}')
    assert (found.verdict, len(requests)) == ("a", 3)
    assert preferred(PointwiseJudge(MODEL, asks=1), said)[0].verdict is None


def likely(high: float) -> ModelReply:
    """An 8 that might have been a 9."""
    tops = [{"token": "8", "logprob": math.log(1 - high)}, {"token": "9", "logprob": math.log(high)}]
    content = [{"token": '{"score": ', "logprob": 0.0}, {"token": "8", "logprob": 0.0, "top_logprobs": tops}]
    return replied('{"score": 8}').model_copy(update={"logprobs": {"content": content}})


def test_a_score_is_its_expected_value_where_probabilities_are_known() -> None:
    found, _ = preferred(PointwiseJudge(MODEL), likely(0.25), likely(0.75))
    assert found.scores == pytest.approx((8.25, 8.75))
    assert found.verdict == "b"


def test_both_scores_are_of_one_measure() -> None:
    assert preferred(PointwiseJudge(MODEL), likely(0.25), '{"score": 8}')[0].scores == (8, 8)
    assert preferred(PointwiseJudge(MODEL), '{"score": 8}', likely(0.25))[0].verdict == "same"


@pytest.mark.parametrize("texts", [TEXTS, ZH])
def test_every_score_is_one_digit(texts: Any) -> None:
    """Of a scale to 10 the token "1" may begin "10", and its probability is not that of the score 1."""
    _, requests = preferred(PointwiseJudge(MODEL), '{"score": 10}', '{"score": 9}', '{"score": 9}', texts=texts)
    told = requests[0].messages[0].content, requests[1].messages[-1].content
    assert all("9" in each and "10" not in each for each in told)


def test_a_chinese_answer_is_rated_in_chinese() -> None:
    _, requests = preferred(PointwiseJudge(MODEL), '{"score"： 8}', '{"score": 8}', texts=ZH)
    assert "参考答案" in requests[0].messages[0].content
    assert ZH.context in requests[0].messages[1].content


def test_a_reward_model_gives_numbers() -> None:
    found, requests = preferred(RewardModel(MODEL), "1.5", "1.25")
    assert (found.verdict, found.scores) == ("a", (1.5, 1.25))
    assert preferred(RewardModel(MODEL), "1.5", "1.5")[0].verdict == "same"
    assert [each.messages[-1].content for each in requests] == [TEXTS.a, TEXTS.b]
    assert RewardModel(MODEL).name != RewardModel(MODEL, api="score").name


@pytest.mark.parametrize(
    ("form", "said", "verdict"),
    [
        ("auto-j", "So, the final decision is Response 2. Response 1 is vague.", "b"),
        ("auto-j", "So, the final decision is Tie.", "same"),
        ("prometheus-2", "Feedback: (A is thin) [RESULT] B", "b"),
        ("prometheus-2", "[RESULT] **A**", "a"),
        ("rm-r1", "<eval>x</eval>\n<answer>[[A]]</answer>", "a"),
        ("rm-r1", "<answer> [[B]] </answer>", "b"),
    ],
)
def test_trained_judges_end_in_their_own_forms(form: TrainedFormat, said: str, verdict: str) -> None:
    judge = TrainedJudge(MODEL, form, "Q {question}\nR {reference}\n1 {a}\n2 {b}")
    found, requests = preferred(judge, "I cannot say.", said)
    assert found.verdict == verdict
    assert requests[0] == requests[1]
    assert requests[0].messages[0].content == f"Q {TEXTS.question}\nR {TEXTS.reference}\n1 {TEXTS.a}\n2 {TEXTS.b}"


def test_a_trained_judge_without_a_verdict_is_unread() -> None:
    judge = TrainedJudge(MODEL, "rm-r1", "{question}{a}{b}", asks=1)
    assert preferred(judge, "[[A]] it is")[0].verdict is None
    assert preferred(judge, replied("<answer>[[A]]</answer>", "length"))[0].verdict is None


def test_an_answer_with_a_place_in_it_stays_as_it_is() -> None:
    judge = TrainedJudge(MODEL, "rm-r1", "{a}|{b}|{question}")
    texts = TEXTS.__class__("Q", "{b}", "two", "R")
    assert judge.requests(texts)[0].messages[0].content == "{b}|two|Q"
