from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import pytest

from toolablate.benchmarks import scorer_for
from toolablate.benchmarks.extraction import read_number
from toolablate.traces.records import NumberTarget, Question

Recorded = Callable[[str], Iterator[dict[str, Any]]]


@pytest.mark.parametrize(
    ("reply", "number"),
    [
        ("Answer: 18", "18"),
        ("Answer: $1,234.50", "1234.50"),
        ("Answer: 50%", "50"),
        ("Answer: 50\\%", "50"),
        ("**Answer:** 3.0 m/s", "3.0"),
        ("\\boxed{18}", "18"),
        ("$\\boxed{\\frac{1}{2}}$", "1/2"),
        ("Answer: -\\frac{1}{3}", "-1/3"),
        ("Answer: 3e8", "3e8"),
        ("Answer: 3 × 10^8 m/s", "3e8"),
        ("Answer: $3\\times10^{8}$", "3e8"),
        ("Answer: 3*10^8", "3e8"),
        ("Answer: 6.02x10²³", "6.02e23"),
        ("Answer: 10^5", "1e5"),
        ("Answer: 1/2", "1/2"),
        ("Answer: 3/4 cup", "3/4"),
        ("Answer: 60 km/h", "60"),
        ("Answer: 9.8 m/s^2", "9.8"),
        ("Answer: approximately 9.8 m/s^2", "9.8"),
        ("Answer: x = 5", "5"),
        ("Answer: 3 + 4 = 7", "7"),
        ("Answer: −5", "-5"),
        ("Answer: -5", "-5"),
        ("Answer: (5)", "5"),
        ("Answer: 5 ± 0.1", "5"),
        ("答案：18元", "18"),
        ("答案是约18", "18"),
        ("The answer is that Janet makes 18 dollars. It took 3 days.", "18"),
        ("#### 18", "18"),
        ("A: 18", "18"),
        ("18", "18"),
        ("18 dollars", "18"),
        ("Answer: 1{,}234", "1234"),
        ("Answer: 1\\,234", "1234"),
        ("Answer: .5", ".5"),
        ("Answer: 5.", "5"),
        ("Answer: 5 million", "5"),
        ("Answer: US$5", "5"),
        ("Answer: *18*", "18"),
        ("Answer: **18**", "18"),
        ("So 3*6=18. The answer is 18 dollars a day.", "18"),
        ("Answer: 100 °C", "100"),
        ("Answer: 2.5e-3 mol", "2.5e-3"),
        ("Answer:\n\n42", "42"),
        ("Answer: 42\n\nLet me know!", "42"),
        ("The answer is 5. No wait. The answer is 6.", "6"),
        ("Answer: 0", "0"),
        ("Answer: -0.5", "-0.5"),
        ("Answer: $-17$", "-17"),
        ("Answer: 1,000,000", "1000000"),
        ("<answer>5</answer>", "5"),
        ("Answer: '5'", "5"),
        ("Answer: 3.5 (rounded)", "3.5"),
        ("Answer: 10^{-3}", "1e-3"),
        ("Answer: 5-day", "5"),
        ("Answer: 20 mmHg", "20"),
        ("Answer: 1.5x", "1.5"),
        ("Answer: $5 per 3 eggs", "5"),
    ],
)
def test_numbers_are_read_exactly(reply: str, number: str) -> None:
    reading = read_number(reply)
    assert reading.value is not None, reading.reason
    assert Fraction(reading.value[0]) == Fraction(number)


