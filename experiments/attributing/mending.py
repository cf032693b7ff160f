"""Answers that could not be read, of the runs that a trial is compared with: each is asked for once more, as the
trial's own is, so that the loss of its form is not taken for anything else."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from toolablate.analysis.arms import ladders
from toolablate.experiments.attributing.case import Case, ending_of
from toolablate.experiments.attributing.outcomes import Outcomes
from toolablate.experiments.attributing.program import Asked, Purpose, PurposeKind
from toolablate.traces.records import AnswerNow, Condition
from toolablate.traces.store import Observation, Store

COMPARED: frozenset[PurposeKind] = frozenset({"rollout", "extended", "repaired", "turning", "worth"})
"""Replays that run to their end. Of the others each is asked for its answer alone."""


def closing(store: Store, trial: str) -> Asked | None:
    """What is asked of a run whose answer could not be read, None where it gave none."""
    ending = ending_of(store.conversation(trial))
    return None if ending is None else Asked(Purpose("closing"), ending, AnswerNow(), 1)


def unparsed_replays(outcomes: Outcomes) -> Iterator[str]:
    """The ids of replays of a trial whose answer could not be read."""
    for purpose, replays in outcomes.items():
        if purpose.kind in COMPARED:
            yield from (each.trial for each in replays if each.verdict == "unparsed")


def compared_runs(wanted: Iterable[Asked]) -> int:
    """The runs of which the answer may turn out to be unreadable, and is then asked for again."""
    return sum(asked.repeats for asked in wanted if asked.purpose.kind in COMPARED)


def closings_of(case: Case, runs: int) -> Asked | None:
    """One of each of so many replays of a trial, asked of the trial itself; None where there are none."""
    event = case.last if case.ending is None else case.ending
    return Asked(Purpose("closing"), event, AnswerNow(), runs) if runs and event is not None else None


def unparsed_arms(
    candidates: Sequence[Observation], seen: Sequence[Observation], conditions: Mapping[str, Condition]
) -> Iterator[str]:
    """The ids of trials of the same questions and models, under the arms that the candidates are compared with, whose
    answer could not be read; also of candidates that are not chosen, since the levels of arms must not depend on the
    lot. `conditions` has those of all trials by the names that these show."""
    of_ladders = {ladder.toolset: frozenset(ladder.arms.values()) - {ladder.toolset} for ladder in ladders(conditions)}
    bare = frozenset(name for name, condition in conditions.items() if not condition.tools)
    arms = {(each.model, each.question, arm) for each in candidates for arm in of_ladders.get(each.condition, bare)}
    return (
        each.trial
        for each in seen
        if each.verdict == "unparsed"
        and each.outcome != "failed"
        and (each.model, each.question, each.condition) in arms
    )
