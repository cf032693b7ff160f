"""The computed truth beside what a model that acts out scenes does, through real tools, stores and replays."""

import math
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import pytest
from tests.experiments.planted.acted import RIGHT, Acted, act

from toolablate.experiments.planted.truth import TrialTruth, exact_flip, truth_of
from toolablate.traces.errors import InputError
from toolablate.traces.store import Store

pytestmark = pytest.mark.timeout(300)

Seen = tuple[float, list[str]]
"""The computed probability of being right, and the letters that came."""


@pytest.fixture(scope="module")
def acted(tmp_path_factory: pytest.TempPathFactory) -> Acted:
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        return act(tmp_path_factory.mktemp("acted"))


def off(seen: Iterable[Seen]) -> float:
    """By how many standard errors there are more right letters than computed."""
    pairs = list(seen)
    expected = sum(p * len(letters) for p, letters in pairs)
    variance = sum(p * (1 - p) * len(letters) for p, letters in pairs)
    right = sum(letter == RIGHT for _, letters in pairs for letter in letters)
    return (right - expected) / math.sqrt(variance)


def levels_of(trial: TrialTruth, acted: Acted) -> dict[str, Seen]:
    """What was replayed of a trial, beside its level."""
    levels = trial.levels
    found: dict[str, Seen] = {}
    for purpose, letters in acted.replayed.get(trial.trial, {}).items():
        match purpose.kind:
            case "probe" if purpose.step is not None:
                found[f"probe {purpose.step}"] = trial.trajectory[purpose.step], letters
            case "rollout":
                level = next(level for swapped, level in levels.rollouts.items() if swapped == purpose.swapped)
                found[f"rollout {sorted(purpose.swapped)}"] = level, letters
            case "set_aside":
                found["set_aside"] = levels.aside, letters
            case "extended":
                found["extended"] = levels.extended, letters
            case "repaired":
                found["repaired"] = levels.repaired, letters
            case _:
                pass
    return found


def test_arms_and_answers_are_right_as_often_as_computed(acted: Acted) -> None:
    seen: dict[str, list[Seen]] = defaultdict(list)
    names = {"none": "none", "scaffold": "scaffold"}
    for trial in {(each.condition, each.question): each for each in acted.truth.trials}.values():
        for arm, level in trial.levels.arms.items():
            name = trial.condition if arm == "real" else names.get(arm, f"{trial.condition}:{arm}")
            if (trial.question, name) in acted.told:
                seen[arm].append((level, acted.told[trial.question, name]))
    assert seen.keys() == {"none", "scaffold", "offered", "sham", "placebo", "real"}
    for arm, pairs in seen.items():
        assert abs(off(pairs)) < 4, arm
        assert all(abs(off([pair])) < 4 for pair in pairs), arm


def test_replays_are_right_as_often_as_computed(acted: Acted) -> None:
    seen: dict[str, list[Seen]] = defaultdict(list)
    for trial in acted.truth.trials:
        for name, pair in levels_of(trial, acted).items():
            assert abs(off([pair])) < 4, (trial.question, trial.condition, name, pair)
            seen[name].append(pair)
    assert {"probe 0", "probe 4", "set_aside", "extended", "repaired", "rollout []"} <= seen.keys()
    assert {"rollout ['code']", "rollout ['search']", "rollout ['code', 'search']"} <= seen.keys()
    assert all(abs(off(pairs)) < 4 for pairs in seen.values()), {name: off(pairs) for name, pairs in seen.items()}


def test_what_is_asked_once_more_is_what_was_said(acted: Acted) -> None:
    for trial in acted.truth.trials:
        for purpose, letters in acted.replayed.get(trial.trial, {}).items():
            if purpose.kind == "closing":
                assert set(letters) == {trial.letter}


