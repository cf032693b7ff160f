"""A store in which every field of a selection has something to select."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from tests.traces.samples import CODE, MODEL, NONE, SIMULATED, begun, conversation, run

from toolablate.traces.records import (
    Answer,
    Attribution,
    ChoiceTarget,
    Condition,
    Event,
    Label,
    Question,
    Score,
    ToolCall,
    ToolRequest,
    ToolUse,
    Trial,
    Usage,
    Verdict,
)
from toolablate.traces.store import Recorder, Store, TrialSummary
from toolablate.viewer.index import ViewerIndex

SEARCH = Condition(name="search", tools=(ToolUse(name="web_search"), ToolUse(name="python")))
CONDITIONS = (NONE, CODE, SEARCH)
MODELS = (MODEL, SIMULATED)
LONG_NAME = "mcp_" + "x" * 90
WHEN = datetime(2026, 3, 4, tzinfo=UTC)
_PROMPTS = (
    *("What is 100% of a_b?", "Wie heißt die STRASSE in Köln?", "細胞の中で何が起こるか", "Éclair au café?"),
    *("A\x00B%", "ΑΣ και ΟΔΟΣ", "q", "Why? " * 200),
)
_ANSWERS = ("A", "B", "42 %", "細胞", "straße", "under_score", "")
_DOMAINS = ("physics", "law", "")
_DIFFICULTIES = ("hard", "easy", "medium", "")


@dataclass(frozen=True, slots=True)
class Made:
    """A closed store, and what was said of its trials."""

    path: Path
    questions: tuple[Question, ...]
    attributions: tuple[Attribution, ...]


def questions(count: int) -> tuple[Question, ...]:
    return tuple(
        Question(
            id=f"q{number}",
            prompt=f"{_PROMPTS[number % len(_PROMPTS)]} ({number})",
            choices=("Yes", "Nö") if number % 2 else (),
            target=ChoiceTarget(letters=("A",)),
            domain=_DOMAINS[number % 3],
            difficulty=_DIFFICULTIES[number % 4],
        )
        for number in range(count)
    )


async def make(path: Path, *, count: int = 9, repeats: int = 2, identity: str = "run-1") -> Made:
    rng = random.Random(0)
    asked = questions(count)
    planned = planned_trials(asked, repeats)
    with Recorder(path) as recorder:
        recorder.plan(run(identity), asked, MODELS, CONDITIONS, planned)
        ended = [trial for trial in planned if rng.random() < 0.9]
        for trial in ended:
            await record(recorder, trial, rng)
        store_scored = [trial for trial in ended if trial.id in recorder.finished_trials()]
        await recorder.score([_score(trial, rng) for trial in store_scored if rng.random() < 0.9])
        for trial in rng.sample(store_scored, len(store_scored) // 4):
            recorder.label(label(trial.id, rng.choice(("sampling_noise", "lock_in", None)), rng.choice(("Ann", "Bo"))))
    said = tuple(
        Attribution(trial=trial.id, mechanism=rng.choice(("sampling_noise", "budget")), method="trace", confidence=0.5)
        for trial in rng.sample(ended, len(ended) // 3)
    )
    return Made(path, asked, said)


def planned_trials(asked: Sequence[Question], repeats: int) -> list[Trial]:
    return [
        Trial(question=q.identity(), model=m.identity(), condition=c.identity(), repeat=repeat)
        for q in asked
        for m in MODELS
        for c in CONDITIONS
        for repeat in range(repeats)
    ]


async def record(recorder: Recorder, trial: Trial, rng: random.Random, *, failing: bool = True) -> None:
    session = await begun(recorder, trial)
    for event in _events(trial, rng):
        session.record(event)
    outcome = rng.choice(("answered", "answered", "answered", "budget", "failed")) if failing else "answered"
    await session.finish(outcome, 1.5, Usage(input_tokens=rng.randrange(100), output_tokens=5), rng.random())


def label(trial: str, mechanism: str | None, person: str = "Ann") -> Label:
    return Label.model_validate({"trial": trial, "person": person, "at": WHEN, "mechanism": mechanism})


def summaries(path: Path) -> list[TrialSummary]:
    with Store(path) as store:
        return store.summaries()


def refreshed(index: ViewerIndex, path: Path, baseline: str = "none") -> ViewerIndex:
    with Store(path) as store:
        names = [condition.name for condition in CONDITIONS], [model.name for model in MODELS]
        index.refresh(store, store.summaries(), baseline=baseline, conditions=names[0], models=names[1])
    return index


def _events(trial: Trial, rng: random.Random) -> list[Event]:
    if trial.condition == NONE.identity():
        return [Answer(at=0.0, text="A")]
    called = ["python"] if trial.condition == CODE.identity() else rng.choices(("web_search", "python", LONG_NAME), k=3)
    calls = [
        ToolCall(at=1.0, call=ToolRequest(id=f"c{place}", name=name, arguments="{}"), output='{"kind":"tool_call"}')
        for place, name in enumerate(called[: rng.randrange(len(called) + 1)])
    ]
    return [*conversation(0, salt=trial.id)[:1], *calls, Answer(at=2.0, text="A")]


def _score(trial: Trial, rng: random.Random) -> Score:
    verdicts: tuple[tuple[Verdict, float | None], ...] = (
        *(("correct", 1.0), ("wrong", 0.0), ("partial", 0.5), ("unparsed", 0.0), ("unscored", None)),
    )
    verdict, value = rng.choice(verdicts)
    return Score(trial=trial.id, scorer="s", value=value, verdict=verdict, extracted=(rng.choice(_ANSWERS),))
