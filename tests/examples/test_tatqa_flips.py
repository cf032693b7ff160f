"""The listing of flips, on a few recorded ones: what turned wrong, drawn alike for all who draw, labels only if asked for."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.benchmarks.conftest import DATA

ROOT = Path(__file__).parents[2]
RECORDED = DATA / "tatqa_codex_conditions.jsonl"
# By the authors' own answers: the first two turn wrong after both, the third after cot alone, the others never.
FLIPPED = {
    "2f25de01-c367-4011-8749-a1132424b6d0": {"direct", "cot"},
    "33fd26df-9da7-489c-96e6-bd43a8b79d89": {"direct", "cot"},
    "71548485-a281-433a-839e-2c46c12aef57": {"cot"},
}


def run(*command: str | Path, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, *map(str, command)], cwd=folder, capture_output=True, text=True, check=False, timeout=110
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not RECORDED.exists():
        pytest.skip(f"the recorded data are not here: {RECORDED} (set TOOLABLATE_DATA to their folder)")
    folder = tmp_path_factory.mktemp("tatqa")
    with RECORDED.open(encoding="utf-8") as lines:
        rows = list(map(json.loads, lines))
    kept = [row for row in rows if row["question_id"] in FLIPPED]
    kept += [row for row in rows if row["direct"]["pred_answer"] == row["pot"]["pred_answer"]][:3]
    (folder / "recorded.jsonl").write_text("".join(json.dumps(row) + "\n" for row in kept), encoding="utf-8")
    example = ROOT / "examples/tatqa"
    run(example / "convert.py", folder / "recorded.jsonl", folder / "data", folder=folder)
    (folder / "plan.toml").write_text((example / "plan.toml").read_text(encoding="utf-8"), encoding="utf-8")
    run("-m", "toolablate", "run", folder / "plan.toml", folder=folder)
    return folder / "runs/tatqa.sqlite"


def listed(store: Path, *options: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(
        run(ROOT / "examples/tatqa/flips.py", store, "--json", *options, folder=store.parent)
    )
    return found


def test_what_turned_wrong_is_listed_with_its_label(store: Path) -> None:
    found = listed(store)
    assert {(flip["question"], flip["baseline"]) for flip in found} == {
        (question, baseline) for question, baselines in FLIPPED.items() for baseline in baselines
    }
    for flip in found:
        assert flip["label"]
        assert flip["note"]
        assert flip["code"]
    by_name = {flip["question"][:8]: flip for flip in found}
    flip = by_name["2f25de01"]
    assert (flip["output"], flip["wanted"]) == ('{"answer": 2540, "scale": "thousand"}', ["$2.5 million"])
    text = run(ROOT / "examples/tatqa/flips.py", store, folder=store.parent)
    assert "2  direct -> pot: format" in text


def test_a_sample_is_drawn_by_its_seed_and_holds_no_question_twice(store: Path) -> None:
    drawn = listed(store, "--sample", "1", "2", "--seed", "3")
    assert drawn == listed(store, "--sample", "1", "2", "--seed", "3")
    assert [flip["baseline"] for flip in drawn] == ["direct", "cot", "cot"]
    assert len({flip["question"] for flip in drawn}) == 3
    (other,) = listed(store, "--sample", "1", "0", "--without", "2f25de01")
    assert other["question"].startswith("33fd26df")


def test_labels_can_be_left_out(store: Path) -> None:
    found = listed(store, "--unlabelled")
    assert found
    assert {(flip["label"], flip["note"], flip["confidence"]) for flip in found} == {("", "", 0.0)}
