"""Why items of checklists flipped: what replays of the trial made of the item, and which tool results its text is from.

Of replays only what the store has; those of trials that went wrong are what `attribute --replay` makes. An item that
flipped by chance comes back when the trial is only sampled again: that is the noise floor of every other change.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from toolablate.analysis.checklist_flips import CHANGES, CheckedTrial, Event
from toolablate.analysis.checklists import Figure
from toolablate.analysis.statistics.intervals import bootstrap_intervals, by_unit
from toolablate.traces.records import ItemScore, ReplayChange

Wrong = Literal["newly_silent", "falsified", "lost", "overfilled"]
WRONG: tuple[Wrong, ...] = ("newly_silent", "falsified", "lost", "overfilled")
"""The events that make an item worse. An item is listed under the first that it shows: one that is silent or falsified
is lost as well."""

AGAIN = "sampled again"
_OFTEN = 0.5


@dataclass(frozen=True, slots=True)
class ReplayedItem:
    """What a change made of the item in the replays of one trial: `restored` of `replays` no more show its event."""

    change: str
    restored: int
    replays: int


@dataclass(frozen=True, slots=True)
class FlippedItem:
    """`text` is the condition's, "" for none. `share` is that of the baseline's runs from which it flipped. `source` is
    the index of the tool call whose result holds most of what is new in the text, None where none holds half of it;
    `source_share` how much: the share of its runs of three words."""

    trial: str
    model: str
    condition: str
    question: str
    unit: object
    item: str
    event: Wrong
    text: str
    share: float
    replays: tuple[ReplayedItem, ...] = ()
    source: int | None = None
    source_share: float | None = None


@dataclass(frozen=True, slots=True)
class RestoredShare:
    """Of the items that flipped under a condition: in which share of the replays with one change they came back, each
    item with the same weight; and how much more often than in those sampled again, over the items that have both."""

    model: str
    condition: str
    change: str
    items: int
    replays: int
    restored: Figure
    beyond_again: Figure


def flipped_items(baseline: Sequence[CheckedTrial], trial: CheckedTrial) -> list[tuple[str, Wrong, float, ItemScore]]:
    """The items of a trial that went wrong against at least half of the runs of the baseline of its question."""
    found = []
    for item in trial.items:
        for event in WRONG:
            share = _share(baseline, item, event)
            if share is not None and share >= _OFTEN:
                found.append((item.item, event, share, item))
                break
    return found


def is_restored(baseline: Sequence[CheckedTrial], item: ItemScore, event: Wrong) -> bool:
    """Whether a replay's item shows the event no more."""
    return (_share(baseline, item, event) or 0.0) < _OFTEN


def _share(baseline: Sequence[CheckedTrial], item: ItemScore, event: Event) -> float | None:
    old = [each for run in baseline for each in run.items if each.item == item.item]
    return sum(CHANGES[event](each, item) for each in old) / len(old) if old else None


_NAMES = {
    "again": AGAIN,
    "drop": "one call left out",
    "say": "told something",
    "answer_now": "answered at once",
    "ignore_tools": "told to ignore results",
    "extend": "larger budget",
    "repair": "call repaired",
}


def change_name(change: ReplayChange) -> str:
    if change.kind == "swap":
        return f"one result replaced ({change.content})"
    if change.kind != "rerun":
        return _NAMES[change.kind]
    if change.substitute is not None:
        return f"{change.substitute} in place of {', '.join(change.tools)}"
    if change.shown:
        return "earlier results shown otherwise"
    return "tools or budget mended" if change.sound or change.budget is not None else AGAIN


def restored_shares(items: Sequence[FlippedItem], *, seed: int = 0) -> list[RestoredShare]:
    """By model, condition and change, with 95 % intervals by clusters."""
    groups: dict[tuple[str, str, str], list[tuple[FlippedItem, ReplayedItem]]] = {}
    for each in items:
        for replayed in each.replays:
            groups.setdefault((each.model, each.condition, replayed.change), []).append((each, replayed))
    found = []
    for (model, condition, change), members in sorted(
        groups.items(), key=lambda group: (*group[0][:2], -len(group[1]))
    ):
        units = [item.unit for item, _ in members]
        shares = [replayed.restored / replayed.replays for _, replayed in members]
        beyond = [
            share - again if change != AGAIN and (again := _again(item)) is not None else None
            for share, (item, _) in zip(shares, members, strict=True)
        ]
        found.append(
            RestoredShare(
                model, condition, change, len(members), sum(replayed.replays for _, replayed in members),
                _mean(units, shares, seed), _mean(units, beyond, seed),
            )
        )  # fmt: skip
    return found


def _again(item: FlippedItem) -> float | None:
    return next((each.restored / each.replays for each in item.replays if each.change == AGAIN), None)


def _mean(units: Sequence[object], values: Sequence[float | None], seed: int) -> Figure:
    sums, sizes = by_unit(units, [value or 0.0 for value in values], [float(value is not None) for value in values])
    if not math.fsum(sizes):
        return Figure(None)
    return Figure(math.fsum(sums) / math.fsum(sizes), bootstrap_intervals([(sums, sizes)], seed=seed)[0])


# Which tool result a text is from.


_RUN = 3


def source_of(
    text: Sequence[str], known: Sequence[Sequence[str]], results: Mapping[int, Sequence[str]]
) -> tuple[int, float] | None:
    """The result, by its event, that holds most of the runs of three words of a text that stand in none of the `known`
    texts, and their share there; None where none holds half of them, or none is new. All are lists of words."""
    new = _runs(text) - {run for each in known for run in _runs(each)}
    if not new:
        return None
    shares = {event: len(new & _runs(words)) / len(new) for event, words in results.items()}
    best = max(shares, key=lambda event: (shares[event], -event), default=None)
    return None if best is None or shares[best] < _OFTEN else (best, shares[best])


def _runs(words: Sequence[str]) -> set[tuple[str, ...]]:
    return {tuple(words[start : start + _RUN]) for start in range(len(words) - _RUN + 1)}
