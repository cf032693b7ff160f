"""Prompts of a pipeline's own: what is wrong with one is told before anything is asked, and a changed one redoes its
stage."""

import json
import re
from pathlib import Path

import pytest
from tests.experiments.construction.writing import ALONE, PAIRS, Writer, funnel, pipeline_of, run
from tests.servers.chat_server import ChatServer

from toolablate.experiments.construction.prompts import PROMPTS
from toolablate.traces.errors import InputError


def prompt_of(name: str) -> str:
    return run("prompts", name).output


def with_prompts(path: Path, **files: str) -> None:
    lines = "".join(f'{name} = "{file}"\n' for name, file in files.items())
    text = path.read_text(encoding="utf-8").replace(ALONE, f"{ALONE}[prompts]\n{lines}")
    path.write_text(text, encoding="utf-8")


def test_a_copy_redoes_nothing_and_a_changed_prompt_its_stage(chat_server: ChatServer, tmp_path: Path) -> None:
    Writer(chat_server)
    path = pipeline_of(tmp_path, chat_server, PAIRS, ALONE)
    before = funnel(path)
    asked = len(chat_server.requests)
    names = run("prompts").output.split()
    own = [name for name in names if name not in ("read", "read_region", "specify", "falsify")]
    for name in own:
        (tmp_path / f"{name}.txt").write_text(prompt_of(name), encoding="utf-8")
    with_prompts(path, **{name: f"{name}.txt" for name in own})
    assert funnel(path) == before
    assert len(chat_server.requests) == asked
    assert "Prompts that are not toolablate's own: assess" in (tmp_path / "published/card.md").read_text("utf-8")

    (tmp_path / "filter.txt").write_text(f'Only for "{{{{domains}}}}".\n{prompt_of("filter")}', encoding="utf-8")
    assert funnel(path)["review"]["kept"] == 4
    new = chat_server.requests[asked:]
    assert len(new) == 4, "the filter says what it said: later stages stay"
    assert new[0]["messages"][0]["content"].startswith('Only for "{domains}".\n')
    assert "- domain: the field that it belongs to." in new[0]["messages"][0]["content"]
    (tmp_path / "filter.txt").write_text(prompt_of("filter"), encoding="utf-8")
    assert funnel(path)["review"]["kept"] == 4
    assert len(chat_server.requests) == asked + 4, "replies to the earlier prompt are there"


def test_every_prompt_says_what_each_key_of_its_reply_is() -> None:
    for name, prompt in PROMPTS.items():
        said = re.findall(r"^- (\w+): ", prompt.text, re.MULTILINE)
        assert sorted(said) == sorted(prompt.form.model_fields), name


def test_a_question_that_was_reworded_is_reviewed_beside_its_former_words(
    chat_server: ChatServer, tmp_path: Path
) -> None:
    Writer(chat_server)
    path = pipeline_of(tmp_path, chat_server, PAIRS[:1])
    run(path)
    (shown,) = map(json.loads, run("decide", path).output.splitlines())
    assert shown["content"]["question"] == "Which additive keeps lithium stable above 3 volts?"
    assert shown["source"]["question"] == PAIRS[0]["question"]


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("filter", "two\nlines {domain} {domains}", "has an unknown placeholder {domain} in line 2"),
        ("assess", "In {field}", "has an unknown placeholder {field} in line 1"),
        ("filter", "{domain} {domains}", "its placeholder is {domains}; {{domain}} stands for"),
        ("assess", "{field}", "it has no placeholders; {{field}} stands for"),
        ("filter", "accurate", "lacks the placeholder {domains}"),
        ("assess", "defined_question valid_answer wrong_replies reason", "does not name disputed, a key of the reply"),
        ("assess", "", "does not name defined_question"),
        ("assess", None, "is not there"),
        ("falsify", "x", "prompts.falsify: no stage of questions has it"),
        ("read", "x", "prompts.read: no stage has it without a `reader`"),
        ("review", "x", "prompts.review: unknown key; allowed is 'read', 'assess'"),
    ],
)
def test_what_is_wrong_with_a_prompt_is_told_with_its_line_before_anything_is_asked(
    name: str, text: str | None, told: str, chat_server: ChatServer, tmp_path: Path
) -> None:
    path = pipeline_of(tmp_path, chat_server, PAIRS[:1], ALONE)
    if text is not None:
        (tmp_path / "own.txt").write_text(text, encoding="utf-8")
    with_prompts(path, **{name: "own.txt"})
    refused = run(path, code=1).exception
    assert isinstance(refused, InputError)
    assert told in str(refused)
    assert "questions.toml" in refused.message
    if not told.startswith("prompts."):
        key = f'{name} = "own.txt"'
        lines = path.read_text(encoding="utf-8").splitlines()
        assert f"line {lines.index(key) + 1}: " in refused.message
    assert chat_server.requests == []
    wrong = run("prompts", "assses", code=1).exception
    assert isinstance(wrong, InputError)
    assert "assess" in wrong.hint
