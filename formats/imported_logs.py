"""Brings logs of other harnesses into a store, and says what came of it."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path

from rich.console import Console
from rich.progress import Progress

from toolablate.experiments.world.world import require_store_or_none
from toolablate.formats.imports.log import Imported, Log
from toolablate.formats.imports.naming import name_of
from toolablate.formats.imports.writing import import_logs
from toolablate.reports.numbers import counted
from toolablate.traces.errors import InputError
from toolablate.traces.plain import one_line

Read = Callable[[Path], Log]


def import_and_tell(
    read: Read,
    files: Sequence[Path],
    store: Path,
    *,
    condition: str | None = None,
    scorer: str | None = None,
    as_json: bool = False,
) -> str:
    """What to print. Raises InputError for a file that cannot be taken, then nothing was written; StoreError."""
    if not files:
        raise InputError("there is nothing to import", hint="Name the files of samples.", code="no_files")
    if condition is not None and name_of(condition, "") != condition:
        raise InputError(f"--condition: {one_line(condition)!r} is no name", code="bad_name")
    require_store_or_none(store)
    logs = [_named(read(path), condition) for path in dict.fromkeys(files)]
    with _advancing() as advance:
        imported = import_logs(logs, store, scorer=scorer, advance=advance)
    return _json(imported) if as_json else "\n".join(_lines(imported, store))


def _named(log: Log, condition: str | None) -> Log:
    if condition is None:
        return log
    return replace(log, condition=log.condition.model_copy(update={"name": condition}))


@contextmanager
def _advancing() -> Iterator[Callable[[int], None]]:
    """A bar on a terminal's standard error, which goes when all is done."""
    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("samples", total=None)
        yield lambda count: progress.advance(task, count)


def _json(imported: Sequence[Imported]) -> str:
    told = [asdict(each) | {"file": str(each.file)} for each in imported]
    return json.dumps({"imported": told}, indent=2, ensure_ascii=False)


def _lines(imported: Sequence[Imported], store: Path) -> Iterator[str]:
    for each in imported:
        yield f"{one_line(str(each.file))}: {one_line(each.model)}, {one_line(each.condition)}"
        failed = f", {each.failed} failed" if each.failed else ""
        labels = f"; {counted(each.labels, 'label')} new" if each.labels else ""
        yield f"  {counted(each.samples, 'sample')}, {each.added} new{failed}{labels}"
        others = f"; also there: {', '.join(each.others)}" if each.others else ""
        yield f"  scored by {', '.join(each.scorers) or 'nobody'}{others}"
        yield from (f"  left out: {said}" for said in each.left_out)
        yield from (f"  {said}" for said in each.notes)
    yield f"Compare: toolablate compare {one_line(str(store))}"
