"""What noise does, where, and how often."""

import math
import random
import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tools.interventions.echoing import Echoing, details, use

from toolablate.tools.interventions.built_in import characters, lines, numbers

ALWAYS = 1.0


def chance() -> random.Random:
    return random.Random("noise")


def kind_of(char: str) -> str:
    kinds = {"small": "[a-z]", "capital": "[A-Z]", "digit": "[0-9]"}
    ascii_kind = next((name for name, pattern in kinds.items() if re.fullmatch(pattern, char)), None)
    return ascii_kind or ("other" if char.isalnum() else char)


@given(st.text())
def test_characters_stay_of_their_kind_and_in_their_place(text: str) -> None:
    noisy, _ = characters(text, ALWAYS, chance())
    assert [kind_of(char) for char in noisy] == [kind_of(char) for char in text]
    assert all(a != b for a, b in zip(text, noisy, strict=True) if kind_of(a) in ("small", "capital", "digit"))


def test_letters_that_are_not_ascii_become_others_of_the_text() -> None:
    noisy, detail = characters("调和级数 2024", ALWAYS, chance())
    assert all(before != after for before, after in zip("调和级数", noisy, strict=False))
    assert set(noisy[:4]) <= set("调和级数")
    assert detail == "changed 8 of 8 letters and digits"
    assert characters("ж 1", ALWAYS, chance()) != ("ж 1", "")
    assert characters("жж", ALWAYS, chance())[0] == "жж"


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("7", "[0-68-9]"),
        ("-7.5", r"-\d\.\d"),
        ("0", "[1-9]"),
        ("0.00", r"0\.0[1-9]"),
        ("0.05", r"0\.0[1-46-9]"),
        ("1024 bytes", r"[1-9]\d{3} bytes"),
        ("6.02e+23", r"[1-9]\.\d\de\+23"),
        ("1,234", r"[1-9],[1-9]\d\d"),
        ("[3.1, 2.]", r"\[\d\.\d, [13-9]\.\]"),
        ("共5个", "共[1-46-9]个"),
    ],
)
def test_a_number_keeps_its_form_and_changes_its_value(text: str, pattern: str) -> None:
    for seed in range(50):
        noisy, _ = numbers(text, ALWAYS, random.Random(seed))
        assert noisy != text
        assert re.fullmatch(pattern, noisy), noisy


@pytest.mark.parametrize("text", ["", "none at all", "page 8f3a2b1c", "x1 and v2_3", "utf8", "5kg", "10th"])
def test_digits_of_words_are_no_numbers(text: str) -> None:
    assert numbers(text, ALWAYS, chance()) == (text, "")


@given(st.floats(min_value=1e-200, max_value=1e200).map(repr), st.integers())
def test_a_number_stays_of_its_order_of_magnitude(text: str, seed: int) -> None:
    noisy, detail = numbers(text, ALWAYS, random.Random(seed))
    assert detail == "changed 1 of 1 numbers"
    assert float(noisy) != float(text) or len(text) > 16
    assert 0.1 <= float(noisy) / float(text) <= 10


@given(st.lists(st.text(alphabet="ab \t"), min_size=1))
def test_lines_are_left_out_whole(written: list[str]) -> None:
    text = "\n".join(written)
    noisy, _ = lines(text, 0.5, chance())
    rest = iter(written)
    assert noisy == "" or all(line in rest for line in noisy.split("\n"))
    assert lines(text, ALWAYS, chance())[0].strip() == ""


@pytest.mark.parametrize(
    ("noise", "text", "of"),
    [(characters, "a1B " * 2_000, 6_000), (numbers, "12.5 7 x3 " * 2_000, 4_000), (lines, "a\n\nb\n" * 2_000, 4_000)],
)
@pytest.mark.parametrize("rate", [0.02, 0.5])
def test_errors_come_at_the_rate_that_a_plan_says(
    noise: Callable[..., tuple[str, str]], text: str, of: int, rate: float
) -> None:
    _, detail = noise(text, rate, chance())
    many, counted = (int(number.replace(",", "")) for number in re.findall(r"[\d,]+", detail))
    assert counted == of
    assert abs(many / of - rate) < 3 * math.sqrt(rate * (1 - rate) / of)


@pytest.mark.parametrize(
    "text", ["1" * 300_000 + "x", "1." * 300_000 + "x", "1,234" * 100_000, "1e" * 300_000, "-" * 600_000]
)
def test_a_hostile_text_takes_no_longer_than_any_other(text: str) -> None:
    """The test's own time limit would end it where a search went over the text again for each of its characters."""
    for noise in (characters, numbers, lines):
        noise(text, ALWAYS, chance())


async def test_noise_in_a_result_is_told() -> None:
    tools = Echoing([use("noise", rate=1.0, of="numbers")])
    result = await tools("3 of 4 in 1999")
    assert re.fullmatch(r"\d of \d in [1-9]\d{3}", result.output)
    assert details(result) == [("noise", "changed 3 of 3 numbers")]
    assert result.original is not None
    assert result.original.output == "3 of 4 in 1999"
    assert (await tools("none")).changes == ()


async def test_where_all_lines_are_left_out_the_tool_says_that_there_is_nothing() -> None:
    result = await Echoing([use("noise", rate=1.0, of="lines")])("a\n\n \nb")
    assert result.output == "(no output)"
    assert details(result) == [("noise", "left out 2 of 2 lines")]


async def test_a_text_that_is_spared_is_unchanged() -> None:
    tools = Echoing([use("noise", rate=1e-9, of="lines")])
    assert (await tools("\na\n\n")).changes == ()
