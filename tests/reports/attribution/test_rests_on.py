"""How much a verdict rests on each kind of run."""

import re
from dataclasses import replace

import pytest
from tests.analysis.attribution.stories import ended
from tests.reports.attribution.contradictions import contradictions
from tests.reports.attribution.samples import evidence, explained, explanation, inputs, part

from toolablate.analysis.attribution.change_rates import ChangeRates
from toolablate.analysis.attribution.decomposition import Arms, Replay
from toolablate.analysis.attribution.evidence import Explanation
from toolablate.analysis.attribution.levels import LAST_REPLY, told_levels
from toolablate.analysis.attribution.replay_rules import attribute_by_replay, before_runs, blame, blame_without
from toolablate.reports.why.causes import hundredths
from toolablate.reports.why.page import SURE
from toolablate.reports.why.rests_on import FELT, WithoutRuns, rests_on

SEARCHED = frozenset({"search"})


def told_of(
    last_right: int, swapped: tuple[float, ...], *, without_tools: tuple[float, ...] = (1.0,) * 4
) -> Explanation:
    """A search that found something: its last reply drawn again, its results swapped, and the question without tools."""
    last = (1.0,) * last_right + (0.0,) * (4 - last_right)
    replay = Replay(rollouts={frozenset(): (0.0,), SEARCHED: swapped}, last_reply=last)
    arms = Arms(without_tools)
    found = evidence(inputs=replace(inputs(replay=replay), arms=arms), pivotal=None, trajectory=None, flip=None)
    attribution = attribute_by_replay(found)
    assert attribution is not None
    return explanation(replace(explained(found), attribution=attribution))


def turning(told: Explanation) -> list[WithoutRuns]:
    """Without which another cause would be likelier."""
    attribution = told.explained.attribution
    assert attribution is not None
    return [each for each in rests_on(told) if each.turns(attribution.mechanism)]


def test_runs_without_which_another_cause_would_be_likelier_are_named() -> None:
    told = told_of(0, (1.0, 1.0, 0.0))
    (each,) = turning(told)
    assert (each.row.name, each.likeliest) == ("with its last reply drawn again", "sampling_noise")
    other, own = (each.shares[cause] for cause in ("sampling_noise", "retrieval_distraction"))
    assert (
        "It rests on runs with its last reply drawn again (0 of 5 right): without these, sampling noise would be likelier"
        f" (.{round(100 * other):02}; retrieval distraction .{round(100 * own):02})."
    ) in part(told, SURE)
    assert contradictions(told) == []


def test_what_no_single_kind_of_run_decides_says_so() -> None:
    told = told_of(0, (0.0,) * 3, without_tools=(0.0,) * 6)
    assert "It rests on no single kind of run. Were runs " in part(told, SURE)
    assert turning(told) == []
    assert contradictions(told) == []


def test_a_verdict_that_would_be_undecided_without_one_kind_of_run_says_so() -> None:
    told = told_of(1, (1.0,), without_tools=(0.0,) * 4)
    assert (
        "It rests on runs without tools (0 of 4 right): without these, it would be undecided (the model's own error ."
    ) in part(told, SURE)
    assert contradictions(told) == []


def test_of_an_undecided_verdict_the_runs_that_would_settle_it_are_named() -> None:
    told = told_of(0, (0.0,))
    assert part(told, "Verdict").startswith("Undecided")
    said = part(told, SURE)
    assert (
        "Were the runs without tools (4 of 4 right) not there, the likeliest would be the model's own error (." in said
    )
    assert (
        "Were the runs with its last reply drawn again (0 of 5 right) not there, the likeliest would be sampling noise (."
        in said
    )
    assert contradictions(told) == []


