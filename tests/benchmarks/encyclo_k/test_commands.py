"""From statements and published questions to tables, by the command line."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.benchmarks.encyclo_k.made_replies import groups, question
from tests.benchmarks.encyclo_k.synthetic import subfield
from tests.experiments.scripted import run

from toolablate.benchmarks.encyclo_k.analyses import read_tables
from toolablate.benchmarks.encyclo_k.composing import compose, single_statements
from toolablate.benchmarks.questions import load_questions
from toolablate.cli import group
from toolablate.traces.errors import InputError
from toolablate.traces.records import Question


def write_plan(
    folder: Path, questions: Iterable[Question], answer: Callable[[Question], str], scorer: str = "encyclo-k"
) -> None:
    lines = [
        {"question": each.id, "condition": "none", "replies": [{"content": f"Answer: {answer(each)}"}]}
        for each in questions
    ]
    (folder / "script.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    (folder / "plan.toml").write_text(
        f"conditions = ['none']\n[questions]\nfile = 'questions.jsonl'\nscorer = '{scorer}'\n"
        "[[models]]\nprovider = 'scripted'\nname = 'm'\nscript = 'script.jsonl'\n",
        encoding="utf-8",
    )


def test_from_statements_to_tables_by_the_command_line(tmp_path: Path) -> None:
    source = list(subfield("Optics 1", "Science", "en", 60, 60))
    statements = tmp_path / "statements.jsonl"
    statements.write_text("".join(each.to_json() + "\n" for each in source), encoding="utf-8")
    output, single = tmp_path / "questions.jsonl", tmp_path / "single.jsonl"
    arguments = [str(statements), "-o", str(output), "--seed", "3", "--questions", "12", "--single", str(single)]
    composed = CliRunner().invoke(group, ["encyclo-k", "compose", *arguments], catch_exceptions=False)
    assert composed.exit_code == 0, composed.output
    assert "12 questions of 120 statements, seed 3" in composed.output.replace("\n", " ")
    questions = load_questions(output)
    assert questions == compose(source, 3, 12)
    independent = len({each.cluster or each.id for each in questions})
    assert independent < 12
    assert f"To tests and intervals these are {independent}, since" in composed.output.replace("\n", " ")
    judged = load_questions(single)
    assert judged == single_statements(questions, source, 3)
    output.write_text(output.read_text("utf-8") + single.read_text("utf-8"), encoding="utf-8")

    def first(each: Question) -> str:
        return "A"

    write_plan(tmp_path, [*questions, *judged], first)
    run(tmp_path / "plan.toml")
    printed = CliRunner().invoke(
        group, ["encyclo-k", "tables", str(tmp_path / "store.sqlite"), "--json"], catch_exceptions=False
    )
    found = json.loads(printed.output)
    hits = sum(each.target.letters == ("A",) for each in questions)  # type: ignore[union-attr]
    (arm,) = found["arms"]
    assert (arm["trials"], arm["levels"][0]["accuracy"]["percent"]) == (12, pytest.approx(100 * hits / 12))
    assert found["positions"][0]["positions"][0]["chosen"] == 12
    assert found["single"][0]["statements"]["questions"] == len(judged)
    assert found["single"][0]["composed"]["questions"] == 12
    page = (
        CliRunner()
        .invoke(group, ["encyclo-k", "tables", str(tmp_path / "store.sqlite")], catch_exceptions=False)
        .output
    )
    assert "Single statements beside composed questions" in page


def test_sets_of_one_seed_and_other_forms_are_told_apart(tmp_path: Path) -> None:
    source = list(subfield("Optics 1", "Science", "en", 60, 60))
    for options in (4, 10):
        questions = compose(source, 3, 6, options=(options, options))
        lines = "".join(each.to_json() + "\n" for each in questions)
        (tmp_path / "questions.jsonl").write_text(lines, encoding="utf-8")
        write_plan(tmp_path, questions, lambda each: "A")
        run(tmp_path / "plan.toml")
    (arm,) = read_tables(tmp_path / "store.sqlite").arms
    assert {name: count for name, (count, _) in groups(arm, "options").items()} == {"4": 6, "10": 6}
    (arm,) = read_tables(tmp_path / "store.sqlite", run="latest").arms
    assert {name: count for name, (count, _) in groups(arm, "options").items()} == {"10": 6}


def test_a_store_of_other_questions_has_no_tables(tmp_path: Path) -> None:
    other = question(1).model_copy(update={"source": ""})
    (tmp_path / "questions.jsonl").write_text(other.to_json() + "\n", encoding="utf-8")
    write_plan(tmp_path, [other], lambda each: "A")
    run(tmp_path / "plan.toml")
    with pytest.raises(InputError, match="has no scored trial of Encyclo-K"):
        CliRunner().invoke(group, ["encyclo-k", "tables", str(tmp_path / "store.sqlite")], catch_exceptions=False)


def test_published_questions_are_brought_in_and_no_source_is_overwritten(tmp_path: Path) -> None:
    row = {"question": "Which?", "options": ["i, ii", "ii, iii"], "answer_letter": "B", "discipline": "Law"}
    published = tmp_path / "published.jsonl"
    published.write_text(json.dumps(row), encoding="utf-8")
    output = tmp_path / "questions.jsonl"
    brought = CliRunner().invoke(
        group, ["encyclo-k", "import", str(published), "-o", str(output)], catch_exceptions=False
    )
    assert brought.exit_code == 0, brought.output
    (found,) = load_questions(output)
    assert (found.domain, found.source) == ("Law", "encyclo-k")
    with pytest.raises(InputError, match="is the file that is read"):
        CliRunner().invoke(group, ["encyclo-k", "import", str(published), "-o", str(published)], catch_exceptions=False)
    assert json.loads(published.read_text("utf-8")) == row


def test_nothing_is_written_where_two_files_are_one(tmp_path: Path) -> None:
    statements, linked, output = (tmp_path / name for name in ("statements.jsonl", "linked.jsonl", "questions.jsonl"))
    source = "".join(each.to_json() + "\n" for each in subfield("Optics 1", "Science", "en", 30, 30))
    statements.write_text(source, encoding="utf-8")
    linked.hardlink_to(statements)
    for first, single, said in (
        (output, output, "questions.jsonl is named twice"),
        (output, statements, "statements.jsonl is the file that is read"),
        (linked, output, "linked.jsonl is the file that is read"),
    ):
        arguments = [str(statements), "-o", str(first), "--single", str(single), "--questions", "2"]
        with pytest.raises(InputError, match=said):
            CliRunner().invoke(group, ["encyclo-k", "compose", *arguments], catch_exceptions=False)
        assert not output.exists()
        assert statements.read_text("utf-8") == source


def test_a_chosen_place_is_read_by_the_scorer_that_is_asked_for(tmp_path: Path) -> None:
    asked = question(1, options=6)
    (tmp_path / "questions.jsonl").write_text(asked.to_json() + "\n", encoding="utf-8")
    for scorer in ("encyclo-k", "choice"):
        write_plan(tmp_path, [asked], lambda each: "C.\nB is false.\nD", scorer)
        run(tmp_path / "plan.toml")

    def chosen(scorer: str | None) -> list[str]:
        (bias,) = read_tables(tmp_path / "store.sqlite", scorer=scorer).positions
        return [each.letter for each in bias.positions if each.chosen]

    assert (chosen("encyclo-k"), chosen("choice"), chosen(None)) == (["D"], ["C"], ["C"])
