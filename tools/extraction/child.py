"""The process that reads documents, one after the other, by a module's `read(body, said)`:
`python -m toolablate.tools.extraction.child SECONDS BYTES MODULE`.

It is killed by the system when one document takes more than SECONDS of its time, gets no more memory than BYTES, and
ends when whoever started it is gone.
"""

import ctypes
import os
import resource
import signal
import sys
from importlib import import_module
from typing import BinaryIO

from toolablate.tools.extraction.worker import LENGTH, LENGTHS

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
    reader = import_module(sys.argv[3])
    reader.warm_up()
    _reply(replies, b"")
    while lengths := requests.read(LENGTHS.size):
        said_size, size = LENGTHS.unpack(lengths)
        said, body = requests.read(said_size), requests.read(size)
        # Of this process's time and not of the clock's, so that a busy machine reads what an idle one reads.
        signal.setitimer(signal.ITIMER_PROF, seconds)
        text = reader.read(body, said)
        signal.setitimer(signal.ITIMER_PROF, 0)
        _reply(replies, text)


def _reply(replies: BinaryIO, text: bytes) -> None:
    replies.write(LENGTH.pack(len(text)) + text)
    replies.flush()


if __name__ == "__main__":
    main()
