"""The judge of checklists: what it asks, reads, scores, and never pays for twice."""

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from tests.benchmarks.clear.judging import judged

from toolablate.analysis.checklist_measures import NA_RULES, sample_values
from toolablate.benchmarks.judging.checklists import ChecklistJudge, literal_value, read_all_mapped
from toolablate.traces.records import (
    ChecklistItem,
    ChecklistTarget,
    JudgeCall,
    Message,
    ModelReply,
    ModelRequest,
    OpenAIModel,
    Question,
    ReferenceTarget,
    Score,
)

MODEL = OpenAIModel(name="j", endpoint="http://localhost:1")
ITEMS = (
    ChecklistItem(name="Origin", definition="where it comes from", reference="a soil fungus"),
    ChecklistItem(name="Use", reference="kills mites"),
    ChecklistItem(name="Colour", reference=None),
    ChecklistItem(name="Smell", reference="n/a"),
)
ANSWER = "Origin: a soil fungus, of Japan\nUse: none\nColour: red"


def question(items: Sequence[ChecklistItem] = ITEMS, **fields: Any) -> Question:
    return Question(
        **{"id": "q", "prompt": "Describe.", "as_is": True, "target": ChecklistTarget(items=tuple(items))} | fields
    )


class Asked:
    """The judge by exact containment, or `says` where that gives a text; `requests` is what it was asked."""

    def __init__(self, says: Callable[[int], str | None] = lambda _: None) -> None:
        self.requests: list[ModelRequest] = []
        self._says = says

    async def __call__(self, request: ModelRequest) -> JudgeCall:
        self.requests.append(request)
        said = self._says(len(self.requests))
        if said is None:
            said = judged([message.model_dump() for message in request.messages])
        reply = ModelReply(message=Message(role="assistant", content=said), finish_reason="stop")
        return JudgeCall(request=request, reply=reply, cost_usd=0.01)


async def test_a_score_has_the_items_and_all_that_was_asked() -> None:
    asked = Asked()
    score = await ChecklistJudge(MODEL).grade(question(), "t", ANSWER, asked)
    marks = {each.item: (each.expected, each.filled, each.precision, each.recall) for each in score.items}
    assert marks == {
        "Origin": (True, True, False, True),
        "Use": (True, True, False, False),
        "Colour": (False, True, False, False),
        "Smell": (False, False, True, True),
    }
    # Precision is 1/4, recall 2/4.
    assert (score.value, score.verdict) == (pytest.approx(1 / 3), "partial")
    assert score.metadata["coverage"] == 1
    assert score.mapping is not None
    assert score.judgement is not None
    assert (len(score.mapping.calls), len(score.judgement.calls), len(asked.requests)) == (4, 4, 8)
    out = await ChecklistJudge(MODEL, na="out").grade(question(), "t", ANSWER, Asked())
    assert (out.value, out.verdict) == (0, "wrong")
    assert out.scorer == f"checklist[j@{MODEL.identity()[:8]},na=out]"


async def test_at_once_is_one_request_to_the_mapper() -> None:
    score = await ChecklistJudge(MODEL, mapping="once").grade(question(), "t", ANSWER, asked := Asked())
    assert len(asked.requests) == 5
    assert score.value == pytest.approx(1 / 3)
    assert score.scorer.endswith(",mapping=once]")


async def test_a_question_in_chinese_is_asked_about_in_chinese() -> None:
    answer = ANSWER.replace("Use: none", "Use: kills mites")
    score = await ChecklistJudge(MODEL).grade(question(language="zh"), "t", answer, asked := Asked())
    assert score.value is not None
    assert "是 或 否" in asked.requests[-1].messages[1].content


async def test_a_reference_as_answer_is_right_and_silence_has_the_share_of_na() -> None:
    whole = await ChecklistJudge(MODEL).grade(question(), "t", "Origin: a soil fungus\nUse: kills mites", Asked())
    assert (whole.value, whole.verdict) == (1, "correct")
    silent = await ChecklistJudge(MODEL).grade(question(), "t", "I do not know.", asked := Asked())
    assert silent.value == 0.5
    assert len(asked.requests) == 4, "forced items are not sent to the judge"
    out = await ChecklistJudge(MODEL, na="out").grade(question(), "t", "I do not know.", Asked())
    assert (out.value, out.verdict) == (0, "wrong")


@pytest.mark.parametrize(
    "answer",
    [
        None,
        "",
        *(f"{begin}Origin: a soil fungus{end}" for begin, end in (("<think>", "</think>"), ("[THINK]", "[/THINK]"))),
    ],
)
async def test_an_answer_without_words_is_unparsed_without_a_request(answer: str | None) -> None:
    score = await ChecklistJudge(MODEL).grade(question(), "t", answer, asked := Asked())
    assert (score.value, score.verdict, asked.requests) == (0, "unparsed", [])
    assert [each.filled for each in score.items] == [False] * 4
    assert [sample_values(score.items, rule)["f1"] for rule in NA_RULES] == [0, 0, 0], "0 in tables as well"
    excluded = await ChecklistJudge(MODEL, unparsed="exclude").grade(question(), "t", answer, Asked())
    assert (excluded.value, excluded.verdict) == (None, "unparsed")


