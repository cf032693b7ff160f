"""Checklists of a store: the figures of each condition, and what changed between conditions, item by item."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from toolablate.analysis.checklist_flips import CheckedTrial, ChecklistEffect, checklist_effects
from toolablate.analysis.checklist_measures import NaRule
from toolablate.analysis.checklists import Sample
from toolablate.analysis.from_store import chosen_run, paired, scorer_meant
from toolablate.analysis.pairing import unit
from toolablate.benchmarks.clear.judged_rows import JudgedScores, Judgements, Lacking, score_judgements
from toolablate.reports.numbers import counted
from toolablate.traces.errors import InputError
from toolablate.traces.records import ItemScore, Score
from toolablate.traces.store import Store, TrialSummary
from toolablate.traces.terminal_text import ID_CHARS, one_line


@dataclass(frozen=True, slots=True)
class StoredChecklists:
    """`left_out` counts ended trials of the store that the chosen run did not call for, `without` those of the run that
    have no scored checklist; `warning` says what makes the trials less alike than a comparison wants them, "" where
    nothing does."""

    scorer: str
    effects: tuple[ChecklistEffect, ...]
    without: int
    left_out: int
    warning: str


def read_checklists(
    path: Path, *, baseline: str | None = None, run: str = "latest", scorer: str | None = None, seed: int = 0
) -> StoredChecklists:
    """Of the trials that one run called for, by the first judge of its checklists or by `scorer`. Raises InputError and
    StoreError."""
    with Store(path) as store, store.at_one_moment():
        known = store.scorers()
        named = [scorer_meant(known, scorer)] if scorer else list(chosen_run(store, run).scorers)
        by = next((name for name in named if name.startswith("checklist[") and name in known), None)
        if by is None:
            there = [name for name in known if name.startswith("checklist[")]
            told = f"--scorer {scorer}: is no scorer of checklists" if scorer else f"{path}: no checklist is scored"
            hint = f"There are {', '.join(there)}." if there else "Checklists are targets of kind 'checklist'."
            raise InputError(told, hint=hint, code="no_checklist")
        found = paired(store, baseline=baseline, run=run, scorer=by)
        scored = {seen.trial: seen for seen in found.summaries if seen.outcome != "failed"}
        tables = {
            trial: score.items
            for trial, scores in store.scores_of(scored).items()
            for score in scores
            if score.scorer == by and is_judged(score)
        }
    trials = [
        CheckedTrial(seen.model, seen.condition, seen.question, unit(seen), tables[trial])
        for trial, seen in sorted(scored.items(), key=lambda each: (each[1].question, each[1].repeat, each[0]))
        if trial in tables
    ]
    effects = checklist_effects(trials, found.baseline, order=found.order, seed=seed)
    return StoredChecklists(by, tuple(effects), len(scored) - len(trials), found.left_out, found.warning)


def checklists_json(found: StoredChecklists) -> str:
    """The fields of the records; what is unknown is null."""
    content = {
        "scorer": found.scorer,
        "without": found.without,
        "left_out": found.left_out,
        "warning": found.warning,
        "effects": [asdict(each) for each in found.effects],
    }
    return json.dumps(content, ensure_ascii=False, indent=2)


def is_judged(score: Score) -> bool:
    """Whether its table is whole and counts: also where no item counts by the rule that the plan named, not where the
    plan excludes answers without words."""
    return bool(score.items) and (score.value is not None or score.verdict == "unscored")


@dataclass(frozen=True, slots=True)
class ScoredArm:
    """The checklists of one model under one condition; a sample is a trial, and repeats of a question, or questions of
    a cluster, are no independent samples. `failed` counts trials that infrastructure spoiled, which are no samples."""

    model: str
    condition: str
    scores: JudgedScores
    failed: int


@dataclass(frozen=True, slots=True)
class ScoredStore:
    """`left_out` and `warning` are as those of StoredChecklists."""

    arms: tuple[ScoredArm, ...]
    left_out: int
    warning: str


def score_store(
    path: Path, *, na: NaRule, run: str = "latest", judges: Sequence[str] = (), seed: int = 0
) -> ScoredStore:
    """Each model and condition of a run, as that run's judges of checklists judged it, whatever rule their scores have.
    Of `judges`, where given, alone, also those of other runs: by the names of their scores or of their models. Raises
    InputError and StoreError."""
    with Store(path) as store, store.at_one_moment():
        known = [name for name in store.scorers() if name.startswith("checklist[")]
        if not known:
            hint = "Checklists are targets of kind 'checklist'."
            raise InputError(f"{path}: no checklist is scored", hint=hint, code="no_checklist")
        wanted = [scorer_meant(known, judge) for judge in judges]
        if unknown := [judge for judge, name in zip(judges, wanted, strict=True) if name not in known]:
            hint = f"There are {', '.join(known)}."
            raise InputError(f"--judge {unknown[0]}: judged no checklist of {path}", hint=hint, code="unknown_judge")
        by = tuple(wanted) or _judges([name for name in chosen_run(store, run).scorers if name in known])
        if not by:
            hint = f"--judge names one of others: {', '.join(known)}."
            raise InputError(f"{path}: the run has no judge of checklists", hint=hint, code="no_checklist")
        found = paired(store, run=run, scorer=by[0])
        checked = [seen for seen in found.summaries if seen.kind == "checklist"]
        ended = {seen.trial: seen for seen in checked if seen.outcome != "failed"}
        tables = {
            trial: {each.scorer: each.items for each in scores if is_judged(each)}
            for trial, scores in store.scores_of(ended).items()
        }
        tasks = {question.id: str(question.metadata.get("task", "")) for question in store.questions()}
    arms: dict[tuple[str, str], list[TrialSummary]] = {}
    for seen in sorted(checked, key=lambda each: (each.question, each.repeat, each.trial)):
        arms.setdefault((seen.model, seen.condition), []).append(seen)
    places = {name: place for place, name in enumerate(found.order)}
    ordered = sorted(arms, key=lambda arm: (arm[0], places.get(arm[1], len(places)), arm[1]))
    scored = [
        ScoredArm(
            *arm,
            score_judgements(_judgements(arms[arm], by, tables, tasks), na=na, seed=seed),
            failed=sum(seen.outcome == "failed" for seen in arms[arm]),
        )
        for arm in ordered
    ]
    return ScoredStore(tuple(scored), found.left_out, found.warning)


_COUNTED_BY = re.compile(r",(?:na|unparsed)=[a-z]+")


def counted_alike(names: Sequence[str]) -> tuple[str, ...]:
    """The latest of those that have the same judgements and count them by another rule."""
    return tuple({_COUNTED_BY.sub("", name): name for name in names}.values())


def _judges(names: Sequence[str]) -> tuple[str, ...]:
    """Without those of a re-grading: it is a judge's own second opinion, which has to be asked for."""
    return counted_alike([name for name in names if "again=" not in name])


