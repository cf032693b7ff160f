"""What the replays of one trial and the arms below its condition say."""

from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from toolablate.analysis.arms import UNPROMPTED, ArmKind, has_ladder, ladders
from toolablate.analysis.attribution.belief import BeliefFlip, Probe, Trajectory, flip_step, trajectory
from toolablate.analysis.attribution.decomposition import ARMS_WITHOUT_CALLS, Arms, Replay, Scores, ToolKind
from toolablate.analysis.attribution.evidence import PivotalResult
from toolablate.analysis.attribution.signals.of_trace import troubles_of
from toolablate.analysis.attribution.signals.signal_types import Signals, Trouble
from toolablate.analysis.attribution.trace_rules import fail_by_themselves
from toolablate.analysis.pairing import RIGHT, counts, mean
from toolablate.analysis.shapley import ShapleyEstimate, design, shapley_values
from toolablate.experiments.attribution.cases import Case
from toolablate.traces.records import Condition, Event, ModelCall, ReplayPurpose, ReplayPurposeKind, ToolCall, Trace
from toolablate.traces.store import Counterfactual, Store, TrialSummary

# Answers that could not be read, and were asked for once more.


Children = Callable[[str], Sequence[Counterfactual]]
"""The counterfactuals of a trial, by its id."""


class AnswerReAsks:
    """Scores with unreadable answers asked for once more. `never_re_asked` counts the trials of which none was."""

    def __init__(self, store: Store, children: Children) -> None:
        self._store = store
        self._children = children
        self._known: dict[str, float | None] = {}

    @property
    def never_re_asked(self) -> int:
        return sum(value is None for value in self._known.values())

    def of_trials(self, trials: Iterable[TrialSummary]) -> Scores | None:
        """Of those that count; None where some lost their format and none was asked for again: what they would score
        is not known."""
        known = [each for each in trials if counts(each)]
        scores = tuple(self._re_asked(each.trial, each.value or 0.0, each.verdict, 0) for each in known)
        return None if any(self._known.get(each.trial, 0.0) is None for each in known) else scores

    def of_replays(self, replays: Iterable[Counterfactual]) -> Scores:
        """Of those that have a score."""
        return tuple(
            self._re_asked(each.trial, each.value, each.verdict, each.resumption.event)
            for each in replays
            if each.value is not None
        )

    def run_again(self, trial: TrialSummary) -> list[Counterfactual]:
        """Of a trial in which nothing was called its runs from its start that replays made and that have a score."""
        return [
            each for each in self._children(trial.trial) if each.value is not None and AGAIN in each.resumption.purposes
        ]

    def _re_asked(self, trial: str, value: float, verdict: str | None, before: int) -> float:
        """`before` its own events its conversation has as many of its parents."""
        if verdict != "unparsed":
            return value
        if trial not in self._known:
            scores = self._scores_re_asked(trial, before)
            self._known[trial] = mean(scores) if scores else None
        re_asked = self._known[trial]
        return value if re_asked is None else re_asked

    def again(self, replay: Counterfactual) -> Sequence[Counterfactual]:
        """Those that asked a replay for its answer once more, and have a score."""
        return self._of(replay.trial, replay.resumption.event)

    def _scores_re_asked(self, trial: str, before: int) -> Scores:
        return values(self._of(trial, before))

    def _of(self, trial: str, before: int) -> Sequence[Counterfactual]:
        """What was asked for just before the trial's answer: after its final reply."""
        asked = [each for each in self._children(trial) if _is_re_ask(each)]
        answered = self._store.answered_at(trial) if asked else None
        if answered is None:
            return ()
        return [each for each in asked if each.resumption.event == before + answered and each.value is not None]


def _is_re_ask(replay: Counterfactual) -> bool:
    return any(purpose.kind == "answer_re_ask" for purpose in replay.resumption.purposes)


def values(replays: Iterable[Counterfactual]) -> Scores:
    """The scores of those that have one, as they are."""
    return tuple(each.value for each in replays if each.value is not None)


# What the stored replays of a trial came to, by the purposes in their records.


TAU = 0.3
"""How far a belief in the right answer has to fall for a flip."""

