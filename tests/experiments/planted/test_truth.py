"""The computed truth beside what a model that acts out scenarios does, through real tools, stores and replays."""

import math
import random
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from tests.agents.planted.scenarios import call, scenario_of
from tests.experiments.planted.acted import RIGHT, Acted, act, write_plan

from toolablate.agents.simulated.planted.mind import drawn
from toolablate.agents.simulated.policy import Offer
from toolablate.experiments.plans.plan import load_plan
from toolablate.experiments.planted.setups import Made, Outputs, ScenarioRun, ScenarioSetup, Way, refuse_unknown, runs
from toolablate.experiments.planted.truth import Causes, TrialTruth, cause_at, causes, chances, exact_flip, truth_of
from toolablate.tools.interventions import InterventionSetting, open_interventions
from toolablate.traces.errors import InputError
from toolablate.traces.records import Budget, Condition, InterventionUse, SimulatedModel
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
            case "early_answer" if purpose.step is not None:
                found[f"probe {purpose.step}"] = trial.trajectory[purpose.step], letters
            case "rollout":
                level = next(
                    level for swapped, level in levels.rollouts.items() if swapped == frozenset(purpose.placebos)
                )
                found[f"rollout {sorted(purpose.placebos)}"] = level, letters
            case "ignore_tools":
                found["ignore_tools"] = levels.aside, letters
            case "extended":
                found["extended"] = levels.extended, letters
            case "repaired":
                found["repaired"] = levels.repaired, letters
            case _:
                pass
    return found


@pytest.mark.deep
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
    assert {"probe 0", "probe 4", "extended", "repaired", "rollout []"} <= seen.keys()
    assert {"rollout ['code']", "rollout ['search']", "rollout ['code', 'search']"} <= seen.keys()
    assert all(abs(off(pairs)) < 4 for pairs in seen.values()), {name: off(pairs) for name, pairs in seen.items()}


def test_what_is_asked_once_more_is_what_was_said(acted: Acted) -> None:
    for trial in acted.truth.trials:
        for purpose, letters in acted.replayed.get(trial.trial, {}).items():
            if purpose.kind == "answer_re_ask":
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


def test_noise_is_nothing_in_expectation_where_no_call_fails_at_random(acted: Acted) -> None:
    by_name = {condition.condition: condition for condition in acted.truth.conditions}
    assert by_name.keys() == {"python", "all", "flaky"}
    for name in ("python", "all"):
        assert by_name[name].expected.terms["sampling_noise"] == pytest.approx(0, abs=1e-9)
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
    assert causes["formless", "python"] <= {"format", "sampling_noise"}
    assert causes["untouched", "flaky"] <= {"sampling_noise"}
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


@pytest.mark.deep
def test_the_truth_is_that_of_the_scenarios_that_were_acted_out(acted: Acted, tmp_path: Path) -> None:
    scenarios = acted.store.parent.parent / "scenarios.jsonl"
    moved, other = tmp_path / "moved.jsonl", tmp_path / "other.jsonl"
    moved.write_bytes(scenarios.read_bytes())
    other.write_text(scenarios.read_text(encoding="utf-8").replace('"ignore_tools": 0.25', '"ignore_tools": 0.5'))
    with Store(acted.store) as opened:
        assert truth_of(opened, moved) == acted.truth
        with pytest.raises(
            InputError, match=r"other\.jsonl is not the file of scenarios that model 'acting' acted out"
        ):
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


# Why an answer is wrong: one draw put to the belief without one thing after another.


BARE = {"B": 0.8, "A": 0.15, "C": 0.05}


