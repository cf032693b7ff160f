"""Requests and replies to record."""

from toolablate.agents.replies.recorded import AskedRequest, KeptReply, asked
from toolablate.traces.records import Message, ModelReply, ModelRequest, OpenAIModel, ToolRequest, ToolSpec

MODEL = OpenAIModel(name="label", endpoint="http://127.0.0.1:9/v1", model="wire-name")
PYTHON = ToolSpec(name="python", description="Runs Python.", parameters={"type": "object"})
SYSTEM = Message(role="system", content="You may use tools. " * 20)


def request(*said: str | Message, tools: tuple[ToolSpec, ...] = (PYTHON,), tool_choice: str = "auto") -> ModelRequest:
    """Texts are of a user's."""
    messages = (each if isinstance(each, Message) else Message(role="user", content=each) for each in said)
    return ModelRequest(messages=(SYSTEM, *messages), tools=tools, tool_choice=tool_choice)


def question(number: int, repeat: int = 0) -> AskedRequest:
    return asked(MODEL, request(f"Question {number}: what follows from it?"), repeat)


def kept(text: str) -> KeptReply:
    call = ToolRequest(id="call_1", name="python", arguments='{"code": "1"}')
    message = Message(role="assistant", content=text, reasoning="Let me see. " * 30, tool_calls=(call,))
    return KeptReply(reply=ModelReply(message=message, finish_reason="tool_calls", logprobs={"content": [{"p": -0.5}]}))
