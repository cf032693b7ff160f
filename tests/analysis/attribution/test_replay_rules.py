"""What a label by replay says, and the levels that it goes by."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import beta
from tests.analysis.attribution.cases import CELL, FLAKY, PAGE, REPLY, World, evidence, steady, worlds
from tests.analysis.attribution.stories import asked, ended, ran, read, right, searched, told, wrong

from toolablate.analysis.attribution.belief import Probe, belief_steps, trajectory
from toolablate.analysis.attribution.change_rates import ChangeRates, FittedRate, Step, prior_rate
from toolablate.analysis.attribution.decomposition import Arms, Replay, Scores, ToolKind
from toolablate.analysis.attribution.evidence import KINDS, Evidence, PivotalResult, decomposition_signals
from toolablate.analysis.attribution.fall_search import fall_prior, likeliest_fall
from toolablate.analysis.attribution.forced_answers import Forcing
from toolablate.analysis.attribution.level_chances import FIRST_LOW, LevelTally, changed, drawn_chances
from toolablate.analysis.attribution.levels import (
    BOTH_PLACEBOS,
    LAST_REPLY,
    SHORT_ELSEWHERE,
    SWAPPED_ELSEWHERE,
    chains,
    swapped_results,
)
from toolablate.analysis.attribution.replay_rules import attribute_by_replay, before_runs, blame, next_level, stepped
from toolablate.analysis.attribution.sequential import HIGH, LOW
from toolablate.analysis.attribution.trace_rules import NoToolTrial
from toolablate.analysis.shapley import ShapleyEstimate
from toolablate.traces.records import (
    Attribution,
    Diagnosis,
    Event,
    Limit,
    Question,
    ReplayPurpose,
    SpansTarget,
)

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
    assert (lost.mechanism, lost.confidence) == ("format", pytest.approx(8.1 / 8.2, abs=1e-4))
    assert label(replace(each, re_asked=(0.0,) * 8)).mechanism == "retrieval_distraction"
    assert label(each).mechanism == "retrieval_distraction"


def test_a_right_option_named_by_its_place_is_what_asking_again_says() -> None:
    each = replace(drawn("search"), score=wrong("unparsed"), signals=read(*PAGE, *ended("I take the first option.")))
    assert each.signals.misstated
    assert label(replace(each, re_asked=(1.0,) * 8)).mechanism == "format"
    assert attribute_by_replay(replace(each, score=wrong())) is None


def test_the_shares_of_blame_sum_to_one() -> None:
    rng = np.random.default_rng(2)
    for world in (*worlds(0.8, 0.3), steady(0.6, "code"), steady(0.6, None)):
        each = replace(evidence(world, rng), score=wrong("unparsed"), re_asked=(1.0, 0.0, 0.0))
        assert sum(blame(each).values()) == pytest.approx(1)


def test_before_its_runs_a_cause_is_as_probable_as_its_rate_makes_it_whatever_the_runs_say() -> None:
    harmed = drawn("search")
    replay = harmed.inputs.replay
    assert replay is not None
    right = replace(replay, rollouts={kinds: (1.0,) * len(scores) for kinds, scores in replay.rollouts.items()})
    all_right = replace(harmed, inputs=replace(harmed.inputs, replay=right))
    before = before_runs(harmed, ChangeRates())
    assert sum(before.values()) == pytest.approx(1)
    assert before == before_runs(all_right, ChangeRates())
    assert blame(harmed) != blame(all_right)
    step = ("search", "at_the_fall")
    rare = ChangeRates(store={step: FittedRate(step, 0.5, 0.01, 50, 50)})
    assert before_runs(harmed, rare)["retrieval_distraction"] < before["retrieval_distraction"] / 5


def test_before_its_runs_neither_of_two_tools_is_likelier_by_what_its_runs_say() -> None:
    events = (*searched("gas", "nitrogen"), *ran("1 + 1", "2"), *ended("Answer: B"))
    each = drawn("search")
    code_first = {frozenset({"code"}): (0.0,) * 8, frozenset({"search"}): (1.0,) * 8, BOTH: (1.0,) * 8}
    one, other = (of_two_kinds(each, events, swapped) for swapped in (BOTH_SWAPPED, code_first))
    assert blame(one) != blame(other)
    assert before_runs(one, ChangeRates()) == pytest.approx(before_runs(other, ChangeRates()))


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


@pytest.mark.parametrize(
    ("code", "search", "both", "mechanism"),
    [
        (0.0, 0.0, 1.0, "interaction"),
        (1.0, 1.0, 1.0, "interaction"),
        (1.0, 0.0, 1.0, "lock_in"),
        (0.0, 1.0, 1.0, "retrieval_distraction"),
    ],
    ids=["either suffices", "both are needed", "code alone", "search alone"],
)
@pytest.mark.parametrize("runs", [2, 8])
def test_where_both_tools_took_part_it_is_their_interaction(
    code: float, search: float, both: float, mechanism: str, runs: int
) -> None:
    kinds: dict[frozenset[ToolKind], float] = {frozenset({"code"}): code, SEARCH: search, BOTH: both}
    swapped = {kind: (score,) * runs for kind, score in kinds.items()}
    found = label(of_two_kinds(drawn("search"), [*PAGE, *CELL, *REPLY], swapped))
    assert found.mechanism == mechanism
    if mechanism == "interaction":
        told = (
            f"search x code: {search * runs:g} of {runs} right without search, {code * runs:g} of {runs} right without"
            f" code, {both * runs:g} of {runs} right without search and code"
        )
        assert told in found.note
        # That either tool did it alone is likelier before anything is seen, and two runs do not rule it out.
        assert (found.confidence >= 0.85) == (runs == 8)
        assert found.evidence == (1, 3)
        assert found.shares["lock_in"] == pytest.approx(found.shares["retrieval_distraction"], abs=0.02)
    else:
        assert "search x code" not in found.note


def test_one_kind_of_tool_interacts_with_nothing() -> None:
    assert all("interaction" not in blame(drawn(world.name)) for world in worlds(0.8, 0.2))
    # Nor do two of which one has no placebos: what leaving it out alone does is not known.
    swapped: dict[frozenset[ToolKind], Scores] = {SEARCH: (1.0,) * 8}
    assert "interaction" not in blame(of_two_kinds(drawn("search"), [*PAGE, *CELL, *REPLY], swapped))


@pytest.mark.parametrize("name", ["search", "budget", "availability"])
def test_a_label_has_the_shares_of_all_that_is_likelier_than_a_hundredth(name: str) -> None:
    each = drawn(name, 0.8, 0.2)
    found, shares = label(each), blame(replace(each, flip=likeliest_fall(each, blame(each))))
    assert found.shares == {mechanism: round(share, 4) for mechanism, share in shares.items() if share >= 0.01}
    assert found.shares[found.mechanism] == found.confidence == max(found.shares.values())
    assert 0.95 <= sum(found.shares.values()) <= 1.001


@pytest.mark.parametrize("name", ["search", "code"])
def test_a_label_goes_by_the_fall_that_its_page_shows_and_not_by_early_answers_alone(name: str) -> None:
    each = drawn(name, 0.8, 0.2)
    shown = likeliest_fall(each, blame(each))
    assert shown is not None
    assert (
        label(replace(each, flip=None)).shares[label(each).mechanism]
        > blame(replace(each, flip=None))[label(each).mechanism]
    )


def test_counts_of_corrected_answers_are_told_as_they_were_asked_for() -> None:
    """Where the level that restores it is of forced answers: as many as there were, and no fractions."""
    each = drawn("calling")
    arms = replace(each.inputs.arms, offered=(), scaffold=(), none=(0.0,) * 3)
    found = label(replace(each, inputs=replace(each.inputs, arms=arms)))
    assert (found.mechanism, found.note.partition(";")[0]) == (
        "calling",
        "right without the calls, whatever their results: 8 of 8 right asked for its answer before any call",
    )


@pytest.mark.parametrize(("short", "mechanism"), [(1.0, "volume"), (0.0, "calling")])
def test_what_short_results_restore_is_the_volume_of_results(short: float, mechanism: str) -> None:
    page = searched("gas", "1. Plants\n   " + "They take molecular nitrogen from the air. " * 500)
    wrong_before = dict.fromkeys(("again", "repaired", "swapped"), 0.0)
    chances = {**wrong_before, "short": short, "sham": short, "offered": 1.0, "none": 1.0}
    long = evidence(World("volume", [*page, *REPLY], [1.0, 1.0, 0.0], chances, kind="search"), np.random.default_rng(0))
    # The placebo arm has long results.
    arms = replace(long.inputs.arms, placebo=(0.0,) * 3)
    long = replace(long, inputs=replace(long.inputs, arms=arms))
    assert [level.part for level in chains(long, Forcing())[0]][:5] == [
        "again",
        "again",
        "search",
        "first_reply",
        "volume",
    ]
    found = label(long)
    assert (found.mechanism, found.evidence) == (mechanism, (1,))
    # To leave a long result out takes away both what it says and its length.
    without = replace(long, pivotal=PivotalResult(1, (0.0,) * 4, (short,) * 4))
    assert [level.part for level in chains(without, Forcing())[0]] == [
        level.part for level in chains(long, Forcing())[0]
    ]
    assert label(without).mechanism == mechanism
    assert ("4 of 4 right" in found.note) == (mechanism == "volume")
    swapped = replace(long.inputs.replay or Replay(), rollouts={NONE: (0.0,) * 4, SEARCH: (1.0,) * 4})
    content = label(replace(long, inputs=replace(long.inputs, replay=replace(swapped, short=(1.0,) * 4))))
    assert content.mechanism == "retrieval_distraction"


@pytest.mark.parametrize("arm", [0.0, 1.0])
def test_long_results_of_another_question_tell_content_from_volume_in_the_arm_and_in_other_trials_too(
    arm: float,
) -> None:
    page = searched("gas", "1. Plants\n   " + "They take molecular nitrogen from the air. " * 500)
    chances = {"again": 0.0, "repaired": 0.0, "swapped": 1.0, "short": 1.0, "sham": 1.0, "offered": 1.0, "none": 1.0}
    long = evidence(World("volume", [*page, *REPLY], [1.0, 1.0, 0.0], chances, kind="search"), np.random.default_rng(0))
    # Its own run with long ones is one, and may be right by chance.
    once = replace(long.inputs.replay or Replay(), rollouts={NONE: (0.0,) * 4, SEARCH: (1.0,)}, short=(1.0,) * 2)
    arms = replace(long.inputs.arms, placebo=(arm,) * 2)
    shares = blame(replace(long, inputs=replace(long.inputs, replay=once, arms=arms), swapped=(arm,) * 2))
    likelier = "retrieval_distraction" if arm else "volume"
    assert max(shares, key=lambda each: shares[each]) == likelier


def test_levels_without_runs_hand_on_what_they_would_have_shown() -> None:
    each = drawn("search")
    assert [level.part for level in chains(each, Forcing())[0]] == [
        *("again", "again", "search", "first_reply", "calling", "calling", "calling", "availability"),
    ]
    alone = replace(
        each,
        trajectory=None,
        inputs=replace(each.inputs, arms=Arms(none=(1.0,) * 3), replay=Replay((0.0,), (0.0,), {NONE: (0.0,) * 4})),
    )
    assert [level.part for level in chains(alone, Forcing())[0]] == ["again", "search"]


def test_what_no_runs_tell_apart_is_shared() -> None:
    each = drawn("calling")
    arms = replace(each.inputs.arms, placebo=(), sham=(), offered=())
    untold = replace(each, trajectory=None, flip=None, inputs=replace(each.inputs, arms=arms))
    last = chains(untold, Forcing())[0][-1]
    assert (last.part, last.also) == ("first_reply", {"calling", "availability"})
    shares = blame(untold)
    assert max(shares, key=lambda name: shares[name]) == "calling"
    assert shares["calling"] == pytest.approx(2 * shares["availability"])
    assert shares["calling"] < 0.6
    # A fall of the belief tells.
    falls = replace(each, inputs=replace(each.inputs, arms=arms))
    assert all(not level.also for level in chains(falls, Forcing())[0] if level.part == "calling")


def test_runs_that_repair_and_draw_again_at_once_count_once() -> None:
    each = drawn("fault")
    assert [level.part for level in chains(each, Forcing())[0]][:3] == ["again", "tool_fault", "code"]
    later = read(*ran("1", "1"), *FLAKY, *ended("Answer: B"))
    assert "again" in [level.part for level in chains(replace(each, signals=later), Forcing())[0]][1:]


def test_runs_that_go_on_from_the_one_result_count_at_their_level() -> None:
    each = replace(drawn("search"), pivotal=PivotalResult(1, (0.0,) * 4, (1.0,) * 4))
    tallies = [level.tally for level in chains(each, Forcing())[0]]
    assert tallies[1:4] == [LevelTally(8, 0.0), LevelTally(4, 4.0), LevelTally(4, 4.0)]
    stopped = drawn("budget")
    assert chains(replace(stopped, pivotal=each.pivotal), Forcing()) == chains(stopped, Forcing())


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


@pytest.mark.parametrize(("limit", "locked_in"), [(None, True), ("turns", False)])
def test_a_limit_that_ran_out_is_no_lock_in_of_the_decomposition(limit: Limit | None, locked_in: bool) -> None:
    each = drawn("commits")
    signals = read(*CELL, *ended("Answer: B", limit))
    found = decomposition_signals(signals, each.steps, each.trajectory, each.flip, (1.0,) * 8)
    assert ("lock_in" in found) is locked_in


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


def test_code_that_a_failing_tool_never_ran_is_no_lock_in_whatever_it_would_give() -> None:
    each = drawn("code")
    code = ran("print('B')", "", status="error", error="injected_failure")
    assert label(replace(each, signals=read(*code, *REPLY))).shares.get("lock_in", 0.0) == 0.0


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


def test_a_call_that_failed_where_the_belief_falls_is_no_evidence_of_what_results_do() -> None:
    failed = searched("gas", "", status="error", error="search_failed")
    signals = read(*PAGE, *failed, *ended("Answer: B"))
    fell = trajectory(Probe(step, {"A": 8 * (step < 4), "B": 8 * (step == 4)}, 0, 8 * (step < 4)) for step in range(5))
    each = replace(drawn("search"), signals=signals, trajectory=fell, flip=None, steps=(0, 1, 2, 3, 4))
    found = label(each)
    assert (found.mechanism, found.turned_at) == ("retrieval_distraction", 3)
    assert found.evidence == (1,)


def test_results_that_are_worth_less_than_nothing_are_the_evidence_where_no_fall_was_found() -> None:
    each = drawn("search")
    signals = read(*PAGE, *PAGE, *ended("Answer: C"))
    shapley = {1: ShapleyEstimate(0.1, None), 3: ShapleyEstimate(-0.8, None)}
    each = replace(each, trajectory=None, flip=None)
    assert label(replace(each, signals=signals, shapley=shapley)).evidence == (3,)
    # Runs without both do not tell which of them did it; of one they do, and of one that has the answer the trace does.
    assert label(replace(each, signals=signals)).evidence == ()
    assert label(replace(each, signals=read(*PAGE, *ended("Answer: C")))).evidence == (1,)
    taken_up = read(*PAGE, *searched("gas", "Atomic hydrogen."), *ended("Answer: C"))
    assert label(replace(each, signals=taken_up)).evidence == (3,)


def test_by_volume_the_belief_falls_first_of_all_where_results_become_very_long() -> None:
    lengths = (3_000, 14_000, 14_000, 14_000)
    events = [*(each for chars in lengths for each in searched("gas", "plants " * (chars // 7))), *REPLY]
    known = replace(drawn("search"), signals=read(*events), steps=belief_steps(events), flip=None)
    by_volume, by_page = (fall_prior(known, {name: 1.0})[:-2] for name in ("volume", "other_results"))
    assert int(np.argmax(by_volume)) + 1 == 4
    assert by_volume[3] > 5 * max(by_volume[:3] + by_volume[4:])
    assert max(by_page) == min(by_page)


def test_between_two_ends_the_belief_falls_first_of_all_at_the_result_that_has_the_wrong_answer() -> None:
    answer = ran("g()", "molecular nitrogen")
    each, events = drawn("code"), [*ran("f()", "nothing yet"), *answer, *ran("h()", "nothing more"), *REPLY]
    ends = [Probe(step, {"A": good, "B": 4 - good}, 0, good) for step, good in ((0, 4), (6, 0))]
    known = replace(each, signals=read(*events), steps=belief_steps(events), flip=None)
    assert label(replace(known, trajectory=trajectory(ends))).turned_at == 3
    later = [*ends, Probe(4, {"A": 8}, 0, 8)]
    assert label(replace(known, trajectory=trajectory(later))).turned_at == 5
    assert label(replace(known, trajectory=trajectory([Probe(0, {"B": 4}, 0, 0), ends[1]]))).turned_at is None
    assert label(replace(known, trajectory=trajectory(ends[:1]))).turned_at is None


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
    assert apart.mean(axis=0) == pytest.approx([0.05, 0.05, 0.91, 0.91], abs=0.02)
    (single,) = drawn_chances([LevelTally(3, 3.0)], [], draws=20_000).mean(axis=0)
    # Three right of three: low or high, as likely as the two beta-binomials say.
    weights = [
        FIRST_LOW * beta(3 + LOW[0], LOW[1]) / beta(*LOW),
        (1 - FIRST_LOW) * beta(3 + HIGH[0], HIGH[1]) / beta(*HIGH),
    ]
    means = [(3 + good) / (3 + good + bad) for good, bad in (LOW, HIGH)]
    assert single == pytest.approx(np.average(means, weights=weights), abs=0.01)


def test_high_chances_are_much_alike_so_that_a_third_right_is_none_and_two_thirds_are() -> None:
    a_third, two_thirds = (changed([LevelTally(4, 0.0), LevelTally(6, right)], [0.1]).item() for right in (2.0, 4.0))
    assert a_third < 0.05
    assert two_thirds > 0.53


def test_replays_of_other_trials_without_their_results_count_beside_the_placebo_arm() -> None:
    each = drawn("search")
    arm, replay = each.inputs.arms.placebo, each.inputs.replay
    assert arm
    assert replay is not None

    def level(evidence: Evidence) -> tuple[str, LevelTally]:
        (levels,) = chains(evidence, Forcing())
        return next((each.what, each.tally) for each in levels if each.part == "first_reply")

    both = level(replace(each, swapped=(1.0, 0.0)))
    assert both == (BOTH_PLACEBOS, LevelTally(len(arm) + 2, sum(arm) + 1))
    no_arm = replace(each, inputs=replace(each.inputs, arms=replace(each.inputs.arms, placebo=())))
    assert level(replace(no_arm, swapped=(1.0, 0.0))) == (SWAPPED_ELSEWHERE, LevelTally(2, 1.0))
    # Placebos of the arm are as long as the results: they come before what takes length away, and short ones after it.
    long = replace(each, inputs=replace(each.inputs, replay=replace(replay, short=(1.0,))))
    (levels,) = chains(replace(long, swapped=(1.0, 0.0), shortened=(1.0,)), Forcing())
    parts = [each.part for each in levels]
    place = parts.index("volume")
    assert (levels[place - 1].what, levels[place - 1].tally) == both
    assert (levels[place + 1].what, levels[place + 1].tally) == (SHORT_ELSEWHERE, LevelTally(1, 1.0))
    assert parts.count("first_reply") == 2


def test_what_was_asked_of_other_trials_before_anything_was_called_tells_an_offer_from_a_hard_question() -> None:
    each = drawn("availability")
    arms = Arms(none=(1.0, 1.0, 1.0, 0.0), offered=(1.0, 0.0, 0.0))
    each = replace(each, inputs=replace(each.inputs, arms=arms, replay=Replay()), trajectory=None)
    alone, others = blame(each), blame(replace(each, outset=(0.0,) * 15 + (1.0,)))
    assert others["availability"] > 1.5 * alone["availability"]
    assert label(each).confidence < 0.5
    assert label(replace(each, outset=(0.0,) * 15 + (1.0,))).mechanism == "availability"


def test_before_any_call_a_trial_is_in_one_state_with_its_other_repeats() -> None:
    """What all were asked there is one level: no cause lies between them."""
    called = drawn("calling")
    alone, others = chains(called, Forcing())[0], chains(replace(called, outset=(1.0,) * 8), Forcing())[0]
    assert [level.part for level in alone] == [level.part for level in others]
    more = [other.tally.runs - own.tally.runs for own, other in zip(alone, others, strict=True)]
    assert sorted(more) == [0] * (len(more) - 1) + [8]
    assert others[more.index(8)].what == "asked for its answer before any call, here or in its other repeats"
    bare = replace(called.inputs, tools=frozenset(), replay=Replay())
    uncalled = replace(called, signals=replace(called.signals, calls=()), inputs=bare, steps=(0,), flip=None)
    (first, *_), *_ = chains(replace(uncalled, outset=(1.0,) * 8), Forcing())
    assert first.tally.runs == chains(uncalled, Forcing())[0][0].tally.runs + 8


def test_the_conditions_words_are_told_from_the_offer_of_tools_where_an_arm_has_them_alone() -> None:
    each = drawn("availability")
    worded = replace(
        each, signals=replace(each.signals, prompted=True), trajectory=None, outset=(0.0,) * 9 + (1.0,) * 3
    )
    arms = Arms(none=(1.0,) * 3, scaffold=(0.0, 1.0, 0.0))
    assert label(replace(worded, inputs=replace(each.inputs, arms=arms))).mechanism == "prompt"
    alone = label(replace(worded, inputs=replace(each.inputs, arms=Arms(none=(1.0,) * 3))))
    assert (alone.mechanism, "which no arm tells apart" in alone.note) == ("availability", True)


def test_a_first_reply_decides_less_often_where_the_belief_falls_once_results_are_there() -> None:
    def steps(each: Evidence) -> set[Step]:
        return {step for joint, _ in stepped(each, Forcing()).orders for (step,) in joint if step[0] == "first_reply"}

    fallen = replayed((0.0,) * 8, (0.0,) * 8)
    assert steps(fallen) == {("first_reply", "elsewhere")}
    assert steps(replace(fallen, flip=None)) == {("first_reply", "")}
    assert prior_rate(("first_reply", "elsewhere")) < prior_rate(("first_reply", ""))
    assert blame(fallen)["sampling_noise"] < blame(replace(fallen, flip=None))["sampling_noise"]


# Which level is replayed next.


NO_RATES = ChangeRates()


def one_run(_: ReplayPurpose) -> float:
    return 1.0


def replayed(again: Scores, swapped: Scores) -> Evidence:
    """Of a search whose results drew the belief away, where no arm had placebos."""
    each = drawn("search")
    arms = replace(each.inputs.arms, placebo=(), sham=())
    replay = Replay((0.0,), (0.0,), {NONE: again, SEARCH: swapped})
    return replace(each, inputs=replace(each.inputs, arms=arms, replay=replay))


def test_the_level_that_tells_most_for_its_cost_is_replayed_next() -> None:
    each = replayed((0.0,) * 8, (1.0, 0.0, 0.0))
    swapped = ReplayPurpose(kind="rollout", placebos=("search",))
    assert next_level(each, NO_RATES, precision=0.97, cost=one_run) == swapped
    # What may have no more runs is left out, and nothing else is worth any here.
    assert next_level(each, NO_RATES, precision=0.97, cost=lambda p: None if p == swapped else 1.0) is None


def test_nothing_is_replayed_once_a_mechanism_is_as_likely_as_the_precision() -> None:
    def wanted(each: Evidence, precision: float) -> bool:
        return next_level(each, NO_RATES, precision=precision, cost=one_run) is not None

    unsure = replayed((0.0,) * 8, (1.0, 0.0, 0.0))
    reached = [wanted(unsure, precision) for precision in np.linspace(0.5, 0.99, 50)]
    assert reached == sorted(reached)
    assert set(reached) == {False, True}
    assert not wanted(replayed((0.0,) * 8, (1.0,) * 8), 0.97)


def test_what_is_mostly_right_drawn_again_is_chance_though_it_is_wrong_without_tools() -> None:
    each = replace(replayed((1.0,) * 7 + (0.0,), (0.0,) * 4), trajectory=None, flip=None)
    known = replace(each, inputs=replace(each.inputs, arms=replace(each.inputs.arms, none=(0.0,) * 4)))
    found = blame(known)
    assert found["sampling_noise"] > 0.8
    assert found["sampling_noise"] > 5 * found["own_error"]


@pytest.mark.parametrize("score", [0.0, 1.0], ids=["either suffices", "both are needed"])
def test_which_of_two_tools_it_was_is_settled_as_well(score: float) -> None:
    def wanted(runs: int, code: float) -> ReplayPurpose | None:
        kinds: dict[frozenset[ToolKind], float] = {frozenset({"code"}): code, SEARCH: score, BOTH: 1.0}
        swapped = {kind: (each,) * runs for kind, each in kinds.items()}
        found = of_two_kinds(drawn("search"), [*PAGE, *CELL, *REPLY], swapped)
        return next_level(found, NO_RATES, precision=0.9, cost=one_run)

    # By two runs it is still two in five that one of them did it alone.
    found = wanted(2, code=score)
    assert found is not None
    assert (found.kind, len(found.placebos)) == ("rollout", 1)
    assert wanted(8, code=score) is None
    assert wanted(2, code=1 - score) is None


def test_arms_are_not_replayed_and_early_answers_are_asked_for_by_their_step() -> None:
    asked: set[ReplayPurpose] = set()

    def cost(purpose: ReplayPurpose) -> float:
        asked.add(purpose)
        return 1.0

    next_level(replayed((0.0,) * 8, (1.0, 0.0, 0.0)), NO_RATES, precision=0.97, cost=cost)
    rollouts = {ReplayPurpose(kind="rollout", placebos=placebos) for placebos in ((), ("search",))}
    assert asked == rollouts | {ReplayPurpose(kind="early_answer", step=step) for step in (0, 2)}


def test_a_result_that_gave_the_final_answer_is_likelier_to_have_made_it_wrong() -> None:
    """Where no fall of the belief shows which it was."""
    each = replace(replayed((0.0, 0.0, 1.0), (1.0, 1.0)), flip=None)
    assert each.signals.adoption is not None
    assert each.signals.adoption.form == "search"
    without = replace(each, signals=replace(each.signals, adoption=None))
    others = [1 - blame(known)["retrieval_distraction"] for known in (each, without)]
    assert others[0] < 0.6 * others[1]


def test_a_last_reply_that_is_the_only_one_after_the_results_is_one_state_with_them() -> None:
    each = drawn("search")
    replay = Replay((0.0,), last_reply=(0.0, 0.0), rollouts={NONE: (1.0,), SEARCH: (1.0, 1.0)})
    known = replace(each, pivotal=None, inputs=replace(each.inputs, replay=replay))
    assert [(level.what, level.tally) for level in chains(known, Forcing())[0]][:2] == [
        (LAST_REPLY, LevelTally(3, 1.0)),
        (swapped_results({"search"}), LevelTally(2, 2.0)),
    ]
