"""The filter of system calls where no cgroup counts, whatever this machine has."""

import subprocess
import sys
from pathlib import Path

import pytest

from toolablate.sandbox import seccomp

INSTALL = """
import mmap, os, sys, tempfile
sys.path.insert(0, sys.argv[1])
from inside.system import PR_SET_NO_NEW_PRIVS, filter_system_calls, prctl
prctl(PR_SET_NO_NEW_PRIVS, 1)
filter_system_calls(bytes.fromhex(sys.argv[2]))
"""
FLAGS = "mmap.mmap(-1, 4096, flags={} | mmap.MAP_ANONYMOUS)"


def tried(code: str, *, shared_anonymous: bool) -> str:
    program = seccomp.syscall_filter(shared_anonymous=shared_anonymous)
    if program is None:
        pytest.skip("no filter for this machine")
    command = [sys.executable, "-c", INSTALL + code, str(Path(seccomp.__file__).resolve().parent), program.hex()]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    return ended.stderr.splitlines()[-1] if ended.returncode else "ok"


@pytest.mark.parametrize("code", ["mmap.mmap(-1, 4096)", FLAGS.format("mmap.MAP_SHARED"), FLAGS.format(3)])
def test_shared_memory_of_no_file_is_refused_where_nobody_counts_it(code: str) -> None:
    assert tried(code, shared_anonymous=False) == "OSError: [Errno 12] Cannot allocate memory"


@pytest.mark.parametrize(
    "code",
    [
        FLAGS.format("mmap.MAP_PRIVATE"),
        "with tempfile.TemporaryFile() as file: file.truncate(4096); mmap.mmap(file.fileno(), 4096)[0] = 1",
        "import multiprocessing; multiprocessing.Array('i', 1000)[7] = 1",
        "from multiprocessing.shared_memory import SharedMemory; one = SharedMemory(create=True, size=4096); one.unlink()",
        "import threading; one = threading.Thread(target=print); one.start(); one.join()",
        "import subprocess; subprocess.run(['true'], check=True)",
    ],
)
def test_other_memory_is_given(code: str) -> None:
    assert tried(code, shared_anonymous=False) == "ok"


def test_it_is_given_where_it_counts() -> None:
    assert tried("mmap.mmap(-1, 4096)[0] = 1", shared_anonymous=True) == "ok"


def test_advice_on_the_page_cache_is_not_followed() -> None:
    """Which would empty it of what others read: not even that a pipe has none is noticed."""
    assert tried("os.posix_fadvise(os.pipe()[0], 0, 0, os.POSIX_FADV_DONTNEED)", shared_anonymous=False) == "ok"
