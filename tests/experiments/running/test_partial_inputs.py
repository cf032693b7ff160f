"""Runs in which conditions show a part of each question: its choices alone, or all but its choices."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Cli

from toolablate.experiments.attribution.planned_replays import unparsed_arms
from toolablate.experiments.attribution.replay_evidence import arms_below
from toolablate.experiments.plans.conditions import BUILT_IN, condition, default_baseline, named_condition
from toolablate.traces.records import Condition, ModelCall, Question
from toolablate.traces.store import Store
from toolablate.traces.store.summaries import TrialSummary

ROWS: list[dict[str, Any]] = [
    {
        "id": "capital",
        "prompt": "What is the capital of Kenya?",
        "choices": ["Mombasa", "Nairobi", "Kisumu"],
        "answer": "B",
        "documents": ["atlas.txt"],
    },
    {"id": "symbol", "prompt": "Which element has number 6?", "choices": ["B", "N", "C"], "answer": "C"},
    {
        "id": "published",
        "prompt": "Which is red? A. grass B. blood",
        "choices": ["grass", "blood"],
        "answer": "B",
        "as_is": True,
    },
    {"id": "number", "prompt": "How many?", "answer": 3},
]
WORDS = {"capital": "Answer: nairobi.", "symbol": "Answer: C", "published": "Answer: B", "number": "Answer: 3"}
BOTH = "conditions = ['choices-only', 'none', 'question-only']"


def write_plan(folder: Path, conditions: str = BOTH, rows: list[dict[str, Any]] = ROWS) -> Path:
    (folder / "atlas.txt").write_text("Nairobi is the capital of Kenya.", encoding="utf-8")
    (folder / "questions.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    script = [
        {"question": row["id"], "condition": name, "replies": [{"content": said}]}
        for row in rows
        for name, said in (
            ("none", WORDS[row["id"]] if row["id"] != "capital" else "Answer: B"),
            ("choices-only", "Answer: B"),
            ("question-only", WORDS[row["id"]]),
        )
    ]
    (folder / "script.jsonl").write_text("\n".join(map(json.dumps, script)), encoding="utf-8")
    plan = folder / "plan.toml"
    plan.write_text(
        f"{conditions}\n[questions]\nfile = 'questions.jsonl'\n"
        "[[models]]\nprovider = 'scripted'\nname = 'm'\nscript = 'script.jsonl'\n",
        encoding="utf-8",
    )
    return plan


def test_each_part_is_asked_and_scored_by_itself(tmp_path: Path, cli: Cli, store: Path) -> None:
    ran = cli("run", write_plan(tmp_path))
    assert ran.returncode == 0, ran.stdout + ran.stderr
    told = " ".join((ran.stdout + ran.stderr).split())
    assert "choices-only: 1 of 4 questions left out: 1 with no choices that stand apart from the prompt" in told
    assert "question-only: 2 of 4 questions left out" in told
    assert "1 with their choices in the prompt" in told
    asked: dict[tuple[str, str], str] = {}
    with Store(store) as opened:
        (run,) = opened.runs()
        seen = opened.summaries()
        for trace in opened.traces():
            first = trace.events[0]
            assert isinstance(first, ModelCall)
            key = opened.question(trace.trial.question).id, opened.condition(trace.trial.condition).name
            asked[key] = first.request.messages[-1].content
    assert run.baseline == "none", "the first condition that asks the whole question"
    assert asked["capital", "choices-only"] == (
        "The question is not shown. Going by its options alone, say which is most likely right.\n\n"
        "A. Mombasa\nB. Nairobi\nC. Kisumu\n\n"
        'End your reply with one line of the form "Answer: X", where X is the letter of the right choice.'
    )
    assert asked["published", "choices-only"].count("A. grass\nB. blood") == 1
    assert "Which is red" not in asked["published", "choices-only"]
    assert asked["capital", "question-only"] == (
        "The options of this question are not shown. Answer it in your own words.\n\nWhat is the capital of Kenya?\n\n"
        'Documents of this question: "atlas.txt".\n\n'
        'End your reply with one line of the form "Answer: X", where X is the answer and nothing else.'
    )
    verdicts = {(each.question, each.condition): each.verdict for each in seen}
    assert verdicts == {
        ("capital", "none"): "correct",
        ("symbol", "none"): "correct",
        ("published", "none"): "correct",
        ("number", "none"): "correct",
        ("capital", "choices-only"): "correct",
        ("symbol", "choices-only"): "wrong",
        ("published", "choices-only"): "correct",
        ("capital", "question-only"): "correct",
        # The element, not the third option, which it also is.
        ("symbol", "question-only"): "correct",
    }
    again = cli("run", write_plan(tmp_path))
    assert again.returncode == 0, again.stderr
    with Store(store) as opened:
        assert len(opened.summaries()) == len(verdicts), "what is left out is not missing"
    assert cli("compare", store).returncode == 0


def test_other_words_are_unparsed_by_the_plans_rule(tmp_path: Path, cli: Cli, store: Path) -> None:
    renamed = [{**ROWS[0], "choices": ["Mombasa", "Nairobi City", "Kisumu"]}]
    plan = write_plan(tmp_path, "conditions = ['question-only']", renamed)
    assert cli("run", plan).returncode == 0
    with Store(store) as opened:
        (seen,) = opened.summaries()
        (score,) = opened.scores(seen.trial)
    assert (score.verdict, score.value) == ("unparsed", 0)
    assert score.reason == "the answer is in the words of no one choice"
    plan.write_text(plan.read_text(encoding="utf-8").replace("[questions]", "[questions]\nunparsed = 'exclude'"))
    assert cli("run", plan).returncode == 0
    with Store(store) as opened:
        assert opened.scores(seen.trial)[-1].value is None


def test_a_mended_key_scores_words_again(tmp_path: Path, cli: Cli, store: Path) -> None:
    assert cli("run", write_plan(tmp_path, "conditions = ['question-only']", ROWS[:2])).returncode == 0
    mended = [{**ROWS[0], "answer": "A"}, ROWS[1]]
    assert cli("run", write_plan(tmp_path, "conditions = ['question-only']", mended)).returncode == 0
    with Store(store) as opened:
        assert {each.question: each.verdict for each in opened.summaries()} == {
            "capital": "wrong",
            "symbol": "correct",
        }


@pytest.mark.parametrize(
    ("conditions", "rows", "said"),
    [
        (
            "conditions = ['choices-only']",
            ROWS[3:],
            "'choices-only' can show its part of no question: 1 with no choices",
        ),
        ("conditions = ['question-only']", ROWS[2:], "'question-only' can show its part of no question"),
        ("conditions = [{ name = 'x', base = 'search', shown = 'choices' }]", ROWS, "shown = 'choices' and tools"),
        ("conditions = [{ name = 'x', base = 'choices-only', documents = 'prompt' }]", ROWS, "which belong to the"),
        ("conditions = [{ name = 'x', shown = 'stem' }]", ROWS, "'all', 'choices' or 'question'"),
        ("ladder = [{ name = 'python', shown = 'question' }]", ROWS, "shown = 'question' and tools"),
    ],
)
def test_what_has_no_part_to_show_is_refused_before_anything_is_written(
    tmp_path: Path, cli: Cli, store: Path, conditions: str, rows: list[dict[str, Any]], said: str
) -> None:
    ran = cli("run", write_plan(tmp_path, conditions, rows))
    assert ran.returncode == 2, ran.stdout
    assert said in " ".join(ran.stderr.split())
    assert "Traceback" not in ran.stderr
    assert not store.exists()


def test_a_condition_of_ones_own_is_the_built_in_one() -> None:
    assert condition("guess", shown="choices").identity() == named_condition("choices-only").identity()
    assert condition("guess", base="choices-only", prompt="Think.").shown == "choices"
    assert len({BUILT_IN[name].identity() for name in ("none", "choices-only", "question-only")}) == 3


# What a part of the question gives away is no evidence of what a model does without tools.


PARTS = {name: BUILT_IN[name] for name in ("choices-only", "question-only")}
TOOLS = {"python": named_condition("python")}
SHORT = {"none": Condition(name="none", input_tokens=9)}
"""Not the first arm of python's ladder: so any condition without tools may be what python is set against."""


