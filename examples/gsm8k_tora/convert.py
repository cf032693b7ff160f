"""Turns ToRA-70B's recorded tool-integrated traces on GSM8K into questions and a script for the testbed.

    python examples/gsm8k_tora/convert.py RECORDED.jsonl OUT_FOLDER

Each recorded ```python block becomes a call of the `python` tool, and the text after the last ```output block the final
reply (Gou et al. 2023, MIT).
"""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from toolablate.traces.records import NumberTarget, Question

BLOCK = re.compile(r"```(python|output)\n(.*?)\n?```", re.DOTALL)


def question_id(row: dict[str, Any]) -> str:
    return f"gsm8k-test-{row['idx']}"


def question(row: dict[str, Any]) -> Question:
    return Question(
        id=question_id(row),
        prompt=row["question"],
        target=NumberTarget(value=float(row["gt"].replace(",", "")), absolute=1e-3),
        domain="arithmetic",
        source="GSM8K",
    )


def recorded_cells(row: dict[str, Any]) -> list[tuple[str, str | None]]:
    """The programs of a trace, each with the output that was recorded for it, if one was."""
    cells: list[tuple[str, str | None]] = []
    for kind, body in BLOCK.findall(row["code"][0]):
        if kind == "python":
            cells.append((body, None))
        elif cells:
            cells[-1] = (cells[-1][0], body)
    return cells


def final_text(row: dict[str, Any]) -> str:
    text: str = row["code"][0]
    return text[max((block.end() for block in BLOCK.finditer(text)), default=0) :].strip()


def script_lines(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
    calls = [{"tool_calls": [{"name": "python", "arguments": {"code": code}}]} for code, _ in recorded_cells(row)]
    text = final_text(row)
    # ToRA's own rule: where the text boxes no answer, it is what the last program printed.
    final = {"content": text if "\\boxed" in text else f"{text}\n\nAnswer: {{{{last_tool_output}}}}"}
    yield {"question": question_id(row), "condition": "tora", "replies": [*calls, final]}


def read_rows(recorded: Path) -> list[dict[str, Any]]:
    with recorded.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def convert(recorded: Path, out: Path) -> int:
    """Writes both files and returns the number of questions."""
    rows = read_rows(recorded)
    out.mkdir(parents=True, exist_ok=True)
    with (out / "questions.jsonl").open("w", encoding="utf-8") as file:
        file.writelines(question(row).to_json() + "\n" for row in rows)
    with (out / "script.jsonl").open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(line, ensure_ascii=False) + "\n" for row in rows for line in script_lines(row))
    return len(rows)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(f"usage: {sys.argv[0]} RECORDED.jsonl OUT_FOLDER")
    print(f"{convert(Path(sys.argv[1]), Path(sys.argv[2]))} questions in {sys.argv[2]}")
