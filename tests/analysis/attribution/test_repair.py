"""What it takes to make a program's result right: other numbers of the question, or another computation."""

import random

import pytest
from tests.analysis.attribution.stories import ended, ran, read

from toolablate.traces.records import NumberTarget, Question, SpansTarget, Target

TABLE = "Debt | 26,700 | 25,600\nSales | 3,044.5 | 2,822.1\nTariff | -27,603 | 0\nWhat was the change?"


def kind(code: str, output: str, target: Target, prompt: str = TABLE) -> str | None:
    found = read(*ran(code, output), *ended(output), question=Question(id="s", prompt=prompt, target=target)).repair
    assert found is None or found.event == 1
    return found and found.kind


@pytest.mark.parametrize(
    ("code", "output", "wanted", "expected"),
    [
        # The number of the row above, the digits of another one, and both of another row.
        ("old = 25600\nnew = 3044.5\nprint(new - old)", "-22555.5", 222.4, "literal"),
        ("old = 2822.1\nnew = 26700\nprint(new - old)", "23877.9", 222.4, "literal"),
        ("old = 2822.7\nnew = 3044.5\nprint(new - old)", "221.8", 222.4, "literal"),
        ("old = 25600\nnew = 26700\nans = new - old", "1100", 222.4, "literal"),
        ("def f():\n    old = 2822.7\n    return 3044.5 - old\nold = f()\nprint(old)", "221.8", 222.4, "literal"),
        # The minus that the table has.
        ("new = 27603\nold = 0\nprint(new - old)", "27603", -27603, "literal"),
        # Changed places, another operation, a number of the formula, and a right result.
        ("old = 25600\nnew = 26700\nprint(old - new)", "-1100", 1100, None),
        ("old = 2822.1\nnew = 3044.5\nprint(new + old)", "5866.6", 222.4, None),
        ("old = 2822.1\nnew = 3044.5\nprint((new + old) / 3)", "1955.53", 2933.3, None),
        ("old = 2822.1\nnew = 3044.5\nprint(new - old)", "222.4", 222.4, None),
        # A right answer of one digit is met by chance, and what is more than arithmetic is not followed.
        ("old = 2822.7\nnew = 3044.5\nprint(new - old)", "221.8", 5, None),
        ("old = sorted([2822.7])[0]\nprint(3044.5 - old)", "221.8", 222.4, None),
        ("print(", "", 222.4, None),
        (f"old = 2822.7\nnew = {10**400}\nprint(new - old)", "1", 222.4, None),
        ("def f():\n    return f()\nold = 2822.7\nprint(f() + old)", "1", 222.4, None),
    ],
)
def test_other_numbers_of_the_question_repair_a_program_or_do_not(
    code: str, output: str, wanted: float, expected: str | None
) -> None:
    assert kind(code, output, NumberTarget(value=wanted)) == expected


def test_a_program_that_only_states_something_computes_nothing() -> None:
    spans = SpansTarget(spans=("net sales",))
    shown = "import json\nprint(json.dumps({'answer': ans, 'scale': units}))"
    assert kind(f"ans = 'gross sales'\nunits = ''\n{shown}", '{"answer": "gross sales"}', spans) == "stated"
    assert kind(f"ans = max(['gross sales'])\nunits = ''\n{shown}", '{"answer": "gross sales"}', spans) is None
    assert kind("print('gross sales')", "gross sales", spans) is None


def test_a_call_that_failed_has_no_result_to_repair() -> None:
    question = Question(id="s", prompt=TABLE, target=NumberTarget(value=222.4))
    events = ran("old = 2822.7\nprint(3044.5 - old)", "", status="error", error="NameError")
    assert read(*events, *ended("5"), question=question).repair is None


def test_wrong_numbers_are_told_from_wrong_formulas() -> None:
    """Tables of 30 numbers: a number from another cell is found nearly always; of programs that add or multiply where a
    difference is asked, few are called repairable."""
    rng, found = random.Random(5), {"literal": 0, "formula": 0}
    for _ in range(60):
        cells = rng.sample(range(1_000, 99_999), 30)
        prompt = " | ".join(f"{cell:,}" for cell in cells)
        old, new, other = rng.sample(cells, 3)
        slip = f"old = {other}\nnew = {new}\nprint(new - old)"
        found["literal"] += kind(slip, str(new - other), NumberTarget(value=new - old), prompt) == "literal"
        sign = rng.choice("+*")
        formula = f"old = {old}\nnew = {new}\nprint(new {sign} old)"
        result = new + old if sign == "+" else new * old
        found["formula"] += kind(formula, str(result), NumberTarget(value=new - old), prompt) == "literal"
    assert found["literal"] >= 59
    assert found["formula"] <= 1, found


def test_a_long_question_takes_little_time() -> None:
    prompt = " ".join(f"{number}.5" for number in range(1_000, 9_000))
    code = "\n".join(f"x{n} = {n + 10}.25" for n in range(40)) + "\nprint(x1 + x2 * x3)"
    assert kind(code, "1", NumberTarget(value=123.456), prompt) is None
