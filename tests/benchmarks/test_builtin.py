import json
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from toolablate.benchmarks.answer_extraction.numbers import read_number
from toolablate.benchmarks.builtin import BUILTIN_CORPUS, BUILTIN_PLAYBOOK, builtin_questions
from toolablate.benchmarks.prompt import letters_for
from toolablate.benchmarks.scoring.scorers import scorer_for

QUESTIONS = {question.id: question for question in builtin_questions()}


@cache
def rows(path: Path) -> tuple[dict[str, Any], ...]:
    return tuple(json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())


PROGRAMS = [
    pytest.param(play["question"], program, id=f"{play['question']}-{number}")
    for play in rows(BUILTIN_PLAYBOOK)
    for number, program in enumerate(play["programs"])
]


def test_the_questions_are_as_varied_as_promised() -> None:
    assert len(QUESTIONS) == 40
    assert len({question.domain for question in QUESTIONS.values()}) >= 5
    kinds = Counter(question.target.kind for question in QUESTIONS.values())
    assert kinds == {"choice": 34, "number": 6}
    assert sum(question.language == "zh" for question in QUESTIONS.values()) == 4
    right = Counter(q.target.letters for q in QUESTIONS.values() if q.target.kind == "choice")
    assert sum(count for letters, count in right.items() if len(letters) > 1) == 5
    assert max(right.values()) <= 10


def test_choices_are_distinct_and_4_to_6() -> None:
    for question in QUESTIONS.values():
        if question.target.kind == "choice":
            assert 4 <= len(set(question.choices)) == len(question.choices) <= 6, question.id


def test_every_question_has_a_playbook_entry() -> None:
    assert Counter(play["question"] for play in rows(BUILTIN_PLAYBOOK)) == Counter(list(QUESTIONS))
    for play in rows(BUILTIN_PLAYBOOK):
        question = QUESTIONS[play["question"]]
        assert play["programs"], question.id
        assert all(query.strip() for query in play["queries"]), question.id
        assert play["queries"], question.id
        if question.target.kind == "choice" and len(question.target.letters) == 1:
            assert play["distractor"] in set(letters_for(question)) - set(question.target.letters), question.id


@pytest.mark.parametrize(("question_id", "program"), PROGRAMS)
def test_programs_run_and_print_what_they_claim(question_id: str, program: dict[str, Any]) -> None:
    """Standard library only. A numeric question is answered right by the faithful program, wrong by any other."""
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program["code"]], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    last = done.stdout.strip().splitlines()[-1]
    question = QUESTIONS[question_id]
    if question.target.kind == "number":
        assert read_number(last).value is not None
        verdict = scorer_for("number").score(question, "t", f"Answer: {last}").verdict
        assert verdict == ("correct" if program["faithful"] else "wrong")


def test_the_corpus_is_sound() -> None:
    documents = rows(BUILTIN_CORPUS)
    assert len(documents) >= 80
    for field in ("id", "url", "title", "text"):
        values = [document[field] for document in documents]
        assert len(set(values)) == len(values), field
        assert all(value.strip() for value in values), field
    assert {key for document in documents for key in document} == {"id", "url", "title", "text", "published"}
    assert sum(any("一" <= letter <= "鿿" for letter in document["text"]) for document in documents) >= 8