def test_no_condition_with_tools_is_set_against_a_part() -> None:
    assert arms_below({**PARTS, **TOOLS}, "choices-only") == {}
    assert arms_below({**PARTS, **SHORT, **TOOLS}, "choices-only") == {"python": {"none": "none"}}
    worded = Condition(name="w", prompt=TOOLS["python"].prompt, shown="choices")
    found = arms_below({"w": worded, **SHORT, **TOOLS}, "none")
    assert found == {"python": {"none": "none"}}, "nor is one its scaffold"
    assert default_baseline([*PARTS.values(), BUILT_IN["scaffold"]]) == "scaffold"
    assert default_baseline([*PARTS.values()]) == "choices-only"


def test_no_part_is_re_asked_for_an_arm() -> None:
    def trial(name: str) -> TrialSummary:
        return TrialSummary("q", "m", name, value=0.0, verdict="unparsed", trial=name)

    conditions = {**PARTS, **SHORT, **TOOLS}
    seen = [trial(name) for name in conditions]
    candidates = [each for each in seen if each.condition == "python"]
    assert list(unparsed_arms(candidates, seen, conditions)) == ["none"]


def simulated_plan(folder: Path, conditions: str, ability: float = 1.0, count: int = 60) -> Path:
    rng = random.Random(1)
    rows = [
        Question.model_validate(
            {
                "id": f"q{n}",
                "prompt": f"Which word has the number {n}?",
                "choices": [f"w{n}-{k}" for k in range(4)],
                "target": {"kind": "choice", "letters": [rng.choice("ABCD")]},
            }
        ).to_json()
        for n in range(count)
    ]
    (folder / "questions.jsonl").write_text("\n".join(rows), encoding="utf-8")
    models = "".join(
        f"[[models]]\nprovider = 'simulated'\nname = 's{n}'\nseed = {n}\nability = {ability}\nconfidence = 9\n"
        for n in range(3)
    )
    plan = folder / "plan.toml"
    plan.write_text(f"{conditions}\nrepeats = 2\n[questions]\nfile = 'questions.jsonl'\n{models}", encoding="utf-8")
    return plan


