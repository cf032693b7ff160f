"""Where the words that are evidence stand in what is shown of an event."""

import re
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.analysis.attribution.stories import ended, ran
from tests.reports.attribution.samples import EVENTS, IDENTITY, attribution, evidence, explained, explanation

pytest.importorskip("jinja2", reason="pages need the extra 'view'")

from toolablate.analysis.attribution.evidence import Explained
from toolablate.reports.html.beliefs import MOST_QUOTED, marks_of, quotes_of
from toolablate.reports.html.cards import HEAD_CHARS, TAIL_CHARS, Card, Links, Marks, Panel, Quote, Text, cut
from toolablate.reports.html.environment import environment
from toolablate.reports.html.events import event_cards
from toolablate.reports.html.marking import MOST_PIECES, MOST_PLACES, as_shown, holds, marked, places_of, shown, target
from toolablate.traces.records import Diagnosis

LINKS = Links(event=lambda number: f"#event-{number}", whole=lambda number, part: "")
HOSTILE = "\x00\u202e</mark><script>a</script>\ud800\r\n\x1b[31m&amp;"


def _card(text: str, form: str = "output", **more: object) -> Card:
    body = cut(text, "output", form, **more)  # type: ignore[arg-type]
    return Card(7, "tool_call", "python", 0.0, 0.0, (Panel("tool", "python returns", (body,)),))


def _body(card: Card) -> Text:
    body = card.panels[0].bodies[0]
    assert isinstance(body, Text)
    return body


def _places(text: str, *quotes: Quote, form: str = "output") -> list[str]:
    body = _body(marked(_card(text, form), quotes))
    return [as_shown(text, body.form)[span.start : span.end] for span in body.marks]


def _page(card: Card, quotes: Sequence[Quote]) -> str:
    source = '{% from "events.html" import event_card %}{{ event_card(card, links, marks) }}'
    return environment().from_string(source).render(card=card, links=LINKS, marks=Marks(quotes=tuple(quotes)))


@pytest.mark.parametrize(
    ("text", "quote", "found"),
    [
        (
            "It is  **Molecular\nNitrogen**, they say",
            Quote("output", "molecular nitrogen", ""),
            ["Molecular\nNitrogen"],
        ),
        ("subset and set", Quote("output", "set", ""), ["set"]),
        ("是氮气吗", Quote("output", "氮气", ""), ["氮气"]),
        ("哈" * 11 + "好", Quote("output", "哈" * 9 + "好", ""), ["哈" * 9 + "好"]),
        ("x = 2*3", Quote("output", "x = 23", ""), ["x = 2*3"]),
        ("between 1,200.0 and 12", Quote("output", "1200", "", "number"), ["1,200.0"]),
        ("about 0.3333 or 3", Quote("output", "0.33", "", "number"), ["0.3333"]),
        ("7 and 7", Quote("output", "7", "", "number", last=True), ["7"]),
        ("one, two; (three) four", Quote("output", "one two three four", "", "words"), ["one, two; (three) four"]),
        ("nothing of it", Quote("output", "molecular nitrogen", ""), []),
        ("elsewhere", Quote("reply", "elsewhere", ""), []),
        ("anything", Quote("output", " ", ""), []),
        ("a.c abc", Quote("output", "a.c", ""), ["a.c"]),
    ],
)
def test_a_quote_is_marked_where_it_stands(text: str, quote: Quote, found: list[str]) -> None:
    assert _places(text, quote) == found


@pytest.mark.parametrize(
    ("sign", "kind"), [("*", "text"), ("`", "text"), ("*` ", "text"), ("- ", "words"), ("*_", "words")]
)
def test_signs_are_looked_for_in_one_way_alone(sign: str, kind: str) -> None:
    # Where a sign of a quote could also stand between two of its letters, this would outlast the world.
    for text in (f"{sign * 60}x", f"{'a' + sign}" * 60 + "x", sign * 60):
        wanted = Quote("output", text, "", kind)  # type: ignore[arg-type]
        assert _places(sign * 4000, wanted) == _places(f"a{sign}" * 4000, wanted) == []


def test_signs_around_words_are_left_out() -> None:
    assert _places("so **it `fails`** now", Quote("output", "**it** `fails`", "")) == ["it `fails"]
    assert _places("a -- _b_", Quote("output", "a - _ b_", "", "words")) == ["a -- _b"]


