"""What is known of current traces without their events."""

import asyncio
import sqlite3
from pathlib import Path

import pytest
from tests.traces.samples import (
    CODE,
    MODEL,
    NONE,
    QUESTIONS,
    SIMULATED,
    attempt,
    begun,
    conversation,
    filled,
    plan,
    question,
    run,
    score,
    trials,
)

from toolablate.traces.errors import InputError, StoreError
from toolablate.traces.records import (
    Answer,
    ChoiceTarget,
    Failure,
    Message,
    ModelCall,
    ModelReply,
    ModelRequest,
    NumberTarget,
    Question,
    ReferenceTarget,
    SpansTarget,
    Target,
    Trial,
    Usage,
)
from toolablate.traces.store import Recorder, Store, verify


async def test_scores(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with Recorder(path) as recorder:
        first, second, third, *_ = plan(recorder)
        await attempt(recorder, first)
        await attempt(recorder, second, outcome="failed")
        await attempt(recorder, third, outcome="budget")
        for trial, reason in ((second, "no finished trace"), (trials()[4], "no finished trace")):
            with pytest.raises(StoreError, match=reason):
                await recorder.score([score(trial)])
        await recorder.score([score(first, 0.0), score(first, 1.0, version=2)])
        await recorder.score([score(first, 0.5)])
    with Store(path) as store:
        seen = {item.trial: item for item in store.summaries()}
        assert (seen[first.id].value, seen[first.id].verdict) == (1.0, "correct")
        assert (seen[second.id].value, seen[second.id].outcome) == (None, "failed")
        assert seen[first.id].tokens == 360
        assert [item.value for item in store.scores(first.id)] == [0.5, 1.0]
        assert store.unscored_trials() == {third.id}


async def test_how_a_question_is_answered_is_read_with_each_summary(tmp_path: Path) -> None:
    targets: list[Target] = [
        ChoiceTarget(letters=("A",)),
        ChoiceTarget(letters=("A", "B")),
        NumberTarget(value=1),
        SpansTarget(spans=("x",)),
        ReferenceTarget(answer="It is so."),
    ]
    questions = [Question(id=f"q{n}", prompt="?", target=target) for n, target in enumerate(targets)]
    with Recorder(tmp_path / "s.db") as recorder:
        planned = trials(tuple(questions), conditions=(NONE,))
        recorder.plan(run(), questions, [MODEL], [NONE], planned)
        for trial in planned:
            await attempt(recorder, trial)
    with Store(tmp_path / "s.db") as store:
        kinds = {each.question: each.kind for each in store.summaries()}
    assert kinds == {"q0": "choice", "q1": "several", "q2": "number", "q3": "spans", "q4": "reference"}


async def test_several_scorers_are_never_mixed_silently(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    written = await filled(path)
    with Recorder(path) as recorder:
        await recorder.score([score(written[0].trial, 0.0, scorer="judge")])
    with Store(path) as store:
        with pytest.raises(InputError, match="choice, judge"):
            store.summaries()
        assert [item.value for item in store.summaries(scorers=["judge"])][:2] == [0.0, None]
        assert {item.value for item in store.summaries(scorers=["choice"])} == {1.0}
        with pytest.raises(InputError, match=r"'nobody'(.|\n)*choice, judge"):
            store.summaries(scorers=["nobody"])
        with pytest.raises(InputError, match="run-1"):
            store.summaries(scorers=["judge"], run="run-9")


async def test_trials_are_found_by_the_beginning_of_their_id(tmp_path: Path) -> None:
    written = await filled(tmp_path / "s.db")
    wanted = written[3]
    with Store(tmp_path / "s.db") as store:
        assert store.trace(wanted.trial.id[:12].upper() + " ") == wanted
        for silly in ("zz", "%", "' OR 1=1", "\x00", "g"):
            with pytest.raises(InputError, match="has no trial"):
                store.trace(silly)
        with pytest.raises(InputError, match="Several trials"):
            store.trace("")


async def test_traces_are_filtered(tmp_path: Path) -> None:
    written = await filled(tmp_path / "s.db")
    with Store(tmp_path / "s.db") as store:
        assert list(store.traces(condition="python")) == written[1::2]
        assert list(store.traces(condition=CODE.identity(), model="gpt-x", outcome="answered")) == written[1::2]
        assert list(store.traces(outcome="failed")) == list(store.traces(model="nobody")) == []


async def test_a_recorder_serves_any_thread(tmp_path: Path) -> None:
    with Recorder(tmp_path / "s.db") as recorder:
        planned = plan(recorder)

        def work(trial: Trial) -> None:
            asyncio.run(attempt(recorder, trial))

        await asyncio.gather(*(asyncio.to_thread(work, trial) for trial in planned))
    assert verify(tmp_path / "s.db").finished == len(planned)


async def test_usage_that_is_unknown_stays_unknown(tmp_path: Path) -> None:
    with Recorder(tmp_path / "s.db") as recorder:
        first, second, *_ = plan(recorder)
        await (await begun(recorder, first)).finish("answered", 1.0)
        await (await begun(recorder, second)).finish("answered", 1.0, Usage(output_tokens=0), 0.0)
    with Store(tmp_path / "s.db") as store:
        assert [(item.tokens, item.cost_usd) for item in store.summaries()] == [(None, None), (0, 0.0)]


async def test_all_that_is_known_of_usage_comes_back(tmp_path: Path) -> None:
    usage = Usage(**{name: 10 + number for number, name in enumerate(Usage.model_fields)})
    reply = ModelReply(
        message=Message(role="assistant", content="A"), finish_reason="stop", usage=usage, charged_usd=0.25
    )
    call = ModelCall(at=0.0, request=ModelRequest(messages=()), reply=reply, cost_usd=0.25)
    with Recorder(tmp_path / "s.db") as recorder:
        trial, *_ = plan(recorder)
        session = await begun(recorder, trial)
        session.record(call)
        written = await session.finish("answered", 1.0, usage, 0.25)
    with Store(tmp_path / "s.db") as store:
        read = store.trace(trial.id)
    assert read == written
    assert (read.usage, read.events) == (usage, (call,))
    assert verify(tmp_path / "s.db").ok


async def test_summaries_carry_what_questions_are_grouped_by(tmp_path: Path) -> None:
    asked = question(1, domain="law", difficulty="hard", cluster="c").model_copy(update={"language": "de"})
    with Recorder(tmp_path / "s.db") as recorder:
        planned = trials((asked,))
        recorder.plan(run(), [asked], [MODEL], [NONE, CODE], planned)
        await attempt(recorder, planned[0])
    with Store(tmp_path / "s.db") as store:
        (item,) = store.summaries()
    assert (item.domain, item.difficulty, item.language, item.cluster) == ("law", "hard", "de", "c")
    assert verify(tmp_path / "s.db").ok


def _failure(code: str, message: str, at: float = 0.0) -> Failure:
    return Failure(at=at, boundary="model", code=code, message=message)


async def _spoiled(recorder: Recorder, trial: Trial, *failures: Failure) -> None:
    session = await begun(recorder, trial)
    for failure in failures:
        session.record(failure)
    await session.finish("failed", 1.0)


async def test_failures_are_counted_by_the_last_reason_of_each_trial(tmp_path: Path) -> None:
    long_code, message = "~t1 " + "x" * 100, "cannot reach http://127.0.0.1:9/v1\n  Is it up? " + "y" * 100
    with Recorder(tmp_path / "s.db") as recorder:
        planned = plan(recorder)
        for trial in planned[:3]:
            await _spoiled(recorder, trial, _failure("rate_limited", "slow"), _failure("unreachable", message, 1.0))
        await _spoiled(recorder, planned[3], _failure(long_code, "odd"))
        await _spoiled(recorder, planned[4])
        await _spoiled(recorder, planned[5], _failure("unreachable", "then it answered"))
        await attempt(recorder, planned[5])
        await attempt(recorder, planned[6])
        plan(recorder, planned[2:4], identity="run-2")
        plan(recorder, planned[6:], identity="run-3")
    with Store(tmp_path / "s.db") as store:
        found = [(f.model, f.boundary, f.code, f.message, f.count, f.trial) for f in store.failures()]
        assert found == [
            ("gpt-x", "model", "unreachable", message, 3, planned[0].id),
            ("gpt-x", "model", long_code, "odd", 1, planned[3].id),
            ("gpt-x", None, "", "", 1, planned[4].id),
        ]
        assert [(f.count, f.trial) for f in store.failures(run="run-2")] == [(1, planned[2].id), (1, planned[3].id)]
        assert store.failures(run="run-3") == ()
        with pytest.raises(InputError, match="run-9"):
            store.failures(run="run-9")


async def test_failures_of_a_damaged_store_are_one_clear_error(tmp_path: Path) -> None:
    with Recorder(tmp_path / "s.db") as recorder:
        await _spoiled(recorder, plan(recorder)[0], _failure("unreachable", "no"))
    connection = sqlite3.connect(tmp_path / "s.db")
    connection.execute("UPDATE events SET body = CAST('{broken' AS BLOB)")
    connection.commit()
    connection.close()
    with Store(tmp_path / "s.db") as store, pytest.raises(StoreError, match="Cannot read the store"):
        store.failures()


async def test_a_history_need_not_end_to_be_seen(tmp_path: Path) -> None:
    with Recorder(tmp_path / "s.db") as recorder:
        session = await begun(recorder, plan(recorder)[0])
        events = conversation()
        for event in events:
            session.record(event)
        assert session.events == tuple(events)
    report = verify(tmp_path / "s.db")
    assert (report.ok, report.unfinished, report.finished) == (True, 1, 0)


async def test_what_each_request_repeats_is_one_record(tmp_path: Path) -> None:
    (trace, *_) = await filled(tmp_path / "s.db", 1)
    with Store(tmp_path / "s.db") as store:
        read = store.trace(trace.trial.id)
    first, second, third = (event.request.messages for event in read.events if isinstance(event, ModelCall))
    assert read == trace
    assert third[0] is second[0] is first[0]
    assert third[3] is second[3]


async def test_what_bears_on_one_trial_is_found_among_all(tmp_path: Path) -> None:
    edited = (*QUESTIONS[:2], QUESTIONS[0].model_copy(update={"prompt": "Asked otherwise."}))
    words = CODE.model_copy(update={"prompt": "Think."})
    planned = trials(edited, models=(MODEL, SIMULATED), conditions=(NONE, CODE, words), repeats=2)
    with Recorder(tmp_path / "s.db") as recorder:
        recorder.plan(run(), edited, [MODEL, SIMULATED], [NONE, CODE, words], planned)
        for trial in planned[:-7]:
            await attempt(recorder, trial)
            await recorder.score([score(trial)])
        await recorder.score([score(planned[0], 0.0, scorer="judge")])
    with Store(tmp_path / "s.db") as store:
        seen = store.summaries(scorers=["judge"])
        assert len({each.question for each in seen}) == 3
        for each in seen:
            alike = [other for other in seen if (other.question, other.model) == (each.question, each.model)]
            assert store.summaries(scorers=["judge"], beside=each.trial) == alike
        assert store.seen_conditions() == store.conditions_of(seen)
        with pytest.raises(InputError, match="Several scorers"):
            store.summaries(beside=planned[0].id)


# What is known of current traces without their events.


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