def test_parts_sum_to_the_difference_that_a_trial_makes(acted: Acted) -> None:
    for trial in acted.truth.trials:
        difference = trial.score - trial.levels.arms["none"]
        assert sum(trial.parts.terms.values()) == pytest.approx(difference, abs=1e-9)
        assert sum(trial.parts.mechanisms.values()) == pytest.approx(difference, abs=1e-9)
    for condition in acted.truth.conditions:
        for parts in (condition.expected, condition.realised):
            assert sum(parts.mechanisms.values()) == pytest.approx(sum(parts.terms.values()), abs=1e-9)
        assert sum(condition.expected.terms.values()) == pytest.approx(condition.effect, abs=1e-9)


def test_luck_is_nothing_in_expectation_where_no_call_fails_at_random(acted: Acted) -> None:
    by_name = {condition.condition: condition for condition in acted.truth.conditions}
    assert by_name.keys() == {"python", "all", "flaky"}
    for name in ("python", "all"):
        assert by_name[name].expected.terms["luck"] == pytest.approx(0, abs=1e-9)
        assert by_name[name].expected.terms["tool_fault"] == pytest.approx(0, abs=1e-9)
    assert by_name["flaky"].expected.terms["tool_fault"] < -0.02
    assert by_name["all"].expected.mechanisms["retrieval_distraction"] < -0.02


def test_a_wrong_trial_has_one_cause_among_those_that_are_possible(acted: Acted) -> None:
    causes: dict[tuple[str, str], set[str]] = defaultdict(set)
    for trial in acted.truth.trials:
        assert (trial.mechanism is None) == (trial.score == 1)
        assert sum(trial.chances.values()) == pytest.approx(1 if trial.mechanism else 0)
        if trial.mechanism:
            assert trial.chances[trial.mechanism] > 0
            causes[trial.question, trial.condition].add(trial.mechanism)
    assert causes["formless", "python"] <= {"format", "luck"}
    assert causes["untouched", "flaky"] <= {"luck"}
    assert "budget" in causes["short", "python"]
    assert "lock_in" in causes["locked", "python"]
    assert {"lock_in", "retrieval_distraction"} & causes["both", "all"]
    assert {condition for (_, condition), found in causes.items() if "tool_fault" in found} <= {"flaky"}


def test_a_belief_falls_at_the_reply_that_commits_or_at_the_result_that_moves_it(acted: Acted) -> None:
    turned = {
        (trial.question, acted.traces[trial.trial].events[trial.turned_at].kind)
        for trial in acted.truth.trials
        if trial.condition == "python" and trial.turned_at is not None
    }
    # The first cell of `short` commits, and it is a result that moves `locked`.
    assert turned == {("short", "model_call"), ("locked", "tool_call"), ("both", "tool_call")}


def test_the_truth_is_that_of_the_scenes_that_were_acted_out(acted: Acted, tmp_path: Path) -> None:
    scenes = acted.store.parent.parent / "scenes.jsonl"
    moved, other = tmp_path / "moved.jsonl", tmp_path / "other.jsonl"
    moved.write_bytes(scenes.read_bytes())
    other.write_text(scenes.read_text(encoding="utf-8").replace('"set_aside": 0.25', '"set_aside": 0.5'))
    with Store(acted.store) as opened:
        assert truth_of(opened, moved) == acted.truth
        with pytest.raises(InputError, match=r"other\.jsonl is not the file of scenes that model 'acting' acted out"):
            truth_of(opened, other)


@pytest.mark.parametrize(
    ("trajectory", "flip"),
    [
        ((0.9, 0.9, 0.2, 0.2), 2),
        ((0.9, 0.2, 0.9, 0.3, 0.3), 3),
        ((0.9, 0.3, 0.8), None),
        ((0.9, 0.3, 0.7), 1),
        ((0.9, 0.65, 0.4), None),
        ((0.9,), None),
    ],
)
def test_a_flip_is_the_first_fall_that_never_comes_back_by_half(
    trajectory: tuple[float, ...], flip: int | None
) -> None:
    assert exact_flip(trajectory, 0.4) == flip
