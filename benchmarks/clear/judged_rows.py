"""Judgements that exist already: rows of items with the raw replies of judges."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from toolablate.analysis.checklist_measures import MEASURES, PER_ITEM, NaRule
from toolablate.analysis.checklists import Checklists, JudgePair, Sample, judge_pairs, summarised
from toolablate.benchmarks.judging.containment import read_yes_no
from toolablate.benchmarks.rows.row_errors import LineError, RowPlace, at, shown
from toolablate.benchmarks.rows.sources import typed_rows
from toolablate.traces.errors import InputError
from toolablate.traces.records import ItemScore, is_na


class Replies(BaseModel):
    """A judge's two replies; None where it gave none."""

    model_config = ConfigDict(extra="forbid", strict=True)
    model_contains_reference: str | None = None
    reference_contains_model: str | None = None


class JudgedRow(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)
    sample: str | int
    item: str | int
    reference: str | int | None
    mapped: str | int | None
    replies: dict[str, Replies | None] = {}
    task: str = ""


_KEYS = {
    "sample": "the answer's id, a text or a whole number",
    "item": "the name of an item of the checklist, a text or a whole number",
    "reference": 'the reference\'s text for the item or a whole number, "N/A" or null for none',
    "mapped": 'the text that the answer has for the item or a whole number, "N/A" for none, null where it was not'
    " mapped",
    "replies": 'the judges\' replies by name: {"NAME": {"model_contains_reference": "Yes", "reference_contains_model": '
    '"No"}}',
    "task": "the name of the task, a text",
}

Why = Literal["unmapped", "missing", "unread"]


@dataclass(frozen=True, slots=True)
class Lacking:
    """Why a sample has no score: `unmapped` (no text for an item), `missing` (no reply of a judge) or `unread` (a reply
    that is neither yes nor no, which is `said`). `judge` and `reply` are "" where the item was not mapped."""

    place: str
    sample: str
    item: str
    why: Why
    judge: str = ""
    reply: str = ""
    said: str = ""


@dataclass(frozen=True, slots=True)
class Judgements:
    """`samples` are those that all of `judges` judged whole; `by_judge` those that each did. `tasks` are those of all
    samples, also of those that have no score."""

    judges: tuple[str, ...]
    given: int
    samples: tuple[Sample, ...]
    by_judge: Mapping[str, tuple[Sample, ...]]
    lacking: tuple[Lacking, ...]
    tasks: tuple[str, ...] = ()

    @property
    def lost_tasks(self) -> tuple[str, ...]:
        """Those of which no sample is left."""
        return tuple(task for task in self.tasks if all(sample.task != task for sample in self.samples))


def read_judgements(path: str | Path, judges: Sequence[str] = ()) -> Judgements:
    """Reads one item of one sample a row. Of `judges`, where given, alone. Raises InputError for a row of another form,
    an item that a sample has twice, a sample of two tasks, and a judge that no row names."""
    rows: dict[str, dict[str, tuple[RowPlace, JudgedRow]]] = {}
    for place, row in typed_rows(path, JudgedRow, _KEYS):
        items = rows.setdefault(str(row.sample), {})
        try:
            _check(row, place, items)
        except LineError as error:
            raise at(place, error) from error
        items[str(row.item)] = (place, row)
    named = tuple(dict.fromkeys(judge for items in rows.values() for _, row in items.values() for judge in row.replies))
    if unknown := [judge for judge in judges if judge not in named]:
        hint = f"They name {', '.join(map(repr, named))}." if named else 'Rows need the key "replies".'
        raise InputError(f"--judge {unknown[0]}: no row of {path} names this judge", hint=hint, code="unknown_judge")
    wanted = tuple(judges) or named
    if not wanted and any(not _is_forced(row) for items in rows.values() for _, row in items.values()):
        raise InputError(
            f"{path}: no row has replies of a judge", hint=f"'replies' are {_KEYS['replies']}.", code="bad_row"
        )
    return _judged(rows, wanted)


def _check(row: JudgedRow, place: RowPlace, items: Mapping[str, tuple[RowPlace, JudgedRow]]) -> None:
    if str(row.item) in items:
        earlier = items[str(row.item)][0].seen_from(place)
        raise LineError(
            f"sample {shown(row.sample)} has the item {shown(row.item)} already, in {earlier}",
            "Each item of a sample is one row; of two systems' answers give each sample an id of its own.",
        )
    if items and (other := next(iter(items.values())))[1].task != row.task:
        raise LineError(
            f"sample {shown(row.sample)} is of the task {shown(other[1].task)} in {other[0].seen_from(place)}"
        )


