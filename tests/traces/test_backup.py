"""Copies of a store that is being written."""

import asyncio
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest
from tests.traces.samples import attempt, begun, filled, plan

from toolablate.traces.errors import StoreError
from toolablate.traces.store import Recorder, Store, backup, verify
from toolablate.traces.store.backup import BackupStopped, back_up


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


async def test_a_copy_is_of_one_moment_and_can_be_gone_on_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backup, "_PAGES", 1)
    store, kept = tmp_path / "run.db", tmp_path / "shared" / "run.db"
    kept.parent.mkdir()
    written = threading.Event()
    loop = asyncio.get_running_loop()
    with Recorder(store) as recorder:
        planned = plan(recorder)
        await attempt(recorder, planned[0])
        await begun(recorder, planned[1])
        await recorder.taken()

        def look() -> bool:
            """A trial is finished while the copy is under way: the recorder does not wait for it."""
            if not written.is_set():
                asyncio.run_coroutine_threadsafe(attempt(recorder, planned[2]), loop).result()
                written.set()
            return False

        await asyncio.to_thread(back_up, store, kept, look)
        assert written.is_set()
        assert len(recorder.finished_trials()) == 2
    assert names(kept.parent) == {"run.db"}
    report = verify(kept)
    assert (report.problems, names(kept.parent)) == ((), {"run.db"})
    with Store(kept) as opened:
        assert opened.finished_trials() == {planned[0].id}
    with closing(sqlite3.connect(kept)) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)
    with Recorder(kept) as recorder:
        await attempt(recorder, planned[1])
    assert verify(kept).problems == ()


async def test_what_was_there_stays_until_the_next_copy_is_whole(tmp_path: Path) -> None:
    store, kept = tmp_path / "run.db", tmp_path / "kept.db"
    await filled(store, 1)
    back_up(store, kept)
    before = kept.read_bytes()
    with pytest.raises(BackupStopped):
        back_up(store, kept, lambda: True)
    assert (kept.read_bytes(), names(tmp_path)) == (before, {"run.db", "kept.db"})
    (tmp_path / "folder").mkdir()
    with pytest.raises(StoreError, match="Cannot write the store"):
        back_up(store, tmp_path / "folder")
    with pytest.raises(StoreError, match="Cannot write the store"):
        back_up(store, kept / "below" / "x.db")
    assert names(tmp_path) == {"run.db", "kept.db", "folder"}


async def test_what_a_link_names_is_replaced_and_not_the_link(tmp_path: Path) -> None:
    store, link, shared = tmp_path / "run.db", tmp_path / "kept.db", tmp_path / "shared" / "run.db"
    shared.parent.mkdir()
    link.symlink_to(shared)
    await filled(store, 2)
    back_up(store, link)
    assert link.is_symlink()
    assert names(shared.parent) == {"run.db"}
