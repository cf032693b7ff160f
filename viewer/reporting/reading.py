"""Reads a store for a report: findings, what the trials stood on, and the trials that it shows."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from toolablate.analysis.attribution.evidence import Explanation, Outlined
from toolablate.analysis.flips import flips
from toolablate.experiments.attribution.explained import explained
from toolablate.experiments.attribution.readings_cache import readings_of
from toolablate.experiments.attribution.store_report import read_report
from toolablate.reports.report.choosing import Choice, telling
from toolablate.reports.report.records import Beside, Report, Told
from toolablate.traces.errors import InputError
from toolablate.traces.store import Store
from toolablate.viewer.keeping.findings import findings_of, with_why
from toolablate.viewer.keeping.trials import Trials, read_trials
from toolablate.viewer.reporting.setup import endings_of, setup_of


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which trials a report shows: `traces` and pairs of `beside`, by the beginnings of their ids, and so many more
    that are `telling`, each also beside one of the baseline."""

    traces: tuple[str, ...] = ()
    beside: tuple[tuple[str, str], ...] = ()
    telling: int = 0


def read_for_report(
    path: Path,
    wanted: Wanted,
    *,
    title: str = "",
    run: str = "latest",
    scorer: str | None = None,
    baseline: str | None = None,
    seed: int = 0,
) -> Report:
    """Of the trials that one run called for (`latest`, or the beginning of its id), or of `all`. Nothing is asked of
    anyone. Raises InputError where there is no ended trial, for a run, scorer, baseline or trial that is not there, and
    for two trials of different questions side by side; StoreError."""
    with Store(path) as store:
        trials = read_trials(store, run=run, scorer=scorer, baseline=baseline)
        if not trials.observations:
            raise InputError(f"{path}: no trial has ended yet", hint="toolablate run PLAN", code="empty_store")
        named = _Named(store, wanted)
        findings = findings_of(trials, store.conditions_of(trials.observations), seed=seed)
        setup = setup_of(store, trials)
    report = read_report(path, run=run, scorer=trials.scorer, kept=readings_of(path))
    attributed = {each.evidence.chain.trial: each for each in report.explained}
    with Store(path) as store:
        reading = _Reading(store, path, attributed.keys(), run, trials.scorer)
        choices = _telling(trials, attributed, wanted.telling)
        shown = dict.fromkeys((*named.traces, *(each.trial for each in choices)))
        pairs = dict.fromkeys((*named.beside, *((each.baseline, each.trial) for each in choices)))
        return Report(
            title=title or f"toolablate report: {path.stem}",
            setup=setup,
            findings=with_why(findings, report),
            endings=tuple(endings_of(trials)),
            traces=tuple(map(reading.told, shown)),
            beside=tuple(Beside(reading.told(left), reading.told(right)) for left, right in pairs),
            asked_traces=len(dict.fromkeys(named.traces)),
            asked_pairs=len(dict.fromkeys(named.beside)),
        )


class _Named:
    """Whole ids of the trials that were asked for, found before anything long begins."""

    def __init__(self, store: Store, wanted: Wanted) -> None:
        self.traces = tuple(store.find_trial(each) for each in wanted.traces)
        self.beside = tuple((store.find_trial(left), store.find_trial(right)) for left, right in wanted.beside)
        for left, right in self.beside:
            of = [store.trace(trial).trial.question for trial in (left, right)]
            if of[0] != of[1]:
                raise InputError(
                    f"--diff: the trials {left[:10]} and {right[:10]} are of different questions",
                    hint="Name two trials of one question: toolablate show STORE lists them.",
                    code="other_question",
                )


class _Reading:
    """Each trial is read once, however often it is shown; the evidence of those that are `attributed`."""

    def __init__(self, store: Store, path: Path, attributed: Collection[str], run: str, scorer: str | None) -> None:
        self._store, self._path, self._attributed = store, path, attributed
        self._run, self._scorer = run, scorer
        self._known: dict[str, Told] = {}

    def told(self, trial: str) -> Told:
        if trial not in self._known:
            self._known[trial] = self._read(trial)
        return self._known[trial]

    def _read(self, trial: str) -> Told:
        store, trace = self._store, self._store.trace(trial)
        told = Told(
            trace=trace,
            question=store.question(trace.trial.question),
            model=store.model(trace.trial.model),
            condition=store.condition(trace.trial.condition),
            scores=tuple(sorted(store.scores(trial), key=lambda score: (score.scorer, score.scorer_version))),
            conversation=store.conversation(trial),
        )
        found = (
            explained(self._path, run=self._run, scorer=self._scorer, trial=trial).explained
            if trial in self._attributed
            else ()
        )
        if not found:
            return told
        explanation = Explanation(
            explained=found[0],
            question=told.question,
            conversation=told.conversation,
            outcome=trace.outcome,
            repeat=trace.trial.repeat,
            store=self._path.name,
            simulated=told.model.provider == "simulated",
            scripted=told.model.provider == "scripted",
        )
        return replace(told, explanation=explanation)


def _telling(trials: Trials, attributed: Mapping[str, Outlined], most: int) -> tuple[Choice, ...]:
    if not most or not trials.comparable:
        return ()
    attributions = {trial: each.attribution for trial, each in attributed.items() if each.attribution is not None}
    values = {seen.trial: seen.value for seen in trials.observations}
    found = flips(trials.observations, trials.baseline, order=trials.conditions)
    return telling(found, attributions, values, most)
