"""Records to fill stores with."""

import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from toolablate.traces.records import (
    Answer,
    ChoiceTarget,
    Condition,
    Environment,
    Event,
    Message,
    ModelCall,
    ModelReply,
    ModelRequest,
    OpenAIModel,
    Outcome,
    Question,
    Run,
    Score,
    SimulatedModel,
    ToolCall,
    ToolRequest,
    ToolSpec,
    ToolUse,
    Trace,
    Trial,
    Usage,
    Verdict,
)
from toolablate.traces.store import Recorder, TrialRecorder
from toolablate.traces.store.texts import TextReader, TextWriter
from toolablate.traces.store.trials import read_events

WHEN = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
ENVIRONMENT = Environment(versions={"toolablate": "0.1.0"}, sandbox="bubblewrap", sandbox_limits={"memory_mb": 1024.0})
PYTHON = ToolSpec(name="python", description="Runs Python. " * 20, parameters={"type": "object", "properties": {}})
NONE = Condition(name="none")
CODE = Condition(name="python", tools=(ToolUse(name="python"),))
MODEL = OpenAIModel(name="gpt-x")
SIMULATED = SimulatedModel(name="sim")


def question(number: int, *, domain: str = "physics", cluster: str = "", difficulty: str = "") -> Question:
    return Question(
        id=f"q{number}",
        prompt=f"Question {number}: what follows from this long passage of text? " + "Lorem ipsum dolor. " * 20,
        choices=("yes", "no"),
        target=ChoiceTarget(letters=("A",)),
        domain=domain,
        cluster=cluster,
        difficulty=difficulty,
    )


QUESTIONS = tuple(question(number) for number in range(4))


def trials(
    questions: tuple[Question, ...] = QUESTIONS,
    models: tuple[OpenAIModel | SimulatedModel, ...] = (MODEL,),
    conditions: tuple[Condition, ...] = (NONE, CODE),
    repeats: int = 1,
) -> list[Trial]:
    return [
        Trial(question=q.identity(), model=m.identity(), condition=c.identity(), repeat=repeat)
        for q in questions
        for m in models
        for c in conditions
        for repeat in range(repeats)
    ]


def run(identity: str = "run-1") -> Run:
    return Run(id=identity, started_at=WHEN, plan="[plan]\n" * 30, toolablate="0.1.0")


def plan(recorder: Recorder, planned: list[Trial] | None = None, identity: str = "run-1") -> list[Trial]:
    """Enters a run with all sample records; returns its trials."""
    planned = trials() if planned is None else planned
    recorder.plan(run(identity), QUESTIONS, [MODEL, SIMULATED], [NONE, CODE], planned)
    return planned


def conversation(turns: int = 2, *, salt: str = "") -> list[Event]:
    """Events of a trial with `turns` tool calls: each model call carries the whole history, as real ones do."""
    history = (Message(role="system", content="You may use tools. " * 10), Message(role="user", content="Why? " * 30))
    events: list[Event] = []
    for turn in range(turns):
        call = ToolRequest(id=f"call_{turn}{salt}", name="python", arguments=f'{{"code": "print({turn}) # {salt}"}}')
        reply = Message(
            role="assistant", content="", reasoning=f"Let me compute {turn} {salt}. " * 8, tool_calls=(call,)
        )
        events.append(_model_call(history, reply, at=turn * 2.0))
        output = f"{turn} {salt}\n" * 40
        events.append(ToolCall(at=turn * 2.0 + 1.25, seconds=0.5, call=call, output=output))
        history += (reply, Message(role="tool", content=output, tool_call_id=call.id))
    reply = Message(role="assistant", content=f"Because {salt}.\nAnswer: A")
    events.append(_model_call(history, reply, at=turns * 2.0))
    events.append(Answer(at=turns * 2.0 + 1.5, text=reply.content))
    return events


def _model_call(history: tuple[Message, ...], reply: Message, at: float) -> ModelCall:
    return ModelCall(
        at=at,
        seconds=1.0,
        request=ModelRequest(messages=history, tools=(PYTHON,)),
        reply=ModelReply(
            message=reply,
            finish_reason="tool_calls" if reply.tool_calls else "stop",
            usage=Usage(input_tokens=100, output_tokens=20),
            model="gpt-x-2026",
            response_id="chatcmpl-1",
        ),
        cost_usd=0.001,
    )


async def begun(recorder: Recorder, trial: Trial) -> TrialRecorder:
    """An attempt at a planned trial that nobody else has."""
    session = await recorder.begin(trial, started_at=WHEN, environment=ENVIRONMENT)
    assert session is not None
    return session


async def attempt(
    recorder: Recorder, trial: Trial, *, outcome: Outcome = "answered", turns: int = 2, salt: str | None = None
) -> Trace:
    """One whole attempt at a planned trial."""
    session = await begun(recorder, trial)
    for event in conversation(turns, salt=trial.id if salt is None else salt):
        session.record(event)
    return await session.finish(outcome, 12.5, Usage(input_tokens=300, output_tokens=60), 0.003)


def score(trial: Trial | str, value: float | None = 1.0, *, scorer: str = "choice", version: int = 1) -> Score:
    verdict: Verdict = (
        "unscored" if value is None else "correct" if value == 1 else "wrong" if value == 0 else "partial"
    )
    identity = trial if isinstance(trial, str) else trial.id
    return Score(trial=identity, scorer=scorer, scorer_version=version, value=value, verdict=verdict, extracted=("A",))


async def filled(path: Path, count: int | None = None) -> list[Trace]:
    """A closed store with finished and scored trials (all that are planned, or the first `count`)."""
    with Recorder(path) as recorder:
        planned = plan(recorder)
        traces = [await attempt(recorder, trial) for trial in planned[:count]]
        await recorder.score([score(trace.trial) for trace in traces])
    return traces


def as_rows(path: Path) -> Path:
    """Turns every block into rows of events, as a trial that runs has them."""
    with closing(sqlite3.connect(path)) as connection:
        reader, writer = TextReader(connection), TextWriter(connection)
        for (trace,) in connection.execute("SELECT trace FROM blocks").fetchall():
            for seq, event in enumerate(read_events(connection, trace, reader)):
                kind, body = event["kind"], {name: value for name, value in event.items() if name != "kind"}
                connection.execute("INSERT INTO events VALUES (?, ?, ?, ?)", (trace, seq, kind, writer.pack(body)))
        connection.executescript("DELETE FROM blocks; DELETE FROM parts")
        connection.commit()
    return path
