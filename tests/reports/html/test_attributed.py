import re
from dataclasses import replace

from tests.reports.attribution.samples import REPLAYED, UNREPLAYED, evidence, explained, explanation, inputs
from tests.traces.samples import conversation

from toolablate.analysis.attribution.belief import Probe, trajectory
from toolablate.reports.html.beliefs import (
    FIRST_STEPS,
    LAST_STEPS,
    belief_figure,
    evidence_events,
    falling,
    marks_of,
    told_steps,
    with_links,
)
from toolablate.reports.html.cards import Links, Marks, Quote
from toolablate.reports.html.environment import environment
from toolablate.reports.terminal.explanation import turned

LINKS = Links(event=lambda number: f"#t-event-{number}", whole=lambda number, part: "")


def test_marks_stand_at_the_events_that_they_are_about() -> None:
    marks = marks_of(explanation())
    assert set(marks) == {0, 1, 2}
    assert marks[0] == Marks((), "1.0 (.68 to 1.0)", falls=False)
    assert marks[1] == Marks(
        ("evidence for retrieval distraction (misleading content adopted), by replay",),
        ".88 (.53 to .98)",
        falls=True,
        quotes=(Quote("output", "molecular nitrogen", "the answer that was given in the end"),),
    )
    assert marks[2] == Marks((), ".00 (.00 to .32)", falls=False)
    assert list(evidence_events(explanation())) == [1]
    assert list(falling(explanation())) == [1]


def test_without_replays_there_is_evidence_alone() -> None:
    told = explanation(explained(evidence(**UNREPLAYED)))
    assert {event: (bool(mark.evidence), mark.belief, mark.falls) for event, mark in marks_of(told).items()} == {
        1: (True, "", False)
    }
    assert belief_figure(told) is None
    assert [step.share for step in told_steps(told)] == [None] * 4


def test_of_very_many_steps_those_that_tell_are_in_the_table() -> None:
    told = replace(explanation(explained(evidence(**UNREPLAYED))), conversation=tuple(conversation(500)))
    lines = list(told_steps(told))
    assert len(lines) == FIRST_STEPS + LAST_STEPS
    assert [line.skipped for line in lines if line.skipped] == [1_002 - len(lines)]
    module = environment().get_template("beliefs.html").module
    assert "862 more" in str(module.steps_of(lines, LINKS))  # type: ignore[attr-defined]


def test_a_sentence_leads_to_the_events_that_it_names() -> None:
    linked = str(with_links("It falls in events 1 to 3, by <b>event 12</b>, 7 times", LINKS.event))
    assert re.findall(r'<a href="(.*?)">(.*?)</a>', linked) == [
        ("#t-event-1", "1"),
        ("#t-event-3", "3"),
        ("#t-event-12", "12"),
    ]
    assert "&lt;b&gt;event" in linked


def test_the_figure_has_a_point_for_each_belief_and_a_band_where_it_falls() -> None:
    figure = belief_figure(explanation())
    assert figure is not None
    assert [point.event for point in figure.points] == [0, 1, 2]
    tops = [point.y for point in figure.points]
    assert tops == sorted(tops)
    assert all(point.high <= point.y <= point.low for point in figure.points)
    assert figure.fall == (figure.points[1].x, figure.points[2].x)
    html = str(environment().get_template("beliefs.html").module.belief_of(figure, LINKS))  # type: ignore[attr-defined]
    assert re.findall(r'<a href="(.*?)"', html) == ["#t-event-0", "#t-event-1", "#t-event-2"]
    assert "before event 2: .00 (.00 to .32) right; most say B, of 8 answers" in html


def test_no_fall_is_marked_where_the_panel_knows_no_clear_place() -> None:
    # Answers that were asked for are right to the end: only its last reply, drawn again, is not.
    again = replace(REPLAYED, last_reply=(0.0,) * 8)
    told = explanation(explained(evidence(inputs=inputs(replay=again))))
    assert told.explained.evidence.flip is not None
    assert turned(told) == ""
    assert not any(mark.falls for mark in marks_of(told).values())
    assert not any(step.falls for step in told_steps(told))
    figure = belief_figure(told)
    assert figure is not None
    assert figure.fall is None
    # What is no early answer is told as what it is, at its event and in the table of steps.
    marks = marks_of(told)
    assert marks[2].belief == ".00 (.00 to .32), by its last reply, drawn again: 0 of 8 right"
    assert "drawn again" not in marks[1].belief
    last = [step.line.what for step in told_steps(told)][-1]
    assert last == "replies: Answer: B (drawn again: 0 of 8 right)"
    assert figure.points[2].says.startswith("before event 2, by its last reply, drawn again: .00 (")


def test_answers_that_cannot_be_read_are_told_beside_the_belief() -> None:
    found = trajectory([Probe(0, {"A": 8}, 0, 8), Probe(1, {"A": 7}, 1, 7)])
    marks = marks_of(explanation(explained(evidence(trajectory=found))))
    assert marks[0].belief == "1.0 (.68 to 1.0)"
    assert marks[1].belief == ".88 (.53 to .98); 1 of 8 have no readable answer"


def test_steps_say_what_was_done_and_where_it_falls() -> None:
    steps = list(told_steps(explanation()))
    assert [step.line.event for step in steps] == [None, 0, 1, 2]
    assert [step.share for step in steps] == [1.0, 0.875, 0.0, None]
    assert [step.falls for step in steps] == [False, False, True, False]
