"""Mathematical answers, and what a reply can do to the process that compares them."""

import os
import signal
from collections.abc import AsyncIterator
from importlib.metadata import PackageNotFoundError

import pytest
import pytest_asyncio

from toolablate.benchmarks.scoring.math import MathScorer
from toolablate.benchmarks.scoring.math_worker import MathWorker
from toolablate.benchmarks.scoring.scorers import scorer_for
from toolablate.traces.errors import ScoringError
from toolablate.traces.records import Question, TextTarget

RIGHT = {
    "12000": ["Answer: 12 000"],
    "9/5": ["Answer: 1 4/5"],
    r"\frac{3}{4}": ["Answer: 0.75", r"So \boxed{\dfrac34}.", "Answer: 3/4"],
    r"\frac{\sqrt{3}}{2}": ["Answer: sqrt(3)/2", r"Answer: $\sqrt{3}/2$", "Answer: √3/2", "Answer: 0.866025"],
    r"\left( 3, \frac{\pi}{2} \right)": [r"Answer: $(3, \pi/2)$", "Answer: (3, pi/2)", "Answer: (3, π/2)"],
    r"10\sqrt{2}": [r"Answer: $10\sqrt 2$", r"\boxed{\sqrt{200}}"],
    "2x-1": ["Answer: -1+2x", "Answer: $y = 2x - 1$"],
    "(15,-11)": ["Answer: (15, -11)", r"Answer: \((15,-11)\)", "Answer: 15, -11"],
    r"1\frac{12}{13}": ["Answer: 25/13", r"Answer: $\frac{25}{13}$"],
    "292i": ["Answer: 292i"],
    "6-5i": ["Answer: -5i + 6"],
    "-4,-2,-1,1": ["Answer: 1, -1, -2, -4", "Answer: $-4$, $-2$, $-1$, and $1$", r"\boxed{\{-4,-2,-1,1\}}"],
    r"\text{June 20}": ["Answer: June 20", r"\boxed{\text{June 20}}"],
    "10!": ["Answer: 10!", "Answer: 3628800"],
    r"\text{Evelyn}": ["Answer: Evelyn", "Answer: evelyn."],
    r"\text{odd}": [r"$\boxed{\text{odd}}$"],
    r"\text{east}": ["The answer is east."],
    r"\text{(B)}": ["Answer: B", "Answer: (B)"],
    "[2,3)": ["Answer: [2, 3)", r"Answer: $2 \le x < 3$"],
    r"(-\infty,2)\cup(2,\infty)": [
        r"Answer: $(-\infty, 2) \cup (2, \infty)$",
        "Answer: (-inf, 2) U (2, inf)",
        "Answer: (−∞, 2) ∪ (2, ∞)",
    ],
    r"(-\infty,-2)\cup(2,\infty)": [
        r"\boxed{x<-2 \text{ or } x>2}",
        "Answer: $x<-2$ or $x>2$",
        r"\boxed{x<-2 \lor x>2}",
        r"\boxed{x<-2 \cup x>2}",
        "Answer: x > 2 or x < -2",
        r"\boxed{x \in (-\infty,-2) \cup (2,\infty)}",
    ],
    r"x \in (-\infty,-1)\cup(2,\infty)": ["Answer: $x<-1$ or $x>2$"],
    r"x \le -2 \text{ or } 3 < x < 5": [r"\boxed{(-\infty,-2] \cup (3,5)}", r"Answer: $3<x<5$ or $x \leq -2$"],
    r"\frac{2\pi}{3}": [r"Answer: 2\pi/3 radians", r"Answer: $\frac{2\pi}{3}$ radians"],
    r"\begin{bmatrix} 1 & 0 \\ 0 & 1 \end{bmatrix}": ["Answer: [[1,0],[0,1]]"],
    "3,4": ["Answer: (4, 3)"],
    "3:2": ["Answer: 3/2"],
    r"6\text{ feet }3\text{ inches}": ["Answer: 6 feet 3 inches", r"\boxed{6 \text{ feet } 3 \text{ inches}}"],
    r"x \in [-2,7]": [r"\boxed{[-2,7]}"],
    "[-2,7]": [r"Answer: $x \in [-2,7]$"],
    r"\begin{pmatrix} -1 \\ 3 \end{pmatrix}": [
        r"Answer: $\begin{pmatrix} -1 \\ 3 \end{pmatrix}$",
        r"\boxed{\begin{bmatrix} -1 \\ 3 \end{bmatrix}}",
        "Answer:\n\\[\n\\begin{pmatrix} -1 \\\\ 3 \\end{pmatrix}\n\\]",
    ],
    r"\begin{pmatrix} 1/2 & 0 \\ 0 & 1 \end{pmatrix}": [
        r"Answer: $$\begin{pmatrix} \frac{1}{2} & 0 \\ 0 & 1 \end{pmatrix}$$"
    ],
    "y = 2x + 3": ["Answer: y = 2x + 3", "Answer: $y-3=2x$", "Answer: 2x + 3"],
    "3x+4y-7=0": ["Answer: $3x + 4y = 7$"],
    "5": [
        "Answer: x = 5",
        "Answer: $f(2) = 5$",
        "Answer: 5 cm",
        r"Answer: $5\text{ cm}$",
        "Answer: $5$ square units",
        "**Answer:** 5",
        "**Answer: 5**",
        r"So it is \boxed{5}, which occurs when $x = 4$.",
    ],
    "2516_8": ["Answer: $2516_8$", r"\boxed{2516_{8}}"],
    r"90^\circ": ["Answer: 90", "Answer: 90°", "Answer: 90 degrees"],
    r"\$32,\!348": ["Answer: $32,348", "Answer: 32348"],
    r"11,\! 111,\! 111,\! 100": ["Answer: 11,111,111,100"],
    r"50\%": ["Answer: 50%", "Answer: 50"],
    r"1 \pm \sqrt{19}": [r"Answer: $1+\sqrt{19}, 1-\sqrt{19}$"],
    r"1+\sqrt{19}, 1-\sqrt{19}": [r"Answer: $1\pm\sqrt{19}$"],
    "x^2+2x+1": ["Answer: (x+1)^2", "Answer: x**2 + 2*x + 1", "Answer: x² + 2x + 1"],
    "(x+1)(x-1)": ["Answer: $x^2-1$"],
    r"\{1,2,3\}": ["Answer: {3, 2, 1}"],
    r"\frac{9}{5}": [r"Answer: \frac95"],
    r"70 \text{ inches}": ["Answer: 70"],
    "6:00 p.m.": ["Answer: 6:00 p.m."],
    r"\frac{1}{2}": ["Answer: ½"],
    r"\frac{3}{2}": ["Answer: 1½", "Answer: approximately 1.5", "Answer: ≈ 1.5"],
    "16": ["8 + 8 = 16\n#### 16", "**Answer**: 16", "16\n\nQ: And now?\nA: 7\nAnswer: 7"],
    "3": ["Answer: 3 (not 4)", "Answer: 3, since 4 is even", "Answer: 3 because 4 is even"],
    r"1.5 \times 10^8": ["Answer: 150000000", r"Answer: $1.5\cdot 10^{8}$", "Answer: 1.5e8"],
}

