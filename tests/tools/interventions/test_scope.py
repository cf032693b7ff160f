"""Which calls an intervention is for, and chance that is each intervention's own."""

import asyncio
import math
from dataclasses import replace
from random import Random

import pytest
from tests.tools.interventions.echoing import Echoing, details, use

from toolablate.tools import Resources, ToolResult, intervention, open_interventions, open_toolset
from toolablate.tools.interventions import Call, InterventionSetting, intervened
from toolablate.tools.tool import PLAIN
from toolablate.traces.errors import InputError, ToolError
from toolablate.traces.records import InterventionUse, ToolRequest, ToolUse

CALLS = [("a", "echo"), ("b", "crash"), ("c", "echo"), ("d", "echo")]


async def failed(*uses: InterventionUse) -> str:
    """The texts of those calls that an injected failure answered."""
    tools = Echoing(uses)
    results = [(text, await tools(text, name)) for text, name in CALLS]
    return "".join(text for text, result in results if result.error == "injected_failure")


async def test_a_scope_is_tools_and_calls_of_theirs() -> None:
    assert await failed(use("fail")) == "abcd"
    assert await failed(use("fail", calls=[1])) == "a"
    assert await failed(use("fail", calls=[2, 4, 9])) == "bd"
    assert await failed(use("fail", tools=["crash"])) == "b"
    assert await failed(use("fail", tools=["crash"], calls=[1])) == "b"
    assert await failed(use("fail", tools=["echo"], calls=[2])) == "c"
    assert await failed(use("fail", tools=["echo", "crash"], calls=[2])) == "b"


async def test_one_for_text_from_outside_counts_the_calls_of_these_tools_alone() -> None:
    setting = InterventionSetting(outside=("web_search",), tools=("python", "web_search"))
    spotlight = open_interventions([use("spotlight", calls=[1])], setting)

    async def run() -> ToolResult:
        return ToolResult("text")

    calls = [Call(name, {}, number, 1, PLAIN) for number, name in enumerate(("python", "web_search", "web_search"), 1)]
    results = [await intervened(spotlight, call, run) for call in calls]
    assert [bool(result.changes) for result in results] == [False, True, False]


async def test_two_of_a_kind_in_one_condition_both_work() -> None:
    assert await failed(use("fail", calls=[1]), use("fail", tools=["echo"], calls=[3])) == "ad"
    tools = Echoing([use("truncate", chars=3), use("remind", text="one"), use("remind", text="two")])
    result = await tools("abcdef")
    assert result.output == "abc\n[3 characters left out]\n\none\n\ntwo"
    assert [name for name, _ in details(result)] == ["truncate", "remind", "remind"]
    assert result.original is not None
    assert result.original.output == "abcdef"


async def test_a_call_that_an_outer_intervention_answers_is_counted_by_the_inner_ones() -> None:
    tools = Echoing([use("limit", calls=2), use("fail", calls=[1])])
    results = [await tools(text) for text in "abc"]
    assert [result.error for result in results] == ["injected_failure", "", "call_limit"]


async def test_calls_at_once_are_counted_in_their_order() -> None:
    tools = Echoing([use("remind", text="first", calls=[1]), use("remind", text="third", calls=[3])])
    results = await asyncio.gather(*(tools(text) for text in "abc"))
    assert [result.output for result in results] == ["a\n\nfirst", "b", "c\n\nthird"]


async def test_a_call_that_is_tried_again_keeps_its_count() -> None:
    interventions = open_interventions([use("remind", text="x", calls=[2])])
    tries = 0

    async def run() -> ToolResult:
        nonlocal tries
        tries += 1
        if tries == 2:
            raise ToolError("gone for a moment", retryable=True)
        return ToolResult("text")

    first = Call("echo", {}, 1, 1, PLAIN)
    assert (await intervened(interventions, first, run)).output == "text"
    with pytest.raises(ToolError):
        await intervened(interventions, replace(first, number=2, of_tool=2), run)
    assert (await intervened(interventions, replace(first, number=2, of_tool=2), run)).output == "text\n\nx"
    assert (await intervened(interventions, replace(first, number=3, of_tool=3), run)).output == "text"


