"""Records into an archive by processes that are killed with SIGKILL, again and again; says what they said was kept.

A program of its own, which forks: to start so many interpreters would take most of the time of the test.
"""

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

from tests.tools.archive.samples import at, exchange, key

from toolablate.tools.archive import open_archive, verify

ROUNDS, WRITERS = 8, 3


def write(path: Path, start: int, say: int) -> None:
    with open_archive(path, write=True) as archive:
        for number in range(start, start + 100_000):
            archive.keep_exchange(key(number), exchange(f"https://e.org/{number}", b"%d" % number * 2_000))
            archive.keep("search", key(number), "q", b"%d" % number * 500, at(0))
            os.write(say, b"%d\n" % number)


def begin(path: Path, start: int) -> tuple[int, int]:
    """Process id and where it says what it kept."""
    listen, say = os.pipe()
    child = os.fork()
    if child:
        os.close(say)
        return child, listen
    try:
        write(path, start, say)
    finally:
        os._exit(1)


def main() -> None:
    path, generator = Path(sys.argv[1]), random.Random(4)
    kept, problems, kills = list[int](), list[str](), 0
    for round_ in range(ROUNDS):
        children = [begin(path, (round_ * WRITERS + writer) * 100_000) for writer in range(WRITERS)]
        for child, listen in children:
            time.sleep(generator.random() * 0.15)
            os.kill(child, signal.SIGKILL)
            kills += os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
            with os.fdopen(listen, "rb") as said:
                kept += [int(line) for line in said]
        if (path / "archive.json").exists():
            problems += [f"round {round_}: {problem}" for problem in verify(path).problems]
    print(json.dumps({"kept": kept, "problems": problems, "kills": kills}))  # noqa: T201


if __name__ == "__main__":
    main()
