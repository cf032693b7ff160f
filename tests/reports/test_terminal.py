"""tests.reports.test_terminal"""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.traces.pages import SAFE, shown
from tests.traces.samples import (
    CODE,
    ENVIRONMENT,
    MODEL,
    NONE,
    QUESTIONS,
    SIMULATED,
    WHEN,
    conversation,
    filled,
    score,
    trials,
)

from toolablate.reports.terminal.problems import verify_view
from toolablate.reports.terminal.status import counts_table
from toolablate.reports.terminal.trace import trace_view, trials_table
from toolablate.traces.database import Problem
from toolablate.traces.records import (
    Answer,
    Artifact,
    Event,
    Failure,
    Lookup,
    Message,
    ModelCall,
    ModelReply,
    ModelRequest,
    Question,
    Score,
    ToolCall,
    ToolRequest,
    Trace,
    Usage,
)
from toolablate.traces.store import Store, VerifyReport, verify
from toolablate.traces.terminal_text import plain_text


def a_trace(*events: Event, **changes: object) -> Trace:
    trace = Trace(trial=trials()[0], outcome="answered", started_at=WHEN, seconds=3.0, environment=ENVIRONMENT)
    return trace.model_copy(update={"events": events or tuple(conversation(2)), **changes})


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("plain [red]text[/red] \\[x]\n\tnext", "plain [red]text[/red] \\[x]\n\tnext"),
        ("\x1b[31mred\x1b[0m \x1b[2J\x1b[1;1Hhome", "red home"),
        ("\x1b]0;new title\x07x\x1b]52;c;Y3VybA==\x1b\\y", "xy"),
        ("\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x9b31mred\x9d0;t\x9c\x90q\x1b\\x", "redx"),
        ("\x1bPpayload\x1b\\x\x1b_app\x1b\\y\x1bc\x1b(0z", "xyz"),
        ("over\rwrite\r\nline\x08\x00\x7f", "over\ufffdwrite\nline\ufffd\ufffd\ufffd"),
        ("evil\u202egnp.exe\u2066 \u200f", "evil\ufffdgnp.exe\ufffd \ufffd"),
        ("hidden\U000e0041\ud800", "hidden\ufffd\ufffd"),
        ("中文 \N{PILE OF POO} é", "中文 \N{PILE OF POO} é"),
        ("\x1b[", ""),
        ("\x1b", ""),
    ],
)
def test_foreign_text_becomes_inert(text: str, plain: str) -> None:
    assert plain_text(text) == plain


@given(st.text(alphabet=st.sampled_from("\x1b[]PX^_\\;0m?\x07\x9b\x9d\x9c\x90 ab\n\r\u202e(c"), max_size=60))
def test_no_sequence_survives_however_it_is_nested(text: str) -> None:
    assert SAFE.fullmatch(plain_text(text).replace("\t", "")), plain_text(text)


@pytest.mark.parametrize("unit", ["\x1b]", "\x1b[", "\x1bP", "\x9d" * 3, "\x1b", "\x1b]0;\x1b[", "\r\n", "\u202e"])
def test_a_megabyte_of_hostile_text_takes_no_longer_than_it_is_long(unit: str) -> None:
    plain_text(unit * (1_000_000 // len(unit)))


def test_long_text_is_cut_in_its_middle_and_says_so() -> None:
    cut = plain_text("a" * 500 + "b" * 500 + "c" * 500, max_chars=30)
    assert cut.startswith("a" * 20)
    assert cut.endswith("c" * 10)
    assert "1,470 characters left out" in cut
    assert plain_text("x" * 30, max_chars=30) == "x" * 30


async def test_a_trace_reads_from_top_to_bottom_and_says_each_thing_once(tmp_path: Path) -> None:
    (written,) = await filled(tmp_path / "s.db", 1)
    with Store(tmp_path / "s.db") as store:
        page = shown(
            trace_view(
                written, question=QUESTIONS[0], model=MODEL, condition=NONE, scores=store.scores(written.trial.id)
            )
        )
    marks = [
        "q0",
        "gpt-x",
        "bubblewrap",
        "system",
        "user",
        "Let me compute 0",
        "print(0)",
        "python returns",
        "print(1)",
    ]
    places = [page.index(mark) for mark in [*marks, "Answer: A", "answered in 12.5 s", "correct (1) by choice"]]
    assert places == sorted(places)
    assert page.count("print(1)") == 1
    assert page.count("100 tokens in, 20 tokens out") == 3
    assert "cost $0.003" in page
    assert "correct: A" in page


def test_a_tool_message_that_differs_from_what_the_tool_gave_is_shown() -> None:
    """An intervention changes what the model is told; a reader has to see both."""
    call = ToolRequest(id="1", name="search", arguments="{}")
    told = Message(role="tool", content="no result", tool_call_id="1")
    reply = ModelReply(message=Message(role="assistant", content="B"), finish_reason="stop")
    page = shown(
        trace_view(
            a_trace(
                ToolCall(at=0, call=call, output="the truth"),
                ModelCall(at=1, request=ModelRequest(messages=(told,)), reply=reply, purpose="final"),
                Answer(at=2, text="B", limit="turns"),
            )
        )
    )
    assert "the truth" in page
    assert "no result" in page
    assert "last request, without tools" in page
    assert "turns ran out" in page


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ('{"code": "x = [1]"}', "    x = [1]"),
        ('{"code": 5}', '"code": 5'),
        ('{"code": "x", "more": 1}', '"more": 1'),
        ("{broken", "{broken"),
        ("[" * 5_000, "[[[["),
        ('"text"', '"text"'),
        ("", ""),
    ],
    ids=range(7),
)
def test_arguments_are_shown_whatever_they_are(arguments: str, expected: str) -> None:
    request = ToolRequest(id="1", name="python", arguments=arguments)
    reply = ModelReply(message=Message(role="assistant", tool_calls=(request,)), finish_reason="tool_calls")
    page = shown(trace_view(a_trace(ModelCall(at=0, request=ModelRequest(messages=()), reply=reply))))
    assert "calls python" in page
    assert expected in page


