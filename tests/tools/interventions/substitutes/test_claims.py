"""Sham, oracle and adversary: what tools say that are not called."""

import math
import random
import re
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tools.conftest import Caller
from tests.tools.interventions.substitutes.conftest import Asked, Counted, Standing

from toolablate.benchmarks.builtin import builtin_questions
from toolablate.benchmarks.scoring.scorers import scorer_for
from toolablate.sandbox import Sandbox
from toolablate.tools import Resources, Toolset, open_interventions, tool
from toolablate.tools.guards.guard import NoGuard
from toolablate.tools.interventions import InterventionSetting
from toolablate.tools.interventions.substitutes import refuse_without_wrong_answer
from toolablate.tools.interventions.substitutes.claims import right_answer, wrong_answer, wrong_spans
from toolablate.tools.placebo_sources import PlaceboSources, same_words
from toolablate.tools.placebo_sources.sources import TrialPlaceboSources
from toolablate.traces.errors import InputError
from toolablate.traces.records import ChoiceTarget, InterventionUse, NumberTarget, Question, SpansTarget

in_one_loop = pytest.mark.asyncio(loop_scope="module")

QUESTIONS = {question.id: question for question in builtin_questions()}
SERIES = QUESTIONS["math-log-series"]


@pytest.mark.deep
@in_one_loop
async def test_a_sham_starts_no_kernel_and_asks_nobody(
    sandbox: Sandbox, library: Resources, standing: Standing, call: Caller
) -> None:
    kernels, asked = Counted(sandbox), Asked(library.search)
    resources = Resources(kernels, asked, library.pages)
    async with standing("sham", "all", resources, SERIES) as tools:
        ran = await call(tools, "python", code="1 / 0")
        found = await call(tools, "web_search", query="harmonic  series")
        opened = await call(tools, "browser_open", url="https://library.example/harmonic")
        again = await call(tools, "browser_open", page_id=opened.output[1:9], line=3)
        in_page = await call(tools, "browser_find", page_id=opened.output[1:9], pattern="sum")
        wrong = await call(tools, "python", program="x")
    assert (ran.output, ran.status, ran.error) == ("(no output)", "ok", "")
    assert found.output == "No results for 'harmonic series'."
    url = "https://library.example/harmonic"
    assert opened.output == f"[{opened.output[1:9]}] {url} ({url})\nlines 0-0 of 1\nL0: "
    assert again.output == f"[{opened.output[1:9]}]\nlines 0-0 of 1\nL0: "
    assert in_page.output == f"No match for 'sum' in [{opened.output[1:9]}]."
    assert [change.intervention for change in ran.changes] == ["sham"]
    assert ran.original is None
    assert (wrong.status, wrong.changes) == ("invalid", ())
    assert (kernels.started, asked.queries) == (0, [])


@tool(nothing="There is no such town.")
def weather(town: str) -> str:
    """Tell the weather of a town."""
    return f"It rains in {town}."


async def test_a_sham_of_a_function_says_what_the_function_says_of_nothing(call: Caller) -> None:
    async with Toolset([weather.open(weather.options())], open_interventions([InterventionUse(name="sham")])) as tools:
        assert (await call(tools, "weather", town="Ulm")).output == "There is no such town."


@in_one_loop
@pytest.mark.parametrize("names", ["all", "gpt-oss"])
async def test_an_oracle_words_its_answer_as_the_tool_does(
    names: str, library: Resources, sandbox: Sandbox, standing: Standing, call: Caller
) -> None:
    harmony = names == "gpt-oss"
    search, opens, find = (
        ("browser.search", "browser.open", "browser.find")
        if harmony
        else ("web_search", "browser_open", "browser_find")
    )
    resources = Resources(sandbox, library.search, library.pages)
    async with standing("oracle", names, resources, SERIES) as tools:
        found = await call(tools, search, query="series")
        url = found.output.split("\n")[2].strip()
        opened = await call(tools, opens, **({"id": url} if harmony else {"url": url}))
        page = {"cursor" if harmony else "page_id": opened.output[1:9]}
        in_page = await call(tools, find, pattern="diverge", **page)
        ran = None if harmony else await call(tools, "python", code="x")
    assert found.output.split("\n")[:2] == ["Results for 'series':", "1. series"]
    assert found.output.endswith("\n    Answer: It diverges")
    assert opened.output.split("\n")[1:] == ["lines 0-0 of 1", "L0: Answer: It diverges"]
    assert in_page.output.split("\n")[1:] == ["1 line with 'diverge'", "L0: Answer: It diverges"]
    assert found.markers == ()
    assert ran is None or ran.output == "It diverges"


