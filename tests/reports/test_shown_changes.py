"""What interventions did to a call, as a reader of its trace sees it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from tests.traces.pages import SAFE, shown
from tests.traces.samples import ENVIRONMENT, WHEN, trials

from toolablate.reports.terminal.trace import trace_view
from toolablate.traces.records import Artifact, Change, ToolCall, ToolReply, ToolRequest, Trace

REQUEST = ToolRequest(id="1", name="python", arguments="{}")
EVIL = "\x1b]52;c;AAAA\x07\x1b[2J[red]x[/nonsense]\u202e\r\x00"


def page_of(output: str, *changes: tuple[str, str], width: int = 100, full: bool = False, **call: object) -> str:
    made = tuple(Change(intervention=name, detail=detail) for name, detail in changes)
    event = ToolCall(at=0, call=REQUEST, output=output, changes=made).model_copy(update=call)
    trace = Trace(trial=trials()[0], outcome="answered", started_at=WHEN, seconds=3.0, environment=ENVIRONMENT)
    return shown(trace_view(trace.model_copy(update={"events": (event,)}), full=full), width)


def lines_of(page: str) -> list[str]:
    """The lines of the call alone, without what stands between them."""
    lines = [line.rstrip() for line in page.splitlines()]
    start = next(number for number, line in enumerate(lines) if line.startswith("python returns"))
    end = next(number for number, line in enumerate(lines) if line.startswith("────"))
    return [line for line in lines[start:end] if line]


def test_what_was_changed_stands_with_what_the_tool_gave() -> None:
    original = ToolReply(output="42", truncated=True, artifacts=(Artifact(mime="image/png", data="abcd"),))
    page = page_of("1728", ("placebo", "bank 12"), ("delay", "waited 2 s"), original=original)
    assert lines_of(page) == [
        "python returns  event 0 · changed · at 0.0 s, took 0.0 s",
        "  1728",
        "changed by placebo",
        "  bank 12",
        "changed by delay",
        "  waited 2 s",
        "python itself gave  truncated",
        "  42",
        "  [image/png, 4 characters]",
    ]


def test_what_the_model_saw_is_told_from_what_was_recorded() -> None:
    page = page_of("This call failed.", ("fail", "failed at a rate of 1"), status="error", error="injected_failure")
    assert lines_of(page) == [
        "python returns  event 0 · error · changed · at 0.0 s, took 0.0 s",
        "  This call failed.",
        "  [recorded as: injected_failure]",
        "changed by fail",
        "  failed at a rate of 1",
        "python was not run: the call was answered in its place",
    ]
    same = page_of("42", ("delay", "waited 2 s"), original=ToolReply(output="42"))
    assert lines_of(same)[-1] == "python itself gave the same"
    mended = ToolReply(output="42", status="error", error="gone")
    assert lines_of(page_of("42", ("own", ""), original=mended))[-3:] == [
        "python itself gave  error",
        "  42",
        "  [recorded as: gone]",
    ]
    assert "itself" not in page_of("42")
    assert "changed" not in page_of("42")


def test_what_the_tool_gave_is_short_unless_all_is_asked_for() -> None:
    call = {"original": ToolReply(output="y\n" * 1_000)}
    oracle = ("oracle", "z" * 700)
    short, full = (page_of("x", oracle, full=full, **call) for full in (False, True))
    assert 100 < short.count("  y") < 400
    assert "1,400 characters left out" in short
    assert "…" in short
    assert short.count("z") <= 200
    assert (full.count("  y"), full.count("z")) == (1_000, 700)


@pytest.mark.parametrize("width", [20, 40, 60, 80, 140])
@given(text=st.text(max_size=300) | st.just("python itself gave\n" * 3 + EVIL))
def test_foreign_text_neither_acts_nor_passes_for_a_heading(width: int, text: str) -> None:
    original = ToolReply(output=text, status="error", error=text, artifacts=(Artifact(mime="x", data="y"),))
    page = page_of(text, ("swap", text), ("oracle", text), width=width, original=original, error=text)
    assert SAFE.fullmatch(page)
    assert max(map(cell_len, page.splitlines())) <= width
    headings = " ".join(line for line in lines_of(page) if not line.startswith(" "))
    assert headings.count("python itself gave") == 1
    assert headings.count("changed by") == 2
