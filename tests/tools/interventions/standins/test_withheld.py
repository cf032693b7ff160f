"""What no placebo may say is found however it is written."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolablate.tools.interventions.standins.numerals import bare_number
from toolablate.tools.interventions.standins.withheld import Withheld
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
    assert not withheld("A", "7").holds("there are 17 or 77 or 0.7")
    assert withheld("调和", "x").holds("这调和级数")


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
    assert (bare_number("$1,000"), bare_number("1.234"), bare_number("about 5")) == (1000.0, 1.234, None)


def test_a_long_row_of_numbers_is_read_in_its_length() -> None:
    row = "123 " * 50_000
    assert not withheld(target=NumberTarget(value=124)).holds(row)
    assert withheld(target=NumberTarget(value=124)).holds(f"{row} 124")


def test_lines_that_say_it_go_together() -> None:
    lines = ["fine", "the city of New", "York is large", "and 7", "17", "ulm"]
    assert withheld("New York", "7", "Ulm").without(lines) == [0, 4]


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
