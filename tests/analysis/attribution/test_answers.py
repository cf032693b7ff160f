"""Signals of where the final answer comes from: leanings that change, adoption, words taken over, other forms."""

import json
import os
import re
import string
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.analysis.attribution.stories import CONDITION, QUESTION, ended, opened, ran, read, said, searched, trace

from toolablate.analysis.attribution.signals import answers as reader
from toolablate.analysis.attribution.signals.answers import (
    AnswerForm,
    final_answer,
    leaning,
    named_by_place,
    numbers_of,
    texts_of,
)
from toolablate.analysis.attribution.signals.of_trace import signals_of
from toolablate.traces.records import ChoiceTarget, Event, NumberTarget, Question, SpansTarget, Target

NITROGEN = "1. Plants\n   They take molecular nitrogen from the air."
COUNT = Question(id="n", prompt="How many of the 12 moves win?", target=NumberTarget(value=3))


def test_an_answer_that_changed_after_a_result_points_to_it() -> None:
    signals = read(*searched("gas", NITROGEN, "I think it is A."), *ended("Answer: B"))
    assert [(each.event, each.answer) for each in signals.leanings] == [(0, ("A",)), (2, ("B",))]
    (change,) = signals.changes
    assert (change.before.event, change.results, change.after.event) == (0, (1,), 2)


def test_silence_before_the_call_is_no_change() -> None:
    assert read(*searched("gas", NITROGEN, "Let me look this up."), *ended("Answer: B")).changes == ()


def test_a_change_without_a_result_in_between_is_none_of_a_tool() -> None:
    signals = read(said("I think it is A.", finish="length"), *ended("Answer: B", "reply_length"))
    assert len(signals.leanings) == 2
    assert signals.changes == ()


def test_thoughts_are_read_too_and_what_is_said_after_them_counts() -> None:
    signals = read(said("", reasoning="I think it is C."), *ended("Answer: A", reasoning="I believe it is B."))
    assert [each.answer for each in signals.leanings] == [("C",), ("A",)]


def test_an_option_that_a_result_holds_was_adopted() -> None:
    adoption = read(*searched("gas", NITROGEN), *ended("Answer: B")).adoption
    assert adoption is not None
    assert (adoption.answer, adoption.event, adoption.form, adoption.is_new) == (("B",), 1, "search", True)


def test_a_distractor_that_was_seen_and_ignored_is_not_adopted() -> None:
    assert read(*searched("gas", NITROGEN), *ended("Answer: C")).adoption is None


def test_an_answer_that_was_said_before_is_not_new() -> None:
    adoption = read(*searched("gas", NITROGEN, "I think it is B."), *ended("Answer: B")).adoption
    assert adoption is not None
    assert adoption.said_before == 0
    assert not adoption.is_new


def test_a_result_that_holds_several_options_tells_nothing() -> None:
    both = "carbon dioxide or molecular nitrogen"
    adoption = read(*searched("gas", both), *ended("Answer: B")).adoption
    assert adoption is not None
    assert adoption.others == 1
    assert not adoption.is_new


WEIGHED = QUESTION.model_copy(update={"choices": ("408.75 units", "50.21 units", "12 units")})


@pytest.mark.parametrize(
    ("events", "answer", "held"),
    [
        (ran("f()", "408.75"), "A", True),
        (ran("f()", "mean 408.7512"), "A", True),
        (ran("f()", "12.0"), "C", True),
        (opened("u", "They came to 408.75 in all."), "A", True),
        # Two digits stand in many pages.
        (opened("u", "There were 12 people."), "C", False),
        (opened("u", "They came to 12 units."), "C", True),
        (ran("f()", "50.21"), "A", False),
    ],
)
def test_programs_and_pages_give_an_option_without_its_unit(events: list[Event], answer: str, held: bool) -> None:
    found = signals_of(trace([*events, *ended(f"Answer: {answer}")], question=WEIGHED), WEIGHED, CONDITION).adoption
    assert (found is not None) == held
    assert found is None or (found.answer, found.others) == ((answer,), 0)


