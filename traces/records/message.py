from typing import Literal

from pydantic import JsonValue

from toolablate.traces.records._base import Record


class ToolSpec(Record):
    """A tool as a model is told of it; `parameters` is a JSON Schema object."""

    name: str
    description: str
    parameters: dict[str, JsonValue]


class ToolRequest(Record):
    """A model's wish to call a tool. `arguments` is the text as the model wrote it, valid JSON or not."""

    id: str
    name: str
    arguments: str


class Message(Record):
    """`reasoning` is what a model thought, as text, and `reasoning_key` the name under which a Chat Completions
    endpoint gave it and wants it back. `items` are parts of a reply as its API gave them, to be given back unchanged:
    the output items of Responses in their order, the `reasoning_details` of Chat Completions or, where `reasoning_key`
    is `content`, the parts of a content that has thoughts among them.
    """

    role: Literal["system", "user", "assistant", "tool"]
    content: str = ""
    reasoning: str = ""
    reasoning_key: str = ""
    items: tuple[dict[str, JsonValue], ...] = ()
    tool_calls: tuple[ToolRequest, ...] = ()
    tool_call_id: str = ""


class Usage(Record):
    """Tokens of one or more calls; `None` where the endpoint did not say.

    `input_tokens` are all that were read: `cached_tokens` of them came from the endpoint's cache, `cache_write_tokens`
    others were written to it. `reasoning_tokens` are among `output_tokens`.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None

    def __add__(self, other: "Usage") -> "Usage":
        """Sum; a part that is unknown on one side only counts as what the other side says."""
        return Usage(**{name: _plus(getattr(self, name), getattr(other, name)) for name in Usage.model_fields})


def _plus(left: int | None, right: int | None) -> int | None:
    if left is None or right is None:
        return left if right is None else right
    return left + right
