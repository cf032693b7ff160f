"""What is read out of real stores: trials that were replayed by the whole program, in part, or not at all."""

from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.analysis.attribution.cases import evidence, steady
from tests.experiments.attribution.scenes import ALL, swayed
from tests.experiments.replay.scenes import double, endpoint_plan, own_tool, run, trial_of
from tests.servers.chat_server import ChatServer, reply

from toolablate.analysis.attribution.evidence import Evidence, Explained
from toolablate.experiments.attribution.explained import Gathered, beside_repeats, explained
from toolablate.experiments.attribution.replay_rounds import attribute
from toolablate.experiments.replay.batch import replay
from toolablate.traces.errors import InputError
from toolablate.traces.records import AnswerNow, ReplayDesign
from toolablate.traces.store import Recorder, Store

SWAPPED = frozenset({"code"})
MISLED = swayed(["print(5)", "print(7)"], lambda shown: "7" in shown)
"""Right until it sees the second result."""


def store_of(server: ChatServer, folder: Path, decide: Any, conditions: str = "['none', 'python']") -> Path:
    server.answers(decide)
    return run(endpoint_plan(folder, server, conditions=conditions))


def only(gathered: Gathered[Explained]) -> Explained:
    (found,) = gathered.explained
    return found


def points(gathered: Gathered[Explained]) -> dict[str, float]:
    (decomposition,) = gathered.decompositions
    assert sum(each.points for each in decomposition.terms) == pytest.approx(decomposition.effect.points, abs=1e-9)
    assert sum(each.points for each in decomposition.mechanisms) == pytest.approx(decomposition.effect.points, abs=1e-9)
    return {each.name: each.points for each in decomposition.mechanisms if each.points}


@pytest.mark.deep
def test_a_misled_trial_is_told_with_all_that_its_replays_say(chat_server: ChatServer, tmp_path: Path) -> None:
    store = store_of(chat_server, tmp_path, MISLED)
    attribute(store, ALL)
    gathered = explained(store)
    found = only(gathered)
    label, evidence = found.attribution, found.evidence
    assert label is not None
    assert (label.mechanism, label.method, label.turned_at, label.evidence) == ("lock_in", "replay", 3, (3,))
    assert [each.method for each in found.hypotheses] == ["trace"]
    assert evidence.trajectory is not None
    assert [belief.right.mean for belief in evidence.trajectory.beliefs] == [1, 1, 1, 1, 0]
    # Its own answer can be read, and is not asked for again.
    assert (evidence.ignore_tools, evidence.re_asked) == ((1.0,) * 3, ())
    assert evidence.pivotal is not None
    assert (evidence.pivotal.event, evidence.pivotal.kept, evidence.pivotal.without) == (3, (0.0, 0.0), (1.0, 1.0))
    assert {event: each.value for event, each in evidence.shapley.items()} == {1: 0.0, 3: -1.0}
    # The trial without tools, and its runs again: two for each rollout.
    assert [no_tools.signals.answer for no_tools in evidence.no_tools] == [("4",)] * 5
    inputs = evidence.inputs
    assert (inputs.score, inputs.re_asked, inputs.inclusion_probability, inputs.tools) == (0.0, 0.0, 1.0, SWAPPED)
    assert inputs.replay is not None
    assert (inputs.replay.extended, inputs.replay.repaired) == ((0.0,), (0.0,))
    assert inputs.replay.rollouts == {frozenset(): (0.0, 0.0), SWAPPED: (1.0, 1.0)}
    assert inputs.replay.signals == {"lock_in"}
    assert (gathered.design, gathered.unreplayed, gathered.notes) == (ALL, 0, ())
    assert points(gathered) == {"computational_lock_in": pytest.approx(-100)}


def test_without_replays_the_trace_alone_is_asked_and_the_effect_is_unresolved(
    chat_server: ChatServer, tmp_path: Path
) -> None:
    gathered = explained(store_of(chat_server, tmp_path, MISLED))
    found = only(gathered)
    assert found.attribution is not None
    assert (found.attribution.method, found.hypotheses) == ("trace", ())
    assert (found.evidence.inputs.inclusion_probability, found.evidence.inputs.replay, gathered.design) == (
        0.0,
        None,
        None,
    )
    assert points(gathered) == {"unresolved": pytest.approx(-100)}


def test_what_a_design_chooses_and_nobody_replayed_is_counted_and_stays_unresolved(
    chat_server: ChatServer, tmp_path: Path
) -> None:
    store = store_of(chat_server, tmp_path, MISLED)
    with Recorder(store) as recorder:
        recorder.keep_design(ALL)
    gathered = explained(store)
    assert (gathered.unreplayed, only(gathered).evidence.inputs.inclusion_probability) == (1, 1.0)
    assert gathered.notes == ("1 trial in the sample without usable replays: unresolved.",)
    assert points(gathered) == {"unresolved": pytest.approx(-100)}
    assert explained(store, design=ReplayDesign(failures=0, successes=0)).unreplayed == 0