@pytest.mark.parametrize(
    ("options", "numbers"),
    [
        (("408.75 units", "50.21 units"), ("408.75", "50.21")),
        (("12kg", "1,300 kg"), ("12", "1,300")),
        (("9.81 m/s^2", "3.2 m/s^2"), ("9.81", "3.2")),
        (("The mean of all is 5.", "The mean of all is 6."), ("5", "6")),
        (("x = 3", "x = -3"), ("3", "-3")),
        (("A cat of 5 years likes mice very much", "A dog of 4 years likes mice very much"), ()),
        (("5 kg", "5 g"), ()),
        (("8/17", "9/17"), ()),
        (("3 of 4", "2 of 4"), ()),
        (("two", "three"), ()),
        ((), ()),
    ],
)
def test_an_option_has_a_number_where_that_alone_tells_it_from_the_others(
    options: tuple[str, ...], numbers: tuple[str, ...]
) -> None:
    assert numbers_of(options) == numbers


def test_a_letter_that_a_result_announces_was_adopted() -> None:
    adoption = read(*opened("u", "Key. The correct answer is B. " + QUESTION.choices[0]), *ended("Answer: B")).adoption
    assert adoption is not None
    assert adoption.is_new


def test_a_result_of_a_call_that_failed_is_no_source() -> None:
    broken = searched("gas", "Error: molecular nitrogen.", status="error", error="error")
    assert read(*broken, *ended("Answer: B")).adoption is None


@pytest.mark.parametrize(
    ("output", "answer", "held"),
    [
        ("found 7", "Answer: 7", True),
        ("0.333333", "Answer: 0.33", True),
        ("1,234.5", "Answer: 1234.5", True),
        ("77", "Answer: 7", False),
        ("7.5", "Answer: 7", False),
        ("7\n" + "line\n" * 9, "Answer: 7", False),
        ("(no output)", "Answer: 7", False),
    ],
)
def test_a_number_of_a_program_is_its_result(output: str, answer: str, held: bool) -> None:
    assert (read(*ran("print(x)", output), *ended(answer), question=COUNT).adoption is not None) is held


def test_a_single_digit_on_a_page_means_nothing() -> None:
    assert read(*searched("x", "page 7 of many"), *ended("Answer: 7"), question=COUNT).adoption is None
    assert read(*searched("x", "page 77 of many"), *ended("Answer: 77"), question=COUNT).adoption is not None


def test_a_number_of_the_question_is_not_new() -> None:
    adoption = read(*ran("print(12)", "12"), *ended("Answer: 12"), question=COUNT).adoption
    assert adoption is not None
    assert adoption.in_question
    assert adoption.last


def test_which_results_hold_the_answer_is_told() -> None:
    events = (*ran("print(41)", "41"), *ran("print(5)", "5"), *ran("print(41)", "41"), *ran("1", "1"))
    adoption = read(*events, *ended("Answer: 41"), question=COUNT).adoption
    assert adoption is not None
    assert (adoption.event, adoption.results, adoption.last) == (1, (1, 5), False)


PAGE = "Chlorophyll lets molecular nitrogen enter the leaf through every single open pore at night."


def test_words_taken_over_from_a_result_are_a_share_of_the_reply() -> None:
    signals = read(*opened("u", PAGE), *ended(f"As it is said: {PAGE} Answer: B"))
    echo = signals.echo
    assert echo.words == 20
    assert echo.from_tools == pytest.approx(14 / 20)
    assert echo.from_tools_alone == echo.from_tools
    assert echo.by_event == {1: echo.from_tools}
    assert [(run.event, run.start, run.words) for run in echo.runs] == [(1, 4, 14)]
    assert echo.runs[0].text.startswith("chlorophyll lets")


def test_words_of_the_question_are_none_of_the_tool() -> None:
    signals = read(*opened("u", QUESTION.prompt), *ended(QUESTION.prompt))
    assert signals.echo.from_question == 1.0
    assert signals.echo.from_tools == 1.0
    assert signals.echo.from_tools_alone == 0.0


def test_four_words_in_a_row_are_common_property_and_five_are_not() -> None:
    assert read(*opened("u", "lets molecular nitrogen enter"), *ended(PAGE)).echo.from_tools == 0.0
    assert read(*opened("u", "lets molecular nitrogen enter the"), *ended(PAGE)).echo.from_tools == pytest.approx(
        5 / 14
    )


