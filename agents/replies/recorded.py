"""What a model was asked and what it said, as rows of the file."""

import hashlib
import json
import sqlite3
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, NamedTuple

from toolablate.agents.chat import NoReplyError
from toolablate.traces.database import ContentDamaged, decoded, digest_bytes, encoded
from toolablate.traces.errors import ModelError
from toolablate.traces.records import (
    AgentModel,
    LangChainModel,
    ModelReply,
    ModelRequest,
    Record,
    ServedModel,
    canonical_json,
    clean_text,
)


class TextPart(NamedTuple):
    """A text with the first 128 bits of its SHA-256."""

    digest: bytes
    text: str


def part(value: Any) -> TextPart:
    """A JSON value as a part. Lone surrogates, which no file can hold, become U+FFFD."""
    text = canonical_json(value)
    try:
        return TextPart(digest_bytes(text.encode()), text)
    except UnicodeEncodeError:
        text = clean_text(text)
        return TextPart(digest_bytes(text.encode()), text)


@dataclass(frozen=True)
class AskedRequest:
    """A request to a model, and the number of the repeat that makes it.

    The condition has no part in it, nor have the model's label, its price or the variable that holds its key: all that
    ask the same get the same reply.
    """

    model: TextPart
    parameters: TextPart
    tools: TextPart
    messages: tuple[TextPart, ...]
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


def asked(model: ServedModel, request: ModelRequest, repeat: int) -> AskedRequest:
    """Fields that hold their defaults do not enter it, so one added later leaves older recordings alone."""
    parameters: dict[str, Any] = {"tool_choice": request.tool_choice}
    if isinstance(model, AgentModel):
        from toolablate.agents.langgraph_agents.source import ORIGINAL

        asked_of = {"endpoint": model.endpoint, "api": model.provider, "name": model.identity()}
        if (original := ORIGINAL.get()) is not None:
            parameters["asked"] = dict(original.identity)
            if original.number:
                parameters["number"] = original.number
    elif isinstance(model, LangChainModel):
        asked_of = {"endpoint": model.endpoint.rstrip("/"), "api": model.class_path, "name": model.wire_name}
        parameters["kwargs"] = model.kwargs
    else:
        asked_of = {"endpoint": model.endpoint.rstrip("/"), "api": model.api, "name": model.wire_name}
        parameters["sampling"] = model.sampling.model_dump(mode="json", exclude_defaults=True)
    if request.parallel_tool_calls is not None:
        parameters["parallel_tool_calls"] = request.parallel_tool_calls
    if request.provider_tools:
        parameters["provider_tools"] = list(request.provider_tools)
    if request.answer_schema:
        parameters["answer_schema"] = request.answer_schema
    return AskedRequest(
        model=part(asked_of),
        parameters=part(parameters),
        tools=part([tool.model_dump(mode="json", exclude_defaults=True) for tool in request.tools]),
        messages=tuple(part(message.model_dump(mode="json", exclude_defaults=True)) for message in request.messages),
        repeat=repeat,
    )


# What a model said to one request, as it is kept.


# Replies that are none, after which the same is asked again. The others that are retried, such as a reply that the
# endpoint broke off, are failures of infrastructure, of which a replay has none.
NONE_OF_THE_MODEL = frozenset({"empty_reply"})


class NoReply(Record):
    """A reply that is none: what came, and how it was told."""

    code: str
    message: str
    reply: ModelReply

    @classmethod
    def of(cls, error: NoReplyError) -> "NoReply":
        return cls(code=error.code, message=error.message, reply=error.reply)

    def error(self, *, retryable: bool) -> NoReplyError:
        return NoReplyError(self.message, self.reply, code=self.code, retryable=retryable)


class KeptReply(Record):
    """What ended it: a `reply`; or where `code` is set a reply that is none, and for good (`content_filter`), or a
    refusal that any such request meets (`context_length`), without a reply.

    `before` are the replies that were none and after which the same was asked again (`empty_reply`), in their order.
    Failures of infrastructure are not kept.
    """

    reply: ModelReply | None = None
    code: str = ""
    message: str = ""
    hint: str = ""
    before: tuple[NoReply, ...] = ()

    def given(self) -> ModelReply:
        """The reply. Raises ModelError where there is none."""
        if self.reply is not None and not self.code:
            return self.reply
        if self.reply is not None:
            raise NoReply(code=self.code, message=self.message, reply=self.reply).error(retryable=False)
        raise ModelError(self.message, hint=self.hint, code=self.code)

    def content(self) -> dict[str, Any]:
        content: dict[str, Any] = self.model_dump(mode="json", exclude_defaults=True)
        return content


