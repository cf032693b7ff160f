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
from toolablate.analysis.attribution.belief import belief_steps, flip_step
from toolablate.analysis.attribution.change_rates import ChangeRates, FittedRate, Step, prior_rate
from toolablate.analysis.attribution.decomposition import Arms, Replay, ToolKind
from toolablate.analysis.attribution.evidence import Evidence, Explained, Explanation
from toolablate.analysis.attribution.replay_rules import attribute_by_replay
from toolablate.analysis.attribution.trace_rules import attribute_by_trace
from toolablate.reports.why.against import NOTHING, named_shares
from toolablate.reports.why.answer_source import stands_in
from toolablate.reports.why.causes import CAUSES, counted_runs, ranked
from toolablate.reports.why.changed_runs import levels_of, total
from toolablate.reports.why.happened import Happened
from toolablate.reports.why.rests_on import column_of
from toolablate.reports.why.turn import Count, Turn
from toolablate.reports.why.would_tell import _Test
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
def evidences(draw: st.DrawFn) -> tuple[Evidence, tuple[Event, ...]]:
    """A trial with any counts, its levels there or missing, and its events."""
    events, tools = draw(st.sampled_from(STORIES))
    kinds = sorted(tools)
    swapped = dict.fromkeys([frozenset[ToolKind](), *(frozenset({kind}) for kind in kinds), frozenset(kinds)])
    rollouts = {each: draw(SOME) for each in swapped}
    runs = Replay(extended=draw(SOME), repaired=draw(SOME), rollouts=rollouts, short=draw(ANY), last_reply=draw(ANY))
    steps = tuple(belief_steps(events))
    rights = draw(st.none() | st.lists(st.integers(0, 8), min_size=1, max_size=len(steps)).map(tuple))
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
        steps=steps,
        **{name: draw(ANY) for name in ("repeats", "outset", "re_asked", "ignore_tools")},
    )
    unread = events == STORIES[-1][0] and not made.signals.misstated
    score = wrong("unparsed") if unread else wrong().model_copy(update={"extracted": ("B",)})
    return replace(made, score=score.model_copy(update={"trial": made.signals.trial})), tuple(events)


STEPS: tuple[Step, ...] = (
    *((part, where) for part in ("search", "code", "calling") for where in ("at_the_fall", "has_the_answer", "elsewhere")),
    *((part, "not_asked") for part in ("search", "code", "calling")),
    *((part, where) for part in ("availability", "prompt") for where in ("called", "not_called")),
    *(("volume", "long"), ("budget", ""), ("tool_fault", "")),
)  # fmt: skip
RATES = st.lists(st.floats(0.01, 0.99), min_size=len(STEPS), max_size=len(STEPS)).map(
    lambda drawn: ChangeRates(
        store={step: FittedRate(step, prior_rate(step), rate, 12, 9) for step, rate in zip(STEPS, drawn, strict=True)}
    )
)


def attributed(of: Evidence, events: tuple[Event, ...], rates: ChangeRates) -> Explanation:
    """As a store has it."""
    signals, arms = of.signals, of.inputs.arms
    by_trace = attribute_by_trace(signals, of.score, of.no_tools, of.repeats, None, arms.scaffold, blame_by_arms(of))
    by_replay = attribute_by_replay(of, rates)
    hypotheses = (by_trace,) if by_trace and by_replay else ()
    return explanation(Explained(of, by_replay or by_trace, hypotheses), conversation=events, rates=rates)


@settings(max_examples=15, deadline=None)
@given(evidences(), st.sampled_from(["", "imported", "scripted"]), st.just(ChangeRates()) | RATES)
def test_no_sentence_contradicts_the_counts_and_probabilities_of_its_trial(
    of: tuple[Evidence, tuple[Event, ...]], provider: str, rates: ChangeRates
) -> None:
    assert contradictions(replace(attributed(*of, rates), provider=provider)) == []


@settings(max_examples=15, deadline=None)
@given(evidences(), st.data())
def test_whatever_a_record_of_an_attribution_says_the_page_says_what_its_numbers_do(
    drawn: tuple[Evidence, tuple[Event, ...]], data: st.DataObject
) -> None:
    """Records that no rule made: a label that is not the most probable, a note that counts otherwise."""
    of, events = drawn
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
    told = explanation(Explained(of, found), conversation=events, design=design, store="a b/it's.sqlite")
    assert contradictions(told) == []


# The check itself: whatever is planted on a page that its own counts contradict is found.