def test_chinese_is_compared_by_characters() -> None:
    page = "绿色植物在夜间从空气中吸收氮气"
    assert read(*opened("u", page[:7]), *ended(page)).echo.from_tools == 0.0
    assert read(*opened("u", page[:8]), *ended(page)).echo.from_tools == pytest.approx(8 / 15)


def test_one_word_a_million_times_is_compared_in_linear_time() -> None:
    """The tests' time limit is what holds it."""
    signals = read(*opened("u", "word " * 1_000_000), *ended("word " * 100_000))
    assert signals.echo.from_tools == 1.0
    assert signals.echo.words == 5_000


@pytest.mark.parametrize(
    ("target", "reply", "kind"),
    [
        (SpansTarget(spans=("$2.7 million",)), "[2700000]", "scale"),
        (SpansTarget(spans=("$64,000",)), "[64]", "scale"),
        (SpansTarget(spans=("49%",)), "[48.728]", "rounding"),
        (NumberTarget(value=0.25), "Answer: 25", "scale"),
        (SpansTarget(spans=("debts, and cash",)), '["debts", "cash"]', "wording"),
        (SpansTarget(spans=("the net sales, and cash.",)), '["net sales and cash"]', "wording"),
        (SpansTarget(spans=("$2.0 billion",)), "[2000]", "scale"),
        (SpansTarget(spans=("net sales",)), '["the net sales of the firm"]', "more"),
        (SpansTarget(spans=("the deferral method, with credits",)), '["deferral method"]', "part"),
        (SpansTarget(spans=("$2.7 million",)), "[2.7]", "part"),
        (SpansTarget(spans=("$2.7",), scale="million"), "[2.7]", "part"),
        (SpansTarget(spans=("$2.7",), scale="million"), '["2.7 thousand"]', "scale"),
        (SpansTarget(spans=("$2.7",), scale="million"), '{"answer": 2.7, "scale": "thousand"}', "scale"),
        (SpansTarget(spans=("$2.7",), scale="million"), '{"answer": [2.74], "scale": "million"}', "rounding"),
        (SpansTarget(spans=("$2.7",), scale="million"), "Answer: $2.9 million", None),
        (SpansTarget(spans=("13.98",), scale="percent"), "[0.1398]", "scale"),
        (SpansTarget(spans=("$2.7 million",)), "[7]", None),
        (SpansTarget(spans=("4",)), "[4000]", None),
        (SpansTarget(spans=("49%",)), "[48.2]", None),
        (SpansTarget(spans=("-27,603",)), "[27603]", None),
        (SpansTarget(spans=("-1100",), scale="thousand"), '{"answer": 1100, "scale": "thousand"}', None),
        (SpansTarget(spans=("4.7",), scale="million"), '{"answer": 47, "scale": "million"}', "scale"),
        (SpansTarget(spans=("5",)), "[50]", None),
        (SpansTarget(spans=("50",)), "[5]", None),
        (SpansTarget(spans=("0",), scale="percent"), '{"answer": 0.0, "scale": "percent"}', "unread"),
        (NumberTarget(value=3), "Answer: 3", "unread"),
        (SpansTarget(spans=("net sales",)), '["gross sales"]', None),
        (SpansTarget(spans=("net sales",)), '["net sales"]', None),
        (SpansTarget(spans=("net sales",)), '["net sales", "costs"]', None),
        (SpansTarget(spans=("net sales", "costs")), '["costs"]', None),
        (NumberTarget(value=3), "Answer: 5", None),
    ],
)
def test_the_right_answer_in_another_form_is_known(target: Target, reply: str, kind: str | None) -> None:
    found = read(*ended(reply), question=Question(id="s", prompt="What is it?", target=target)).misstated
    assert (found and found.kind) == kind
    assert found is None or found.event == 1


@pytest.mark.parametrize("target", ["A", "B"])
def test_a_place_is_the_only_other_form_of_a_letter(target: str) -> None:
    question = Question(id="c", prompt="A. x B. y", target=ChoiceTarget(letters=(target,)))
    letter, place = (read(*ended(text), question=question) for text in ("Answer: B", "I would take the second option."))
    assert letter.answer == place.answer == ("B",)
    assert letter.misstated is None
    assert (place.misstated is not None and place.misstated.kind == "place") == (target == "B")
    assert letter.names_another == place.names_another == (target == "A")


