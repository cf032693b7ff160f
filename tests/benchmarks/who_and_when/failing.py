"""Failed runs that are made up, in the published form."""

import json
from pathlib import Path
from typing import Any

RUN: dict[str, Any] = {
    "history": [
        {"content": "Find the gate.", "role": "human"},
        {"content": "Look it up.", "role": "Orchestrator (-> WebSurfer)"},
        {"content": "Gate 4", "role": "WebSurfer"},
        {"content": "Gate 4 it is.", "role": "Orchestrator (thought)"},
    ],
    "question": "Which gate?",
    "question_ID": "q1",
    "ground_truth": "5",
    "mistake_agent": "WebSurfer",
    "mistake_step": "2",
    "mistake_reason": "It read the wrong row.",
    "file": "1.json",
    "is_corrected": False,
}


def written(path: Path, *lines: object) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def of_length(number: int, length: int, step: int, *, question: str = "") -> dict[str, Any]:
    """Two agents that take turns."""
    history = [{"content": str(place), "role": "user", "name": f"agent {place % 2}"} for place in range(length)]
    return {
        **RUN,
        "history": history,
        "mistake_agent": f"agent {step % 2}",
        "mistake_step": str(step),
        "file": f"{number}.json",
        "question_ID": question or f"q{number}",
    }