def test_failures_and_outcomes_are_shown() -> None:
    failure = Failure(at=1, boundary="model", code="rate_limited", message="slow down", attempt=2, retried=True)
    page = shown(trace_view(a_trace(failure, outcome="failed", usage=Usage())))
    for part in (
        "model failed: rate_limited",
        "attempt 2, tried again",
        "slow down",
        "failed in 3.0 s",
        "tokens unknown",
    ):
        assert part in page


def test_a_trial_that_failed_ends_with_why() -> None:
    first = Failure(at=1, boundary="model", code="rate_limited", message="slow down", retried=True)
    last = Failure(at=2, boundary="model", code="unreachable", message="cannot reach it\n  Is it up?")
    page = shown(trace_view(a_trace(first, last, Answer(at=3, text="late"), outcome="failed")))
    ending = page[page.index("failed in 3.0 s") :]
    assert "model failed (unreachable):" in ending
    assert "cannot reach it" in ending
    assert "Is it up?" in ending
    assert "slow down" not in ending
    recovered = shown(trace_view(a_trace(first, Answer(at=3, text="B"))))
    assert recovered.count("slow down") == 1
    assert "failed in" in shown(trace_view(a_trace(Answer(at=0, text=""), outcome="failed")))


def test_the_sandbox_is_named_only_where_code_may_have_run() -> None:
    asked = Answer(at=0, text="B")
    assert "bubblewrap" not in shown(trace_view(a_trace(asked), condition=NONE))
    assert "bubblewrap" not in shown(trace_view(a_trace(asked)))
    assert "bubblewrap" in shown(trace_view(a_trace(asked), condition=CODE))
    assert "bubblewrap" in shown(trace_view(a_trace(), condition=NONE))
    searching = a_trace(asked, environment=ENVIRONMENT.model_copy(update={"search": "ddgs"}))
    assert "ddgs" in shown(trace_view(searching, condition=CODE))
    assert "ddgs" not in shown(trace_view(searching, condition=NONE))


def test_repeats_and_attempts_say_which_they_are() -> None:
    page = shown(trace_view(a_trace(attempt=2)))
    assert re.search(r"repeat +0 \(the 1st\)", page)
    assert re.search(r"attempt +2 \(the 2nd\)", page)


def test_spans_are_quoted_so_that_a_comma_in_one_is_seen() -> None:
    target = {"kind": "spans", "spans": ["Zurich", 'Gen"eva']}
    question = Question.model_validate({"id": "q", "prompt": "?", "target": target})
    marks = Score(trial="t", scorer="spans", verdict="wrong", value=0, extracted=("Zurich, Geneva",))
    page = shown(trace_view(a_trace(), question=question, scores=[marks]))
    assert 'answered ["Zurich, Geneva"] (correct: ["Zurich", "Gen\\"eva"])' in page
    assert 'answered ["Zurich, Geneva"]' in shown(trace_view(a_trace(), scores=[marks]))
    assert "answered A (correct: A)" in shown(trace_view(a_trace(), question=QUESTIONS[0], scores=[score("t")]))


EVIL = "\x1b]52;c;AAAA\x07\x1b[2J[red]x[/nonsense]\u202e\r\x00"


def test_a_trace_of_hostile_text_is_inert() -> None:
    request = ToolRequest(id=EVIL, name=EVIL, arguments='{"code": "print(1) \\u001b[2J\\r"}')
    message = Message(role="assistant", content=EVIL, reasoning=EVIL, tool_calls=(request, request))
    reply = ModelReply(message=message, finish_reason="stop", model=EVIL, response_id=EVIL)
    events = (
        ModelCall(at=0, request=ModelRequest(messages=(Message(role="user", content=EVIL),)), reply=reply),
        ToolCall(at=1, call=request, output=EVIL, error=EVIL, artifacts=(Artifact(mime=EVIL, data="x"),)),
        Failure(at=2, boundary="tool", code=EVIL, message=EVIL),
        Answer(at=3, text=EVIL),
    )
    evil_question = QUESTIONS[0].model_copy(update={"id": EVIL, "domain": EVIL})
    marks = Score(trial="t", scorer=EVIL, verdict="unparsed", extracted=(EVIL,), reason=EVIL)
    page = shown(
        trace_view(
            a_trace(*events),
            question=evil_question,
            model=MODEL.model_copy(update={"name": EVIL}),
            condition=NONE.model_copy(update={"name": EVIL}),
            scores=[marks],
            full=True,
        )
    )
    assert SAFE.fullmatch(page)
    assert "[red]x[/nonsense]" in page