def caused(now: dict[str, float], no_tools: dict[str, float] | None = None, **without: dict[str, float]) -> Causes:
    return Causes("B", now, no_tools or BARE, without)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("found", "u", "cause"),
    [
        # Without the code the same draw is right.
        (caused({"B": 0.1, "A": 0.1, "C": 0.8}, lock_in=BARE), 0.5, "lock_in"),
        # The same draw is wrong without anything as well, which is rare.
        (caused({"B": 0.1, "A": 0.1, "C": 0.8}, lock_in=BARE), 0.9, "sampling_noise"),
        (caused({"B": 0.2, "A": 0.8}, {"B": 0.3, "A": 0.7}), 0.9, "own_error"),
        # Either alone would do: the one that moved more.
        (
            caused({"B": 0.1, "C": 0.9}, lock_in={"B": 0.7, "C": 0.3}, retrieval_distraction={"B": 0.8, "C": 0.2}),
            0.5,
            "retrieval_distraction",
        ),
        # Neither alone would do, both together would: the one that moved more.
        (
            caused({"B": 0.01, "C": 0.99}, lock_in={"B": 0.3, "C": 0.7}, retrieval_distraction={"B": 0.1, "C": 0.9}),
            0.5,
            "lock_in",
        ),
        # What moved the other way is no cause.
        (caused({"B": 0.5, "C": 0.5}, lock_in={"B": 0.1, "C": 0.9}, budget=BARE), 0.6, "budget"),
    ],
)
def test_the_cause_is_what_the_same_draw_would_be_right_without(found: Causes, u: float, cause: str) -> None:
    assert cause_at(found, u) == cause


def test_chances_are_those_of_all_draws_that_give_the_letter() -> None:
    found = caused(
        {"B": 0.2, "A": 0.3, "C": 0.5},
        lock_in={"B": 0.65, "A": 0.1, "C": 0.25},
        availability={"B": 0.55, "A": 0.4, "C": 0.05},
    )
    rng = random.Random(7)
    draws = [u for u in (rng.random() for _ in range(40_000)) if drawn(found.now, u) == "C"]
    seen = Counter(cause_at(found, u) for u in draws)
    computed = chances(found, "C")
    assert seen.keys() == computed.keys()
    assert all(seen[cause] / len(draws) == pytest.approx(chance, abs=0.02) for cause, chance in computed.items())


def setup(scenario: dict[str, Any], **condition: Any) -> ScenarioSetup:
    arm = Condition(name="python", **condition)
    return ScenarioSetup(
        scenario_of(scripts={"code": scenario}), "B", arm, {"code": Offer("python", "code")}, Outputs(())
    )


TWO_CELLS = {
    "turns": [{"calls": [call("code", "one")]}, {"calls": [call("code", "two")]}],
    "reactions": [
        {"kind": "code", "phrase": "seen", "moves": {"C": 3.0}},
        {"kind": "code", "when": "fail", "moves": {"A": 2.0}},
    ],
}


def fail(**options: Any) -> tuple[InterventionUse, ...]:
    return (InterventionUse(name="fail", options=options),)


def test_runs_of_calls_that_fail_at_random_have_the_probabilities_of_their_patterns() -> None:
    flaky = setup(TWO_CELLS, interventions=fail(rate=0.25))
    found = {tuple(made.broken for made in run.made): p for p, run in runs(flaky, Way(Budget()))}
    # Where the first call fails and the second works, all is as where both work but for what the phrase needs.
    assert sum(found.values()) == pytest.approx(1)
    assert found[True, True] == pytest.approx(0.0625)
    assert {run.fault for _, run in runs(flaky, Way(Budget()))} == {None, 0, 1}
    assert len(runs(flaky, Way(Budget(), fails=False))) == 1


@pytest.mark.parametrize(("calls", "broken"), [([1], [True, False]), ([2], [False, True])])
def test_the_calls_that_are_to_fail_are_counted_as_the_intervention_counts_them(
    calls: list[int], broken: list[bool]
) -> None:
    ((_, run),) = runs(setup(TWO_CELLS, interventions=fail(calls=calls)), Way(Budget()))
    assert [made.broken for made in run.made] == broken
    ((_, other),) = runs(setup(TWO_CELLS, interventions=fail(tools=["search"])), Way(Budget()))
    assert [made.broken for made in other.made] == [False, False]