WRONG = {
    r"1.2 \times 10^{-7}": ["Answer: 0.00000013"],
    r"(-\infty,-2)\cup(2,\infty)": [
        r"\boxed{x<-2 \text{ or } x\ge 2}",
        r"\boxed{x<-2 \text{ or } y>2}",
        r"\boxed{x<2 \text{ or } x>-2}",
        r"\boxed{x<-2}",
    ],
    "6": [
        r"\boxed{6\text{ apples and }2\text{ pears}}",
        r"\boxed{6\text{ feet }3\text{ inches}}",
        r"\boxed{6\text{ hours }30\text{ minutes}}",
        r"\boxed{6\text{ hours}, 30\text{ minutes}}",
        r"\boxed{6\text{ feet }3}",
    ],
    r"6\text{ feet }3\text{ inches}": ["Answer: 6", r"\boxed{6\text{ feet}}", "Answer: 6 feet 4 inches"],
    r"\begin{bmatrix} 1 & 0 \\ 0 & 1 \end{bmatrix}": ["Answer: [[1,0],[1,0]]"],
    "(1,2)": ["Answer: {1,2}", r"\boxed{\{1,2\}}"],
    "12": [
        "Answer: 3 (not 4)",
        "Answer: 3, since 4 is even",
        "Answer: 1 2",
        "Answer: 12 and 13",
        "Answer: x = 11, y = 12",
        r"Answer: $x \ne 12$",
    ],
    r"\frac{3}{4}": ["Answer: 4/3"],
    r"\frac{\sqrt{3}}{2}": [r"Answer: $\frac{\sqrt{2}}{2}$", "Answer: 0.87"],
    r"\left( 3, \frac{\pi}{2} \right)": [r"\boxed{(\frac{\pi}{2}, 3)}"],
    r"10\sqrt{2}": ["Answer: 10"],
    "2x-1": ["Answer: 2", "Answer: 2x+1"],
    "(15,-11)": ["Answer: (-11, 15)", "Answer: 15", "Answer: -11, 15"],
    r"1\frac{12}{13}": [r"Answer: $\frac{12}{13}$"],
    "292i": ["Answer: 292"],
    "6-5i": ["Answer: 6+5i"],
    "-4,-2,-1,1": ["Answer: -4, -2, -1"],
    r"\text{June 20}": ["Answer: June 21"],
    "10!": ["Answer: 10"],
    r"\text{Evelyn}": ["Answer: Angela"],
    r"\text{even}": ["Answer: neve"],
    r"\text{(B)}": ["Answer: C"],
    r"\text{Yes}": ["Answer: No"],
    "[2,3)": ["Answer: [2,3]", "Answer: (2,3)"],
    r"(-\infty,2)\cup(2,\infty)": [r"Answer: $(-\infty, \infty)$"],
    "[-2,7]": ["Answer: $[-2,8]$"],
    r"\begin{pmatrix} -1 \\ 3 \end{pmatrix}": [r"\boxed{\begin{pmatrix} 3 \\ -1 \end{pmatrix}}"],
    "y = 2x + 3": ["Answer: $y = 2x - 3$"],
    "5": ["Answer: 6"],
    "2516_8": ["Answer: $2516_7$", "Answer: 2517_8"],
    r"90^\circ": ["Answer: 45 degrees"],
    r"1,\!000": ["Answer: 1001"],
    r"1 \pm \sqrt{19}": [r"Answer: $1+\sqrt{19}$"],
    "x^2+2x+1": ["Answer: x^2+1"],
    r"\{1,2,3\}": ["Answer: {1,2}"],
}


