"""What a model with a scenario says and calls, read by the scorer that scores it."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.agents.planted.scenarios import PYTHON, VALVE, arm, asked, call, called, scenario_of, write_scenarios

from toolablate.agents import connect
from toolablate.agents.resuming import FINAL_REQUEST
from toolablate.agents.simulated import SimulatedSource
from toolablate.agents.simulated.planted.chat import PlantedChat
from toolablate.agents.simulated.planted.wording import answer_of, formless_words, language_of, place_of
from toolablate.benchmarks.answer_extraction.letters import read_letters
from toolablate.experiments.replay.changes import IGNORE_TOOLS
from toolablate.traces.errors import InputError
from toolablate.traces.records import Message, ModelRequest, Question, Resumption, SimulatedModel

NOW = Message(role="user", content=FINAL_REQUEST)
ASIDE = Message(role="user", content=IGNORE_TOOLS)
SURE = {"A": 0.0, "B": 60.0, "C": 0.0, "D": 0.0}
CODING: dict[str, Any] = {
    "code": {
        "turns": [{"says": ["I compute."], "calls": [call("code", "x = 1"), call("code", "print(x)")]}],
        "reactions": [{"kind": "code", "phrase": "1", "moves": {"C": 120.0}}],
    }
}


def chat(repeat: int = 0, question: Question = VALVE, resumed: Resumption | None = None, **fields: Any) -> PlantedChat:
    condition = arm(resumed=resumed)
    return PlantedChat(SimulatedModel(name="sim"), scenario_of(**fields), question, condition, repeat)


async def say(model: PlantedChat, request: ModelRequest) -> Message:
    return (await model.complete(request, seconds=1)).message


def letter(message: Message, question: Question = VALVE) -> tuple[str, ...] | None:
    return read_letters(message.content, "ABCDEF"[: len(question.choices)], question.choices).value


async def test_the_script_is_called_then_the_answer_is_drawn_from_what_came_back() -> None:
    model = chat(prior=SURE, scripts=CODING)
    first = await say(model, asked(tools=[PYTHON]))
    assert first.content == "I compute."
    assert [json.loads(each.arguments)["code"] for each in first.tool_calls] == ["x = 1", "print(x)"]
    assert letter(await say(model, asked(*called(PYTHON, "print(x)", "1"), tools=[PYTHON]))) == ("C",)
    assert letter(await say(model, asked())) == ("B",)


async def test_no_call_is_made_where_none_may_be() -> None:
    model = chat(prior=SURE, scripts=CODING)
    for request in (asked(tools=[PYTHON], tool_choice="none"), asked(NOW, tools=[PYTHON], tool_choice="none")):
        answer = await say(model, request)
        assert (answer.tool_calls, letter(answer)) == ((), ("B",))


async def test_told_to_set_aside_it_goes_back_to_what_it_knew() -> None:
    model = chat(prior=SURE, scripts=CODING)
    history = called(PYTHON, "print(x)", "1")
    assert letter(await say(model, asked(*history, NOW, tools=[PYTHON], tool_choice="none"))) == ("C",)
    assert letter(await say(model, asked(*history, ASIDE, tools=[PYTHON], tool_choice="none"))) == ("B",)


@pytest.mark.parametrize("language", ["en", "zh-CN"])
@pytest.mark.parametrize("count", [2, 4, 6])
def test_no_scorer_reads_an_answer_without_its_form_and_its_writer_does(language: str, count: int) -> None:
    question = VALVE.model_copy(
        update={"language": language, "choices": tuple(f"option text {n}" for n in range(count))}
    )
    spoken = language_of(question)
    for words in formless_words(spoken):
        for each in "ABCDEF"[:count]:
            said = Message(role="assistant", content=words.format(place_of(each, spoken)))
            assert letter(said, question) is None, said.content
            assert answer_of([said], question) == each


@pytest.mark.parametrize("loses", [0.0, 1.0])
@pytest.mark.parametrize("language", ["en", "zh"])
async def test_asked_again_it_says_the_same_answer_in_the_form(loses: float, language: str) -> None:
    question = VALVE.model_copy(update={"language": language})
    flat = {"A": 0.0, "B": 0.0, "C": 0.0, "D": 0.0}
    history = called(PYTHON, "print(x)", "2")
    seen = set()
    for repeat in range(12):
        first = chat(repeat, question, prior=flat, scripts=CODING, loses_format=loses)
        final = await say(first, asked(*history, tools=[PYTHON]))
        assert (letter(final, question) is None) is bool(loses)
        resumed = Resumption(trial="t", event=repeat)
        other = chat(repeat, question, resumed, prior=flat, scripts=CODING, loses_format=loses)
        again = await say(other, asked(*history, final, NOW, tools=[PYTHON], tool_choice="none"))
        assert letter(again, question) == (answer_of([final], question),)
        seen.add(letter(again, question))
    assert len(seen) > 2


async def test_the_form_is_lost_after_calls_alone_and_never_where_the_answer_is_asked_for() -> None:
    model = chat(prior=SURE, scripts=CODING, loses_format=1.0)
    history = called(PYTHON, "print(x)", "2")
    assert letter(await say(model, asked(*history, tools=[PYTHON]))) is None
    assert letter(await say(model, asked())) == ("B",)
    assert letter(await say(model, asked(*history, NOW, tools=[PYTHON], tool_choice="none"))) == ("B",)


async def test_repeats_and_counterfactuals_are_draws_of_their_own() -> None:
    even = {"A": 0.0, "B": 0.0, "C": 0.0, "D": 0.0}
    repeats = [letter(await say(chat(repeat, prior=even), asked())) for repeat in range(40)]
    probes = [
        letter(await say(chat(repeat, resumed=Resumption(trial="t", event=0), prior=even), asked()))
        for repeat in range(40)
    ]
    assert len(set(repeats)) == len(set(probes)) == 4
    assert repeats != probes
    assert repeats == [letter(await say(chat(repeat, prior=even), asked())) for repeat in range(40)]


async def test_the_words_of_a_final_reply_may_hold_braces_and_name_the_option() -> None:
    model = chat(prior=SURE, says=["{answer} it is: {text}, as in {x: 1}."])
    assert (await say(model, asked())).content == "B it is: the outlet, as in {x: 1}.\n\nAnswer: B"


async def test_an_answer_may_have_several_letters_and_words_of_its_own() -> None:
    prior = {"A": 0.0, "B": 0.0, "C": 0.0, "D": 0.0, "BD": 60.0}
    model = chat(prior=prior, says=["No more than {text}."], reasons={"BD": ["Both hold: {text}."]})
    said = await say(model, asked())
    assert said.content == "Both hold: the outlet; none of them.\n\nAnswer: B, D"
    assert letter(said) == ("B", "D")
    assert answer_of([said], VALVE) == "BD"
    again = await say(model, asked(said, NOW))
    assert again.content.endswith("\n\nAnswer: B, D")
    other = chat(prior=SURE | {"BD": 0.0}, says=["No more."], reasons={"BD": ["x"]})
    assert (await say(other, asked())).content.startswith("No more.")


def scenario(**fields: Any) -> dict[str, Any]:
    return {"question": "valve", "prior": {"A": 0.0, "B": 1.0, "C": 0.0, "D": 0.0}} | fields


def test_a_source_opens_the_scenario_of_each_question(tmp_path: Path) -> None:
    source = connect(write_scenarios(tmp_path / "scenarios.jsonl", scenario()))
    assert isinstance(source, SimulatedSource)
    assert isinstance(source.session(VALVE, arm(), 0), PlantedChat)
    with pytest.raises(InputError, match=r"scenarios.jsonl: no scenario for question 'other'"):
        source.session(VALVE.model_copy(update={"id": "other"}), arm(), 0)
    with pytest.raises(InputError, match=r"weights for A, B, C, D; its choices are A, B"):
        source.session(VALVE.model_copy(update={"choices": ("x", "y")}), arm(), 0)
    both = connect(write_scenarios(tmp_path / "both.jsonl", scenario(prior={"A": 0.0, "B": 0.0, "AB": 0.0, "AC": 0.0})))
    with pytest.raises(InputError, match=r"weights for A, AB, AC, B; its choices are A, B, C, D"):
        both.session(VALVE, arm(), 0)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (scenario(prior={"A": 0.0}), "prior: two answers or more"),
        (scenario(prior={"a": 0.0, "B": 0.0}), "each a capital or several in their order"),
        (scenario(prior={"A": 0.0, "B": 0.0, "BA": 0.0}), "several in their order; found A, B, BA"),
        (scenario(prior={"A": 0.0, "AB": 0.0}, loses_format=0.5), "only answers of one letter can lose their form"),
        (scenario(reasons={"E": ["Why not."]}), "reasons: E is no answer"),
        (scenario(prompted={"E": 1.0}), "it moves E, which the prior has no weight for"),
        (scenario(prior={"A": float("inf"), "B": 0.0}), r"prior\.A: Input should be a finite number"),
        (scenario(scripts={"code": {"offered": {"X": 1.0}}}), "it moves X"),
        (scenario(scripts={"code": {"turns": [{"calls": []}]}}), r"scripts\.code\.turns\.0\.calls"),
        (
            scenario(scripts={"code": {"turns": [{"calls": [call("query", "x")]}]}}),
            "'query' is a call of another script",
        ),
        (scenario(scripts={"code": {"reactions": [{"kind": "code", "moves": {}}]}}), "a reaction has a phrase"),
        (
            scenario(scripts={"code": {"reactions": [{"kind": "code", "when": "fail", "phrase": "x", "moves": {}}]}}),
            "a reaction has a phrase",
        ),
        (scenario(loses_format=2), "loses_format: Input should be less than or equal to 1"),
        (scenario(cause="lock_in"), "cause: Extra inputs are not permitted"),
    ],
)
def test_what_is_wrong_with_a_scenario_is_told_by_line_and_key(
    tmp_path: Path, wrong: dict[str, Any], said: str
) -> None:
    with pytest.raises(InputError, match=rf"scenarios\.jsonl:2: .*{said}"):
        connect(write_scenarios(tmp_path / "scenarios.jsonl", scenario(question="first"), wrong))


def test_a_question_has_one_scenario_and_a_file_is_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"scenarios\.jsonl:2: question 'valve' is there already"):
        connect(write_scenarios(tmp_path / "scenarios.jsonl", scenario(), scenario()))
    with pytest.raises(InputError, match=r"cannot read the scenarios .*none\.jsonl: No such file"):
        connect(SimulatedModel(name="sim", scenarios=str(tmp_path / "none.jsonl")))
    with pytest.raises(InputError, match=r"model 'sim': it has both a playbook and scenarios"):
        connect(SimulatedModel(name="sim", playbook="p.jsonl", scenarios="s.jsonl"))
