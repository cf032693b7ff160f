"""Turns recorded replies of one model (TAT-QA, three conditions) into questions and a script for the testbed.

    python examples/tatqa/convert.py RECORDED.jsonl OUT_FOLDER

RECORDED.jsonl holds one question a line with what the model wrote under `direct`, `cot` and `pot` (Program of Thoughts,
Chen et al. 2022, MIT). OUT_FOLDER gets `questions.jsonl` and `script.jsonl`. Under `pot` the recorded program becomes a
call of the `python` tool, which prints `ans` with its `units`, and the reply is what was printed.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from toolablate.traces.records import Question, SpansTarget, digest_text

# In JSON, so that a text that is the answer and a text that holds a list stay apart; with `units`, since the metric
# takes an answer and its scale.
PRINT_ANSWER = """
import json
print(json.dumps({"answer": list(ans) if isinstance(ans, (tuple, set)) else ans, "scale": units}, default=str))"""


def question(row: dict[str, Any]) -> Question:
    answer = row["answer"] if isinstance(row["answer"], list) else [row["answer"]]
    return Question(
        id=row["question_id"],
        prompt=f"{row['text']}\n\n{row['table']}\n\n{row['question']}",
        target=SpansTarget(spans=tuple(map(str, answer)), scale=row["scale"]),
        domain=row["answer_type"],
        cluster=digest_text(row["text"] + row["table"]),
        source="TAT-QA",
        metadata={"answer_type": row["answer_type"]},
    )


def script_lines(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for condition in ("direct", "cot"):
        replies = [{"content": row[condition]["generated"][0]}]
        yield {"question": row["question_id"], "condition": condition, "replies": replies}
    program = row["pot"]["generated"][0] + PRINT_ANSWER
    replies = [
        {"tool_calls": [{"name": "python", "arguments": {"code": program}}]},
        {"content": "{{last_tool_output}}"},
    ]
    yield {"question": row["question_id"], "condition": "pot", "replies": replies}


def convert(recorded: Path, out: Path) -> int:
    """Writes both files and returns the number of questions."""
    with recorded.open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
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