def test_replays_that_somebody_asked_for_by_hand_show_in_the_evidence_and_in_no_decomposition(
    chat_server: ChatServer, tmp_path: Path
) -> None:
    store = store_of(chat_server, tmp_path, MISLED)
    for event in (0, 4):
        replay(store, trial_of(store), event, AnswerNow(), repeats=3)
    evidence = only(explained(store)).evidence
    assert evidence.trajectory is not None
    assert [(each.step, each.right.mean) for each in evidence.trajectory.beliefs] == [(0, 1), (4, 0)]
    assert evidence.inputs.replay is None


SOUND = swayed(["print(5)"], lambda _: False)
"""Always right."""


@pytest.mark.deep
def test_formats_are_mended_at_every_level_and_lost_once(chat_server: ChatServer, tmp_path: Path) -> None:
    silent = swayed(["print(5)"], lambda _: False, form="I am sure of it.")

    def decide(request: dict[str, Any]) -> Any:
        asked = "Give your final answer" in request["messages"][-1]["content"]
        return (SOUND if asked or not request.get("tools") else silent)(request)

    store = store_of(chat_server, tmp_path, decide)
    attribute(store, ALL)
    gathered = explained(store)
    found = only(gathered)
    assert found.attribution is not None
    assert (found.attribution.mechanism, found.attribution.method) == ("format", "replay")
    replayed = found.evidence.inputs.replay
    assert replayed is not None
    assert (found.evidence.inputs.re_asked, replayed.re_asked) == (None, (1.0,) * 3)
    assert set(replayed.rollouts.values()) == {(1.0, 1.0)}
    assert gathered.notes == ()
    assert points(gathered) == {"format_loss": pytest.approx(-100)}


@pytest.mark.deep
def test_formats_that_nobody_asked_for_again_are_no_other_term(chat_server: ChatServer, tmp_path: Path) -> None:
    silent = swayed(["print(5)"], lambda _: False, form="I am sure of it.")

    def decide(request: dict[str, Any]) -> Any:
        return (silent if request.get("tools") else SOUND)(request)

    conditions = "['none', 'scaffold', 'python:offered', 'python:sham', 'python:placebo', 'python']"
    store = store_of(chat_server, tmp_path, decide, conditions)
    gathered = explained(store)
    arms = only(gathered).evidence.inputs.arms
    assert (arms.none, arms.offered, arms.sham, arms.placebo) == ((1.0,), (), (), ())
    assert points(gathered) == {"unresolved": pytest.approx(-100)}


@pytest.mark.deep
def test_a_format_that_is_lost_without_tools_too_is_no_loss_by_tools(chat_server: ChatServer, tmp_path: Path) -> None:
    silent = swayed(["print(5)"], lambda _: False, form="I am sure of it.")

    def decide(request: dict[str, Any]) -> Any:
        asked = "Give your final answer" in request["messages"][-1]["content"]
        return (SOUND if asked else silent)(request)

    store = store_of(chat_server, tmp_path, decide)
    attribute(store, ReplayDesign(samples=2, rollouts=2))
    gathered = explained(store)
    arms = only(gathered).evidence.inputs.arms
    assert (arms.none, arms.no_tools) == ((0.0,), (1.0,))
    assert points(gathered) == {}


@pytest.mark.deep
def test_models_conditions_and_single_trials_can_be_asked_about(chat_server: ChatServer, tmp_path: Path) -> None:
    store = store_of(chat_server, tmp_path, MISLED, "['none', 'python', 'scaffold']")
    assert {each.evidence.condition for each in explained(store).explained} == {"python"}
    assert explained(store, models=["other"]).explained == ()
    assert explained(store, conditions=["scaffold"]).explained == ()
    single = explained(store, trial=trial_of(store))
    assert (only(single), single.decompositions) == (only(explained(store)), ())
    assert explained(store, trial=trial_of(store, "none")).explained == ()
    for unknown in ({"run": "no-run"}, {"trial": "0" * 32}, {"scorer": "nobody"}):
        with pytest.raises(InputError):
            explained(store, **unknown)  # type: ignore[arg-type]


@pytest.mark.deep
def test_a_condition_is_set_against_one_with_words_where_there_is_no_other(
    chat_server: ChatServer, tmp_path: Path
) -> None:
    gathered = explained(store_of(chat_server, tmp_path, MISLED, "['scaffold', 'python']"))
    assert gathered.notes == (
        "Compared with 'scaffold', which has its own system prompt; no prompt-free baseline was run.",
    )
    assert only(gathered).evidence.inputs.arms.scaffold == ()


@pytest.mark.deep
def test_who_has_its_words_and_no_tools_is_the_scaffold_of_a_condition_without_a_ladder(
    chat_server: ChatServer, tmp_path: Path
) -> None:
    conditions = "['none', 'scaffold', { name = 'short', base = 'python', budget = { turns = 9 } }]"
    each = only(explained(store_of(chat_server, tmp_path, MISLED, conditions)))
    assert (each.evidence.condition, len(each.evidence.inputs.arms.scaffold)) == ("short", 1)


