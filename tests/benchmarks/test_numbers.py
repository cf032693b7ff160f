from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import pytest

from toolablate.benchmarks.answer_extraction.numbers import read_number
from toolablate.benchmarks.scoring.scorers import scorer_for
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
        ("Answer: 5 million", "5000000"),
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
        ("Answer: $5 per 3 eggs", "5"),
        ("So it is \\boxed{10}, which occurs when x = 4.", "10"),
        ("$\\boxed{4}$ 30-minute episodes", "4"),
        ("So \\boxed{3}. The answer was 5 at first.", "3"),
        ("Answer: She makes $18 a day.", "18"),
        ("Answer: Total: $18", "18"),
        ("The answer is 18, which is more than 12.", "18"),
        ("The answer is 18 because 20 - 2 = 18.", "18"),
        ("Answer: 20 eggs - 2 eggs = 18 eggs", "18"),
        ("Answer: USD 261,518", "261518"),
        ("US$261,518", "261518"),
        ("Answer: Rs. 500", "500"),
        ("Answer:\n• 18", "18"),
        ("The answer is (0).\n\nPlease give the answer to the last question, as it is the only one left.", "0"),
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
        "Answer: 1 234/5 6",
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
        "Answer: five six",
        None,
        "The answer is 5. Hm. The answer is 5 or 6.",
        "Answer: 1e-99999",
        "Answer: 10^99999",
        "Answer: 1" + "0" * 400,
        "Answer: infinity",
        "Answer: \\frac{1}{0}",
        "Answer:\n- 18",
        "Answer:\n> 18",
        "A: 10+John's age",
        "The answer is ['2019', '2018']",
        "（2）推测水库放水时间安排在夜间的理由",
        "Answer: over 50 countries",
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


# Forms in which MATH's answers are published, and in which models give them.
PLAIN = r"""
-5=-5  1,234=1234  10,\!080=10080  3,\!628,\!800=3628800  1{{,}}000{{,}}000=1000000  12 000=12000  12\,000=12000
12 345 678=12345678  \$12=12  \$1,\!200=1200  -\$5=-5  12\%=12  1.25 \%=1.25  50^\circ=50  50^{{\circ}}=50
50^\circ\text{{F}}=50  12\text{{ cm}}=12  12\mbox{{ inches}}^2=12  120\text{{ m}}^3=120  18\,\text{{miles per hour}}=18
5\text{{ ft/s}}=5  \text{{12 cm}}=12  .5=1/2  -.5=-1/2  \frac34=3/4  \frac95=9/5  \frac 59=5/9  \frac3{{14}}=3/14
\frac{{1}}{{{{36}}}}=1/36  -\dfrac{{3}}{{8}}=-3/8  \frac{{-3}}{{4}}=-3/4  \frac{{1,234}}{{5}}=1234/5  -3/4=-3/4
\left(\frac{{1}}{{2}}\right)=1/2  {{3 \over 4}}=3/4  \frac{{5}}{{3}}\text{{ cups}}=5/3  ½=1/2
1\frac{{12}}{{13}}=25/13  -1\frac12=-3/2  1 4/5=9/5  1½=3/2
x = 5=5  \angle ABC = 60^\circ=60  f(2) = 5=5  a_{{10}} = 5=5  2^{{10}} = 1024=1024  a + b = 17=17  3 + 4 = 7=7
3 \times 10^5=300000  1.5 \cdot 10^{{-3}}=3/2000  1e5=100000  \frac{{10}}{{3}} \approx 3.33=3.33
12 thousand=12000  12k=12000  1.2万=12000  1.2万元=12000  3千万=30000000  $1.5M=1500000  2.5 billion=2500000000
十二=12  一百二十三=123  两千=2000  一万二千=12000  负五=-5  二〇二四=2024  约十二个=12  12个=12
twelve=12  Twelve=12  twenty-one=21  one hundred and five=105  two thousand three hundred=2300  minus five=-5
twelve apples=12  about 5=5  \approx 5=5  ~5=5  **5**=5  (-5)=-5  $5$=5  \(5\)=5  5 dollars per hour=5  5 times a day=5
5 km²=5  5°C=5  5 kg·m/s²=5  5 J/(kg·K)=5  €5=5  5 €=5  30-minute=30  9.8 ± 0.2 m/s^2=9.8  3.14159...=3.14159
18 dollars!=18  5m=5  300 K=300  11,\! 111,\! 100=11111100  15,\,000=15000  8\text{{,}}000=8000  \frac{{\ 5}}{{3}}=5/3
5 \over 6=5/6  \frac{{270}}7\text{{ degrees}}=270/7  33\frac13\%=100/3  P(X<3) = 0.5=0.5  5 millions=5000000
"""

