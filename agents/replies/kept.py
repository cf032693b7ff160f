"""What a model said to one request, as it is kept."""

import hashlib
from typing import Any, NamedTuple

from toolablate.agents.chat import NoReplyError
from toolablate.traces.errors import ModelError
from toolablate.traces.records import ModelReply, Record, canonical_json

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


class Kept(Record):
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

    what: Kept | ModelError
    seconds: float
    by: object

    @property
    def failed_once(self) -> bool:
        """Whether infrastructure spoiled this one request, which says nothing about the next."""
        what = self.what
        return isinstance(what, ModelError) and what.retryable and what.code not in NONE_OF_THE_MODEL


def row_digest(key: bytes, repeat: int, content: dict[str, Any]) -> bytes:
    """Of what was asked and what was said: 32 bytes. These, sorted, make a library's root digest."""
    text = canonical_json([key.hex(), repeat, content])
    return hashlib.sha256(text.encode("utf-8", "replace")).digest()
