"""What a model is asked, in the parts by which a recorded reply is found again."""

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from toolablate.traces.records import ModelRequest, OpenAIModel, canonical_json, clean_text

DIGEST_BYTES = 16


class Part(NamedTuple):
    """A text with the first 128 bits of its SHA-256."""

    digest: bytes
    text: str


def digest_bytes(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()[:DIGEST_BYTES]


def part(value: Any) -> Part:
    """A JSON value as a part. Lone surrogates, which no file can hold, become U+FFFD."""
    text = canonical_json(value)
    try:
        return Part(digest_bytes(text.encode()), text)
    except UnicodeEncodeError:
        text = clean_text(text)
        return Part(digest_bytes(text.encode()), text)


@dataclass(frozen=True)
class Asked:
    """A request to a model, and the number of the repeat that makes it.

    The condition has no part in it, nor have the model's label, its price or the variable that holds its key: all that
    ask the same get the same reply.
    """

    model: Part
    parameters: Part
    tools: Part
    messages: tuple[Part, ...]
    repeat: int

    @cached_property
    def key(self) -> bytes:
        """Digest of everything but the repeat: 16 bytes."""
        return key_of(
            self.model.digest, self.parameters.digest, self.tools.digest, [message.digest for message in self.messages]
        )

    @property
    def name(self) -> str:
        """Tells apart whatever may have a reply of its own."""
        return f"{self.key.hex()} {self.repeat}"


def key_of(model: bytes, parameters: bytes, tools: bytes, messages: list[bytes]) -> bytes:
    """The key of a request from the digests of its parts."""
    parts = [model.hex(), parameters.hex(), tools.hex(), [message.hex() for message in messages]]
    return digest_bytes(canonical_json(parts).encode())


def asked(model: OpenAIModel, request: ModelRequest, repeat: int) -> Asked:
    """Fields that hold their defaults do not enter it, so one added later leaves older recordings alone."""
    parameters: dict[str, Any] = {
        "sampling": model.sampling.model_dump(mode="json", exclude_defaults=True),
        "tool_choice": request.tool_choice,
    }
    if request.parallel_tool_calls is not None:
        parameters["parallel_tool_calls"] = request.parallel_tool_calls
    return Asked(
        model=part({"endpoint": model.endpoint.rstrip("/"), "api": model.api, "name": model.wire_name}),
        parameters=part(parameters),
        tools=part([tool.model_dump(mode="json", exclude_defaults=True) for tool in request.tools]),
        messages=tuple(part(message.model_dump(mode="json", exclude_defaults=True)) for message in request.messages),
        repeat=repeat,
    )
