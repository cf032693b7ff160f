"""What a label by replay says, and the levels that it goes by."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from tests.analysis.attribution.cases import CELL, FLAKY, PAGE, REPLY, World, evidence, steady, truth, worlds
from tests.analysis.attribution.stories import asked, ended, ran, read, right, searched, told, wrong

from toolablate.analysis.attribution.belief import belief_steps
from toolablate.analysis.attribution.decomposition import Arms, Replay, Scores, ToolKind
from toolablate.analysis.attribution.evidence import KINDS, Evidence, PivotalResult
from toolablate.analysis.attribution.replay_rules import LevelTally, attribute_by_replay, blame, chains, drawn_chances
from toolablate.analysis.attribution.trace_rules import NoToolTrial
from toolablate.analysis.pairing import mean
from toolablate.analysis.shapley import ShapleyEstimate
from toolablate.traces.records import Attribution, Diagnosis, Event, Mechanism, Question, SpansTarget

NONE: frozenset[ToolKind] = frozenset()
SEARCH: frozenset[ToolKind] = frozenset({"search"})
BOTH: frozenset[ToolKind] = frozenset({"search", "code"})


def drawn(name: str, high: float = 1.0, low: float = 0.0) -> Evidence:
    (world,) = [each for each in worlds(high, low) if each.name == name]
    return evidence(world, np.random.default_rng(0))


def of_own_tool(believed: list[float]) -> Evidence:
    own = told(asked("almanac", word="gas"), "no entry")
    after = dict.fromkeys(("swapped", "offered", "none"), 1.0)
    world = World("own", [*own, *REPLY], believed, {"again": 0.0, "repaired": 0.0, **after}, kind="other")
    return evidence(world, np.random.default_rng(0))


BOTH_SWAPPED: dict[frozenset[ToolKind], Scores] = {
    frozenset({"code"}): (1.0,) * 8,
    frozenset({"search"}): (0.0,) * 8,
    frozenset({"code", "search"}): (1.0,) * 8,
}


def of_two_kinds(each: Evidence, events: Sequence[Event], swapped: dict[frozenset[ToolKind], Scores]) -> Evidence:
    """Where no fall of the belief was found."""
    signals = read(*events)
    tools = frozenset(KINDS[call.form] for call in signals.calls)
    replay = Replay((0.0,), (0.0,) * 8, {NONE: (0.0,) * 8, **swapped})
    inputs = replace(each.inputs, tools=tools, arms=Arms(none=(1.0,) * 3), replay=replay)
    return replace(each, signals=signals, flip=None, steps=belief_steps(events), inputs=inputs)


def label(each: Evidence) -> Attribution:
    found = attribute_by_replay(each)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("name", "mechanism", "turned_at", "events"),
    [
        ("search", "retrieval_distraction", 1, (1,)),
        ("code", "lock_in", 1, (1,)),
        ("commits", "lock_in", 0, (0, 1)),
        ("calling", "calling", 0, (0, 1)),
        ("fault", "tool_fault", 1, (1,)),
        ("budget", "budget", None, (3,)),
        ("availability", "availability", None, (0,)),
    ],
)
def test_each_mechanism_is_told_with_the_events_that_speak_for_it(
    name: str, mechanism: str, turned_at: int | None, events: tuple[int, ...]
) -> None:
    found = label(drawn(name))
    assert (found.mechanism, found.method, found.turned_at, found.evidence) == (mechanism, "replay", turned_at, events)
    assert found.confidence > 0.8
    assert "3 of 3 trials without tools are right" in found.note


def test_what_is_right_or_was_not_replayed_has_no_label() -> None:
    each = drawn("search")
    assert attribute_by_replay(replace(each, score=right())) is None
    assert attribute_by_replay(replace(each, inputs=replace(each.inputs, replay=None))) is None
    question = Question(id="s", prompt="How much was it?", target=SpansTarget(spans=("$2.7 million",)))
    assert attribute_by_replay(replace(each, signals=read(*CELL, *ended("[2700000]"), question=question))) is None


def test_noise_and_own_errors_are_told_apart_by_the_question_without_tools() -> None:
    rng = np.random.default_rng(1)
    assert label(evidence(steady(0.9, "search"), rng)).mechanism == "sampling_noise"
    assert label(evidence(steady(0.0, "search"), rng)).mechanism == "own_error"


def test_a_lost_format_is_as_sure_as_the_answers_that_were_asked_for_again() -> None:
    each = replace(drawn("search"), score=wrong("unparsed"))
    lost = label(replace(each, re_asked=(1.0,) * 8))
    assert (lost.mechanism, lost.confidence) == ("format", pytest.approx(8.5 / 9, abs=1e-4))
    assert label(replace(each, re_asked=(0.0,) * 8)).mechanism == "retrieval_distraction"
    assert label(each).mechanism == "retrieval_distraction"


def test_the_shares_of_blame_sum_to_one() -> None:
    rng = np.random.default_rng(2)
    for world in (*worlds(0.8, 0.3), steady(0.6, "code"), steady(0.6, None)):
        each = replace(evidence(world, rng), score=wrong("unparsed"), re_asked=(1.0, 0.0, 0.0))
        assert sum(blame(each).values()) == pytest.approx(1)


def test_of_both_tools_the_one_whose_results_restore_it_is_blamed() -> None:
    each = drawn("search")
    signals = read(*PAGE, *CELL, *ended("Answer: B"))
    for harming, mechanism in (("search", "retrieval_distraction"), ("code", "lock_in")):
        rollouts = {NONE: (0.0,) * 4, BOTH: (1.0,) * 4} | {
            frozenset({kind}): (float(kind == harming),) * 4 for kind in BOTH
        }
        inputs = replace(each.inputs, tools=BOTH, replay=Replay((0.0,), (0.0,), rollouts))
        found = label(replace(each, signals=signals, inputs=inputs, trajectory=None, flip=None))
        assert (found.mechanism, found.turned_at) == (mechanism, None)
        assert found.evidence == ((1,) if harming == "search" else (3,))


def test_levels_without_runs_hand_on_what_they_would_have_shown() -> None:
    each = drawn("search")
    assert [level.part for level in chains(each)[0]] == [
        *("again", "again", "search", "first_reply", "calling", "calling", "calling", "availability"),
    ]
    alone = replace(
        each,
        trajectory=None,
        inputs=replace(each.inputs, arms=Arms(none=(1.0,) * 3), replay=Replay((0.0,), (0.0,), {NONE: (0.0,) * 4})),
    )
    assert [level.part for level in chains(alone)[0]] == ["again", "search"]


def test_runs_that_go_on_from_the_one_result_count_at_their_level() -> None:
    each = replace(drawn("search"), pivotal=PivotalResult(1, (0.0,) * 4, (1.0,) * 4))
    tallies = [level.tally for level in chains(each)[0]]
    assert tallies[1:4] == [LevelTally(8, 0.0), LevelTally(4, 4.0), LevelTally(4, 4.0)]
    stopped = drawn("budget")
    assert chains(replace(stopped, pivotal=each.pivotal)) == chains(stopped)


def test_of_a_limit_and_a_fault_the_one_whose_removal_restores_it_first_is_blamed() -> None:
    each = drawn("fault")
    signals = read(*FLAKY, *ended("Answer: B", "turns"))
    for extended, mechanism in ((1.0, "budget"), (0.0, "tool_fault")):
        replayed = replace(each.inputs.replay or Replay(), extended=(extended,) * 4)
        found = label(replace(each, signals=signals, inputs=replace(each.inputs, replay=replayed)))
        assert found.mechanism == mechanism


def test_code_whose_results_do_not_matter_is_a_lock_in_only_where_setting_it_aside_brings_the_answer_back() -> None:
    each = drawn("commits")
    assert label(replace(each, ignore_tools=(0.0,) * 8)).mechanism == "calling"
    assert label(replace(each, flip=None)).mechanism == "lock_in"
    assert label(replace(each, flip=None, ignore_tools=(0.0,) * 8)).mechanism == "calling"


def test_code_that_says_nothing_of_the_answer_is_a_call_like_any_other() -> None:
    each = drawn("commits")
    idle = read(*ran("print('ok')", "ok"), *ended("Answer: B"))
    assert label(replace(each, signals=idle)).mechanism == "calling"
    assert label(replace(each, signals=idle, flip=None)).mechanism == "calling"


def test_results_of_a_tool_of_ones_own_are_no_search() -> None:
    found = label(replace(of_own_tool([1.0, 1.0, 0.0]), trajectory=None, flip=None))
    assert (found.mechanism, found.distraction) == ("other_results", None)


@pytest.mark.parametrize(("said", "mechanism"), [(1.0, "other_results"), (0.0, "calling")])
def test_without_placebos_what_is_said_before_the_first_result_tells_what_was_given_from_that_it_was_called(
    said: float, mechanism: str
) -> None:
    each = of_own_tool([1.0, said, 0.0])
    inputs = replace(each.inputs, arms=Arms(none=(1.0,) * 3), replay=Replay((0.0,), (0.0,), {NONE: (0.0,) * 4}))
    found = label(replace(each, inputs=inputs))
    assert (found.mechanism, found.confidence > 0.8) == (mechanism, True)


@pytest.mark.parametrize(("said", "mechanism"), [(1.0, "other_results"), (0.0, "calling")])
def test_a_call_that_was_refused_before_gives_no_result_to_be_told_from(said: float, mechanism: str) -> None:
    again = dict.fromkeys(("again", "repaired", "swapped"), 0.0)
    calls = [*told(asked("almanac"), "word?", status="invalid"), *told(asked("almanac", word="gas"), "no entry")]
    world = World(
        "own", [*calls, *REPLY], [1.0, 1.0, 1.0, said, 0.0], {**again, "offered": 1.0, "none": 1.0}, kind="other"
    )
    each = evidence(world, np.random.default_rng(0))
    inputs = replace(each.inputs, arms=Arms(none=(1.0,) * 3), replay=Replay((0.0,), (0.0,), {NONE: (0.0,) * 4}))
    assert label(replace(each, inputs=inputs)).mechanism == mechanism


def test_calls_that_were_all_refused_are_calls_and_no_chance() -> None:
    each = drawn("calling")
    refused = read(*told(asked("calculator"), "there is no such tool", status="invalid"), *REPLY)
    inputs = replace(
        each.inputs, tools=NONE, arms=Arms(none=(1.0,) * 3), replay=Replay((0.0,), (0.0,), {NONE: (0.0,) * 8})
    )
    assert label(replace(each, signals=refused, inputs=inputs)).mechanism == "calling"


def test_code_that_only_failed_by_its_own_doing_is_no_lock_in() -> None:
    each = drawn("code")
    raised = "-" * 75 + "\nModuleNotFoundError                       Traceback (most recent call last)"
    for printed, mechanism in (("", "calling"), ("B\n", "lock_in")):
        code = ran("print('B'); import none", printed + raised, status="error", error="ModuleNotFoundError")
        assert label(replace(each, signals=read(*code, *REPLY))).mechanism == mechanism


@pytest.mark.parametrize(("error", "mechanism"), [("timeout", "calling"), ("", "lock_in")])
def test_a_search_that_failed_does_not_make_code_that_gave_nothing_a_lock_in(error: str, mechanism: str) -> None:
    each = drawn("code")
    code = ran("import none", "-" * 75 + "\nModuleNotFoundError", status="error", error="ModuleNotFoundError")
    spoiled = searched("gas", "no answer", status="error", error="timeout")
    events = [*code, *spoiled, *REPLY] if error else [*CELL, *spoiled, *REPLY]
    assert label(of_two_kinds(each, events, BOTH_SWAPPED)).mechanism == mechanism


def test_of_two_kinds_of_tools_one_without_placebos_is_named_by_what_the_other_does_not_restore() -> None:
    each = of_own_tool([1.0, 1.0, 0.0])
    events = [*CELL, *told(asked("almanac", word="gas"), "an entry"), *REPLY]
    found = label(of_two_kinds(each, events, {frozenset({"code"}): (0.0,) * 8}))
    assert (found.mechanism, found.confidence > 0.7) == ("other_results", True)


def test_results_that_are_worth_less_than_nothing_are_the_evidence_where_no_fall_was_found() -> None:
    each = drawn("search")
    signals = read(*PAGE, *PAGE, *ended("Answer: C"))
    shapley = {1: ShapleyEstimate(0.1, None), 3: ShapleyEstimate(-0.8, None)}
    assert label(replace(each, signals=signals, flip=None, shapley=shapley)).evidence == (3,)
    assert label(replace(each, signals=signals, flip=None)).evidence == (1, 3)


def test_how_retrieval_drew_it_away_is_by_judges_then_by_its_argument_then_by_where_the_answer_stands() -> None:
    each = drawn("search")
    assert label(each).distraction == "misleading_adoption"
    said = "The page describes nitrogen, so plants should take it in as the recommended way. Answer: B"
    hinted = replace(each, signals=read(*PAGE, *ended(said)))
    assert label(hinted).distraction == "existence_as_norm"
    short = NoToolTrial(read(*ended("Answer: A")), right())
    assert label(replace(hinted, no_tools=(short, short))).distraction == "over_engineering"
    judged = Diagnosis(trial="t", judge="j", error_type=None, distraction="misleading_adoption")
    assert label(replace(hinted, diagnoses=(judged,))).distraction == "misleading_adoption"
    plain = replace(each, signals=read(*PAGE, *ended("It takes many more words than that to say so. Answer: C")))
    assert label(plain).distraction is None
    assert label(replace(plain, no_tools=(short, short))).distraction == "over_engineering"
    assert label(drawn("code")).distraction is None


def test_levels_are_pooled_unless_runs_on_both_sides_differ() -> None:
    alike = drawn_chances([LevelTally(4, 3.0), LevelTally(4, 2.0), LevelTally(4, 3.0), LevelTally(4, 2.0)], [0.1] * 3)
    assert np.ptp(alike.mean(axis=0)) < 0.1
    apart = drawn_chances([LevelTally(8, 0.0), LevelTally(4, 0.0), LevelTally(4, 4.0), LevelTally(8, 8.0)], [0.1] * 3)
    assert apart.mean(axis=0) == pytest.approx([0.04, 0.04, 0.96, 0.96], abs=0.03)
    (single,) = drawn_chances([LevelTally(3, 3.0)], [], draws=20_000).mean(axis=0)
    assert single == pytest.approx(3.5 / 4, abs=0.01)


def test_what_was_asked_of_other_trials_before_anything_was_called_tells_an_offer_from_a_hard_question() -> None:
    each = drawn("availability")
    arms = Arms(none=(1.0, 1.0, 1.0, 0.0), offered=(1.0, 0.0, 0.0))
    each = replace(each, inputs=replace(each.inputs, arms=arms), trajectory=None)
    alone, others = blame(each), blame(replace(each, outset=(0.0,) * 15 + (1.0,)))
    assert others["availability"] > 2 * alone["availability"]
    assert (label(each).mechanism, label(replace(each, outset=(0.0,) * 15 + (1.0,))).mechanism) == (
        "sampling_noise",
        "availability",
    )
    called = drawn("calling")
    assert [level.tally.runs for level in chains(replace(called, outset=(1.0,) * 8))[0] if level.part == "calling"] == [
        *(level.tally.runs for level in chains(called)[0][:-2] if level.part == "calling"),
        3 + 8,
    ]


def test_the_conditions_words_are_told_from_the_offer_of_tools_where_an_arm_has_them_alone() -> None:
    each = drawn("availability")
    worded = replace(
        each, signals=replace(each.signals, prompted=True), trajectory=None, outset=(0.0,) * 9 + (1.0,) * 3
    )
    arms = Arms(none=(1.0,) * 3, scaffold=(0.0, 1.0, 0.0))
    assert label(replace(worded, inputs=replace(each.inputs, arms=arms))).mechanism == "prompt"
    alone = label(replace(worded, inputs=replace(each.inputs, arms=Arms(none=(1.0,) * 3))))
    assert (alone.mechanism, "which no arm tells apart" in alone.note) == ("availability", True)


# How often labels by replay are right, and how sure they should be, where the truth is known.


BY_TOOLS = frozenset({"retrieval_distraction", "lock_in", "calling", "tool_fault", "budget", "availability", "prompt"})


def labelled(world: World, rng: np.random.Generator) -> Attribution:
    found = attribute_by_replay(evidence(world, rng))
    assert found is not None
    assert found.method == "replay"
    return found


def wrong_draw(world: World, rng: np.random.Generator) -> float:
    return float(rng.uniform(world.believed[-1], 1))


@pytest.fixture(scope="module")
def judged() -> list[tuple[World, Mechanism, Attribution]]:
    """Trials of every world, of weak causes and strong ones, and of none."""
    rng = np.random.default_rng(5)
    found = []
    for _ in range(60):
        chosen = worlds(float(rng.uniform(0.7, 0.97)), float(rng.uniform(0.02, 0.35)))
        chosen += [steady(float(rng.uniform(0.55, 0.85)), kind) for kind in ("search", "code", None)]
        chosen += [steady(float(rng.uniform(0.03, 0.4)), kind) for kind in ("search", "code", None)]
        found += [(world, truth(world, wrong_draw(world, rng)), labelled(world, rng)) for world in chosen]
    return found


@pytest.mark.deep
def test_the_right_mechanism_is_named_in_most_trials_of_each_kind(
    judged: list[tuple[World, Mechanism, Attribution]],
) -> None:
    right: dict[Mechanism, list[float]] = defaultdict(list)
    for _, mechanism, label in judged:
        right[mechanism].append(float(label.mechanism == mechanism))
    rates = {mechanism: mean(each) for mechanism, each in right.items() if len(each) >= 20}
    assert {
        "retrieval_distraction",
        "lock_in",
        "tool_fault",
        "budget",
        "availability",
        "calling",
        "sampling_noise",
        "own_error",
    } == rates.keys()
    assert min(rates.values()) >= 0.6, rates
    assert mean(list(rates.values())) >= 0.75, rates


def test_pure_noise_is_seldom_blamed_on_tools(judged: list[tuple[World, Mechanism, Attribution]]) -> None:
    noisy = [
        label.mechanism
        for world, mechanism, label in judged
        if world.name == "steady" and mechanism == "sampling_noise"
    ]
    assert len(noisy) > 100
    blamed = Counter(noisy)
    assert sum(blamed[mechanism] for mechanism in BY_TOOLS) <= 0.1 * len(noisy), blamed


def test_confidences_are_the_shares_that_are_right(judged: list[tuple[World, Mechanism, Attribution]]) -> None:
    bins: dict[int, list[tuple[float, float]]] = defaultdict(list)
    for _, mechanism, label in judged:
        bins[min(int(5 * label.confidence), 4)].append((label.confidence, float(label.mechanism == mechanism)))
    errors = [
        len(each) / len(judged) * abs(mean([sure for sure, _ in each]) - mean([right for _, right in each]))
        for each in bins.values()
    ]
    assert sum(errors) <= 0.1, bins.keys()