async def test_an_unread_verdict_is_asked_again_then_the_sample_is_unscored() -> None:
    once = await ChecklistJudge(MODEL).grade(question(), "t", ANSWER, Asked(lambda n: "Perhaps" if n == 5 else None))
    assert once.value == pytest.approx(1 / 3)
    never = Asked(lambda n: "Perhaps" if n > 6 else None)
    score = await ChecklistJudge(MODEL, asks=2).grade(question(), "t", ANSWER, never)
    assert (score.value, score.verdict) == (None, "unscored")
    assert "item 'Use', recall: the judge's last of 2 replies cannot be read" in score.reason
    assert ChecklistJudge(MODEL, asks=2).keeps(score)
    more = ChecklistJudge(MODEL, asks=3)
    assert not more.keeps(score)
    went_on = await more.grade(question(), "t", ANSWER, asked := Asked(), held=[score])
    assert went_on.value == pytest.approx(1 / 3)
    assert len(asked.requests) == 2, "one more ask of the one that was not read, and what is left"


async def test_what_was_paid_for_before_an_outage_is_not_asked_again() -> None:
    class Outage(Exception):
        pass

    kept: list[Score] = []

    async def keep(score: Score) -> None:
        kept.append(score)

    async def failing(request: ModelRequest) -> JudgeCall:
        if len(first.requests) == 5:
            raise Outage
        return await first(request)

    first = Asked()
    with pytest.raises(Outage):
        await ChecklistJudge(MODEL).grade(question(), "t", ANSWER, failing, keep=keep)
    assert len(kept) == 5
    assert not any(ChecklistJudge(MODEL).keeps(score) for score in kept)
    then = Asked()
    score = await ChecklistJudge(MODEL).grade(question(), "t", ANSWER, then, held=kept[-1:])
    assert len(then.requests) == 3
    whole = await ChecklistJudge(MODEL).grade(question(), "t", ANSWER, Asked())
    assert score == whole


async def test_another_judge_uses_what_the_mapper_made() -> None:
    other = OpenAIModel(name="k", endpoint="http://localhost:2")
    first = await ChecklistJudge(MODEL, MODEL).grade(question(), "t", ANSWER, Asked())
    mapping, judging = Asked(), Asked()
    second = ChecklistJudge(other, MODEL)
    score = await second.grade(question(), "t", ANSWER, judging, ask_mapper=mapping, held=[first])
    assert (len(mapping.requests), len(judging.requests)) == (0, 4)
    assert score.mapping == first.mapping
    assert second.name == f"checklist[k@{other.identity()[:8]},mapper={MODEL.identity()[:8]}]"


async def test_a_literal_item_is_read_from_the_answers_object() -> None:
    items = (ChecklistItem(name="Label", reference="1", literal=True), ChecklistItem(name="Risk", reference="x"))
    answer = json.dumps({"label": 1, "risk_description": "none"})
    score = await ChecklistJudge(MODEL).grade(
        question(items), "t", f"```json\n{answer}\n```\nRisk: xyz", asked := Asked()
    )
    assert [(each.precision, each.recall) for each in score.items] == [(True, True), (False, True)]
    assert len(asked.requests) == 3
    assert literal_value('{"a": {"label": 0}} then {"Label": "0"}', "label") == "0"
    assert literal_value("label: 1", "Label") == ""


def test_an_object_that_lacks_an_item_is_not_read() -> None:
    def said(text: str, finish: Any = "stop") -> ModelReply:
        return ModelReply(message=Message(role="assistant", content=text), finish_reason=finish)

    assert read_all_mapped(said('Here: {"A": "x", "B": null}'), ["A", "B"]) == {"A": "x", "B": ""}
    assert read_all_mapped(said('{"A": ["x", "y"], "B": "N/A."}'), ["A", "B"]) == {"A": "x\ny", "B": ""}
    assert read_all_mapped(said('{"A": "x"}'), ["A", "B"]) is None
    assert read_all_mapped(said('{"A": "x", "B": "y"'), ["A", "B"]) is None
    assert read_all_mapped(said('{"A": "x", "B": "y"}', "length"), ["A", "B"]) is None


def test_broken_objects_are_read_in_time_and_do_not_hide_a_whole_one() -> None:
    """Each of 100,000 would be read until it is too deep: minutes."""
    assert literal_value('{"a":' * 100_000 + "}", "a") == ""
    assert literal_value(r"\frac{1}{2} " * 10_000 + '{"said": {"a": 1}, then {"A": "x"}', "a") == "x"


def test_what_it_takes_and_refuses() -> None:
    judge = ChecklistJudge(MODEL)
    assert judge.takes(question())
    assert not judge.takes(question(target=ReferenceTarget(answer="x")))
    assert judge.refusal(question((ITEMS[0], ITEMS[0]))) != ""


def test_the_identity_of_a_question_holds_no_item() -> None:
    assert question().identity() == question(ITEMS[:1]).identity()
    assert question().key_identity() != question(ITEMS[:1]).key_identity()
