"""What people said of mapped references on the page of `clear map`."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from toolablate.analysis.checklists import Figure
from toolablate.analysis.statistics.intervals import bootstrap_interval, by_unit
from toolablate.benchmarks.clear.references import CHECKLIST, NA
from toolablate.benchmarks.rows.row_errors import LineError, at, shown
from toolablate.benchmarks.rows.sources import typed_rows
from toolablate.reports.numbers import counted
from toolablate.traces.records import is_na


class Correction(BaseModel):
    """What one person says of one item of one reference. `mapped` is what was shown, `text` what it should be.
    `faithful`: all that was shown stands in the reference; `complete`: all that the reference says of the item was
    shown; None where the person did not say."""

    model_config = ConfigDict(extra="forbid", strict=True)
    id: str
    item: str
    mapped: str
    text: str
    faithful: bool | None = None
    complete: bool | None = None
    person: str = ""


_KEYS = {
    "id": "that of a row, a text",
    "item": "the name of an item, a text",
    "mapped": "the text that was shown",
    "text": "the text as it should be",
    "faithful": "true or false",
    "complete": "true or false",
    "person": "a name",
}


class _MappedRow(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)
    id: str
    human_reference_checklist: dict[str, str | int | None]


@dataclass(frozen=True, slots=True)
class CheckedShare:
    """Of `items`, with a 95 % interval by references; the share is None of none."""

    items: int
    share: Figure


@dataclass(frozen=True, slots=True)
class Corrected:
    """`texts` are those that are other than the rows', by row and item. `faithful` and `complete` are of what the model
    mapped: the share of items of which people said so, among those of which they said anything."""

    texts: Mapping[str, Mapping[str, str]]
    faithful: CheckedShare
    complete: CheckedShare


def read_corrections(source: Path, path: Path) -> Corrected:
    """Of the rows of `source`; of one item the last line of `path` counts. Raises InputError for a line that names no
    row or item, and for one that was made of another text than the row has."""
    about = {"id": "a text", CHECKLIST: 'an object from items to texts, "N/A" or null for none'}
    rows = {row.id: row.human_reference_checklist for _, row in typed_rows(source, _MappedRow, about)}
    said: dict[tuple[str, str], Correction] = {}
    for place, line in typed_rows(path, Correction, _KEYS):
        try:
            _check(line, rows)
        except LineError as error:
            raise at(place, error) from error
        said[line.id, line.item] = line
    texts: dict[str, dict[str, str]] = {}
    for each in said.values():
        if _plain(each.text) != _plain(each.mapped):
            texts.setdefault(each.id, {})[each.item] = each.text.strip() or NA
    return Corrected(texts, _share(said.values(), "faithful"), _share(said.values(), "complete"))


def _check(line: Correction, rows: Mapping[str, Mapping[str, str | int | None]]) -> None:
    if line.id not in rows:
        raise LineError(f"no row has the id {shown(line.id)}")
    if line.item not in rows[line.id]:
        raise LineError(f"the row {shown(line.id)} has no item {shown(line.item)}")
    if _plain(line.mapped) != _plain(rows[line.id][line.item]):
        raise LineError(
            f"the item {shown(line.item)} of {shown(line.id)} was corrected when it had another text",
            "Correct it on a page that `toolablate clear map` wrote of these rows.",
        )


def _plain(text: str | int | None) -> str:
    """Whatever line breaks a browser made of it."""
    said = "" if text is None else "\n".join(str(text).split("\r\n")).strip()
    return "" if is_na(said) else said


def _share(said: Iterable[Correction], about: Literal["faithful", "complete"]) -> CheckedShare:
    answers = [(each.id, float(answer)) for each in said if (answer := getattr(each, about)) is not None]
    if not answers:
        return CheckedShare(0, Figure(None))
    sums, sizes = by_unit([name for name, _ in answers], [answer for _, answer in answers], [1.0] * len(answers))
    return CheckedShare(len(answers), Figure(sum(sums) / sum(sizes), bootstrap_interval(sums, sizes)))


def corrections_told(corrected: Corrected) -> str:
    """In one line."""
    changed = sum(map(len, corrected.texts.values()))
    parts = [f"{counted(changed, 'item')} corrected"]
    for name, found in (("faithful", corrected.faithful), ("complete", corrected.complete)):
        if found.share.value is not None:
            ci95 = found.share.ci95
            within = "" if ci95 is None else f" (95 % interval {100 * ci95[0]:.1f} .. {100 * ci95[1]:.1f})"
            parts.append(f"{name} as mapped: {100 * found.share.value:.1f} %{within} of {counted(found.items, 'item')}")
    return "; ".join(parts)
