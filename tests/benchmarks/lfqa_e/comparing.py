"""Rows of LFQA-E's two forms, made up here."""

import json
from pathlib import Path
from typing import Any

from toolablate.benchmarks.lfqa_e.comparisons import Comparison, Setting
from toolablate.traces.records import Preferred, Question, ReferenceTarget

UNIFIED: dict[str, Any] = {
    "id": "7f1c",
    "question": "Why is the sky blue?",
    "context": "",
    "reference": "Air scatters blue light more than red light.",
    "response_a": "Blue light is scattered more by air.",
    "response_b": "It mirrors the sea.",
    "compare_type": "human_vs_model",
    "label": "response_a",
}
OLDER: dict[str, Any] = {
    "id": "1h3l500",
    "question": "Why is the sky blue?",
    "Concise_Reference": "Air scatters blue light more than red light.",
    "student_answer_a": "Blue light is scattered more by air.",
    "model_answer_b": "It mirrors the sea.",
    "student_answer_a_vs_model_answer_b": "student_answer_a",
}

XU: dict[str, Any] = {
    "question": "Why is the sky blue?",
    "answer_a": "Blue light is scattered more by air.",
    "answer_b": "It mirrors the sea.",
    "answer_a_type": "human",
    "answer_b_type": "gpt3",
    "overall_preference": -1,
    "justification": "The second is wrong.",
}
FEEDBACK: dict[str, Any] = {
    "orig_instruction": "Why is the sky blue?",
    "orig_criteria": "Does it name the cause?",
    "orig_reference_answer": "Air scatters blue light more than red light.",
    "orig_response_A": "It mirrors the sea.",
    "orig_response_B": "Blue light is scattered more by air.",
    "orig_preference": "B",
    "orig_score_A": "1",
    "orig_score_B": "5",
}


def written(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text(json.dumps(rows, ensure_ascii=False), encoding="utf-8")
    return path


def without(row: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name != key}


def compared(
    number: int,
    label: Preferred,
    *,
    cluster: str = "",
    a: str = "one",
    b: str = "two",
    reference: str = "one",
    setting: Setting = "model_vs_model",
    language: str = "en",
    topic: str = "",
) -> Comparison:
    of = cluster or f"q{number}"
    question = Question(id=of, prompt=of, target=ReferenceTarget(answer=reference), language=language)
    return Comparison(
        id=f"c{number}",
        question=question,
        asked=of,
        context="",
        reference=reference,
        a=a,
        b=b,
        setting=setting,
        label=label,
        topic=topic,
        language=language,
        cluster=of,
    )
