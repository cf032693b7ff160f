"""Compares every re-executed program of this example with the output that was recorded for it.

    python examples/gsm8k_tora/check.py STORE RECORDED.jsonl [--json]

Prints the programs whose output differs, with the reason, and the accuracy beside the recorded one. Exits with 1 where
a program was not executed at all.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from convert import question_id, read_rows, recorded_cells

from toolablate.traces.records import ToolCall
from toolablate.traces.store import Store


@dataclass(frozen=True, slots=True)
class Cell:
    """A program's recorded and re-executed output; `reason` is empty where they are equal."""

    question: str
    recorded: str
    executed: str
    reason: str


def cells(store: Store, rows: list[dict[str, Any]]) -> Iterator[Cell]:
    names = {question.identity(): question.id for question in store.questions()}
    calls = {
        names[trace.trial.question]: [event for event in trace.events if event.kind == "tool_call"]
        for trace in store.traces(condition="tora")
    }
    for row in rows:
        executed = calls.get(question_id(row), [])
        for number, (_, recorded) in enumerate(recorded_cells(row)):
            call = executed[number] if number < len(executed) else None
            output = call.output.strip() if call else ""
            yield Cell(question_id(row), recorded or "", output, _reason(recorded, call, output))


def _reason(recorded: str | None, call: ToolCall | None, output: str) -> str:
    if call is None:
        return "not executed"
    if recorded is None:
        return "no output was recorded"
    if output == recorded.strip():
        return ""
    if call.error == "timeout" and "Timed Out" in recorded:
        return "both run out of time"
    if call.status != "ok":
        # ToRA kept the last line of a traceback.
        same = bool(recorded.strip()) and recorded.strip().splitlines()[-1] in output
        return f"both raise {call.error}; only the traceback reads differently" if same else f"raises {call.error} here"
    return "a value differs" if not _close(output, recorded) else "equal numbers, written differently"


def _close(left: str, right: str) -> bool:
    try:
        return abs(float(left) - float(right)) <= 1e-9 * max(1.0, abs(float(right)))
    except ValueError:
        return False


def recorded_accuracy(rows: list[dict[str, Any]]) -> float:
    """In percent, of the answers that ToRA's authors extracted."""
    return 100 * sum(_right(row["pred"][0], row["gt"]) for row in rows) / len(rows)


def _right(predicted: str, reference: str) -> bool:
    try:
        return abs(float(predicted.replace(",", "")) - float(reference.replace(",", ""))) <= 1e-3
    except ValueError:
        return False


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare re-executed programs with their recorded outputs.")
    parser.add_argument("store", type=Path)
    parser.add_argument("recorded", type=Path)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = read_rows(options.recorded)
    with Store(options.store) as store:
        asked = {question.id for question in store.questions()}
        rows = [row for row in rows if question_id(row) in asked]
        compared = list(cells(store, rows))
        values = [each.value or 0.0 for each in store.summaries()]
    summary = {
        "programs": len(compared),
        "equal": sum(not cell.reason for cell in compared),
        "recorded_accuracy": recorded_accuracy(rows),
        "accuracy": 100 * sum(values) / len(rows),
    }
    differing = [cell for cell in compared if cell.reason]
    if options.json:
        print(json.dumps({**summary, "differences": list(map(asdict, differing))}))
    else:
        for cell in differing:
            print(f"{cell.question}  recorded {cell.recorded[-80:]!r}  executed {cell.executed[-80:]!r}: {cell.reason}")
        for reason, count in Counter(cell.reason for cell in differing).most_common():
            print(f"{count:5d}  {reason}")
        print(
            f"{summary['equal']} of {summary['programs']} programs print what was recorded;"
            f" accuracy recorded {summary['recorded_accuracy']:.2f} %, here {summary['accuracy']:.2f} %"
        )
    sys.exit(1 if any(cell.reason == "not executed" for cell in compared) else 0)


if __name__ == "__main__":
    main()
