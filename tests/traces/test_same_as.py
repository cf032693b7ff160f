"""How a replayed run is held to the run that was recorded."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import pytest
from tests.traces.samples import CODE, QUESTIONS, WHEN, conversation, filled, plan, trials

from toolablate.reports.terminal.problems import same_lines
from toolablate.traces.errors import Boundary, InputError
from toolablate.traces.records import Answer, Event, Failure
from toolablate.traces.store import Recorder
from toolablate.traces.store.same_as import same_as


async def store(
    path: Path,
    answers: dict[int, str],
    failures: Mapping[int, str] = MappingProxyType({}),
    *,
    before: Mapping[int, list[Event]] = MappingProxyType({}),
    boundaries: Mapping[int, Boundary] = MappingProxyType({}),
    message: str = "planned",
) -> Path:
    """Trials by their number in the plan, with what they answered, or the code with which they failed."""
    with Recorder(path) as recorder:
        planned = plan(recorder)
        for number, text in {**answers, **failures}.items():
            session = await recorder.begin(planned[number], started_at=WHEN)
            assert session is not None
            for event in before.get(number, ()):
                session.record(event)
            if number in failures:
                boundary = boundaries.get(number, "model")
                session.record(Failure(at=1.0, boundary=boundary, code=text, message=message, retried=False))
            else:
                session.record(Answer(at=1.0, text=text))
            await session.finish("failed" if number in failures else "answered", 1.0)
    return path


async def test_two_stores_are_compared_where_both_have_ended(tmp_path: Path) -> None:
    here = await store(tmp_path / "here.sqlite", {0: "A", 1: "B", 2: "C"})
    there = await store(tmp_path / "there.sqlite", {0: "A", 1: "X", 3: "D"})
    report = same_as(here, there)
    assert (report.same, report.only_here, report.only_there, report.ok) == (1, 1, 1, False)
    (found,) = report.differences
    assert (found.trial, found.path) == (trials()[1].id, "events[0].text")
    assert (found.here, found.there) == ('"B"', '"X"')


@pytest.mark.deep
async def test_what_has_ended_in_one_store_alone_is_a_difference_unless_stores_may_be_partial(tmp_path: Path) -> None:
    here = await store(tmp_path / "here.sqlite", {0: "A", 1: "B"})
    there = await store(tmp_path / "there.sqlite", {0: "A"})
    assert [same_as(here, there).ok, same_as(there, here).ok] == [False, False]
    assert [same_as(here, there, partial=True).ok, same_as(there, here, partial=True).ok] == [True, True]


async def test_what_failed_in_both_with_one_code_is_no_difference_beside_what_is_the_same(tmp_path: Path) -> None:
    here = await store(tmp_path / "here.sqlite", {0: "", 1: ""}, {0: "timeout"})
    there = await store(tmp_path / "there.sqlite", {0: "", 1: ""}, {0: "timeout"}, message="after 3 s")
    report = same_as(here, there)
    assert (report.same, report.failed, report.ok) == (1, 1, True)


async def test_where_no_trial_is_the_same_nothing_is_shown_to_be(tmp_path: Path) -> None:
    here = await store(tmp_path / "here.sqlite", {0: ""}, {0: "timeout"})
    there = await store(tmp_path / "there.sqlite", {0: ""}, {0: "timeout"}, message="after 3 s")
    report = same_as(here, there)
    assert (report.same, report.failed, report.differences, report.ok) == (0, 1, (), False)


async def test_what_failed_in_both_for_different_reasons_is_a_difference(tmp_path: Path) -> None:
    here = await store(tmp_path / "here.sqlite", {0: "", 1: ""}, {0: "not_recorded"})
    there = await store(tmp_path / "there.sqlite", {0: "", 1: ""}, {0: "timeout"})
    report = same_as(here, there)
    (found,) = report.differences
    assert (found.path, found.here, found.there) == ("failure.code", '"not_recorded"', '"timeout"')
    assert (report.same, report.failed, report.ok) == (1, 0, False)


async def test_what_was_answered_after_it_had_failed_is_told_as_such(tmp_path: Path) -> None:
    """The second trial failed at another boundary, and the third had gone another way before."""
    way, other_way = conversation()[:2], conversation(salt="other")[:2]
    here = await store(tmp_path / "here.sqlite", {0: "A", 1: "B", 2: "C", 3: "D"}, before={2: other_way, 3: way})
    failures = {0: "timeout", 1: "broken", 2: "timeout", 3: "overloaded"}
    there = await store(tmp_path / "there.sqlite", {}, failures, before={2: way, 3: way}, boundaries={1: "tool"})
    report = same_as(here, there)
    assert not report.ok
    ids = [trial.id for trial in trials()]
    assert {ids.index(each.trial): each.kind for each in report.differences} == {
        0: "answered_later",
        1: "other",
        2: "other",
        3: "answered_later",
    }
    lines = "\n".join(same_lines(report))
    assert lines.count("failed there, answered here: the cache got the reply later") == 2
    back = same_as(there, here)
    assert {each.kind for each in back.differences} == {"other"}


async def test_what_failed_in_one_is_a_difference(tmp_path: Path) -> None:
    here = await store(tmp_path / "here.sqlite", {}, {0: "not_recorded"})
    (found,) = same_as(here, await store(tmp_path / "there.sqlite", {0: "A"})).differences
    assert (found.path, found.here, found.there) == ("outcome", '"failed"', '"answered"')


async def test_stores_with_nothing_in_common_are_refused(tmp_path: Path) -> None:
    here = await store(tmp_path / "here.sqlite", {0: "A"})
    with pytest.raises(InputError, match="no finished trial in common"):
        same_as(here, await store(tmp_path / "there.sqlite", {1: "A"}))


async def test_a_store_is_the_same_as_itself(tmp_path: Path) -> None:
    await filled(tmp_path / "store.sqlite")
    report = same_as(tmp_path / "store.sqlite", tmp_path / "store.sqlite")
    assert (report.same, report.ok) == (len(QUESTIONS) * len(["none", CODE.name]), True)