@in_one_loop
async def test_a_question_may_bring_its_own_texts(sandbox: Sandbox, standing: Standing, call: Caller) -> None:
    own = SERIES.model_copy(update={"metadata": {"oracle": "By the integral test: A.", "adversarial": "B\nsurely"}})
    for name in ("oracle", "adversarial"):
        async with standing(name, "python", Resources(sandbox), own) as tools:
            assert (await call(tools, "python", code="x")).output == own.metadata[name]


@in_one_loop
async def test_an_adversary_says_the_same_wrong_thing_in_all_trials(
    sandbox: Sandbox, standing: Standing, call: Caller
) -> None:
    said = set()
    for seed in "abc":
        async with standing("adversarial", "python", Resources(sandbox), SERIES, seed=seed) as tools:
            said |= {(await call(tools, "python", code=code)).output for code in "xyz"}
    assert len(said) == 1
    assert said < set(SERIES.choices[1:])


def wrong(question: Question, *others: Question) -> str:
    sources = TrialPlaceboSources(PlaceboSources((question, *others)), question, NoGuard())
    return wrong_answer(question, InterventionSetting(question=question, placebo_sources=sources))


@given(
    st.floats(min_value=-1e9, max_value=1e9, allow_subnormal=False).filter(lambda x: abs(x) > 1e-6),
    st.sampled_from([0.0, 0.001, 0.01, 0.05]),
    st.sampled_from([0.0, 0.1]),
)
def test_wrong_numbers_are_far_off_and_look_alike(value: float, relative: float, share: float) -> None:
    target = NumberTarget(value=value, relative=relative, absolute=share * abs(value))
    number = float(wrong(Question(id="q", prompt="?", target=target)))
    assert abs(number - value) > 3 * max(target.absolute, relative * abs(value))
    assert number * value > 0
    assert 0.05 < number / value < 20 or abs(value) < 2


@given(st.lists(st.text(min_size=1, max_size=5), min_size=2, max_size=6), st.data())
def test_wrong_choices_say_something_else(choices: list[str], data: st.DataObject) -> None:
    count = data.draw(st.integers(1, len(choices)))
    question = Question(
        id="q", prompt="?", choices=tuple(choices), target=ChoiceTarget(letters=tuple("ABCDEF"[:count]))
    )
    if len({choice.casefold() for choice in choices}) == len(choices):
        assert wrong(question) != right_answer(question)


def test_wrong_spans_are_of_another_question_or_changed() -> None:
    def spans(id: str, *texts: str) -> Question:
        return Question(id=id, prompt=id, target=SpansTarget(spans=texts))

    paris = spans("q", "Paris")
    assert wrong(paris, spans("r", "paris"), spans("s", "Rome")) == "Rome"
    assert wrong(paris) not in ("Paris", "")
    assert wrong(spans("q", "2018", "12.5%"), spans("s", "Rome")).count("; ") == 1
    year, percent = wrong(spans("q", "2018", "12.5%")).split("; ")
    assert abs(float(year) - 2018) > 60
    assert abs(float(percent.rstrip("%")) - 12.5) > 0.3
    lettered = Question(id="q", prompt="?", target=ChoiceTarget(letters=("B",)))
    assert right_answer(lettered) == "B"
    assert wrong(lettered) in ("A", "C", "D")


@pytest.mark.parametrize("value", [5e-324, 1e-300, 1e-170, 0.001, 1.0, -3.0, 2.5, 1e15, 1e300, 1.7e308])
@pytest.mark.parametrize("tolerance", [{}, {"relative": 0.5}, {"relative": 1.0}, {"absolute": 1e9}])
def test_a_wrong_number_is_never_right(value: float, tolerance: dict[str, float]) -> None:
    target = NumberTarget(value=value, **tolerance)
    number = float(wrong(Question(id="q", prompt="?", target=target)))
    assert math.isfinite(number)
    assert abs(number - value) > max(target.absolute, target.relative * abs(value))


def test_spans_that_are_numbers_never_change_places() -> None:
    for first in range(1, 21):
        for second in range(first + 1, 21):
            for id in "ab":
                target = SpansTarget(spans=(str(first), str(second)))
                said = wrong(Question(id=id, prompt="?", target=target)).split("; ")
                assert not {float(each) for each in said} & {first, second}


@pytest.mark.parametrize(
    ("right", "said"),
    [
        ("-5%", r"-\d+%"),
        ("$1,000", r"\$[\d,]+"),
        ("$1,000,000", r"\$[\d,]*\d,\d{3},\d{3}|\$\d{3},\d{3}"),
        ("12 million", r"\d+ million"),
        ("(5)", r"\(\d+\)"),
        ("1/3", r"\d+/3"),
        ("March 5, 2019", r"March \d+, 2019"),
        ("Yes", "No"),
        ("false", "true"),
        ("是", "否"),
    ],
)
def test_a_wrong_span_is_built_as_the_right_one(right: str, said: str) -> None:
    found = wrong(Question(id="q", prompt="?", target=SpansTarget(spans=(right,))))
    assert re.fullmatch(said, found)
    assert found != right


