"""Attributes effects and writes reports, as `toolablate attribute` and `toolablate report` do."""

import inspect
import json
from collections.abc import Sequence
from functools import partial
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Literal

from rich.console import Console

from toolablate.api.notebooks import shown
from toolablate.api.results import Attribution, Shown
from toolablate.api.stores import Store, Trial
from toolablate.api.threads import apart, apart_async
from toolablate.api.words import offered, require_types, several, worded
from toolablate.experiments.attributing import AttributionRequest, attributed
from toolablate.experiments.replay.batch import Replayed
from toolablate.experiments.replay.batch import replay as fork
from toolablate.experiments.replay.changes_asked import change_asked
from toolablate.experiments.replay.outcomes import print_replayed, replayed_json
from toolablate.traces.errors import InputError
from toolablate.traces.records import ReplayDesign
from toolablate.traces.validation import explain


@offered()
def attribute(
    store: Store | str | PathLike[str],
    *,
    replay: bool = False,
    max_cost: float | None = None,
    run: str = "latest",
    model: str | Sequence[str] = (),
    condition: str | Sequence[str] = (),
    scorer: str | None = None,
    judge: str | Sequence[str] = (),
    failures: float = 1.0,
    successes: float = 0.5,
    samples: int = 2,
    rollouts: int = 1,
    steps: Literal["all", "search"] = "search",
    precision: float = 0.8,
    each_result: bool = False,
    seed: int = 0,
    plan: str | PathLike[str] | None = None,
    live: bool = False,
    cluster: str | None = None,
    judge_matrix: str | PathLike[str] | None = None,
    progress: bool = True,
) -> Attribution:
    """Attributes the effects of tools to mechanisms, trial by trial and in sum.

    Asks no model, but with `replay`: then a random sample of trials (shares of `failures` and `successes`) is replayed
    with one thing changed at a time, for `max_cost` US dollars at most; and with `judge`, who reads the wrong trials.
    All other words are those of `toolablate attribute`. Raises ToolablateError; what can be refused is refused before
    anything is spent.
    """
    words = {key: value for key, value in locals().items() if key != "store"}
    work = partial(_attribute, store, words)
    # What asks nobody needs no loop, and can be interrupted anywhere.
    return apart(work) if replay or judge else work()


async def attribute_async(store: Store | str | PathLike[str], **words: Any) -> Attribution:
    """As `attribute`, with the same words, beside what else the event loop does. Cancelled, it stops cleanly."""
    plain = inspect.unwrap(attribute)
    usual = dict(plain.__kwdefaults__ or {})
    with worded():
        require_types(plain, store, **words)
        return await apart_async(partial(_attribute, store, usual | words))


def _attribute(store: Store | str | PathLike[str], words: dict[str, Any]) -> Attribution:
    from pydantic import ValidationError

    names = ("failures", "successes", "samples", "rollouts", "steps", "precision", "each_result", "seed")
    try:
        design = ReplayDesign.model_validate({name: words[name] for name in names} | {"scorer": words["scorer"] or ""})
    except ValidationError as error:
        raise InputError(f"attribute: {explain(error, ReplayDesign)}", code="usage") from None
    wanted = AttributionRequest(
        design=design,
        run=str(words["run"]),
        models=several(words["model"]),
        conditions=several(words["condition"]),
        replay=bool(words["replay"]),
        judges=several(words["judge"]),
        plan=_path(words["plan"]),
        max_cost=_dollars(words["max_cost"]),
        live=bool(words["live"]),
        cluster=words["cluster"],
        judge_matrix=_path(words["judge_matrix"]),
    )
    asks = wanted.replay or bool(wanted.judges)
    with shown(progress=bool(words["progress"]) and asks) as (console, made):
        return Attribution(*attributed(Path(store), wanted, console, progress=made))


def _path(given: str | PathLike[str] | None) -> Path | None:
    return None if given is None else Path(fspath(given))


def _dollars(given: float | None) -> float | None:
    if given is None or 0 <= given < float("inf"):
        return given
    raise InputError(f"max_cost: should be US dollars, 0 or more; found {given!r}", code="usage")


class Replay(Shown):
    """What came of a trial that was forked: `trials` are the new ones, by their ids."""

    def __init__(self, replayed: Replayed, store: Path) -> None:
        self.replayed = replayed
        self.store = Store(store)

    @property
    def trials(self) -> tuple[Trial, ...]:
        return tuple(Trial(self.store, each) for each in self.replayed.trials)

    @property
    def missing(self) -> int:
        return self.replayed.launched.missing

    @property
    def json(self) -> Any:
        """What `toolablate replay --json` prints."""
        return json.loads(replayed_json(self.replayed, self.store.path))

    def print(self, console: Console) -> None:
        print_replayed(self.replayed, self.store.path, console)


@offered(**{"from": "event"})
def replay(
    trial: Trial,
    event: int,
    *,
    swap: str | None = None,
    say: str | None = None,
    drop: bool = False,
    answer_now: bool = False,
    ignore_tools: bool = False,
    extend: str | None = None,
    repair: bool = False,
    repeats: int = 1,
    max_cost: float | None = None,
    plan: str | PathLike[str] | None = None,
    live: bool = False,
    cluster: str | None = None,
    progress: bool = True,
) -> Replay:
    """Forks a trial (`store.trial("4867ad")`) at one of its events with one thing changed, as `toolablate replay` does:
    `swap="null"`, `drop=True` and so on; without a change, what follows is sampled again. The new trials are stored
    beside the old one and enter no table. Raises ToolablateError.
    """

    def work() -> Replay:
        store = trial.store.path
        change = change_asked(
            store,
            trial.id,
            swap=swap,
            say=say,
            drop=drop,
            answer_now=answer_now,
            ignore_tools=ignore_tools,
            extend=extend,
            repair=repair,
        )
        with shown(progress=progress) as (console, made), made(console, "replay") as going:
            done = fork(
                store,
                trial.id,
                event,
                change,
                repeats=repeats,
                plan=plan,
                max_cost=_dollars(max_cost),
                live=live,
                cluster=cluster,
                progress=going,
            )
        return Replay(done, store)

    return apart(work)


@offered()
def report(
    store: Store | str | PathLike[str],
    output: str | PathLike[str] | None = None,
    *,
    figures: str | PathLike[str] | None = None,
    run: str = "latest",
    baseline: str | None = None,
    scorer: str | None = None,
    title: str = "",
    trial: str | Sequence[str] = (),
    diff: Sequence[tuple[str, str]] = (),
    traces: int | None = None,
    seed: int = 0,
) -> Path:
    """Writes a report, by default an HTML file beside the store; the suffix says the kind: .html, .md or .tex.

    `trial` and `diff` (pairs of trials) are shown in it, and so many `traces` more that tell most. `figures` is a
    folder for all figures. Returns the file. Raises InputError for what is not there or cannot be written.
    """
    from toolablate.viewer.reporting import make_report

    path = Path(store)
    written = path.with_suffix(".html") if output is None else Path(output)
    make_report(
        path,
        written,
        None if figures is None else Path(figures),
        traces=several(trial),
        beside=tuple((left, right) for left, right in diff),
        telling=traces,
        title=title,
        run=run,
        scorer=scorer,
        baseline=baseline,
        seed=seed,
    )
    return written
