from typing import Any

import pytest

from toolablate.benchmarks import Scorer, scorer_for
from toolablate.benchmarks.scoring import SCORERS
from toolablate.traces.errors import ScoringError
from toolablate.traces.records import ChoiceTarget, NumberTarget, Question, SpansTarget, Target

CHOICES = ("red", "green", "blue", "black")


def question(target: Target, choices: tuple[str, ...] = ()) -> Question:
    return Question(id="q", prompt="p", choices=choices, target=target)


@pytest.mark.parametrize(
    ("answer", "options", "value", "verdict"),
    [
        ("Answer: A, C", {}, 1.0, "correct"),
        ("Answer: C and A", {}, 1.0, "correct"),
        ("Answer: A", {}, 0.0, "wrong"),
        ("Answer: A, B, C", {}, 0.0, "wrong"),
        ("Answer: A", {"partial_credit": True}, 0.5, "partial"),
        ("Answer: A, C", {"partial_credit": True}, 1.0, "correct"),
        ("Answer: A, B", {"partial_credit": True}, 0.0, "wrong"),
        ("Answer: A, B, C", {"partial_credit": True}, 0.0, "wrong"),
        ("Answer: E", {}, 0.0, "unparsed"),
        ("Answer: E", {"unparsed": "exclude"}, None, "unparsed"),
        ("", {}, 0.0, "unparsed"),
        (None, {}, 0.0, "unparsed"),
        (None, {"unparsed": "exclude"}, None, "unparsed"),
    ],
)
def test_several_letters(answer: str | None, options: dict[str, Any], value: float | None, verdict: str) -> None:
    score = scorer_for("choice", **options).score(question(ChoiceTarget(letters=("A", "C")), CHOICES), "t", answer)
    assert (score.value, score.verdict) == (value, verdict)
    assert bool(score.reason) == (verdict == "unparsed")
    assert bool(score.extracted) == (verdict != "unparsed")


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        ('Answer: ["the Red  fox", "Blue."]', "correct"),
        ("Answer: ['blue', 'the red fox']", "correct"),
        ('Answer:\n```json\n[\n  "blue",\n  "the red fox"\n]\n```\nDone.', "correct"),
        ('["blue", "the red fox"]', "correct"),
        ('I print it.\n["blue", "the red fox"]', "correct"),
        ('答案：["ｂｌｕｅ", "the red fox"]', "correct"),
        ('Answer: ["blue"]', "wrong"),
        ('Answer: ["blue", "blue", "the red fox"]', "wrong"),
        ('Answer: ["blue", ["the red fox"]]', "wrong"),
        ("Answer: []", "wrong"),
        ("Answer: blue", "wrong"),
        ("Answer:\n- the red fox\n- blue", "correct"),
        ("**Answer:**\n* blue,\n* **the red fox**\n\nDone.", "correct"),
        ("The answers are:\n\n1. blue\n2. the red fox\n", "correct"),
        ('Answer: `["blue", "the red fox"]`', "correct"),
        ('Answer:\n```python\n["blue",\n"the red fox"]\n```', "correct"),
        ('Answer: ["blue", "the red fox"', "unparsed"),
        ("blue and the red fox", "unparsed"),
        ("", "unparsed"),
    ],
)
def test_spans_are_compared_as_normalised_multisets(answer: str, verdict: str) -> None:
    score = scorer_for("spans").score(question(SpansTarget(spans=("the red fox", "blue"))), "t", answer)
    assert score.verdict == verdict