def test_what_overlaps_is_one_mark_that_says_both() -> None:
    card = marked(_card("one two three"), [Quote("output", "one two", "first"), Quote("output", "two three", "second")])
    (span,) = _body(card).marks
    assert (span.start, span.end, span.says, span.anchor) == (0, 13, "first; second", "event-7-quote")


def test_a_mark_goes_through_the_colours_of_code() -> None:
    page = _page(
        _card("x = 1\nfor n in range(10): print(n)\n", "code"), [Quote("output", "for n in range(10):", "looks")]
    )
    marks = re.findall(r"<mark[^>]*>(.*?)</mark>", page, re.DOTALL)
    assert [re.sub(r"<[^>]*>", "", each) for each in marks] == ["for n in range(10):"]
    assert '<mark id="event-7-quote" title="looks"><span class="k-word">for</span>' in page


def test_a_fold_with_a_mark_stands_open() -> None:
    assert not _body(marked(_card("the words", folded=True), [Quote("output", "words", "")])).folded
    assert _body(marked(_card("the words", folded=True), [Quote("output", "others", "")])).folded


def test_of_a_long_text_all_is_looked_at_and_a_mark_is_one_of_many_at_most() -> None:
    long = "word " * 1_000_000 + "needle"
    body = _body(marked(_card(long), [Quote("output", "needle", "", last=True), Quote("output", "word", "")]))
    assert len(body.marks) == MOST_PLACES
    assert [body.tail[span.start : span.end] for span in body.tail_marks][-1] == "needle"
    assert [span.anchor for span in (*body.marks, *body.tail_marks) if span.anchor] == ["event-7-quote"]
    lost = _card("x" * 30_000 + " needle " + "y" * 30_000)
    quote = Quote("output", "needle", "the answer")
    assert places_of([_card(""), lost], {1: Marks(quotes=(quote,))}) == {1: "event-1-quote"}
    (piece,) = _body(marked(lost, [quote])).pieces
    (span,) = piece.marks
    assert (piece.text[span.start : span.end], span.anchor) == ("needle", "event-7-quote")
    page = _page(lost, [quote])
    assert '<mark id="event-7-quote" title="the answer">needle</mark>' in page
    gaps = [int(each.replace(",", "")) for each in re.findall(r"([\d,]+) characters are left out here", page)]
    assert len(gaps) == 2
    assert sum(gaps) + HEAD_CHARS + TAIL_CHARS + len(piece.text) == 60_008


def test_of_the_middle_of_a_text_so_much_is_shown_as_stands_around_what_was_looked_for() -> None:
    middle = "".join(f"{'-' * 5_000}Needle {place:02}" for place in range(40))
    card = _card("\x1b[31ma\r\n" + "x" * 20_000 + middle + "y" * 20_000)
    body = _body(marked(card, [], "needle"))
    assert len(body.pieces) == MOST_PIECES
    assert [re.findall(r"Needle \d\d", piece.text) for piece in body.pieces] == [
        [f"Needle {place:02}"] for place in range(MOST_PIECES)
    ]
    assert not any(piece.marks for piece in body.pieces)
    (last,) = _body(marked(card, [Quote("output", "needle", "", last=True)])).pieces
    assert "Needle 39" in last.text
    seen = _body(marked(_card("needle" + middle + "y" * 20_000), [Quote("output", "needle", "")]))
    assert seen.marks
    assert not seen.pieces, "what is shown already is looked for no further"
    (together,) = _body(marked(card, [Quote("output", "Needle 07", "")], "needle 07")).pieces
    assert len(together.marks) == 1


def test_nothing_is_told_to_be_left_out_where_all_of_the_middle_is_shown() -> None:
    card = _card("x" * HEAD_CHARS + "\x1b[31ma\r\n" * 20 + " needle " + "y" * TAIL_CHARS)
    page = _page(card, [Quote("output", "needle", "")])
    assert ">needle</mark>" in page
    assert "left out" not in page


