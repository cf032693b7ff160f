"""`compare` by the real command line, on stores of real runs."""

import csv
import json
from pathlib import Path

from tests.experiments.conftest import Cli, WritePlan
from tests.experiments.plan_files import answered


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
    page = [line.split() for line in cli("compare", store).stdout.splitlines() if line.strip()]
    assert page[0] == ["Scores", "in", "percent;", "the", "baseline", "is", "none"]
    assert page[1] == ["model", "n", "none", "scaffold"]
    assert page[3][1:] == ["2", "50.0", "50.0"]
    assert "harmed" not in ran.stdout
    assert "harmed" not in cli("compare", store).stdout
    assert "Look so in half of their repeats" in cli("compare", store, "--harm").stdout
    table = store.parent / "tables" / "of today" / "table.csv"  # in folders that are not there yet
    told = cli("compare", store, "--by", "kind", "--by", "domain", "--json", "--csv", table)
    rows = json.loads(told.stdout)["comparisons"]
    assert [(row["by"], row["group"]) for row in rows] == [(None, None), ("kind", "number"), ("domain", "sums")]
    assert [row["p_holm"] for row in rows] == [1.0] * 3
    assert (rows[0]["flips_right_to_wrong"], rows[0]["noise_flips"], rows[0]["small"]) == (1.0, 0.0, True)
    assert rows[0]["harm"]["harmed"]["low"] == 0.5
    with table.open(encoding="utf-8") as opened:
        assert [row["harmed_share_low"] for row in csv.DictReader(opened)] == ["0.5", "", ""]
    flips = cli("compare", store, "--flips")
    assert "scaffold 2 1.0 1.0 0.0 2" in " ".join(flips.stdout.replace("none", "").split())
    floors = json.loads(cli("compare", store, "--flips", "--json").stdout)["floors"]
    assert [floor["chance"]["noise_flips"] for floor in floors] == [0.0]
    refused = cli("compare", store, "--by", "colour")
    assert refused.returncode == 2
    assert "'domain', 'difficulty', 'language', 'kind'" in refused.stderr
    refused = cli("compare", store, "--flips", "--harm")
    assert refused.returncode == 2
    assert "--flips goes without" in refused.stderr

    _refuses_what_would_spoil_the_store(cli, store)


def _refuses_what_would_spoil_the_store(cli: Cli, store: Path) -> None:
    before = store.read_bytes()
    linked = store.parent / "linked.csv"
    linked.symlink_to(store)
    for path in (store, linked):
        refused = cli("compare", store, "--csv", path)
        assert refused.returncode == 2
        assert "is a store and would be overwritten" in " ".join(refused.stderr.split())
    refused = cli("compare", store, "--csv", store / "folder" / "table.csv")
    assert refused.returncode == 2
    assert "--csv: cannot make the folder" in " ".join(refused.stderr.split())
    assert "Traceback" not in refused.stderr
    for beside in ("-wal", "-shm", "-recorder-1"):
        refused = cli("compare", store, "--csv", f"{store}{beside}")
        assert refused.returncode == 2
        assert "belongs to a store" in " ".join(refused.stderr.split())
    assert store.read_bytes() == before
    negative = cli("compare", store, "--seed", "-1")
    assert negative.returncode == 2
    assert "Traceback" not in negative.stderr
