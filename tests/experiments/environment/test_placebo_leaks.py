"""Whole runs under placebos of every tool: nothing that a tool really found, no answer and no choice is shown."""

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Cli, WritePlan
from tests.experiments.environment.test_substitutes import CORPUS, tool_calls
from tests.tools.interventions.substitutes.said import says

from toolablate.benchmarks.builtin import BUILTIN_CORPUS, builtin_questions
from toolablate.tools.interventions.substitutes.claims import right_answer
from toolablate.traces.records import Question, ToolCall, digest_text

QUESTIONS = builtin_questions()[::7]
PAGES = [json.loads(line)["url"] for line in BUILTIN_CORPUS.read_text(encoding="utf-8").splitlines()]
CONDITION = '[{{ name = "p", tools = [{tools}], interventions = ["placebo"] }}]'
TOOL = (
    "from toolablate.tools import tool\n\n@tool\ndef recall(text: str) -> str:\n    '''Recall a text.'''\n"
    "    return f'it is known that {text}, and much else besides'\n"
)
LONG = 25
"""Characters of a line that no two texts share by chance."""


def calling(name: str, **arguments: object) -> dict[str, Any]:
    return {"tool_calls": [{"name": name, "arguments": arguments}]}


def searching(question: Question, place: int) -> list[dict[str, Any]]:
    """Looks for the question and for its answer, opens what is there and beyond its end, and looks for the answer."""
    urls = PAGES[place % len(PAGES) :: len(PAGES) // 3][:3]
    ids = [digest_text(url)[:8] for url in urls]
    return [
        calling("web_search", query=" ".join(question.prompt.split()[:20])),
        calling("web_search", query=right_answer(question), max_results=3),
        calling("browser_open", url=urls[0]),
        calling("browser_open", url=urls[1], line=999),
        *(calling("browser_find", page_id=id, pattern="e") for id in ids[:2]),
        calling("browser_open", page_id=ids[0], link=0),
        {"tool_calls": [*calling("browser_open", url=urls[2])["tool_calls"], *calling("browser_open", url=urls[2], line=1)["tool_calls"]]},
        calling("browser_find", page_id=ids[2], pattern=right_answer(question)[:50]),
        {"content": "Answer: A"},
    ]  # fmt: skip


def computing(question: Question, place: int) -> list[dict[str, Any]]:
    """Prints the answer, the choices, an error that names the answer, and the answer before time is up."""
    texts = [right_answer(question), *question.choices]
    codes = (
        f"answer = {texts!r}\nprint(answer[0])",
        "print(answer)\nanswer",
        "print('\\n'.join(f'{n:>4}  {each}' for n, each in enumerate(answer)))",
        "raise ValueError(answer[0])",
        "answer[0] in answer",
        "import sys; print(answer[0], file=sys.stderr)",
    )
    return [*(calling("python", code=code) for code in codes), {"content": "Answer: A"}]


def recalling(question: Question, place: int) -> list[dict[str, Any]]:
    return [calling("recall", text=right_answer(question)), {"content": "Answer: A"}]


def placebos(
    write_plan: WritePlan, cli: Cli, store: Path, script: Any, tools: str, extra: str
) -> Iterator[tuple[Question, ToolCall]]:
    """What was shown, with the questions it was shown for."""
    questions = [json.loads(question.model_dump_json(exclude_defaults=True)) for question in QUESTIONS]
    replies = {(question.id, "p"): script(question, place) for place, question in enumerate(QUESTIONS)}
    plan = write_plan(replies, conditions=CONDITION.format(tools=tools), questions=questions, extra=extra)
    ran = cli("run", plan)
    assert ran.returncode == 0, ran.stderr + ran.stdout
    by_id = {question.id: question for question in QUESTIONS}
    for _, id, event in tool_calls(store):
        yield by_id[id], event


def content(output: str) -> list[str]:
    """Lines without what the tools say themselves: headings, numbers of lines and of results, what is in any
    traceback."""
    lines = re.sub(r"(?m)^(Results for .*|No results for .*|lines \d+-\d+ of \d+|.*\d lines? with .*)$", "", output)
    lines = re.sub(r"(?s)No match for '.*' in \[", "[", lines)
    lines = re.sub(r"(?m)^Error: there is no l.*$|^\[[0-9a-f]{8}\] ", "", lines)
    lines = re.sub(r"(?m)^-{75}$|^\w+ +Traceback \(most recent call last\)$", "", lines)
    return [re.sub(r"^(L\d+: |\d+\. |Cell In\[\d+\], line \d+)", "", line) for line in lines.split("\n")]


def leaks(question: Question, event: ToolCall, given: Sequence[str]) -> list[str]:
    """Lines that say the answer or a choice, and lines that the tool itself had given."""
    shown = content(event.output)
    found = [line for line in shown if says(line, question)]
    real = {line.strip() for line in content(event.original.output if event.original else "")}
    if not event.changes[0].detail.startswith("unchanged"):
        found += [line for line in shown if len(line) >= LONG and line.strip() in real]
    return [line for line in found if not any(line.strip(" ()") in text for text in given)]


@pytest.mark.deep
@pytest.mark.parametrize(
    ("script", "tools", "extra", "least"),
    [(searching, '"search"', CORPUS, 60), (computing, '"python"', "", 30)],
)
def test_nothing_real_is_shown(
    write_plan: WritePlan, cli: Cli, store: Path, script: Any, tools: str, extra: str, least: int
) -> None:
    swapped = 0
    for question, event in placebos(write_plan, cli, store, script, tools, extra):
        given = [json.dumps(event.call.arguments, ensure_ascii=False), *PAGES]
        if event.changes:
            swapped += 1
            assert leaks(question, event, given) == [], (question.id, event)
            assert event.original is not None
            same = event.output == event.original.output
            assert not same or event.error == "no_such_link" or event.changes[0].detail.startswith("unchanged")
        else:
            assert re.match(r"No results for |\(no output\)|Error: no page ", event.output)
    assert swapped >= least


def test_nothing_real_is_shown_of_functions_of_ones_own(
    write_plan: WritePlan, tmp_path: Path, cli: Cli, store: Path
) -> None:
    (tmp_path / "my_tools.py").write_text(TOOL, encoding="utf-8")
    questions = [json.loads(question.model_dump_json(exclude_defaults=True)) for question in QUESTIONS]
    replies = {(question.id, "real"): recalling(question, 0) for question in QUESTIONS}
    conditions = '[{ name = "real", tools = ["my_tools:recall"] }]'
    pilot = write_plan(replies, conditions=conditions, questions=questions)
    assert cli("run", pilot, "--store", "pilot.sqlite").returncode == 0
    extra = "[placebo]\nstore = 'pilot.sqlite'\n"
    shown = list(placebos(write_plan, cli, store, recalling, '"my_tools:recall"', extra))
    assert len(shown) == len(QUESTIONS)
    for question, event in shown:
        assert event.output.startswith("it is known that ")
        assert event.changes[0].detail != question.id
        assert leaks(question, event, []) == []


def test_the_oracle_of_these_tests_finds_what_is_said() -> None:
    for question in QUESTIONS:
        assert says(f"so it is {right_answer(question).split('; ')[0]}, they say", question), question.id
        assert not says("nothing here", question)
