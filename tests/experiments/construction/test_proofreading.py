"""People read correct statements before any of them is falsified."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.experiments.construction.reviewing import Person, reviewing
from tests.experiments.construction.test_statements import FALSE, STATEMENTS, pipeline_of
from tests.experiments.construction.writing import funnel, run
from tests.servers.chat_server import ChatServer

from toolablate.benchmarks.encyclo_k.statements import load_statements
from toolablate.experiments.construction.pipeline import load_pipeline
from toolablate.traces.errors import InputError

ONE_READER = "[review]\nreviewers = 0\nproofreaders = 1\n"


def waiting(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in run("decide", path).output.splitlines()]


def falsifying(server: ChatServer) -> int:
    return sum("incorrect_reason" in request["messages"][0]["content"] for request in server.requests)


def decide(path: Path, *rows: dict[str, Any]) -> None:
    (path.parent / "d.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    run("decide", path, path.parent / "d.jsonl")


def test_a_rejected_statement_is_not_falsified_and_a_mended_one_is_as_it_was_mended(
    chat_server: ChatServer, tmp_path: Path
) -> None:
    pages = [{"text": text.partition("\n")[2]} for text in STATEMENTS[:2]]
    (tmp_path / "pages.jsonl").write_text("\n".join(map(json.dumps, pages)), encoding="utf-8")
    path = pipeline_of(tmp_path, chat_server, f'{ONE_READER}[worlds]\npages = "pages.jsonl"\n')
    found = funnel(path)
    assert found["proofread"]["waiting"] == {"review": 3}
    assert falsifying(chat_server) == 0
    vertex, equal, discards = waiting(path)
    assert [vertex["content"]] == [{"text": STATEMENTS[0]}]
    mended = STATEMENTS[0].replace("edges of the", "edges of any")
    seen = [
        {"item": each["item"], "seen": each["seen"], "reviewer": "ann", "seconds": 20}
        for each in (vertex, equal, discards)
    ]
    decide(
        path,
        {**seen[0], "verdict": "mend", "content": {"text": mended}},
        {**seen[1], "verdict": "accept"},
        {**seen[2], "verdict": "reject", "reason": "cut off"},
    )
    found = funnel(path)
    assert found["proofread"]["dropped"] == {"rejected": 1}
    assert found["falsify"]["came"] == falsifying(chat_server) == 2
    statements = load_statements(tmp_path / "published" / "statements.jsonl")
    assert {each.text for each in statements if each.correct} == {mended, STATEMENTS[1]}
    # In the book it stands as it was cut.
    false = (tmp_path / "published" / "falsified_book.jsonl").read_text(encoding="utf-8")
    assert [json.loads(line)["text"] for line in false.splitlines()] == [
        FALSE["vertex"].partition("\n")[2],
        FALSE["equal"].partition("\n")[2],
    ]
    assert "Proofreading: median 20 s per item and person" in run("status", path).output
    card = (tmp_path / "published" / "card.md").read_text(encoding="utf-8")
    assert "- Proofreading of the correct statements: 1 person per item" in card
    assert "| ann |  |  | 3 | 20 |" in card


def test_both_reviews_are_on_the_pages_one_after_the_other(chat_server: ChatServer, tmp_path: Path) -> None:
    path = pipeline_of(tmp_path, chat_server, "[review]\nreviewers = 1\nproofreaders = 1\n")
    funnel(path)
    with reviewing(path) as site:
        ann = Person(site, "ann")
        assert "Proofreading" in ann.client.get("/").text
        first = ann.next()
        page = ann.client.get(first).text
        assert "<legend>Statement</legend>" in page
        assert "From correct to incorrect" not in page
        refused = ann.says(first, "accept", text_text="As Figure 3 shows, it is so.")
        assert refused.status_code == 422
        assert "needs a figure" in refused.text
        for _ in range(3):
            ann.says(ann.next(), "accept")
        assert "Nothing waits for you" in ann.client.get("/").text
        run(path)
        assert "Proofreading" not in ann.client.get("/").text
        assert "From correct to incorrect" in ann.client.get(ann.next()).text
        ann.says(ann.next(), "accept")
    assert {each["waits_for"] for each in waiting(path)} == {"review"}
    found = funnel(path)
    assert found["review"]["kept"] == 1
    assert found["proofread"]["kept"] == 3


def test_who_proofreads_is_asked_for_statements_alone(chat_server: ChatServer, tmp_path: Path) -> None:
    path = pipeline_of(tmp_path, chat_server, ONE_READER)
    path.write_text(path.read_text(encoding="utf-8").replace('kind = "statements"', 'kind = "questions"'))
    with pytest.raises(InputError, match=r"review\.proofreaders: of statements"):
        load_pipeline(path)


def test_nobody_is_asked_where_the_pipeline_does_not_say_so(chat_server: ChatServer, tmp_path: Path) -> None:
    assert "proofread" not in funnel(pipeline_of(tmp_path, chat_server))
