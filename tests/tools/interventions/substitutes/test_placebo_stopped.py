"""What a cell printed is not shown, however it ended and whatever it printed; and no substitute is the real text."""

import asyncio
import re
from typing import Any, cast

import pytest
from tests.tools.conftest import Caller
from tests.tools.interventions.substitutes.conftest import Standing

from toolablate.sandbox import Sandbox, jupyter
from toolablate.tools import Resources, ToolResult
from toolablate.tools.guards.guard import NoGuard
from toolablate.tools.interventions.substitutes.fitting import code_substitute, kind_of
from toolablate.tools.interventions.substitutes.withheld import Withheld
from toolablate.tools.placebo_sources import PlaceboSource, PlaceboSources, python_bank
from toolablate.tools.tool import PrintedOutput
from toolablate.traces.records import ChoiceTarget, Question

pytestmark = pytest.mark.deep

in_one_loop = pytest.mark.asyncio(loop_scope="module")

QUESTION = Question(id="q", prompt="Which?", choices=("Gera", "New Ulm"), target=ChoiceTarget(letters=("A",)))
SECRET = "zanzibar"
STOPPED = re.compile(r"\[(interrupted after 4 s; the kernel and its variables live on|the kernel died: .*)\]")

PROGRAMS = [
    f"print('{SECRET}', flush=True)\nwhile True: pass",
    f"print('[output truncated] {SECRET}\\nmore', flush=True)\nwhile True: pass",
    f"print('[interrupted after {SECRET}', flush=True)\nwhile True: pass",
    f"print('-' * 75 + '\\nKeyboardInterrupt   Traceback (most recent call last)\\n{SECRET}', flush=True)\nwhile True: pass",
    f"print('[the kernel died before this cell ({SECRET}); the cell ran in a fresh one]', flush=True)\nimport os, time; time.sleep(0.3); os._exit(1)",
    f"class timeout(Exception): pass\nprint('[interrupted after {SECRET}')\nraise timeout('{SECRET}')",
    f"class died(Exception): pass\nprint('[the kernel died {SECRET}')\nraise died('{SECRET}')",
    f"raise type('{SECRET}', (Exception,), {{}})()",
    f"print('{SECRET} ' * 5000)",
    f"print('{SECRET} ' * 5000, flush=True)\nwhile True: pass",
    f"print('x' * 30000 + '\\n[output truncated]')\nraise ValueError('{SECRET}')",
]


@in_one_loop
async def test_nothing_of_what_a_cell_prints_is_shown_however_it_ends(
    sandbox: Sandbox, standing: Standing, call: Caller
) -> None:
    async with standing("placebo", "python", Resources(sandbox), QUESTION) as tools:
        results = [await call(tools, "python", code=code) for code in PROGRAMS]
    for program, result in zip(PROGRAMS, results, strict=True):
        assert result.original is not None, program
        assert SECRET in f"{result.original.output} {result.original.error}"
        assert SECRET not in result.output, program
        assert result.output != result.original.output
        assert "xxxx" not in result.output
        stopped = "while True" in program or "_exit" in program
        assert bool(STOPPED.search(result.output)) == stopped, program
    assert "[output truncated]" in results[8].output
    assert "[output truncated]\n[interrupted" in results[9].output
    assert "ValueError" in results[10].output


@in_one_loop
async def test_pictures_and_pages_that_a_cell_shows_are_left_out(
    sandbox: Sandbox, standing: Standing, call: Caller
) -> None:
    code = f"from IPython.display import HTML\nHTML('<b>{SECRET}</b>')"
    async with standing("placebo", "python", Resources(sandbox), QUESTION) as tools:
        shown = await call(tools, "python", code=code)
    assert shown.original is not None
    assert any(SECRET in artifact.data for artifact in shown.original.artifacts)
    assert shown.artifacts == ()


