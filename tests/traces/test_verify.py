"""Real files are damaged in one place; `verify` has to find it and name it."""

import asyncio
import contextlib
import random
import shutil
import sqlite3
from pathlib import Path

import pytest
from tests.traces.samples import CODE, MODEL, QUESTIONS, as_rows, attempt, begun, filled, plan, trials

from toolablate.traces.errors import StoreError, ToolablateError
from toolablate.traces.records import Trace
from toolablate.traces.store import Recorder, Store, verify


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Trace]]:
    path = tmp_path_factory.mktemp("sound") / "s.db"
    return path, asyncio.run(_two_runs(path))


async def _two_runs(path: Path) -> list[Trace]:
    """The later calls for some of the trials that the earlier has left, one of which failed before."""
    traces = await filled(path, 6)
    with Recorder(path) as recorder:
        planned = plan(recorder, trials()[2:7], identity="run-2")
        await attempt(recorder, planned[-1], outcome="failed")
        return [*traces, await attempt(recorder, planned[-1], outcome="failed")]


@pytest.fixture
def copy(sound: tuple[Path, list[Trace]], tmp_path: Path) -> Path:
    return Path(shutil.copy(sound[0], tmp_path / "s.db"))


def _edit(path: Path, *statements: str) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        assert connection.execute(statement).rowcount > 0, statement
    connection.close()


def test_a_sound_store_has_no_problems_and_what_is_missing_is_no_damage(sound: tuple[Path, list[Trace]]) -> None:
    report = verify(sound[0])
    assert report.ok, report.problems
    assert (report.planned, report.finished, report.failed, report.pending, report.unscored) == (8, 6, 1, 1, 0)
    assert (report.checked["traces"], report.checked["scores"], report.checked["runs"]) == (8, 6, 2)
    assert report.checked["trials"] == 8


@pytest.fixture
def rows(copy: Path) -> Path:
    """With the events as rows, as a trial that runs has them, and one that failed."""
    return as_rows(copy)


