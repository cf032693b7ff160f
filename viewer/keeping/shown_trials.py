"""What a viewer shows of a store: its trials, what changed in them, and findings."""

import hashlib
import json
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from pathlib import Path

from toolablate.analysis.arms import ladders
from toolablate.analysis.attribution.report import AttributionReport
from toolablate.analysis.comparison import Comparison, compare
from toolablate.analysis.effect import accuracy
from toolablate.analysis.findings import ArmScore, AttributedCount, Findings, FlipMatrix, Why
from toolablate.analysis.flips import floors
from toolablate.analysis.from_store import Paired, chosen_run, paired, scorer_meant
from toolablate.analysis.ladder import waterfalls
from toolablate.analysis.pairing import RIGHT, Arm, Pair, mean, mean_scores, pairs, scored_in_both, unit
from toolablate.reports.cause_wording import reach_lines
from toolablate.reports.terminal.problems import cut_notes, refused_notes
from toolablate.reports.why.turn import as_told
from toolablate.traces.errors import InputError
from toolablate.traces.kept import file_for, kept_folder
from toolablate.traces.records import Attribution, Condition
from toolablate.traces.store import Store, TrialCounts, TrialSummary
from toolablate.traces.terminal_text import one_line
from toolablate.viewer.finding.store_texts import StoreTexts
from toolablate.viewer.finding.text_index import TextIndex
from toolablate.viewer.finding.text_index import index_place as find_place


@dataclass(frozen=True, slots=True)
class ViewScope:
    """What of which store is viewed; `run`, `scorer` and `baseline` are as `read_trials` takes them."""

    store: Path
    run: str = "latest"
    scorer: str | None = None
    baseline: str | None = None

    def to_json(self) -> str:
        return json.dumps({**asdict(self), "store": str(self.store)})

    @classmethod
    def from_json(cls, text: str) -> "ViewScope":
        content = json.loads(text)
        return cls(**{**content, "store": Path(content["store"])})


@dataclass(frozen=True, slots=True)
class ViewedTrials:
    """`run` is the whole id of the one that called for them, None for all; `models` and `conditions` are labels in the
    order of the store, of the trials alone. `scorer` is the one whose scores they have, None for those of the run.
    `notes` say what is missing for a comparison, a sentence each."""

    summaries: tuple[TrialSummary, ...]
    run: str | None
    baseline: str
    models: tuple[str, ...]
    conditions: tuple[str, ...]
    scorer: str | None
    notes: tuple[str, ...]

    @property
    def comparable(self) -> bool:
        """Whether a trial of the baseline has ended, without which `compare` raises InputError."""
        return any(seen.condition == self.baseline for seen in self.summaries)


def read_trials(
    store: Store, *, run: str = "latest", scorer: str | None = None, baseline: str | None = None
) -> ViewedTrials:
    """Those that `run` stands for as in `read_paired`. A store without a run has none, and says so. Where trials have
    scores by several scorers and none is named, the first by name counts. Raises InputError for a run, a scorer or a
    baseline that is not there, and StoreError."""
    with store.at_one_moment():
        if not store.runs():
            return ViewedTrials((), None, baseline or "", (), (), scorer, ("The store holds no run yet.",))
        found, counted, note = _paired(store, run, scorer, baseline)
        whole = None if run == "all" else chosen_run(store, run).id
        counts = store.counts()
        _require_baseline(store, baseline)
    return ViewedTrials(
        summaries=found.summaries,
        run=whole,
        baseline=found.baseline,
        models=_in_order((row.model for row in counts), (seen.model for seen in found.summaries)),
        conditions=_in_order(_conditions(counts), (seen.condition for seen in found.summaries)),
        scorer=counted,
        notes=(*note, *_notes(found)),
    )


def require_scope(scope: ViewScope) -> None:
    """Raises what `read_trials` would, without reading the trials."""
    with Store(scope.store) as store, store.at_one_moment():
        if not store.runs():
            return
        if scope.run != "all":
            chosen_run(store, scope.run)
        if scope.scorer is not None and scorer_meant(store.scorers(), scope.scorer) not in store.scorers():
            store.summaries(scorers=[scope.scorer])
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
    seen = found.summaries
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
    yield from cut_notes(found.cut_inputs())
    if found.left_out > 0:
        more = "1 more trial" if found.left_out == 1 else f"{found.left_out:,} more trials"
        yield f"The store holds {more}, which this run did not call for: see --run."


def _shown(name: str) -> str:
    return one_line(name, max_chars=80)


# What has changed in a store.


def reasons_of(store: Store) -> str:
    """A digest of what attributions rest on beside the trials: replays, which of them were to be made, and what judges
    hold for causes."""
    diagnosed = [(each.trial, each.judge, each.wording) for each in store.all_diagnoses()]
    return _digest([*sorted(store.finished_resumptions()), *store.replay_designs(), *diagnosed])


def made_of(trials: ViewedTrials, reasons: str) -> str:
    """A digest of all that attributions are made of, this version of toolablate among it."""
    return _digest([version("toolablate"), trials.run, trials.scorer, reasons, *trials.summaries])


def _digest(parts: Iterable[object]) -> str:
    found = hashlib.sha256()
    for part in parts:
        found.update(repr(part).encode(errors="surrogatepass"))
    return found.hexdigest()


# Where the index of a store is kept: it is made of the store, and deleted without loss.


