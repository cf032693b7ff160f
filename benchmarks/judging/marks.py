"""How texts from elsewhere stand in a request: between marks that none of them can know."""

from collections.abc import Mapping, Sequence
from typing import TypeVar

from toolablate.traces.records import digest_json

CODE_DIGITS = 16

Part = TypeVar("Part", bound=str)


def code_of(parts: Sequence[tuple[Part, str]]) -> str:
    """It depends on all of them, so that no text can end its own part."""
    return digest_json(parts)[:CODE_DIGITS]


def between_marks(parts: Sequence[tuple[Part, str]], words: Mapping[Part, str] | None = None) -> list[str]:
    """Each text between an opening and a closing mark with its part's name, as `words` have it."""
    code = code_of(parts)
    named = ((words[part] if words else part, text) for part, text in parts)
    return [f"<{name} {code}>\n{text}\n</{name} {code}>" for name, text in named]
