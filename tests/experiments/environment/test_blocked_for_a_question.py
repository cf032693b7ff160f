"""Hosts that one question keeps from models, besides those that the plan does."""

import json
from pathlib import Path

import pytest

from toolablate.benchmarks.questions import load_questions
from toolablate.experiments.environment.web import guard_for
from toolablate.experiments.plans.sections import WebSection
from toolablate.traces.errors import InputError
from toolablate.traces.records import Question


def load(folder: Path, hosts: object) -> Question:
    path = folder / "questions.jsonl"
    path.write_text(json.dumps({"id": "q", "prompt": "p", "answer": 1, "blocked_hosts": hosts}), encoding="utf-8")
    (question,) = load_questions(path)
    return question


def test_a_question_keeps_its_own_hosts_back_beside_those_of_the_plan(tmp_path: Path) -> None:
    question, other = load(tmp_path, ["example.org", "mirror.net/copy"]), load(tmp_path, [])
    web = WebSection(blocked_hosts=("plan.example",))

    def blocked(question: Question) -> list[bool]:
        guard = guard_for(question, web)
        urls = ("https://a.example.org/x", "https://mirror.net/copy/1", "https://mirror.net/", "https://plan.example/")
        return [guard.inspect(url, "").blocked for url in urls]

    assert blocked(question) == [True, True, False, True]
    assert blocked(other) == [False, False, False, True]
    # What a model can see is part of the question.
    assert question.identity() != other.identity()


@pytest.mark.parametrize("hosts", ["example.org", ["https://example.org"], [""], [7]])
def test_what_is_no_host_is_refused_with_line_and_key(tmp_path: Path, hosts: object) -> None:
    with pytest.raises(InputError) as refused:
        load(tmp_path, hosts)
    assert "questions.jsonl:1: " in str(refused.value)
    assert "'blocked_hosts'" in str(refused.value)
