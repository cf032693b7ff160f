"""Entering plans: the indexes of the first trials come last, whatever ends the process before; stores of version 1."""

import asyncio
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import pytest
from tests.traces.samples import MODEL, NONE, QUESTIONS, attempt, filled, plan, trials

from toolablate.traces.database import layout
from toolablate.traces.errors import StoreError
from toolablate.traces.records import Trial
from toolablate.traces.store import Recorder, Store, verify, writing
from toolablate.traces.store.file import schema

_KILLED = """
import os, signal, sys
from tests.traces.samples import plan, trials
from toolablate.traces.store import Recorder, writing

writing.MANY_TRIALS = 1
writing.PLANNING_KIB = 16  # so that what is not committed reaches the disk too
recorder = Recorder(sys.argv[1])
recorder._connection.set_trace_callback(
    lambda said: os.kill(os.getpid(), signal.SIGKILL) if "trials_by_place" in said and said.startswith("CREATE") else None
)
plan(recorder, trials(repeats=300))
"""


@pytest.fixture
def indexed_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "MANY_TRIALS", 1)


@pytest.mark.usefixtures("indexed_afterwards")
def test_killed_before_the_trials_have_their_indexes_the_store_has_none_and_takes_the_plan(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    killed = subprocess.run([sys.executable, "-c", _KILLED, str(path)], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert (tmp_path / "s.db-wal").stat().st_size > 100_000  # trials were on their way
    with Store(path) as store:
        assert store.counts() == ()
    with Recorder(path) as recorder:
        planned = plan(recorder, trials(repeats=300))
        asyncio.run(attempt(recorder, planned[0]))
    report = verify(path)
    assert (report.problems, report.planned, report.finished) == ((), len(planned), 1)
    with closing(sqlite3.connect(path)) as connection:
        assert layout(connection) == schema().layout


@pytest.mark.usefixtures("indexed_afterwards")
def test_a_refused_first_plan_leaves_the_indexes(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with Recorder(path) as recorder:
        stranger = Trial(question="unknown", model=MODEL.identity(), condition=NONE.identity())
        with pytest.raises(StoreError, match="names the question unknown"):
            plan(recorder, [*trials(), stranger])
        plan(recorder, [*trials(), *trials()])
    assert verify(path).problems == ()
    with Store(path) as store:
        assert len(store.trials_of("run-1")) == len(trials())


async def test_a_run_of_some_trials_among_others_lists_just_these(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    every = trials(repeats=3)
    some = [every[place] for place in (0, 1, 4, 7, 8, 9, len(every) - 1)]
    with Recorder(path) as recorder:
        plan(recorder, every)
        plan(recorder, some[::-1], identity="run-2")
        plan(recorder, [], identity="run-3")
    with Store(path) as store:
        assert store.trials_of("run-2") == tuple(some)
        assert store.trials_of("run-3") == ()
    assert verify(path).problems == ()


VERSION_1 = "170ca82c77e679f54173a8d1f3c27832517b629865e388eb7afccc5bdf4a460c"
"""Digest of its tables, as the toolablate that wrote them told it."""


async def test_a_store_of_version_1_is_read_and_written_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    before = schema(1)
    assert sha256(repr(before.layout).encode()).hexdigest() == VERSION_1
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        before.create(connection)
    await filled(path)
    with Recorder(path) as recorder:
        plan(recorder, trials(QUESTIONS[:1], repeats=2), identity="run-2")
    with Store(path) as store:
        assert len(store.summaries()) == len(store.finished_trials())
    assert verify(path).problems == ()
    with closing(sqlite3.connect(path)) as connection:
        assert layout(connection) == before.layout
        assert before.numbers(connection)[1] == 1
        with pytest.raises(sqlite3.IntegrityError, match=r"UNIQUE.*trials\.id"):
            connection.execute("INSERT INTO trials SELECT key + 1000, id, 1, 1, 1, 99, NULL, NULL FROM trials LIMIT 1")