def question(*answers: str) -> Question:
    return Question(id="q", prompt="p", target=TextTarget(kind="math", answers=answers))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def scorer() -> AsyncIterator[MathScorer]:
    scorer = MathScorer()
    yield scorer
    await scorer.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def hurried() -> AsyncIterator[MathScorer]:
    scorer = MathScorer(worker=MathWorker(seconds=1.0))
    await scorer.open()
    yield scorer
    await scorer.close()


pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.mark.deep
async def test_answers_in_other_forms_are_right_and_others_wrong(scorer: MathScorer) -> None:
    faults = []
    for wanted, pairs in ((1.0, RIGHT), (0.0, WRONG)):
        for gold, replies in pairs.items():
            for reply in replies:
                score = await scorer.score(question(gold), "t", reply)
                faults += [(gold, reply, score.verdict, score.reason)] if score.value != wanted else []
    assert faults == []


async def test_the_answer_itself_is_right_in_every_form(scorer: MathScorer) -> None:
    faults = []
    for gold in {**RIGHT, **WRONG}:
        for reply in (f"Answer: {gold}", f"So it is \\boxed{{{gold}}}, where x = 4.", f"Answer: ${gold}$", gold):
            score = await scorer.score(question("unlikely", gold), "t", reply)
            faults += [(reply, score.verdict, score.reason)] if score.value != 1 else []
    assert faults == []


@pytest.mark.parametrize(
    ("gold", "reply", "value"),
    [
        (r"\$1.5\text{ million}", "1.5", 0),
        (r"\$1.5\text{ million}", "1.5 million dollars", 1),
        ("1500000", r"\$1.5\text{ million dollars}", 1),
        (r"3\text{ million}", "3 billion", 0),
    ],
)
async def test_million_is_no_unit(scorer: MathScorer, gold: str, reply: str, value: float) -> None:
    assert (await scorer.score(question(gold), "t", f"Answer: {reply}")).value == value


@pytest.mark.parametrize("reply", ["", "I do not know.\nSorry.", r"\boxed{}", "Answer: nobody knows", None])
async def test_what_is_no_formula_is_unparsed(scorer: MathScorer, reply: str | None) -> None:
    score = await scorer.score(question(r"\frac{1}{2}"), "t", reply)
    assert (score.value, score.verdict) == (0.0, "unparsed")
    assert score.reason


@pytest.mark.parametrize(
    "formula",
    [
        "9^{9^{9^{9}}}",
        "100000000000!",
        "(" * 900,
        r"\sum_{n=1}^{10000000000} \frac{1}{n^3+\sin n}",
        r"\sqrt{" * 150 + "2" + "}" * 150,
        "x" * 1_900,
        "1" * 5_000,
        r"\text{__import__('os').system('touch /tmp/was_here')}",
        "__import__('os').system('true')",
    ],
)
async def test_a_hostile_formula_costs_its_own_process_alone(hurried: MathScorer, formula: str) -> None:
    process = hurried.worker._process
    score = await hurried.score(question("17"), "t", f"Answer: ${formula}$")
    assert score.value == 0
    assert (await hurried.score(question("17"), "t", "Answer: 34/2")).value == 1
    assert hurried.worker._process is process


async def test_a_worker_that_is_killed_makes_no_wrong_answer() -> None:
    worker = MathWorker()
    scorer = MathScorer(worker=worker)
    await scorer.open()
    assert worker._process is not None
    os.kill(worker._process.pid, signal.SIGKILL)
    with pytest.raises(ScoringError) as caught:
        await scorer.score(question("17"), "t", "Answer: 34/2")
    assert caught.value.retryable
    assert (await scorer.score(question("17"), "t", "Answer: 34/2")).value == 1
    await scorer.close()
    await scorer.close()


async def test_a_worker_that_does_not_start_makes_no_wrong_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "/nonexistent")
    monkeypatch.setattr("sys.executable", "/bin/false")
    with pytest.raises(ScoringError) as caught:
        await MathScorer().score(question("17"), "t", "Answer: 34/2")
    assert (caught.value.code, caught.value.retryable) == ("no_worker", True)


async def test_a_missing_package_is_named_with_the_command_that_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr("toolablate.benchmarks.scoring.math_worker.version", missing)
    with pytest.raises(ScoringError) as caught:
        scorer_for("math")
    assert caught.value.code == "no_math_verify"
    assert "pip install" in caught.value.hint
    assert "[math]" in caught.value.hint
