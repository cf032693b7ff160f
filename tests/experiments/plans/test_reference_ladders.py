"""Ladders over questions with reference answers, which a judge grades: what each arm's tool says of them."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from toolablate.cli import group
from toolablate.traces.errors import InputError
from toolablate.traces.records import ToolCall
from toolablate.traces.store import Store

PLAN = """
{conditions}
[questions]
file = "questions.jsonl"
[search]
provider = "corpus"
corpus = "corpus.jsonl"
[[models]]
provider = "scripted"
name = "m"
script = "script.jsonl"
[[judges]]
provider = "scripted"
name = "j"
script = "judge.jsonl"
"""

ANSWERS = {
    "bearings": "Discharges of the common-mode voltage through the grease film pit the races of the motor's bearings.",
    "tailing": "Ionised silanols of the silica hold the protonated amine, so that its peak has a long tail.",
    "vacuum": "An abandoned replication slot holds back the oldest snapshot, and with it all of the dead rows.",
}
TOPICS = {
    "bearings": "Which mechanism destroys bearings of inverter motors",
    "tailing": "Why does an amine tail on silica",
    "vacuum": "Why does vacuum leave dead rows",
}

QUERIES = {"bearings": "inverter bearings", "tailing": "amine silica", "vacuum": "vacuum rows"}
SILENT = ("none", "scaffold", "search:offered")


def searching(id: str) -> dict[str, Any]:
    return {"tool_calls": [{"name": "web_search", "arguments": {"query": QUERIES[id]}}]}


def write(folder: Path, ids: tuple[str, ...] = tuple(ANSWERS), conditions: str = 'ladder = ["search"]') -> Path:
    """Each question is answered by a page of the corpus, and the model searches for its own words."""

    def lines(name: str, entries: list[dict[str, Any]]) -> None:
        (folder / name).write_text("\n".join(map(json.dumps, entries)), encoding="utf-8")

    lines(
        "questions.jsonl",
        [
            {
                "id": id,
                "prompt": f"{TOPICS[id]}?",
                "as_is": True,
                "domain": id,
                "target": {"kind": "reference", "answer": ANSWERS[id]},
                "rubric": {"reference": ANSWERS[id], "points": f"Says what {id} is about."},
            }
            for id in ids
        ],
    )
    lines(
        "corpus.jsonl",
        [
            {"id": id, "title": topic, "url": f"https://library.example/{id}", "text": f"{topic}: {ANSWERS[id]}"}
            for id, topic in TOPICS.items()
        ]
        + [
            {
                "id": "all",
                "title": "All at once",
                "url": "https://library.example/all",
                "text": " ".join(TOPICS.values()),
            }
        ],
    )
    silent = [{"question": id, "condition": arm, "replies": [{"content": "So."}]} for id in ids for arm in SILENT]
    lines("script.jsonl", [*silent, *({"question": id, "replies": [searching(id), {"content": "So."}]} for id in ids)])
    lines("judge.jsonl", [{"question": id, "replies": [{"content": 'Fine.\n{"answer_score": 1}'}]} for id in ids])
    plan = folder / "plan.toml"
    plan.write_text(PLAN.format(conditions=conditions), encoding="utf-8")
    return plan


def test_every_arm_says_of_a_reference_what_it_is_for(tmp_path: Path) -> None:
    ran = CliRunner().invoke(
        group, ["run", str(write(tmp_path)), "--store", str(tmp_path / "s.sqlite")], catch_exceptions=False
    )
    assert ran.exit_code == 0, ran.output
    with Store(tmp_path / "s.sqlite") as store:
        said = {
            (store.question(trace.trial.question).id, store.condition(trace.trial.condition).name): event.output
            for trace in store.traces()
            for event in trace.events
            if isinstance(event, ToolCall)
        }
        assert {each.value for each in store.summaries()} == {1.0}
        assert {each.kind for each in store.summaries()} == {"reference"}
        assert {each.condition for each in store.summaries() if each.leaks} == {"search"}
    for id, answer in ANSWERS.items():
        others = [other for each, other in ANSWERS.items() if each != id]
        assert answer in said[id, "search"]
        assert answer in said[id, "search:oracle"]
        assert answer not in said[id, "search:adversarial"]
        assert sum(other in said[id, "search:adversarial"] for other in others) == 1
        assert answer[:60] not in said[id, "search:placebo"]
        assert "https://" in said[id, "search:placebo"]


@pytest.mark.parametrize("own", [False, True])
def test_a_plan_of_one_reference_is_refused_unless_it_brings_a_wrong_one(tmp_path: Path, own: bool) -> None:
    arms = "conditions = ['none', {name = 'wrong', tools = ['search'], interventions = ['adversarial']}]"
    plan = write(tmp_path, ("bearings",), arms)
    if own:
        question = json.loads((tmp_path / "questions.jsonl").read_text(encoding="utf-8"))
        question["metadata"] = {"adversarial": "Use a bigger motor."}
        (tmp_path / "questions.jsonl").write_text(json.dumps(question), encoding="utf-8")
    command = ["run", str(plan), "--store", str(tmp_path / "s.sqlite")]
    if own:
        assert CliRunner().invoke(group, command, catch_exceptions=False).exit_code == 0
        return
    with pytest.raises(InputError, match=r"question 'bearings'.* no other question has another reference") as refused:
        CliRunner().invoke(group, command, catch_exceptions=False)
    assert "metadata" in refused.value.hint


def test_an_adversary_may_say_what_is_right_of_a_question_that_is_not_asked(tmp_path: Path) -> None:
    arms = "conditions = ['none', {name = 'wrong', tools = ['search'], interventions = ['adversarial']}]"
    command = ["run", str(write(tmp_path, conditions=arms)), "--limit", "1", "--store", str(tmp_path / "s.sqlite")]
    assert CliRunner().invoke(group, command, catch_exceptions=False).exit_code == 0
