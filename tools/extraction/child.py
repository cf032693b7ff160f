"""The process that reads documents, one after the other: `python -m toolablate.tools.extraction.child SECONDS BYTES`.

It is killed by the system when one document takes more than SECONDS of its time, gets no more memory than BYTES, and
ends when whoever started it is gone.
"""

import ctypes
import os
import resource
import signal
import sys
from typing import BinaryIO

from toolablate.tools.extraction.extract import extract
from toolablate.tools.extraction.worker import LENGTH, LENGTHS, unpack_options

_PR_SET_PDEATHSIG = 1


def main() -> None:
    seconds, memory = float(sys.argv[1]), int(sys.argv[2])
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    requests = os.fdopen(os.dup(0), "rb")
    replies = os.fdopen(os.dup(1), "wb")
    # What a library prints must not get between the replies.
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    # Trafilatura imports it where it is, with numpy, for a language that nobody asks for here.
    sys.modules["py3langid"] = None  # type: ignore[assignment]
    _warm_up()
    _reply(replies, b"")
    while lengths := requests.read(LENGTHS.size):
        said, size = LENGTHS.unpack(lengths)
        options, body = unpack_options(requests.read(said)), requests.read(size)
        # Of this process's time and not of the clock's, so that a busy machine reads what an idle one reads.
        signal.setitimer(signal.ITIMER_PROF, seconds)
        text = extract(body, options).to_json().encode()
        signal.setitimer(signal.ITIMER_PROF, 0)
        _reply(replies, text)


def _warm_up() -> None:
    """Imports what is heavy and compiles what is compiled on first use, which no document shall pay for."""
    paragraph = "<p>" + "Words of a paragraph, read once before any other. " * 9 + "</p>"
    page = f"<html><head></head><body><article>{paragraph}<a href='/x'>a link</a></article></body></html>"
    extract(page.encode(), unpack_options(b'{"url": "http://example.org/"}'))
    extract(b"<html><body><div>short</div></body></html>")


def _reply(replies: BinaryIO, text: bytes) -> None:
    replies.write(LENGTH.pack(len(text)) + text)
    replies.flush()


if __name__ == "__main__":
    main()
