"""How a document goes to the process that reads it, and its text comes back: lengths and bytes over pipes."""

import struct

from pydantic import TypeAdapter

from toolablate.tools.extraction.options import ExtractionOptions

LENGTHS = struct.Struct("!IQ")
"""Of the options, as JSON, and of the document, which follow."""
LENGTH = struct.Struct("!Q")
"""Of the PageText, as JSON, which follows. The first one, when the process is ready, is 0."""
_OPTIONS = TypeAdapter(ExtractionOptions)


def pack_request(body: bytes, options: ExtractionOptions) -> bytes:
    said = _OPTIONS.dump_json(options)
    return LENGTHS.pack(len(said), len(body)) + said + body


def unpack_options(said: bytes) -> ExtractionOptions:
    return _OPTIONS.validate_json(said)