def test_a_wrong_span_is_a_word_though_no_other_question_has_any() -> None:
    for right in ("Paris", "abba", "12 angry men"):
        assert wrong(Question(id="q", prompt="?", target=SpansTarget(spans=(right,)))).casefold() != right
    assert wrong(Question(id="q", prompt="?", target=SpansTarget(spans=("巴黎",)))) in "林河秦安白石陆远青州周明"


_SPANS = st.one_of(
    st.sampled_from(
        ["Yes", "NO", "true", "False", "increase", "decrease", "有", "没有", "Paris", "Rome", "Alder", "Marlow", "½"]
    ),
    st.builds("{}{}{}".format, st.sampled_from(["", "A", "Room ", "Q", "-", "$"]), st.integers(0, 12),
              st.sampled_from(["", " apple", " 2019", "%", ".0", " thousand"])),
    st.text(min_size=1, max_size=4).filter(lambda text: text.strip() and ";" not in text),
)  # fmt: skip


@given(
    st.lists(_SPANS, min_size=1, max_size=6), st.lists(st.lists(_SPANS, min_size=1, max_size=3)), st.integers(0, 999)
)
def test_no_wrong_span_says_what_a_right_or_another_one_does(
    right: list[str], others: list[list[str]], seed: int
) -> None:
    said = [same_words(span) for span in wrong_spans(right, others, random.Random(seed))]
    assert said
    assert all(said)
    assert len(set(said)) == len(said)
    assert not set(said) & set(map(same_words, right))


@pytest.mark.parametrize(
    "right", [("Yes", "No"), ("True", "False"), ("A1", "A2"), ("Q1 2019", "Q2 2019"), ("1 apple", "2 apple"), ("Yes", "3")]
)  # fmt: skip
def test_an_adversary_says_no_right_span_whatever_the_question(right: tuple[str, ...]) -> None:
    for id in map(str, range(100)):
        said = wrong(Question(id=id, prompt="?", target=SpansTarget(spans=right))).split("; ")
        assert len(said) == len(right)
        assert not {*map(same_words, said)} & {*map(same_words, right)}


def test_a_list_of_spans_of_another_question_is_not_said_where_a_right_one_is_in_it() -> None:
    spans = wrong_spans(["Rome", "Paris"], [["paris; Rome"], ["Oslo", "OSLO", "Bonn"]], random.Random(0))
    assert spans == ["Oslo", "Bonn"]


@pytest.mark.parametrize(
    ("choices", "letters", "said"),
    [(("a", "b"), "AB", {"a", "b"}), ((), "B", set("ACD")), ((), "Z", set("ABCD")), (("a", "b"), "C", {"a", "b"})],
)
def test_letters_without_a_text_are_said_as_letters(choices: tuple[str, ...], letters: str, said: set[str]) -> None:
    question = Question(id="q", prompt="?", choices=choices, target=ChoiceTarget(letters=tuple(letters)))
    assert wrong(question) in said | set(string.ascii_uppercase[: max(ord(letters[-1]) - 64, 4)]) - {letters}
    assert wrong(question) != right_answer(question)


@pytest.mark.parametrize(
    "question",
    [
        Question(id="one", prompt="?", choices=("a",), target=ChoiceTarget(letters=("A",))),
        Question(id="same", prompt="?", choices=("a", "A "), target=ChoiceTarget(letters=("A",))),
        Question(id="all", prompt="?", target=NumberTarget(value=7, relative=1e308)),
    ],
)
def test_where_nothing_is_wrong_the_question_is_refused(question: Question) -> None:
    with pytest.raises(
        InputError, match=f"question '{question.id}': an adversary finds nothing wrong to say"
    ) as refused:
        refuse_without_wrong_answer([question])
    assert "metadata" in refused.value.hint
    refuse_without_wrong_answer([question.model_copy(update={"metadata": {"adversarial": "b"}})])


def test_the_right_answer_scores_and_the_wrong_one_does_not() -> None:
    for question in builtin_questions():
        for answer, value in ((right_answer(question), 1.0), (wrong(question), 0.0)):
            said = answer.split("; ") if question.choices else []
            letters = [letter for letter, choice in zip("ABCDEF", question.choices, strict=False) if choice in said]
            text = f"Answer: {', '.join(letters) or answer}"
            assert scorer_for(question.target.kind).score(question, "t", text).value == value, (question.id, text)
