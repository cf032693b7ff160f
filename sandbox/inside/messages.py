"""What a kernel sends: bounded, and always JSON. For the client's sake only: code inside can undo it."""

import json
from collections import defaultdict
from collections.abc import Callable
from typing import Any

_MESSAGE_BYTES = 6_000_000


def bound_streams(chars: int) -> None:
    """Caps what one cell may print, where it is printed: an endless loop would fill this process before it is sent."""
    from ipykernel import iostream

    write: Callable[[Any, str], int | None] = iostream.OutStream.write
    current, written = "", 0

    def bounded_write(stream: Any, string: str) -> int | None:
        nonlocal current, written
        cell = stream.parent_header.get("msg_id", "")
        if cell != current:
            current, written = cell, 0
        if isinstance(string, str):
            room = max(chars - written, 0)
            written += len(string)
            if len(string) > room:
                if room:
                    write(stream, string[:room])
                return len(string)
        return write(stream, string)

    iostream.OutStream.write = bounded_write  # type: ignore[method-assign, assignment]


class Forgetful(defaultdict[int, list[Any]]):
    """IPython keeps all output ever shown, to write it into a notebook one day; here it would only fill the memory."""

    def __missing__(self, _: int) -> list[Any]:
        return []


def pack(value: object) -> bytes:
    """JSON in ASCII: the stock packer fails on a lone surrogate and takes other output of that moment with it.

    What is beyond the size that the client takes is cut here: there it would cost the connection.
    """
    packed = _to_json(value)
    return packed if len(packed) <= _MESSAGE_BYTES else _to_json(_cut(value, _MESSAGE_BYTES // 8))


def _to_json(value: object) -> bytes:
    from jupyter_client.jsonutil import json_default
    from jupyter_client.session import json_packer

    try:
        return json.dumps(value, default=json_default, allow_nan=False).encode()
    except ValueError:
        cleaned: bytes = json_packer(value)
        return cleaned


def _cut(value: object, chars: int) -> object:
    """Keeps the beginning of long texts and drops other large data (a part of a picture is none)."""
    if isinstance(value, str):
        return value[:chars]
    if isinstance(value, dict):
        cut = {key: _cut(part, chars) for key, part in value.items() if "/" not in key or len(_to_json(part)) < chars}
        return {**cut, **{key: _cut(part, chars) for key, part in value.items() if key.startswith("text/")}}
    if isinstance(value, list):
        return [_cut(part, chars // 4) for part in value[:100]]
    return value
