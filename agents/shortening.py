"""What is left out of a conversation that its tools have made too long for the model."""

from toolablate.agents.spending import estimated_tokens
from toolablate.traces.records import Message, ModelRequest

LEFT_OUT = "[This result was left out, because the conversation had become too long.]"


def can_be_shortened(request: ModelRequest) -> bool:
    """Whether it holds a tool result that is worth leaving out."""
    return bool(_results(request.messages))


def shortened(request: ModelRequest, tokens: int) -> ModelRequest:
    """The request with the oldest tool results left out: at least one, and as many as bring it down to about so many
    tokens, or all of them. Each keeps its place and its call's id."""
    messages = list(request.messages)
    for position in _results(request.messages):
        messages[position] = messages[position].model_copy(update={"content": LEFT_OUT})
        request = request.model_copy(update={"messages": tuple(messages)})
        if estimated_tokens(request) <= tokens:
            break
    return request


def _results(messages: tuple[Message, ...]) -> list[int]:
    """Where the results are that have not been left out, the oldest first."""
    return [
        position
        for position, message in enumerate(messages)
        if message.role == "tool" and len(message.content) > len(LEFT_OUT)
    ]