@contextmanager
def index_place(scope: ViewScope) -> Iterator[Path]:
    """The path of the index of what is viewed: in `$XDG_CACHE_HOME/toolablate/view`, by default below `~/.cache`, for
    nobody else to read. Where nothing can be kept it is in a folder that ends with this."""
    with ExitStack() as ending:
        folder = kept_folder("view")
        if folder is None:
            temporary = tempfile.TemporaryDirectory(prefix="toolablate-view-", ignore_cleanup_errors=True)
            folder = Path(ending.enter_context(temporary))
        place = folder / file_for(replace(scope, store=scope.store.resolve()).to_json())
        place.touch(mode=0o600)
        yield place


def texts_of(scope: ViewScope, place: Path) -> StoreTexts:
    """What is searched of what is viewed, with its index at a place. Raises StoreError where that cannot be made."""
    index = TextIndex.open(place)
    return StoreTexts(scope.store, index, run=scope.run, scorer=scope.scorer, baseline=scope.baseline)


def texts_place(scope: ViewScope, index: Path) -> Path:
    """Where that index is: the one that `find` keeps, or beside the tables where nothing can be kept."""
    return find_place(scope.store) or index.with_name(f"{index.name}-texts")


def readings_beside(index: Path) -> Path:
    """Where what is read of traces is kept while a viewer lives, if nothing is kept for longer."""
    return index.with_name(f"{index.name}-readings")


# Reads a store for what an overview and a report show of it.


def findings_of(trials: ViewedTrials, conditions: dict[str, Condition], *, seed: int = 0) -> Findings:
    """All but why; `conditions` are those of the trials, by their labels."""
    compared, within = _compared(trials, seed)
    of, order = (trials.summaries, trials.baseline), trials.conditions
    return Findings(
        baseline=trials.baseline,
        models=trials.models,
        conditions=trials.conditions,
        simulated=frozenset(seen.model for seen in trials.summaries if seen.simulated),
        arms=tuple(_arm_scores(trials, seed)),
        comparisons=compared,
        floors=tuple(floors(*of, order=order)) if trials.comparable else (),
        flips=tuple(map(_matrix, pairs(*of, order))) if trials.comparable else (),
        by_domain=within,
        waterfalls=tuple(waterfalls(trials.summaries, ladders(conditions), seed=seed)),
        imported=any(each.imported for each in conditions.values()),
        notes=trials.notes,
    )


def with_why(found: Findings, report: AttributionReport) -> Findings:
    why = Why(
        decompositions=report.decompositions,
        attributed=tuple(_attributed(report)),
        floors=report.floors,
        judged=report.judged,
        errors=report.errors,
        unreplayed=report.unreplayed,
        notes=tuple(
            note
            for note in (*report.notes, *(f"{said}." for _, said in reach_lines(report.reach, told=False)))
            if note not in found.notes
        ),
    )
    return replace(found, why=why)


def attributions_of(report: AttributionReport) -> Iterator[Attribution]:
    """Of the trials that are not right, each by the method to go by, as its page tells it."""
    return (as_told(each.attribution, each.evidence) for each in report.explained if each.attribution is not None)


def _attributed(report: AttributionReport) -> Iterator[AttributedCount]:
    """Of each model and condition, in their order, the mechanism of most trials first."""
    counts = Counter(
        (each.evidence.model, each.evidence.condition, each.attribution.mechanism, each.attribution.method)
        for each in report.explained
        if each.attribution is not None
    )
    arms = list(dict.fromkeys(key[:2] for key in counts))
    for key, trials in sorted(counts.items(), key=lambda each: (arms.index(each[0][:2]), -each[1], each[0][2:])):
        yield AttributedCount(*key, trials)


def _arm_scores(trials: ViewedTrials, seed: int) -> Iterator[ArmScore]:
    arms: dict[tuple[str, str], Arm] = defaultdict(lambda: defaultdict(list))
    for seen in trials.summaries:
        arms[seen.model, seen.condition][seen.question].append(seen)
    for model in trials.models:
        for condition in trials.conditions:
            if (arm := arms.get((model, condition))) is not None:
                scores = mean_scores(arm)
                units = [unit(arm[question][0]) for question in scores]
                yield ArmScore(model, condition, accuracy(list(scores.values()), units, seed=seed))


def _compared(trials: ViewedTrials, seed: int) -> tuple[tuple[Comparison, ...], tuple[Comparison, ...]]:
    """Over all questions, and within domains; each corrected as the command that shows it alone does."""
    if not trials.comparable:
        return (), ()
    of, order = (trials.summaries, trials.baseline), trials.conditions
    within = compare(*of, by="domain", seed=seed, order=order, harm=False)
    return (
        tuple(compare(*of, seed=seed, order=order)),
        tuple(row for row in within if row.by == "domain"),
    )


def _matrix(pair: Pair) -> FlipMatrix:
    both = scored_in_both(pair.scored_before, pair.scored_after)
    turns = Counter((mean(pair.scored_before[name]) >= RIGHT, mean(pair.scored_after[name]) >= RIGHT) for name in both)
    return FlipMatrix(
        *(pair.model, pair.baseline, pair.condition),
        both_right=turns[True, True],
        right_to_wrong=turns[True, False],
        wrong_to_right=turns[False, True],
        both_wrong=turns[False, False],
    )
