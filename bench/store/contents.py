"""What the store holds: a plan's trials, each with twenty events."""

import json
import random
import string
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from bench.store.sources import Sources

from toolablate.traces.records import (
    Answer,
    Event,
    Message,
    ModelCall,
    ModelReply,
    ModelRequest,
    ToolCall,
    ToolRequest,
    ToolSpec,
    Usage,
)

TURNS = 9
"""Tool calls of a trial; with ten model calls and the answer that makes twenty events."""

EVENTS = 2 * TURNS + 2
BEGAN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
LETTERS = "ABCDEFGHIJ"
_ID = string.ascii_letters + string.digits
_SYSTEM = (
    "You may run Python. Think step by step, check what you compute, and end with a line of the form `Answer: X`, where"
    " X is the letter of the option that you chose."
)
_PYTHON = ToolSpec(
    name="python",
    description="Runs Python in a Jupyter kernel that keeps its variables between calls. What the last line evaluates"
    " to and what is printed comes back. There is no network.",
    parameters={
        "type": "object",
        "properties": {"code": {"type": "string", "description": "The code of one cell."}},
        "required": ["code"],
        "additionalProperties": False,
    },
)


@dataclass(frozen=True, slots=True)
class Spent:
    """What a trial took in all: seconds, tokens, US dollars."""

    seconds: float
    usage: Usage
    cost_usd: float


def write_plan(folder: Path, sources: Sources, *, questions: int, repeats: int, seed: int = 0) -> Path:
    """A plan of so many questions, two simulated models, two conditions and so many repeats; returns its path."""
    rng = random.Random(seed)
    lines = []
    for number in range(questions):
        about = sources.about(f"q{number}")
        choices = list(dict.fromkeys(_words(about.thought(rng), 12) for _ in range(10)))
        prompt = f"Question {number}: {_words(about.thought(rng), 60)}?"
        target = {"kind": "choice", "letters": [LETTERS[rng.randrange(len(choices))]]}
        domain = f"domain {number % 14}"
        lines.append({"id": f"q{number}", "prompt": prompt, "choices": choices, "target": target, "domain": domain})
    questions_file = folder / "questions.jsonl"
    questions_file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    plan = folder / "plan.toml"
    models = "".join(
        f'[[models]]\nprovider = "simulated"\nname = "model-{name}"\nseed = {seed}\n'
        for seed, name in enumerate(("one", "two"))
    )
    conditions = "".join(
        f'[[conditions]]\nname = "{name}"\nprompt = "{_SYSTEM} {more}"\n'
        for name, more in (("plain", "Be brief."), ("checked", "Check the answer by another way."))
    )
    plan.write_text(
        f'name = "bench-store"\nbaseline = "plain"\nrepeats = {repeats}\n'
        f'[questions]\nfile = "questions.jsonl"\n{models}{conditions}',
        encoding="utf-8",
    )
    return plan


def _words(text: str, count: int) -> str:
    return " ".join(text.split()[:count]) or "none of these"


def conversation(
    prompt: str, instructions: str, letter: str, sources: Sources, seed: str, *, turns: int = TURNS
) -> list[Event]:
    """The events of one trial, the same for the same seed: each request carries all that was said before."""
    rng = random.Random(seed)
    history = [Message(role="system", content=instructions), Message(role="user", content=prompt)]
    events: list[Event] = []
    now = 0.0
    for _ in range(turns):
        call = ToolRequest(
            id=f"call_{_random_id(rng, 24)}", name="python", arguments=json.dumps({"code": sources.program(rng)})
        )
        reply = Message(role="assistant", content=sources.thought(rng), tool_calls=(call,))
        events.append(_model_call(history, reply, now, rng))
        now += events[-1].seconds
        output = sources.output(rng)
        events.append(ToolCall(at=now, seconds=_seconds(rng, 0.2), call=call, output=output))
        now += events[-1].seconds
        history += [reply, Message(role="tool", content=output, tool_call_id=call.id)]
    last = Message(role="assistant", content=f"{sources.thought(rng)}\n\nAnswer: {letter}")
    events.append(_model_call(history, last, now, rng))
    events.append(Answer(at=now + events[-1].seconds, text=last.content))
    return events


def _model_call(history: Sequence[Message], reply: Message, at: float, rng: random.Random) -> ModelCall:
    received = sum(len(message.content) for message in history) // 4
    written = len(reply.content) // 4 + sum(len(call.arguments) for call in reply.tool_calls) // 4
    return ModelCall(
        at=at,
        seconds=_seconds(rng, 3.0),
        request=ModelRequest(messages=tuple(history), tools=(_PYTHON,)),
        reply=ModelReply(
            message=reply,
            finish_reason="tool_calls" if reply.tool_calls else "stop",
            usage=Usage(input_tokens=received, output_tokens=written, cached_tokens=received // 2),
            model="model-2026-01-01",
            response_id=f"chatcmpl-{_random_id(rng, 29)}",
        ),
        cost_usd=round(received * 2.5e-6 + written * 1e-5, 9),
    )


def spent(events: Sequence[Event]) -> Spent:
    calls = [event for event in events if isinstance(event, ModelCall)]
    usage = sum((call.reply.usage for call in calls), start=Usage())
    return Spent(sum(event.seconds for event in events), usage, sum(call.cost_usd or 0.0 for call in calls))


def _random_id(rng: random.Random, length: int) -> str:
    return "".join(rng.choices(_ID, k=length))


def _seconds(rng: random.Random, mean: float) -> float:
    # A difference of two readings of the monotonic clock, which has sixteen or so digits.
    return rng.expovariate(1 / mean)
