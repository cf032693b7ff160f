"""Conversations of turns that are said in short."""

from collections.abc import Sequence

from toolablate.traces.records import (
    Answer,
    Event,
    Message,
    ModelCall,
    ModelReply,
    ModelRequest,
    ToolCall,
    ToolRequest,
)

ASKED = ModelRequest(messages=(Message(role="user", content="Which?"),))
Turn = tuple[str, str, str]
"""What the model says, the code that it runs ("" for none), and what that prints."""


def conversation(turns: Sequence[Turn], *, salt: str = "") -> tuple[Event, ...]:
    """`salt` makes ids of calls that no other conversation has."""
    events: list[Event] = []
    for number, (said, code, printed) in enumerate(turns):
        call = ToolRequest(id=f"{salt}{number}", name="python", arguments=f'{{"code": "{code}"}}')
        message = Message(role="assistant", content=said, tool_calls=(call,) if code else ())
        reply = ModelReply(message=message, finish_reason="tool_calls" if code else "stop")
        events.append(ModelCall(at=len(events), request=ASKED, reply=reply))
        if code:
            events.append(ToolCall(at=len(events), call=call, output=printed))
    if turns and not turns[-1][1]:
        events.append(Answer(at=len(events), text=turns[-1][0]))
    return tuple(events)
