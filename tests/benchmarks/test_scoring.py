import random
import re
import string
from collections import Counter
from typing import Any

import pytest
from tests.benchmarks.kinds import TARGETS, kinds_scored

from toolablate.benchmarks.scoring.scorer import Scorer
from toolablate.benchmarks.scoring.scorers import SCORERS, scorer_for
from toolablate.benchmarks.scoring.texts import choice_in_words, f1
from toolablate.traces.errors import ScoringError
from toolablate.traces.records import (
    ChoiceTarget,
    PatternTarget,
    Question,
    SpansTarget,
    Target,
    TextTarget,
)

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


OF_TEXTS = {"text", "math", "reference"}
SCORED = {"choice": {"choice"}, "number": {"number"}, "spans": {"spans"}, "regex": {"regex"}, "code": {"code"}}


@pytest.mark.parametrize("name", SCORERS)
def test_a_target_of_another_kind_is_unscored(name: str) -> None:
    assert kinds_scored(name) == SCORED.get(name, OF_TEXTS)


@pytest.mark.parametrize("target", TARGETS)
def test_each_target_has_a_scorer_by_its_kind(target: Target) -> None:
    if target.kind != "reference":
        assert scorer_for(target.kind).name == {"text": "exact"}.get(target.kind, target.kind)


@pytest.mark.parametrize(
    ("name", "answers", "reply", "value"),
    [
        ("exact", ["Zürich"], "I think so.\nAnswer: zürich.", 1),
        ("exact", ["Zürich"], "Zürich", 1),
        ("exact", ["Zürich"], "Answer: “Zürich”", 1),
        ("exact", ["Zürich"], r"So it is $\boxed{Zürich}$, as we saw.", 1),
        ("exact", ["Zürich"], "Answer: Zurich", 0),
        ("exact", ["Zürich"], "Answer: Zürich, Bern", 0),
        ("exact", ["NYC", "New York"], "**Answer:** New  York", 1),
        ("exact", ["ＡＢＣ"], "<think>Answer: no</think>Answer: abc", 1),
        ("exact", ["blue"], r"\boxed{\text{blue}}", 1),
        ("exact", ["blue"], r"Answer: $\text{blue}$", 1),
        ("exact", ["blue"], r"Answer: \textbf{blue}.", 1),
        ("exact", [r"\textbf{blue}"], r"Answer: \textbf{blue}", 1),
        ("exact", ["3.5"], "Answer: $3.5$", 1),
        ("exact", ["$5"], "Answer: $5", 1),
        ("exact", ["Paris"], "Answer: <i><b>Paris</b></i>", 1),
        ("exact", ["Paris"], "Paris\n\nQ: The capital of Italy?\nA: Rome", 1),
        ("contains", ["blue"], r"It is \textbf{blue}.", 1),
        ("contains", ["12"], "It is 12.5", 0),
        ("contains", ["5"], "Answer: -5", 0),
        ("contains", ["5"], "Answer: .5", 0),
        ("contains", ["5"], "On pages 3-5.", 1),
        ("contains", ["-5"], "Answer: −5", 1),
        ("contains", ["12"], "It is 12,500", 0),
        ("contains", ["500"], "It is 12,500", 0),
        ("contains", ["5"], "1, 5, 7", 1),
        ("contains", ["3.5"], "It is 3.5.", 1),
        ("f1", ["blue"], r"Answer: $\text{blue}$", 1),
        ("f1", ["Paris"], "Answer: <b>Paris</b>", 1),
        ("contains", ["New York"], "It lies in new york, of course.", 1),
        ("contains", ["York"], "It lies in Yorkshire.", 0),
        ("contains", ["4"], "There are 42.", 0),
        ("contains", ["4"], "There are 4.", 1),
        ("contains", ["北京"], "答案是北京市", 1),
        ("contains", ["C++"], "Written in C++.", 1),
        ("contains", ["no"], "<think>no</think>yes", 0),
        ("f1", ["Denver Broncos"], "Answer: the Denver Broncos", 1),
        ("f1", ["Denver Broncos"], "Answer: Denver", 2 / 3),
        ("f1", ["Carolina", "Denver Broncos"], "Denver Broncos!", 1),
        ("f1", ["gold"], "It was made of\nsolid gold", 2 / 7),
        ("f1", ["blue"], "Answer: red", 0),
    ],
)
def test_texts(name: str, answers: list[str], reply: str, value: float) -> None:
    score = scorer_for(name).score(question(TextTarget(answers=tuple(answers))), "t", reply)
    assert score.value == pytest.approx(value)
    assert score.verdict == ("correct" if value == 1 else "partial" if value else "wrong")