def _is_forced(row: JudgedRow) -> bool:
    """Whether no judge is needed: one side or both have nothing."""
    return not _said(row.reference) or (row.mapped is not None and not _said(row.mapped))


def _said(text: str | int | None) -> str:
    """ "" for none."""
    said = "" if text is None else str(text).strip()
    return "" if is_na(said) else said


def _judged(rows: Mapping[str, Mapping[str, tuple[RowPlace, JudgedRow]]], judges: tuple[str, ...]) -> Judgements:
    lacking: list[Lacking] = []
    whole: list[Sample] = []
    # Where nothing needs a judge, as of answers that say nothing, there may be none.
    found: dict[str, list[Sample]] = {judge: [] for judge in judges or ("",)}
    for name, items in rows.items():
        task = next(iter(items.values()))[1].task
        unmapped = [_unmapped(place, row) for place, row in items.values() if row.mapped is None]
        lacking += unmapped
        if unmapped:
            continue
        judged = {}
        for judge in found:
            why: list[Lacking] = []
            scores = tuple(_scored(place, row, judge, why) for place, row in items.values())
            lacking += why
            if not why:
                judged[judge] = scores
                found[judge].append(Sample(name, {judge: scores}, task))
        if len(judged) == len(found):
            whole.append(Sample(name, judged, task))
    by_judge = {judge: tuple(samples) for judge, samples in found.items() if judge}
    tasks = dict.fromkeys(row.task for items in rows.values() for _, row in items.values())
    return Judgements(judges, len(rows), tuple(whole), by_judge, tuple(lacking), tuple(tasks))


def _unmapped(place: RowPlace, row: JudgedRow) -> Lacking:
    return Lacking(str(place), str(row.sample), str(row.item), "unmapped")


def _scored(place: RowPlace, row: JudgedRow, judge: str, lacking: list[Lacking]) -> ItemScore:
    item, expected, mapped = str(row.item), bool(_said(row.reference)), _said(row.mapped)
    if not (expected and mapped):
        same = expected == bool(mapped)
        return ItemScore(item=item, expected=expected, mapped=mapped, precision=same, recall=same)
    replies = row.replies.get(judge) or Replies()
    read: dict[str, bool] = {}
    for reply in ("model_contains_reference", "reference_contains_model"):
        text: str | None = getattr(replies, reply)
        verdict = None if text is None else read_yes_no(text)
        if verdict is None:
            why: Why = "missing" if text is None else "unread"
            lacking.append(Lacking(str(place), str(row.sample), item, why, judge, reply, text or ""))
        read[reply] = bool(verdict)
    recall, precision = read["model_contains_reference"], read["reference_contains_model"]
    return ItemScore(item=item, expected=True, mapped=mapped, precision=precision, recall=recall)


# The figures of all of them.


@dataclass(frozen=True, slots=True)
class JudgedScores:
    """`tasks` has the figures of each task where rows name several. `no_score` counts samples that were judged, and
    have nothing that counts under the rule."""

    judgements: Judgements
    na: NaRule
    overall: Checklists
    tasks: Mapping[str, Checklists]
    by_judge: Mapping[str, Checklists]
    no_score: int


def score_judgements(found: Judgements, *, na: NaRule, seed: int = 0) -> JudgedScores:
    tasks: dict[str, list[Sample]] = {task: [] for task in found.tasks}
    for sample in found.samples:
        tasks.setdefault(sample.task, []).append(sample)
    named = tuple(tasks)
    several = len(found.judges) > 1
    return JudgedScores(
        judgements=found,
        na=na,
        overall=summarised(found.samples, na, tasks=named, seed=seed),
        tasks={task: summarised(some, na, seed=seed) for task, some in tasks.items()} if len(tasks) > 1 else {},
        by_judge={judge: summarised(some, na, tasks=named, seed=seed) for judge, some in found.by_judge.items()}
        if several
        else {},
        no_score=sum("f1" not in sample.values(na) for sample in found.samples),
    )