def test_a_substitute_of_a_replay_leaves_to_chance_which_calls_fail_as_it_was() -> None:
    flaky = setup(TWO_CELLS, interventions=fail(rate=0.5))
    for trial in map(str, range(20)):
        draws = open_interventions(flaky.condition.interventions, InterventionSetting(seed=trial))
        failing = [random.Random(f"{draws[0].seed} {number}").random() < 0.5 for number in (1, 2)]
        for modes in ({}, {"code": "placebo"}):
            ((_, run),) = runs(flaky, Way(Budget(), modes=modes, trial=trial))  # type: ignore[arg-type]
            assert [made.broken for made in run.made] == failing


def test_of_calls_that_no_trial_made_the_last_alone_holds_what_is_waited_for() -> None:
    last_fails = setup(TWO_CELLS, interventions=fail(calls=[2]))
    ((_, run),) = runs(last_fails, Way(Budget()))
    assert last_fails.believed(run)["C"] < 0.3
    ((_, sound),) = runs(last_fails, Way(Budget(), fails=False))
    assert [made.output for made in sound.made] == ["", "seen"]


@pytest.mark.parametrize(
    ("budget", "turns", "made", "limit"),
    [
        (Budget(), 2, 2, None),
        (Budget(turns=3), 2, 2, None),
        (Budget(turns=2), 2, 2, "turns"),
        (Budget(turns=1), 1, 1, "turns"),
        (Budget(tool_calls=1), 2, 1, "tool_calls"),
        (Budget(tool_calls=2), 2, 2, None),
    ],
)
def test_a_budget_ends_a_run_where_the_agent_would(budget: Budget, turns: int, made: int, limit: str | None) -> None:
    ((_, run),) = runs(setup(TWO_CELLS), Way(budget))
    assert (run.turns, len(run.made), run.limit) == (turns, made, limit)


def test_causes_take_away_one_thing_each() -> None:
    short = setup(TWO_CELLS | {"offered": {"A": 0.5}, "called": {"D": 0.5}}, budget=Budget(turns=1))
    run = ScenarioRun(1, (Made("code", "one", "nothing"),), "turns")
    found = causes(short, run, "trial")
    assert list(found.without) == ["budget", "calling", "availability"]
    assert found.without["budget"]["C"] > found.now["C"]
    assert found.without["calling"]["D"] < found.now["D"]
    broken = ScenarioRun(2, (Made("code", "one", "nothing"), Made("code", "two", "This call failed: x", broken=True)))
    assert list(causes(short, broken, "trial").without) == ["tool_fault", "calling", "availability"]


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        (Condition(name="c", interventions=(InterventionUse(name="noise"),)), "the intervention 'noise'"),
        (Condition(name="c", budget=Budget(tokens=100)), "a limit of tokens or cost_usd"),
    ],
)
def test_conditions_without_a_closed_form_are_refused(condition: Condition, said: str) -> None:
    with pytest.raises(InputError, match=rf"condition 'c' has {said}, under which no truth can be computed"):
        refuse_unknown(condition)


def test_scenarios_are_part_of_what_a_model_is(tmp_path: Path) -> None:
    plan = write_plan(tmp_path)
    (before,) = load_plan(plan)[0].models
    assert isinstance(before, SimulatedModel)
    assert before.scenarios == str(tmp_path / "scenarios.jsonl")
    scenarios = tmp_path / "scenarios.jsonl"
    scenarios.write_text(scenarios.read_text(encoding="utf-8").replace('"loses_format": 0.4', '"loses_format": 0.5'))
    (after,) = load_plan(plan)[0].models
    assert before.identity() != after.identity()
    scenarios.unlink()
    with pytest.raises(InputError, match=r"models: acting: cannot read .*scenarios\.jsonl"):
        load_plan(plan)
