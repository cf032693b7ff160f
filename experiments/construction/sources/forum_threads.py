"""Threads of forums that publish them as JSON: Discourse, and Stack Exchange by its API 2.3. Each becomes a question
with its accepted answer."""

import json
from collections.abc import AsyncIterator, Collection
from pathlib import Path
from typing import Any

from toolablate.experiments.construction.sources.apart import OF_A_PAGE, DocumentReader, apart
from toolablate.experiments.construction.sources.discourse import discourse_samples, discourse_threads
from toolablate.experiments.construction.sources.forum_plan import Forum, ForumsPlan, sample_number
from toolablate.experiments.construction.sources.forum_reading import ForumReader, ForumUnreadableError, LeftOut, Thread
from toolablate.experiments.construction.sources.stack_exchange import stack_exchange_threads
from toolablate.experiments.plans.sections import WebSection
from toolablate.experiments.record_file import RowFile
from toolablate.tools.web import HttpClient


async def threads_of(
    forum: Forum,
    client: HttpClient,
    web: WebSection,
    texts: DocumentReader,
    known: frozenset[str],
    limit: int,
    *,
    samples: bool = False,
) -> AsyncIterator[Thread | LeftOut]:
    """At most so many of questions with an accepted answer, but those whose addresses are `known`, and those that
    cannot be read; with `samples` of the forum's sample threads alone. Raises ForumUnreadableError."""
    if limit <= 0:
        return
    reader = ForumReader(client, web, texts)
    numbers = [sample_number(each) for each in forum.samples]
    if forum.kind == "discourse":
        found = discourse_samples(forum, reader, known, numbers) if samples else discourse_threads(forum, reader, known)
    else:
        found = stack_exchange_threads(forum, reader, known, numbers if samples else ())
    number = 0
    async for thread in found:
        yield thread
        number += isinstance(thread, Thread)
        if number == limit:
            return


async def fetch_threads(
    plan: ForumsPlan, approved: Collection[str] = ()
) -> AsyncIterator[tuple[str, Thread | LeftOut | ForumUnreadableError]]:
    """The threads that the plan's output has not, of proposed forums that are not among the `approved` ones the samples
    alone, by the name of their forum, each after it was added there; those that
    cannot be read, after they were written beside it; a forum that cannot be read on says why, and the next one
    follows. Raises InputError where another process adds to the output or it cannot be written, StoreError where it
    cannot be written any more."""
    with RowFile(Path(plan.output), head=b'{"question": ') as rows:
        async for found in _fetched(plan, rows, approved):
            yield found


async def _fetched(
    plan: ForumsPlan, rows: RowFile, approved: Collection[str]
) -> AsyncIterator[tuple[str, Thread | LeftOut | ForumUnreadableError]]:
    from toolablate.tools.web import LiveHttpClient

    output = rows.path
    there = rows_there(output)
    known = frozenset(url for url, _ in there)
    # What stands on several pages is told once, and kept once.
    before, told = left_out_of(output), set[LeftOut]()
    client = LiveHttpClient(plan.web.policy)
    async with apart(OF_A_PAGE) as texts:
        try:
            for forum in plan.forums:
                try:
                    left = forum.limit - sum(name == forum.name for _, name in there)
                    async for thread in threads_of(
                        forum, client, plan.web, texts, known, left, samples=not forum.is_open(approved)
                    ):
                        if isinstance(thread, Thread):
                            rows.append(thread.row())
                        elif thread in told:
                            continue
                        else:
                            told.add(thread)
                            if thread not in before:
                                with RowFile(_left_out_beside(output), head=b'{"url": ') as beside:
                                    beside.append(thread.row())
                        yield forum.name, thread
                except ForumUnreadableError as error:
                    yield forum.name, error
        finally:
            await client.close()


def rows_there(output: Path) -> list[tuple[str, str]]:
    """The addresses of those that are there, with the names of their forums. Raises InputError."""
    from toolablate.benchmarks.rows.sources import rows_of

    if not output.exists():
        return []
    return [(str(row.get("url", "")), str(row.get("forum", ""))) for _, row in rows_of(output)]


def _left_out_beside(output: Path) -> Path:
    return output.with_name(f"{output.stem}-left-out.jsonl")


def left_out_of(output: Path) -> list[LeftOut]:
    """The threads that `build threads` could not read, but those that it read since. Lines that cannot be read, as a
    kill or a full disk leaves them, count for nothing: their threads are tried again. Raises InputError where the
    output itself cannot be read."""
    try:
        lines = _left_out_beside(output).read_bytes().splitlines()
    except OSError:
        return []
    known = {url for url, _ in rows_there(output)}
    rows = [row for row in map(_row_of, lines) if row]
    last = {str(row.get("url", "")): row for row in rows}
    return [
        LeftOut(url, str(row.get("forum", "")), str(row.get("reason", "")))
        for url, row in last.items()
        if url not in known
    ]


def _row_of(line: bytes) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return row if isinstance(row, dict) else {}
