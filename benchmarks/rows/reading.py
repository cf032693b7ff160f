"""What is said of a file that cannot be read."""

from pathlib import Path

from toolablate.traces.errors import InputError


def unreadable(path: Path, error: OSError) -> InputError:
    return InputError(f"{path}: cannot be read: {str(error.strerror or error).strip()}", code="unreadable")


_GZIP = b"\x1f\x8b"


def not_text(place: str, raw: bytes, error: UnicodeDecodeError) -> InputError:
    if raw.startswith(_GZIP):
        return InputError(f"{place}: compressed with gzip", hint="Unpack the file first.", code="bad_encoding")
    return InputError(
        f"{place}: not UTF-8: byte 0x{raw[error.start]:02x} at position {error.start + 1}",
        hint="Save the file as UTF-8.",
        code="bad_encoding",
    )