def scores_json(found: JudgedScores) -> dict[str, object]:
    judged = found.judgements
    several = len(judged.judges) > 1
    return {
        "na": found.na,
        "judges": list(judged.judges),
        "samples": judged.given,
        "scored": found.overall.samples - found.no_score,
        "without_items_that_count": found.no_score,
        "tasks_without_samples": list(judged.lost_tasks),
        **_figures_json(found.overall, several=several),
        **({"kappa_by_item": _kappa_by_item(judged.samples, found.na, judged.tasks)} if several else {}),
        "by_judge": {judge: _figures_json(each) for judge, each in found.by_judge.items()},
        "by_task": {task: _figures_json(each, several=several) for task, each in found.tasks.items()},
        "by_sample": {sample.name: sample.values(found.na) for sample in judged.samples},
        "left_out": list(_left_out(judged.lacking)),
    }


def _figures_json(found: Checklists, *, several: bool = False) -> dict[str, object]:
    content: dict[str, object] = {}
    for name in MEASURES:
        figure = found.figures[name]
        if name in PER_ITEM:
            by_item = found.by_item[name]
            content[name] = {
                "overall": figure.value,
                "ci95": figure.ci95,
                "by_item": {item: each.value for item, each in by_item.items()},
                "by_item_ci95": {item: each.ci95 for item, each in by_item.items()},
            }
        else:
            content |= {name: figure.value, f"{name}_ci95": figure.ci95}
    content["says_nothing"] = dict(found.silent)
    if several:
        # Of more than two judges the mean over their pairs (Light 1971).
        for key in ("kappa", "agreement"):
            content[key] = {on: _over_pairs(found.pairs, key, on) for on in _ON}
        content["judge_pairs"] = [
            {
                "judges": list(pair.judges),
                "on": pair.on,
                "items": pair.items,
                "agreement": pair.agreement,
                "kappa": pair.kappa,
                "kappa_ci95": pair.kappa_ci95,
            }
            for pair in found.pairs
        ]
    return content


def _kappa_by_item(samples: Sequence[Sample], na: NaRule, tasks: Sequence[str]) -> dict[str, dict[str, float | None]]:
    """By what it is on, and by item as in `by_item`."""
    tables: dict[str, list[Sample]] = {}
    for sample in samples:
        for name in dict.fromkeys(item.item for items in sample.judged.values() for item in items):
            alone = {
                judge: tuple(item for item in items if item.item == name) for judge, items in sample.judged.items()
            }
            shown = f"{sample.task}: {name}" if len(tasks) > 1 else name
            tables.setdefault(shown, []).append(replace(sample, judged=alone))
    pairs = {name: judge_pairs(some, na, resamples=0) for name, some in tables.items()}
    return {on: {name: _over_pairs(found, "kappa", on) for name, found in pairs.items()} for on in _ON}


_ON = ("accuracy", "ternary")


def _over_pairs(pairs: Sequence[JudgePair], key: str, on: str) -> float | None:
    values = [getattr(pair, key) for pair in pairs if pair.on == on]
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known and len(known) == len(values) else None


def _left_out(lacking: Sequence[Lacking]) -> Iterator[dict[str, str]]:
    for each in lacking:
        content = {"place": each.place, "sample": each.sample, "item": each.item, "why": each.why}
        yield content | ({"judge": each.judge, "reply": each.reply, "said": each.said} if each.judge else {})


def left_out_said(found: JudgedScores) -> str:
    """What a user should know of samples without a score; "" where all have one."""
    judged, count = found.judgements, Counter(each.why for each in found.judgements.lacking)
    gone = judged.given - len(judged.samples)
    if not gone:
        return ""
    first = judged.lacking[0]
    told: dict[Why, str] = {
        "unmapped": "items not mapped",
        "missing": "replies missing",
        "unread": "replies neither yes nor no",
    }
    kinds = [f"{said}: {count[why]:,}" for why, said in told.items() if count[why]]
    item = f"item {first.item!r}" if first.item else f"question {first.sample!r}"
    where = ", ".join(
        [f"{first.place}: {item}", *([f"judge {first.judge!r}"] if first.judge else []), *filter(None, [first.reply])]
    )
    of = "" if len(judged.judges) < 2 else " by all judges"
    left_out = f"{gone:,} of {judged.given:,} samples have no score{of} and are left out ({', '.join(kinds)})"
    lost = ", ".join(map(repr, judged.lost_tasks)) if len(judged.tasks) > 1 else ""
    unknown = f"; no sample is left of {lost}, so that means over tasks are unknown" if lost else ""
    return f"{left_out}; the first: {where}{unknown}"
