"""What no placebo may say is found however it is written."""

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.tools.interventions.substitutes.said import number_forms, surrounded

from toolablate.tools.interventions.substitutes.numerals import stated
from toolablate.tools.interventions.substitutes.withheld import Withheld
from toolablate.traces.records import ChoiceTarget, NumberTarget, Question, SpansTarget, Target


def withheld(*choices: str, target: Target | None = None) -> Withheld:
    return Withheld(Question(id="q", prompt="?", choices=choices, target=target or ChoiceTarget(letters=("A",))))


@pytest.mark.parametrize(
    "text",
    [
        "in New York today",
        "NEW YORK",
        "new-york",
        "New\nYork",
        "N e w   Y o r k",
        "newyork",
        "New\u00a0York's",
        "Ｎｅｗ　Ｙｏｒｋ",
        "New \u200bYo\u00adrk",
        "Nèw Yórk",
        "(new) york",
        "【3†New York†nyc.example】",
    ],
)
def test_choices_are_found_however_they_are_written(text: str) -> None:
    assert withheld("New York", "Ulm").holds(text)


@pytest.mark.parametrize("text", ["New Yarn", "A new yolk", "Yorkshire is new", "helm", "Ulmer", "", "York, New"])
def test_other_words_are_let_through(text: str) -> None:
    assert not withheld("New York", "Ulm").holds(text)


def test_a_letter_is_no_content_and_a_number_is() -> None:
    assert not withheld("A", "", "π", "≤").holds("A π ≤ ! a")
    assert withheld("A", "7").holds("there are 7")
    assert not withheld("A", "7").holds("there are 17 or 77 or 0.7 or 7.5")
    assert withheld("调和", "x").holds("这调和级数")
    assert withheld(target=SpansTarget(spans=("K",))).holds("the symbol is K")
    assert not withheld(target=SpansTarget(spans=("K",))).holds("ok, k or Key")


@pytest.mark.parametrize(
    "text",
    [
        "1234567.5",
        "1,234,567.5",
        "1 234 567.5",
        "1'234'567.50",
        "1.234.567,5",
        "12,34,567.5",
        "１２３４５６７.５",
        "1.2345675e6",
        "1.2345675 × 10^6",
        "-1,234,567.5",
        "x=1234567.5kg",
        "123456750%",
        "2469135/2",
        "共1234567.5元",
        "1\u202f234\u202f567,5",
    ],
)
def test_numbers_are_found_by_value(text: str) -> None:
    assert withheld(target=NumberTarget(value=1234567.5)).holds(f"it is {text}, about")


def test_numbers_are_found_within_the_tolerance_and_as_roundings() -> None:
    loose = withheld(target=NumberTarget(value=200.0, relative=0.05))
    assert all(loose.holds(text) for text in ("190", "210", "205.5"))
    assert not any(loose.holds(text) for text in ("189", "211", "2000", "20"))
    assert withheld(target=NumberTarget(value=2.10974)).holds("its sum is 2.11")
    assert not withheld(target=NumberTarget(value=2.10974)).holds("2, 2.1 or 2.12")


def test_spans_and_choices_that_are_numbers_count_by_value() -> None:
    spans = withheld(target=SpansTarget(spans=("2,018", "Jane Roe", "1/3")))
    assert all(spans.holds(text) for text in ("in 2018", "2018.0", "jane  ROE", "0.333", "2/6"))
    assert not any(spans.holds(text) for text in ("20180", "Jane Rowe", "0.3"))
    assert withheld("10:30", "3 to 4").holds("at 10.30")
    assert (stated("$1,000"), stated("1.234"), stated("about 5")) == ((1.0, 1000.0), (1.234, 1234.0), ())


@pytest.mark.deep
def test_a_long_row_of_numbers_is_read_in_its_length() -> None:
    row = "123 " * 50_000
    assert not withheld(target=NumberTarget(value=124)).holds(row)
    assert withheld(target=NumberTarget(value=124)).holds(f"{row} 124")


