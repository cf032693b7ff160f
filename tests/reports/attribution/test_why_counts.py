"""What a page says of the runs that it counts: which are compared, which do not fit, and what they sum to."""

import re
from dataclasses import replace
from typing import Any

import pytest
from tests.analysis.attribution.stories import ended, imported, ran, searched, wrong
from tests.analysis.attribution.stories import right as scored_right
from tests.reports.attribution.contradictions import contradictions
from tests.reports.attribution.samples import (
    believed,
    chances_of,
    evidence,
    explained,
    explanation,
    inputs,
    kinds_of_run,
    of_search,
    part,
    rungs_of,
    told_by,
)

from toolablate.analysis.attribution.belief import belief_steps
from toolablate.analysis.attribution.decomposition import Arms, DecompositionInputs, Replay, Scores, ToolKind
from toolablate.analysis.attribution.evidence import Explained, Explanation
from toolablate.analysis.attribution.levels import swapped_results
from toolablate.reports.why.causes import lacking
from toolablate.reports.why.changed_runs import levels_of
from toolablate.reports.why.happened import same_without_tools
from toolablate.reports.why.page import OTHER_TRIALS, RIGHT_RUNS, TAKEN_AWAY, THE_CAUSE, why
from toolablate.traces.records import Mechanism, ReplayPurpose


def of_calling(found: DecompositionInputs, outset: Scores = ()) -> Explanation:
    """Put down to a search that found nothing, by no early answers but those of `outset`."""
    return told_by(
        (*searched("gas", "nothing"), *ended("Answer: B")),
        mechanism="calling",
        inputs=found,
        outset=outset,
        pivotal=None,
        trajectory=None,
        flip=None,
    )


def test_causes_that_the_same_runs_take_away_stand_at_one_rung() -> None:
    found = explained(
        evidence(tuple(ended("Answer: B")), trajectory=None, flip=None, steps=(0,)),
        mechanism="availability",
        distraction=None,
        shares={"availability": 0.6, "prompt": 0.4},
    )
    bare = replace(found, evidence=replace(found.evidence, inputs=replace(found.evidence.inputs, tools=frozenset())))
    told = explanation(bare, conversation=tuple(ended("Answer: B")))
    (cause,) = (rung.cause for rung in rungs_of(told) if rung.taken == "the offer of tools and the condition's prompt")
    assert re.fullmatch(r"availability \.60.*; prompt \.40.*", cause)


def test_no_two_rows_have_one_name() -> None:
    arms = Arms((1.0, 0.0), offered=(1.0,), sham=(0.0,), placebo=(0.0, 1.0))
    told = explanation(explained(evidence(pivotal=None, inputs=replace(inputs(replay=of_search(4, 4)), arms=arms))))
    names = [row.name for row in kinds_of_run(told)]
    assert "in another condition with the same tools, forbidden to call them" in names
    assert "in another condition with the same tools, whose calls work and find nothing" in names
    assert len(names) == len(set(names))


def test_each_rung_takes_one_thing_more_away_and_names_the_cause_that_it_tests() -> None:
    arms = Arms((1.0, 0.0), scaffold=(1.0, 1.0), offered=(1.0,), sham=(0.0,), placebo=(0.0, 1.0))
    found = evidence(pivotal=None, inputs=replace(inputs(replay=of_search(4, 4)), arms=arms))
    told = explanation(explained(found, shares={"retrieval_distraction": 0.6, "calling": 0.4}))
    rungs = rungs_of(told)
    assert [(rung.taken, rung.came) for rung in rungs[:5]] == [
        ("nothing (drawn again)", "0 of 8"),
        # With other trials, whose calls got results of other questions, or found nothing.
        ("what its search and pages gave", "5 of 7"),
        ("its calls", "9 of 9"),
        ("the offer of tools", "2 of 2"),
        ("the condition's prompt", "1 of 2"),
    ]
    causes = [rung.cause.partition(" (before")[0] for rung in rungs[:5]]
    assert causes == [
        *("sampling noise under .01", "retrieval distraction .60"),
        *("calling .40", "availability under .01", "prompt under .01"),
    ]
    assert contradictions(told) == []


@pytest.mark.parametrize(("answered", "shown"), [(("A", "A", ""), ": A (2), (none)"), (("A", "A"), "")])
def test_beside_a_kind_of_replays_stands_what_all_of_them_answered(answered: tuple[str, ...], shown: str) -> None:
    known = {ReplayPurpose(kind="rollout", placebos=("search",)): answered}
    told = explanation(explained(evidence(pivotal=None, inputs=inputs(replay=of_search(2, 3)), answered=known)))
    assert f"{swapped_results(['search'])}{shown}" in [row.name for row in kinds_of_run(told)]


def test_many_answers_of_a_kind_of_replays_are_told_as_others() -> None:
    known = {ReplayPurpose(kind="rollout", placebos=("search",)): tuple("ABCDEF")}
    told = explanation(explained(evidence(pivotal=None, inputs=inputs(replay=of_search(1, 6)), answered=known)))
    assert f"{swapped_results(['search'])}: A, B, C, D, others (2)" in [row.name for row in kinds_of_run(told)]


