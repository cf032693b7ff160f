"""Code that answers another question, and wording that takes what exists for what should be."""

import pytest
from tests.analysis.attribution.stories import QUESTION, ended, opened, ran, read

from toolablate.analysis.attribution.signals.signal_types import Reformulation
from toolablate.traces.records import ChoiceTarget, Question

GENERAL = "Prove or refute: for every positive integer n the number n**2 + n + 41 is prime."
CHINESE = "证明：对任意正整数n，该数都是素数。"


def reformulated(code: str, prompt: str = GENERAL) -> Reformulation:
    question = Question(id="g", prompt=prompt, choices=("true", "false"), target=ChoiceTarget(letters=("B",)))
    return read(*ran(code, "1"), *ended("Answer: A"), question=question).reformulation


@pytest.mark.parametrize(
    ("code", "kind", "line"),
    [
        ("found = 0\nfor n in range(1, 1000):\n    found += 1", "bounded_loop", 2),
        ("N = 10**5\nprint(all(f(n) for n in range(N)))", "bounded_loop", 2),
        ("n = 1\nwhile n < 5_000:\n    n += 1", "bounded_loop", 2),
        ("for i, n in enumerate(range(200)):\n    pass", "bounded_loop", 1),
        ("import numpy as np\nx = np.linspace(0, 1, 50)", "grid", 2),
        ("import random\nx = random.choice([1, 2])", "random_sample", 2),
        ("import numpy as np\nx = np.random.default_rng(0)", "random_sample", 2),
        ("import math\nmath.isclose(x, y)", "tolerance", 2),
        ("ok = abs(x - y) < 1e-9", "tolerance", 1),
        ("ok = abs(x - y) < 10**-9", "tolerance", 1),
        ("print(round(x, 2))", "rounding", 1),
    ],
)
def test_checks_of_finitely_many_cases_are_found_by_their_lines(code: str, kind: str, line: int) -> None:
    found = reformulated(code)
    assert (kind, line) in [(check.kind, check.line) for check in found.checks]
    assert found.score > 0
    assert found.events == (1,)
    assert found.checks[0].text == code.split("\n")[line - 1].strip()


@pytest.mark.parametrize(
    "code",
    [
        "for n in range(5):\n    print(n)",
        "for row in table:\n    print(row)",
        "while running:\n    pass",
        "choice(options)",
        "ok = abs(x - y) < 10",
        "range = 3",
        "this is no Python (",
        "",
    ],
)
def test_other_code_holds_no_check(code: str) -> None:
    assert reformulated(code).checks == ()
    assert reformulated(code).score == 0.0


def test_a_question_that_asks_for_a_number_is_answered_by_one() -> None:
    found = reformulated("for n in range(1000):\n    pass", "What is the sum of these 7 numbers?")
    assert found.checks
    assert (found.asks, found.score) == ((), 0.0)


@pytest.mark.parametrize(
    "bound",
    [
        "up to 1,000",
        "with 1 ≤ n ≤ 1000",
        "with $n < 10^3$",
        "from 1 to 1000",
        "among the first 1000 ones",
        "(n 不超过 1000)",
    ],
)
def test_a_bound_of_the_question_is_what_it_asks_for(bound: str) -> None:
    asked = f"For every n {bound}, is n**2 + n + 41 prime?"
    assert reformulated("for n in range(1, 1001):\n    pass", asked).score == 0.0
    assert reformulated("for n in range(1, 501):\n    pass", asked).score > 0
    assert reformulated("for n in range(1, 41):\n    pass", asked).score > 0


def test_the_form_of_the_answer_asks_nothing_in_general() -> None:
    assert reformulated("for n in range(1000):\n    pass", "Which gases are noble? Select all that apply.").asks == ()


def test_chinese_questions_ask_in_general_too() -> None:
    found = reformulated("for n in range(1000):\n    pass", CHINESE)
    assert found.asks == ("证明", "任意")
    assert found.score > 0


def test_several_kinds_say_more_and_exact_computation_says_less() -> None:
    loop = "for n in range(1000):\n    pass"
    one = reformulated(loop).score
    assert reformulated(f"{loop}\nimport random\nrandom.randint(1, 9)").score > one
    exact = reformulated(f"import sympy\n{loop}")
    assert exact.score == pytest.approx(one / 2)
    assert exact.symbolic == (1,)


def test_lines_of_a_notebook_alone_do_not_hide_the_rest() -> None:
    assert reformulated("%matplotlib inline\n!ls\nfor n in range(1000):\n    pass").checks[0].line == 3


HOSTILE = (
    "(" * 100_000,
    "x = " + "-" * 50_000 + "1",
    "a = 10**12\n" + "\n".join(f"a{i + 1} = a{i or ''} * a{i or ''}" for i in range(2_000)),
    "x = 9**9**9**9**9\nfor n in range(x):\n    pass",
    "f" + ".f" * 20_000,
    "[" + "range(99)," * 10_000 + "]",
    "for n in range(99): pass\n" * 4_000,
    "x = '\\d'",
    "\0",
    "x = 1" + "0" * 90_000,
)


@pytest.mark.parametrize("code", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_code_is_read_without_harm(code: str) -> None:
    assert len(reformulated(code).checks) <= 50


def hints(reply: str) -> int:
    return len(read(*opened("u", "a page"), *ended(reply)).norm_hints)


def test_what_exists_taken_for_a_norm_is_hinted_at() -> None:
    assert hints("The documentation describes a global lock, so the recommended way is a global lock.") == 1
    assert hints("文档介绍了全局锁，因此应该使用全局锁。") == 1


def test_what_is_possible_alone_and_what_should_be_alone_are_no_hints() -> None:
    assert hints("The documentation describes a global lock.") == 0
    assert hints("You should use a queue.") == 0
    assert hints("It can be done with a lock." + " Other things." * 40 + " You should rest.") == 0


def test_without_anything_read_there_is_no_hint() -> None:
    reply = "The documentation describes a lock, so you should use it."
    assert read(*ran("print(1)", "1"), *ended(reply), question=QUESTION).norm_hints == ()
