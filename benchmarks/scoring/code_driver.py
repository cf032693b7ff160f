"""Has the tests of a question run on the code of a reply. Sent as a cell to a fresh kernel, which runs nothing else.

Code and tests run in another process (`code_child`), which tells this one how they ended. So code that ends, floods or
stops its process has not passed, and this process, whose memory it cannot reach, stays there to say so.
"""

import contextlib
import ctypes
import json
import os
import resource
import secrets
import struct
import subprocess
import sys
import tempfile

_MAX_BYTES = 1_000_000
_PR_SET_DUMPABLE = 4


def run_tests(child, source, tests, entry_point, cpu_seconds):
    """`passed`, `failed`, `killed` (who knows by whom) or `untested`, and why in words. `child` is the program of the
    other process."""
    for number, test in enumerate(tests, 1):
        try:
            compile(test, f"test {number}", "exec")
        except (SyntaxError, ValueError) as error:
            return "untested", f"test {number} of {len(tests)} is no Python: {error}"
    # From here on /proc/PID/mem of this process is nobody's.
    ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    theirs, requests = os.pipe()
    replies, their_replies = os.pipe()
    token = secrets.token_hex(16)
    with tempfile.NamedTemporaryFile("w", suffix=".py", encoding="utf-8") as program:
        program.write(child)
        program.flush()
        process = subprocess.Popen(
            [sys.executable, "-I", program.name, str(theirs), str(their_replies)],
            pass_fds=(theirs, their_replies),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(theirs)
        os.close(their_replies)
        try:
            _send(requests, json.dumps([source, entry_point, cpu_seconds]).encode())
            verdict, said = json.loads(_receive(replies))
            if verdict == "ready":
                with contextlib.suppress(BrokenPipeError):  # it may have failed already, and has said so
                    _send(requests, json.dumps(tests).encode())
                    _send(requests, token.encode())
                verdict, said = json.loads(_receive(replies))
        except OSError:
            return _ended(process, cpu_seconds)
        except (ValueError, TypeError):
            return "failed", "the code wrote where only the tests' end is told"
        finally:
            process.kill()
    if verdict == "passed" and said == token:
        return "passed", ""
    return "failed", said if verdict == "failed" and isinstance(said, str) else "the tests did not come to their end"


def _ended(process, cpu_seconds):
    code = process.wait()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    if code == -24 or (code == -9 and used.ru_utime + used.ru_stime >= cpu_seconds):
        return "failed", f"the code took more than {cpu_seconds} s of CPU time"
    return "killed" if code == -9 else "failed", f"the code ended its process (exit code {code})"


def _send(descriptor, data):
    data = struct.pack("<Q", len(data)) + data
    while data:
        data = data[os.write(descriptor, data) :]


def _receive(descriptor):
    """Raises OSError where the other end is closed, ValueError for what is too long."""

    def exactly(size):
        data = b""
        while len(data) < size:
            part = os.read(descriptor, size - len(data))
            if not part:
                raise BrokenPipeError
            data += part
        return data

    (size,) = struct.unpack("<Q", exactly(8))
    if size > _MAX_BYTES:
        raise ValueError(size)
    return exactly(size)
