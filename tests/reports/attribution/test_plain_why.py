"""What is said of one trial is never contradicted by the table below it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.analysis.attribution.stories import ended, ran, right, searched, wrong
from tests.reports.attribution.contradictions import contradictions
from tests.reports.attribution.samples import (
    REPLAYED,
    UNREPLAYED,
    attribution,
    believed,
    evidence,
    explained,
    explanation,
    inputs,
)

from toolablate.analysis.attribution.arm_rules import blame_by_arms
from toolablate.analysis.attribution.belief import flip_step, share
from toolablate.analysis.attribution.decomposition import Arms, Replay, ToolKind
from toolablate.analysis.attribution.evidence import Evidence, Explained, Explanation
from toolablate.analysis.attribution.replay_rules import attribute_by_replay
from toolablate.analysis.attribution.trace_rules import attribute_by_trace
from toolablate.reports.cause_wording import probable
from toolablate.reports.causes import beside, intervals_told, named, ranked, together
from toolablate.reports.turn import told_turn
from toolablate.traces.records import Event, Mechanism, ReplayDesign

LONG = "1. Green plants take molecular nitrogen from the air. " * 100
STORIES: tuple[tuple[Sequence[Event], frozenset[ToolKind]], ...] = (
    (ended("Answer: B"), frozenset()),
    ((*searched("gas", "1. Green plants take molecular nitrogen"), *ended("Answer: B")), frozenset({"search"})),
    ((*ran("print(2)", "molecular nitrogen"), *ended("Answer: B")), frozenset({"code"})),
    ((*searched("gas", LONG), *ran("print(2)", "2"), *ended("Answer: B")), frozenset({"search", "code"})),
    ((*ran("1/0", "", status="error", error="injected_failure"), *ended("Answer: B", "turns")), frozenset({"code"})),
    ((*searched("gas", "nothing"), *ended("It is the gas.")), frozenset({"search"})),
)
SOME, ANY = (st.lists(st.sampled_from([0.0, 1.0]), min_size=least, max_size=9).map(tuple) for least in (1, 0))


@st.composite
def evidences(draw: st.DrawFn) -> Evidence:
    """A trial with any counts, its levels there or missing."""
    events, tools = draw(st.sampled_from(STORIES))
    kinds = sorted(tools)
    swapped = dict.fromkeys([frozenset[ToolKind](), *(frozenset({kind}) for kind in kinds), frozenset(kinds)])
    rollouts = {each: draw(SOME) for each in swapped}
    runs = Replay(extended=draw(SOME), repaired=draw(SOME), rollouts=rollouts, short=draw(ANY), last_reply=draw(ANY))
    rights = draw(st.none() | st.lists(st.integers(0, 8), min_size=1, max_size=3).map(tuple))
    arms = Arms(draw(SOME), *(draw(ANY) for _ in range(4)))
    bare = evidence().no_tools[0]
    found = None if rights is None else believed(rights)
    made = evidence(
        tuple(events),
        trajectory=found,
        flip=None if found is None else flip_step(found, 0.3),
        pivotal=None,
        shapley={},
        inputs=replace(inputs(replay=draw(st.sampled_from([runs, runs, None]))), arms=arms, tools=tools),
        no_tools=tuple(replace(bare, score=right() if score else wrong()) for score in arms.none),
        steps=(0, 1, 2),
        **{name: draw(ANY) for name in ("repeats", "outset", "re_asked", "ignore_tools")},
    )
    unread = events == STORIES[-1][0] and not made.signals.misstated
    score = wrong("unparsed") if unread else wrong().model_copy(update={"extracted": ("B",)})
    return replace(made, score=score.model_copy(update={"trial": made.signals.trial}))


def attributed(of: Evidence) -> Explanation:
    """As a store has it."""
    signals, arms = of.signals, of.inputs.arms
    by_trace = attribute_by_trace(signals, of.score, of.no_tools, of.repeats, None, arms.scaffold, blame_by_arms(of))
    by_replay = attribute_by_replay(of)
    hypotheses = (by_trace,) if by_trace and by_replay else ()
    return explanation(Explained(of, by_replay or by_trace, hypotheses), conversation=STORIES[1][0])


@settings(max_examples=30, deadline=None)
@given(evidences(), st.sampled_from(["", "imported", "scripted"]))
def test_no_sentence_contradicts_the_counts_and_probabilities_of_its_trial(of: Evidence, provider: str) -> None:
    assert contradictions(replace(attributed(of), provider=provider)) == []


@settings(max_examples=30, deadline=None)
@given(evidences(), st.data())
def test_whatever_a_record_of_an_attribution_says_the_page_says_what_its_numbers_do(
    of: Evidence, data: st.DataObject
) -> None:
    """Records that no rule made: a label that is not the most probable, a note that counts otherwise."""
    names = data.draw(st.lists(st.sampled_from(get_args(Mechanism)), min_size=1, max_size=4, unique=True))
    parts = [data.draw(st.integers(1, 20)) for _ in names]
    shares = {name: part / sum(parts) for name, part in zip(names, parts, strict=True)}
    found = attribution(
        trial=of.inputs.trial,
        mechanism=names[-1],
        method=data.draw(st.sampled_from(["replay", "trace", "judge"])),
        confidence=data.draw(st.floats(0, 1)),
        distraction=None,
        shares=data.draw(st.sampled_from([{}, shares])),
        note="right without it: 99 of 99 right",
        evidence=(),
    )
    design = ReplayDesign(failures=0.5, samples=4, rollouts=12, seed=7)
    assert contradictions(explanation(Explained(of, found), design=design, store="a b/it's.sqlite")) == []


# The check itself: whatever is planted on a page that its own counts contradict is found.


OF_CALLS = {**UNREPLAYED, "inputs": replace(inputs(), arms=Arms((1.0, 1.0), offered=(1.0, 1.0), sham=(0.0, 0.0)))}
WITHOUT_TOOLS: dict[str, Any] = {"inputs": replace(inputs(replay=REPLAYED), tools=frozenset()), "steps": (0,)}
GUESSED = attribution(method="trace", mechanism="lock_in", distraction=None, confidence=0.6)
OF_THREE = explained(shares={"retrieval_distraction": 0.6, "lock_in": 0.3, "sampling_noise": 0.1})
PAGES = (
    explanation(replace(OF_THREE, hypotheses=(GUESSED,))),
    # Early answers surely get worse at a result, and the likeliest cause is none of a call.
    explanation(explained(mechanism="sampling_noise", distraction=None, evidence=())),
    # No arm has the words of the prompt alone.
    explanation(
        explained(
            evidence(tuple(ended("Answer: B")), trajectory=None, flip=None, **WITHOUT_TOOLS),
            mechanism="availability",
            distraction=None,
            evidence=(),
        ),
        conversation=tuple(ended("Answer: B")),
    ),
    # The result that has the answer comes after early answers got worse.
    explanation(explained(evidence(trajectory=believed((8, 0, 0)), flip=flip_step(believed((8, 0, 0)), 0.3)))),
    # No run without what was found is right.
    explanation(
        explained(
            evidence(
                inputs=inputs(replay=Replay(rollouts={frozenset({"search"}): (0.0, 0.0), frozenset(): (0.0, 1.0)})),
                pivotal=None,
            )
        )
    ),
    explanation(explained(evidence(**UNREPLAYED), method="trace")),
    # No repeat is right with the tools that are there.
    explanation(
        explained(
            evidence(**UNREPLAYED, repeats=(0.0,)),
            method="trace",
            mechanism="sampling_noise",
            distraction=None,
            evidence=(),
        )
    ),
    # The same wrong answer without tools; and what is just less likely than not.
    explanation(
        explained(
            evidence(score=wrong().model_copy(update={"trial": evidence().signals.trial, "extracted": ("C",)})),
            mechanism="own_error",
            distraction=None,
            confidence=0.498,
            evidence=(),
        )
    ),
    # Other trials are right where calls are forbidden, and wrong where these return nothing.
    explanation(explained(evidence(**OF_CALLS), method="trace", mechanism="budget", distraction=None)),
)
FAULTS: Mapping[str, tuple[str, Any]] = {
    "surer than it is": ("plain_why.how_sure", lambda _: "almost certainly"),
    "another cause first": ("plain_why.ranked", lambda of: list(reversed(ranked(of)))),
    "a probability of its own": ("plain_why.probable", lambda _: ".99"),
    "because of what restores nothing": ("plain_why.restores", lambda *_: True),
    "measured, of a trace": ("plain_why._basis", lambda *_: "Measured by replays."),
    "a count that no run has": (
        "changed_runs.Row.said",
        property(lambda row: f"{row.right + 1:g} of 9 answers are right"),
    ),
    "the count of another row": (
        "causes.beside",
        lambda undone, before, **more: beside(
            replace(undone, right=before.right, runs=before.runs) if before else undone, undone, **more
        ),
    ),
    "early answers left out": ("plain_why.early", lambda *_: iter(())),
    "early answers of this trial alone": ("why_signs.Evidence.at_outset", property(lambda of: (9, 9))),
    "a turn by other answers": ("plain_why.told_turn", lambda turn: told_turn(replace(turn, after=turn.before))),
    "a turn that is not inferred": ("turned.inferred", lambda turn, *_: iter((told_turn(turn),))),
    "a sign that comes too late": ("plain_why.is_late", lambda *_: False),
    "other trials unsaid": ("why_against._other_trials", lambda *_: iter(())),
    "points": ("plain_why._of_probability", lambda *_: iter(("Its largest loss is content, \u221250.0 points.",))),
    "an interval of other counts": ("causes.share", lambda right, runs: share(runs, runs + right)),
    "decided by intervals that overlap": (
        "causes.intervals_told",
        lambda rows, **more: (
            said.replace("overlap: these runs alone do not decide it", "do not overlap")
            for said in intervals_told(rows, **more)
        ),
    ),
    "a place that the page has not": ("plain_why.events_named", lambda _: "event 99"),
    "chance, and no repeat is right": ("why_against._rows_against", lambda *_: iter(())),
    "nothing against it": ("why_against._others_together", lambda _, **__: "Nothing was found against it."),
    "two probabilities of a cause": (
        "why_against._read_otherwise",
        lambda other, _: f"The trace alone points to {named(other.mechanism)}: probability .60.",
    ),
    "silent on an earlier turn": ("why_against._turn_against", lambda *_: iter(())),
    "one of two that no run tells apart": ("plain_why._named_together", lambda cause, *_: named(cause)),
    "a trial beside itself": ("changed_runs.is_alone", lambda _: False),
    "sums of other runs": ("plain_why.together", lambda *of: [replace(row, right=0.0) for row in together(*of)]),
    "few runs, and not how to have more": ("not_known._few_runs", lambda *_: iter(())),
    "the same answer unsaid": ("plain_why.same_without_tools", lambda _: iter(())),
    "a half of what is less": ("plain_why.probable", lambda value: ".50" if 0.4 < value < 0.5 else probable(value)),
    "a command that is none": ("not_known._replaying", lambda *_, **__: "toolablate attribute STORE --replays"),
}


def test_pages_to_plant_faults_on_have_none() -> None:
    assert [contradictions(told) for told in PAGES] == [[]] * len(PAGES)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_contradiction_is_found(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    where, planted = FAULTS[fault]
    monkeypatch.setattr(f"toolablate.reports.{where}", planted)
    assert [said for told in PAGES for said in contradictions(told)]
