"""Two aligned conversations as rows of a page."""

import re

import pytest
from tests.analysis.test_alignment import Turn, conversation
from tests.browser.hostile import png
from tests.traces.samples import QUESTIONS

from toolablate.analysis.alignment import align
from toolablate.reports.html.cards import Marks, Quote
from toolablate.reports.html.environment import environment
from toolablate.reports.html.side_by_side import (
    COMPARED_CHARS,
    FOLDED_CHARS,
    IMAGE_CHARS,
    MOST_CALLS,
    MOST_IMAGES,
    MOST_TEXTS,
    ROOM_CHARS,
    SHOWN_ENDS,
    SideBySide,
    side_by_side,
)
from toolablate.traces.records import Artifact, Change, Event, Failure

pytest.importorskip("jinja2", reason="pages need the extra 'view'")


HOSTILE = "<script>owned()</script>\u202e\x1b[31m</pre>"
FINAL: Turn = ("Answer: A", "", "")


def _found(left: list[Turn], right: list[Turn], *, fell: int | None = None) -> SideBySide:
    return side_by_side(align(conversation(left), conversation(right)), QUESTIONS[0], marks=(fallen(fell), {}))


def fallen(event: int | None) -> dict[int, Marks]:
    return {} if event is None else {event: Marks(falls=True)}


def _page(found: SideBySide) -> str:
    source = '{% from "diff_rows.html" import rows %}{{ rows(found, ("left one", "right one"), ("", "")) }}'
    return environment().from_string(source).render(found=found)