@pytest.mark.parametrize(
    "reply",
    [
        "Answer: x = 5, y = 7",
        "Answer: 10-12",
        "Answer: 10 to 12",
        "Answer: 10 or 12",
        "Answer: 3,14",
        "Answer: 1 234",
        "Answer: 2^10",
        "Answer: 2\\pi",
        "Answer: 2π",
        "Answer: \\sqrt{2}",
        "The answer is that Janet makes 18 dollars in 3 days.",
        "I saw 5 ducks were sold in town",
        "Answer: 1e999",
        "Answer: 1/0",
        "Answer: " + "9" * 1000,
        "Answer: nan",
        "",
        "Answer: 12:30",
        "Answer: 12,34",
        "Answer: 5/2/3",
        "Answer: 5 x 3",
        "Answer: 1.2.3",
        "Answer: five",
        None,
        "The answer is 5. Hm. The answer is 5 or 6.",
        "Answer: 1e-99999",
        "Answer: 10^99999",
        "Answer: 1" + "0" * 400,
        "Answer: infinity",
        "Answer: \\frac{1}{0}",
        "Answer: \\frac12",
        "Answer: 2024-01-05",
        "Answer: 3(4)",
        "Answer: ٣",
        "Answer: ²",
    ],
)
def test_what_is_not_one_plain_number_is_unread(reply: str | None) -> None:
    reading = read_number(reply)
    assert reading.value is None
    assert reading.reason


@pytest.mark.parametrize(
    ("reply", "seen"),
    [
        ("Answer: 98,6", "'98,6'"),
        ("It is\n98,6", "'98,6'"),
        ("Answer: five of them\nor so", "'five of them'"),
        ("Answer: 1e999", "'1e999'"),
        ("Answer: 1/0", "'1/0'"),
        ("Answer: 1 or " + "2" * 100, f"'1 or {'2' * 55}...'"),
    ],
)
def test_the_reason_shows_what_was_seen(reply: str, seen: str) -> None:
    assert read_number(reply).reason.endswith(f": {seen}")


@pytest.mark.parametrize(
    ("answer", "target", "right"),
    [
        ("0.3", NumberTarget(value=0.3), True),
        ("3/10", NumberTarget(value=0.3), True),
        ("0.30000000000000004", NumberTarget(value=0.3), False),
        ("101", NumberTarget(value=100, relative=0.01), True),
        ("99", NumberTarget(value=100, relative=0.01), True),
        ("101.0001", NumberTarget(value=100, relative=0.01), False),
        ("0.06", NumberTarget(value=0.05, absolute=0.01), True),
        ("-99", NumberTarget(value=-100, relative=0.01), True),
        ("99", NumberTarget(value=-100, relative=0.01), False),
        ("0.001", NumberTarget(value=0, relative=0.5), False),
        ("50%", NumberTarget(value=50), True),
        ("50%", NumberTarget(value=0.5), False),
        ("1e300", NumberTarget(value=1e300), True),
        ("105", NumberTarget(value=100, relative=0.01, absolute=5), True),
    ],
)
def test_tolerance_is_decimal_and_includes_its_ends(answer: str, target: NumberTarget, right: bool) -> None:
    score = scorer_for("number").score(Question(id="q", prompt="p", target=target), "t", f"Answer: {answer}")
    assert score.verdict == ("correct" if right else "wrong")


def test_recorded_correctness_of_gsm8k_solutions(recorded: Recorded) -> None:
    scorer, seen = scorer_for("number"), Counter[tuple[str, bool]]()
    for row in recorded("gsm8k_model_solutions.jsonl"):
        wanted = float(row["ground_truth"].rpartition("A: ")[2].replace(",", ""))
        question = Question(id="q", prompt="p", target=NumberTarget(value=wanted))
        for model in ("6b_finetuning", "6b_verification", "175b_finetuning", "175b_verification"):
            solution = row[model]
            seen[scorer.score(question, "t", solution["solution"]).verdict, solution["is_correct"]] += 1
    assert seen["correct", True] == 2001
    assert seen["correct", False] == seen["wrong", True] == seen["unparsed", True] == 0
    # Ten solutions break off before their answer; none of them is read as one.
    assert seen["unparsed", False] == 10


def test_recorded_answers_of_tora(recorded: Recorded) -> None:
    agreed = unread = 0
    for row in recorded("tora_70b_gsm8k.jsonl"):
        reading = read_number(row["code"][0])
        unread += reading.value is None
        prediction = row["pred"][0].replace(",", "").replace("\\frac{840}{13}", "840/13")
        agreed += reading.value is not None and prediction != "" and Fraction(reading.value[0]) == Fraction(prediction)
    assert agreed >= 1305
    assert unread <= 12
