"""Small traces made by hand, as a list of what happened."""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from tests.traces.samples import WHEN

from toolablate.analysis.attribution.belief import Probe, Trajectory, trajectory
from toolablate.analysis.attribution.signals.of_trace import signals_of
from toolablate.analysis.attribution.signals.signal_types import Signals
from toolablate.analysis.statistics.intervals import Floats
from toolablate.traces.records import (
    Answer,
    ChoiceTarget,
    Condition,
    Event,
    Failure,
    FinishReason,
    Limit,
    Message,
    ModelCall,
    ModelReply,
    ModelRequest,
    Question,
    Score,
    ToolCall,
    ToolRequest,
    ToolSpec,
    Trace,
    Trial,
    Usage,
    Verdict,
)

QUESTION = Question(
    id="q",
    prompt="Which gas do most green plants take from the air to make sugar?",
    choices=("carbon dioxide", "molecular nitrogen", "atomic hydrogen"),
    target=ChoiceTarget(letters=("A",)),
)
CONDITION = Condition(name="tools", prompt="You may use tools.")
SPECS = tuple(ToolSpec(name=name, description=name, parameters={}) for name in ("python", "web_search", "browser_open"))


def said(
    text: str, *calls: ToolRequest, finish: FinishReason | None = None, reasoning: str = "", **more: Any
) -> ModelCall:
    """A reply; `specs` are the tools that its request offered."""
    message = Message(role="assistant", content=text, reasoning=reasoning, tool_calls=calls)
    return ModelCall(
        at=0,
        purpose=more.get("purpose", "ask"),
        request=ModelRequest(messages=(Message(role="user", content="?"),), tools=more.get("specs", SPECS)),
        reply=ModelReply(message=message, finish_reason=finish or ("tool_calls" if calls else "stop")),
    )


def asked(tool: str, **arguments: Any) -> ToolRequest:
    return ToolRequest(id="call", name=tool, arguments=json.dumps(arguments))


def gave(call: ToolRequest, output: str, **more: Any) -> ToolCall:
    return ToolCall(at=0, call=call, output=output, **more)


def failed(boundary: Any = "tool") -> Failure:
    return Failure(at=0, boundary=boundary, code="timeout", message="no answer", retried=True)


def told(call: ToolRequest, output: str, before: str = "", **more: Any) -> list[Event]:
    """A reply with one call, and what the call gave."""
    return [said(before, call), gave(call, output, **more)]


def ran(code: str, output: str, before: str = "", **more: Any) -> list[Event]:
    return told(asked("python", code=code), output, before, **more)


def imported(package: str, printed: str = "", error: str = "") -> list[Event]:
    """A cell that imports what its kernel lacks; `error` is the last line of what it raises, where that is another."""
    raised = error or f"ModuleNotFoundError: No module named '{package}'"
    name, line = raised.partition(":")[0], "-" * 75
    shown = f"{printed}{line}\n{name}   Traceback (most recent call last)\nCell In[1], line 1\n\n{raised}\n"
    return ran(f"import {package}", shown, status="error", error=name)


def searched(query: str, output: str, before: str = "", **more: Any) -> list[Event]:
    return told(asked("web_search", query=query), output, before, **more)


def opened(url: str, output: str, before: str = "", **more: Any) -> list[Event]:
    return told(asked("browser_open", url=url), output, before, **more)


def ended(text: str, limit: Limit | None = None, **more: Any) -> list[Event]:
    return [said(text, **more), Answer(at=1, text=text, limit=limit)]


def trace(events: Sequence[Event], *, question: Question = QUESTION, seconds: float = 1.0, tokens: int = 10) -> Trace:
    stopped = any(event.kind == "answer" and event.limit for event in events)
    return Trace(
        trial=Trial(question=question.identity(), model="m", condition="c"),
        outcome="budget" if stopped else "answered",
        started_at=WHEN,
        seconds=seconds,
        usage=Usage(input_tokens=tokens, output_tokens=0),
        events=tuple(events),
    )


def read(
    *events: Event,
    question: Question = QUESTION,
    condition: Condition = CONDITION,
    seconds: float = 1.0,
    tokens: int = 10,
) -> Signals:
    return signals_of(trace(events, question=question, seconds=seconds, tokens=tokens), question, condition)


def wrong(verdict: Verdict = "wrong") -> Score:
    return Score(trial="t", scorer="choice", value=0.0, verdict=verdict)


def right() -> Score:
    return Score(trial="t", scorer="choice", value=1.0, verdict="correct")


# Beliefs whose course is known, and what probes of them say.


def probed(path: Floats, samples: int, rng: np.random.Generator) -> Trajectory:
    """One probe after each step of a path of true shares."""
    right = rng.binomial(samples, path).tolist()
    return trajectory(Probe(step, {"A": count, "B": samples - count}, 0, count) for step, count in enumerate(right))


def falling(steps: int, fall: int, high: float, low: float) -> Floats:
    """High before the step `fall`, low from it on."""
    return np.where(np.arange(steps + 1) < fall, high, low)


def steady(steps: int, rng: np.random.Generator) -> Floats:
    return np.full(steps + 1, rng.uniform(0.05, 0.95))


def rising(steps: int, rng: np.random.Generator) -> Floats:
    low, high = sorted(rng.uniform(0.05, 0.95, 2).tolist())
    return falling(steps, int(rng.integers(1, steps + 1)), low, high)


def recovering(steps: int, rng: np.random.Generator) -> Floats:
    """Falls for one to three steps, and is back for the last three or more."""
    begins, lasts = int(rng.integers(1, steps - 4)), int(rng.integers(1, 4))
    path = np.full(steps + 1, rng.uniform(0.7, 1))
    path[begins : begins + lasts] = rng.uniform(0, 0.3)
    return path
