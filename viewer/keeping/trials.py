"""The ended trials that a page or a report is about, also where nothing can be compared yet."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from toolablate.analysis.from_store import Paired, chosen_run, paired, scorer_meant
from toolablate.reports.terminal.problems import refused_notes
from toolablate.traces.errors import InputError
from toolablate.traces.plain import one_line
from toolablate.traces.store import Observation, Store, TrialCounts
from toolablate.viewer.keeping.scope import Scope


@dataclass(frozen=True, slots=True)
class Trials:
    """`run` is the whole id of the one that called for them, None for all; `models` and `conditions` are labels in the
    order of the store, of the trials alone. `scorer` is the one whose scores they have, None for those of the run.
    `notes` say what is missing for a comparison, a sentence each."""

    observations: tuple[Observation, ...]
    run: str | None
    baseline: str
    models: tuple[str, ...]
    conditions: tuple[str, ...]
    scorer: str | None
    notes: tuple[str, ...]

    @property
    def comparable(self) -> bool:
        """Whether a trial of the baseline has ended, without which `compare` raises InputError."""
        return any(seen.condition == self.baseline for seen in self.observations)


def read_trials(store: Store, *, run: str = "latest", scorer: str | None = None, baseline: str | None = None) -> Trials:
    """Those that `run` stands for as in `read_paired`. A store without a run has none, and says so. Where trials have
    scores by several scorers and none is named, the first by name counts. Raises InputError for a run, a scorer or a
    baseline that is not there, and StoreError."""
    with store.at_one_moment():
        if not store.runs():
            return Trials((), None, baseline or "", (), (), scorer, ("The store holds no run yet.",))
        found, counted, note = _paired(store, run, scorer, baseline)
        whole = None if run == "all" else chosen_run(store, run).id
        counts = store.counts()
        _require_baseline(store, baseline)
    return Trials(
        observations=found.observations,
        run=whole,
        baseline=found.baseline,
        models=_in_order((row.model for row in counts), (seen.model for seen in found.observations)),
        conditions=_in_order(_conditions(counts), (seen.condition for seen in found.observations)),
        scorer=counted,
        notes=(*note, *_notes(found)),
    )


def require_scope(scope: Scope) -> None:
    """Raises what `read_trials` would, without reading the trials."""
    with Store(scope.store) as store, store.at_one_moment():
        if not store.runs():
            return
        if scope.run != "all":
            chosen_run(store, scope.run)
        if scope.scorer is not None and scorer_meant(store.scorers(), scope.scorer) not in store.scorers():
            store.observations(scorers=[scope.scorer])
        _require_baseline(store, scope.baseline)


def _require_baseline(store: Store, baseline: str | None) -> None:
    """A condition without ended trials may be one, since they may come."""
    known = {row.condition for row in store.counts()} | {condition.name for condition in store.conditions()}
    if baseline is not None and baseline not in known:
        raise InputError(
            f"--baseline: there is no condition {_shown(baseline)!r}",
            hint=f"Conditions of this store: {', '.join(_shown(name) for name in sorted(known)) or 'none yet'}.",
            code="unknown_baseline",
        )


def _paired(
    store: Store, run: str, scorer: str | None, baseline: str | None
) -> tuple[Paired, str | None, tuple[str, ...]]:
    try:
        return paired(store, baseline=baseline, run=run, scorer=scorer), scorer, ()
    except InputError as error:
        if error.code != "several_scorers" or scorer is not None:
            raise
    first, *others = store.scorers()
    more = ", ".join(_shown(name) for name in others)
    note = f"Scores are those of {_shown(first)}; others are there, see --scorer: {more}."
    return paired(store, baseline=baseline, run=run, scorer=first), first, (note,)


def _conditions(counts: Iterable[TrialCounts]) -> Iterator[str]:
    """Those of the model that has most come first, since each model's are in the order of the store."""
    by_model: dict[str, list[str]] = {}
    for row in counts:
        by_model.setdefault(row.model, []).append(row.condition)
    for names in sorted(by_model.values(), key=len, reverse=True):
        yield from names


def _in_order(known: Iterable[str], there: Iterable[str]) -> tuple[str, ...]:
    """Those that are there: first as they are known, then what is called otherwise, by name."""
    named, ordered = set(there), dict.fromkeys(known)
    return (*(name for name in ordered if name in named), *sorted(named - set(ordered)))


def _notes(found: Paired) -> Iterator[str]:
    seen = found.observations
    conditions = {each.condition for each in seen}
    if not seen:
        yield "No trial has ended yet."
    elif all(each.value is None for each in seen):
        yield "No trial has a score yet."
    elif not found.baseline:
        there = ", ".join(_shown(name) for name in sorted(conditions))
        yield f"The run names no baseline: nothing is compared until --baseline says one of {there}."
    elif found.baseline not in conditions:
        yield f"No trial of the baseline, {_shown(found.baseline)}, has ended yet: nothing can be compared."
    elif len(conditions) == 1:
        yield f"All trials are of {_shown(found.baseline)}: there is no condition to compare it with."
    if found.warning:
        yield f"{found.warning[:1].upper()}{found.warning[1:]}."
    yield from refused_notes(found.refused_calls())
    if found.left_out > 0:
        more = "1 more trial" if found.left_out == 1 else f"{found.left_out:,} more trials"
        yield f"The store holds {more}, which this run did not call for: see --run."


def _shown(name: str) -> str:
    return one_line(name, max_chars=80)