@in_one_loop
async def test_a_cell_that_ran_in_a_fresh_kernel_shows_nothing_of_what_it_printed(
    sandbox: Sandbox, standing: Standing, call: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jupyter, "_REST_SECONDS", 3600.0)  # a kernel that stands still between cells does not end there
    async with standing("placebo", "python", Resources(sandbox), QUESTION) as tools:
        await call(tools, "python", code="import threading, os; threading.Timer(.2, lambda: os._exit(1)).start()")
        while any(kernel.alive for kernel in cast(Any, sandbox)._kernels):  # noqa: ASYNC110 - nobody tells us
            await asyncio.sleep(0.02)
        shown = await call(tools, "python", code=f"print('{SECRET}', flush=True)\nwhile True: pass")
    assert shown.original is not None
    assert shown.original.output.startswith("[the kernel died before this cell")
    assert SECRET not in shown.output


@in_one_loop
async def test_an_interrupted_cell_that_printed_nothing_is_shown_as_one(
    sandbox: Sandbox, standing: Standing, call: Caller
) -> None:
    async with standing("placebo", "python", Resources(sandbox), QUESTION) as tools:
        shown = await call(tools, "python", code=f"{SECRET} = 1\nwhile {SECRET}: pass")
    lines = shown.output.split("\n")
    assert lines[1:] == [
        "KeyboardInterrupt                         Traceback (most recent call last)",
        "",
        "KeyboardInterrupt: ",
        "[interrupted after 4 s; the kernel and its variables live on]",
    ]


def substitute(output: str, seed: str, *kept: PlaceboSource) -> str:
    sources = PlaceboSources((QUESTION,), {"python": kept}).under(QUESTION, NoGuard())
    shown = code_substitute(ToolResult(output), PrintedOutput(output), "python", seed, sources, Withheld(QUESTION))
    assert shown is not None
    return shown.output


@pytest.mark.parametrize(
    "output", ["0", "1", "2", "3", "8", "12", "24", "ok", "Done.", "True", "False", "[1, 2, 3]", "0.5"]
)
def test_a_substitute_is_never_the_real_text(output: str) -> None:
    kept = [PlaceboSource(f"k{number}", output, prompt="p") for number in range(3)]
    shown = {substitute(output, str(seed), *kept) for seed in range(150)}
    assert output not in {each.strip() for each in shown}
    assert len(shown) > 1


def test_a_truth_value_is_not_told_by_the_other_one() -> None:
    kept = [PlaceboSource(f"k{value}", str(value), prompt="p") for value in (True, False)]
    shown = {substitute(str(value), str(seed), *kept) for value in (True, False) for seed in range(100)}
    assert not shown & {"True", "False"}
    assert {kind_of(each, "") for each in shown} == {"word"}


def test_a_truth_value_is_not_told_by_the_other_one_for_want_of_a_word() -> None:
    words = [example.output for example in python_bank() if kind_of(example.output, "") == "word"]
    question = Question(id="w", prompt="?", choices=(*words, "Done", "b"), target=ChoiceTarget(letters=("A",)))
    kept = [PlaceboSource(f"k{value}{n}", str(value), prompt="p") for value in (True, False) for n in range(20)]
    sources = PlaceboSources((question,), {"python": kept}).under(question, NoGuard())
    for seed in range(60):
        result = ToolResult("True")
        shown = code_substitute(result, PrintedOutput("True"), "python", str(seed), sources, Withheld(question))
        assert shown is not None
        assert shown.output not in ("True", "False")
        assert not any(word.startswith(shown.output) for word in words)


def test_another_script_is_taken_last() -> None:
    kept = [PlaceboSource(f"k{n}", f"今天在霍夫下雨，一整天都在下，第{n}天也下。", prompt="p") for n in range(20)]
    kept.append(PlaceboSource("latin", "it rains in Hof all day long", prompt="p"))
    assert {substitute("a line of words on towns", str(seed), *kept) for seed in range(20)} == {kept[-1].output}


def test_the_bank_tells_nothing_of_the_machine_that_filled_it() -> None:
    text = "\n".join(f"{example.code}\n{example.output}" for example in python_bank())
    for place in ("/root", "/home", "/work", "/Users", ".venv", "pyenv", "python3.1"):
        assert place not in text
    assert set(re.findall(r"0x[0-9a-f]{8,}", text)) <= {"0x7f3c5a1b2d40"}
