"""Reads what several scorers of a store made of the same trials: what `agreement` shows."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from toolablate.analysis.agreement import (
    AgreementReport,
    Disagreement,
    Gradings,
    agreement_report,
    disagreements,
    gradings,
    is_judge,
    ordered,
    scorer_pairs,
    side_by_side,
)
from toolablate.analysis.comparing.paired import observe, paired
from toolablate.analysis.comparing.scorer_names import scorer_meant
from toolablate.traces.errors import InputError
from toolablate.traces.plain import one_line
from toolablate.traces.records import REPLIES, digest_text
from toolablate.traces.store import Store

SECOND = (
    "Give the plan a second judge ([[judges]]), or let its judge grade everything twice (again = 1 under [judging]),"
    " and run it again: only the grading is done."
)


@dataclass(frozen=True, slots=True)
class Graded:
    """Trials with the scores of several scorers, the pairs of these to set side by side, the baseline's name and the
    order of the conditions. `answers` has for each trial that a judge has graded a digest of its answer, none where
    judges' replies are recorded; `left_out` counts ended trials of the store that the chosen run did not call for."""

    gradings: Gradings
    pairs: tuple[tuple[str, str], ...]
    baseline: str
    order: tuple[str, ...]
    answers: Mapping[str, str]
    left_out: int

    def report(self) -> AgreementReport:
        return agreement_report(self.gradings, self.pairs, self.baseline, answers=self.answers, order=self.order)

    def disagreements(self) -> list[Disagreement]:
        return disagreements(self.gradings, self.pairs, order=self.order)


def read_graded(path: Path, *, run: str = "latest", scorers: Sequence[str] = (), with_answers: bool = True) -> Graded:
    """The trials that one run called for (`latest`, or the beginning of its id), or `all` that the store holds, with
    the scores of all scorers or of those that are named. Without `with_answers` no trace is read, which is quicker, and
    answers of the same text are not known. Raises InputError where no trial has scores by two of them, StoreError."""
    with Store(path) as store, store.at_one_moment():
        known = store.scorers()
        if not known:
            raise InputError(f"{path} holds no score yet", hint="toolablate run PLAN", code="no_scorer")
        named = list(dict.fromkeys(scorer_meant(known, said) for said in scorers))
        if len(named) == 1:
            raise InputError(
                f"--scorer names one scorer alone: {one_line(named[0])}",
                hint="Name another beside it, or none to set all of them side by side.",
                code="usage",
            )
        chosen = named or ordered(known, [name for each in store.runs() for name in each.scorers])
        trials = paired(store, run=run, scorer=chosen[0])
        found = gradings({scorer: observe(store, run=run, scorer=scorer) for scorer in chosen})
        pairs = _pairs(path, found, combinations(found, 2) if scorers else scorer_pairs(found))
        answers = _answers(store, found) if with_answers and not _recorded(store) else {}
    return Graded(found, tuple(pairs), trials.baseline, trials.order, answers, trials.left_out)


def _pairs(path: Path, found: Gradings, pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Those that have looked at the same trials."""
    shared = [pair for pair in pairs if side_by_side(found, *pair)]
    if shared:
        return shared
    names = ", ".join(map(one_line, found))
    if len(found) > 1:
        told = f"No trial of {path} has scores by two of its scorers: {names}"
    else:
        told = (
            f"The trials of {path} have scores by one scorer alone: {names}" if found else f"No trial is scored: {path}"
        )
    raise InputError(told, hint=SECOND, code="one_scorer")


def _recorded(store: Store) -> bool:
    """Whether a judge's replies may be kept and shared by equal answers, of which two then say nothing of its noise."""
    return any(run.world.get(REPLIES, "live") != "live" for run in store.runs())


def _answers(store: Store, found: Gradings) -> dict[str, str]:
    """Of the trials that a judge has graded, where a question has several of them."""
    graded = {
        trial: seen.question
        for scorer, trials in found.items()
        for trial, seen in trials.items()
        if is_judge(scorer) and seen.value is not None
    }
    several = Counter(graded.values())
    traces = (store.trace(trial) for trial, question in graded.items() if several[question] > 1)
    return {trace.trial.id: digest_text(trace.answer) for trace in traces if trace.answer is not None}