def test_a_pilot_sets_guesses_beside_chance(tmp_path: Path, cli: Cli, store: Path) -> None:
    """Simulated models know every answer, and nothing of a question that they do not see."""
    ran = cli("run", simulated_plan(tmp_path, BOTH))
    assert ran.returncode == 0, ran.stderr
    done = cli("lpfqa", "pilot", store, "-o", tmp_path / "tiered.jsonl", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["guesses"]
    assert (len(found["by_question"]), found["trials"], found["unparsed"]) == (60, 360, 0)
    assert found["chance"] == 0.25
    assert found["ci95"][0] < 0.25 < found["ci95"][1]
    assert found["p"] > 0.01
    rows = [json.loads(line) for line in (tmp_path / "tiered.jsonl").read_text(encoding="utf-8").splitlines()]
    assert {row["id"]: row["metadata"]["guess_rate"] for row in rows} == {
        name: round(100 * share, 2) for name, share in found["by_question"].items()
    }
    said = cli("lpfqa", "pilot", store, "-o", tmp_path / "again.jsonl").stdout
    assert "% right [" in said
    assert ", by chance 25.0 %, more than chance: p " in said
    assert "(60 questions, 360 trials, 0 unparsed)" in said
    scores = {
        (row["condition"], row["baseline"]): row["score"]
        for row in json.loads(cli("compare", store, "--json").stdout)["comparisons"]
    }
    assert scores["question-only", "none"] == 100, "answered in the options' words"
