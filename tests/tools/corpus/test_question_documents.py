"""The tools over a question's own documents, and the substitutes of their results."""

import re
from collections.abc import Sequence
from typing import Any

import pytest
from tests.tools.conftest import Caller

from toolablate.tools import Resources, Toolset, open_toolset
from toolablate.tools.corpus import QuestionDocuments
from toolablate.tools.corpus.question_documents import PART_CHARS, parts_of
from toolablate.tools.placebo_sources import PlaceboSources
from toolablate.traces.errors import ToolError
from toolablate.traces.records import (
    ChecklistItem,
    ChecklistTarget,
    ChoiceTarget,
    InterventionUse,
    NumberTarget,
    Question,
    QuestionDocument,
    ReferenceTarget,
    SpansTarget,
    ToolUse,
)

HILL = "It was old and grey and stood by the river. " * 60
FARM = QuestionDocument(
    name="farm.txt", text=f"The farm.\n\n{HILL}\n\nIn 1911 the farm had 37 goats.\n\n{'Later all was sold. ' * 80}"
)
MILL = QuestionDocument(
    name="mill.txt", text=f"The mill ground rye. {'Its wheel turned slowly. ' * 40}\n\nRent was 90."
)
QUARRY = QuestionDocument(name="石.txt", text="采石场出产花岗岩。" * 50)

GOATS = Question(
    id="goats", prompt="How many goats did the farm have in 1911?", target=NumberTarget(value=37), documents=(FARM,)
)
RYE = Question(id="rye", prompt="What did it grind?", target=SpansTarget(spans=("rye",)), documents=(MILL,))
STONE = Question(
    id="stone",
    prompt="采石场出产什么？",
    target=ReferenceTarget(answer="花岗岩"),
    language="zh",
    documents=(QUARRY, MILL),
)


def opened(question: Question, *interventions: str, questions: Sequence[Question] = (GOATS, RYE, STONE)) -> Toolset:
    documents = QuestionDocuments()
    documents.add(questions)
    return open_toolset(
        [ToolUse(name="documents")],
        Resources(documents=documents),
        question=question,
        interventions=[InterventionUse(name=name) for name in interventions],
        seed="s",
        placebo_sources=PlaceboSources(questions, asked=questions, documents=documents),
    )


@pytest.mark.parametrize(
    "text", [FARM.text, QUARRY.text, "x" * 5_000, "a b\n" * 2_000, "\n\n\nonly\n\n", "a\n \t\n\n\nb\r\n\r\nc"]
)
def test_parts_are_the_text(text: str) -> None:
    parts = parts_of(text)
    assert all(0 < len(part) <= PART_CHARS for part in parts)
    assert re.sub(r"\s", "", "".join(parts)) == re.sub(r"\s", "", text)


@pytest.mark.parametrize("text", ["a" + "\n" * 300_000 + "b", "a" + "\n \t" * 100_000 + "\nb"])
def test_blank_lines_take_time_in_their_number(text: str) -> None:
    """Minutes, were all of them looked at from each."""
    assert parts_of(text) == ["a", "b"]


def test_a_paragraph_ends_before_a_blank_line() -> None:
    paragraphs = ["a" * 1_000, "b" * 1_000, "c" * 1_000]
    assert parts_of("\n \t\n\n".join(paragraphs)) == paragraphs
    assert parts_of("a b " * 1_000) == ["a b " * 374 + "a b"] * 2 + [("a b " * 250).strip()]


async def test_a_part_is_found_and_it_and_the_whole_are_opened(call: Caller) -> None:
    async with opened(GOATS) as tools:
        assert [spec.name for spec in tools.specs] == ["document_search", "document_open", "document_find"]
        found = await call(tools, "document_search", query="goats in 1911", max_results=1)
        title, url, extract = found.output.splitlines()[1:]
        assert title == "1. farm.txt, part 3 of 5"
        assert "37 goats" in extract
        part = await call(tools, "document_open", url=url.strip())
        assert "37 goats" in part.output
        assert "The farm." not in part.output
        whole = await call(tools, "document_open", url="farm.txt")
        assert whole.output.splitlines()[2] == "L0: The farm."
        assert (await call(tools, "document_open", url=url.strip().partition("?")[0])).output == whole.output
        matched = await call(tools, "document_find", page_id=whole.output[1:9], pattern="GOATS")
        assert "37 goats" in matched.output
        nothing = await call(tools, "document_search", query="zzz")
        assert nothing.output == "No results for 'zzz'."


@pytest.mark.parametrize("url", ["mill.txt", "https://documents.invalid/0/farm.txt", "http://[", "", "farm.txt?part=1"])
async def test_what_is_no_document_of_the_question_is_an_error_for_the_model(call: Caller, url: str) -> None:
    async with opened(GOATS) as tools:
        told = await call(tools, "document_open", url=url)
    assert (told.status, told.error) == ("error", "no_such_document")
    assert "the documents are farm.txt" in told.output


async def test_a_part_that_is_not_there_is_an_error_for_the_model(call: Caller) -> None:
    async with opened(GOATS) as tools:
        found = await call(tools, "document_search", query="goats in 1911", max_results=1)
        base = found.output.splitlines()[2].strip().partition("?")[0]
        for query in ("part=6", "part=0", "page=1"):
            assert (await call(tools, "document_open", url=f"{base}?{query}")).error == "no_such_document"


# Substitutes.


async def test_a_sham_finds_nothing(call: Caller) -> None:
    async with opened(GOATS, "sham") as tools:
        assert (await call(tools, "document_search", query="goats")).output == "No results for 'goats'."


