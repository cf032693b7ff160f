"""Checklists of a store: the figures of each condition, and what changed between conditions, item by item."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from toolablate.analysis.checklist_attribution import (
    FlippedItem,
    ReplayedItem,
    RestoredShare,
    change_name,
    flipped_items,
    is_restored,
    restored_shares,
    source_of,
)
from toolablate.analysis.checklist_flips import CheckedTrial, ChecklistEffect, checklist_effects
from toolablate.analysis.checklist_measures import NaRule
from toolablate.analysis.checklists import Sample
from toolablate.analysis.from_store import chosen_run, paired, scorer_meant
from toolablate.analysis.pairing import unit
from toolablate.benchmarks.clear.judged_rows import JudgedScores, Judgements, Lacking, Why, score_judgements
from toolablate.benchmarks.judging.checklists import ASKS
from toolablate.benchmarks.scoring.rouge import rouge_tokens
from toolablate.reports.numbers import counted
from toolablate.traces.errors import InputError
from toolablate.traces.records import ItemScore, Score, ToolCall
from toolablate.traces.store import Store, TrialSummary
from toolablate.traces.terminal_text import ID_CHARS, one_line


@dataclass(frozen=True, slots=True)
class StoredChecklists:
    """`left_out` counts ended trials of the store that the chosen run did not call for, `without` those of the run that
    have no scored checklist; `flipped` are the items that went wrong, None where nobody asked for them, and `restored`
    what replays made of them. `warning` says what makes the trials less alike than a comparison wants them, "" where
    nothing does."""

    scorer: str
    effects: tuple[ChecklistEffect, ...]
    without: int
    left_out: int
    warning: str
    flipped: tuple[FlippedItem, ...] | None = None
    restored: tuple[RestoredShare, ...] = ()


def read_checklists(
    path: Path,
    *,
    baseline: str | None = None,
    run: str = "latest",
    scorer: str | None = None,
    why: bool = False,
    seed: int = 0,
) -> StoredChecklists:
    """Of the trials that one run called for, by the first judge of its checklists or by `scorer`; with `why` also the
    items that went wrong, and what speaks for a cause. Raises InputError and StoreError."""
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
        trials = _checked(scored, tables)
        flipped = tuple(_flipped(store, trials, found.baseline, by)) if why else None
    effects = checklist_effects(trials, found.baseline, order=found.order, seed=seed)
    without = len(scored) - len(trials)
    restored = tuple(restored_shares(flipped, seed=seed)) if flipped else ()
    return StoredChecklists(by, tuple(effects), without, found.left_out, found.warning, flipped, restored)


def _checked(scored: Mapping[str, TrialSummary], tables: Mapping[str, tuple[ItemScore, ...]]) -> list[CheckedTrial]:
    return [
        CheckedTrial(seen.model, seen.condition, seen.question, unit(seen), tables[trial], trial)
        for trial, seen in sorted(scored.items(), key=lambda each: (each[1].question, each[1].repeat, each[0]))
        if trial in tables
    ]


def _flipped(store: Store, trials: Sequence[CheckedTrial], baseline: str, scorer: str) -> Iterator[FlippedItem]:
    """Replays count that the same judge has scored."""
    base: dict[tuple[str, str], list[CheckedTrial]] = {}
    for each in trials:
        if each.condition == baseline:
            base.setdefault((each.model, each.question), []).append(each)
    replays = store.counterfactuals()
    tables = {
        trial: {item.item: item for item in score.items}
        for trial, scores in store.scores_of(each.trial for found in replays.values() for each in found).items()
        for score in scores
        if score.scorer == scorer and is_judged(score)
    }
    for each in trials:
        runs = base.get((each.model, each.question), [])
        if each.condition == baseline or not runs:
            continue
        items = flipped_items(runs, each)
        if not items:
            continue
        results, prompt = _results(store, each.trial), store.question(store.trace(each.trial).trial.question).prompt
        for name, event, share, item in items:
            replayed: dict[str, list[bool]] = {}
            for replay in replays.get(each.trial, ()):
                again = tables.get(replay.trial, {}).get(name)
                if again is not None:
                    change = change_name(replay.resumption.change)
                    replayed.setdefault(change, []).append(is_restored(runs, again, event))
            known = [old.mapped for run in runs for old in run.items if old.item == name]
            known.append(prompt)
            source = source_of(rouge_tokens(item.mapped), list(map(rouge_tokens, known)), results)
            yield FlippedItem(
                trial=each.trial,
                model=each.model,
                condition=each.condition,
                question=each.question,
                unit=each.unit,
                item=name,
                event=event,
                text=item.mapped,
                share=share,
                replays=tuple(ReplayedItem(change, sum(back), len(back)) for change, back in replayed.items()),
                source=source[0] if source else None,
                source_share=source[1] if source else None,
            )


def _results(store: Store, trial: str) -> dict[int, list[str]]:
    """The words of each tool's result, by event."""
    return {
        place: rouge_tokens(event.output)
        for place, event in enumerate(store.conversation(trial))
        if isinstance(event, ToolCall)
    }