@pytest.mark.parametrize("name", ["exact", "contains", "f1"])
def test_an_empty_reply_is_unparsed(name: str) -> None:
    for options, value in (({}, 0.0), ({"unparsed": "exclude"}, None)):
        for reply in (None, "", " \n", "<think>Answer: x</think>"):
            score = scorer_for(name, **options).score(question(TextTarget(answers=("x",))), "t", reply)
            assert (score.value, score.verdict) == (value, "unparsed")


def _published_f1(prediction: str, truth: str) -> float:
    """SQuAD's evaluate-v1.1.py, written anew from its description."""

    def tokens(text: str) -> list[str]:
        text = "".join(character for character in text.lower() if character not in set(string.punctuation))
        return " ".join(re.sub(r"\b(a|an|the)\b", " ", text).split()).split()

    given, wanted = tokens(prediction), tokens(truth)
    common = Counter(given) & Counter(wanted)
    shared = sum(common.values())
    if shared == 0:
        return 0.0
    precision, recall = shared / len(given), shared / len(wanted)
    return (2 * precision * recall) / (precision + recall)


def test_f1_is_that_of_squad() -> None:
    rng = random.Random(17)
    pieces = [
        "the",
        "a",
        "An",
        "cat",
        "Cat's",
        "U.S.",
        "1,000",
        "café",
        "and",
        "-",
        "the-end",
        "theory",
        "a.",
        "“x”",
        "it",
    ]
    for _ in range(2_000):
        given, wanted = (" ".join(rng.choices(pieces, k=rng.randint(1, 7))) for _ in range(2))
        assert f1(given, wanted) == pytest.approx(_published_f1(given, wanted)), (given, wanted)


@pytest.mark.parametrize(
    ("pattern", "reply", "value"),
    [
        (r"(?i)\bparis\b", "It is Paris.", 1),
        (r"(?i)\bparis\b", "It is Parisian.", 0),
        (r"^#### 18$", "so\n#### 18", 0),
        (r"(?m)^#### 18$", "so\n#### 18", 1),
        (r"(a*)*$", "a" * 100_000 + "b", 1),
    ],
)
def test_a_pattern_of_the_question(pattern: str, reply: str, value: float) -> None:
    assert scorer_for("regex").score(question(PatternTarget(pattern=pattern)), "t", reply).value == value


def test_a_pattern_of_the_plan_finds_the_answer() -> None:
    scorer, asked = scorer_for("regex", pattern=r"ANSWER: (\w+)"), question(TextTarget(answers=("Paris",)))
    assert scorer.name == r"regex[pattern=ANSWER: (\w+)]"
    scores = [scorer.score(asked, "t", reply) for reply in ("ANSWER: Rome ANSWER: paris", "ANSWER: Rome", "Paris")]
    assert [(score.value, score.verdict) for score in scores] == [(1, "correct"), (0, "wrong"), (0, "unparsed")]
    for unfit in ("(", r"(?=x)", r"(x)\1"):
        with pytest.raises(ScoringError, match="not a valid RE2 pattern"):
            scorer_for("regex", pattern=unfit)


def test_a_target_beyond_the_choices_is_unscored() -> None:
    score = scorer_for("choice").score(question(ChoiceTarget(letters=("A", "F")), CHOICES), "t", "Answer: A")
    assert (score.value, score.verdict) == (None, "unscored")
    assert "F" in score.reason


@pytest.mark.parametrize(
    ("name", "options", "told"),
    [
        ("essay", {}, ["'essay'", "choice, number, spans, math", "tatqa"]),
        ("choice", {"rule": "exact"}, ["'rule'", "partial_credit"]),
        ("number", {"pattern": "x"}, ["'pattern'", "unparsed"]),
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


@pytest.mark.parametrize(
    ("reply", "letter"),
    [
        ("It is in the east.\nAnswer: Nairobi", "B"),
        ("Answer: **nairobi.**", "B"),
        ("\\boxed{\\text{Nairobi}}", "B"),
        ("Nairobi", "B"),
        # Of what is a name of nothing it was shown, only the words count.
        ("Answer: C", "D"),
        ("Answer: B", None),
        ("Answer: B. Nairobi", None),
        ("Answer: Nairobi City", None),
        ("Answer: twice", None),
        ("", None),
        (None, None),
    ],
)
def test_a_choice_that_was_not_shown_is_read_by_its_words(reply: str | None, letter: str | None) -> None:
    choices = ("Mombasa", "Nairobi", "twice", "C", "Twice")
    question = Question(id="q", prompt="?", choices=choices, target=ChoiceTarget(letters=("B",)))
    assert choice_in_words(question, reply).value == (letter and (letter,))
