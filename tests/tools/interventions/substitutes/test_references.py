"""Reference answers: what an oracle and an adversary say of them, and what no placebo may."""

import json
import random

import pytest
from tests.tools.conftest import Caller
from tests.tools.interventions.substitutes.conftest import Standing

from toolablate.benchmarks.builtin import builtin_questions
from toolablate.sandbox import Sandbox
from toolablate.tools import Resources
from toolablate.tools.guards.guard import NoGuard
from toolablate.tools.interventions import InterventionSetting
from toolablate.tools.interventions.substitutes import refuse_without_wrong_answer
from toolablate.tools.interventions.substitutes.claims import right_answer, wrong_answer
from toolablate.tools.interventions.substitutes.withheld import Withheld
from toolablate.tools.placebo_sources import PlaceboSources
from toolablate.tools.placebo_sources.sources import TrialPlaceboSources
from toolablate.traces.errors import InputError
from toolablate.traces.records import ChecklistItem, ChecklistTarget, ChoiceTarget, Question, ReferenceTarget, Rubric

in_one_loop = pytest.mark.asyncio(loop_scope="module")

LONG = """1. The flux decays with the rotor's time constant, so the regulator has to wait before it reconnects the motor.
2. Reconnecting at once puts the residual voltage in series with the supply; the torque may reach ten times its rating.
3. Add a snubber."""
CHINESE = "应先断开断路器并等待残余电压衰减到额定电压的四分之一以下，然后再重新合闸；否则冲击转矩可能损坏联轴器。"


def asked(id: str, answer: str, domain: str = "", **more: object) -> Question:
    target = ReferenceTarget(answer=answer)
    return Question(id=id, prompt=f"What of {id}?", target=target, domain=domain, as_is=True, **more)  # type: ignore[arg-type]


def wrong(question: Question, *others: Question) -> str:
    sources = TrialPlaceboSources(PlaceboSources((question, *others)), question, NoGuard())
    return wrong_answer(question, InterventionSetting(question=question, placebo_sources=sources))


@pytest.mark.deep
@in_one_loop
async def test_an_oracle_says_all_of_a_reference(sandbox: Sandbox, standing: Standing, call: Caller) -> None:
    async with standing("oracle", "python", Resources(sandbox), asked("q", LONG)) as tools:
        assert (await call(tools, "python", code="x")).output == LONG


@in_one_loop
async def test_an_adversary_says_another_reference_in_all_trials(
    sandbox: Sandbox, standing: Standing, call: Caller
) -> None:
    question = asked("q", LONG)
    sources = PlaceboSources((question, *(asked(f"other {number}", f"Answer number {number}") for number in range(9))))
    said = set()
    for seed in "abc":
        async with standing(
            "adversarial", "python", Resources(sandbox), question, placebo_sources=sources, seed=seed
        ) as tools:
            said.add((await call(tools, "python", code=seed)).output)
    assert len(said) == 1
    assert said.pop().startswith("Answer number ")


def test_a_wrong_reference_is_of_the_language_and_the_domain_if_there_is_one() -> None:
    question = asked("q", LONG, "drives")
    far, near, foreign = (
        asked("a", "Blue", "optics"),
        asked("b", "Slow", "drives"),
        asked("c", "慢", "drives", language="zh"),
    )
    assert wrong(question, far, near, foreign) == "Slow"
    assert wrong(question, far, foreign) == "Blue"
    assert wrong(question, foreign) == "慢"


def test_one_more_question_changes_few_wrong_references() -> None:
    questions = [asked(f"q{number}", f"Answer number {number}") for number in range(60)]
    before = [wrong(question, *questions) for question in questions]
    after = [wrong(question, *questions, asked("new", "Another")) for question in questions]
    assert sum(one != other for one, other in zip(before, after, strict=True)) < 8


@pytest.mark.parametrize(
    ("right", "other"),
    [
        ("3", "There are 3 of them"),
        ("Critical damping", "It is CRITICAL  damping."),
        (LONG, f"As we know:\n{LONG.splitlines()[1][3:]}"),
        (CHINESE, CHINESE[:30]),
    ],
)
def test_an_adversary_never_says_what_is_right(right: str, other: str) -> None:
    question = asked("q", right)
    assert wrong(question, asked("a", other), asked("b", "Nothing at all")) == "Nothing at all"
    with pytest.raises(InputError, match="no other question has another reference answer"):
        wrong(question, asked("a", other))


def test_a_plan_whose_only_reference_has_nothing_wrong_beside_it_is_refused() -> None:
    alone = asked("alone", LONG)
    with pytest.raises(InputError, match="question 'alone': an adversary finds nothing wrong to say") as refused:
        refuse_without_wrong_answer([alone, *builtin_questions()])
    assert "metadata" in refused.value.hint
    refuse_without_wrong_answer([alone.model_copy(update={"metadata": {"adversarial": "b"}})])


