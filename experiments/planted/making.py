"""Writes a half of the planted benchmark into a folder: all that a run reads, and apart from it what was planted."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from toolablate.benchmarks.planted.cases import Half
from toolablate.benchmarks.planted.composing import TURNS, Planted, compose
from toolablate.benchmarks.planted.results import PlantedDocument
from toolablate.traces.output import export

PLAN, QUESTIONS, SCENARIOS, LABELS = "plan.toml", "questions.jsonl", "scenarios.jsonl", "planted.jsonl"
CORPUS = "corpus"
FAIL_RATE = 0.6
"""Of the calls under the conditions whose tools are flaky."""

_PLAN = """\
# The half "{half}" of the planted benchmark: {questions} questions, seed {seed}. The model is SIMULATED, and it is
# known why it goes wrong: {labels} says what was planted, and no run reads it.
name = "planted-{half}"
repeats = {repeats}
ladder = [
    {{ name = "python", arms = {arms} }},
    {{ name = "search", arms = {arms} }},
    {{ name = "python_flaky", base = "python", arms = {arms}, interventions = [{fail}] }},
    {{ name = "search_flaky", base = "search", arms = {arms}, interventions = [{fail}] }},
]

[questions]
file = "{file}"

[budget]
turns = {turns}

[search]
provider = "corpus"
corpus = "{corpus}"

[[models]]
provider = "simulated"
name = "planted-{half}"
seed = {seed}
scenarios = "{scenarios}"
"""
_ARMS = '["offered", "sham", "placebo"]'


def make_planted(folder: Path, half: Half, *, questions: int, seed: int, repeats: int = 3) -> tuple[Planted, ...]:
    """Makes the folder where it is lacking; the same arguments write the same files. Raises InputError where they
    cannot be written."""
    planted = compose(half, questions, seed)
    plan = _PLAN.format(
        half=half,
        questions=questions,
        seed=seed,
        repeats=repeats,
        arms=_ARMS,
        fail=f'{{ name = "fail", options = {{ rate = {FAIL_RATE} }} }}',
        turns=TURNS,
        file=QUESTIONS,
        corpus=CORPUS,
        scenarios=SCENARIOS,
        labels=LABELS,
    )
    texts = {
        QUESTIONS: "".join(f"{each.question.to_json()}\n" for each in planted),
        SCENARIOS: _lines(each.scenario for each in planted),
        f"{CORPUS}/pages.jsonl": _lines(_page(document) for each in planted for document in _unordered(each.documents)),
        LABELS: _lines(_label(each) for each in planted),
        PLAN: plan,
    }
    for name, text in texts.items():
        export(text, folder / name, "FOLDER")
    return planted


def _unordered(documents: Iterable[PlantedDocument]) -> list[PlantedDocument]:
    """By their numbers, which tell nothing; they were written in the order of the story."""
    return sorted(documents, key=lambda document: document.id)


def _page(document: PlantedDocument) -> dict[str, Any]:
    return {"id": document.id, "url": document.url, "title": document.title, "text": document.text}


def _label(each: Planted) -> dict[str, Any]:
    return {
        "question": each.question.id,
        "nature": each.nature,
        "stories": dict(each.stories),
        "distraction": each.distraction,
    }


def _lines(rows: Iterable[Mapping[str, Any]]) -> str:
    return "".join(f"{json.dumps(row, ensure_ascii=False, sort_keys=True)}\n" for row in rows)