@pytest.mark.parametrize(("reply", "another"), [("Answer: 3", False), ("Answer: 5", True), ("I gave up.", False)])
def test_a_number_that_is_not_the_right_one_is_another(reply: str, another: bool) -> None:
    assert read(*ended(reply), question=COUNT).names_another == another


# What a text supports, and that it takes no more than linear time to find out.


LETTERS = AnswerForm("letters", "ABCD")
MMLU_PRO = AnswerForm("letters", "ABCDEFGHIJ")
DATA = Path(os.environ.get("TOOLABLATE_DATA", Path(__file__).parents[4] / "shared/data")) / "mmlu_pro_outputs.jsonl"
NUMBER = AnswerForm("number")
TEXT = AnswerForm("text")


@pytest.mark.parametrize(
    ("text", "letters"),
    [
        ("I think it is C.", "C"),
        ("Answer: A", "A"),
        ("**Answer:** (B)", "B"),
        ("Answer: A, C", "AC"),
        ("So the answer must be B, I think.", "B"),
        ("Given the results, I now think the answer is D.", "D"),
        ("I'm leaning towards B because of x", "B"),
        ("I would lean to option (A) since it fits", "A"),
        ("I'd go with D", "D"),
        ("Option B is correct", "B"),
        ("The correct option is B.", "B"),
        ("Therefore, C is the correct answer.", "C"),
        ("$\\boxed{\\text{D}}$", "D"),
        ("The answer isn't C, it is D.", "D"),
        ("The page says the answer is C, but I think it is B.", "B"),
        ("Some say C. I pick A.", "A"),
        ("First I thought the answer is A. Now I believe it is B.", "B"),
        ("I think it is A. No, A is wrong. It must be D.", "D"),
        ("It is not B. On reflection I think it is B.", "B"),
        ("Answer: C. A is wrong, and B is not it.", "C"),
        ("答案：C", "C"),
        ("我认为应该选C", "C"),
        ("我倾向于B", "B"),
        ("所以选B", "B"),
        ("答案不是C，而是B。", "B"),
    ],
)
def test_a_leaning_is_read(text: str, letters: str) -> None:
    assert leaning(text, LETTERS) == tuple(letters)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Let me compute this.",
        "The answer is not C.",
        "I don't think it is C",
        "The page says the answer is C.",
        "According to the forum, the answer is B",
        "If the answer is C, then x is even.",
        "Let me check whether it is C",
        "Is it C or D?",
        "The answer is C? Hardly.",
        "It is A good question",
        "The answer is A bit long",
        "vitamin C is the best",
        "A和C正确",
        "答案不是C",
        "如果答案是C",
        "Answer: E",
        "选项（C）与此无关",
        "I thought the answer is C. But it is not C.",
        "I think it is B. Hm, B cannot be.",
        "我认为选C，但C是错的",
    ],
)
def test_silence_is_silence(text: str) -> None:
    assert leaning(text, LETTERS) == ()


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("The answer is 1,200.50", "1200.5"),
        ("I think it is about 42.", "42"),
        ("Answer: -3", "-3"),
        ("Answer: $12", "12"),
        ("答案是3.5", "3.5"),
    ],
)
def test_numbers_have_one_form(text: str, number: str) -> None:
    assert leaning(text, NUMBER) == (number,)


@pytest.mark.parametrize("text", ["the answer is not 5", "x = 5", "it is 5"])
def test_numbers_that_are_no_answer_are_none(text: str) -> None:
    assert leaning(text, NUMBER) == ()


def test_a_final_reply_may_be_the_answer_alone() -> None:
    assert final_answer("C", LETTERS) == ("C",)
    assert final_answer("It follows.\n(B)", LETTERS) == ("B",)
    assert final_answer("7", NUMBER) == ("7",)
    assert final_answer('["$13.330", "Net  Sales"]', TEXT) == ("13.33", "net sales")
    assert final_answer("So the answer is:\nFoo bar.", TEXT) == ("foo bar",)
    assert final_answer("According to the page, the answer is B.", LETTERS) == ("B",)
    assert final_answer("x" * 1_000, TEXT) == ()
    assert texts_of("[" * 19_000) == ()


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("I would take the second of these.", "B"),
        ("My choice: the 3rd option.", "C"),
        ("Everything considered, option 4 holds.", "D"),
        ("Choice number two, since it is the only even one.", "B"),
        ("This points to the last entry in your list.", "D"),
        ("The first option is wrong. The third one fits.", "C"),
        ("The third answer was my first thought.\nOn reflection I prefer the second one.", "B"),
        ("It is not the first alternative; I would pick the fourth one.", "D"),
        ("应选第二个选项。", "B"),
        ("综上，第3种说法最合理。", "C"),
    ],
)
def test_an_option_is_named_by_its_place(text: str, letter: str) -> None:
    assert final_answer(text, LETTERS) == (letter,)


