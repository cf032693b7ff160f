"""The structural model: its truth by do() on draws made by hand, its endpoint, and the benchmark end to end. No figure is
judged here."""

import json
import subprocess
import sys
import urllib.request
from dataclasses import replace
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import pytest
from bench.structural import wording
from bench.structural.allocation import ALLOCATIONS, Run, error
from bench.structural.graph import (
    ARMS,
    Cause,
    Question,
    Seen,
    Situation,
    Truth,
    Turn,
    belief,
    draw,
    played,
    shares,
    truth_of,
    turning_place,
)
from bench.structural.questions import kinds_of, make_questions, pages
from bench.structural.scoring import Verdict, calibration_error, chance_calibration_error
from bench.structural.server import Model, serving, situation_of
from tests.reports.attribution.contradictions import contradictions_of

ROOT = Path(__file__).parents[2]
LETTERS = {"right": "A", "short": "B", "formula": "C", "page": "D"}
PAGE, SHORT = Seen("page", frozenset("D"), 900), Seen("code", frozenset("B"), 30)


def question(*causes: Cause, **given: Any) -> Question:
    usual: dict[str, Any] = {"base": 0.8, "low": 0.1, "plan": ("search", "open", "short"), **given}
    values = {"right": 40_001, "short": 40_002, "formula": 40_003, "page": 40_004}
    seasons = (1, 2, 3, 4, 5, 9)
    return Question("q", "k", "terse", "Aldby", "", seasons, values, LETTERS, causes=causes, **usual)


def mark(**wanted: bool) -> str:
    """A mark whose draws of these names are below .3, or above .9."""
    names = (f"m{number}" for number in count())
    return next(m for m in names if all(draw(m, n) < 0.3 if low else draw(m, n) > 0.9 for n, low in wanted.items()))


def situation(q: Question, chance: float, *seen: Seen, believes: bool = True, **given: Any) -> Situation:
    reader = mark(believe=believes, form=True, tired=True)
    return Situation(q, reader, True, True, True, tuple(Turn(reader, each) for each in seen), chance=chance, **given)


@pytest.mark.parametrize(
    ("q", "chance", "seen", "label", "removals"),
    [
        (question("wrong_page"), 0.5, [PAGE], "wrong_page", [{"wrong_page"}]),
        (question("wrong_page"), 0.9, [PAGE], "noise", []),
        (question("wrong_page", base=0.2, low=0.05), 0.9, [PAGE], "own_error", []),
        (question("lock_in"), 0.5, [SHORT], "lock_in", [{"lock_in"}]),
        (question("wrong_page", "lock_in", need=2), 0.5, [PAGE, SHORT], None, [{"wrong_page"}, {"lock_in"}]),
        (question("wrong_page", "lock_in"), 0.5, [PAGE, SHORT], None, [{"wrong_page", "lock_in"}]),
        (question("sunk_cost"), 0.5, [Seen("search")] * 4, "sunk_cost", [{"sunk_cost"}]),
        (question("volume"), 0.5, [Seen("page", chars=30_000)], "volume", [{"volume"}]),
        (question("tool_fault"), 0.5, [Seen("page", status="error")], "tool_fault", [{"tool_fault"}]),
        (question("prompt"), 0.5, [], "prompt", [{"prompt"}]),
        (question("availability"), 0.5, [], "availability", [{"availability"}]),
        (question("format"), 0.5, [PAGE], "format", [{"format"}]),
        (question("budget"), 0.5, [SHORT], "budget", [{"budget"}]),
    ],
)
def test_the_truth_is_what_removal_restores(
    q: Question, chance: float, seen: list[Seen], label: str | None, removals: list[set[str]]
) -> None:
    truth = truth_of(situation(q, chance, *seen))
    assert [set(each) for each in truth.removals] == removals
    assert label is None or truth.label == label
    assert truth.also == {each for some in removals for each in some} or truth.also == {truth.label}


def test_a_page_that_nobody_believes_leaves_pure_noise() -> None:
    truth = truth_of(situation(question("wrong_page"), 0.9, PAGE, believes=False))
    assert (truth.label, truth.pure) == ("noise", True)


def test_a_late_page_moves_the_belief_two_results_later() -> None:
    q, other = question("late_page"), Seen("search")
    beliefs = [belief(situation(q, 0.5, *[PAGE, other, other, other][:number])) for number in range(5)]
    assert beliefs == pytest.approx([0.8, 0.8, 0.8, 0.1, 0.1])
    assert turning_place(beliefs) == 3
    assert turning_place([0.8, 0.2, 0.8, 0.7]) is None


def test_a_forced_answer_is_worse_and_ignoring_results_undoes_a_page() -> None:
    q = question("wrong_page", forcing=0.5)
    free = situation(q, 0.5, PAGE)
    assert belief(replace(free, forced="now")) == pytest.approx(0.05)
    assert belief(replace(free, forced="ignore")) == pytest.approx(0.4)


