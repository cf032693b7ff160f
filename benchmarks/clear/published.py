"""Reads rows of ExpertLongBench's published form: an input, and a reference as a checklist."""

import json
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from toolablate.analysis.checklist_measures import sample_values
from toolablate.benchmarks.questions import language_of
from toolablate.benchmarks.rows.row_errors import Identities, LineError, at, shown
from toolablate.benchmarks.rows.sources import typed_rows
from toolablate.traces.errors import InputError
from toolablate.traces.records import ChecklistItem, ChecklistTarget, ItemScore, Question, Rubric, is_na

SOURCE = "ExpertLongBench"
LEVEL = "[level]"
"""Stands between group and name in the items of T03."""


class Task(BaseModel):
    """How the rows of a task become questions. `prompt` stands before the input; `items` defines items by name, for T03
    without the group; `literal` names items that are read from the answer's JSON object; `max_tokens` is the published
    limit of a reply, for a plan's `sampling`."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)
    title: str = ""
    domain: str = ""
    prompt: str = ""
    max_tokens: int | None = Field(default=None, gt=0)
    items: dict[str, str] = {}
    literal: list[str] = []


@cache
def published_tasks() -> Mapping[str, Task]:
    text = files("toolablate.benchmarks.clear").joinpath("tasks.toml").read_text(encoding="utf-8")
    return {name: Task.model_validate(table) for name, table in tomllib.loads(text).items()}


def read_tasks(path: Path) -> dict[str, Task]:
    """Tasks of one's own, and changes of the published ones. Raises InputError."""
    tasks = dict(published_tasks())
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}", code="unreadable") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: no TOML: {error}", code="bad_tasks") from None
    for name, table in tables.items():
        try:
            given = Task.model_validate(table)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            key = ".".join([name, *map(str, first["loc"])])
            allowed = f"A table of a task has {', '.join(Task.model_fields)}."
            raise InputError(f"{path}: {key}: {first['msg']}", hint=allowed, code="bad_tasks") from None
        before = tasks.get(name, Task())
        changes = {key: getattr(given, key) for key in given.model_fields_set - {"items"}}
        tasks[name] = before.model_copy(update={**changes, "items": before.items | given.items})
    return tasks


class _Row(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)
    id: str = Field(min_length=1)
    input: str = Field(min_length=1)
    raw_human_reference: Any = None
    human_reference_checklist: dict[str, str | int | None] = Field(min_length=1)


_KEYS = {
    "id": "a text, which begins with the task's name and a hyphen",
    "input": "a text that is not empty",
    "raw_human_reference": "the reference as it was written, a text, an object or null",
    "human_reference_checklist": 'an object from items to texts, "N/A" or null for none',
}


def load_published(
    source: Path,
    tasks: Mapping[str, Task],
    *,
    task: str = "",
    corrected: Mapping[str, Mapping[str, str]] = MappingProxyType({}),
) -> tuple[Question, ...]:
    """One question a row. The task of a row is what stands before the first hyphen of its id; `task` is that of all
    rows. Raises InputError that names the row and key, also for a row of a task that `tasks` does not have, and for a
    definition of the user's own of an item that no row of its task has."""
    questions, identities, named = list[Question](), Identities("row"), dict[str, set[str]]()
    for place, row in typed_rows(source, _Row, _KEYS):
        try:
            identities.take(row.id, place)
            name = known_task(row.id, task, tasks)
            mended = row.human_reference_checklist | dict(corrected.get(row.id, {}))
            row = row.model_copy(update={"human_reference_checklist": mended})
            questions.append(_question(row, name, tasks[name]))
        except LineError as error:
            raise at(place, error) from error
        named.setdefault(name, set()).update(map(_short, row.human_reference_checklist))
    for name, items in named.items():
        if unknown := [item for item in _own(name, tasks[name]) if item not in items]:
            raise InputError(
                f"{name}: no row has the item {unknown[0]!r}",
                hint=f"Rows have {', '.join(map(repr, sorted(items)))}.",
                code="unknown_item",
            )
    return tuple(questions)


def known_task(identity: str, task: str, tasks: Mapping[str, Task]) -> str:
    """The task of a row: `task`, or what stands before the first hyphen of its id. Raises LineError."""
    name = task or identity.partition("-")[0]
    if name not in tasks:
        raise LineError(
            f"the id {shown(identity)} is of no known task",
            f"Known are {', '.join(tasks)}; name the task of all rows by --task, and describe one of your own in a file"
            " for --tasks.",
        )
    return name


def _own(name: str, task: Task) -> list[str]:
    """The items that the user names, not those that came with ours: a file of rows may lack some of these."""
    ours = published_tasks().get(name, Task())
    defined = [item for item, said in task.items.items() if ours.items.get(item) != said]
    return [*defined, *(item for item in task.literal if item not in ours.literal)]


def _short(item: str) -> str:
    """Without the group before it."""
    return item.rpartition(LEVEL)[2].strip()


def _question(row: _Row, name: str, task: Task) -> Question:
    items = []
    for item, said in row.human_reference_checklist.items():
        if not item.strip() or not item.isprintable():
            raise LineError(f"the item {shown(item)} is blank, or cannot be printed in one line")
        text = "" if said is None else str(said)
        items.append(
            ChecklistItem(
                name=item,
                definition=task.items.get(_short(item), ""),
                reference=None if is_na(text) else text,
                literal=_short(item) in task.literal,
            )
        )
    raw = row.raw_human_reference
    written = raw if isinstance(raw, str) else json.dumps(raw, ensure_ascii=False)
    limit = {} if task.max_tokens is None else {"max_tokens": task.max_tokens}
    return Question(
        id=row.id,
        prompt="\n\n".join(part for part in (task.prompt.strip(), row.input) if part),
        as_is=True,
        target=ChecklistTarget(items=tuple(items)),
        rubric=Rubric(reference=written) if raw not in (None, "") else None,
        domain=task.domain,
        language=language_of(row.input),
        source=SOURCE if name in published_tasks() else "",
        metadata={"task": name, **limit},
    )


@dataclass(frozen=True, slots=True)
class ImportedTask:
    """`undefined` counts items without a definition, `silent` is the F1 of an answer that says nothing, by the
    published rule; `max_tokens` None where the task sets no limit."""

    name: str
    questions: int
    items: int
    undefined: int
    na_share: float
    silent: float
    max_tokens: int | None


def told_of(questions: Sequence[Question], tasks: Mapping[str, Task]) -> list[ImportedTask]:
    by_task: dict[str, list[ChecklistTarget]] = {}
    for question in questions:
        if isinstance(question.target, ChecklistTarget):
            by_task.setdefault(str(question.metadata["task"]), []).append(question.target)
    return [_told(name, targets, tasks[name]) for name, targets in by_task.items()]


def _told(name: str, targets: Sequence[ChecklistTarget], task: Task) -> ImportedTask:
    cells = [item for target in targets for item in target.items]
    distinct = {item.name: item for item in cells}
    silent = [sample_values(_silence(target.items), "published")["f1"] for target in targets]
    return ImportedTask(
        name=name,
        questions=len(targets),
        items=len(distinct),
        undefined=sum(not item.definition and not item.literal for item in distinct.values()),
        na_share=sum(item.reference is None for item in cells) / len(cells),
        silent=sum(silent) / len(silent),
        max_tokens=task.max_tokens,
    )


def _silence(items: Iterable[ChecklistItem]) -> list[ItemScore]:
    return [
        ItemScore(item=item.name, expected=item.reference is not None, precision=same, recall=same)
        for item in items
        for same in [item.reference is None]
    ]
