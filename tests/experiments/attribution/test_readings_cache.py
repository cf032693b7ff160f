"""What is read of traces is kept: nothing comes out otherwise than if all were read again, and none is read twice."""

import asyncio
import sqlite3
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.experiments.attribution.scenes import ALL
from tests.experiments.attribution.test_explained import MISLED, store_of
from tests.servers.chat_server import ChatServer
from tests.traces.samples import (
    CODE,
    MODEL,
    NONE,
    QUESTIONS,
    WHEN,
    begun,
    conversation,
    filled,
    plan,
    run,
    score,
    trials,
)

from toolablate.analysis.attribution.change_rates import ChangeRates, FittedRate, Step
from toolablate.analysis.attribution.evidence import Explained
from toolablate.experiments.attribution import explained as reading
from toolablate.experiments.attribution import readings_cache as kept
from toolablate.experiments.attribution.explained import Gathered, explained, outlined
from toolablate.experiments.attribution.readings_cache import KeptReadings, Known
from toolablate.experiments.attribution.replay_rounds import attribute
from toolablate.traces import kept as stamps
from toolablate.traces.errors import InputError
from toolablate.traces.records import Diagnosis, Label, Trial, Usage
from toolablate.traces.store import Recorder, Store

PLANNED = trials(repeats=2)

changes = st.lists(
    st.tuples(
        st.sampled_from(["answered", "failed", "begun", "scored", "otherwise", "diagnosed", "labelled"]),
        st.sampled_from(PLANNED),
        st.booleans(),
    ),
    max_size=8,
)
asked = st.fixed_dictionaries({}, optional={"run": st.just("latest"), "scorer": st.sampled_from(["choice", "other"])})
"""Which run and which scorer count."""


async def changed(store: Path, named: Sequence[tuple[str, Trial, bool]]) -> None:
    with Recorder(store) as recorder:
        plan(recorder, PLANNED, identity=uuid4().hex)
        if len(named) % 2:
            # Another run, with a baseline of its own, that calls for less.
            other = run(uuid4().hex).model_copy(update={"baseline": "none"})
            recorder.plan(other, QUESTIONS, [MODEL], [NONE, CODE], PLANNED[:8])
        going_on = set()
        for what, trial, right in named:
            if trial in going_on:
                continue
            if trial.id in recorder.finished_trials():
                await said(recorder, what, trial, right)
            elif what == "begun":
                (await begun(recorder, trial)).record(conversation(0)[0])
                going_on.add(trial)
            elif what in ("answered", "failed"):
                await ended(recorder, what, trial, right)


async def ended(recorder: Recorder, what: str, trial: Trial, right: bool) -> None:
    session = await begun(recorder, trial)
    for event in conversation(int(right), salt=f"{what}{trial.id}"):
        session.record(event)
    await session.finish("failed" if what == "failed" else "answered", 12.5, Usage(), 0.0)
    if what == "answered":
        await recorder.score([score(trial, float(right))])


async def said(recorder: Recorder, what: str, trial: Trial, right: bool) -> None:
    """Of a trial that is done."""
    if what == "scored":
        await recorder.score([score(trial, float(right), version=2)])
    if what == "otherwise":
        await recorder.score([score(trial, float(right), scorer="other")])
    if what == "diagnosed":
        await recorder.diagnose([Diagnosis(trial=trial.id, judge="j@1", error_type=None, distraction=None)])
    if what == "labelled":
        recorder.label(Label(trial=trial.id, person="Ada", at=WHEN, mechanism="sampling_noise"))


def found(store: Path, place: Path | None, named: Mapping[str, str]) -> Gathered[Explained] | str:
    """Or why not, as where scorers disagree."""
    try:
        return explained(store, kept=place, **named)
    except InputError as error:
        return error.message


@pytest.mark.deep
@settings(max_examples=10, deadline=None)
@given(grown=st.lists(changes, min_size=1, max_size=3), chunk=st.integers(1, 5), named=asked)
def test_a_store_that_grows_is_explained_as_if_all_were_read_again(
    grown: list[list[tuple[str, Trial, bool]]], chunk: int, named: dict[str, str]
) -> None:
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "_CHUNK", chunk)
        store, place = Path(folder) / "s.sqlite", Path(folder) / "kept"
        # Each once, so that something can be explained.
        first = [("answered", trial, number % 3 == 0) for number, trial in enumerate(PLANNED[:6])]
        for each in (first, *grown):
            asyncio.run(changed(store, each))
            whole = found(store, None, named)
            assert found(store, place, named) == whole
            assert found(store, place, named) == whole
            for alone in () if isinstance(whole, str) else whole.explained:
                assert explained(store, trial=alone.evidence.inputs.trial, **named).explained == (alone,)


