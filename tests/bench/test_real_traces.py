"""Real flips and their labels: the draw, what readers' files may hold, agreement and accuracy on labels made up here, and
a few recorded rows taken through the stores. No figure is judged here."""

import json
import os
import random
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from bench.real_traces import sets
from bench.real_traces.scoring import (
    Read,
    agreed,
    agreement,
    figures_of,
    measured,
    read_labels,
    said_by_attribute,
    said_by_rules,
    tables_of,
)
from bench.real_traces.sets import Flip, draw, flips_of, make_store, read_drawn
from bench.real_traces.sheets import write_sheets

ROOT = Path(__file__).parents[2]
DATA = Path(os.environ.get("TOOLABLATE_DATA", ROOT.parent / "shared/data"))


def flip(number: int, of_set: str = "tatqa", before: str = "direct") -> Flip:
    return Flip(f"{of_set}/{number}/{before}", of_set, str(number), before, "pot", f"c{number}", "dev")


def labelled(*labels: str, **given: object) -> dict[str, Read]:
    return {flip(n).id: replace(Read(label, None, True, 0), **given) for n, label in enumerate(labels)}


FLIPS = [flip(number) for number in range(4)]


def test_what_was_drawn_holds_no_question_twice_and_none_that_was_read_before() -> None:
    drawn = read_drawn()
    assert len(drawn) >= 150
    assert len({(each.set, each.question) for each in drawn}) == len(drawn)
    known = sets.READ_BEFORE.read_text(encoding="utf-8")
    assert not [each for each in drawn if each.set == "tatqa" and f"`{each.question[:8]}`" in known]
    assert 0.3 < sum(each.half == "dev" for each in drawn) / len(drawn) < 0.5


def test_a_draw_takes_no_question_twice() -> None:
    flips = [flip(number, before=before) for number in range(6) for before in ("direct", "cot")]
    drawn = draw(flips, {"direct": 3, "cot": 3}, random.Random(1))
    assert [each.before for each in drawn] == ["direct"] * 3 + ["cot"] * 3
    assert len({each.question for each in drawn}) == 6
    assert drawn == draw(flips, {"direct": 3, "cot": 3}, random.Random(1))
    assert len({each.question for each in draw(flips, 9, random.Random(1))}) == 6


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([{"id": "tatqa/9/direct", "label": "format"}], "not drawn"),
        ([{"id": FLIPS[0].id, "label": "format"}] * 2, "labelled twice"),
        ([{"id": FLIPS[0].id, "label": "unknown"}], "the labels are"),
        ([{"id": FLIPS[0].id, "label": "format", "secondary": "noise"}], "the labels are"),
    ],
)
def test_a_file_with_other_ids_or_words_is_refused(tmp_path: Path, rows: list[dict[str, str]], says: str) -> None:
    path = tmp_path / "reader1.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    with pytest.raises(ValueError, match=says):
        read_labels(path, FLIPS)


def test_two_readers_agree_beyond_chance_or_not() -> None:
    one = labelled("format", "format", "lock_in", "own_error")
    other = labelled("format", "format", "lock_in", "lock_in")
    told = agreement(FLIPS, one, {**other, FLIPS[3].id: Read("lock_in", "own_error", False, 2)})
    # Observed 3/4; expected (2*2 + 1*2) / 16.
    assert told["kappa"] == pytest.approx((12 - 6) / (16 - 6))
    assert (told["flips"], told["agreed"], told["overlapping"], told["both_sure"], told["same_step"]) == (4, 3, 4, 3, 3)
    assert set(agreed(one, other)) == {each.id for each in FLIPS[:3]}


def test_noise_agrees_with_an_own_error_and_a_disputed_key_is_not_scored() -> None:
    truth = labelled("format", "own_error", "lock_in", "gold_disputable")
    said = dict(zip((each.id for each in FLIPS), ("format", "sampling_noise", "unknown", "lock_in"), strict=True))
    found = measured(FLIPS, truth, said)
    assert (found["scored"], found["disputable"]) == (3, 1)
    assert found["accuracy"][0] == pytest.approx(100 * 2 / 3)
    assert found["macro_f1"][0] == pytest.approx(2 / 3)
    assert found["confusion"]["lock_in"] == {"nothing": 1}
    lenient = measured(FLIPS[:1], labelled("lock_in", secondary="format"), said)
    assert (lenient["accuracy"][0], lenient["primary_or_secondary"][0]) == (0, 100)


def test_figures_are_told_of_each_set_and_tools_blamed_in_null_cases() -> None:
    flips = [*FLIPS, flip(4, "mmlu_pro", "a"), flip(5, "mmlu_pro", "b")]
    one = {each.id: Read("own_error", None, True, 0) for each in flips}
    said = {"rules": {flips[4].id: "availability", flips[5].id: "format"}}
    figures = figures_of(flips, {"reader1": one, "reader2": one}, said)
    assert figures["null_cases_blamed_on_tools"] == {"rules": [1, 2]}
    assert figures["agreement"]["all"]["kappa"] is None
    assert [title for title, _, _ in tables_of(figures)][:2] == ["two readers", "rules over traces"]
    json.dumps(figures)


def test_without_labels_it_says_so(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "bench.real_traces", "--labels", str(tmp_path), "--data", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("No reader has labelled these flips yet")


@pytest.mark.deep
@pytest.mark.parametrize("name", list(sets.SETS))
def test_drawn_flips_of_recorded_rows_are_flips_here(name: str, tmp_path: Path) -> None:
    """A few drawn rows through store, rules and sheets."""
    files = sets.SETS[name].files
    if missing := [each for each in files if not (DATA / each).exists()]:
        pytest.skip(f"{', '.join(missing)} not in {DATA} (set TOOLABLATE_DATA)")
    wanted = [each for each in read_drawn() if each.set == name][:3]
    ids = {each.question for each in wanted}
    rows = [json.loads(line) for line in (DATA / files[0]).read_text(encoding="utf-8").splitlines()]
    kept = [row for row in rows if {str(row.get("question_id")), f"gsm8k-test-{row.get('idx')}"} & ids]
    (tmp_path / files[0]).write_text("".join(json.dumps(row) + "\n" for row in kept), encoding="utf-8")
    for other in files[1:]:
        (tmp_path / other).write_bytes((DATA / other).read_bytes())
    store = make_store(name, tmp_path, tmp_path / "made")
    found = flips_of(name, store)
    assert set(wanted) <= set(found)
    assert set(said_by_rules(wanted, store)) == {each.id for each in wanted}
    assert set(said_by_attribute(wanted, store)) == (set() if name == "mmlu_pro" else {each.id for each in wanted})
    write_sheets(wanted, {name: store}, tmp_path / "sheets.jsonl")
    sheets = [json.loads(line) for line in (tmp_path / "sheets.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [each["id"] for each in sheets] == [each.id for each in wanted]
    assert all(each["wrong"]["verdict"] != "correct" for each in sheets)


def test_missing_data_are_named(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="the recorded data are not here"):
        make_store("gsm8k", tmp_path, tmp_path)