def _text(page: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", "", page))


def test_equal_rows_are_folded_and_others_stand_open() -> None:
    same: Turn = ("I count.", "f(1)", "1")
    found = _found([same, same, ("A", "f(2)", "2"), FINAL], [same, same, ("B", "f(2)", "2"), FINAL])
    assert [(each.equal, len(each.rows)) for each in found.groups] == [(True, 2), (False, 1), (True, 1)]
    assert (found.differences, found.equal) == (1, 3)
    assert found.marked == {"divergence": 2}
    page = _page(found)
    assert page.count("<details") == 2
    assert "2 equal steps" in page
    assert 'id="row-3"' in page


def test_a_mark_keeps_a_row_open_though_both_sides_say_the_same() -> None:
    found = _found([("x", "f(1)", "1"), ("Answer: A", "", "")], [("x", "f(1)", "other"), ("Answer: B", "", "")])
    assert found.marked == {"results": 0, "divergence": 1, "parting": 1}
    assert [each.equal for each in found.groups] == [False]


def test_what_is_the_same_is_shown_once_and_words_that_differ_are_marked() -> None:
    left: Turn = ("The limit of it is two.", "f(1)", "1")
    right: Turn = ("The limit of it is three.", "f(1)", "1")
    (group, *_) = _found([left], [right]).groups
    said, called, gave = group.rows[0].texts
    assert (said.same, called.same, gave.same) == (False, True, True)
    assert called.right is None
    page = _page(_found([left], [right]))
    assert "<del>two</del>" in page
    assert "<ins>three</ins>" in page
    assert _text(page).count("f(1)") == 1


def test_each_side_has_its_own_results_and_how_they_went() -> None:
    asked, called, *rest = conversation([("x", "f(1)", "what was found"), FINAL])
    silent = called.model_copy(update={"output": "", "status": "error"})
    for gave in ("what was found", ""):
        other = called.model_copy(update={"output": gave})
        found = side_by_side(align((asked, silent, *rest), (asked, other, *rest)), QUESTIONS[0])
        result = found.groups[0].rows[0].texts[-1]
        assert result.left is not None
        assert result.right is not None
        assert (result.left.label, result.left.stretches) == ("python gives nothing (error)", ())
        assert result.right.label == ("python gives" if gave else "python gives nothing")
        assert _page(found).count("what was found") == bool(gave)


def test_code_has_its_colours_where_nothing_in_it_differs() -> None:
    page = _page(_found([("x", "print(1)", "1"), FINAL], [("y", "print(1)", "1"), FINAL]))
    assert '<span class="k-name">print</span>' in page


def test_a_text_keeps_the_line_that_it_begins_with() -> None:
    found = _found([("x", "f(1)", "\n\n 1")], [("y", "f(1)", "\n\n 2")])
    assert re.search(r"<pre[^>]*>\n\n\n ", _page(found)), "browsers leave out one line feed after <pre>"


def test_what_one_side_has_alone_takes_the_width_and_says_whose_it_is() -> None:
    page = _page(_found([FINAL], [("x", "f(1)", "1"), FINAL]))
    row = page[page.index('id="row-1"') : page.index("</section>")]
    assert re.findall(r'class="(diff-(?:head|side)[^"]*)"', row) == [
        "diff-head right alone",
        *["diff-side right alone"] * 3,
    ]
    assert "right one only step 1" in _text(row)
    assert "left one" not in row
    assert "<ins>" not in page, "its place says it"


def test_evidence_is_marked_on_both_sides_and_in_what_is_folded() -> None:
    long = "word " * 2_000
    told = {
        0: Marks(quotes=(Quote("reply-call-0", "g(7)", "a look"),)),
        1: Marks(("evidence for lock-in, by trace",), quotes=(Quote("output", "the gap is small", "the answer"),)),
    }
    turned = f"{long} THE GAP\r\nis **small** {long}"
    found = side_by_side(
        align(conversation([FINAL]), conversation([("x", "g(7)", turned), FINAL])),
        QUESTIONS[0],
        marks=({0: Marks(quotes=(Quote("reply", "answer", "the right one", last=True),))}, told),
    )
    page = _page(found)
    marks = [
        (says, re.sub("<[^>]*>", "", text))
        for says, text in re.findall(r'<mark title="([^"]*)">(.*?)</mark>', page, re.S)
    ]
    assert marks == [("a look", "g(7)"), ("the answer", "THE GAP\nis **small"), ("the right one", "Answer")]
    assert '<details class="diff-fold" open>' in page
    assert "evidence for lock-in, by trace" in page
    # Words that differ and evidence in one text.
    sides = [("We say two is it.", "g(7)", "1"), FINAL], [("We say three is it.", "g(7)", "1"), FINAL]
    both = side_by_side(
        align(*map(conversation, sides)),
        QUESTIONS[0],
        marks=({}, {0: Marks(quotes=(Quote("reply", "say three is", "turned"),))}),
    )
    assert _page(both).count('title="turned"') == 3, "before, within and after what differs"


def test_where_the_belief_falls_and_what_went_wrong_is_said() -> None:
    failure = Failure(at=0, boundary="model", code="rate_limit", message="later", retried=True)
    events: tuple[Event, ...] = (failure, *conversation([("x", "f(1)", "1"), FINAL]))
    found = side_by_side(align(events, events), QUESTIONS[0], marks=(fallen(2), {}))
    heading = found.groups[0].rows[0].left
    assert heading is not None
    assert heading.falls
    assert heading.remarks == ("model failed (rate_limit), tried again",)
    assert found.groups[0].rows[1].left is not None
    assert found.groups[0].rows[1].left.answer == "A"
    assert _page(found).count("belief falls here") == 1


def test_what_an_intervention_did_and_rich_outputs_that_are_no_images_are_told_of() -> None:
    asked, called, *rest = conversation([("x", "f(1)", "1"), FINAL])
    rich = {"artifacts": (Artifact(mime="text/html", data="<p>"),), "changes": (Change(intervention="fail"),)}
    events = (asked, called.model_copy(update=rich), *rest)
    heading = side_by_side(align(events, events), QUESTIONS[0]).groups[0].rows[0].left
    assert heading is not None
    assert heading.remarks == ("changed by fail", "1 rich output on the trial's page")


def _with(*artifacts: Artifact) -> tuple[Event, ...]:
    asked, called, *rest = conversation([("x", "f(1)", "1"), FINAL])
    return asked, called.model_copy(update={"artifacts": artifacts}), *rest


def _drawn(width: int) -> Artifact:
    return Artifact(mime="image/png", data=png(width))


def test_images_stand_on_both_sides_and_once_where_they_are_the_same() -> None:
    differing = side_by_side(align(_with(_drawn(3)), _with(_drawn(4))), QUESTIONS[0])
    assert differing.marked == {"results": 0}
    page = _page(differing)
    assert [re.findall(r'width="(\d+)"', each) for each in page.split("diff-side right")[-2:]] == [["3"], ["4"]]
    same = side_by_side(align(_with(_drawn(3)), _with(_drawn(3))), QUESTIONS[0])
    assert (same.marked, same.differences) == ({}, 0)
    assert _page(same).count("<img") == 1
    alone = side_by_side(align(_with(_drawn(3)), _with()), QUESTIONS[0])
    assert alone.marked == {"results": 0}
    assert _page(alone).count("<img") == 1


def test_a_drawing_in_names_drawn_by_lot_is_no_difference() -> None:
    one, other = (Artifact(mime="image/svg+xml", data=f"<svg id='{name}'/>") for name in "ab")
    assert side_by_side(align(_with(one), _with(other)), QUESTIONS[0]).marked == {}


@pytest.mark.parametrize(
    "artifact",
    [
        Artifact(mime="image/png", data=png(says=(60_000, 60_000))),
        Artifact(mime="image/png", data="!!! no base64 !!!"),
        Artifact(mime=f"image/{HOSTILE}", data=HOSTILE),
    ],
)
def test_what_is_no_image_is_told_and_not_shown(artifact: Artifact) -> None:
    page = _page(side_by_side(align(_with(artifact), _with(_drawn(3))), QUESTIONS[0]))
    assert page.count("<img") == 1
    assert "not shown" in page
    assert "<script" not in page


def test_images_of_a_page_have_a_limit() -> None:
    large = Artifact(mime="image/png", data=png() + "A" * (IMAGE_CHARS // 10))
    found = side_by_side(align(_with(*[large] * 15), _with()), QUESTIONS[0])
    told = [each.left for each in found.groups[0].rows[0].texts if each.left and "an image" in each.left.label]
    assert [each.image is not None for each in told] == [True] * 9 + [False] * 6
    many = side_by_side(align(_with(*[_drawn(3)] * (MOST_IMAGES + 5)), _with()), QUESTIONS[0])
    assert _page(many).count("<img") == MOST_IMAGES
    assert "5 rich outputs on the trial&#39;s page" in _page(many)


def test_foreign_text_does_nothing() -> None:
    page = _page(_found([(HOSTILE, HOSTILE, HOSTILE), FINAL], [(f"{HOSTILE} x", "f", HOSTILE * 2), FINAL]))
    assert "<script" not in page
    assert "\u202e" not in page
    assert "\x1b" not in page
    assert page.count("</pre>") == page.count("<pre")
    assert "U+202E" in page


def test_long_texts_are_cut_and_say_so() -> None:
    long = "word " * 20_000
    page = _page(_found([(long, "f(1)", "1")], [(long, "f(2)", "1")]))
    assert len(page) < FOLDED_CHARS + 4 * SHOWN_ENDS + 5_000
    assert f"{FOLDED_CHARS:,} characters more" in page
    assert re.search(r"[\d,]+ characters left out here", page)


def test_long_texts_are_cut_between_words() -> None:
    left = " ".join(f"word{number}" for number in range(20_000))
    page = _page(_found([(left, "f(1)", "1")], [(left, "f(2)", "1")]))
    shown = re.search(r"<pre[^>]*>(.*?)</pre>", page, re.DOTALL)
    assert shown is not None
    text = re.sub(r"<summary>.*?</summary>|<span.*?</span>", " ", shown[1])
    assert set(re.sub(r"<[^>]*>", "", text).split()) <= set(left.split())


def test_a_page_has_its_limits_whatever_is_in_the_store() -> None:
    turns = [(f"{number} " + "lorem " * 2_000, f"f({number})", "ipsum " * 4_000) for number in range(150)]
    others = [(f"{number} " + "dolor " * 2_000, f"f({number})", "amet " * 4_000) for number in range(150)]
    assert sum(len(said) + len(gave) for said, _, gave in turns) > ROOM_CHARS > COMPARED_CHARS
    assert len(_page(_found(turns, others))) < 3 * ROOM_CHARS
    assert "left out here" in _text(_page(_found(turns, others)))


def test_of_very_many_calls_some_are_shown_and_the_others_counted() -> None:
    asked, called, *rest = conversation([("x", "f(1)", "1"), FINAL])
    assert asked.kind == "model_call"
    calls = asked.reply.message.tool_calls * 30_000
    message = asked.reply.message.model_copy(update={"tool_calls": calls})
    events = (asked.model_copy(update={"reply": asked.reply.model_copy(update={"message": message})}), called, *rest)
    page = _page(side_by_side(align(events, events), QUESTIONS[0]))
    assert page.count("both: calls python") == MOST_CALLS
    assert f"{30_000 - MOST_CALLS:,} more parts, on the trial&#39;s page" in page
    assert len(page) < 100_000


def test_of_very_many_steps_the_last_stand_without_their_texts() -> None:
    turns: list[Turn] = [(f"say {number}", f"f({number})", "1") for number in range(MOST_TEXTS // 3 + 10)]
    found = _found(turns, turns)
    assert sum(len(row.texts) for group in found.groups for row in group.rows) < MOST_TEXTS + 20
    left_out = found.groups[-1].rows[-1].texts[0].left
    assert left_out is not None
    assert left_out.label == "3 more parts, on the trial's page"


@pytest.mark.parametrize("arguments", ['{"code": "print(1)"}', '{"a": 1, "b": [2]}', "print(1)", "[" * 100_000])
def test_arguments_of_every_kind_are_shown(arguments: str) -> None:
    asked, *rest = conversation([("x", "f(1)", "1")])
    assert asked.kind == "model_call"
    call = asked.reply.message.tool_calls[0].model_copy(update={"arguments": arguments})
    message = asked.reply.message.model_copy(update={"tool_calls": (call,)})
    events = (asked.model_copy(update={"reply": asked.reply.model_copy(update={"message": message})}), *rest)
    page = _page(side_by_side(align(events, events), QUESTIONS[0]))
    assert "calls python" in page
    assert ("{" in page) == arguments.startswith('{"a"'), "code as it is, everything else laid out"