@pytest.mark.parametrize("name", ["spotlight", "fail"])
def test_a_scope_of_no_tool_of_the_condition_is_refused_once_its_tools_are_known(name: str) -> None:
    scoped = [use(name, tools=["echo", "python"])]
    assert len(open_interventions(scoped)) == 1
    assert len(open_interventions(scoped, InterventionSetting(tools=("python", "echo")))) == 1
    with pytest.raises(InputError) as refused:
        open_interventions(scoped, InterventionSetting(tools=("echo",)))
    assert refused.value.message == f"interventions: tools of {name!r}: the condition has no tool 'python'"
    assert refused.value.hint == "its tools are echo; an intervention names them as the model does"


def test_opening_a_toolset_tells_the_tools() -> None:
    echo = ToolUse(name="tests.tools.interventions.echoing:echo")
    open_toolset([echo], Resources(), interventions=[use("fail", tools=["echo"])])
    for tools, hint in (([echo], "its tools are echo"), ([], "it has no tools")):
        with pytest.raises(InputError) as refused:
            open_toolset(tools, Resources(), interventions=[use("fail", tools=["python"])])
        assert refused.value.hint.startswith(hint)


async def drawn(*uses: InterventionUse, seed: str = "trial", calls: int = 40) -> list[str]:
    tools = Echoing(uses, seed)
    return [(await tools("text")).output for _ in range(calls)]


async def test_chance_is_the_same_in_a_replay_and_another_in_another_trial() -> None:
    half = use("fail", rate=0.5)
    assert await drawn(half) == await drawn(half)
    assert len({tuple(await drawn(half, seed=seed)) for seed in ("a", "b", "c", "d")}) == 4


async def test_interventions_of_one_condition_do_not_share_their_chance() -> None:
    """Of two that fail half of the calls each, three quarters fail; with shared draws it would be half."""
    both = await drawn(use("fail", rate=0.5, message="one"), use("fail", rate=0.5, message="two"), calls=400)
    shares = {text: both.count(text) / 400 for text in ("one", "two", "text")}
    assert shares == {
        "one": pytest.approx(0.25, abs=0.07),
        "two": pytest.approx(0.5, abs=0.08),
        "text": pytest.approx(0.25, abs=0.07),
    }


@intervention
def dice(result: ToolResult, call: Call) -> str:
    return f"{result.output} {call.chance.random()}"


@intervention
def coin(result: ToolResult, call: Call) -> str:
    return f"{result.output} {call.chance.random()}"


async def test_each_name_place_call_and_trial_has_a_chance_of_its_own() -> None:
    """Also those of functions of one's own, and again the same in a replay and when a call is tried again."""
    uses = [dice.use(), coin.use(), dice.use()]
    here, replay, elsewhere = (Echoing(uses, seed=seed) for seed in ("trial", "trial", "another"))
    first = [await here("text"), await here("text"), await elsewhere("text")]
    drawn = [number for result in first for number in result.output.split()[1:]]
    assert len(drawn) == len(set(drawn)) == 9
    request = ToolRequest(id="1", name="echo", arguments='{"text": "text"}')
    assert [(await replay.toolset.call(request)).output for _ in range(2)] == [first[0].output] * 2
    assert (await replay("text")).output == first[1].output


async def test_draws_stay_from_one_version_to_the_next() -> None:
    for number in range(40):
        result = await Echoing([use("fail", rate=0.5)], seed=str(number))("text")
        assert bool(result.error) is (Random(f"{number} fail 0 1").random() < 0.5)


@pytest.mark.deep
@pytest.mark.parametrize("rate", [0.05, 0.5, 0.9])
async def test_calls_fail_at_the_rate_that_a_plan_says(rate: float) -> None:
    count = 2_000
    share = 1 - (await drawn(use("fail", rate=rate), calls=count)).count("text") / count
    assert abs(share - rate) < 3 * math.sqrt(rate * (1 - rate) / count)