NOT_PLAIN = r"""
10\sqrt{2}  2x-1  2x  1.5x  -2x  (15,-11)  292i  3+4i  -4,-2,-1,1  June 20  \text{June 20}  Region 2  10!  >10  x > 10
x \ge 5  x\in[2,5]  [2,5]  (2,\infty)  \{5\}  1, 2  1,2  1, 2, \ldots  5-7  5–7  5 to 7  5 or 6  5 and 6  5; 6
6\text{ and }8  5\pi  \frac{3\pi}{4}  \sqrt{9}  \sqrt2  2+\sqrt{3}  1 \pm \sqrt{19}  \pm 5  1 \pm 2  \frac{\sqrt{3}}{2}
\frac{1}{x}  \frac12 x  x/5  2^{10}  3^5  2^3 \cdot 5  3(4)  (5)(6)  0.\overline{3}  0.1\overline{6}  10:30  3:2
9:15 \text{ a.m.}  5pm  2_3  1010_2  1010_{2}  1010₂  1010 \text{ (base 2)}  1010 in base 2  x-5  5-x  x minus 5
7 minus 5  7 times 5  5 squared  5 choose 2  square root of 5  2xy  3n  \sin 5  \log_2 5  e^5  5e  \binom{5}{2}
\begin{pmatrix} 1 \\ 2 \end{pmatrix}  y = 2x + 3  x = 5, y = 7  x = 4 or x = 5  x^2+y^2=25  5x - 7y + 4 = 0  2x=10
5 \pmod{7}  5 (mod 7)  x_5  H2O  5th  21^{\text{st}}  less than 5  at least 5  over 5  up to 5  not 5  5 or more
5 more than x  half of 5  two thirds  one half  5 and a half  three quarters  5 tenths  1 hour 30 minutes
5 dollars and 20 cents  5'10"  1 in 6  5 out of 6  3 to 1  one of them  the only one  一个常数  三分之一  百分之五十  十几
5\text{ inches by }6  +-5  12K  300K  five thousands  5以上  5点半  6 below zero  no more than 5  1,\ 200  100多个  5到7  18元或20元  第三  第5  三五  5²  5 \times 3  (1,234)  |-5|  1.234,56  5 x  5 \mathbf{i}  10^x  \frac{10^5}{2}
"""


@pytest.mark.parametrize("form", ["Answer: {}", "\\boxed{{{}}}", "**Answer: {}**", "So it is $\\boxed{{{}}}$ of 7."])
def test_published_forms_of_plain_numbers_are_read(form: str) -> None:
    wrong = []
    for case in PLAIN.format().replace("\n", "  ").strip().split("  "):
        given, _, number = case.rpartition("=")
        reading = read_number(form.format(given))
        if reading.value is None or Fraction(reading.value[0]) != Fraction(number):
            wrong.append((given, reading))
    assert wrong == []


@pytest.mark.parametrize("form", ["Answer: {}", "\\boxed{{{}}}", "The answer is ${}$.", "#### {}", "{}"])
def test_no_part_of_something_else_is_its_number(form: str) -> None:
    cases = NOT_PLAIN.replace("\n", "  ").strip().split("  ")
    assert [(case, value) for case in cases if (value := read_number(form.format(case)).value)] == []


@pytest.mark.parametrize(
    ("reply", "seen"),
    [
        ("Answer: 98,6", "'98,6'"),
        ("It is\n98,6", "'98,6'"),
        ("Answer: none of them\nor so", "'none of them'"),
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
    # Ten solutions break off before their answer, and one ends "10+John's age"; none of them is read as a number.
    assert seen["unparsed", False] == 11


def test_recorded_answers_of_tora(recorded: Recorded) -> None:
    agreed = unread = 0
    for row in recorded("tora_70b_gsm8k.jsonl"):
        reading = read_number(row["code"][0])
        unread += reading.value is None
        prediction = row["pred"][0].replace(",", "").replace("\\frac{840}{13}", "840/13")
        agreed += reading.value is not None and prediction != "" and Fraction(reading.value[0]) == Fraction(prediction)
    assert agreed >= 1305
    assert unread <= 12