def heads_of(told: Explanation) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    return [(each.heads, each.lines) for each in why(told) if each.rungs]


def test_what_was_not_run_again_is_not_said_to_have_been() -> None:
    arms = Arms((1.0,) * 2, offered=(1.0,), sham=(1.0,), placebo=(0.0,))
    events = (*ran("f(1)", "molecular nitrogen"), *ended("Answer: B"))
    unreplayed: dict[str, Any] = {"pivotal": None, "trajectory": None, "flip": None, "repeats": (1.0, 0.0)}
    of_code = replace(inputs(), arms=arms, tools=frozenset[ToolKind]({"code"}))
    found = evidence(events, steps=tuple(belief_steps(events)), inputs=of_code, **unreplayed)
    told = explanation(explained(found, method="trace", mechanism="lock_in", distraction=None), conversation=events)
    ((heads, (lead,)),) = heads_of(told)
    assert heads == (RIGHT_RUNS, f"{TAKEN_AWAY}: {THE_CAUSE}")
    assert lead.startswith(OTHER_TRIALS)
    assert [(rung.taken, rung.came, rung.cause) for rung in rungs_of(told)[:3]] == [
        ("nothing", "1 of 2", "sampling noise"),
        ("what its code gave", "1 of 2", "computational lock-in"),
        ("its calls", "1 of 1", "calling"),
    ]
    assert contradictions(told) == []


def test_of_a_right_trial_no_cause_is_told() -> None:
    told = explanation(Explained(replace(explained().evidence, score=scored_right()), None))
    assert heads_of(told) == [((RIGHT_RUNS, TAKEN_AWAY), ())]


def test_runs_whose_code_lacks_its_package_as_well_take_nothing_away() -> None:
    events = (*imported("aeroref"), *ended("Answer: B"))
    replay = Replay(rollouts={frozenset({"code"}): (0.0, 0.0)}, last_reply=(0.0,) * 2)
    arms = Arms((1.0,) * 3, offered=(1.0,) * 3, sham=(1.0,) * 2)
    of_code = replace(inputs(replay=replay), arms=arms, tools=frozenset[ToolKind]({"code"}))
    shares: dict[Mechanism, float] = {"tool_fault": 0.8, "sampling_noise": 0.2}
    told = told_by(
        events, mechanism="tool_fault", shares=shares, inputs=of_code, pivotal=None, trajectory=None, flip=None
    )
    rungs = {rung.taken: (rung.came, rung.cause.partition(" (before")[0]) for rung in rungs_of(told)}
    assert rungs["nothing more (its code fails there too)"] == ("0 of 2", "sampling noise, as above")
    # No other trial with placebos tells its first reply apart.
    assert rungs["the failure of its tool and its own first reply"] == ("2 of 2", "tool fault .80")
    assert contradictions(told) == []


def test_of_two_kinds_of_tools_each_is_taken_away_alone_and_then_both() -> None:
    events = (*searched("gas", "1. Plants"), *ran("f(1)", "molecular nitrogen"), *ended("Answer: B"))
    kinds: tuple[frozenset[ToolKind], ...] = (frozenset({"search"}), frozenset({"code"}), frozenset({"search", "code"}))
    replay = Replay(
        rollouts={frozenset(): (0.0,), **{kind: (float(number == 2),) * 3 for number, kind in enumerate(kinds)}},
        last_reply=(0.0,) * 2,
    )
    shares: dict[Mechanism, float] = {"interaction": 0.7, "lock_in": 0.2, "sampling_noise": 0.1}
    of_both = replace(inputs(replay=replay), tools=frozenset({"search", "code"}))
    told = told_by(
        events, mechanism="interaction", shares=shares, inputs=of_both, pivotal=None, trajectory=None, flip=None
    )
    rungs = {rung.taken: (rung.came, rung.cause.partition(" (before")[0]) for rung in rungs_of(told)}
    assert rungs["what its code gave, alone"] == ("0 of 3", "computational lock-in .20")
    assert rungs["what its search and pages gave, alone"] == ("0 of 3", "retrieval distraction under .01")
    assert rungs["both of these"] == ("3 of 3", "interaction of tools .70")
    assert contradictions(told) == []


def test_runs_made_once_more_are_answers_and_no_trials() -> None:
    alike = wrong().model_copy(update={"extracted": ("C",)})
    assert same_without_tools(evidence(score=alike)) == ""
    found = evidence(score=alike)
    same = replace(found, no_tools=[each for each in found.no_tools if each.score.extracted == ("C",)] * 3)
    assert same_without_tools(same).endswith("the same wrong answer, C, in 3 of 3 answers")


