"""What long answers say one by one, and that pages which say part of one are found."""

import pytest

from toolablate.tools.guards.leaks import Runs, lettered, size_of, statements


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Yes. The smallest number is 3.", ["Yes", "The smallest number is 3."]),
        ("It is 3. The rest follows", ["It is 3", "The rest follows"]),
        ("1. Add a snubber. 2. Lower the inductance; 3. wait", ["Add a snubber", "Lower the inductance", "wait"]),
        ("- one line\n\n* another\n(3) a third", ["one line", "another", "a third"]),
        ("1.增加电容；2.减小电感。", ["增加电容", "减小电感"]),
        ("①电压升高②电流不变（3）停机", ["电压升高", "电流不变(3)停机"]),
        ("①电压升高；②电流不变。（3）停机", ["电压升高", "电流不变", "停机"]),
        ("一、先断电\n二、再放电", ["先断电", "再放电"]),
        ("about 1.5 kV, e.g. at 3.3 V", ["about 1.5 kV, e.g. at 3.3 V"]),
        ("-5.3", ["-5.3"]),
        (" \n ", []),
    ],
)
def test_lines_items_and_sentences_are_statements(text: str, said: list[str]) -> None:
    assert list(statements(text)) == said


def test_ten_characters_are_as_long_as_six_words() -> None:
    assert size_of("one two three four five six") == pytest.approx(size_of("一二三四五六七八九十")) == pytest.approx(6)


SAID = "The damper must be tuned to 3.2 Hz before any shimming of the grid is tried"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f"... {SAID.upper()}!", True),
        ("it must be tuned to 3.20 Hz before any shimming", True),
        ("must be tuned\nto 3.2 Hz -- before", True),
        ("must be tuned to 3.3 Hz before long", False),
        ("The damper is tuned; any shimming of it must wait", False),
        ("", False),
    ],
)
def test_any_six_words_in_a_row_are_found(text: str, found: bool) -> None:
    assert bool(list(Runs([SAID]).places(text))) is found


def test_places_are_of_characters() -> None:
    text = "x, then the damper must be tuned to 9"
    ((start, end),) = Runs(["see the damper must be tuned to it"]).places(text)
    assert text[start:end] == "the damper must be tuned to"


@pytest.mark.parametrize(
    "said", ["", "Yes", "in this case", "if it is so, then it is", "是的", "的是在和与有一个中为下列"]
)
def test_what_anybody_says_is_not_looked_for(said: str) -> None:
    assert not list(Runs(statements(said)).places(f"{said} {said}"))


@pytest.mark.parametrize("said", ["add a snubber", "critically damped response", "电压会升高"])
def test_of_a_short_statement_all_is_looked_for(said: str) -> None:
    assert list(Runs([said]).places(f"so {said} then"))
    assert not list(Runs([said]).places(said[:-3]))


@pytest.mark.parametrize("part", ["a ", " ", "\n", ". ", "1. ", "(1) ", "。", "①", ";1.", "一、"])
def test_no_answer_keeps_it_busy_for_long(part: str) -> None:
    """It would take hours, were it read in more than its length."""
    assert list(Runs(statements(part * 300_000)).places(part * 300_000)) == []


@pytest.mark.parametrize(
    ("prompt", "count"),
    [
        ("Which?\nA. one\nB. two\nC. three", 3),
        ("Which? (A) one (B) two (C) three (D) four (E) five (F) six", 6),
        ("选哪个？A、甲 B、乙", 2),
        ("选哪个？A：甲\nB：乙\nC：丙", 3),
        ("Vitamin A. is what?", 4),
        ("Which letter is it?", 4),
    ],
)
def test_options_of_a_prompt_are_counted_by_their_letters(prompt: str, count: int) -> None:
    assert lettered(prompt) == count
