from typing import Literal

import pytest
from tests.browser.hostile import CALLS, LONG_LINE, NESTED, hostile_events
from tests.traces.samples import conversation

from toolablate.reports.html.cards import HEAD_CHARS, TAIL_CHARS, Card, Links, Remark, Text
from toolablate.reports.html.environment import environment
from toolablate.reports.html.events import MOST_CALLS, event_cards, part_text
from toolablate.reports.outline import timeline, took
from toolablate.traces.records import Answer, Message, ModelCall, ModelReply, ModelRequest, ToolCall, ToolRequest, Usage

LINKS = Links(event=lambda number: f"#t-event-{number}", whole=lambda number, part: "")


def _texts(card: Card) -> list[Text]:
    return [body for panel in card.panels for body in panel.bodies if isinstance(body, Text)]


def test_what_each_request_repeats_is_shown_once() -> None:
    events = conversation(3, salt="s")
    cards = event_cards(events)
    assert [card.number for card in cards] == list(range(len(events)))
    assert [panel.role for panel in cards[0].panels] == ["system", "user", "system", "assistant"]
    assert [panel.role for panel in cards[2].panels] == ["assistant"]
    heads = [text.head for card in cards for text in _texts(card)]
    assert len(heads) == len(set(heads))
    assert [card.title for card in cards[:3]] == ["calls python", "python", "calls python"]


def test_a_result_that_the_model_was_shown_otherwise_is_shown_too() -> None:
    first, result, second, *_ = conversation(1)
    assert isinstance(second, ModelCall)
    other = second.request.messages[-1].model_copy(update={"content": "something else"})
    request = second.request.model_copy(update={"messages": (*second.request.messages[:-1], other)})
    cards = event_cards([first, result, second.model_copy(update={"request": request})])
    assert [panel.role for panel in cards[2].panels] == ["tool", "assistant"]


def _says(role: Literal["user", "assistant"], content: str) -> Message:
    return Message(role=role, content=content)


def _replies(messages: tuple[Message, ...], reply: Message, *others: Message) -> ModelCall:
    said = ModelReply(message=reply, finish_reason="stop", alternatives=others)
    return ModelCall(at=0, request=ModelRequest(messages=messages), reply=said)


def test_what_is_said_twice_is_shown_twice() -> None:
    go_on, reply = _says("user", "Go on."), _says("assistant", "Well.")
    first, second, third = (go_on,), (go_on, reply, go_on), (go_on, reply, go_on, reply, _says("user", "Go on."))
    cards = event_cards([_replies(each, reply) for each in (first, second, third)])
    assert [[panel.role for panel in card.panels] for card in cards] == [["user", "assistant"]] * 3


def test_a_request_says_how_many_messages_it_leaves_out() -> None:
    told = tuple(_says("user", f"part {number}") for number in range(5))
    cards = event_cards([_replies(told, _says("assistant", "a")), _replies(told[3:], _says("assistant", "b"))])
    labels = [body.label for panel in cards[1].panels for body in panel.bodies if isinstance(body, Remark)]
    assert labels == ["Without 3 messages of the request before"]
    assert [panel.title for panel in cards[1].panels] == ["request", "assistant"]


def test_other_choices_of_a_reply_are_there() -> None:
    event = _replies((), _says("assistant", "this"), _says("assistant", "or that"))
    (card,) = event_cards([event])
    assert [(panel.title, panel.folded) for panel in card.panels] == [("assistant", False), ("another choice", True)]
    assert part_text(event, "alternative-0") == "or that"


def test_a_call_that_its_reply_does_not_show_is_shown_with_what_it_gave() -> None:
    calls = tuple(
        ToolRequest(id=str(number), name="python", arguments=f'{{"code": "print({number})"}}')
        for number in range(MOST_CALLS + 1)
    )
    cards = event_cards([_asking(*calls), *(ToolCall(at=1, call=call, output="1") for call in calls)])
    shown = [text.head for card in cards for text in _texts(card) if text.form == "code"]
    assert shown == [f"print({number})" for number in range(MOST_CALLS + 1)]


def test_long_texts_are_cut_and_their_parts_give_the_whole() -> None:
    events = hostile_events()
    cards = event_cards(events)
    (text,) = _texts(cards[2])
    assert (len(text.head), len(text.tail), text.chars) == (HEAD_CHARS, TAIL_CHARS, len(LONG_LINE))
    assert text.left_out == len(LONG_LINE) - HEAD_CHARS - TAIL_CHARS
    assert part_text(events[2], text.part) == LONG_LINE
    for card, event in zip(cards, events, strict=True):
        for each in _texts(card):
            whole = part_text(event, each.part)
            assert whole is not None, each.part
            if each.left_out and each.form != "json":
                assert whole.startswith(each.head[:500])
    assert part_text(events[2], "nonsense") is None


def test_a_crowd_of_calls_and_deep_nesting_take_little_room() -> None:
    cards = event_cards(hostile_events())
    crowd = [text for text in _texts(cards[5]) if text.title == "calls python"]
    assert len(crowd) == MOST_CALLS
    remarks = [body.label for body in cards[5].panels[-1].bodies if isinstance(body, Remark)]
    assert remarks == [f"{CALLS - MOST_CALLS:,} calls more"]
    nested = next(text for text in _texts(cards[0]) if text.head.startswith('{"a"'))
    assert (nested.form, nested.head) == ("output", NESTED[:HEAD_CHARS])