class Came(NamedTuple):
    """What came of asking, for all who asked it at the same time: `seconds` is how long the endpoint took, `by` who
    asked it."""

    what: KeptReply | ModelError
    seconds: float
    by: object

    @property
    def failed_once(self) -> bool:
        """Whether infrastructure spoiled this one request, which says nothing about the next."""
        what = self.what
        return isinstance(what, ModelError) and what.retryable and what.code not in NONE_OF_THE_MODEL


def row_digest(key: bytes, repeat: int, content: dict[str, Any]) -> bytes:
    """Of what was asked and what was said: 32 bytes. These, sorted, make a cache's root digest."""
    text = canonical_json([key.hex(), repeat, content])
    return hashlib.sha256(text.encode("utf-8", "replace")).digest()


# Texts, each kept once under its digest, compressed where that makes it smaller.


def put_text(connection: sqlite3.Connection, part: TextPart) -> int:
    """The id of a text, written if it is new. Raises sqlite3.Error."""
    known = find_text(connection, part.digest)
    if known is not None:
        return known
    encoding, body = encoded(part.text.encode())
    values = (part.digest, encoding, body)
    return int(connection.execute("INSERT INTO texts (digest, encoding, body) VALUES (?, ?, ?)", values).lastrowid or 0)


def find_text(connection: sqlite3.Connection, digest: bytes) -> int | None:
    row = connection.execute("SELECT id FROM texts WHERE digest = ?", (digest,)).fetchone()
    return None if row is None else int(row[0])


def read_text(connection: sqlite3.Connection, identity: int) -> TextPart:
    """Raises ContentDamaged where it is missing or not what its digest says; sqlite3.Error."""
    row = connection.execute("SELECT digest, encoding, body FROM texts WHERE id = ?", (identity,)).fetchone()
    if row is None:
        raise ContentDamaged(f"text {identity} is missing")
    return decode_text(identity, *row)


def decode_text(identity: int, digest: bytes, encoding: int, body: bytes) -> TextPart:
    """The text in a row, held to its digest. Raises ContentDamaged."""
    content = decoded(f"text {identity}", encoding, body)
    if digest_bytes(content) != digest:
        raise ContentDamaged(f"text {identity} does not match its digest")
    try:
        return TextPart(digest, content.decode())
    except UnicodeDecodeError as error:
        raise ContentDamaged(f"text {identity} cannot be decoded ({error})") from None


# Replies in their rows, and back.


INSERT = """
INSERT INTO replies (key, repeat, model, parameters, tools, messages, said, rest, none, recorded_at, digest)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""


def read_kept(connection: sqlite3.Connection, key: bytes, repeat: int) -> KeptReply | None:
    """Raises ContentDamaged, ValidationError and others where the row is not what was kept; sqlite3.Error."""
    row = connection.execute(
        "SELECT said, rest, digest FROM replies WHERE key = ? AND repeat = ?", (key, repeat)
    ).fetchone()
    return None if row is None else kept_of(connection, key, repeat, *row)


def kept_of(connection: sqlite3.Connection, key: bytes, repeat: int, said: int, rest: int, digest: bytes) -> KeptReply:
    """The reply in a row, held to its digest. Raises as `read_kept`."""
    content: dict[str, Any] = json.loads(read_text(connection, rest).text)
    if "reply" in content:
        content["reply"]["message"] = json.loads(read_text(connection, said).text)
    if row_digest(key, repeat, content) != digest:
        raise ContentDamaged(f"reply {key.hex()} {repeat} does not match its digest")
    return KeptReply.model_validate(content)


def put_kept(connection: sqlite3.Connection, asked: AskedRequest, kept: KeptReply) -> None:
    """The message of a reply is a text of its own, because the next request holds it again. Raises sqlite3.Error."""
    content = json.loads(part(kept.content()).text)
    digest = row_digest(asked.key, asked.repeat, content)
    said = put_text(connection, part(content["reply"].pop("message") if "reply" in content else None))
    messages = "".join(f"{put_text(connection, message)}," for message in asked.messages)
    row = (
        asked.key,
        asked.repeat,
        put_text(connection, asked.model),
        put_text(connection, asked.parameters),
        put_text(connection, asked.tools),
        messages,
        said,
        put_text(connection, part(content)),
        int(bool(kept.code)),
        int(time.time()),
        digest,
    )
    connection.execute(INSERT, row)


def message_ids(messages: str) -> list[int]:
    """The ids of a row's messages. Raises ValueError where they are none."""
    return [int(identity) for identity in messages.split(",")[:-1]]


def recorded_when(seconds: object) -> datetime:
    """When a row was written, by its seconds since 1970. Raises ValueError where that is no moment."""
    try:
        if isinstance(seconds, int):
            return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, OSError, ValueError):
        pass
    raise ValueError(f"{str(seconds)[:40]!r} is no moment of recording")