OF_CALLS = {**UNREPLAYED, "inputs": replace(inputs(), arms=Arms((1.0, 1.0), offered=(1.0, 1.0), sham=(0.0, 0.0)))}
WITHOUT_TOOLS: dict[str, Any] = {"inputs": replace(inputs(replay=REPLAYED), tools=frozenset()), "steps": (0,)}
OF_CODE = (*ran("print(2)", "molecular nitrogen"), *searched("gas", "1. Plants"), *ended("Answer: B"))
GUESSED = attribution(method="trace", mechanism="lock_in", distraction=None, confidence=0.6)
OF_THREE = explained(shares={"retrieval_distraction": 0.6, "lock_in": 0.3, "sampling_noise": 0.1})
FALL: Step = ("search", "at_the_fall")
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
    # No result is quoted for a cause by chance, and one has the answer.
    explanation(
        explained(
            evidence(tuple(OF_CODE), trajectory=believed((8,)), flip=None),
            mechanism="own_error",
            distraction=None,
            shares={"own_error": 0.95, "lock_in": 0.05},
            confidence=0.95,
        ),
        conversation=tuple(OF_CODE),
    ),
    # Two that are as likely.
    explanation(explained(shares={"retrieval_distraction": 0.4, "calling": 0.38, "lock_in": 0.22})),
    # Wrong before any call.
    explanation(explained(evidence(trajectory=believed((1, 0, 0)), flip=None))),
    # More probable than its runs make it, though it is rarer in the store than was assumed.
    explanation(
        explained(evidence(pivotal=None), shares={"retrieval_distraction": 0.9, "sampling_noise": 0.1}),
        rates=ChangeRates(store={FALL: FittedRate(FALL, 0.5, 0.2, 12, 12)}),
    ),
    # Other trials are right where calls are forbidden, and wrong where these return nothing.
    explanation(explained(evidence(**OF_CALLS), method="trace", mechanism="budget", distraction=None)),
)
_DEFINED = f"{CAUSES['sampling_noise'][0]} ({CAUSES['sampling_noise'][1]}); "
FAULTS: Mapping[str, tuple[str, Any]] = {
    "surer than it is": ("why.page.how_sure", lambda _: "almost certainly"),
    "another cause first": ("why.causes.ranked", lambda of: list(reversed(ranked(of)))),
    "probabilities that do not add to 1": (
        "why.page.named_shares",
        lambda *of: replace(named_shares(*of), hundredths=min(99, named_shares(*of).hundredths + 7)),
    ),
    "a rival left out": ("why.page._less_likely", lambda _: ""),
    "measured, of a trace": ("why.page._basis", lambda *_: ": the 4 answers counted below"),
    "other replays than there are": ("why.page.counted_runs", lambda of: counted_runs(of)[1:]),
    "a rung with another count": ("why.rungs.total", lambda rows: total([*rows, *rows])),
    "probabilities of the table that do not add to 1": ("why.rungs.told_hundredths", lambda _: ".40"),
    "a cause at another rung": ("why.rungs.blamed_at", lambda *_: ("retrieval_distraction",)),
    "an answer that its result has not": ("why.against.stands_in", lambda at, told: stands_in(at + 2, told)),
    "a count that no run has": ("why.changed_runs.Row.count", property(lambda row: f"{row.right + 1:g} of 99")),
    "early answers before any call left out": ("why.against.early_answers_against", lambda *_: iter(())),
    "early answers of this trial alone": ("why.happened.Evidence.at_outset", property(lambda of: (9, 9))),
    "a turn by other answers": (
        "why.turn.Turn.counts",
        property(lambda turn: f"{turn.after} right before it, {turn.before} after it"),
    ),
    "a row in two groups": ("why.rungs.uncounted", levels_of),
    "ranked, and as likely": ("why.page.as_likely", lambda _: ()),
    "an event that the page has not": ("why.page.happened", lambda cause, told: Happened("it went on (event 3)")),
    "nothing found, and something": (
        "why.against.same_without_tools",
        lambda *_, **__: f"{NOTHING} But the same wrong answer",
    ),
    "defined twice": ("why.page._less_likely", lambda _: f" Less likely: {2 * _DEFINED}."),
    "a fall where none is known": ("html.beliefs.turn_of", lambda _: Turn(0, 1, Count(1, 1), Count(0, 1), 1.0)),
    "another turn in lists": ("why.turn.as_told", lambda found, _: found.model_copy(update={"turned_at": 99})),
    "runs that it does not rest on": ("why.rests_on.WithoutRuns.turns", lambda *_: True),
    "a verdict that one kind of run turns, and said not to": ("why.rests_on.WithoutRuns.turns", lambda *_: False),
    "other probabilities without runs": ("why.rests_on.told_hundredths", lambda *_: ".99"),
    "more chance than there is": (
        "why.page.wrong_anyway_part",
        lambda told: 0.99 * ("sampling_noise" in named_shares(told, told.explained.attribution).named),
    ),
    "marks of other runs": (
        "why.page.column_of",
        lambda *of: dict(zip(column_of(*of), reversed([*column_of(*of).values()]), strict=True)),
    ),
    "marks of another cause": (
        "why.page.column_of",
        lambda told, shares, rests: column_of(told, replace(shares, cause="unknown"), rests),
    ),
    "other counts without a cause": (
        "why.page.beside_its_line",
        lambda cause, *_: f"Without “{CAUSES[cause][0]}” (from the line “x” on) 1 of 99 are right, with it 1 of 99.",
    ),
    "another count at all lines": (
        "why.page.beside_its_line",
        lambda *_: "Right answers: with nothing taken away 1 of 99, at all lines 1 of 99.",
    ),
    "marks that their own counts go against": ("why.rests_on._fits", lambda *_: -1),
    "runs without their marks": ("why.page.column_of", lambda *_: {}),
    "a command that is none": (
        "why.would_tell._beside_chance",
        lambda *_: _Test(1, "--swaps", "", "lock_in", "calling"),
    ),
}


def test_pages_to_plant_faults_on_have_none() -> None:
    assert [contradictions(told) for told in PAGES] == [[]] * len(PAGES)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_contradiction_is_found(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    where, planted = FAULTS[fault]
    monkeypatch.setattr(f"toolablate.reports.{where}", planted)
    assert [said for told in PAGES for said in contradictions(told)]