@pytest.mark.parametrize(
    "text",
    [
        "The first or second option.",
        "Neither the first nor the second option fits.",
        "Not the first option.",
        "The first option is wrong.",
        "The second option cannot be right.",
        "If the third option holds, x is even.",
        "The first of the two checks fails.",
        "The first term is 3, and the second one is 5.",
        "I compared the first option with the third option.",
        "The ninth option.",
        # Letters that are like another where case does not count.
        "I go with the f\u0131rst option.",
        "I go with the f\u0130rst option.",
        "I go with option f\u0131ve.",
        "Option 2.5 mg was given.",
        "第一步是求和。",
        "第三项等于5",
    ],
)
def test_a_place_that_names_no_option_is_none(text: str) -> None:
    assert final_answer(text, LETTERS) == ()


def test_the_last_of_a_list_of_unknown_length_is_none() -> None:
    assert final_answer("I take the last option.", AnswerForm("letters", string.ascii_uppercase)) == ()


def test_letters_of_real_replies_are_those_that_were_extracted() -> None:
    """By the benchmark's authors, who take the first of several letters; for Llama they are partly guesses."""
    if not DATA.exists():
        pytest.skip(f"the recorded data are not here: {DATA} (set TOOLABLATE_DATA to their folder)")
    with DATA.open(encoding="utf-8") as lines:
        outputs = [output for line in lines for output in json.loads(line)["outputs"].items()]
    known = [output for model, output in outputs if "Llama" not in model and output["pred"] is not None]
    read = [(final_answer(output["text"], MMLU_PRO), (output["pred"],)) for output in known]
    assert len(read) == 1_943
    assert sum(found == pred for found, pred in read) >= 0.965 * len(read)
    assert sum(bool(found) and found != pred for found, pred in read) <= 0.025 * len(read)


HOSTILE = (
    "the answer is ",
    "I think ",
    "A, ",
    "answer: A and ",
    "\\boxed{ ",
    "option A is ",
    "[",
    "9,",
    "if not ",
    "答案",
)


@pytest.mark.parametrize("piece", HOSTILE)
def test_hostile_texts_are_read_in_bounded_time(piece: str) -> None:
    """The tests' time limit is what holds it: five million characters each."""
    text = piece * (5_000_000 // len(piece))
    for form in (LETTERS, NUMBER, TEXT):
        leaning(text, form)
    named_by_place(text, LETTERS)


PIECES = (
    *HOSTILE,
    *(
        "A",
        "C ",
        "I will go with ",
        "B is right",
        "(D) must be the best",
        "选B",
        "B是正确的",
        "12.5 ",
        "$1,200",
        "\n",
        ". ",
    ),
    *("A cat sat. ", "words that lead nowhere and hold no letter. " * 30, "x" * 600, "7" * 600, "C" * 600),
)


@pytest.mark.deep
@settings(max_examples=200, deadline=None)
@given(pieces=st.lists(st.sampled_from(PIECES), max_size=30))
def test_what_is_read_around_letters_and_numbers_alone_is_what_all_would_be(pieces: list[str]) -> None:
    text = "".join(pieces)
    for first, pattern in (reader._LETTER_ALONE, reader._LETTER), (reader._FIRST_DIGIT, reader._NUMBER):
        near = [match.span() for match in reader._near(first, pattern, text)]
        assert near == [match.span() for match in pattern.finditer(text)]
        parsed = re._parser.parse(pattern.pattern, pattern.flags & re.MULTILINE)  # type: ignore[attr-defined]
        assert parsed.getwidth()[1] + 20 <= reader._LONGEST