@pytest.mark.parametrize(
    "other",
    [
        asked("q", "Blue").model_copy(update={"prompt": "WHAT of  alone?"}),
        asked("q", "Blue", cluster="c"),
        asked("q", LONG),
    ],
)
def test_a_question_that_is_no_other_has_nothing_wrong_to_give(other: Question) -> None:
    alone = asked("alone", LONG, cluster="c")
    with pytest.raises(InputError, match="'alone'"):
        refuse_without_wrong_answer([alone, other])


def test_questions_that_are_not_asked_may_have_something_wrong() -> None:
    refuse_without_wrong_answer([asked("a", LONG), asked("b", "Blue")])
    refuse_without_wrong_answer([asked("a", LONG)], [asked("b", "Blue")])


def listed(id: str, *references: str | None) -> Question:
    items = tuple(ChecklistItem(name=name, reference=said) for name, said in zip("ABC", references, strict=False))
    return asked(id, "x").model_copy(update={"target": ChecklistTarget(items=items)})


def test_items_of_a_checklist_are_said_withheld_and_falsified() -> None:
    """A short text as a span, a long one by its words; "N/A" is nothing."""
    question = listed("q", "quenched steel", "N/A", LONG)
    assert right_answer(question) == f"A: quenched steel\nC: {LONG}"
    withheld = Withheld(question)
    assert withheld.holds("It is Quenched  STEEL.")
    assert withheld.holds(LONG.splitlines()[1])
    assert not withheld.holds("It is steel; N/A.")
    other = listed("b", "cast iron", "brass", "Add a snubber. The flux decays with the rotor's time constant")
    assert wrong(question, listed("a", "quenched steel"), other) == "A: cast iron\nC: brass"
    with pytest.raises(InputError, match="no other question's checklist has another reference"):
        refuse_without_wrong_answer([question, listed("a", "quenched steel"), asked("c", "Blue")])
    with pytest.raises(InputError, match="an oracle has nothing to say"):
        right_answer(listed("q", None, "n/a"))


def test_options_that_stand_in_the_prompt_alone_bound_what_an_adversary_says() -> None:
    for number in range(30):
        question = Question(id=f"q{number}", prompt="Which? A. x B. y", as_is=True, target=ChoiceTarget(letters=("A",)))
        assert (right_answer(question), wrong(question)) == ("A", "B")


def withheld(answer: str, **more: object) -> Withheld:
    return Withheld(asked("q", answer, **more))


@pytest.mark.parametrize(
    ("answer", "text", "held"),
    [
        ("Critical damping", "it needs  CRITICAL\ndamping", True),
        ("Critical damping", "damping is critical", False),
        ("12.5 kV", "about 12.50 of them", True),
        ("四分之一额定电压", "不超过四分之一 额定电压。", True),
        (LONG, LONG, True),
        (LONG, "They say the regulator HAS to wait before it\nreconnects anything.", True),
        (LONG, "the residual voltage, in series with the supply", True),
        (LONG, "you may add a snubber to it", True),
        (LONG, "The flux of a rotor decays, and the torque may be high; a regulator waits.", False),
        (LONG, "ten times 10 1 2 3 Yes", False),
        (CHINESE, "一般而言，等待残余电压衰减到额定值即可", True),
        (CHINESE, "断路器和联轴器的残余电压", False),
    ],
)
def test_short_references_are_spans_and_of_long_ones_any_passage_counts(answer: str, text: str, held: bool) -> None:
    assert withheld(answer).holds(text) is held


def test_what_a_rubric_says_is_withheld_whatever_the_target() -> None:
    rubric = Rubric(reference="B, for the residual voltage is in series.", points="Must name the series connection\nB")
    question = Question(id="q", prompt="?", choices=("x1", "y1"), target=ChoiceTarget(letters=("B",)), rubric=rubric)
    for looking in (withheld("Blue", rubric=rubric), Withheld(question)):
        assert looking.holds("for the residual voltage is in series")
        assert looking.holds("must name\nthe series connection")
        assert not looking.holds("the residual voltage B")


def test_lines_that_say_a_passage_together_go_together() -> None:
    lines = ["The regulator is fast", "and yet the regulator has to", "wait before it reconnects", "the motor", "fine"]
    assert withheld(LONG).without(lines) == [0, 3, 4]


def test_what_is_left_of_any_lines_says_nothing() -> None:
    chance = random.Random(5)
    words = [*LONG.split(), "fine", "2.50", "1,000", "--"]
    for _ in range(200):
        start = chance.randrange(len(words))
        text = words[start : start + 20]
        lines = " ".join(chance.choice([word, f"{word}\n"]) for word in text).split("\n")
        looking = withheld(LONG)
        assert not looking.holds("\n".join(lines[number] for number in looking.without(lines)))


def test_of_unrelated_outputs_hardly_any_is_withheld() -> None:
    """Of the built-in questions with their choices, none says what these references do."""
    texts = [json.dumps([question.prompt, *question.choices], ensure_ascii=False) for question in builtin_questions()]
    assert not [text for text in texts for answer in (LONG, CHINESE) if withheld(answer).holds(text)]