LAST_REPLY = ReplayPurpose(kind="last_reply")
AGAIN = ReplayPurpose(kind="rollout")
"""The same once more: from the first call on, of a trial without calls from its start."""

Outcomes = Mapping[ReplayPurpose, Sequence[Counterfactual]]
"""A trial's replays by what they are for, in the order of their repeats, those that did not end among them."""


def outcomes_of(case: Case, counterfactuals: Iterable[Counterfactual]) -> Outcomes:
    """By the purposes in their records, of counterfactuals of the trial as `Store.counterfactuals` gives them; those of
    another attempt are left out."""
    found: dict[ReplayPurpose, list[Counterfactual]] = defaultdict(list)
    for each in counterfactuals:
        if (each.resumption.trial, each.resumption.attempt) == (case.trial, case.attempt):
            for purpose in each.resumption.purposes:
                found[purpose].append(each)
    return found


def belief_of(case: Case, outcomes: Outcomes, re_asks: AnswerReAsks | None = None) -> Trajectory | None:
    """By the probes that there are, None without any. Before its last reply a trial is asked freely, by drawing
    it again."""
    probes = [
        probe
        for purpose, replays in outcomes.items()
        if purpose.step is not None and (probe := _probe(purpose.step, replays, re_asks)) is not None
    ]
    last = _probe(len(case.steps) - 1, outcomes.get(LAST_REPLY, ()), re_asks)
    if last is not None:
        probes = [*(probe for probe in probes if probe.step != last.step), last]
    return trajectory(probes) if probes else None


def flip_of(case: Case, outcomes: Outcomes, re_asks: AnswerReAsks | None = None) -> BeliefFlip | None:
    """Where the belief falls by TAU for good."""
    found = belief_of(case, outcomes, re_asks)
    return flip_step(found, TAU) if found else None


def is_right(replay: Counterfactual) -> bool:
    return replay.value is not None and replay.value >= RIGHT


def _probe(step: int, replays: Sequence[Counterfactual], re_asks: AnswerReAsks | None) -> Probe | None:
    """One that has no readable answer tells no early answer. A last reply is asked for it once more, and is wrong where
    nobody asked, as it is wherever replays are counted."""
    options: dict[str, int] = defaultdict(int)
    right = unreadable = 0
    for each in (replay for replay in replays if replay.value is not None):
        again = re_asks.again(each) if re_asks is not None and each.verdict == "unparsed" else ()
        read = again[0] if again else each
        if read.verdict != "unparsed":
            # A judge reads no answer out of a reply: its verdict is all that tells replies apart.
            options[", ".join(read.answered) or str(read.verdict)] += 1
            right += is_right(read)
        elif LAST_REPLY in each.resumption.purposes:
            unreadable += 1
    return Probe(step, options, unreadable, right) if options or unreadable else None


COMPARED: frozenset[ReplayPurposeKind] = frozenset(
    {"rollout", "last_reply", "short", "extended", "repaired", "pivotal", "shapley"}
)
"""Replays that run to their end. Of the others each is asked for its answer alone."""


def unparsed_replays(outcomes: Outcomes) -> Iterator[str]:
    """The ids of replays of a trial whose answer could not be read."""
    for purpose, replays in outcomes.items():
        if purpose.kind in COMPARED:
            yield from (each.trial for each in replays if each.verdict == "unparsed")


# What the replays of one trial say, by what they are for.


@dataclass(frozen=True, slots=True)
class Replays:
    """Of one trial; each as `Evidence` has it. `runs` are all, and `replay` those of the decomposition; they have no
    signals yet, and are None where its reasoning was never drawn again."""

    trajectory: Trajectory | None = None
    flip: BeliefFlip | None = None
    re_asked: Scores = ()
    ignore_tools: Scores = ()
    pivotal: PivotalResult | None = None
    shapley: Mapping[int, ShapleyEstimate] = field(default_factory=dict)
    runs: Replay | None = None
    replay: Replay | None = None
    answered: Mapping[ReplayPurpose, tuple[str, ...]] = field(default_factory=dict)
    came_again: Mapping[int, int] = field(default_factory=dict)