async def test_a_placebo_is_of_another_questions_documents_and_can_be_opened(call: Caller) -> None:
    async with opened(GOATS, "placebo") as tools:
        found = await call(tools, "document_search", query="goats in 1911")
        assert found.output.startswith("Results for 'goats in 1911':")
        assert "farm" not in found.output.partition("\n")[2]
        assert {change.detail for change in found.changes} <= {"rye", "stone", "rye, stone", "stone, rye"}
        assert "37 goats" in (found.original.output if found.original else "")
        url = found.output.splitlines()[2].strip()
        foreign = await call(tools, "document_open", url=url)
        assert foreign.status == "ok"
        own = await call(tools, "document_open", url="farm.txt")
        assert own.status == "ok"
        assert "goats" not in own.output
        assert "farm.txt" in own.output.splitlines()[0]


async def test_questions_that_share_a_document_are_no_placebos_for_each_other(call: Caller) -> None:
    sources = PlaceboSources((RYE, STONE), asked=(RYE, STONE), documents=QuestionDocuments())
    assert sources.without("document_search", from_questions=True) == RYE
    assert PlaceboSources((RYE, GOATS), asked=(RYE,)).without("document_open", from_questions=True) is None
    async with opened(RYE, "placebo", questions=(RYE, STONE)) as tools:
        with pytest.raises(ToolError, match="under another question"):
            await call(tools, "document_search", query="its wheel")


def choice(right: str) -> Question:
    return Question(
        id="c",
        prompt="What was sold?",
        choices=("the boats", "all", right),
        target=ChoiceTarget(letters=("C",)),
        documents=(FARM,),
    )


@pytest.mark.parametrize(
    ("question", "holds"),
    [
        (GOATS, "In 1911 the farm had 37 goats."),
        (RYE, "The mill ground rye."),
        (STONE, "花岗岩"),
        (choice("goats"), "37 goats"),
        (
            GOATS.model_copy(update={"target": ReferenceTarget(answer="The farm kept 37 goats in 1911, by its book.")}),
            "37",
        ),
        (GOATS.model_copy(update={"metadata": {"oracle": "own words"}}), "own words"),
    ],
)
async def test_an_oracle_gives_the_passage_that_holds_the_answer(call: Caller, question: Question, holds: str) -> None:
    async with opened(question, "oracle") as tools:
        for tool, given in (("document_search", {"query": "x"}), ("document_open", {"url": "farm.txt"})):
            arguments: dict[str, Any] = given
            found = await call(tools, tool, **arguments)
            assert holds in found.output
            assert "Answer:" not in found.output


SOLD = "The whole farm was sold to a miller of the next town for ninety pounds."
CHECKLIST = GOATS.model_copy(
    update={
        "id": "list",
        "target": ChecklistTarget(
            items=(
                ChecklistItem(name="Animals", reference="37 goats"),
                ChecklistItem(name="Owner", reference="n/a."),
                ChecklistItem(name="Label", reference="1", literal=True),
                ChecklistItem(name="Sale", reference=SOLD),
            )
        ),
        "documents": (
            FARM,
            QuestionDocument(name="sale.txt", text=f"{'Of old deeds. ' * 90}\n\n{SOLD}\n\n{'No more is known. ' * 80}"),
        ),
    }
)
COPY = QuestionDocument(name="copy.txt", text=f"Copied.\n\n{SOLD[:50]}\n\nThe miller was rich.")
OTHER_LIST = CHECKLIST.model_copy(
    update={
        "id": "other list",
        "prompt": "And of the mill?",
        "target": ChecklistTarget(
            items=(
                ChecklistItem(name="Sale", reference="It was never sold."),
                ChecklistItem(name="Animals", reference="two old horses"),
            )
        ),
        "documents": (MILL, COPY),
    }
)
LISTS = (CHECKLIST, OTHER_LIST)


async def test_an_oracle_gives_the_passages_that_hold_a_checklists_items(call: Caller) -> None:
    async with opened(CHECKLIST, "oracle", questions=LISTS) as tools:
        found = (await call(tools, "document_search", query="x")).output
    assert "In 1911 the farm had 37 goats." in found
    assert SOLD in found
    assert "Answer:" not in found
    bare = CHECKLIST.model_copy(update={"documents": (MILL,)})
    async with opened(bare, "oracle", questions=LISTS) as tools:
        found = (await call(tools, "document_open", url="mill.txt")).output
    assert "Animals: 37 goats" in found
    assert "Label: 1" in found
    assert "Owner" not in found


async def test_an_adversary_puts_wrong_items_into_a_checklists_passages(call: Caller) -> None:
    async with opened(CHECKLIST, "adversarial", questions=LISTS) as tools:
        found = (await call(tools, "document_search", query="x")).output
    assert "In 1911 the farm had two old horses." in found
    assert "It was never sold." in found
    assert "37" not in found
    assert "miller" not in found


async def test_a_placebo_says_no_item_of_a_checklist(call: Caller) -> None:
    for question in (CHECKLIST, GOATS):
        async with opened(
            question, "placebo", questions=(question, OTHER_LIST.model_copy(update={"documents": (COPY,)}))
        ) as tools:
            found = (await call(tools, "document_open", url="farm.txt")).output
        assert "The miller was rich." in found
        assert (SOLD[:50] in found) == (question is GOATS)


async def test_an_oracle_says_the_answer_where_no_document_does(call: Caller) -> None:
    async with opened(GOATS.model_copy(update={"target": NumberTarget(value=812)}), "oracle") as tools:
        assert "Answer: 812" in (await call(tools, "document_search", query="x")).output


async def test_an_adversary_puts_a_wrong_answer_into_the_passage(call: Caller) -> None:
    async with opened(GOATS, "adversarial") as tools:
        found = (await call(tools, "document_search", query="x")).output
    assert re.search(r"In 1911 the farm had \d+ goats\.", found)
    assert "37" not in found