@pytest.mark.deep
def test_replays_are_told_though_the_trace_is_not_read_again(chat_server: ChatServer, tmp_path: Path) -> None:
    store, place = store_of(chat_server, tmp_path, MISLED), tmp_path / "kept"
    assert explained(store, kept=place) == explained(store)
    attribute(store, ALL)
    found = explained(store, kept=place)
    assert found == explained(store)
    assert found.explained[0].evidence.trajectory is not None


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The trials whose traces are read, as they are."""
    of_trials: list[str] = []
    original = Store.trace

    def trace(self: Store, trial: str, *, attempt: int | None = None) -> object:
        of_trials.append(trial)
        return original(self, trial, attempt=attempt)

    monkeypatch.setattr(Store, "trace", trace)
    return of_trials


async def test_a_trace_is_read_once(tmp_path: Path, read: list[str]) -> None:
    store, place = tmp_path / "s.sqlite", tmp_path / "kept"
    await filled(store, 7)
    explained(store, kept=place)
    assert len(read) == len(set(read)) == 6
    read.clear()
    explained(store, kept=place)
    assert read == []
    # With the trial without tools that it is set against, which nobody has read yet.
    await changed(store, [("answered", PLANNED[-1], False)])
    explained(store, kept=place)
    assert sorted(read) == sorted([PLANNED[-1].id, PLANNED[-4].id])


async def test_an_outline_reads_the_traces_that_causes_rest_on_and_says_the_same(
    tmp_path: Path, read: list[str]
) -> None:
    store = tmp_path / "s.sqlite"
    await filled(store, 7)
    await changed(store, [("answered", PLANNED[-1], False)])
    whole = explained(store)
    read.clear()
    found = outlined(store)
    assert [(each.evidence.inputs.trial, each.attribution) for each in found.explained] == [
        (each.evidence.inputs.trial, each.attribution) for each in whole.explained
    ]
    assert (found.decompositions, found.notes) == (whole.decompositions, whole.notes)
    for one, other in zip(whole.explained, found.explained, strict=True):
        kept = one.attribution is not None
        inputs = replace(one.evidence.inputs, tools=one.evidence.inputs.tools if kept else frozenset())
        outline = replace(one.outlined().evidence, inputs=inputs, steps=one.evidence.steps if kept else ())
        assert other.evidence == outline
    wrong = {each.evidence.inputs.trial for each in whole.explained if each.attribution}
    right = {each.evidence.inputs.trial for each in whole.explained} - wrong
    assert wrong
    assert right
    assert wrong <= set(read)
    assert not right & set(read)


DAMAGES = {
    "a body": "UPDATE readings SET body = x'00'",
    "a body of another trace": "UPDATE readings SET body = (SELECT max(body) FROM readings)",
    "another reader": "UPDATE readings SET reader = x'00'",
    "another table": "DROP TABLE readings",
}


async def test_rates_of_a_store_that_stays_as_it_is_are_fitted_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, place = tmp_path / "s.sqlite", tmp_path / "kept"
    step: Step = ("again", "")
    await filled(store)
    fits: list[ChangeRates] = []

    def fitted(trials: object) -> ChangeRates:
        rate = 1 / (3 + len(fits))
        fits.append(ChangeRates({step: FittedRate(step, 0.05, rate, 2.0, 2.0)}, {("m", "c"): {step: rate}}))
        return fits[-1]

    monkeypatch.setattr(reading, "fitted_rates", fitted)
    monkeypatch.setattr(stamps, "_CLOCK_SECONDS", 0.0)
    whole = explained(store, kept=place)
    assert explained(store, kept=place) == whole
    trial = whole.explained[0].evidence.inputs.trial
    assert explained(store, kept=place, trial=trial).rates == whole.rates == fits[0]
    assert explained(store, kept=place, run="latest").rates == fits[1]
    with Recorder(store) as recorder:
        await recorder.score([score(PLANNED[0], 0.0, version=2)])
    assert explained(store, kept=place, trial=trial).rates == fits[2]


@pytest.mark.parametrize(
    ("damage", "first", "then"),
    [
        ("a body", 8, 0),
        ("a body of another trace", 7, 0),
        ("another reader", 8, 0),
        ("another table", 8, 0),
        ("no database", 8, 8),  # what it is, is found out while it is read
    ],
)
async def test_a_file_that_cannot_be_used_is_made_anew(
    damage: str, first: int, then: int, tmp_path: Path, read: list[str]
) -> None:
    store, place = tmp_path / "s.sqlite", tmp_path / "kept"
    await filled(store)
    whole = explained(store, kept=place)
    if damage == "no database":
        place.write_bytes(b"not a database, and longer than its header is, so that it is looked at. " * 10)
    else:
        with sqlite3.connect(place) as connection:
            connection.execute(DAMAGES[damage])
        connection.close()
    read.clear()
    assert explained(store, kept=place) == whole
    assert len(read) == first
    explained(store, kept=place)
    explained(store, kept=place)
    assert len(read) == first + then


async def test_where_nothing_can_be_kept_all_is_read_again(tmp_path: Path, read: list[str]) -> None:
    await filled(tmp_path / "s.sqlite")
    whole = explained(tmp_path / "s.sqlite")
    assert explained(tmp_path / "s.sqlite", kept=tmp_path / "no such folder" / "kept") == whole
    assert len(read) == 16


@pytest.mark.parametrize("answer", [("4",), ("half a character: \ud83d",)])
async def test_what_would_not_come_back_as_it_is_is_not_kept(answer: tuple[str, ...], tmp_path: Path) -> None:
    """Models write halves of characters in the JSON of a call."""
    await filled(tmp_path / "s.sqlite", 2)
    with Store(tmp_path / "s.sqlite") as store, KeptReadings(tmp_path / "kept") as readings:
        (trial,) = [found.evidence.inputs.trial for found in explained(store.path).explained]
        known = Known(store, store.scorers(), readings)
        known.turn_to([trial])
        found = known.reading(trial)
        found = replace(found, signals=replace(found.signals, answer=answer))
        readings.put({"a": found})
        assert readings.of(["a", "b"]) == ({"a": found} if answer == ("4",) else {})


def test_another_version_or_other_code_reads_traces_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = tmp_path / "room" / "deep" / "module.py"
    code.parent.mkdir(parents=True)
    code.write_text("HALF = 0.5\n")
    monkeypatch.setattr(kept.toolablate, "__path__", [str(tmp_path)])
    readers = [read_by()]
    code.write_text("HALF = 0.6\n")
    readers.append(read_by())
    code.rename(code.with_name("other.py"))
    readers.append(read_by())
    monkeypatch.setattr(kept, "version", lambda _: "0.0.1")
    readers.append(read_by())
    assert len(set(readers)) == 4
    monkeypatch.undo()
    assert read_by() == read_by()


def read_by() -> bytes:
    kept._reader.cache_clear()
    return kept._reader()


async def test_what_another_reader_writes_meanwhile_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, place = tmp_path / "s.sqlite", tmp_path / "kept"
    await filled(store)
    with KeptReadings(place):
        with monkeypatch.context() as patch:
            patch.setattr(kept, "_reader", lambda: b"another")
            explained(store, kept=place)
        with KeptReadings(place) as readings, Store(store) as opened:
            traces = [digest for _, digest in opened.current_attempts(opened.finished_trials()).values()]
            assert traces
            assert readings.of(traces) == {}


async def test_a_file_that_another_is_at_stays_and_is_done_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read: list[str]
) -> None:
    monkeypatch.setattr(kept, "_WAIT_SECONDS", 0.0)
    store, place = tmp_path / "s.sqlite", tmp_path / "kept"
    await filled(store)
    whole = explained(store, kept=place)
    with sqlite3.connect(place) as other:
        other.execute("BEGIN EXCLUSIVE")
        assert explained(store, kept=place) == whole
        other.rollback()
    other.close()
    read.clear()
    assert explained(store, kept=place) == whole
    assert read == []


async def test_a_file_that_finds_no_more_room_stays_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read: list[str]
) -> None:
    store, place = tmp_path / "s.sqlite", tmp_path / "kept"
    await filled(store, 7)
    explained(store, kept=place)
    await changed(store, [("answered", PLANNED[-1], False)])
    with monkeypatch.context() as patch:
        patch.setattr(kept, "_opened", lambda path: without_room(opened(path)))
        whole = explained(store, kept=place)
    read.clear()
    assert explained(store, kept=place) == whole
    assert sorted(read) == sorted([PLANNED[-1].id, PLANNED[-4].id])


opened = kept._opened


def without_room(connection: sqlite3.Connection) -> sqlite3.Connection:
    """No page more: an insert that wants one finds the disk full."""
    connection.execute("PRAGMA max_page_count = 1")
    return connection


@pytest.mark.deep
def test_processes_at_one_file_give_the_same_though_some_are_killed(tmp_path: Path) -> None:
    store, place = tmp_path / "s.sqlite", tmp_path / "kept"
    asyncio.run(filled(store))
    whole = explained(store)
    script = (
        "import sys; from toolablate.experiments.attribution.explained import explained\n"
        "while True: explained(sys.argv[1], kept=__import__('pathlib').Path(sys.argv[2])); print('read', flush=True)"
    )
    command = [sys.executable, "-c", script, str(store), str(place)]
    others = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    try:
        for each in others:
            assert each.stdout is not None
            assert each.stdout.readline() == "read\n"
        assert explained(store, kept=place) == whole
    finally:
        for each in others:
            each.kill()
            each.communicate()
    assert explained(store, kept=place) == whole
