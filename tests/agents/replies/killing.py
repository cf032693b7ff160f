"""Records replies by processes that are killed with SIGKILL, again and again; says what they said was kept.

A program of its own, which forks: to start so many interpreters would take most of the time of the test.
"""

import asyncio
import json
import os
import random
import signal
import sys
import time
from pathlib import Path

from tests.agents.replies.samples import kept, question

from toolablate.agents.replies import ResponseCache, verify
from toolablate.traces.errors import InputError

ROUNDS, WRITERS = 8, 3


async def write(path: Path, seed: int, say: int) -> None:
    generator = random.Random(seed)
    async with ResponseCache(path, write=True) as cache:

        async def keep(number: int) -> None:
            await cache.keep(question(number), kept(f"{seed} " * 1_000))
            os.write(say, b"%d\n" % number)

        while True:
            # Few enough that writers meet at some of them.
            await asyncio.gather(*(keep(generator.randrange(2_000)) for _ in range(5)))


def begin(path: Path, seed: int) -> tuple[int, int]:
    """Process id and where it says what it kept."""
    listen, say = os.pipe()
    child = os.fork()
    if child:
        os.close(say)
        return child, listen
    try:
        asyncio.run(write(path, seed, say))
    finally:
        os._exit(1)


async def found(path: Path, numbers: set[int]) -> list[int]:
    async with ResponseCache(path) as cache:
        return [number for number in sorted(numbers) if cache.get(question(number)) is not None]


def main() -> None:
    path, generator = Path(sys.argv[1]), random.Random(4)
    told, problems, kills = set[int](), list[str](), 0
    for round_ in range(ROUNDS):
        children = [begin(path, round_ * WRITERS + writer) for writer in range(WRITERS)]
        for child, listen in children:
            time.sleep(generator.random() * 0.1)
            os.kill(child, signal.SIGKILL)
            kills += os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
            with os.fdopen(listen, "rb") as said:
                told |= {int(line) for line in said}
        problems += damage(path, told)
    there = asyncio.run(found(path, told))
    report = {"kept": sorted(told), "found": there, "problems": problems, "kills": kills, "started": ROUNDS * WRITERS}
    print(json.dumps(report))  # noqa: T201


def damage(path: Path, told: set[int]) -> list[str]:
    """A file that was killed while it was made holds nothing yet."""
    try:
        return [f"{problem}" for problem in verify(path).problems]
    except InputError as error:
        return [] if error.code == "no_replies" and not told else [str(error)]


if __name__ == "__main__":
    main()
