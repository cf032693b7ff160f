"""Standard output that takes any text, whatever the locale says it can hold."""

import codecs
import io
import sys

_HANDLER = "toolablate.escaped"
_BEYOND_BMP = 0x10000


def take_any_text() -> None:
    """What the encoding of standard output lacks is written as JSON escapes it, so that JSON stays whole and is still
    JSON; where a name holds bytes that are no text, likewise."""
    codecs.register_error(_HANDLER, _escaped)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors=_HANDLER)


def _escaped(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    return "".join(map(_escape, map(ord, lacking))), error.end


def _escape(code: int) -> str:
    if code < _BEYOND_BMP:
        return f"\\u{code:04x}"
    high, low = divmod(code - _BEYOND_BMP, 0x400)
    return f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"