@pytest.mark.deep
def test_where_nothing_is_without_tools_nothing_can_be_explained(chat_server: ChatServer, tmp_path: Path) -> None:
    gathered = explained(store_of(chat_server, tmp_path, MISLED, "['python']"))
    assert (gathered.explained, gathered.decompositions) == ((), ())


FAILING = """
from toolablate.tools import tool

@tool
def double(number: int) -> int:
    \"\"\"Doubles a number.\"\"\"
    raise RuntimeError("the table is lost")
"""


def test_a_tool_that_fails_again_is_none_that_works(chat_server: ChatServer, tmp_path: Path) -> None:
    def decide(request: dict[str, Any]) -> Any:
        messages = request["messages"]
        failed = any(message["role"] == "tool" and "lost" in message["content"] for message in messages)
        called = any(message["role"] == "tool" for message in messages)
        if called or not request.get("tools") or request.get("tool_choice") == "none":
            return reply(f"Answer: {7 if failed and 'Put aside' not in messages[-1]['content'] else 4}")
        return double(2)

    store = store_of(chat_server, tmp_path, decide, f"['none', {own_tool(tmp_path, FAILING).removeprefix('[')}")
    attribute(store, ALL)
    found = only(explained(store))
    assert found.attribution is not None
    assert (found.attribution.mechanism, found.attribution.method) == ("tool_fault", "trace")
    assert found.evidence.inputs.replay is None


# A trial has one label by its trace, whether it is asked about alone or with all others.


@pytest.mark.deep
def test_a_trial_alone_is_held_against_all_questions_of_its_condition(chat_server: ChatServer, tmp_path: Path) -> None:
    chat_server.answers(MISLED)
    path = run(endpoint_plan(tmp_path, chat_server, conditions="['none', 'python']"))
    every = explained(path).explained
    assert every
    for each in every:
        assert explained(path, trial=each.evidence.inputs.trial).explained == (each,)

    with Store(path) as store:
        seen = store.summaries()
        for name, condition in store.conditions_of(seen).items():
            values: dict[str, list[float | None]] = defaultdict(list)
            for each_seen in (each for each in seen if each.condition == name):
                values[store.trace(each_seen.trial).trial.question].append(each_seen.value)
            read = store.values_beside(seen[0].trial, condition.identity())
            assert read == values
            assert store.values_beside(seen[0].trial, condition.identity(), run=store.runs()[-1].id) == values


# What the other repeats of a trial tell of it.


def trials(*names: str) -> list[Evidence]:
    rng = np.random.default_rng(4)
    drawn = [evidence(steady(chance, "search"), rng) for chance in (1.0, 0.0, 1.0)]
    return [
        replace(each, inputs=replace(each.inputs, trial=name))
        for name, each in zip(names, drawn[: len(names)], strict=True)
    ]


def test_each_has_what_the_others_of_its_question_and_condition_were_asked() -> None:
    one, other, third = beside_repeats(trials("a", "b", "c"))
    assert one.outset == (0.0,) * 8 + (1.0,) * 8
    assert other.outset == (1.0,) * 16
    assert one.repeats == (0.0, 0.0)
    assert sorted(third.outset) == sorted(one.outset)


def test_another_question_condition_or_model_is_another_start() -> None:
    one, other, third = trials("a", "b", "c")
    apart = [one, replace(other, question="another"), replace(third, condition="another")]
    assert [(each.outset, each.repeats) for each in beside_repeats(apart)] == [((), ())] * 3
    assert beside_repeats([one, replace(other, trajectory=None)])[0].outset == ()


def test_others_of_the_same_tools_tell_what_comes_without_results_and_of_an_offer_alone() -> None:
    one, other, third = trials("a", "b", "c")
    other = replace(other, inputs=replace(other.inputs, arms=one.inputs.arms))
    apart = replace(third, condition="another")
    swapped = [each.inputs.replay.rollouts[frozenset({"search"})] for each in (other, apart) if each.inputs.replay]
    assert all(swapped)
    same, alone = beside_repeats([one, other, apart], tools_of=lambda _: "tools"), beside_repeats([one, other, apart])
    assert same[0].swapped == (*swapped[0], *swapped[1])
    assert same[0].offered == (*one.inputs.arms.offered, *apart.inputs.arms.offered)
    assert (alone[0].swapped, alone[0].offered) == (swapped[0], one.inputs.arms.offered)
    assert other.inputs.replay is not None
    short = replace(other, inputs=replace(other.inputs, replay=replace(other.inputs.replay, short=(1.0,))))
    assert beside_repeats([one, short])[0].swapped == (1.0,)
    # Where its own results are long, both tell something; of one with short results both are one.
    assert one.inputs.replay is not None
    long = replace(one, inputs=replace(one.inputs, replay=replace(one.inputs.replay, short=(0.0,))))
    beside = beside_repeats([long, short, apart], tools_of=lambda _: "tools")[0]
    assert (beside.swapped, beside.shortened) == (swapped[0], (1.0, *swapped[1]))