DAMAGES = {
    "text edited": ("UPDATE texts SET body = CAST('{}' AS BLOB), encoding = 0 WHERE key = 5", "text 5", "digest"),
    "text not zstd": ("UPDATE texts SET body = x'28b52ffd00' WHERE key = 5", "text 5", "damaged"),
    "text missing": ("DELETE FROM texts WHERE key = 1", "", "text 1 is missing"),
    "question edited": ("UPDATE questions SET body = CAST(replace(CAST(body AS TEXT), '\"A\"', '\"B\"') AS BLOB)", "", "digest"),
    "question column": ("UPDATE questions SET domain = 'law' WHERE key = 1", f"question {QUESTIONS[0].identity()}", "column"),
    "question language": ("UPDATE questions SET language = 'de' WHERE key = 1", f"question {QUESTIONS[0].identity()}", "column"),
    "question renumbered": (f"UPDATE questions SET id = '{'0' * 32}' WHERE key = 1", f"question {'0' * 32}", "does not follow"),
    "model column": ("UPDATE models SET simulated = 1 WHERE key = 1", f"model {MODEL.identity()}", "column"),
    "condition edited": ("UPDATE conditions SET digest = zeroblob(16) WHERE key = 2", f"condition {CODE.identity()}", "digest"),
    "trial moved": ("UPDATE trials SET repeat = 7 WHERE key = 1", "trial", "does not follow"),
    "trial deleted": ("DELETE FROM trials WHERE key = 1", "", "missing"),
    "current moved": ("UPDATE trials SET current = NULL WHERE key = 1", "trial", "marked as its current"),
    "trace deleted": ("DELETE FROM traces WHERE key = 1", "", "not there"),
    "attempt lost": ("UPDATE traces SET attempt = 2 WHERE key = 1", "trial", "attempt is missing"),
    "outcome edited": ("UPDATE traces SET outcome = 'budget' WHERE key = 1", "attempt 1", "digest"),
    "cost edited": ("UPDATE traces SET cost_usd = 0.5 WHERE key = 1", "attempt 1", "digest"),
    "tokens edited": ("UPDATE traces SET output_tokens = NULL WHERE key = 1", "attempt 1", "digest"),
    "time edited": ("UPDATE traces SET seconds = -1 WHERE key = 1", "attempt 1", "no valid trace"),
    "start edited": ("UPDATE traces SET started_at = 'yesterday' WHERE key = 1", "attempt 1", "no valid trace"),
    "digest edited": ("UPDATE traces SET digest = NULL WHERE key = 1", "attempt 1", "digest"),
    "environment moved": ("UPDATE traces SET environment = 1 WHERE key = 1", "attempt 1", ""),
    "lookups invented": ("INSERT INTO lookups VALUES (1, 'not_in_archive', 2)", "attempt 1", "counts of lookups"),
    "event refers to itself": ("UPDATE texts SET body = CAST('\"~j1\"' AS BLOB), encoding = 0 WHERE key = 1", "text 1", "digest"),
    "score edited": ("UPDATE scores SET value = 0, verdict = 'wrong' WHERE trial = 1", "score of trial", "column"),
    "score body": ("UPDATE scores SET body = CAST(replace(CAST(body AS TEXT), 'A', 'B') AS BLOB) WHERE trial = 1", "score of trial", "digest"),
    "score of another": ("UPDATE scores SET trace = 2 WHERE trial = 1", "score of trial", "no finished trace of its trial"),
    "target edited": ("UPDATE questions SET target = zeroblob(16) WHERE key = 1", f"question {QUESTIONS[0].identity()}", "column"),
    "run shortened": ("DELETE FROM run_trials WHERE trial = 8", "run run-1", "planned 8 trials, of which 7"),
    "run of others": ("UPDATE run_trials SET trial = 1 WHERE trial = 3 AND run = 2", "run run-2", "not those that it planned"),
    "run renamed": ("UPDATE runs SET id = 'run-0' WHERE key = 1", "run run-0", "that of run run-1"),
    "block deleted": ("DELETE FROM blocks WHERE trace = 6", "attempt 1", "0 events where"),
    "block of a block deleted": ("DELETE FROM blocks WHERE trace = 1", "attempt 1", "which cannot be"),
    "block not zstd": ("UPDATE parts SET body = x'28b52ffd00' WHERE key = 1", "attempt 1", "block of trace 1"),
    "block of another": ("UPDATE blocks SET (first, parts, size) = (SELECT first, parts, size FROM blocks WHERE trace = 3) WHERE trace = 1", "attempt 1", "digest"),
    "block against another": ("UPDATE blocks SET base = 3 WHERE base = 1", "attempt 1", ""),
    "block against itself": ("UPDATE blocks SET base = trace", "attempt 1", "which cannot be"),
    "block and rows": ("INSERT INTO events VALUES (1, 0, 'answer', x'7b7d')", "attempt 1", "as a block and as rows"),
    "part missing": ("DELETE FROM parts WHERE key = 1", "parts", "where blocks have"),
    "block size": ("UPDATE blocks SET size = size + 1 WHERE trace = 1", "attempt 1", "claims"),
}  # fmt: skip

ROW_DAMAGES = {
    "event deleted": ("DELETE FROM events WHERE trace = 1 AND seq = 2", "attempt 1", "event 2 is missing"),
    "last event deleted": ("DELETE FROM events WHERE trace = 1 AND kind = 'answer'", "attempt 1", "events where"),
    "event kind": ("UPDATE events SET kind = 'answer' WHERE trace = 1 AND seq = 0", "attempt 1", "digest"),
    "events swapped": ("UPDATE events SET body = (SELECT body FROM events AS o WHERE o.trace = 2 AND o.seq = events.seq) WHERE trace = 1", "attempt 1", "digest"),
    "event not json": ("UPDATE events SET body = x'ff' WHERE trace = 1 AND seq = 1", "attempt 1", "not JSON"),
    "text missing": ("DELETE FROM texts WHERE key = 1", "", "text 1 is missing"),
}  # fmt: skip


def _found(path: Path, statement: str, where: str, what: str) -> None:
    _edit(path, statement)
    report = verify(path)
    assert not report.ok
    assert any(where in problem.where and what in problem.what for problem in report.problems), report.problems


