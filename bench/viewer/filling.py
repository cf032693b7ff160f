"""Writes the store: copies of some hundred recorded trials, one trial of a thousand events, and some more later."""

import asyncio
from pathlib import Path

from bench.store.contents import BEGAN, conversation, spent
from bench.store.copying import fill_by_copying
from bench.store.filling import events_of, letter_of
from bench.store.sources import Sources
from bench.viewer.contents import write_plan

from toolablate.benchmarks.prompt import render
from toolablate.experiments.plans.plan import PlannedTrial, design, load_plan
from toolablate.traces.records import Event
from toolablate.traces.store import Recorder, Store

LATER = 20
"""Trials of the plan that are left, of which MORE come while the viewer is open, and one is long."""
MORE = 10
LONG_TURNS = 499
"""With as many model calls, one more for the answer and the answer itself: a thousand events."""


def prepare(folder: Path, sources: Sources, *, questions: int, repeats: int) -> Path:
    """The store in `folder`, which is made where it is not there yet."""
    store = folder / "store.db"
    if not store.exists():
        folder.mkdir(parents=True, exist_ok=True)
        fill_by_copying(write_plan(folder, sources, questions=questions, repeats=repeats), store, sources, left=LATER)
    return store


def add(store: Path, sources: Sources, count: int, *, turns: int | None = None) -> str:
    """Records some of the trials that are left; returns the id of the last."""
    left = _left(store)[:count]
    assert left, "no trial of the plan is left: name another folder"
    asyncio.run(_record(store, left, sources, turns))
    return left[-1].trial.id


def _left(store: Path) -> list[PlannedTrial]:
    planned = design(load_plan(store.with_name("plan.toml"))[0]).trials
    with Store(store) as opened:
        finished = opened.finished_trials()
    return [entry for entry in planned if entry.trial.id not in finished]


async def _record(store: Path, left: list[PlannedTrial], sources: Sources, turns: int | None) -> None:
    with Recorder(store) as recorder:
        for entry in left:
            session = await recorder.begin(entry.trial, started_at=BEGAN)
            assert session is not None
            for event in events_of(entry, sources) if turns is None else _long(entry, sources, turns):
                session.record(event)
            total = spent(session.events)
            await session.finish("answered", total.seconds, total.usage, total.cost_usd)


def _long(entry: PlannedTrial, sources: Sources, turns: int) -> list[Event]:
    prompt, instructions = render(entry.question), entry.condition.prompt
    about = sources.about(entry.question.id)
    return conversation(prompt, instructions, letter_of(entry), about, entry.trial.id, turns=turns)