def test_many_lines_that_say_it_together_are_read_in_their_length() -> None:
    looking = withheld("foo bar", "Ulm")
    assert looking.without(["foo"] * 4_000 + ["bar"] * 4_000) == []
    assert looking.without(["foo"] * 4_000 + ["x"] + ["bar"] * 4_000) == list(range(8_001))


@given(
    st.lists(
        st.sampled_from(["new", "york", "--", "x", "new york", "yorknew", "1", "234", "1,", "ne", "w", ""]), max_size=12
    )
)
def test_what_is_left_says_nothing_and_is_not_less_than_need_be(lines: list[str]) -> None:
    looking = withheld("New York", "1234")
    left = looking.without(lines)
    assert not looking.holds("\n".join(lines[number] for number in left))
    assert {number for number, line in enumerate(lines) if line == "x"} <= set(left)


def test_the_end_of_a_long_number_is_no_number_of_its_own() -> None:
    looking = withheld(target=NumberTarget(value=1234))
    assert looking.without([f"551234 {'a' * 60}", "fine", "1234"]) == [0, 1]


def test_lines_that_say_it_go_together() -> None:
    lines = ["fine", "the city of New", "York is large", "and 7", "17", "ulm"]
    assert withheld("New York", "7", "Ulm").without(lines) == [0, 4]


NUMBERS = [
    7.0,
    12.0,
    17.0,
    42.0,
    99.0,
    2018.0,
    2500.0,
    1.2e6,
    35e6,
    1.5e9,
    0.05,
    0.125,
    2.75,
    3.14159,
    1.204e-7,
    6.02e23,
]


@pytest.mark.parametrize("value", NUMBERS)
def test_a_number_is_found_in_each_form_that_pages_and_programs_write(value: float) -> None:
    looking = withheld(target=NumberTarget(value=value))
    missed = [said for form in set(number_forms(value)) for said in surrounded(form) if not looking.holds(said)]
    assert not missed


@settings(deadline=None)
@given(st.integers(1, 10**9).map(float) | st.floats(1e-5, 1e9).map(lambda x: float(f"{x:.4g}")), st.data())
def test_no_form_hides_any_number(value: float, data: st.DataObject) -> None:
    form = data.draw(st.sampled_from(sorted(set(number_forms(value)))))
    said = data.draw(st.sampled_from(sorted(surrounded(form))))
    assert withheld(target=NumberTarget(value=value, relative=1e-9)).holds(said), said


@pytest.mark.parametrize(
    ("value", "texts"),
    [
        (
            42,
            [
                "7,42,3",
                "5,42",
                "1-42",
                "10:42:11",
                "84/2",
                "4200%",
                "42nd",
                "42.0.1",
                "٤٢",
                "p.42",
                "Forty Two",
                "3.5 dozen",
            ],
        ),
        (2018, ["31.12.2018", "12/31/2018", "2018-01-01", "2017,2018,2019", "FY2018", "2018/19", "2017.2018.2019."]),
        (
            1200000,
            ["1.2 million", "$1.2m", "1200k", "120万", "1.2 Mio", "12e5", "12 lakh", "1200 thousand", "1.2\nmillion"],
        ),
        (0.05, ["5%", "5 %", "five percent", "1/20", "½ 5%", "百分之五", "百分之5", "50‰", r"\frac{1}{20}"]),
        (1.5, ["1½", "1 1/2", "3/2", "one and a half", "1 and a half", "一点五", "150 percent", r"\dfrac{3}{2}"]),
        (0.5, ["½", "half", "1⁄2", "50 pct", "one half", "0.500", "二分之一 50%"]),
        (1e-30, ["10^-30", "10^{-30}", "1.0×10⁻³⁰", "1E-30", "10**-30"]),
        (6.02e23, ["6.02×10²³", "6.02 x 1023", "6.02 ⋅ 10^23", "602000000000000000000000"]),
        (1e306, ["1e306", "1.0e+306", "1" + "0" * 306]),
        (1024, ["2^10", "2¹⁰", "2**10", "一千零二十四"]),
        (3.14, ["3.14159", "3.1416"]),
        (120000, ["十二万", "12万", "一十二万", "120,000"]),
    ],
)
def test_numbers_are_found_in_lists_dates_words_and_powers(value: float, texts: list[str]) -> None:
    looking = withheld(target=NumberTarget(value=value))
    assert [text for text in texts if not looking.holds(f"so: {text}, they say")] == []