@pytest.mark.parametrize("swapped", [(1.0,) * 3, (1.0,) * 6])
def test_runs_without_which_the_cause_would_be_likelier_speak_against_it(swapped: tuple[float, ...]) -> None:
    told = told_of(3, swapped)
    attribution = told.explained.attribution
    assert attribution is not None
    least = hundredths(attribution.shares["sampling_noise"]) + FELT
    speaking = [each for each in rests_on(told) if each.hundredths("sampling_noise") >= least]
    assert speaking
    against = part(told, "What speaks against it")
    told_rows = against.partition(", with its probability without these: ")[2].partition("What outweighs it")[0]
    assert len(re.findall(r" \((?:under )?\.\d\d\)", told_rows)) == len(speaking)
    for each in speaking:
        assert f"{each.row.told} (.{each.hundredths('sampling_noise'):02}" in against
    # Then what outweighs them, of the kinds that speak for it.
    outweighing = against.partition("What outweighs it")[2]
    assert not any(each.row.told in outweighing for each in speaking)
    decided = not part(told, "Verdict").startswith("Undecided")
    supporting = [each for each in rests_on(told) if each.hundredths("sampling_noise") <= least - 2 * FELT]
    assert bool(outweighing) == bool(decided and supporting)


@pytest.mark.parametrize("right", [0, 4])
def test_runs_that_are_left_out_no_longer_speak_for_a_cause(right: int) -> None:
    told = told_of(right, (1.0,))
    found, rates = told.explained.evidence, told.rates
    whole, left, before = blame(found, rates), blame_without(LAST_REPLY, found, rates), before_runs(found, rates)
    for each in (whole, left, before):
        assert sum(each.values()) == pytest.approx(1)
    assert (left["sampling_noise"] < whole["sampling_noise"]) == (right > 0)
    assert left["sampling_noise"] != pytest.approx(before["sampling_noise"])
    assert blame_without("no kind of run", found, rates) == whole


def test_what_rests_mostly_on_one_kind_of_run_names_it_and_the_next_cause() -> None:
    told = told_of(4, (1.0,))
    least = min(each.shares["sampling_noise"] for each in rests_on(told))
    assert (
        "It rests mostly on runs with its last reply drawn again (4 of 5 right): without these, it would still be the"
        f" likeliest, with .{round(100 * least)} (next retrieval distraction ."
    ) in part(told, SURE)
    assert contradictions(told) == []


def test_more_runs_that_would_change_nothing_are_not_proposed() -> None:
    """Its offer is blamed by many runs, to which a few of its own add little."""
    asked = replace(
        inputs(replay=Replay(rollouts={frozenset(): (0.0,)})),
        tools=frozenset(),
        arms=Arms((1.0,) * 9, offered=(0.0,) * 14 + (1.0,) * 4),
    )
    events = tuple(ended("Answer: B"))
    found = evidence(events, inputs=asked, pivotal=None, trajectory=None, flip=None, ignore_tools=(), outset=(0.0,) * 6)
    of_group = {("again", ""): 0.01, ("availability", "not_called"): 0.4}
    rates = ChangeRates(groups={(found.model, found.condition): of_group})
    attribution = attribute_by_replay(found, rates)
    assert attribution is not None
    assert attribution.mechanism == "availability"
    told = explanation(replace(explained(found), attribution=attribution), conversation=events, rates=rates)
    said = part(told, "What would tell")
    assert said.startswith(
        "8 more replays of all of it, drawn again, would tell little: with 7 right, or with 1, “availability” would"
    )
    assert said.endswith("More repeats of this question in all conditions of its plan may.")


def test_answers_that_tell_where_the_belief_falls_go_with_their_runs() -> None:
    """Without early answers after the result nothing says that it turned there."""
    told = explanation(explained(evidence(pivotal=None)))
    found, rates = told.explained.evidence, told.rates
    assert found.flip is not None
    last = len(found.steps) - 1
    (at_last,) = {level.what for level in told_levels(found)[0] if level.purpose and level.purpose.step == last}
    left = blame_without(at_last, found, rates)
    assert left == blame_without(at_last, replace(found, flip=None), rates)
    assert left["retrieval_distraction"] < blame(found, rates)["retrieval_distraction"] - 0.05
