"""How many tokens a simulated model says that it read and wrote."""

from toolablate.traces.records import Message, ModelRequest, Usage

_CHARACTERS_PER_TOKEN = 4


def usage_of(request: ModelRequest, message: Message) -> Usage:
    def tokens(*texts: str) -> int:
        return -(-sum(map(len, texts)) // _CHARACTERS_PER_TOKEN)

    read = tokens(
        *(text for sent in request.messages for text in (sent.content, *(call.arguments for call in sent.tool_calls))),
        *(spec.to_json() for spec in request.tools),
    )
    return Usage(
        input_tokens=read, output_tokens=tokens(message.content, *(call.arguments for call in message.tool_calls)) + 1
    )
