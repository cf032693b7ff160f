"""What is known of current traces without their events."""

from pathlib import Path

from tests.traces.samples import attempt, begun, conversation, filled, plan, score

from toolablate.traces.records import Answer, Usage
from toolablate.traces.store import Recorder, Store


async def test_attempts_and_digests_are_those_of_the_current_traces(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    with Recorder(path) as recorder:
        first, second, third, *_ = plan(recorder)
        await attempt(recorder, first)
        await attempt(recorder, second, outcome="failed")
        with Store(path) as store:
            before = store.current_attempts([second.id])
        await attempt(recorder, second)
        with Store(path) as store:
            found = store.current_attempts([second.id, third.id, "no such trial", first.id])
            assert {trial: number for trial, (number, _) in found.items()} == {first.id: 1, second.id: 2}
            assert len({digest for _, digest in (*found.values(), *before.values())}) == 3
            assert all(len(digest) == 32 for _, digest in found.values())


async def test_scores_of_many_are_those_of_each(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    traces = await filled(path, 3)
    with Recorder(path) as recorder:
        await recorder.score([score(traces[0].trial, 0.0, version=2), score(traces[0].trial, 0.5, scorer="other")])
    named = [trace.trial.id for trace in traces]
    with Store(path) as store:
        assert store.scores_of(named) == {trial: store.scores(trial) for trial in named}
        assert store.scores_of([]) == store.scores_of(["no such trial"]) == {}


async def test_the_answer_is_found_where_the_conversation_has_it(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    with Recorder(path) as recorder:
        first, second, third, fourth, *_ = plan(recorder)
        await attempt(recorder, first, turns=3)
        session = await begun(recorder, second)
        for event in conversation(1)[:-1]:
            session.record(event)
        await session.finish("budget", 1.0, Usage(), 0.0)
        await begun(recorder, third)
        with Store(path) as store:
            events = store.conversation(first.id)
            assert isinstance(events[store.answered_at(first.id) or 0], Answer)
            assert [store.answered_at(each) for each in (second.id, third.id, fourth.id, "no such trial")] == [None] * 4