def replays_of(
    case: Case,
    signals: Signals,
    own: Scores,
    counterfactuals: Iterable[Counterfactual],
    re_asks: AnswerReAsks,
    traces: Callable[[str], Trace],
    rollouts: int,
) -> Replays:
    """`own` is the trial's score where its answer could be read, else nothing; `traces` reads a trial's trace. The
    decomposition gets the first `rollouts` runs of each level: whether more were run depends on what these came to."""
    outcomes = outcomes_of(case, counterfactuals)
    # The first of all, and then those of them that count: which a later run would replace depends on what they came to.
    first: Outcomes = {purpose: replays[:rollouts] for purpose, replays in outcomes.items()}
    of_provider = {call.event for call in signals.calls if call.by_provider}
    if _tools_failed(signals.troubles, of_provider):
        outcomes, first = (
            {purpose: _with_tools_that_work(purpose, each, traces) for purpose, each in some.items()}
            for some in (outcomes, first)
        )
    if not outcomes:
        return Replays()
    re_asked = _values(outcomes, "answer_re_ask")
    return Replays(
        trajectory=belief_of(case, outcomes, re_asks),
        flip=flip_of(case, outcomes, re_asks),
        re_asked=re_asked,
        ignore_tools=_values(outcomes, "ignore_tools"),
        # Results were left out where the belief fell before any reply was asked once more.
        pivotal=_pivotal(case, flip_of(case, outcomes), outcomes, re_asks),
        shapley=_shapley(case, outcomes, re_asks),
        runs=_replay(case, own, re_asked, outcomes, re_asks),
        replay=_replay(case, own, re_asked, first, re_asks),
        answered={
            purpose: tuple(_answer(each, re_asks) for each in some if each.value is not None)
            for purpose, some in outcomes.items()
            if purpose.kind in ANSWERED
        },
        came_again=_came_again(case, outcomes, traces),
    )


def _came_again(case: Case, outcomes: Outcomes, traces: Callable[[str], Trace]) -> Mapping[int, int]:
    """Of each result after the second reply, in how many of the replays that go on from the first result a reply made a
    call that gave the same, by its event."""
    if not case.results:
        return {}
    after = next((step for step in case.steps if step > case.results[0].event), None)
    later = [each for each in case.results if after is not None and each.event > after]
    again = [traces(each.trial) for each in outcomes.get(AGAIN, ()) if each.value is not None] if later else []
    if not again:
        return {}
    # Their own events begin with the calls that are kept.
    events, given = traces(case.trial).events, [_outputs(_since_a_reply(each.events)) for each in again]
    return {
        each.event: sum(not given_there.isdisjoint(_outputs([events[each.event]])) for given_there in given)
        for each in later
    }


def _since_a_reply(events: Sequence[Event]) -> Sequence[Event]:
    first = next((place for place, event in enumerate(events) if isinstance(event, ModelCall)), len(events))
    return events[first:]


def _outputs(events: Iterable[Event]) -> frozenset[str]:
    return frozenset(event.output.strip() for event in events if isinstance(event, ToolCall))


def _answer(replay: Counterfactual, re_asks: AnswerReAsks) -> str:
    """As it counts: of one that could not be read what it answered once more."""
    again = re_asks.again(replay) if replay.verdict == "unparsed" else ()
    return ", ".join((again[0] if again else replay).answered)


ANSWERED: frozenset[ReplayPurposeKind] = frozenset({"rollout", "short", "extended", "repaired"})
"""Replays of which a page says what each answered. What is asked at once, and what the last reply says again, stands
there by its step."""


def _with_tools_that_work(
    purpose: ReplayPurpose, replays: Sequence[Counterfactual], traces: Callable[[str], Trace]
) -> Sequence[Counterfactual]:
    """Without the replays that were to have such tools, and in which one failed again: no intervention made it fail
    that could be left out, and it was not asked again, or has no better to say."""
    if purpose.kind not in ("repaired", "rollout", "short"):
        return replays
    return [each for each in replays if each.value is None or not _failed_again(traces(each.trial))]


def _failed_again(trace: Trace) -> bool:
    of_provider = {
        place for place, event in enumerate(trace.events) if isinstance(event, ToolCall) and event.by_provider
    }
    return _tools_failed(troubles_of(trace), of_provider)