def test_code_is_code_and_other_arguments_stand_beside_it() -> None:
    call = ToolRequest(id="1", name="python", arguments='{"code": "print(1)", "timeout": 3}')
    cards = event_cards([_asking(call)])
    assert [(text.form, text.head) for text in _texts(cards[0])] == [("code", "print(1)"), ("json", '{"timeout": 3}')]
    broken = ToolRequest(id="1", name="python", arguments='{"code": ')
    assert [(text.form, text.head) for text in _texts(event_cards([_asking(broken)])[0])] == [("output", '{"code": ')]


def test_an_answer_is_not_said_twice() -> None:
    reply = _asking().model_copy(
        update={
            "reply": ModelReply(message=Message(role="assistant", content="Long.\nAnswer: A"), finish_reason="stop")
        }
    )
    said, unsaid = (
        event_cards([reply, Answer(at=1, text="Long.\nAnswer: A")])[1],
        event_cards([Answer(at=1, text="Other\nwords")])[0],
    )
    assert [text.head for text in _texts(said)] == ["Answer: A"]
    assert [text.head for text in _texts(unsaid)] == ["Other\nwords"]


def test_a_report_shows_the_same_card_without_a_server() -> None:
    module = environment().get_template("events.html").module
    html = "".join(str(module.event_card(card, LINKS, None)) for card in event_cards(hostile_events()))  # type: ignore[attr-defined]
    assert 'href="#t-event-3"' in html
    assert "5,000,006 characters in all" in html
    assert "<script" not in html
    assert "/trial/" not in html


def test_changes_show_what_the_tool_itself_gave() -> None:
    call = hostile_events()[1]
    assert isinstance(call, ToolCall)
    (card,) = event_cards([call], start=7)
    assert card.number == 7
    assert card.sign == "missed"
    assert [panel.role for panel in card.panels] == ["tool", "change", "change"]


def _asking(*calls: ToolRequest) -> ModelCall:
    message = Message(role="assistant", tool_calls=calls)
    return ModelCall(at=0, request=ModelRequest(messages=()), reply=ModelReply(message=message, finish_reason="stop"))


def test_nothing_is_claimed_of_what_a_log_of_others_leaves_out() -> None:
    call = _replies((_says("user", "?"),), _says("assistant", "!"))
    call = call.model_copy(update={"reply": call.reply.model_copy(update={"finish_reason": "other"})})
    timed = Answer(at=2.5, text="!")
    (ours, _), (theirs, answer) = (event_cards([call, timed], imported=imported) for imported in (False, True))
    assert (ours.at, ours.sign, ours.notes) == (0.0, "failed", ("ended by other",))
    assert (theirs.at, theirs.sign, theirs.notes) == (None, "", ())
    assert answer.at == 2.5
    macros = environment().get_template("events.html").module
    line = timeline(took([call, timed]))
    assert line.totals == (("time", "2.5 s"),)
    assert "at 0 s" in macros.event_card(ours, LINKS, None, line.of(0))  # type: ignore[attr-defined]
    shown = macros.event_card(theirs, LINKS, None, line.of(0))  # type: ignore[attr-defined]
    assert "at 0 s" not in shown
    assert "event-line" not in shown


def test_an_outline_says_what_each_event_was_about() -> None:
    search, page, code, odd = (
        ToolRequest(id=name, name=name, arguments=arguments)
        for name, arguments in (
            ("web_search", '{"query": "imaginary  modes", "n": 3}'),
            ("browser_open", '{"url": "https://forum.example/modes"}'),
            ("python", '{"code": "\\n# levels\\nprint(1)"}'),
            ("odd", "[no JSON"),
        )
    )
    talking = _asking(search).reply.message.model_copy(update={"content": "Let me look.\nNow."})
    events = [
        _asking(search),
        _replies((), talking),
        _asking(search, page),
        *(ToolCall(at=1, call=call, output="") for call in (page, code, odd)),
        _replies((), _says("assistant", "Long.\nAnswer: A\n")),
    ]
    assert [card.gist for card in event_cards(events)] == [
        *("imaginary modes", "Let me look.", ""),
        *("forum.example/modes", "# levels", "[no JSON", "Answer: A"),
    ]


def test_lanes_sum_to_what_the_trial_took() -> None:
    usage = Usage(input_tokens=30, output_tokens=10)
    first = _asking().model_copy(update={"seconds": 1.0, "cost_usd": 0.01})
    first = first.model_copy(update={"reply": first.reply.model_copy(update={"usage": usage})})
    call = ToolCall(at=2.0, seconds=2.0, call=ToolRequest(id="1", name="python", arguments="{}"), output="")
    line = timeline(took([first, call, first.model_copy(update={"at": 4.0, "cost_usd": 0.03})]))
    assert line.totals == (("time", "5.0 s"), ("tokens", "80"), ("cost", "$0.040"))
    assert [(each.lane, each.start, each.width) for each in line.of(2)] == [
        *(("time", 80, 20), ("tokens", 50, 50)),
        ("cost", pytest.approx(25), pytest.approx(75)),
    ]
    assert line.of(1)[0].says == "2.0 s, 40 % of the time; 80 % when it ended"
    assert "40 tokens, 50 % of the tokens; 100 % when it ended" in line.of(2)[1].says
