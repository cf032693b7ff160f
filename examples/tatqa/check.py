"""Holds a run of this example against what was recorded.

    python examples/tatqa/check.py STORE RECORDED.jsonl [--json]

Prints each condition's accuracy beside the recorded one, both by TAT-QA's exact match, and every question of `pot`
whose executed `ans` is not the recorded one, with the reason. Exits with 1 where an accuracy is off by more than it may
be: nothing for `direct` and `cot`, which only replay; 0.3 points for `pot`, whose programs are executed again.
"""

import argparse
import ast
import json
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from toolablate.benchmarks.tatqa.scorer import em_and_f1
from toolablate.traces.records import Trace
from toolablate.traces.store import Store

ALLOWED_POINTS = {"direct": 0.0, "cot": 0.0, "pot": 0.3}


@dataclass(frozen=True, slots=True)
class Accuracy:
    """In percent of all questions."""

    condition: str
    questions: int
    recorded: float
    measured: float

    @property
    def holds(self) -> bool:
        return abs(self.measured - self.recorded) <= ALLOWED_POINTS[self.condition] + 1e-9


@dataclass(frozen=True, slots=True)
class Difference:
    """A program whose result is not the recorded one; `changes_score` tells whether that makes it right or wrong."""

    question: str
    recorded: str
    executed: str
    reason: str
    changes_score: bool


def accuracies(store: Store, rows: list[dict[str, Any]]) -> list[Accuracy]:
    observed = {(each.question, each.condition): each.value for each in store.summaries()}
    found = []
    for condition in ALLOWED_POINTS:
        recorded = sum(_right(_recorded(row, condition), row, row[condition]["pred_scale"]) for row in rows)
        measured = sum(observed.get((row["question_id"], condition)) or 0.0 for row in rows)
        found.append(Accuracy(condition, len(rows), 100 * recorded / len(rows), 100 * measured / len(rows)))
    return found


def differences(store: Store, rows: list[dict[str, Any]]) -> Iterator[Difference]:
    names = {question.identity(): question.id for question in store.questions()}
    traces = {names[trace.trial.question]: trace for trace in store.traces(condition="pot")}
    for row in rows:
        recorded, scale = _recorded(row, "pot"), row["pot"]["pred_scale"]
        program = row["pot"]["generated"][0]
        executed, reason = _executed(traces.get(row["question_id"]), recorded, program)
        if not reason:
            continue
        changed = _right(recorded, row, scale) != (executed is not None and _right(executed, row, scale))
        yield Difference(row["question_id"], json.dumps(recorded), json.dumps(executed), reason, changed)


def _executed(trace: Trace | None, recorded: list[Any], program: str) -> tuple[list[Any] | None, str]:
    """What the program's cell printed, and why that differs from the recorded result; no reason where it does not."""
    call = next((event for event in trace.events if event.kind == "tool_call"), None) if trace else None
    if call is None:
        return None, "the program was not executed"
    if call.status != "ok":
        what = "the authors recorded an empty answer" if recorded == [""] else "the authors recorded a result"
        return None, f"the program raises {call.error}; {what}"
    try:
        executed = _items(json.loads(call.output)["answer"])
    except ValueError:
        return None, "the program prints something of its own before its answer"
    if _same(executed, recorded):
        return executed, ""
    if em_and_f1(_texts(executed), _texts(recorded))[0]:
        return executed, "the same value, which the authors' pipeline turned from text into a number, or rounded"
    if recorded == [""] and any(isinstance(node, ast.ListComp) for node in ast.walk(ast.parse(program))):
        # Python's exec() does so where it is given globals and locals apart: NameError in the comprehension.
        return executed, "the authors recorded an empty answer: their comprehension did not see the program's variables"
    if recorded == [""]:
        return executed, "the program gives a value; the authors recorded an empty answer"
    return executed, "the authors' pipeline evaluated the program's text as an expression"


def _same(executed: list[Any], recorded: list[Any]) -> bool:
    if len(executed) != len(recorded):
        return False
    return all(
        abs(left - right) <= 1e-9 * max(1.0, abs(right))
        if isinstance(left, int | float) and isinstance(right, int | float)
        else type(left) is type(right) and left == right
        for left, right in zip(executed, recorded, strict=True)
    )


def _right(answer: list[Any], row: dict[str, Any], scale: str) -> bool:
    wanted = row["answer"] if isinstance(row["answer"], list) else [row["answer"]]
    return em_and_f1(_texts(answer), _texts(wanted), scale=scale, wanted_scale=row["scale"])[0] == 1


def _recorded(row: dict[str, Any], condition: str) -> list[Any]:
    """What the authors' pipeline made of a reply; their evaluation takes a result of 0 for none."""
    return _items(row[condition]["pred_answer"])


def _items(answer: Any) -> list[Any]:
    return answer if isinstance(answer, list) else [answer] if answer else []


def _texts(items: list[Any]) -> list[str]:
    return [item if isinstance(item, str) else json.dumps(item) for item in items]


def main() -> None:
    parser = argparse.ArgumentParser(description="Hold a TAT-QA run against the recorded one.")
    parser.add_argument("store", type=Path)
    parser.add_argument("recorded", type=Path)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with options.recorded.open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    with Store(options.store) as store:
        asked = {question.id for question in store.questions()}
        rows = [row for row in rows if row["question_id"] in asked]
        measured, differing = accuracies(store, rows), list(differences(store, rows))
    if options.json:
        print(json.dumps({"accuracies": list(map(asdict, measured)), "differences": list(map(asdict, differing))}))
    else:
        _print(measured, differing)
    sys.exit(0 if all(accuracy.holds for accuracy in measured) else 1)


def _print(measured: list[Accuracy], differing: list[Difference]) -> None:
    for each in differing:
        mark = "  (changes the score)" if each.changes_score else ""
        print(f"{each.question}  recorded {each.recorded}  executed {each.executed}: {each.reason}{mark}")
    for reason, count in Counter(each.reason for each in differing).most_common():
        print(f"{count:5d}  {reason}")
    for accuracy in measured:
        verdict = "holds" if accuracy.holds else "DOES NOT HOLD"
        print(
            f"{accuracy.condition:7s}{accuracy.questions} questions, recorded {accuracy.recorded:.2f} %,"
            f" here {accuracy.measured:.2f} %: {verdict}"
        )


if __name__ == "__main__":
    main()