@pytest.mark.deep
def test_long_outputs_are_cut_unless_asked_for_in_full() -> None:
    event = ToolCall(at=0, call=ToolRequest(id="1", name="python", arguments="{}"), output="y\n" * 20_000)
    assert shown(trace_view(a_trace(event))).count("y") < 5_000
    assert sum(line.strip() == "y" for line in shown(trace_view(a_trace(event), full=True)).splitlines()) == 20_000


def test_a_simulated_model_is_announced_in_its_trace() -> None:
    assert "SIMULATED" in shown(trace_view(a_trace(), model=SIMULATED))
    assert "SIMULATED" not in shown(trace_view(a_trace(), model=MODEL))


def test_targets_of_every_kind_are_shown() -> None:
    for target, text in (
        ({"kind": "number", "value": 12.5}, "correct: 12.5"),
        ({"kind": "spans", "spans": ["a", "b"]}, 'correct: ["a", "b"]'),
        ({"kind": "choice", "letters": ["A", "C"]}, "correct: A, C"),
        ({"kind": "reference", "answer": "Critical damping."}, "correct: Critical damping."),
    ):
        question = Question.model_validate({"id": "q", "prompt": "?", "target": target})
        assert text in shown(trace_view(a_trace(), question=question, scores=[score("t", 0.5)]))


def test_a_long_reference_and_the_points_of_a_rubric_are_shown_line_by_line_once() -> None:
    answer = "\n".join(f"{number}. Step {number} {EVIL}" for number in range(1, 20))
    key = {
        "target": {"kind": "reference", "answer": answer},
        "rubric": {"reference": answer, "points": f"Names step 3.\nNo word of [bold]step 30[/bold]. {EVIL}"},
    }
    question = Question.model_validate({"id": "q", "prompt": "?", **key})
    page = shown(trace_view(a_trace(), question=question, scores=[score("t", 0.5), score("u", 0.5)]))
    lines = [line.strip() for line in page.splitlines()]
    assert SAFE.fullmatch(page)
    assert sum(line.startswith("3. Step 3") for line in lines) == 1
    assert sum(line.startswith("Names step 3.") for line in lines) == 1
    assert "[bold]step 30[/bold]" in page
    assert page.count("correct: see the reference answer above") == 2
    assert "reference answer:" not in shown(trace_view(a_trace(), question=question))


@pytest.mark.deep
def test_a_reference_of_any_length_is_cut_unless_all_is_shown() -> None:
    question = Question.model_validate(
        {"id": "q", "prompt": "?", "target": {"kind": "reference", "answer": "y\n" * 9_000}}
    )
    page = {"question": question, "scores": [score("t", 0.5)]}
    assert shown(trace_view(a_trace(), **page)).count("y") < 5_000  # type: ignore[arg-type]
    whole = shown(trace_view(a_trace(), full=True, **page))  # type: ignore[arg-type]
    assert sum(line.strip() == "y" for line in whole.splitlines()) == 9_000


async def test_reports_lists_and_counts(tmp_path: Path) -> None:
    written = await filled(tmp_path / "s.db", 3)
    page = shown(verify_view(verify(tmp_path / "s.db")), 200)
    assert "3 traces" in page
    assert "3 of 8 planned trials are finished, 5 not begun." in page
    assert "Nothing is damaged." in page
    with Store(tmp_path / "s.db") as store:
        lines = shown(trials_table(store.summaries())).splitlines()
        assert sum(written[0].trial.id[:10] in line and "correct" in line for line in lines) == 1
        assert "gpt-x" in shown(counts_table(store.counts()))


def test_a_report_of_damage_lists_it_inertly() -> None:
    problems = tuple(Problem(f"text {number}", EVIL) for number in range(80))
    page = shown(verify_view(VerifyReport("s.db", {"texts": 80}, problems)))
    assert SAFE.fullmatch(page)
    assert page.count("damaged  text") == 50
    assert "30 more" in page
    assert "80 problems" in page


def test_what_a_policy_said_is_shown_beside_the_miss() -> None:
    lookup = Lookup(kind="page", key="k", miss="blocked_by_policy", reason="http://10.0.0.1/: \x1b[31mnot public")
    call = ToolCall(at=0, call=ToolRequest(id="1", name="browser_open", arguments="{}"), output="Error", lookup=lookup)
    assert "[missed: blocked by policy; http://10.0.0.1/: not public]" in shown(trace_view(a_trace(call)))
