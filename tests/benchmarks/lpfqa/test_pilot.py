"""`lpfqa pilot`: what a pilot finds of how hard questions are, in the question file of the next run."""

import asyncio
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tests.traces import samples
from tests.traces.samples import NONE, QUESTIONS, attempt, score

from toolablate.benchmarks.questions import load_questions
from toolablate.cli import group
from toolablate.traces.records import OpenAIModel, Trial
from toolablate.traces.store import Recorder

MODELS = tuple(OpenAIModel(name=name) for name in ("a", "b", "c", "lazy"))
RIGHT = {"a": (1, 1, 0, 0), "b": (1, 0, 0, 0), "c": (1, 1, 1, 0), "lazy": ()}
"""Of the four questions; the last model has no score."""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("pilot") / "store.sqlite"
    questions = tuple(
        each.model_copy(update={"difficulty": "hard"}) if not n else each for n, each in enumerate(QUESTIONS)
    )

    async def fill() -> None:
        with Recorder(path) as recorder:
            planned = samples.trials(questions, MODELS, (NONE,))
            recorder.plan(samples.run(), questions, MODELS, [NONE], planned)
            for trial in planned:
                await attempt(recorder, trial, outcome="answered")
            await recorder.score([score(trial, right) for trial, right in _scored(planned)])

    def _scored(planned: list[Trial]) -> list[tuple[Trial, float]]:
        names = {model.identity(): model.name for model in MODELS}
        places = [question.identity() for question in questions]
        return [
            (trial, float(RIGHT[names[trial.model]][places.index(trial.question)]))
            for trial in planned
            if RIGHT[names[trial.model]]
        ]

    asyncio.run(fill())
    return path


def pilot(store: Path, output: Path, *options: str) -> Result:
    return CliRunner().invoke(group, ["lpfqa", "pilot", str(store), "-o", str(output), "--baseline", "none", *options])


def test_tiers_are_written_into_the_questions_that_a_plan_reads(store: Path, tmp_path: Path) -> None:
    done = pilot(store, tmp_path / "tiered.jsonl")
    assert done.exit_code == 0, done.output
    assert "4 questions (2 easy, 1 medium, 1 hard), by 3 models" in done.output
    found = {each.id: each for each in load_questions(tmp_path / "tiered.jsonl")}
    assert [found[f"q{n}"].difficulty for n in range(4)] == ["easy", "easy", "medium", "hard"]
    assert [found[f"q{n}"].metadata["pass_rate"] for n in range(4)] == [100.0, 66.67, 33.33, 0.0]
    low, high = found["q1"].metadata["pass_rate_ci95"]
    assert 15 < low < 66.67 < high < 95
    assert found["q0"].metadata["pass_rate_ci95"][1] == 100
    assert "sure of their tier: 0 " in done.output
    asked = {each.id: each.identity() for each in QUESTIONS}
    assert {name: each.identity() for name, each in found.items()} == asked, "the store goes on with them"
    assert found["q0"].metadata["difficulty_before"] == "hard"
    assert found["q1"].prompt == QUESTIONS[1].prompt


def test_trivial_and_unsolved_questions_are_left_out_and_counted(store: Path, tmp_path: Path) -> None:
    done = pilot(store, tmp_path / "left.jsonl", "--drop", "trivial", "--drop", "unsolved", "--json")
    said = json.loads(done.output)
    assert said == {
        "models": ["a", "b", "c"],
        "tiers": {"easy": 1, "medium": 1, "hard": 0},
        "sure": 0,
        "left_out": {"trivial": 1, "unsolved": 1},
        "guesses": None,
    }
    assert [each.id for each in load_questions(tmp_path / "left.jsonl")] == ["q1", "q2"]


def test_models_are_drawn_by_the_seed(store: Path, tmp_path: Path) -> None:
    drawn = [
        tuple(
            json.loads(pilot(store, tmp_path / "d.jsonl", "--models", "2", "--seed", str(n), "--json").output)["models"]
        )
        for n in (0, 0, *range(1, 12))
    ]
    assert drawn[0] == drawn[1]
    assert set(drawn) == {("a", "b"), ("a", "c"), ("b", "c")}


@pytest.mark.parametrize(
    ("options", "said"),
    [(["--models", "4"], "there are 3"), (["--baseline", "nowhere"], "two models"), (["-o", "STORE"], "store")],
)
def test_a_mistake_is_told(store: Path, tmp_path: Path, options: list[str], said: str) -> None:
    options = [str(store) if each == "STORE" else each for each in options]
    done = pilot(store, tmp_path / "x.jsonl", *options)
    assert (done.exit_code != 0, said in str(done.exception)) == (True, True)