@pytest.mark.parametrize("toolset", ["python", "search", "all"])
def test_the_terms_of_every_kind_sum_to_its_effect(toolset: Any) -> None:
    for q in make_questions(len(kinds_of(toolset)), 3, toolset, 0.2):
        terms = shares(q, ARMS["flaky"], times=30)
        assert sum(points for name, points in terms.items() if name != "effect") == pytest.approx(terms["effect"])
        planned = played(q, ARMS["real"], "x")
        assert len(planned.turns) <= 8


def test_the_halves_share_no_template() -> None:
    for slot in wording.SAID:
        dev, test = (set(wording.split(slot, "terse", half)) for half in ("dev", "test"))
        assert dev | test == {0, 1, 2, 3}


def test_some_wrong_pages_are_long() -> None:
    questions = make_questions(40, 1, "search", 0.2)
    misleading = {q.id for q in questions if q.page_role == "page"}
    lengths = [len(each["text"]) for each in pages(questions, "dev", 1) if each["id"] in misleading]
    assert min(lengths) < 5_000
    assert max(lengths) > 30_000


def asked(url: str, body: dict[str, Any]) -> Any:
    request = urllib.request.Request(f"{url}/chat/completions", json.dumps(body).encode())
    with urllib.request.urlopen(request) as response:
        return json.load(response)


def test_the_same_request_gives_the_same_reply() -> None:
    questions = make_questions(6, 1, "all", 0.2)
    messages = [{"role": "user", "content": questions[0].prompt}]
    tools = [{"type": "function", "function": {"name": "python"}}]
    seeded = {"model": "m", "messages": messages, "tools": tools, "seed": 5}
    with serving(Model(questions, "dev", 1)) as url, serving(Model(questions, "dev", 1)) as another:
        assert asked(url, seeded) == asked(url, seeded) == asked(another, seeded)
        unseeded = {key: value for key, value in seeded.items() if key != "seed"}
        repeats = [asked(url, unseeded) for _ in range(3)]
        assert len({each["id"] for each in repeats}) == 3
        assert repeats == [asked(another, unseeded) for _ in range(3)]


def test_the_state_is_in_the_messages() -> None:
    (q, *_), mark = make_questions(6, 1, "all", 0.2), "f" * 16
    calls = [{"id": f"call_{mark}", "type": "function", "function": {"name": "browser_open", "arguments": "{}"}}]
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": q.prompt},
        {"role": "assistant", "content": "", "tool_calls": calls},
        {"role": "tool", "tool_call_id": f"call_{mark}", "content": f"[0] A page\nIt holds {q.values['page']}."},
        {"role": "user", "content": "Put aside everything that the tools returned. Answer now."},
    ]
    s = situation_of({"messages": messages}, {q.name: q}, "0")
    assert (s.forced, s.prompt, s.offered) == ("ignore", False, False)
    assert s.turns == (Turn(mark, Seen("page", frozenset({q.letters["page"]}), len(messages[2]["content"]))),)


def test_replaying_every_trial_once_costs_less_than_the_wrong_ones_twice_and_errs_less() -> None:
    questions, off = make_questions(6, 5, "all", 0.2), {}
    for allocation in ALLOCATIONS[:3]:
        runs = [Run(allocation, Random(number)) for number in range(12)]
        errors = [error(run, questions, 2) for run in runs]
        off[allocation.name] = sum(errors), sum(run.requests for run in runs)
    few, more, once = off.values()
    assert once[1] < few[1] < more[1]
    assert once[0] < few[0]


def test_confidences_that_are_true_have_a_calibration_error_by_chance() -> None:
    wrong = Truth("noise", frozenset({"noise"}), (), pure=True)
    said = [
        Verdict("q", wrong, "sampling_noise", "sampling_noise" if each < 50 else "budget", 0.5, None, None)
        for each in range(100)
    ]
    assert calibration_error(said) == 0
    assert calibration_error(said[:50]) == 0.5
    assert chance_calibration_error(said[:1]) == 0.5
    # The mean distance of a binomial share from its chance is the root of 2 p (1 - p) / (pi n).
    assert chance_calibration_error(said) == pytest.approx(0.04, abs=0.01)
    assert chance_calibration_error([]) is None


@pytest.mark.timeout(400)
def test_six_questions_end_to_end(tmp_path: Path) -> None:
    figures = tmp_path / "figures.json"
    few = [
        "--questions=6",
        "--repeats=1",
        "--samples=1",
        "--rollouts=1",
        "--successes=0",
        f"--json={figures}",
        f"--folder={tmp_path}",
    ]
    done = subprocess.run(
        [sys.executable, "-m", "bench.structural", *few, "--half=dev", "--toolset=search"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=380,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "macro-F1 over causes" in done.stdout
    found = json.loads(figures.read_text(encoding="utf-8"))
    assert found["trials"] == 6 * 2
    assert found["not_as_the_graph"] == 0
    assert not any(contradictions_of(tmp_path / "structural.sqlite").values())
