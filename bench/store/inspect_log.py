"""Writes traces as an Inspect log with Inspect's own recorder and reads it back. Run by a Python that has inspect_ai:

    PYTHON inspect_log.py LINES LOG.eval

It prints JSON: how many samples, bytes, seconds to write, and milliseconds to read one sample (median).
What it writes is what Inspect keeps by default: messages, model and tool events, no raw requests.
"""

import asyncio
import json
import statistics
import sys
import time
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from pathlib import Path

from inspect_ai.dataset import Sample
from inspect_ai.event import ModelEvent, SampleInitEvent, ToolEvent
from inspect_ai.log import (
    EvalConfig,
    EvalDataset,
    EvalPlan,
    EvalSample,
    EvalSpec,
    EvalStats,
    condense_sample,
    read_eval_log,
    read_eval_log_sample,
)
from inspect_ai.log._recorders.eval import EvalRecorder
from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageTool,
    ChatMessageUser,
    GenerateConfig,
    ModelOutput,
    ModelUsage,
)
from inspect_ai.scorer import Score
from inspect_ai.tool import ToolCall, ToolInfo, ToolParams
from shortuuid import uuid

FLUSH = 100
BEGAN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def main() -> None:
    lines, log = map(Path, sys.argv[1:])
    log.unlink(missing_ok=True)
    began = time.perf_counter()
    ids = asyncio.run(write(lines, log))
    writing = time.perf_counter() - began
    times = []
    for identity, epoch in ids[:: max(1, len(ids) // 20)]:
        began = time.perf_counter()
        sample = read_eval_log_sample(str(log), identity, epoch, resolve_attachments=True)
        times.append(1000 * (time.perf_counter() - began))
        assert len([event for event in sample.events if event.event in ("model", "tool")]) == 19
        assert len(next(event for event in reversed(sample.events) if event.event == "model").input) == 20
    header = read_eval_log(str(log), header_only=True)
    assert header.status == "success"
    told = {
        "version": version("inspect_ai"),
        "samples": len(ids),
        "bytes": log.stat().st_size,
        "seconds": writing,
        "read_ms": statistics.median(times),
    }
    print(json.dumps(told))


async def write(lines: Path, log: Path) -> list[tuple[str, int]]:
    recorder = EvalRecorder(str(log.parent))
    spec = EvalSpec(
        created=BEGAN.isoformat(), task="bench", model="bench/model", dataset=EvalDataset(), config=EvalConfig()
    )
    written = []
    path = await recorder.log_init(spec, str(log))
    await recorder.log_start(spec, EvalPlan())
    epochs = {}
    with lines.open(encoding="utf-8") as rows:
        for row in map(json.loads, rows):
            # One log holds one model and one solver, so what differs between our arms is told apart by the epoch.
            epochs[row["question"]] = epochs.get(row["question"], 0) + 1
            sample = sample_of(row, epochs[row["question"]])
            await recorder.log_sample(spec, condense_sample(sample))
            written.append((sample.id, sample.epoch))
            if len(written) % FLUSH == 0:
                await recorder.flush(spec)
    await recorder.log_finish(spec, "success", EvalStats(), None, None)
    assert path.endswith(log.name)
    return written


def sample_of(row: dict, epoch: int) -> EvalSample:
    messages = {}
    events = [SampleInitEvent(sample=Sample(input=row["prompt"], choices=row["choices"]), state={}, uuid=uuid())]
    last = None
    for event in row["events"]:
        if event["kind"] == "model_call":
            last = model_event(event, messages)
            events.append(last)
        elif event["kind"] == "tool_call":
            events.append(tool_event(event))
    assert last is not None
    history = [*last.input, last.output.message]
    return EvalSample(
        id=row["question"],
        epoch=epoch,
        input=row["prompt"],
        choices=row["choices"],
        target=row["target"],
        messages=history,
        output=last.output,
        scores={"choice": Score(value="C" if row["letter"] in row["target"] else "I", answer=row["letter"])},
        events=events,
        model_usage={last.model: usage(row["events"])},
        uuid=uuid(),
        started_at=BEGAN.isoformat(),
        completed_at=(BEGAN + timedelta(seconds=row["events"][-1]["at"])).isoformat(),
        total_time=row["events"][-1]["at"],
        working_time=row["events"][-1]["at"],
        metadata={"model": row["model"], "condition": row["condition"], "repeat": row["repeat"]},
    )


def usage(events: list[dict]) -> ModelUsage:
    calls = [event["reply"]["usage"] for event in events if event["kind"] == "model_call"]
    sums = {key: sum(call[f"{key}_tokens"] for call in calls) for key in ("input", "output", "cached")}
    return usage_of(**sums)


def usage_of(input: int, output: int, cached: int) -> ModelUsage:
    return ModelUsage(
        input_tokens=input, output_tokens=output, total_tokens=input + output, input_tokens_cache_read=cached
    )


def message_of(message: dict, known: dict) -> object:
    """One object for one message, as in a run: Inspect gives each an id of its own."""
    key = json.dumps(message, sort_keys=True)
    if key not in known:
        known[key] = _message(message)
    return known[key]


def _message(message: dict) -> object:
    role, content = message["role"], message["content"]
    if role == "system":
        return ChatMessageSystem(content=content, id=uuid())
    if role == "user":
        return ChatMessageUser(content=content, source="input", id=uuid())
    if role == "tool":
        return ChatMessageTool(content=content, tool_call_id=message["tool_call_id"], function="python", id=uuid())
    calls = [
        ToolCall(id=call["id"], function=call["name"], arguments=json.loads(call["arguments"]))
        for call in message["tool_calls"]
    ]
    return ChatMessageAssistant(
        content=content, tool_calls=calls or None, model="model-2026-01-01", source="generate", id=uuid()
    )


def model_event(event: dict, known: dict) -> ModelEvent:
    request, reply = event["request"], event["reply"]
    used = reply["usage"]
    tools = [
        ToolInfo(
            name=tool["name"],
            description=tool["description"],
            parameters=ToolParams.model_validate(tool["parameters"]),
        )
        for tool in request["tools"]
    ]
    began = BEGAN + timedelta(seconds=event["at"])
    return ModelEvent(
        uuid=uuid(),
        timestamp=began,
        working_start=event["at"],
        model="bench/model",
        input=[message_of(message, known) for message in request["messages"]],
        tools=tools,
        tool_choice="auto",
        config=GenerateConfig(),
        output=ModelOutput(
            model=reply["model"],
            choices=[
                ChatCompletionChoice(message=message_of(reply["message"], known), stop_reason=reply["finish_reason"])
            ],
            usage=usage_of(used["input_tokens"], used["output_tokens"], used["cached_tokens"]),
            time=event["seconds"],
            response_id=reply["response_id"],
        ),
        completed=began + timedelta(seconds=event["seconds"]),
        working_time=event["seconds"],
    )


def tool_event(event: dict) -> ToolEvent:
    call = event["call"]
    began = BEGAN + timedelta(seconds=event["at"])
    return ToolEvent(
        uuid=uuid(),
        timestamp=began,
        working_start=event["at"],
        id=call["id"],
        function=call["name"],
        arguments=json.loads(call["arguments"]),
        result=event["output"],
        completed=began + timedelta(seconds=event["seconds"]),
        working_time=event["seconds"],
    )


if __name__ == "__main__":
    main()
