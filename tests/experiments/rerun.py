"""Trials of a store that ran again elsewhere."""

import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from toolablate.traces.store import Recorder, Store


async def again(store: Path, **versions: str) -> None:
    """Records the store's first trial once more, as if it had run where some packages were others."""
    with Store(store) as opened:
        trace = next(iter(opened.traces()))
    changed = {**trace.environment.kernel_versions, **versions}
    environment = trace.environment.model_copy(update={"kernel_versions": changed})
    with closing(sqlite3.connect(store)) as edited, edited:
        edited.execute("UPDATE trials SET current = NULL, outcome = NULL WHERE id = ?", (trace.trial.id,))
    with Recorder(store) as recorder:
        session = await recorder.begin(trace.trial, started_at=datetime.now(UTC), environment=environment)
        assert session is not None
        await session.finish("answered", 1.0)