def checklists_json(found: StoredChecklists) -> str:
    """The fields of the records; what is unknown is null."""
    content = {
        "scorer": found.scorer,
        "without": found.without,
        "left_out": found.left_out,
        "warning": found.warning,
        "effects": [asdict(each) for each in found.effects],
    }
    if found.flipped is not None:
        content |= {
            "flipped": [asdict(each) for each in found.flipped],
            "restored": [asdict(each) for each in found.restored],
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
        scores = store.scores_of(ended)
        tasks = {question.id: str(question.metadata.get("task", "")) for question in store.questions()}
    arms: dict[tuple[str, str], list[TrialSummary]] = {}
    for seen in sorted(checked, key=lambda each: (each.question, each.repeat, each.trial)):
        arms.setdefault((seen.model, seen.condition), []).append(seen)
    places = {name: place for place, name in enumerate(found.order)}
    ordered = sorted(arms, key=lambda arm: (arm[0], places.get(arm[1], len(places)), arm[1]))
    scored = [
        ScoredArm(
            *arm,
            score_judgements(_judgements(arms[arm], by, scores, tasks), na=na, seed=seed),
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
    scores: Mapping[str, Sequence[Score]],
    tasks: Mapping[str, str],
) -> Judgements:
    whole, lacking = list[Sample](), list[Lacking]()
    by_judge: dict[str, list[Sample]] = {judge: [] for judge in judges}
    ended = [seen for seen in trials if seen.outcome != "failed"]
    for seen in ended:
        scored = {each.scorer: each for each in scores.get(seen.trial, ())}
        table = {judge: each.items for judge, each in scored.items() if is_judged(each)}
        about = {"task": tasks.get(seen.question, ""), "cluster": "\n".join(unit(seen))}
        for judge in judges:
            if judge in table:
                by_judge[judge].append(Sample(seen.trial, {judge: table[judge]}, **about))
            else:
                lacking.append(_lacking(seen, judge, scored.get(judge)))
        if all(judge in table for judge in judges):
            whole.append(Sample(seen.trial, {judge: table[judge] for judge in judges}, **about))
    made = {judge: tuple(samples) for judge, samples in by_judge.items()}
    named = dict.fromkeys(tasks.get(seen.question, "") for seen in trials)
    return Judgements(judges, len(ended), tuple(whole), made, tuple(lacking), tuple(named))


def _lacking(seen: TrialSummary, judge: str, score: Score | None) -> Lacking:
    """A score that was only begun, as by an outage, has no number of asks."""
    unread = score is not None and ASKS in score.metadata
    said = score.reason if score is not None and unread else ""
    why: Why = "unread" if unread else "missing"
    return Lacking(f"trial {seen.trial[:ID_CHARS]}", seen.question, "", why, judge, said=said)


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