def test_a_lost_form_has_the_redraws_that_could_be_read_at_once_against_it() -> None:
    events = (*searched("gas", "x"), *ended("It is the second one."))
    told = told_by(
        events,
        mechanism="format",
        shares={"format": 0.95, "sampling_noise": 0.05},
        score=wrong().model_copy(update={"verdict": "unparsed", "extracted": ()}),
        re_asked=(1.0, 1.0),
        inputs=inputs(replay=Replay(rollouts={frozenset({"search"}): (1.0,)}, last_reply=(0.0, 0.0))),
        pivotal=None,
        trajectory=None,
        flip=None,
    )
    against = part(told, "What speaks against it")
    assert "2 of 2 draws of its last reply could be read at once." in against
    assert contradictions(told) == []


def test_early_answers_that_are_its_answer_since_a_result_speak_against_what_is_no_result() -> None:
    events = (*searched("gas", "molecular nitrogen"), *ended("Answer: B"))
    told = told_by(
        events,
        mechanism="calling",
        distraction=None,
        pivotal=None,
        trajectory=believed((8, 8, 0)),
        flip=None,
    )
    assert "No early answer before event" in part(told, "What speaks against it")
    assert "(0 of 16), and 8 of 8 from then on: “retrieval distraction” (under .01) would explain that." in part(
        told, "What speaks against it"
    )
    assert contradictions(told) == []


def test_a_lock_in_that_calls_bring_has_its_runs_with_calls() -> None:
    """Where runs with other results are wrong too; where these are right it is what the code gave."""
    events = (*ran("print(f(1))", "molecular nitrogen"), *ended("It is molecular nitrogen.\nAnswer: B"))
    for swapped, sham, without in (((0.0, 0.0), (0.0,) * 3, (10, 10)), ((1.0, 1.0), (1.0,) * 3, (15, 15))):
        arms = Arms((1.0,) * 4, offered=(1.0,) * 6, sham=sham)
        replay = Replay(rollouts={frozenset({"code"}): swapped}, last_reply=(0.0, 0.0))
        told = told_by(
            events,
            mechanism="lock_in",
            distraction=None,
            inputs=replace(inputs(replay=replay), tools=frozenset({"code"}), arms=arms),
            pivotal=None,
            trajectory=believed((8, 0, 0)),
            flip=None,
            ignore_tools=(1.0, 1.0),
        )
        gone = lacking("lock_in", told.explained.evidence)
        early = sum(row.runs for row in gone if row.is_early)
        assert (sum(row.right for row in gone) - early, sum(row.runs for row in gone) - early) == without
        assert contradictions(told) == []


def test_chance_of_a_first_reply_is_told_apart() -> None:
    """Its own replays keep it and are wrong; other trials, which reply anew, are right."""
    replay = Replay(rollouts={frozenset({"search"}): (0.0,) * 2, frozenset(): (0.0,) * 2}, last_reply=(0.0,) * 4)
    arms = Arms((1.0,) * 4, placebo=(1.0,) * 6, sham=(1.0,) * 6)
    told = told_by(
        searched("gas", "1. Plants") + list(ended("Answer: B")),
        mechanism="sampling_noise",
        distraction=None,
        shares={"sampling_noise": 0.9, "calling": 0.1},
        inputs=replace(inputs(replay=replay), arms=arms),
        pivotal=None,
        trajectory=None,
        flip=None,
    )
    said = re.search(r"(\.\d+) of the \.90 is chance in its first reply", part(told, "How we know"))
    assert said is not None
    assert float(said[1]) >= 0.5
    assert "sampling noise (its first reply comes out well or badly by chance, this time badly)" in part(
        told, "Verdict"
    )
    assert re.search(
        r"From the line “the same in other trials, whose first reply is another” on \d+ of \d+ are right, above it 0 of 8\.",
        part(told, "How we know"),
    )
    assert contradictions(told) == []


def test_a_rival_that_early_answers_point_to_has_its_probability_beside_it() -> None:
    """With twice the budget it is right though the result with its wrong answer is there still."""
    replay = Replay(rollouts={frozenset({"search"}): (0.0,) * 8}, extended=(1.0,) * 4)
    events = (*searched("gas", "molecular nitrogen"), *ended("Answer: B", "turns"))
    told = told_by(
        events,
        mechanism="budget",
        distraction=None,
        shares={"budget": 0.9, "retrieval_distraction": 0.02, "sampling_noise": 0.08},
        inputs=inputs(replay=replay),
        pivotal=None,
        trajectory=believed((8, 8, 0)),
        flip=None,
    )
    against = part(told, "What speaks against it")
    assert "“retrieval distraction” (.02) would explain that." in against
    assert chances_of(told)["retrieval distraction"][0] == ".02"
    assert contradictions(told) == []


def test_runs_without_any_call_are_without_calls_also_where_they_are_wrong() -> None:
    """Early answers before any call, of a trial of which no other results are known."""
    arms = Arms((1.0,) * 4, offered=(1.0,) * 6)
    told = of_calling(replace(inputs(replay=Replay(last_reply=(0.0,) * 2)), arms=arms), outset=(0.0,) * 8)
    gone = lacking("calling", told.explained.evidence)
    assert [row.runs for row in gone] == [8, 6, 4]
    there = [row.changed for row in levels_of(told.explained.evidence) if row not in gone]
    assert there == ["with its last reply drawn again"]