def _tools_failed(troubles: Iterable[Trouble], of_provider: Container[int]) -> bool:
    """Whether tools failed that a replay can have work: not what the provider's own, at these events, failed to do."""
    return fail_by_themselves(each for each in troubles if each.event not in of_provider)


def _replay(case: Case, own: Scores, re_asked: Scores, outcomes: Outcomes, re_asks: AnswerReAsks) -> Replay | None:
    """Levels that nothing leads to are those before them."""
    rollouts = _rollouts(outcomes, re_asks)
    if not rollouts.get(frozenset()):
        return None
    extended = _re_asked(outcomes, "extended", re_asks) if case.budget is not None else own or re_asked
    return Replay(
        extended=extended,
        repaired=_re_asked(outcomes, "repaired", re_asks) if case.fault is not None else extended,
        rollouts=rollouts,
        short=_re_asked(outcomes, "short", re_asks) if case.is_long else None,
        last_reply=_re_asked(outcomes, "last_reply", re_asks),
        unread=sum(each.verdict == "unparsed" for each in outcomes.get(LAST_REPLY, ()) if each.value is not None),
        re_asked=() if own else re_asked,
    )


def _rollouts(outcomes: Outcomes, re_asks: AnswerReAsks) -> dict[frozenset[ToolKind], Scores]:
    found = {frozenset(purpose.placebos): each for purpose, each in outcomes.items() if purpose.kind == "rollout"}
    scored = {swapped: re_asks.of_replays(each) for swapped, each in found.items()}
    return {swapped: scores for swapped, scores in scored.items() if scores}


def _pivotal(case: Case, flip: BeliefFlip | None, outcomes: Outcomes, re_asks: AnswerReAsks) -> PivotalResult | None:
    event = case.turned_by(flip) if flip else None
    kept, without = (
        re_asks.of_replays(outcomes.get(ReplayPurpose(kind="pivotal", event=event, kept=each), ()))
        for each in (True, False)
    )
    return PivotalResult(event, kept, without) if event is not None and kept and without else None


def _shapley(case: Case, outcomes: Outcomes, re_asks: AnswerReAsks) -> dict[int, ShapleyEstimate]:
    """By the results' events; nothing where runs of some choice of results are lacking."""
    found = {
        frozenset(purpose.real): scores
        for purpose, each in outcomes.items()
        if purpose.kind == "shapley" and (scores := re_asks.of_replays(each))
    }
    if not found:
        return {}
    over = design(len(case.shown))
    if not found.keys() >= set(over.subsets):
        return {}
    return dict(zip(case.shown, shapley_values(over, found), strict=True))


def _values(outcomes: Outcomes, kind: ReplayPurposeKind) -> Scores:
    return values(outcomes.get(ReplayPurpose(kind=kind), ()))


def _re_asked(outcomes: Outcomes, kind: ReplayPurposeKind, re_asks: AnswerReAsks) -> Scores:
    return re_asks.of_replays(outcomes.get(ReplayPurpose(kind=kind), ()))


# The arms below a condition with tools: which conditions they are, and what a question scores under each.


def arms_below(conditions: Mapping[str, Condition], baseline: str) -> dict[str, Mapping[ArmKind, str]]:
    """Of each condition with tools the arms that it is set against, `none` among them, by their labels."""
    found = {ladder.toolset: ladder.arms for ladder in ladders(conditions)}
    without = {name: each for name, each in conditions.items() if each.without_tools}
    return {
        name: found[name] if name in found else _without_ladder(each, without, baseline)
        for name, each in conditions.items()
        if has_ladder(each) and (name in found or (without and not each.name.endswith(UNPROMPTED)))
    }


