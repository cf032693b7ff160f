"""How much a verdict rests on each kind of run."""

import re
from dataclasses import replace

import pytest
from tests.analysis.attribution.stories import ended
from tests.reports.attribution.contradictions import contradictions
from tests.reports.attribution.samples import evidence, explained, explanation, inputs, part, rungs_of

from toolablate.analysis.attribution.change_rates import ChangeRates
from toolablate.analysis.attribution.decomposition import Arms, Replay
from toolablate.analysis.attribution.evidence import Explanation
from toolablate.analysis.attribution.levels import LAST_REPLY, told_levels
from toolablate.analysis.attribution.replay_rules import attribute_by_replay, before_runs, blame, blame_without, due_to
from toolablate.reports.why.causes import hundredths
from toolablate.reports.why.page import SURE, why
from toolablate.reports.why.rests_on import WithoutRuns, rests_on

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


def beside(told: Explanation, name: str) -> str:
    """What the last column has beside a kind of run."""
    return next(row.mark or rung.mark for rung in rungs_of(told) for row in rung.rows if row.name.startswith(name))


def test_runs_without_which_another_cause_would_be_likelier_are_named() -> None:
    told = told_of(0, (1.0, 1.0, 0.0))
    (each,) = turning(told)
    assert (each.row.name, each.likeliest) == ("with its last reply drawn again", "sampling_noise")
    other, own = (each.shares[cause] for cause in ("sampling_noise", "retrieval_distraction"))
    assert (
        "It rests on the runs with its last reply drawn again: without these “sampling noise” would have"
        f" .{round(100 * other):02}, and “retrieval distraction” .{round(100 * own):02}."
    ) in part(told, SURE)
    assert beside(told, "with its last reply drawn again") == "++"
    assert contradictions(told) == []


@pytest.mark.parametrize(("without", "said"), [((1.0,) * 4, False), ((1.0, 1.0, 1.0, 0.0, 0.0), True)])
def test_noise_that_stays_where_its_own_runs_are_wrong_is_explained(without: tuple[float, ...], said: bool) -> None:
    """Of two of five that are wrong without tools one may be this one, whatever its search found."""
    told = told_of(0, (1.0, 1.0, 0.0) if said else (1.0,) * 9, without_tools=without)
    attribution = told.explained.attribution
    assert attribution is not None
    noise = attribution.shares["sampling_noise"]
    known = re.search(r"(?:Of|All) the (\.\d+) of “sampling noise”(?:, (\.\d+))? is that", part(told, "How we know"))
    assert (known is not None) == said
    if known is not None:
        assert known[1] == f".{round(100 * noise):02}"
        assert 0.1 <= float(known[2] or known[1]) <= round(noise, 2)
    assert contradictions(told) == []


def test_noise_is_chance_as_it_was_or_whatever_is_taken_away() -> None:
    for last_right, most in ((4, "as it was"), (0, "anyway")):
        evidence = told_of(last_right, (1.0, 1.0, 0.0), without_tools=(1.0, 1.0, 1.0, 0.0, 0.0)).explained.evidence
        again, first, anyway = (
            due_to(part, "sampling_noise", evidence, ChangeRates()) for part in ("again", "first_reply", "anyway")
        )
        assert again + first + anyway <= 1
        assert (anyway > 0.5) == (most == "anyway")
        assert anyway > 0.5 or anyway < 0.1


def test_what_no_single_kind_of_run_decides_says_so() -> None:
    told = told_of(0, (0.0,) * 3, without_tools=(0.0,) * 6)
    assert "Leave out any one kind of run, and “the model's own error” is still the likeliest, with ." in part(
        told, SURE
    )
    assert turning(told) == []
    assert contradictions(told) == []


def test_beside_runs_of_an_undecided_verdict_stands_no_mark() -> None:
    told = told_of(0, (0.0,))
    assert part(told, "Verdict").startswith("Undecided")
    (lead, *_) = next(each.lines for each in why(told) if each.rungs)
    assert "last column" not in str(lead)
    assert beside(told, "with its last reply drawn again") == ""
    assert contradictions(told) == []


@pytest.mark.parametrize("swapped", [(1.0,) * 3, (1.0,) * 6])
def test_beside_each_kind_of_run_stands_whether_it_speaks_for_the_cause(swapped: tuple[float, ...]) -> None:
    told = told_of(3, swapped)
    attribution = told.explained.attribution
    assert attribution is not None
    found = rests_on(told)
    assert len(found) > 2
    likely = hundredths(attribution.shares["sampling_noise"])
    # Some speak for it, and some against it.
    assert {each.hundredths("sampling_noise") > likely for each in found} == {True, False}
    against = part(told, "What speaks against it")
    for each in found:
        added = likely - each.hundredths("sampling_noise")
        sign = ("+" if added > 0 else "−") * ((abs(added) >= 5) + (abs(added) >= 20))
        fits = (each.row.share > 0.5) if added > 0 else (each.row.share < 0.5)
        assert beside(told, each.row.name) == (sign if fits else "")
        assert (each.row.told in against) == (fits and sign.startswith("−"))
    assert contradictions(told) == []


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
        "8 more replays of all of it, drawn again, would leave the same cause: with 7 right, or with 1, “availability” would"
    )
    assert said.endswith("More repeats of this question in all conditions of its plan may tell.")


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