@pytest.mark.parametrize("kind", ["text", "words", "number"])
@pytest.mark.parametrize("text", ["a ", "a" + "*" * 20, "a" * 7, "1 ", "1", "*` ", "a\u202e\ud800", "1,", "1.0e5 "])
def test_hostile_texts_are_looked_through_in_linear_time(text: str, kind: str) -> None:
    # Tried from each place on, what begins so again and again and ends otherwise would take minutes.
    long = text * (2_000_000 // len(text))
    wanted = "3" if kind == "number" else (f"{text.strip('* ')} " * 190)[:390] + " b"
    assert not places_of([_card(long)], {0: Marks(quotes=(Quote("output", wanted, "", kind),))})  # type: ignore[arg-type]
    assert not holds(_card(long), wanted.casefold() + "!")


@given(
    text=st.lists(st.sampled_from([*"ab1 *`\t<&\u202e\x00\ud800\ufeff氮", "\x1b[31m", "\r\n"]), max_size=60).map(
        "".join
    ),
    quotes=st.lists(st.text(st.sampled_from([*"ab1 *<&\n", "氮", "\u202e"]), max_size=4), max_size=4),
    form=st.sampled_from(["prose", "code", "json", "output"]),
)
@settings(max_examples=300, deadline=None)
def test_marks_change_nothing_of_a_text(text: str, quotes: list[str], form: str) -> None:
    wanted = [Quote("output", each, "here", kind) for each in quotes for kind in ("text", "words")]  # type: ignore[arg-type]
    body = _body(marked(_card(text, form), wanted))
    plain = re.sub(r"<[^>]*>", "", str(shown(text, body.form)))
    with_marks = str(shown(text, body.form, body.marks))
    assert re.sub(r"<[^>]*>", "", with_marks) == plain or "×" in plain, "a run of unseen characters is told in two"
    assert with_marks.count("<mark") == with_marks.count("</mark>") == len(body.marks)
    assert not re.search(r"<mark[^>]*>[^<]*<mark", with_marks)


def test_a_text_is_found_as_it_is_shown() -> None:
    card = _card("\x1b[1mTwo \x1b[31mhalves\x1b[0m" + "x" * 30_000 + "Straße")
    assert holds(card, "two halves")
    assert holds(card, "strasse")
    assert not holds(card, "[31m")
    assert holds(card, "x" * 30_000 + "s"), "what is left out is shown to who looks for it"


def test_foreign_text_does_nothing_within_a_mark() -> None:
    page = _page(_card(f"{HOSTILE} answer {HOSTILE}"), [Quote("output", "answer", "x"), Quote("output", HOSTILE, "y")])
    assert "<script" not in page
    assert page.count("<mark") == page.count("</mark>") >= 1


def test_a_line_of_code_is_marked_in_the_reply_that_made_the_call() -> None:
    code = "found = 0\nfor n in range(1, 5000):\n    found += n"
    told = explanation(
        Explained(
            evidence(tuple(events := [*ran(code, "molecular nitrogen"), *ended("Answer: B")])),
            attribution(mechanism="lock_in", distraction=None, evidence=(1,)),
        ),
        conversation=tuple(events),
    )
    cards, marks = event_cards(events), marks_of(told)
    places = places_of(cards, marks)
    assert places == {0: "event-0-quote", 1: "event-1-quote"}
    assert (
        "for n in range(1, 5000):"
        in re.sub(r"<(?!/?mark)[^>]*>", "", _page(cards[0], marks[0].quotes)).split("<mark")[1]
    )
    assert target(cards, {0: places[0]}, 1) == "event-0-quote", "what was called stands in the reply"
    assert [target(cards, places, number) for number in (1, 3, 99)] == ["event-1-quote", "event-3", "event-99"]


def test_what_a_judge_quotes_is_marked_where_it_points_to() -> None:
    said = Diagnosis(
        trial=IDENTITY,
        judge="j",
        error_type="reasoning",
        distraction=None,
        reason='It took “Plants take molecular nitrogen” at its word, and "a sentence that nobody wrote".',
        evidence=(1, 99),
    )
    marks = marks_of(explanation(explained(evidence(diagnoses=(said,)))))
    card = marked(event_cards(EVENTS)[1], marks[1].quotes)
    assert [span.says for span in _body(card).marks] == ["quoted by a judge; the answer that was given in the end"]
    assert set(places_of(event_cards(EVENTS), marks)) == {1}
    endless = said.model_copy(update={"reason": "".join(f'"a sentence that nobody wrote {n}"' for n in range(5000))})
    found = list(quotes_of(explanation(explained(evidence(diagnoses=(endless,))))))
    assert sum(quote.says == "quoted by a judge" for _, quote in found) == MOST_QUOTED