class Ladders:
    """Trials by model, question and condition, and the conditions with tools with the arms below them.

    A condition that has no ladder is set against one of those without tools and words of their own, or else of those
    without tools, the baseline, or else the first; one without tools that has its words is its scaffold.
    """

    def __init__(
        self, seen: Iterable[TrialSummary], conditions: Mapping[str, Condition], baseline: str, re_asks: AnswerReAsks
    ) -> None:
        self._trials: dict[tuple[str, str, str], list[TrialSummary]] = defaultdict(list)
        for each in seen:
            self._trials[each.model, each.question, each.condition].append(each)
        self._re_asks = re_asks
        self._conditions = conditions
        self._arms = arms_below(conditions, baseline)

    @property
    def prompted(self) -> frozenset[str]:
        """The conditions without tools that others are set against although they have words of their own."""
        against = {arms["none"] for arms in self._arms.values()}
        return frozenset(name for name in against if self._conditions[name].prompt)

    @property
    def with_tools(self) -> Sequence[str]:
        """The conditions that can be explained."""
        return tuple(self._arms)

    def pair(self, condition: str) -> tuple[Condition, Condition]:
        """The condition without tools that one is set against, and the one itself."""
        return self._conditions[self._arms[condition]["none"]], self._conditions[condition]

    def tools_of(self, condition: str) -> str:
        """One for all conditions that give the same tools, and differ in what makes these fail or wait alone."""
        found = self._conditions[condition]
        others = tuple(each for each in found.interventions if each.name not in ("fail", "delay"))
        return found.model_copy(update={"name": "", "interventions": others}).identity()

    def has_arms(self, condition: str) -> bool:
        """Whether there is any between no tools and all; without words of its own the scaffold is none."""
        scaffold: set[ArmKind] = {"scaffold"} if self._conditions[condition].prompt else set()
        return bool(self._arms[condition].keys() & ({"offered", "sham", "placebo"} | scaffold))

    def without_tools(self, seen: TrialSummary) -> list[str]:
        """The ids of the question's trials without tools that count, then of their runs that replays made."""
        none = self._counted(seen, "none")
        return [*(each.trial for each in none), *(run.trial for each in none for run in self._re_asks.run_again(each))]

    def below(self, seen: TrialSummary) -> Arms | None:
        """None where no trial without tools counts."""
        none = tuple(each.value or 0.0 for each in self._counted(seen, "none"))
        if not none:
            return None
        no_tools = self._re_asked(seen, "none")
        arms = self._arms[seen.condition]
        same_words = not (self._conditions[seen.condition].prompt or self._conditions[arms["none"]].prompt)
        again = {arm: self._again(seen, arm) for arm in ARMS_WITHOUT_CALLS if not (same_words and arm == "scaffold")}
        scaffold = no_tools if same_words else self._re_asked(seen, "scaffold")
        offered = self._re_asked(seen, "offered")
        return Arms(
            none=none,
            scaffold=(*scaffold, *values(again.get("scaffold", ()))) if scaffold else (),
            offered=(*offered, *values(again["offered"])) if offered else (),
            sham=self._re_asked(seen, "sham") or (),
            placebo=self._re_asked(seen, "placebo") or (),
            no_tools=no_tools if no_tools != none else (),
            none_again=values(again["none"]),
            again={arm: len(runs) for arm, runs in again.items() if runs},
        )

    def _again(self, seen: TrialSummary, kind: ArmKind) -> list[Counterfactual]:
        """Of those without tools all, as its own are; of others those that can be read: no other is asked once more."""
        runs = (run for each in self._counted(seen, kind) for run in self._re_asks.run_again(each))
        return [run for run in runs if kind == "none" or run.verdict != "unparsed"]

    def _counted(self, seen: TrialSummary, kind: ArmKind) -> list[TrialSummary]:
        return [each for each in self._of(seen, kind) if counts(each)]

    def _re_asked(self, seen: TrialSummary, kind: ArmKind) -> Scores | None:
        return self._re_asks.of_trials(self._of(seen, kind))

    def _of(self, seen: TrialSummary, kind: ArmKind) -> list[TrialSummary]:
        label = self._arms[seen.condition].get(kind)
        return [] if label is None else self._trials.get((seen.model, seen.question, label), [])


def _without_ladder(condition: Condition, without: Mapping[str, Condition], baseline: str) -> Mapping[ArmKind, str]:
    no_tools = [name for name, each in without.items() if not each.prompt] or list(without)
    none = baseline if baseline in no_tools else no_tools[0]
    worded = (name for name, each in without.items() if condition.prompt and each.prompt == condition.prompt)
    scaffold = next((name for name in worded if name != none), None)
    return {"none": none} if scaffold is None else {"none": none, "scaffold": scaffold}
