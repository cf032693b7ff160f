"""What results would be where tools find nothing, in the words of the stand-in that says so."""

import asyncio

from tests.traces.attribution.stories import QUESTION, SPECS, asked, ended, gave, ran, said, searched, trace

from toolablate.analysis.attribution.signals.of_trace import signals_of
from toolablate.experiments.attribution.attributing import nothing_found
from toolablate.experiments.attribution.choosing import case_of
from toolablate.traces.records import Condition, Event, ToolUse


def nothing(*events: Event, tools: tuple[str, ...]) -> dict[int, str]:
    condition = Condition(name="tools", tools=tuple(ToolUse(name=name) for name in tools))
    told = trace(events)
    case = case_of(told, condition, signals_of(told, QUESTION, condition))
    return dict(asyncio.run(nothing_found(case, told, condition)))


def test_each_tool_says_in_its_own_words_that_there_is_nothing() -> None:
    found = nothing(
        *ran("print(1)", "1"), *searched("green gas", "nitrogen"), *ended("Answer: B"), tools=("python", "search")
    )
    assert found == {1: "(no output)", 3: "No results for 'green gas'."}


def test_a_tool_of_a_server_that_is_not_started_prints_nothing() -> None:
    spec = SPECS[0].model_copy(update={"name": "lookup"})
    call = asked("lookup", key="gas")
    found = nothing(said("", call, specs=(spec,)), gave(call, "nitrogen"), *ended("Answer: B"), tools=("mcp:books",))
    assert found == {1: "(no output)"}
