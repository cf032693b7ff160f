"""Queues of failures to label, and codebooks, as a user asks for them."""

from collections import Counter
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tests.cli.test_failures import store as store

from toolablate.analysis.codebooks.codebook import built_in_text
from toolablate.analysis.failures import Failures, read_failures
from toolablate.analysis.labels.queue import drawn_queue, read_queue
from toolablate.cli import group
from toolablate.traces.errors import InputError


def labels(*options: str | Path) -> Result:
    return CliRunner().invoke(group, ["labels", *map(str, options)])


def test_a_queue_is_drawn_and_shared_out(store: Path, tmp_path: Path) -> None:
    out = tmp_path / "queue.json"
    asked = ("queue", store, "--baseline", "none", "--people", "ada, ben", "--each", "2", "-o", out)
    done = labels(*asked, "--by", "condition", "--double", "0.5")
    assert done.exit_code == 0, done.output
    assert "3 trials of 4, 2 for two people" in done.output
    queue = read_queue(out)
    assert {item.group: item.inclusion_probability for item in queue.items} == {
        ("none",): 1.0,
        ("python",): pytest.approx(2 / 3),
    }
    assert sorted(len(queue.of(person)) for person in queue.people) == [2, 3]
    again = labels(*asked)
    assert (again.exit_code, "is there already" in str(again.exception)) == (1, True)
    out.unlink()
    done = labels(*asked)
    assert "1 wrong trial without an attribution left out" in done.stderr, "by mechanism"


def _many(store: Path, count: int) -> Failures:
    found = read_failures(store, baseline="none")
    one = found.failures[0]
    return replace(found, failures=tuple(replace(one, seen=replace(one.seen, trial=f"{n:032x}")) for n in range(count)))


def test_work_is_shared_fairly_and_every_two_meet(store: Path) -> None:
    people = ["ada", "ben", "cleo"]
    queue = drawn_queue(_many(store, 200), ["model"], store="s", each=90, people=people, double=0.3, seed=1)
    assert len(queue.items) == 90
    load = Counter(person for item in queue.items for person in item.people)
    assert max(load.values()) - min(load.values()) <= 1
    twice = Counter(item.people for item in queue.items if len(item.people) == 2)
    assert sum(twice.values()) == 27
    assert set(twice) == set(combinations(people, 2))
    assert max(twice.values()) - min(twice.values()) <= 3
    alone = drawn_queue(_many(store, 9), ["model"], store="s", each=5, people=["ada"], double=0.3, seed=1)
    assert [item.people for item in alone.items] == [("ada",)] * 5


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--people", "ada", "--double", "0.3"], "one person labels nothing twice"),
        (["--people", "ada,ada"], "each name once"),
        (["--people", "ada", "--by", "mood"], "Failures have no 'mood'"),
    ],
)
def test_a_mistake_is_told(store: Path, tmp_path: Path, options: list[str], said: str) -> None:
    done = labels("queue", store, "--baseline", "none", "-o", tmp_path / "q.json", *options)
    assert (done.exit_code != 0, said in str(done.exception)) == (True, True)


def test_what_is_no_queue_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "q.json"
    for text in ("{", '{"store": 1}', "[]"):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(InputError, match="--queue: "):
            read_queue(path)


def test_codebooks_are_printed_and_checked(tmp_path: Path) -> None:
    assert labels("codebook").output == built_in_text("mechanisms")
    path = tmp_path / "codes.toml"
    path.write_text(built_in_text("error_types").replace('"error_types"', '"ours"', 1), encoding="utf-8")
    assert "ours: Which type of error is it?" in labels("codebook", path).output