@pytest.mark.parametrize(
    "answer",
    [
        "Zurich, Geneva",
        "Geneva; Zurich",
        "Zurich and Geneva",
        "Zurich & Geneva",
        "Zurich、Geneva",
        "Zurich；Geneva",
        "Zurich，Geneva",
        "Zurich和Geneva",
        '"Zurich", "Geneva"',
        "[Zurich, Geneva]",
        "\nZurich\nGeneva",
        "both of these\n\n- Zurich\n- Geneva",
        "\n- Zurich\n  - Geneva",
        "\n- Zurich\n* Geneva",
        "\n- Zurich\n  which is large\n- Geneva",
        "\n2. Zurich\n1. Geneva",
    ],
)
def test_several_spans_that_are_no_list_are_unparsed(answer: str) -> None:
    target = SpansTarget(spans=("Zurich", "Geneva"))
    for announcement in ("Answer: ", "答案："):
        score = scorer_for("spans").score(question(target), "t", announcement + answer)
        assert (score.value, score.verdict) == (0.0, "unparsed")
        assert "list" in score.reason


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        ("Answer: Trinidad and Tobago, West Indies.", "correct"),
        ("Answer:\nTrinidad and Tobago, West Indies\n\nIt is an island country.", "correct"),
        ("Answer:\n- Trinidad and Tobago, West Indies", "correct"),
        ("\\boxed{Trinidad and Tobago, West Indies}", "correct"),
        ("<answer>Trinidad and Tobago, West Indies</answer>", "correct"),
        ("Answer: [Trinidad and Tobago, West Indies]", "unparsed"),
        ("Answer: Cuba", "wrong"),
        ("Answer: ```\n```", "unparsed"),
    ],
)
def test_one_span_may_stand_bare(answer: str, verdict: str) -> None:
    target = SpansTarget(spans=("Trinidad and Tobago, West Indies",))
    assert scorer_for("spans").score(question(target), "t", answer).verdict == verdict


@pytest.mark.parametrize("name", ["spans", "tatqa", "tatqa-f1"])
@pytest.mark.parametrize(
    "items", ["[{(1, 2): 3}]", "[0x" + "f" * 5000 + "]", '["\\ud800"]', '[{"\\ud800": 1}]', "[" * 5000 + "]" * 5000]
)
def test_no_list_ends_in_an_error_or_a_text_that_cannot_be_stored(name: str, items: str) -> None:
    score = scorer_for(name).score(question(SpansTarget(spans=("a", "b"))), "t", f"Answer: {items}")
    assert score.verdict in ("wrong", "unparsed")
    assert score.to_json().encode()


def test_one_numbered_line_is_a_text() -> None:
    score = scorer_for("spans").score(question(SpansTarget(spans=("1. FC Köln",))), "t", "Answer:\n1. FC Köln")
    assert score.verdict == "correct"


@pytest.mark.parametrize("name", SCORERS)
def test_a_target_of_another_kind_is_unscored(name: str) -> None:
    scorer = scorer_for(name)
    targets: list[Target] = [ChoiceTarget(letters=("A",)), NumberTarget(value=1), SpansTarget(spans=("x",))]
    scores = [scorer.score(question(target), "t", "Answer: A") for target in targets]
    # TAT-QA has numbers among its answers.
    assert sum(score.verdict == "unscored" and score.value is None for score in scores) == 2 - ("tatqa" in name)


def test_a_target_beyond_the_choices_is_unscored() -> None:
    score = scorer_for("choice").score(question(ChoiceTarget(letters=("A", "F")), CHOICES), "t", "Answer: A")
    assert (score.value, score.verdict) == (None, "unscored")
    assert "F" in score.reason


@pytest.mark.parametrize(
    ("name", "options", "told"),
    [
        ("essay", {}, ["'essay'", "choice, number, spans, tatqa"]),
        ("choice", {"rule": "exact"}, ["'rule'", "partial_credit"]),
        ("choice", {"unparsed": "zero"}, ["'zero'", "wrong, exclude"]),
        ("spans", {"rule": "fuzzy"}, ["'rule'", "Allowed are unparsed"]),
    ],
)
def test_an_unknown_scorer_or_option_is_refused(name: str, options: dict[str, Any], told: list[str]) -> None:
    with pytest.raises(ScoringError) as caught:
        scorer_for(name, **options)
    assert [word for word in told if word not in str(caught.value)] == []


def test_scores_under_different_options_have_different_names() -> None:
    scorers: list[Scorer] = [
        scorer_for("choice"),
        scorer_for("choice", unparsed="exclude"),
        scorer_for("choice", partial_credit=True),
        scorer_for("number"),
        scorer_for("number", unparsed="exclude"),
        scorer_for("spans"),
        scorer_for("tatqa"),
        scorer_for("tatqa", unparsed="exclude"),
        scorer_for("tatqa-f1"),
    ]
    assert len({scorer.name for scorer in scorers}) == len(scorers)
    assert scorers[0].name == "choice"
