"""`compare` by the real command line, on stores of real runs."""

import csv
import json
from pathlib import Path

from tests.experiments.conftest import Cli, WritePlan
from tests.experiments.plans import answered


def test_groups_noise_and_corrections_of_a_run_with_repeats(write_plan: WritePlan, cli: Cli, store: Path) -> None:
    questions = [
        {"id": f"q{n}", "prompt": f"{n} + {n}?", "domain": "sums", "target": {"kind": "number", "value": 2 * n}}
        for n in (1, 2)
    ]
    replies = {
        (question, condition): answered(f"Answer: {2 if condition == 'none' else 4}")
        for question in ("q1", "q2")
        for condition in ("none", "scaffold")
    }
    conditions = "['none', { name = 'scaffold', prompt = 'Think.' }]"
    ran = cli("run", write_plan(replies, conditions=conditions, questions=questions, extra="repeats = 3"))
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "noise" in ran.stdout
    assert "that look harmed" in " ".join(ran.stdout.split())
    table = store.parent / "table.csv"
    told = cli("compare", store, "--by", "kind", "--by", "domain", "--json", "--csv", table)
    rows = json.loads(told.stdout)["comparisons"]
    assert [(row["by"], row["group"]) for row in rows] == [(None, None), ("kind", "number"), ("domain", "sums")]
    assert [row["p_holm"] for row in rows] == [1.0] * 3
    assert (rows[0]["flips_right_to_wrong"], rows[0]["noise_flips"], rows[0]["small"]) == (1.0, 0.0, True)
    assert rows[0]["harm"]["harmed"]["low"] == 0.5
    with table.open(encoding="utf-8") as opened:
        assert [row["harmed_share_low"] for row in csv.DictReader(opened)] == ["0.5", "", ""]
    flips = cli("compare", store, "--flips")
    assert "chance alone gives 0.0 each way" in " ".join(flips.stdout.split())
    floors = json.loads(cli("compare", store, "--flips", "--json").stdout)["floors"]
    assert [floor["chance"]["noise_flips"] for floor in floors] == [0.0]
    refused = cli("compare", store, "--by", "colour")
    assert refused.returncode == 2
    assert "'domain', 'difficulty', 'language', 'kind'" in refused.stderr
