"""References as they were written, which a model maps to the items of a checklist."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from toolablate.benchmarks.clear.page import Asked, Cell, Part, html_page
from toolablate.benchmarks.clear.published import Task, known_task
from toolablate.benchmarks.questions import language_of
from toolablate.benchmarks.rows.row_errors import Identities, LineError, at, shown
from toolablate.benchmarks.rows.sources import typed_rows
from toolablate.traces.output import export
from toolablate.traces.records import ChecklistItem

NA = "N/A"
CHECKLIST = "human_reference_checklist"


class _RawRow(BaseModel):
    model_config = ConfigDict(extra="allow", strict=True)
    id: str = Field(min_length=1)
    raw_human_reference: Any


_KEYS = {
    "id": "a text, which begins with the task's name and a hyphen",
    "raw_human_reference": "the reference as it was written, a text or an object",
    "input": "what the model is asked about, a text",
    CHECKLIST: "an object from items to texts",
}


@dataclass(frozen=True, slots=True)
class RawReference:
    """`row` is the whole row; `text` the reference in words, an object as JSON."""

    id: str
    task: str
    text: str
    items: tuple[ChecklistItem, ...]
    row: Mapping[str, Any]

    @property
    def language(self) -> str:
        return language_of(self.text)


def read_references(source: Path, tasks: Mapping[str, Task], *, task: str = "") -> tuple[RawReference, ...]:
    """One reference a row, with the items that its task defines. Raises InputError that names the row and key, also
    for a task without items: what is to be mapped has to be known."""
    identities, found = Identities("row"), list[RawReference]()
    for place, row in typed_rows(source, _RawRow, _KEYS):
        try:
            identities.take(row.id, place)
            name = known_task(row.id, task, tasks)
            if not (tasks[name].items or tasks[name].literal):
                raise LineError(
                    f"the task {shown(name)} defines no items",
                    f'Give a file for --tasks that has [{name}.items], with a definition for each: "Origin" = "..."',
                )
            found.append(RawReference(row.id, name, _written(row), _items(tasks[name]), row.model_dump()))
        except LineError as error:
            raise at(place, error) from error
    return tuple(found)


def _written(row: _RawRow) -> str:
    raw = row.raw_human_reference
    text = raw if isinstance(raw, str) else "" if raw is None else json.dumps(raw, ensure_ascii=False)
    if not text.strip():
        raise LineError(f"'raw_human_reference' is {shown(raw)}: there is nothing to map", "Leave such rows out.")
    return text


def _items(task: Task) -> tuple[ChecklistItem, ...]:
    literal = [ChecklistItem(name=name, literal=True) for name in task.literal if name not in task.items]
    defined = (
        ChecklistItem(name=name, definition=said, literal=name in task.literal) for name, said in task.items.items()
    )
    return (*literal, *defined)


def write_checklists(references: Sequence[RawReference], texts: Mapping[str, Mapping[str, str]], path: Path) -> int:
    """The rows whose reference was mapped, in the published form. Returns how many. Raises InputError where the file
    cannot be written."""
    rows = [
        {**each.row, CHECKLIST: {name: text or NA for name, text in texts[each.id].items()}}
        for each in references
        if each.id in texts
    ]
    export("".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows), path, "-o")
    return len(rows)


# The page on which people correct them.


FAITHFUL = Asked("faithful", "Does all that was shown stand in the reference?")
COMPLETE = Asked("complete", "Was all shown that the reference says of it?")
_INTRO = (
    "At the left is a reference as it was written. At the right is what a model extracted from it for each item."
    " Correct the texts; N/A means that the reference says nothing of the item.",
    "Both questions are about what was shown before you changed it. N/A that is right is faithful and complete.",
)


def mapped_page(references: Sequence[RawReference], texts: Mapping[str, Mapping[str, str]], *, saved_as: str) -> str:
    """HTML; `saved_as` names the file of corrections."""
    parts = [
        Part(
            each.id,
            each.text,
            tuple(
                Cell(
                    item.name,
                    {"id": each.id, "item": item.name, "mapped": (shown := texts[each.id][item.name] or NA)},
                    about=item.definition,
                    editable=shown,
                    asked=(FAITHFUL, COMPLETE),
                )
                for item in each.items
            ),
        )
        for each in references
        if each.id in texts
    ]
    return html_page("References, item by item", _INTRO, parts, saved_as=saved_as)