@pytest.mark.parametrize("name", DAMAGES)
def test_damage_is_found_and_named(copy: Path, name: str) -> None:
    _found(copy, *DAMAGES[name])


@pytest.mark.parametrize("name", ROW_DAMAGES)
def test_damage_to_rows_of_events_is_found_and_named(rows: Path, name: str) -> None:
    assert verify(rows).ok
    _found(rows, *ROW_DAMAGES[name])


def test_a_self_reference_does_not_hang(rows: Path) -> None:
    _edit(rows, "UPDATE texts SET body = CAST('{\"a\":\"~j1\"}' AS BLOB), encoding = 0 WHERE key = 1",
          "UPDATE events SET body = CAST('{\"a\":\"~j1\"}' AS BLOB) WHERE trace = 1 AND seq = 0")  # fmt: skip
    assert any("refers to itself" in problem.what for problem in verify(rows).problems)


def test_a_text_that_claims_to_be_enormous_is_not_unpacked(copy: Path) -> None:
    frame = "28b52ffd" + "e0" + "ffffffffffffff00" + "010000"
    _edit(copy, f"UPDATE texts SET body = x'{frame}', encoding = 1 WHERE key = 5")
    assert any(problem.where == "text 5" for problem in verify(copy).problems)


def _seems_sound(path: Path) -> bool:
    """Any error but a StoreError is a traceback that a user would see."""
    try:
        return verify(path).ok
    except StoreError:
        return False


@pytest.mark.parametrize("seed", range(60))
def test_a_flipped_bit_is_found_or_changes_nothing(copy: Path, sound: tuple[Path, list[Trace]], seed: int) -> None:
    """Some bytes of a file mean nothing (free space, counters); all others are covered."""
    raw = bytearray(copy.read_bytes())
    place = random.Random(seed).randrange(100, len(raw))
    raw[place] ^= 1 << random.Random(seed).randrange(8)
    copy.write_bytes(raw)
    if _seems_sound(copy):
        assert _seen(copy) == _seen(sound[0])
    else:
        with contextlib.suppress(ToolablateError):
            _seen(copy)


def _seen(path: Path) -> list[object]:
    """All that a reader can see. Raises StoreError where it is damaged, InputError where a trial is not found by its id."""
    with Store(path) as store:
        return [
            list(store.traces()),
            store.runs(),
            store.counts(),
            store.failures(),
            store.environments(),
            [store.questions(), store.models(), store.conditions()],
            [store.summaries(), store.summaries(run="run-1"), store.summaries(run="run-2")],
            [(store.scores(trial.id), store.attempts(trial.id)) for trial in trials()],
            [store.finished_trials(), store.unscored_trials(), store.ended_trials(), store.scorers()],
        ]


def test_a_trace_that_cannot_be_read_is_damage_and_no_crash(copy: Path) -> None:
    _edit(copy, "DELETE FROM questions WHERE key = 1")
    with Store(copy) as store, pytest.raises(StoreError, match="damaged") as caught:
        list(store.traces())
    assert caught.value.code == "corrupt"


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
def test_a_file_that_was_cut_off_is_found(copy: Path, share: float) -> None:
    raw = copy.read_bytes()
    copy.write_bytes(raw[: int(len(raw) * share)])
    assert not _seems_sound(copy)


def test_an_overwritten_page_is_found(copy: Path) -> None:
    raw = bytearray(copy.read_bytes())
    middle = len(raw) // 2 // 4096 * 4096
    raw[middle : middle + 4096] = b"\xaa" * 4096
    copy.write_bytes(raw)
    assert not verify(copy).ok


async def test_unfinished_trials_are_information(tmp_path: Path) -> None:
    with Recorder(tmp_path / "s.db") as recorder:
        await begun(recorder, plan(recorder)[0])
    report = verify(tmp_path / "s.db")
    assert report.ok
    assert (report.unfinished, report.pending, report.finished) == (1, 7, 0)


def test_a_ruin_gives_a_list_that_ends(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolablate.traces.store.verification.MAX_PROBLEMS", 5)
    _edit(copy, "UPDATE texts SET digest = randomblob(16)")
    problems = verify(copy).problems
    assert "only the first 5" in problems[5].what
    assert len(problems) == 6
