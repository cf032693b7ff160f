"""Stores of every older version are brought up to date, and say how where they are only read."""

import asyncio
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from tests.traces.older import downgraded
from tests.traces.samples import QUESTIONS, filled, plan, score

from toolablate.traces.errors import StoreError
from toolablate.traces.store import SCHEMA_VERSION, Recorder, Store, verify
from toolablate.traces.store.content.digests import content_digest, record_content
from toolablate.traces.store.content.texts import TextWriter


def _cli(*arguments: object) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "toolablate", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("version", range(1, SCHEMA_VERSION))
def test_a_store_of_each_version_keeps_its_traces(tmp_path: Path, version: int) -> None:
    path = tmp_path / "s.db"
    traces = asyncio.run(filled(path, 3))
    with pytest.raises(StoreError, match="toolablate upgrade") as caught:
        Store(downgraded(path, version))
    assert caught.value.code == "older_version"
    with Recorder(path) as recorder:
        plan(recorder, identity="run-2")
    with Store(path) as store:
        assert list(store.traces()) == traces
        assert {seen.value for seen in store.observations()} == {1.0}
    assert verify(path).ok


async def test_scores_by_the_present_answer_key_are_sound_before_the_next_plan(tmp_path: Path) -> None:
    """Only a plan writes the target's column; until then it is NULL."""
    path, target = tmp_path / "s.db", QUESTIONS[0].target.identity()
    first, second = await filled(path, 2)
    downgraded(path, 6)
    with Recorder(path) as recorder:
        await recorder.score([score(trace.trial).model_copy(update={"target": target}) for trace in (first, second)])
    assert verify(path).ok, verify(path).problems
    with sqlite3.connect(path) as connection:
        content = record_content(score(first.trial).model_copy(update={"target": "0" * 32}))
        connection.execute(
            "UPDATE scores SET digest = ?, body = ? WHERE trial = 1",
            (content_digest(content), TextWriter(connection).pack(content)),
        )
    connection.close()
    (problem,) = verify(path).problems
    assert "another answer key" in problem.what


def test_the_command_upgrades_once_and_makes_no_store(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    asyncio.run(filled(path, 2))
    downgraded(path, 4)
    refused = _cli("compare", path)
    assert refused.returncode == 2
    assert f"toolablate upgrade {path}" in refused.stderr
    assert "is brought up to date" in _cli("upgrade", path).stdout
    assert verify(path).ok
    assert "already" in _cli("upgrade", path).stdout
    missing = _cli("upgrade", tmp_path / "none.db")
    assert (missing.returncode, missing.stdout) == (2, "")
    assert [entry.name for entry in tmp_path.iterdir()] == ["s.db"]