def failed_said(arm: ScoredArm) -> str:
    """ "" where none failed."""
    if not arm.failed:
        return ""
    name = f"{one_line(arm.model)}, {one_line(arm.condition)}"
    return f"{name}: {counted(arm.failed, 'failed trial')} without an answer: no sample, and not 0"


def _judgements(
    trials: Sequence[TrialSummary],
    judges: tuple[str, ...],
    tables: Mapping[str, Mapping[str, tuple[ItemScore, ...]]],
    tasks: Mapping[str, str],
) -> Judgements:
    whole, lacking = list[Sample](), list[Lacking]()
    by_judge: dict[str, list[Sample]] = {judge: [] for judge in judges}
    ended = [seen for seen in trials if seen.outcome != "failed"]
    for seen in ended:
        table = tables.get(seen.trial, {})
        about = {"task": tasks.get(seen.question, ""), "cluster": "\n".join(unit(seen))}
        for judge in judges:
            if judge in table:
                by_judge[judge].append(Sample(seen.trial, {judge: table[judge]}, **about))
            else:
                lacking.append(Lacking(f"trial {seen.trial[:ID_CHARS]}", seen.question, "", "missing", judge))
        if all(judge in table for judge in judges):
            whole.append(Sample(seen.trial, {judge: table[judge] for judge in judges}, **about))
    made = {judge: tuple(samples) for judge, samples in by_judge.items()}
    named = dict.fromkeys(tasks.get(seen.question, "") for seen in trials)
    return Judgements(judges, len(ended), tuple(whole), made, tuple(lacking), tuple(named))


SIGN_DEPENDS = (
    "The sign of the effect on F1 depends on the rule: by the published one silence is right where the reference has"
    " N/A, and without these items it is not."
)


def signature_said(effect: ChecklistEffect) -> str:
    if effect.signature is None:
        return "Retrieval distraction: unknown, there are too few questions for intervals of coverage and accuracy."
    if effect.signature:
        return "Retrieval distraction: coverage is up, and accuracy down where both answers fill an item."
    return "Retrieval distraction: not shown; coverage would have to be up and accuracy down, beyond their intervals."
