"""Writes a store of finished trials by way of the Recorder, as a run would."""

import asyncio
import json
import random
import resource
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.store.contents import BEGAN, EVENTS, LETTERS, conversation, spent
from bench.store.sources import Sources

from toolablate.benchmarks.prompt import render
from toolablate.benchmarks.scoring.scorers import ChoiceScorer
from toolablate.experiments.environment.environment import fingerprint_of, recorded_environment
from toolablate.experiments.plans.plan import Design, Plan, PlannedTrial, design, load_plan
from toolablate.traces.records import Environment, Event, Question, Run, Score, Trace
from toolablate.traces.store import Recorder

Making = Callable[[PlannedTrial, Sources], list[Event]]

AT_ONCE = 64
SCORER, VERSION = "choice", ChoiceScorer().version


@dataclass(frozen=True, slots=True)
class Filled:
    """`seconds` by the clock and `cpu_seconds` of both threads, less what making up the traces took by itself, which
    is told from the first of them."""

    trials: int
    events: int
    seconds: float
    cpu_seconds: float


def fill(plan_file: Path, store: Path, sources: Sources, *, left: int = 0) -> Filled:
    """Fills a store with all trials of a plan but the last `left`."""
    plan, text = load_plan(plan_file)
    planned = design(plan)
    done = planned.trials[: len(planned.trials) - left]
    making = _making(done[:200], sources) * len(done) / min(200, len(done))
    began, cpu = time.perf_counter(), _cpu()
    with Recorder(store) as recorder:
        here = plan_run(recorder, plan, text, planned)
        asyncio.run(fill_trials(recorder, done, sources, here, events_of))
    seconds, used = time.perf_counter() - began, _cpu() - cpu
    return Filled(len(done), EVENTS * len(done), seconds - making, used - making)


def plan_run(recorder: Recorder, plan: Plan, text: str, planned: Design) -> Environment:
    """Enters a run of all trials of a plan; returns what they run on."""
    run = Run(
        id="0" * 32,
        started_at=BEGAN,
        plan=text,
        toolablate="0.1.0",
        baseline=plan.baseline,
        scorers=(SCORER,),
        fingerprint=fingerprint_of(plan, planned.conditions),
    )
    trials = [entry.trial for entry in planned.trials]
    recorder.plan(run, planned.questions, planned.models, planned.conditions, trials)
    return recorded_environment(None, run.fingerprint)


async def fill_trials(
    recorder: Recorder, planned: Sequence[PlannedTrial], sources: Sources, here: Environment, make: Making
) -> None:
    waiting = iter(planned)

    async def work() -> None:
        for entry in waiting:
            trace, score = await _record(recorder, entry, sources, here, make)
            await recorder.score([score])
            assert trace.outcome == "answered"

    await asyncio.gather(*(work() for _ in range(AT_ONCE)))


async def _record(
    recorder: Recorder, entry: PlannedTrial, sources: Sources, here: Environment, make: Making
) -> tuple[Trace, Score]:
    letter = letter_of(entry)
    session = await recorder.begin(entry.trial, started_at=BEGAN, environment=here)
    assert session is not None
    for event in make(entry, sources):
        session.record(event)
        await asyncio.sleep(0)
    total = spent(session.events)
    trace = await session.finish("answered", total.seconds, total.usage, total.cost_usd)
    right = letter in letters(entry.question)
    value, verdict = (1.0, "correct") if right else (0.0, "wrong")
    return trace, Score.model_validate(
        {
            "trial": entry.trial.id,
            "scorer": SCORER,
            "scorer_version": VERSION,
            "value": value,
            "verdict": verdict,
            "extracted": (letter,),
        }
    )


def events_of(entry: PlannedTrial, sources: Sources) -> list[Event]:
    prompt, instructions = render(entry.question), entry.condition.prompt
    return conversation(prompt, instructions, letter_of(entry), sources.about(entry.question.id), entry.trial.id)


def letters(question: Question) -> str:
    """Those that are right."""
    return "".join(question.target.letters) if question.target.kind == "choice" else "A"


def letter_of(entry: PlannedTrial) -> str:
    """Right in two trials of three, a little more often where the answer is checked."""
    rng = random.Random(f"{entry.trial.id} letter")
    right = letters(entry.question)[0]
    share = 0.66 if entry.condition.name == "plain" else 0.69
    return right if rng.random() < share else rng.choice(LETTERS)


def write_lines(path: Path, plan_file: Path, sources: Sources, *, most: int) -> int:
    """The first of the same traces for another program: one JSON object a line, with the question's prompt and answer.
    Returns how many there are."""
    chosen = design(load_plan(plan_file)[0]).trials[:most]
    with path.open("w", encoding="utf-8") as lines:
        for entry in chosen:
            events = [event.model_dump(mode="json") for event in events_of(entry, sources)]
            content = {
                "question": entry.question.id,
                "model": entry.model.name,
                "condition": entry.condition.name,
                "repeat": entry.trial.repeat,
                "prompt": render(entry.question),
                "choices": entry.question.choices,
                "target": entry.question.model_dump(mode="json")["target"]["letters"],
                "letter": letter_of(entry),
                "events": events,
            }
            lines.write(json.dumps(content, ensure_ascii=False) + "\n")
    return len(chosen)


def _making(entries: tuple[PlannedTrial, ...], sources: Sources) -> float:
    began = time.perf_counter()
    for entry in entries:
        events_of(entry, sources)
    return time.perf_counter() - began


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
