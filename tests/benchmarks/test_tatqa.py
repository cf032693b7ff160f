import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from toolablate.benchmarks import scorer_for
from toolablate.benchmarks.scoring.spans import tatqa
from toolablate.traces.records import Question, SpansTarget

Recorded = Callable[[str], Iterator[dict[str, Any]]]


@pytest.mark.parametrize(
    ("given", "wanted", "right"),
    [
        (["$1,234.50"], ["1234.5"], True),
        (["12.344"], ["12.336"], True),
        (["12 %"], ["12"], True),
        (["Cash.", "DEBT"], ["debt", " cash"], True),
        (["a", "a"], ["a"], False),
        (["100.9"], ["100"], True),
        (["100.9%"], ["100"], False),
        (["-100.9"], ["-100"], True),
        (["2018"], ["2019"], True),
        (["2018", "x"], ["2019"], True),
        (["nan"], ["nan"], True),
        (["inf"], ["1"], False),
        ([], ["1"], False),
    ],
)
def test_the_rule(given: list[str], wanted: list[str], right: bool) -> None:
    assert tatqa(given, wanted) is right


@pytest.mark.parametrize(
    ("reply", "extracted"),
    [
        ("Answer: Zurich, Geneva", ("Zurich, Geneva",)),
        ("Answer:\n- Zurich\n- Geneva", ("- Zurich",)),
        ('So the answer is:\n["Zurich", "Geneva"', ('["Zurich", "Geneva"',)),
        ("Zurich, Geneva", ("Zurich, Geneva",)),
    ],
)
def test_an_announced_line_is_one_text_under_the_rule(reply: str, extracted: tuple[str, ...]) -> None:
    question = Question(id="q", prompt="p", target=SpansTarget(spans=("Zurich", "Geneva")))
    score = scorer_for("tatqa").score(question, "t", reply)
    assert (score.extracted, score.verdict, score.scorer_version) == (extracted, "wrong", 1)


def _texts(value: object) -> tuple[str, ...]:
    items = value if isinstance(value, list) else [value]
    return tuple(item if isinstance(item, str) else json.dumps(item) for item in items)


@pytest.mark.parametrize(("condition", "accuracy"), [("direct", 32.21), ("cot", 37.37)])
def test_replies_give_the_recorded_answers_and_accuracy(recorded: Recorded, condition: str, accuracy: float) -> None:
    scorer, right, rows = scorer_for("tatqa"), 0, 0
    for row in recorded("tatqa_codex_conditions.jsonl"):
        question = Question(id="q", prompt="p", target=SpansTarget(spans=_texts(row["answer"])))
        score = scorer.score(question, "t", row[condition]["generated"][0])
        assert score.extracted == _texts(row[condition]["pred_answer"])
        right += score.value == 1
        rows += 1
    assert rows == 1667
    assert round(100 * right / rows, 2) == accuracy


def test_recorded_flips(recorded: Recorded) -> None:
    flips = {("direct", "pot"): [0, 0], ("cot", "pot"): [0, 0], ("direct", "cot"): [0, 0]}
    for row in recorded("tatqa_codex_conditions.jsonl"):
        wanted = _texts(row["answer"])
        right = {name: tatqa(_texts(row[name]["pred_answer"]), wanted) for name in ("direct", "cot", "pot")}
        for (before, after), counts in flips.items():
            counts[0] += right[after] and not right[before]
            counts[1] += right[before] and not right[after]
    assert flips == {("direct", "pot"): [724, 90], ("cot", "pot"): [656, 108], ("direct", "cot"): [142, 56]}
