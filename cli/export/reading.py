"""The trials of a store as a command's options choose them."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress

from toolablate.cli.export.interrupting import heeding_interrupts
from toolablate.experiments.attribution.choosing import scorers_of
from toolablate.experiments.attribution.explained import outlined
from toolablate.experiments.attribution.readings_cache import readings_of
from toolablate.formats.exports.choosing import Choice, Chosen, chosen
from toolablate.formats.exports.exported import Exported, Reasons, reasons
from toolablate.formats.exports.reading import read_exported
from toolablate.traces.errors import InputError
from toolablate.traces.records import ReplayDesign
from toolablate.traces.store import Store


@dataclass(frozen=True, slots=True)
class Export:
    """`trials` are read one after the other, `count` in all; `scorers` are those whose scores count."""

    trials: Iterator[Exported]
    count: int
    scorers: Sequence[str]


@contextmanager
def exporting(path: Path, given: Mapping[str, Any]) -> Iterator[Export]:
    """By the options of `choosing`. Ends the program after Ctrl-C. Raises InputError where there is no such trial, or
    what was chosen is not there, StoreError."""
    choice = Choice(
        run=given["run"],
        models=tuple(given["models"]),
        conditions=tuple(given["conditions"]),
        replays=given.get("replays", False),
    )
    try:
        with heeding_interrupts() as heed, Store(path) as store:
            wanted = chosen(store, choice)
            if not wanted:
                raise InputError(
                    f"{path} has no ended trial to export",
                    hint="run its plan, or choose other trials",
                    code="empty_store",
                )
            scorers = _scorers(store, given)
            known = _reasons(path, given, wanted, heed) if given["attributions"] and scorers else {}
            yield Export(_told(read_exported(store, wanted, known), len(wanted), heed), len(wanted), scorers)
    except KeyboardInterrupt:
        Console(stderr=True).print("Stopped.")
        raise SystemExit(1) from None


def _scorers(store: Store, given: Mapping[str, Any]) -> Sequence[str]:
    """Those of the run, or the only one that there is; raises InputError where one has to be named."""
    known = store.scorers()
    if given["scorer"] is None and len(known) < 2:
        return known
    found = scorers_of(store, ReplayDesign(scorer=given["scorer"] or ""), given["run"])
    if not found or set(found) - set(known):
        raise InputError(
            f"--scorer: trials of {store.path} have scores by {', '.join(known) or 'nobody'}",
            hint="name one of them",
            code="several_scorers" if given["scorer"] is None else "unknown_scorer",
        )
    return found


def _reasons(
    path: Path, given: Mapping[str, Any], wanted: Sequence[Chosen], heed: Callable[[], None]
) -> Mapping[str, Reasons]:
    def told(done: int, total: int) -> None:
        heed()
        progress.update(task, completed=done, total=total)

    with _bar() as progress:
        task = progress.add_task("why trials went as they did", total=None)
        found = outlined(
            path,
            run=given["run"],
            models=tuple({each.called.model for each in wanted}),
            conditions=tuple({each.called.condition for each in wanted}),
            scorer=given["scorer"],
            told=told,
            kept=readings_of(path),
        )
    return reasons(found.explained)


def _told(trials: Iterable[Exported], total: int, heed: Callable[[], None]) -> Iterator[Exported]:
    """With a bar beside them."""
    with _bar() as progress:
        for each in progress.track(trials, total=total, description="trials"):
            heed()
            yield each
            heed()


def _bar() -> Progress:
    """On a terminal's standard error, which goes when all is done."""
    console = Console(stderr=True)
    return Progress(console=console, transient=True, disable=not console.is_terminal)


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """Says on a terminal's standard error what takes its time and cannot say how far it is."""
    console = Console(stderr=True)
    with console.status(what) if console.is_terminal else nullcontext():
        yield
