"""Our events as Inspect's."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from inspect_ai.event import ErrorEvent, Event, InfoEvent, ModelEvent, ToolEvent
from inspect_ai.log import EvalError
from inspect_ai.model import ChatCompletionChoice, Content, ContentImage, ContentText, GenerateConfig, ModelOutput
from inspect_ai.tool import ToolCallError, ToolChoice, ToolFunction, ToolInfo, ToolParams

from toolablate.formats.exports.inspect.keys import KEY
from toolablate.formats.exports.inspect.messages import Messages, arguments_of, usage_of
from toolablate.traces.records import Answer, ModelCall, ModelRequest, ToolCall, ToolSpec, Trace

_STOPPED = {
    "stop": "stop",
    "tool_calls": "tool_calls",
    "length": "max_tokens",
    "content_filter": "content_filter",
    "refusal": "content_filter",
    "other": "unknown",
}
_PLACED = {"at", "seconds"}
_SHOWN_IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")


class Events:
    """The events of one trace, in their order; an answer is the sample's output and no event there."""

    def __init__(self, trace: Trace, model: str) -> None:
        self._trace = trace
        self._model = model
        self.messages = Messages(model)

    def __iter__(self) -> Iterator[Event]:
        for place, event in enumerate(self._trace.events):
            began = self._trace.started_at + timedelta(seconds=event.at)
            placed = {
                "uuid": f"{self._trace.trial.id}-{place}",
                "timestamp": began,
                "working_start": event.at,
            }
            done = {"completed": began + timedelta(seconds=event.seconds), "working_time": event.seconds}
            if isinstance(event, ModelCall):
                yield self._model_event(event, placed | done)
            elif isinstance(event, ToolCall):
                yield _tool_event(event, placed | done)
            elif not isinstance(event, Answer):
                yield InfoEvent(**placed, source=KEY, data=event.model_dump(mode="json", exclude_defaults=True))
        if (error := error_of(self._trace)) is not None:
            yield ErrorEvent(uuid=f"{self._trace.trial.id}-error", timestamp=self._ended(), error=error)

    def _ended(self) -> datetime:
        return self._trace.started_at + timedelta(seconds=self._trace.seconds)

    def _model_event(self, event: ModelCall, placed: dict[str, Any]) -> ModelEvent:
        request = event.request
        return ModelEvent(
            **placed,
            model=self._model,
            input=self.messages.all_of(request.messages),
            tools=[tool_info(tool) for tool in request.tools],
            tool_choice=_choice(request),
            config=GenerateConfig(parallel_tool_calls=request.parallel_tool_calls),
            output=self.output_of(event),
            metadata={KEY: _kept_of_call(event)},
        )

    def output_of(self, event: ModelCall) -> ModelOutput:
        reply = event.reply
        stopped: Any = _STOPPED[reply.finish_reason]
        usage = usage_of(reply.usage)
        if usage is not None:
            usage.total_cost = event.cost_usd
        return ModelOutput(
            model=reply.model or self._model,
            choices=[
                ChatCompletionChoice(message=self.messages.reply(message), stop_reason=stopped)
                for message in (reply.message, *reply.alternatives)
            ],
            usage=usage,
            time=event.seconds,
            response_id=reply.response_id or None,
        )


def _kept_of_call(event: ModelCall) -> dict[str, Any]:
    reply = event.reply.model_dump(mode="json", exclude_defaults=True, exclude={"message"})
    kept = event.model_dump(mode="json", include={*_PLACED, "purpose", "cost_usd"}, exclude_defaults=True)
    return kept | {"reply": reply, "tool_choice": event.request.tool_choice}


def tool_info(tool: ToolSpec) -> ToolInfo:
    """As far as Inspect knows the schema of its parameters."""
    try:
        parameters = ToolParams.model_validate(tool.parameters)
    except ValueError:
        parameters = ToolParams()
    return ToolInfo(name=tool.name, description=tool.description, parameters=parameters)


def _choice(request: ModelRequest) -> ToolChoice:
    match request.tool_choice:
        case "auto" | "none" as choice:
            return choice
        case "required":
            return "any"
        case name:
            return ToolFunction(name)


def _tool_event(event: ToolCall, placed: dict[str, Any]) -> ToolEvent:
    arguments, whole = arguments_of(event.call.arguments)
    kept = event.model_dump(mode="json", exclude={"kind", "call", "output", "artifacts"}, exclude_defaults=True)
    if not whole:
        kept["arguments"] = event.call.arguments
    if event.artifacts:
        kept |= {"output": event.output, "artifacts": [each.model_dump() for each in event.artifacts]}
    return ToolEvent(
        **placed,
        id=event.call.id,
        function=event.call.name,
        arguments=arguments,
        result=_result(event),
        error=_tool_error(event),
        failed=True if event.status != "ok" else None,
        metadata={KEY: kept | {"status": event.status, "error": event.error, "truncated": event.truncated}},
    )


def _result(event: ToolCall) -> str | list[Content]:
    images = [each for each in event.artifacts if each.mime in _SHOWN_IMAGES]
    if not images:
        return event.output
    shown: list[Content] = [ContentText(text=event.output)]
    shown += [ContentImage(image=f"data:{each.mime};base64,{each.data}") for each in images]
    return shown


def _tool_error(event: ToolCall) -> ToolCallError | None:
    if event.status == "ok":
        return None
    return ToolCallError("parsing" if event.status == "invalid" else "unknown", event.error or event.output)


def error_of(trace: Trace) -> EvalError | None:
    """What spoiled a trial that failed."""
    if trace.outcome != "failed":
        return None
    failure = next((event for event in reversed(trace.events) if event.kind == "failure"), None)
    said = "the trial failed" if failure is None else f"{failure.boundary}: {failure.code}: {failure.message}"
    return EvalError(message=said, traceback="", traceback_ansi="")
