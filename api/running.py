"""Runs a plan, as `toolablate run` does."""

import json
from collections.abc import Mapping, Sequence
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

from toolablate.api.notebooks import shown
from toolablate.api.plans import Plan, plan_given
from toolablate.api.results import Shown
from toolablate.api.stores import Store
from toolablate.api.threads import apart, apart_async
from toolablate.api.words import offered, several
from toolablate.experiments.cluster import opens_of
from toolablate.experiments.plans.plan import Only
from toolablate.experiments.plans.written import keeping_env
from toolablate.experiments.running.launch import Launched, launch
from toolablate.experiments.running.summary import print_summary, summary_json


class Run(Shown):
    """How a run went. `store` is what it has written; `missing` counts trials without an answer, `unscored` and
    `ungraded` answers without a score; `stopped`: by the user, and the same call goes on."""

    def __init__(self, launched: Launched) -> None:
        self.launched = launched
        self.store = Store(launched.store)

    @property
    def id(self) -> str:
        return self.launched.run

    @property
    def planned(self) -> int:
        return self.launched.planned

    @property
    def missing(self) -> int:
        return self.launched.missing

    @property
    def unscored(self) -> int:
        return sum(each.count for each in self.launched.unscored)

    @property
    def ungraded(self) -> int:
        return self.launched.ungraded

    @property
    def stopped(self) -> bool:
        return self.launched.stopped

    @property
    def complete(self) -> bool:
        """Whether nothing is left to do: where the command line exits with 0."""
        return not (self.missing or self.unscored or self.ungraded or self.launched.left_unscored)

    @property
    def json(self) -> Any:
        """What `toolablate run --json` prints."""
        return json.loads(summary_json(self.launched))

    def print(self, console: Any) -> None:
        print_summary(self.launched, console)


@offered()
def run(
    plan: Plan | str | PathLike[str],
    *,
    store: str | PathLike[str] | None = None,
    limit: int | None = None,
    question: str | Sequence[str] = (),
    condition: str | Sequence[str] = (),
    set: Mapping[str, Any] | None = None,
    tag: str | Sequence[str] = (),
    cluster: str | None = None,
    progress: bool = True,
) -> Run:
    """Runs the trials of a plan that its store does not hold yet, and shows them going.

    plan       a file in TOML, YAML or JSON, or a `Plan`
    store      is written instead of the plan's
    limit      only the first so many questions
    question   only these, by id; `condition` only these, by name
    set        keys of the plan that are replaced: {"repeats": 2, "models.0.sampling.temperature": 0}
    tag        names the run: `store.compare(run="a tag")`
    cluster    the address of a Ray cluster whose workers run the trials ("auto", "local" or HOST:PORT), or "none" for
               this machine; by default as the plan says
    progress   in a notebook an output that changes, elsewhere on standard error

    Ctrl-C, or a notebook's stop button, stops cleanly; the same call goes on. Raises ToolablateError, whose `hint` says
    what to do; what was finished stays finished.
    """
    return apart(_work(plan, store, limit, question, condition, set, tag, cluster, progress))


@offered()
async def run_async(
    plan: Plan | str | PathLike[str],
    *,
    store: str | PathLike[str] | None = None,
    limit: int | None = None,
    question: str | Sequence[str] = (),
    condition: str | Sequence[str] = (),
    set: Mapping[str, Any] | None = None,
    tag: str | Sequence[str] = (),
    cluster: str | None = None,
    progress: bool = True,
) -> Run:
    """As `run`, beside what else the event loop does. Cancelled, it stops cleanly."""
    return await apart_async(_work(plan, store, limit, question, condition, set, tag, cluster, progress))


def _work(
    plan: Plan | str | PathLike[str],
    store: str | PathLike[str] | None,
    limit: int | None,
    question: str | Sequence[str],
    condition: str | Sequence[str],
    values: Mapping[str, Any] | None,
    tag: str | Sequence[str],
    cluster: str | None,
    progress: bool,
) -> "partial[Run]":
    only = Only(several(condition), several(question))
    return partial(_run, plan, store, limit, only, values, several(tag), cluster, progress)


def _run(
    plan: Plan | str | PathLike[str],
    store: str | PathLike[str] | None,
    limit: int | None,
    only: Only,
    values: Mapping[str, Any] | None,
    tags: tuple[str, ...],
    cluster: str | None,
    progress: bool,
) -> Run:
    with keeping_env(plan.folder if isinstance(plan, Plan) else Path(plan).parent):
        loaded, text = plan_given(plan, store=store, limit=limit, values=values)
        loaded = loaded.on_cluster(cluster)
        with shown(progress=progress) as (console, made), made(console, "trial") as going:
            return Run(launch(loaded, text, going, only, opens_of(loaded), tags))
