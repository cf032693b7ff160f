"""What the replays of one trial say, by what they are for."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from toolablate.analysis.attribution.belief import Flip, Trajectory
from toolablate.analysis.attribution.decomposition import Replay, Scores, ToolKind
from toolablate.analysis.attribution.evidence import Turning
from toolablate.analysis.attribution.signals.of_trace import troubles_of
from toolablate.analysis.attribution.signals.signal_types import Signals
from toolablate.analysis.attribution.trace_rules import fail_by_themselves
from toolablate.analysis.shapley import Worth, design, shapley_values
from toolablate.experiments.attributing.case import Case
from toolablate.experiments.attributing.outcomes import Outcomes, belief_of, flip_of, outcomes_of
from toolablate.experiments.attributing.program import Purpose, PurposeKind
from toolablate.experiments.explaining.mending import Mending, values
from toolablate.traces.records import Trace
from toolablate.traces.store import Counterfactual


@dataclass(frozen=True, slots=True)
class Replays:
    """Of one trial; each as `Evidence` has it. `replay` has no signals yet, and is None where its reasoning was never
    drawn again."""

    trajectory: Trajectory | None = None
    flip: Flip | None = None
    closing: Scores = ()
    set_aside: Scores = ()
    turning: Turning | None = None
    worth: Mapping[int, Worth] = field(default_factory=dict)
    replay: Replay | None = None


def replays_of(
    case: Case,
    signals: Signals,
    own: Scores,
    counterfactuals: Iterable[Counterfactual],
    mending: Mending,
    traces: Callable[[str], Trace],
) -> Replays:
    """`own` is the trial's score where its answer could be read, else nothing; `traces` reads a trial's trace."""
    outcomes = outcomes_of(case, counterfactuals)
    if fail_by_themselves(signals.troubles):
        outcomes = {purpose: _with_tools_that_work(purpose, each, traces) for purpose, each in outcomes.items()}
    if not outcomes:
        return Replays()
    closing, flip = _values(outcomes, "closing"), flip_of(outcomes)
    return Replays(
        trajectory=belief_of(outcomes),
        flip=flip,
        closing=closing,
        set_aside=_values(outcomes, "set_aside"),
        turning=_turning(case, flip, outcomes, mending),
        worth=_worth(case, outcomes, mending),
        replay=_replay(case, own, closing, outcomes, mending),
    )


def _with_tools_that_work(
    purpose: Purpose, replays: Sequence[Counterfactual], traces: Callable[[str], Trace]
) -> Sequence[Counterfactual]:
    """Without the replays that were to have such tools, and in which one failed again: no intervention made it fail
    that could be left out, and it was not asked again, or has no better to say."""
    if purpose.kind not in ("repaired", "rollout"):
        return replays
    return [each for each in replays if each.value is None or not fail_by_themselves(troubles_of(traces(each.trial)))]


def _replay(case: Case, own: Scores, closing: Scores, outcomes: Outcomes, mending: Mending) -> Replay | None:
    """Levels that nothing leads to are those before them. A trial without results is drawn again by asking at once for
    its answer."""
    rollouts = _rollouts(outcomes, mending)
    if not case.results and case.steps:
        rollouts = {frozenset(): values(outcomes.get(Purpose("probe", step=len(case.steps) - 1), ()))}
    if not rollouts.get(frozenset()):
        return None
    extended = _mended(outcomes, "extended", mending) if case.budget is not None else own or closing
    return Replay(
        extended=extended,
        repaired=_mended(outcomes, "repaired", mending) if case.fault is not None else extended,
        rollouts=rollouts,
        mended=() if own else closing,
    )


def _rollouts(outcomes: Outcomes, mending: Mending) -> dict[frozenset[ToolKind], Scores]:
    found = {purpose.swapped: each for purpose, each in outcomes.items() if purpose.kind == "rollout"}
    scored = {swapped: mending.of_replays(each) for swapped, each in found.items()}
    return {swapped: scores for swapped, scores in scored.items() if scores}


def _turning(case: Case, flip: Flip | None, outcomes: Outcomes, mending: Mending) -> Turning | None:
    event = case.turned_by(flip) if flip else None
    kept, without = (
        mending.of_replays(outcomes.get(Purpose("turning", event=event, kept=each), ())) for each in (True, False)
    )
    return Turning(event, kept, without) if event is not None and kept and without else None


def _worth(case: Case, outcomes: Outcomes, mending: Mending) -> dict[int, Worth]:
    """By the results' events; nothing where runs of some choice of results are lacking."""
    found = {
        purpose.real: scores
        for purpose, each in outcomes.items()
        if purpose.kind == "worth" and (scores := mending.of_replays(each))
    }
    if not found:
        return {}
    over = design(len(case.shown))
    if not found.keys() >= set(over.subsets):
        return {}
    return dict(zip(case.shown, shapley_values(over, found), strict=True))


def _values(outcomes: Outcomes, kind: PurposeKind) -> Scores:
    return values(outcomes.get(Purpose(kind), ()))


def _mended(outcomes: Outcomes, kind: PurposeKind, mending: Mending) -> Scores:
    return mending.of_replays(outcomes.get(Purpose(kind), ()))