@pytest.mark.parametrize(
    ("value", "texts"),
    [
        (42, ["142", "421", "4.2", "0.42", "42.5", "4,200", "twenty-four", "12.42"]),
        (3, ["the third way is 3.7 or 13", "三个", "thirty"][:1]),
        (1, ["一个人", "一些", "统一", "11", "1.5"]),
        (2018, ["2.018 is not", "20180", "1,201.8"][1:]),
        (1200000, ["1.2 metres", "1.2", "12 million"]),
    ],
)
def test_other_numbers_are_let_through(value: float, texts: list[str]) -> None:
    looking = withheld(target=NumberTarget(value=value))
    assert [text for text in texts if looking.holds(text)] == []


@pytest.mark.parametrize(
    ("choices", "texts"),
    [
        (("铁", "金"), ["是铁。", "金属"]),
        (("是", "否"), ["答案：是", "否", "（是）"]),
        (("C++", "C#"), ["written in C++ then", "C#, mostly", "(c++)"]),
        (("東京", "大阪"), ["https://ja.wikipedia.org/wiki/%E6%9D%B1%E4%BA%AC", "東　京"]),
        (("Müller", "Bach"), ["https://e.example/M%C3%BCller", "M&uuml;ller", "MULLER"]),
        (("Yes", "No"), ["yes", "NO.", "(Yes)"]),
        (("$\\frac{1}{2}$", "$3.5 million", "Two"), ["1/2", "0.5", "3,500,000", "two", "2", "$3.5m"]),
        (("50%", "x"), ["0.5", "50 percent", "half", "50"]),
        (("March 5, 2019", "x"), ["5 March 2019", "2019-03-05", "5th of March, 2019", "05.03.2019", "2019年3月5日"]),
        (("10^6", "10^7"), ["1000000", "1e6", "10⁶", "a million", "10,000,000"]),
        (("H₂O", "CO₂"), ["H2O", "co2"]),
    ],
)
def test_choices_are_found_in_signs_codes_and_other_scripts(choices: tuple[str, ...], texts: list[str]) -> None:
    looking = withheld(*choices)
    assert [text for text in texts if not looking.holds(f"so: {text} here")] == []


def test_parts_of_everyday_words_are_let_through() -> None:
    assert not withheld("是", "否").holds("这是一个问题，但是不是")
    assert not withheld("C++", "C#").holds("a C programme, c+c")
    assert not withheld("Yes", "No").holds("nobody knows yesterday")


WORDS = st.lists(st.sampled_from(["alpha", "Beta", "γάμμα", "Straße", "北京", "o'clock", "x2"]), min_size=1, max_size=4)


@given(
    WORDS,
    st.sampled_from([" ", "  ", "\n", "-", "_", ", ", "\u00a0", "\u00ad", "*"]),
    st.sampled_from([str.upper, str.lower, str.title, lambda text: unicodedata.normalize("NFD", text)]),
)
def test_no_spelling_hides_a_choice(words: list[str], between: str, spelled: object) -> None:
    choice = " ".join(words)
    said = f"well: {spelled(between.join(words))}."  # type: ignore[operator]
    assert withheld(choice, "another").holds(said)
    lines = ["before", *said.split("\n"), "after"]
    left = withheld(choice, "another").without(lines)
    assert not withheld(choice, "another").holds("\n".join(lines[number] for number in left))


@given(st.floats(min_value=1e-6, max_value=1e12), st.sampled_from(["{:,}", "{!r}", "{:.12e}", "x{!r}m", "({!r})"]))
def test_no_spelling_hides_a_number(value: float, form: str) -> None:
    said = form.format(value).replace("x", "x=")
    assert withheld(target=NumberTarget(value=value, relative=1e-9)).holds(f"we get {said} here")
