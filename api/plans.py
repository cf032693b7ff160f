"""A plan that is made in Python, checked as one in a file is."""

import json
from collections.abc import Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from toolablate.experiments.plans import plan as plans
from toolablate.experiments.plans.written import kept_text, take_env, with_values
from toolablate.tools.text import one_line
from toolablate.traces.errors import InputError
from toolablate.traces.records import Condition, digest_text

_OF_RECORDS = frozenset({"version", "resumed", "imported", "source", "package"}) | {
    f"{name}_digest" for name in ("script", "playbook", "scenarios")
}
"""What records have and tables of a plan have not: it is filled in when a plan is read."""


class Plan:
    """A plan made in Python: the keys are those of a plan's file.

    questions   a file as a plan names it ("builtin", "questions.jsonl", "hf:OWNER/NAME"), the table [questions] as a
                mapping, or the questions themselves: mappings as a line of JSONL has them, or a DataFrame
    models      tables as mappings, or records
    conditions  names, tables as mappings, or conditions made by `toolablate.experiments.condition`
    folder      to what paths are relative; by default the working directory
    keys        all others, such as repeats=3, ladder=["python"], sandbox="docker"

    Raises InputError that names the key, what was found and what is allowed.
    """

    def __init__(
        self,
        questions: str | PathLike[str] | Mapping[str, Any] | Sequence[Mapping[str, Any]] | Any,
        models: Sequence[Mapping[str, Any] | BaseModel],
        conditions: Sequence[str | Mapping[str, Any] | Condition] = (),
        *,
        folder: str | PathLike[str] = ".",
        name: str = "plan",
        **keys: Any,
    ) -> None:
        self.folder = Path(folder).resolve()
        self._lines = ""
        store = keys.pop("store", None) or f"runs/{name}.sqlite"
        self.content: dict[str, Any] = {
            "name": name,
            "store": fspath(store),
            "questions": self._questions(questions, Path(fspath(store))),
            "models": _each(models, "models"),
            **({"conditions": _each(conditions, "conditions")} if len(conditions) else {}),
            **keys,
        }
        self.read()

    def _questions(self, given: Any, store: Path) -> Any:
        """Those that are given themselves lie beside the store when the plan is run, in a file named by its content."""
        if isinstance(given, str | PathLike):
            return {"file": fspath(given)}
        if isinstance(given, Mapping):
            return dict(given)
        rows = _rows(given)
        self._lines = "".join(f"{json.dumps(row, ensure_ascii=False, default=_number)}\n" for row in rows)
        file = store.with_suffix(f".questions-{digest_text(self._lines)[:8]}.jsonl")
        return {"file": str(file), "folder": "."}

    def read(self, values: Mapping[str, Any] | None = None) -> tuple[plans.Plan, str]:
        """The plan as it is run, with `values` in the places of their keys, and the text that a store keeps of it.
        Raises InputError."""
        take_env(self.folder)
        text = kept_text(self.content)
        if values:
            content = json.loads(text)
            with_values(content, values)
            text = kept_text(content)
        path = self.folder / f"{self.content['name']}.json"
        plans.find_modules_beside(path)
        try:
            return plans.plan_of(json.loads(text), path), text
        except InputError as error:
            said = error.message.removeprefix(f"{path}: ")
            raise InputError(f"Plan: {said}", hint=error.hint, code=error.code) from None

    def write_questions(self) -> None:
        """Those that were given themselves. Raises InputError where they cannot be written."""
        if not self._lines:
            return
        from toolablate.traces.output import export

        export(self._lines, self.folder / self.content["questions"]["file"], "questions")

    def __repr__(self) -> str:
        return f"Plan({self.content!r})"


def plan_given(
    plan: Plan | str | PathLike[str],
    *,
    store: str | PathLike[str] | None = None,
    limit: int | None = None,
    values: Mapping[str, Any] | None = None,
) -> tuple[plans.Plan, str]:
    """Of a file, or of one made in Python. Raises InputError."""
    if limit is not None and limit < 1:
        raise InputError(f"limit: should be 1 or more; found {limit}", code="usage")
    where = None if store is None else Path(store)
    if not isinstance(plan, Plan):
        return plans.plan_at(Path(plan), store=where, limit=limit, values=values)
    loaded, text = plan.read(values)
    plan.write_questions()
    return loaded.with_changes(store=where, limit=limit), text


def _each(given: Any, key: str) -> list[Any]:
    if isinstance(given, str | Mapping) or not hasattr(given, "__iter__"):
        raise InputError(f"Plan: {key}: should be a list; found {one_line(repr(given), 60)}", code="bad_plan")
    return [_table(each) for each in given]


def _table(given: Any) -> Any:
    if isinstance(given, Condition):
        # Its tools in full, even where it has none: else its name would be looked up.
        return {"tools": [], "prompt": given.prompt, **_dumped(given)}
    if isinstance(given, BaseModel):
        return _dumped(given)
    return dict(given) if isinstance(given, Mapping) else given


def _dumped(record: BaseModel) -> dict[str, Any]:
    found = record.model_dump(mode="json", exclude_defaults=True)
    kinds = {name: getattr(record, name) for name in ("provider", "name") if hasattr(record, name)}
    return {key: value for key, value in (kinds | found).items() if key not in _OF_RECORDS}


def _rows(given: Any) -> list[dict[str, Any]]:
    """Of a DataFrame without what is missing in a row."""
    if hasattr(given, "to_dicts"):
        found = given.to_dicts()
    elif hasattr(given, "to_dict") and hasattr(given, "columns"):
        found = given.to_dict("records")
    else:
        found = list(given) if hasattr(given, "__iter__") else [given]
    for row in found:
        if not isinstance(row, Mapping):
            raise InputError(
                f"Plan: questions: found {one_line(repr(row), 60)}",
                hint='a file, a table, or questions as mappings: {"id": "q1", "prompt": "...", "answer": 4}',
                code="bad_plan",
            )
    return [{key: value for key, value in row.items() if not _is_missing(value)} for row in found]


def _is_missing(value: Any) -> bool:
    """None, NaN, and what pandas has for them in its own types."""
    is_nan = isinstance(value, float) and value != value
    return value is None or is_nan or type(value).__name__ in ("NAType", "NaTType")


def _number(value: Any) -> Any:
    """Of numpy."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise InputError(f"Plan: questions: found {type(value).__name__}, which JSON has not", code="bad_plan")
