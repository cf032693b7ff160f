"""Simulated models: beliefs as configured, tools really called, results that move them as they should."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.agents.conftest import LocalTools, Played, condition, play_with

from toolablate.agents import connect
from toolablate.agents.simulated import Belief, Candidate, SimulatedSource
from toolablate.agents.simulated.simulated_belief import Finding, support
from toolablate.benchmarks.answer_extraction.letters import read_letters
from toolablate.benchmarks.answer_extraction.numbers import read_number
from toolablate.sandbox import Limits, Sandbox, open_sandbox
from toolablate.tools import CorpusPages, CorpusSearch, LiveSearch, Resources, open_corpus, open_toolset
from toolablate.tools.tool import ToolResult
from toolablate.traces.errors import InputError
from toolablate.traces.records import (
    ChoiceTarget,
    Condition,
    Message,
    ModelRequest,
    NumberTarget,
    Question,
    ReferenceTarget,
    SimulatedModel,
    SpansTarget,
    ToolRequest,
    ToolSpec,
    ToolUse,
)

SERIES = Question(
    id="series",
    prompt="To what does the sum of 1/n over all n tend?",
    choices=("It diverges to infinity", "It tends to 5.187", "It tends to 2", "It oscillates"),
    target=ChoiceTarget(letters=("A",)),
)
STAND_IN = {"code": "print(sum(1 / n for n in range(1, 101)))", "faithful": False}
FAITHFUL = {"code": "print('by comparison: it diverges to infinity')", "faithful": True}
BROKEN = {"code": "print(undefined)", "faithful": False}
CODE = ToolSpec(
    name="python",
    description="",
    parameters={"type": "object", "properties": {"code": {"type": "string"}}, "required": ["code"]},
)
SEARCH = ToolSpec(
    name="web_search",
    description="",
    parameters={"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]},
)


def sure(**changes: Any) -> SimulatedModel:
    """A model without chance in what it knows, does and answers."""
    settings: dict[str, Any] = {"ability": 1, "confidence": 40, "eagerness": 1, "literalness": 1, "trust": 100}
    return SimulatedModel(name="sim", **(settings | changes))


def source(model: SimulatedModel, folder: Path | None = None, *plays: dict[str, Any]) -> SimulatedSource:
    playbook = None
    if folder is not None:
        playbook = folder / "playbook.jsonl"
        playbook.write_text("".join(json.dumps(play) + "\n" for play in plays), encoding="utf-8")
    connected = connect(model, playbook=playbook)
    assert isinstance(connected, SimulatedSource)
    return connected


def play_of(question: Question = SERIES, *programs: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"question": question.id, "programs": programs, **more}


async def reply_to(model: SimulatedSource, question: Question, *messages: Message, repeat: int = 0, **more: Any) -> Any:
    session = model.session(question, more.pop("arm", condition()), repeat)
    opening = Message(role="user", content=question.prompt)
    return await session.complete(ModelRequest(messages=(opening, *messages), **more), seconds=1)


def letter(text: str, question: Question = SERIES) -> str:
    return ", ".join(read_letters(text, "ABCD", question.choices).value or ("?",))


@pytest.fixture
async def sandbox() -> AsyncIterator[Sandbox]:
    opened = open_sandbox("bubblewrap", Limits(memory_mb=512))
    availability = await opened.check()
    if not availability.works:
        pytest.skip(f"bubblewrap: {availability.detail}; {availability.remedy}")
    yield opened
    await opened.close()


async def run(model: SimulatedSource, question: Question, tools: str, resources: Resources, **arm: Any) -> Played:
    named = Condition(name=tools, tools=(ToolUse(name=tools),), **arm)
    async with open_toolset(named.tools, resources) as toolset:
        return await play_with(model.session(question, named, 0), toolset, named)


@pytest.mark.parametrize(
    ("programs", "literalness", "expected", "runs"),
    [
        ([STAND_IN, FAITHFUL], 1.0, "B", 1),
        ([STAND_IN, FAITHFUL], 0.0, "A", 1),
        ([STAND_IN], 0.0, "A", 0),
        ([BROKEN, STAND_IN], 1.0, "B", 2),
        ([BROKEN], 1.0, "A", 1),
    ],
)
async def test_real_code_moves_the_belief(
    tmp_path: Path, sandbox: Sandbox, programs: list[dict[str, Any]], literalness: float, expected: str, runs: int
) -> None:
    model = source(sure(literalness=literalness), tmp_path, play_of(SERIES, *programs))
    played = await run(model, SERIES, "python", Resources(sandbox=sandbox))
    assert letter(played.answer.text) == expected
    assert [event.call.name for event in played.of("tool_call")] == ["python"] * runs


async def test_a_misleading_number_becomes_the_answer(tmp_path: Path, sandbox: Sandbox) -> None:
    question = Question(id="n", prompt="How many?", target=NumberTarget(value=12.5, relative=0.01))
    stand_in = {"code": "x = 7 * 1.1\nprint('after', 3, 'steps')\nprint(f'result: {x:.4f}')", "faithful": False}
    model = source(sure(), tmp_path, play_of(question, stand_in))
    assert (await reply_to(model, question)).message.content.endswith("Answer: 12.5")
    played = await run(model, question, "python", Resources(sandbox=sandbox))
    assert read_number(played.answer.text).value == ("7.7",)


def library_of(folder: Path, title: str, text: str) -> Resources:
    """A corpus of one document, to search and to read."""
    document = {"id": "d1", "url": "https://example.org/d1", "title": title, "text": text}
    (folder / "library.jsonl").write_text(json.dumps(document), encoding="utf-8")
    corpus = open_corpus(folder / "library.jsonl", cache=folder / "cache")
    return Resources(search=LiveSearch(CorpusSearch(corpus)), pages=CorpusPages(corpus))


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("It has long been known of this sum: it oscillates, and nothing else.", "D"),
        ("A recipe for bread asks for flour, water, salt and patience with the sum of it.", "A"),
    ],
)
async def test_a_real_search_moves_the_belief_only_by_what_it_says(tmp_path: Path, page: str, expected: str) -> None:
    library = library_of(tmp_path, "On the sum", page)
    opened = set()
    for seed in range(6):
        model = source(sure(seed=seed), tmp_path, play_of(queries=["sum tend series"]))
        played = await run(model, SERIES, "search", library)
        assert letter(played.answer.text) == expected
        called = [event.call.name for event in played.of("tool_call")]
        assert called[0] == "web_search"
        assert {event.status for event in played.of("tool_call")} == {"ok"}
        opened.add("browser_open" in called)
    assert opened == {True, False}


async def test_a_search_that_only_repeats_the_query_says_nothing(tmp_path: Path) -> None:
    model = source(sure(), tmp_path, play_of(queries=["does the sum oscillates"]))
    library = library_of(tmp_path, "Bread", "Flour, water, salt and patience.")
    async with open_toolset((ToolUse(name="web_search"),), library) as tools:
        played = await play_with(model.session(SERIES, condition(), 0), tools)
    assert "oscillates" in played.of("tool_call")[0].output
    assert letter(played.answer.text) == "A"


@pytest.mark.parametrize(
    "output", ["No result.", "", "Error: B", "Traceback (most recent call last)\n  5.187", "💥" * 9]
)
async def test_a_tool_that_says_nothing_leaves_the_belief_alone(tmp_path: Path, output: str) -> None:
    async def python(code: str) -> ToolResult:
        return ToolResult(output)

    tools = LocalTools(python=python)
    tools.__class__ = type("Offered", (LocalTools,), {"specs": (CODE,)})
    model = source(sure(), tmp_path, play_of(SERIES, STAND_IN))
    played = await play_with(model.session(SERIES, condition(), 0), tools)
    assert letter(played.answer.text) == "A"
    assert len(played.of("tool_call")) == 1


@pytest.mark.parametrize(("ability", "least", "most"), [(0.0, 0, 0), (0.3, 95, 145), (0.7, 255, 305), (1.0, 400, 400)])
async def test_ability_is_the_share_of_right_beliefs(ability: float, least: int, most: int) -> None:
    model = source(sure(ability=ability))
    right = 0
    for number in range(400):
        question = SERIES.model_copy(update={"id": f"q{number}"})
        right += letter((await reply_to(model, question)).message.content) == "A"
    assert least <= right <= most


def belief_of(model: SimulatedSource, question: Question, arm: Condition, repeat: int = 0) -> Belief:
    session: Any = model.session(question, arm, repeat)
    return session.belief(ModelRequest(messages=()))  # type: ignore[no-any-return]


def test_the_belief_is_the_same_under_every_condition_and_not_for_every_repeat_or_seed() -> None:
    model, other = source(sure(ability=0.5)), source(sure(ability=0.5, seed=1))
    questions = [SERIES.model_copy(update={"id": f"q{number}"}) for number in range(30)]
    arm, scaffold = condition(), condition(prompt="Work step by step.")
    beliefs = [belief_of(model, question, arm) for question in questions]
    assert beliefs == [belief_of(model, question, scaffold) for question in questions]
    assert beliefs != [belief_of(model, question, arm, repeat=1) for question in questions]
    assert beliefs != [belief_of(other, question, arm) for question in questions]


async def test_an_unsure_model_samples_and_says_the_same_when_asked_the_same() -> None:
    model = source(sure(confidence=1.0))
    arms = [condition(prompt=str(number)) for number in range(40)]
    replies = [await reply_to(model, SERIES, arm=arm) for arm in arms]
    assert replies == [await reply_to(model, SERIES, arm=arm) for arm in arms]
    assert {letter(reply.message.content) for reply in replies} == set("ABCD")


async def test_the_target_enters_through_the_opening_belief_alone(tmp_path: Path) -> None:
    model = source(sure(ability=0, confidence=1, trust=2), tmp_path, play_of(SERIES, STAND_IN, distractor="B"))
    moved = SERIES.model_copy(update={"target": ChoiceTarget(letters=("C",))})
    for repeat in range(20):
        first = await reply_to(model, SERIES, repeat=repeat, tools=(CODE, SEARCH))
        assert first == await reply_to(model, moved, repeat=repeat, tools=(CODE, SEARCH))
    assert (
        letter((await reply_to(source(sure(ability=0), tmp_path, play_of(distractor="D")), SERIES)).message.content)
        == "D"
    )


@pytest.mark.parametrize(
    "question",
    [
        SERIES.model_copy(update={"target": ChoiceTarget(letters=("A", "C"))}),
        SERIES.model_copy(update={"choices": ()}),
        SERIES.model_copy(update={"choices": ("only one",)}),
        SERIES.model_copy(update={"choices": tuple(str(n) for n in range(40))}),
        SERIES.model_copy(update={"choices": ("", "", "((", "[a-")}),
        Question(id="n", prompt="?", target=NumberTarget(value=0.0)),
        Question(id="n", prompt="?", target=NumberTarget(value=-1.5e300, relative=0.9)),
        Question(id="s", prompt="?", target=SpansTarget(spans=("12%", 'a "quoted" span'))),
        Question(id="zh", prompt="哪一个？", language="zh", target=ChoiceTarget(letters=("B",)), choices=("一", "二")),
    ],
)
@pytest.mark.parametrize(
    "output", ["7", "1/0 1e999 9" * 50, "9" * 100_000, "a " * 100_000, "\x00\ud83d\n((", "1,1,1,1", "second"]
)
async def test_odd_questions_and_outputs_still_get_an_answer(question: Question, output: str) -> None:
    right = source(sure(confidence=90, trust=0))
    assert "Answer: " in (await reply_to(right, question)).message.content
    called = await reply_to(source(sure()), question, tools=(CODE, SEARCH))
    results = [Message(role="tool", content=output, tool_call_id=call.id) for call in called.message.tool_calls]
    after = await reply_to(source(sure()), question, called.message, *results, tools=(CODE,), tool_choice="none")
    assert "Answer: " in after.message.content
    assert not after.message.tool_calls


async def test_what_is_written_carelessly_holds_no_answer() -> None:
    careless = source(sure(carelessness=1.0))
    number = Question(id="n", prompt="How many?", target=NumberTarget(value=3))
    for repeat in range(20):
        assert letter((await reply_to(careless, SERIES, repeat=repeat)).message.content) == "?"
        assert read_number((await reply_to(careless, number, repeat=repeat)).message.content).value is None


async def test_tool_choice_is_respected(tmp_path: Path) -> None:
    shy = source(sure(eagerness=0), tmp_path, play_of(SERIES, STAND_IN))
    for choice, calls in (("auto", 0), ("none", 0), ("required", 1)):
        replied = await reply_to(shy, SERIES, tools=(SEARCH, CODE), tool_choice=choice)
        assert (choice, len(replied.message.tool_calls)) == (choice, calls)
    for named in ("web_search", "python"):
        (call,) = (await reply_to(shy, SERIES, tools=(SEARCH, CODE), tool_choice=named)).message.tool_calls
        assert call.name == named
    strange = ToolSpec(name="odd", description="", parameters={})
    (call,) = (await reply_to(shy, SERIES, tools=(strange,), tool_choice="required")).message.tool_calls
    assert (call.name, call.arguments) == ("odd", "{}")


async def test_several_tools_are_called_at_once_now_and_then(tmp_path: Path) -> None:
    model = source(sure(), tmp_path, play_of(SERIES, STAND_IN, queries=["one", "two"]))
    turns = [
        [call.name for call in (await reply_to(model, SERIES, repeat=n, tools=(CODE, SEARCH))).message.tool_calls]
        for n in range(40)
    ]
    assert {tuple(sorted(set(turn))) for turn in turns} == {("python",), ("web_search",), ("python", "web_search")}
    assert {len(turn) for turn in turns} >= {1, 2}


async def test_usage_is_plausible_and_the_model_is_marked() -> None:
    replied = await reply_to(source(sure()), SERIES)
    assert replied.model == "simulated/sim"
    assert replied.usage.input_tokens == -(-len(SERIES.prompt) // 4)
    assert 5 < replied.usage.output_tokens < 100


@pytest.mark.parametrize("bad", ["{", '{"question": 1}', '{"question": "q", "program": []}', '{"question": "series"}'])
def test_a_malformed_playbook_line_is_named(tmp_path: Path, bad: str) -> None:
    playbook = tmp_path / "playbook.jsonl"
    playbook.write_text(f'{{"question": "series"}}\n{bad}\n', encoding="utf-8")
    with pytest.raises(InputError, match=r"playbook\.jsonl:2: "):
        connect(SimulatedModel(name="s", playbook=str(playbook)))


@pytest.mark.parametrize("playbook", ["builtin", "/nowhere/playbook.jsonl"])
def test_a_playbook_that_is_not_there(playbook: str) -> None:
    with pytest.raises(InputError):
        connect(SimulatedModel(name="s", playbook=playbook))


@pytest.mark.parametrize(
    ("choices", "printed", "expected"),
    [
        (("at least 7 cm", "5 to 6 cm", "4 to 5 cm", "3 to 4 cm"), "4 to 5 cm", [0, 0, 1, 0]),
        (("at least 7 cm", "5 to 6 cm", "4 to 5 cm", "3 to 4 cm"), "between 4 and 5", [0, 0.5, 1, 0.5]),
        (("1/3", "2/3", "1/2", "0.25"), "n = 2\n0.33333", [1, 0, 0, 0]),
        (("10", "1,000", "1e6", "100"), "1000 steps\n1000000", [0, 0, 1, 0]),
        (("True", "False", "Both", "None of them"), "False", [0, 1, 0, 0]),
        (("-1", "1", "0", "2"), "step 2\n1", [0, 1, 0, 0]),
    ],
)
def test_what_a_program_prints_is_matched_with_the_options(
    choices: tuple[str, ...], printed: str, expected: list[float]
) -> None:
    candidates = [Candidate(answer, (text,)) for answer, text in zip("ABCD", choices, strict=True)]
    assert support(candidates, Finding("code", "", printed)) == expected


REFERENCE = Question(
    id="motor",
    prompt="What has a regulator to wait for before it reconnects a motor?",
    as_is=True,
    target=ReferenceTarget(
        answer="Until the flux of the rotor has decayed.\nElse the torque may reach ten times its rating."
    ),
)


@pytest.mark.parametrize(
    ("ability", "found", "answer"),
    [
        (1, "", REFERENCE.target.answer),
        (0, "", "nothing of the kind"),
        (0, "Answer: " + REFERENCE.target.answer, REFERENCE.target.answer),
        (0, "One waits until the flux of a rotor decayed; else its torque reaches ten times the rating.", REFERENCE.target.answer),
        (0, "Flour, water, salt and patience with the rotor.", "nothing of the kind"),
        (1, "Answer: Use a bigger motor.", REFERENCE.target.answer),
    ],
)  # fmt: skip
async def test_a_reference_is_said_by_whoever_knows_it_or_reads_it(ability: int, found: str, answer: str) -> None:
    call = ToolRequest(id="1", name="web_search", arguments='{"query": "motor"}')
    asked = Message(role="assistant", tool_calls=(call,))
    seen = (asked, Message(role="tool", content=found, tool_call_id="1")) if found else ()
    reply = await reply_to(source(sure(ability=ability)), REFERENCE, *seen, tools=(SEARCH,), tool_choice="none")
    assert reply.message.content.endswith(f"Answer: {answer}")


async def test_letters_are_of_the_options_that_a_prompt_lists() -> None:
    letters = set()
    for number in range(60):
        question = Question(
            id=f"q{number}",
            prompt="Which? A. one B. two C. three",
            as_is=True,
            target=ChoiceTarget(letters=("C",)),
        )
        letters.add((await reply_to(source(sure(ability=0)), question)).message.content[-1])
    assert letters == {"A", "B"}
