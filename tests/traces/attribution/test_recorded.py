"""Labels of real failures: questions that one model answered rightly in words and wrongly by a program."""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from toolablate.analysis.attribution.signals.of_trace import signals_of
from toolablate.analysis.attribution.signals.signal_types import Signals
from toolablate.analysis.attribution.trace_rules import Bare, layer_one
from toolablate.benchmarks.tatqa.scorer import em_and_f1
from toolablate.traces.records import Attribution, Score
from toolablate.traces.store import Store

ROOT = Path(__file__).parents[3]
DATA = Path(os.environ.get("TOOLABLATE_DATA", ROOT.parent / "shared/data")) / "tatqa_codex_conditions.jsonl"
FLIPS = {"direct": 131, "cot": 155}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The flips alone, converted and run as the example says."""
    if not DATA.exists():
        pytest.skip(f"the recorded data are not here: {DATA} (set TOOLABLATE_DATA to their folder)")
    folder = tmp_path_factory.mktemp("tatqa")
    with DATA.open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    for baseline, count in FLIPS.items():
        assert sum(flips(row, baseline) for row in rows) == count
    kept = [row for row in rows if any(flips(row, baseline) for baseline in FLIPS)]
    recorded = folder / "recorded.jsonl"
    recorded.write_text("".join(json.dumps(row) + "\n" for row in kept), encoding="utf-8")
    example = ROOT / "examples/tatqa"
    run(example / "convert.py", recorded, folder / "data", folder=folder)
    (folder / "plan.toml").write_text((example / "plan.toml").read_text(encoding="utf-8"), encoding="utf-8")
    run("-m", "toolablate", "run", folder / "plan.toml", folder=folder)
    return folder / "runs/tatqa.sqlite"


def flips(row: dict[str, Any], baseline: str) -> bool:
    return is_right(row, baseline) and not is_right(row, "pot")


def is_right(row: dict[str, Any], condition: str) -> bool:
    given = row[condition]["pred_answer"] or []
    scales = {"scale": row[condition]["pred_scale"], "wanted_scale": row["scale"]}
    return em_and_f1(texts(given), texts(row["answer"]), **scales)[0] == 1


def texts(value: Any) -> list[str]:
    items = value if isinstance(value, list) else [value]
    return [item if isinstance(item, str) else json.dumps(item) for item in items]


def run(*command: str | Path, folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, *map(str, command)], cwd=folder, capture_output=True, text=True, check=False, timeout=110
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]


def labels(path: Path, baseline: str) -> dict[str, tuple[Attribution, Signals]]:
    """By question, of those that turned wrong in this run: a few programs give other numbers than they did."""
    seen: dict[tuple[str, str], tuple[Signals, Score]] = {}
    with Store(path) as store:
        questions = {question.identity(): question for question in store.questions()}
        conditions = {condition.identity(): condition for condition in store.conditions()}
        for trace in store.traces():
            question, condition = questions[trace.trial.question], conditions[trace.trial.condition]
            score = store.scores(trace.trial.id)[0]
            seen[question.id, condition.name] = signals_of(trace, question, condition), score
    found = {}
    for (question_id, condition_name), (signals, score) in seen.items():
        before = Bare(*seen[question_id, baseline])
        label = layer_one(signals, score, [before])
        if condition_name == "pot" and before.score.value == 1 and label is not None:
            found[question_id] = label, signals
    return found


@pytest.mark.parametrize("baseline", FLIPS)
def test_every_flip_has_a_label_and_evidence(store: Path, baseline: str) -> None:
    found = labels(store, baseline)
    assert abs(len(found) - FLIPS[baseline]) <= 2
    counted = Counter(label.mechanism for label, _ in found.values())
    # One program, one result, one final reply: nothing was searched, refused, or stopped.
    assert set(counted) <= {"lock_in", "format", "calling", "unknown"}
    assert counted["unknown"] <= 0.05 * len(found)
    for label, signals in found.values():
        assert label.evidence or label.mechanism == "unknown"
        assert signals.budget.stopped is None
        assert signals.calls[0].form == "code"


# Read by hand: the question, the program, its output and the reply without tools.
BY_HAND = {
    # $195,837 thousand came out as 195.837 million, which is rounded, $12,381,521 as so many thousands.
    "9e9b0fb5-0bf6-4bc2-a760-eb4ebac1b460": "format",
    "33fd26df-9da7-489c-96e6-bd43a8b79d89": "format",
    # The table says 49 %, the program divides and gives 48.7.
    "f036c54e-3e90-4740-bf34-bf175c9c7a4a": "format",
    # "USD500 million" came out as "$500 million".
    "49417eb5-0d20-4371-94f1-9a00c25a2595": "format",
    # One text became a list of its parts.
    "09998ed3-ee55-45ea-9093-3a0a27baa8fa": "format",
    # A duration that the text states became a half difference of two amounts.
    "2996d8a9-8fdc-46f7-9a6b-443663c6f03c": "lock_in",
    # The difference of the wrong two numbers.
    "5fa12af1-123b-4683-b2ed-5a2b439c50f4": "lock_in",
    # A change in points of percent became one relative to the year before.
    "37a06d19-6aec-40a6-862a-fa7629b64208": "lock_in",
    "973464b5-a5fe-4381-9bc5-e225f5ba9a2c": "lock_in",
    # Sorted without the absolute value: the least change came out as the greatest.
    "0dfdb4bf-8fa4-4865-860a-18dbe1c41a01": "lock_in",
}


def test_flips_that_were_read_by_hand_have_the_label_that_they_should(store: Path) -> None:
    found = {baseline: labels(store, baseline) for baseline in FLIPS}
    for question, mechanism in BY_HAND.items():
        label = next(each[question][0] for each in found.values() if question in each)
        assert label.mechanism == mechanism, (question, label.note)
