"""What a reader of the drawn flips gets: all that a person needs to say why a trial went wrong, and no label."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.real_traces.sets import SETS, Flip, arms_of

from toolablate.traces.records import Event, Score, Trace
from toolablate.traces.store import Store

PRINTED = "import json\nprint(json.dumps("
"""How the lines begin that print `ans` and `units` of a TAT-QA program: they are not the model's own."""


def trial_ids(name: str, store: Store) -> dict[tuple[str, str], str]:
    """By question and by what the set calls the trial."""
    return {(each.question, arms_of(name, each.condition, each.model)): each.trial for each in store.summaries()}


def write_sheets(flips: Sequence[Flip], stores: Mapping[str, Path], path: Path) -> None:
    """In the order of `flips`, one JSON object a line."""
    lines: dict[str, dict[str, Any]] = {}
    for name in SETS:
        own = [flip for flip in flips if flip.set == name]
        if own:
            with Store(stores[name]) as store:
                lines |= {line["id"]: line for line in _sheets(name, own, store)}
    text = "".join(json.dumps(lines[flip.id], ensure_ascii=False) + "\n" for flip in flips if flip.id in lines)
    path.write_text(text, encoding="utf-8")


def _sheets(name: str, flips: Sequence[Flip], store: Store) -> Iterator[dict[str, Any]]:
    questions, trials = {each.id: each for each in store.questions()}, trial_ids(name, store)
    for flip in flips:
        question = questions[flip.question]
        wrong = trials[flip.question, flip.after]
        right = trials[flip.question, flip.before]
        yield {
            "id": flip.id,
            "set": name,
            "question": question.prompt,
            "options": {"ABCDEFGHIJ"[place]: text for place, text in enumerate(question.choices)},
            "answer_type": question.metadata.get("answer_type", ""),
            "expected": question.target.model_dump(mode="json"),
            "right": {"run": flip.before, **_run(store.trace(right), store.scores(right)[0])},
            "wrong": {"run": flip.after, **_run(store.trace(wrong), store.scores(wrong)[0])},
        }


def _run(trace: Trace, score: Score) -> dict[str, Any]:
    return {
        "events": [_event(number, event) for number, event in enumerate(trace.events)],
        "scorer_read": list(score.extracted),
        "verdict": score.verdict,
        "scorer_says": score.reason or score.explanation,
    }


def _event(number: int, event: Event) -> dict[str, Any]:
    told: dict[str, Any] = {"event": number, "kind": event.kind}
    if event.kind == "model_call":
        calls = event.reply.message.tool_calls
        return told | {"text": event.reply.message.content, "code": [_code(call.arguments) for call in calls]}
    if event.kind == "tool_call":
        return told | {"status": event.status, "error": event.error, "output": event.output}
    return told | ({"text": event.text} if event.kind == "answer" else {"content": event.model_dump(mode="json")})


def _code(arguments: str) -> str:
    code: str = json.loads(arguments)["code"]
    return code.partition(PRINTED)[0].rstrip()
