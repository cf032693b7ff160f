import hashlib
import json
import re
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, SerializerFunctionWrapHandler, model_serializer

_CANONICAL = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False, check_circular=False
)
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


class Record(BaseModel):
    """A frozen fact. Unknown keys are refused, so that a typo or a newer version is never silently dropped."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    not_identity: ClassVar[frozenset[str]] = frozenset()
    """Fields that do not change what the record identifies (labels, prices, the name of a key's variable)."""

    def identity(self) -> str:
        """Digest of the record's content: 32 hexadecimal digits.

        Fields that hold their default do not enter it, so a field added later leaves the ids of older records alone.
        """
        content = self.model_dump(mode="json", exclude_defaults=True, exclude=set(self.not_identity))
        content.pop("version", None)
        return digest_json(content)

    def to_json(self) -> str:
        return self.model_dump_json(exclude_defaults=True)

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        return cls.model_validate_json(text)


class TaggedRecord(Record):
    """A record that is told apart by a field, or that stands on its own on disk with a version.

    The fields named in `tags` are written even where they hold their default, since nothing could be read without them.
    """

    tags: ClassVar[tuple[str, ...]] = ("version",)

    @model_serializer(mode="wrap")
    def _keep_tags(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        content: dict[str, Any] = handler(self)
        return {tag: getattr(self, tag) for tag in self.tags} | content


ID_DIGITS = 32


def digest_text(text: str) -> str:
    """SHA-256 of the UTF-8 text, first 128 bits, as 32 hexadecimal digits."""
    return hashlib.sha256(text.encode()).hexdigest()[:ID_DIGITS]


def digest_json(value: Any) -> str:
    """Digest of a JSON value in canonical form."""
    return digest_text(canonical_json(value))


def canonical_json(value: Any) -> str:
    """The one JSON text of a value: sorted keys, no blanks, no escapes."""
    return _CANONICAL.encode(value)


def clean_text(text: str) -> str:
    """Replaces lone surrogates, which UTF-8 cannot carry, by U+FFFD. Apply it where foreign text comes in."""
    return _LONE_SURROGATE.sub("\ufffd", text)
