"""What happened in one trial that fits a cause: in a clause, with its event, and as a line quoted from there."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from string import ascii_uppercase

from toolablate.analysis.answer_relation import SAID, relation_of
from toolablate.analysis.attribution.evidence import LONG_RESULTS, Evidence, Explanation, shown_chars
from toolablate.analysis.attribution.signals.adoption import states
from toolablate.analysis.attribution.signals.answers import AnswerForm
from toolablate.analysis.attribution.signals.signal_types import Form, Trouble
from toolablate.analysis.attribution.trace_rules import ran_out, sign_of, unrecovered
from toolablate.analysis.pairing import RIGHT
from toolablate.reports.cause_wording import answer_given, right_answer
from toolablate.reports.why.turn import asked_at, count, right_before, turn_of
from toolablate.traces.records import Distraction, Event, Mechanism, ModelCall, ToolCall
from toolablate.traces.terminal_text import one_line, plain_text

MOST_NAMED = 6
NOTE_CHARS = 4_000


@dataclass(frozen=True, slots=True)
class Apart:
    """A line that stands apart from the sentences around it: a command, or what is quoted."""

    text: str


Said = str | Apart


@dataclass(frozen=True, slots=True)
class Happened:
    """A clause with a subject and its event, and the event to quote, None for none."""

    clause: str
    event: int | None = None


FORMS_OF: Mapping[Mechanism, tuple[Form, ...]] = {
    "lock_in": ("code",),
    "retrieval_distraction": ("search", "page"),
    "other_results": ("other",),
}
OF_FORMS: Mapping[Form, Mechanism] = {form: cause for cause, forms in FORMS_OF.items() for form in forms}
_HOW: Mapping[Distraction, str] = {
    "misleading_adoption": "a misleading result believed",
    "existence_as_norm": "what exists taken for what is right",
    "over_engineering": "a simple answer built up into an elaborate one",
}
_FINITE = "tries some cases of a question that is about all"
_SOME_CASES = ("bounded_loop", "grid", "random_sample")
_LIMITS = {
    "tool_calls": "its number of tool calls",
    "turns": "its number of replies",
    "messages": "its number of messages",
    "tokens": "its tokens",
    "cost_usd": "its cost",
    "seconds": "its time",
    "reply_length": "the length of a reply",
    "context_length": "what its model can read at once",
}


def happened(cause: Mechanism, told: Explanation) -> Happened:
    """By the trace alone, whatever runs say."""
    evidence = told.explained.evidence
    match cause:
        case "lock_in" | "retrieval_distraction" | "other_results":
            return _of_results(cause, told)
        case "interaction":
            return _of_two_kinds(told)
        case "volume":
            return _of_length(evidence)
        case "budget":
            return _of_limit(told)
        case "tool_fault":
            return _of_faults(told)
        case "format":
            return _of_form(told)
        case "own_error" if evidence.signals.repair is not None:
            return _of_program(told)
        case _:
            return _of_calls(cause, told)


def _of_two_kinds(told: Explanation) -> Happened:
    """What each of them did, in the order of the events; the later one is quoted."""
    kinds = {call.form for call in told.explained.evidence.signals.calls if call.gave or call.form == "code"}
    each = [_of_results(cause, told) for cause, forms in FORMS_OF.items() if kinds & set(forms)]
    each.sort(key=lambda one: one.event or 0)
    return Happened(", and ".join(dict.fromkeys(one.clause for one in each)), each[-1].event if each else None)


def _of_results(cause: Mechanism, told: Explanation) -> Happened:
    evidence, forms = told.explained.evidence, FORMS_OF[cause]
    signals, how = evidence.signals, ""
    attribution = told.explained.attribution
    if cause == "retrieval_distraction" and attribution is not None and attribution.distraction:
        how = f", {_HOW[attribution.distraction]}"
    turn = turn_of(evidence)
    turned = [
        call.event for call in signals.calls if call.form in forms and call.gave and turn and turn.holds(call.event)
    ]
    # What a reply without a readable answer took up may be right.
    adopted = signals.adoption if evidence.score.verdict != "unparsed" else None
    general = "code" in forms and bool(signals.reformulation.asks)
    checks = [each for each in signals.reformulation.checks if general and each.kind in _SOME_CASES]
    since, form_of = right_before(evidence), {call.event: call.form for call in signals.calls}
    if adopted is not None and adopted.form in forms and (not turned or adopted.event in turned):
        # Results after which early answers are right had not made it wrong yet.
        later = [event for event in adopted.results if event >= since and form_of.get(event) in forms]
        at = _unless_wrong_before(later[0] if later else adopted.event, adopted.results, evidence)
        gave = f"{_tool(at, told)} gave its wrong answer{_answer(told)} (event {at}){_stated(at, told)}"
        before = adopted.results[0] if adopted.results else at
        first = f", as {_tool(before, told)} had before (event {before})" if before < at else ""
        return Happened(f"{gave}{first}{how if at >= since else ''}", at)
    tried = [check for check in checks if not turned or check.event in turned]
    # What failed gave it nothing to go by.
    came = {call.event for call in signals.calls if call.gave}
    tried = [check for check in tried if check.event in came]
    if tried:
        code = reply_of(next((each.event for each in tried if each.event >= since), tried[0].event), told)
        return Happened(f"its code {_FINITE} (event {code})", code)
    if turned:
        after = [each for each in asked_at(evidence) if evidence.steps[each.step] > turned[-1]]
        wrong = all(count([each]).share < RIGHT for each in after)
        said = "wrong" if wrong else "right less often"
        return Happened(f"asked at once, it is {said} from the result of event {turned[-1]} on{how}", turned[-1])
    found = [call.event for call in signals.calls if call.form in forms and call.gave]
    found = found or [call.event for call in signals.calls if call.form in forms]
    named = [event for event in (attribution.evidence if attribution else ()) if event in found]
    last = (named or found)[-1:] or [call.event for call in signals.calls][-1:]
    if not last:
        return Happened("it called no tool")
    tool = _tool(last[0], told)
    if not any(call.gave for call in signals.calls if call.event == last[0]):
        return Happened(f"{_answered(told)}, and {tool} had given it nothing (event {last[0]})", last[0])
    return Happened(f"{_answered(told)}, after the result of {tool} at event {last[0]}{how}", last[0])


def _stated(at: int, told: Explanation) -> str:
    """Of a result of code that has the answer written in it, and of options no other, whether or not it computes."""
    adopted = told.explained.evidence.signals.adoption
    event = told.conversation[at] if at < len(told.conversation) else None
    if adopted is None or adopted.form != "code" or not isinstance(event, ToolCall):
        return ""
    code, form = event.call.arguments, AnswerForm.of(told.question)
    # A number of two digits stands in many programs.
    if (form.letters and not form.options) or (not form.letters and min(map(len, adopted.answer), default=0) < 3):
        return ""
    others = [each for each in form.letters if each not in adopted.answer and states(code, form, (each,))]
    return ", which its code has written in it" if states(code, form, adopted.answer) and not others else ""


def _unless_wrong_before(at: int, results: Sequence[int], evidence: Evidence) -> int:
    """Or an earlier result that has the answer, where early answers were mostly wrong already before this one."""
    earlier = [event for event in results if event < at]
    asked = [each for each in asked_at(evidence) if earlier and earlier[-1] < evidence.steps[each.step] <= at]
    return earlier[-1] if asked and count(asked[-1:]).share < RIGHT else at


def _of_length(evidence: Evidence) -> Happened:
    calls, turn = evidence.signals.calls, turn_of(evidence)
    long = sorted(call.event for call in calls if 2 * call.chars >= LONG_RESULTS)
    most = "" if len(long) == len(calls) else "most of them "
    where = f", {most}at {events_named(long)}" if long else ""
    chars = f"its results have {shown_chars(evidence.signals):,} characters{where}"
    turned = [event for event in long if turn is not None and turn.holds(event)]
    last = max((*long, *(call.event for call in calls if call.gave)), default=None)
    return Happened(chars, turned[0] if turned else last)


def _of_limit(told: Explanation) -> Happened:
    evidence = told.explained.evidence
    budget, ending = evidence.signals.budget, evidence.signals.ending
    if budget.stopped is None:
        how = "breaks off" if ending.cut_off else "stops in the middle of a sentence" if ending.open else "ends"
        return Happened(f"its last reply {how}{_at(last_reply(told))}", last_reply(told))
    limit = _LIMITS.get(budget.stopped, budget.stopped.replace("_", " "))
    return Happened(f"it was stopped by the limit of {limit}{_at(last_reply(told))}", last_reply(told))


def _of_faults(told: Explanation) -> Happened:
    evidence = told.explained.evidence
    left = unrecovered(evidence.signals.troubles)
    if not left:
        return Happened("no tool failed for good")
    tools = list(dict.fromkeys(one_line(each.tool) for each in left))
    events = sorted(each.event for each in left)
    later = [call for call in evidence.signals.calls if one_line(call.tool) in tools and call.event > events[-1]]
    worked = any(call.gave for call in evidence.signals.calls if one_line(call.tool) in tools)
    packages = all(each.kind == "missing_package" for each in left)
    did = "gave anything" if packages else "worked"
    again = f"{'it never' if len(tools) == 1 else 'none of them'} {did}{' again' if worked else ''}"
    if not later:
        last = "that" if len(events) == 1 else f"event {events[-1]}"
        again = f"{'was' if len(tools) == 1 else 'were'} not called after {last}"
        ended = ran_out(evidence.signals) and all(call.event <= events[-1] for call in evidence.signals.calls)
        again = "a limit left it no further call" if ended else again
        asked = [at for at, event in enumerate(told.conversation) if at > events[-1] and _asks_for(event, tools)]
        again = f"its next call was not carried out (event {asked[0]})" if asked else again
    since = [each for each in evidence.signals.troubles if each.event > events[0] and one_line(each.tool) in tools]
    own = [each.event for each in since if each.kind == "exception"]
    lacking = [each.event for each in left if each.kind == "missing_package"]
    where = "," if len(lacking) == len(left) else f"; at {events_named(lacking)}" if lacking else ""
    beside = f"{where} for a package that the kernel lacks" if lacking else ""
    beside += f"; at {events_named(own)} by an error of its code" if own else ""
    earlier = ""
    if passed := [each for each in _passing_faults(evidence) if one_line(each.tool) in tools]:
        which = " and ".join(dict.fromkeys(one_line(each.tool) for each in passed))
        earlier = f"; at {events_named(sorted(each.event for each in passed))} {which} failed too, and worked again"
    return Happened(f"{' and '.join(tools)} failed ({events_named(events)}{beside}), and {again}{earlier}", events[0])


def _asks_for(event: Event, tools: Sequence[str]) -> bool:
    return isinstance(event, ModelCall) and any(one_line(each.name) in tools for each in event.reply.message.tool_calls)


def gave_nothing(cause: Mechanism, evidence: Evidence) -> bool:
    """Whether it is one of what was found, or given by other tools, and no such call gave anything."""
    given = cause in FORMS_OF and cause != "lock_in"
    return given and not any(call.gave and call.form in FORMS_OF[cause] for call in evidence.signals.calls)


def failed_for_a_time(evidence: Evidence) -> str:
    """Tools that worked again, and when they did not; empty where none failed so."""
    troubles = _passing_faults(evidence)
    which = " and ".join(dict.fromkeys(one_line(each.tool) for each in troubles))
    return f"{which} failed for a time ({events_named(sorted(each.event for each in troubles))})" if which else ""


def _passing_faults(evidence: Evidence) -> list[Trouble]:
    return [each for each in evidence.signals.troubles if each.recovered is not None and each.kind in _OF_TOOLS]


# A package stays away: other code that gave something made up for it.
_OF_TOOLS = ("timeout", "dead_kernel", "search_failed", "injected", "infrastructure")


def _of_form(told: Explanation) -> Happened:
    evidence = told.explained.evidence
    if evidence.score.verdict == "unparsed":
        event = evidence.signals.ending.event
        return Happened(unread(told), last_reply(told) or event)
    relation = relation_of(told.question, evidence.score, "")
    how = SAID[relation] if relation in _TELLING else "another form"
    right = right_answer(told.question)
    answer = _answer(told).removeprefix(", ")
    beside = f"“{answer}”, where “{right}” is right" if right and answer else "what is right in another form"
    return Happened(f"it answered {beside}: {how}{_at(last_reply(told))}", last_reply(told))


def unread(told: Explanation) -> str:
    """A reply that no scorer reads, with the answer that a person may find in it."""
    found = named_in_reply(told)
    names = f", and points to “{found[0]}”, which is {'right' if found[1] else 'wrong'}" if found else ""
    return f"its last reply{_at(last_reply(told))} has no readable answer{names}"


def named_in_reply(told: Explanation) -> tuple[str, bool] | None:
    """The one option or number that a final reply without a readable answer names, and whether it is right; None where
    it names none or several."""
    question, signals, last = told.question, told.explained.evidence.signals, last_reply(told)
    if question.target.kind == "number" and signals.answer:
        return one_line(", ".join(signals.answer), max_chars=60), not signals.names_another
    end = None if last is None else told.conversation[last]
    if question.target.kind != "choice" or not isinstance(end, ModelCall):
        return None
    options, said = dict(zip(ascii_uppercase, question.choices, strict=False)), end.reply.message.content.lower()
    letters = [each for each in signals.answer if each in options] or [
        letter
        for letter, option in options.items()
        if option.strip() and re.search(rf"(?<!\w){re.escape(option.strip().lower())}(?!\w)", said)
    ]
    if len(letters) != 1:
        return None
    return one_line(f"{letters[0]}, {options[letters[0]]}", max_chars=60), tuple(letters) == tuple(
        question.target.letters
    )


_TELLING = ("sign", "scale", "rounding", "unit", "off_by_one", "close", "wording", "part", "more")
"""Relations of a wrong answer to the right one that say what went wrong."""


def _of_program(told: Explanation) -> Happened:
    repair = told.explained.evidence.signals.repair
    assert repair is not None
    event = reply_of(repair.event, told)
    if repair.kind == "stated":
        return Happened(f"its program only states the answer, and computes nothing (event {event})", event)
    return Happened(f"its program starts from wrong numbers of the question (event {event})", event)


def _of_calls(cause: Mechanism, told: Explanation) -> Happened:
    evidence = told.explained.evidence
    calls, last, answered = evidence.signals.calls, last_reply(told), _answered(told)
    if not calls:
        offered = f"tools were offered, and it called none{_at(last)}"
        return Happened(offered if cause == "availability" else f"{answered}, and called no tool", last)
    if cause == "calling":
        gave = sum(call.gave for call in calls) or "none"
        return Happened(f"it made {_many(len(calls))}, {gave} of which gave something")
    gave = "" if any(call.gave for call in calls) else ", none of which gave anything"
    return Happened(f"{answered}, after {_many(len(calls))}{gave}", last)


def stands_in_none(told: Explanation) -> bool:
    """Whether no result has its answer, nor a number of it; a letter or figure stands in many texts."""
    answers = [each.lower() for each in answers_of(told) if len(each) > 1]
    parts = {*answers, *(number for each in answers for number in _NUMBER.findall(each))}
    outputs = [plain_text(event.output).lower() for event in told.conversation if isinstance(event, ToolCall)]
    return bool(answers) and not any(each in output for each in parts for output in outputs)


_NUMBER = re.compile(r"\d[\d.,]*\d|\d")


def _answered(told: Explanation) -> str:
    answer, last = answer_given(told), last_reply(told)
    return f"it answered “{answer}”{_at(last)}" if answer else unread(told)


def _many(calls: int) -> str:
    return f"{calls} call{'' if calls == 1 else 's'}"


# Facts of the trace that tell most, where no run decides.


def same_without_tools(evidence: Evidence, least: float = RIGHT) -> str:
    """Where trials without tools are wrong in the same way; empty where a smaller share than `least` are, or none."""
    own = evidence.score.extracted
    wrong = [each.score for each in evidence.no_tools if each.score.value is not None and each.score.value < RIGHT]
    times, of = sum(_alike(each.extracted, own) for each in wrong) if own else 0, len(evidence.no_tools)
    if times < least * of or not times:
        return ""
    answer = one_line(", ".join(own), max_chars=60)
    answers = f"{times} of {of} answer{'' if of == 1 else 's'}"
    return f"Without tools{_and_prompt(evidence)} it gave the same wrong answer, {answer}, in {answers}"


def never_without_tools(evidence: Evidence) -> str:
    """Where no trial without tools gives its answer; empty where one does, or it gave none."""
    own, scored = evidence.score.extracted, [each.score for each in evidence.no_tools if each.score.value is not None]
    if not own or not scored or any(_alike(each.extracted, own) for each in scored):
        return ""
    answer = one_line(", ".join(own), max_chars=60)
    said = Counter(one_line(", ".join(each.extracted), max_chars=60) or "nothing readable" for each in scored)
    others = "; ".join(f"{each} ({times} of {len(scored)})" for each, times in said.most_common(MOST_NAMED))
    return f"Without tools{_and_prompt(evidence)} it answers {others}, and never {answer}"


def _and_prompt(evidence: Evidence) -> str:
    return " and without this prompt" if evidence.signals.prompted and evidence.inputs.arms.scaffold else ""


def _alike(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whatever sign of a currency or between thousands they are written with."""
    return [_UNWRITTEN.sub("", each.lower()) for each in one] == [_UNWRITTEN.sub("", each.lower()) for each in other]


_UNWRITTEN = re.compile(r"[$€£¥,\s]")

Sign = tuple[Mechanism, tuple[int, ...], str]
"""Of what it is a sign, its events, and what it says."""


def sign_in(evidence: Evidence) -> Sign | None:
    return sign_of(evidence.signals, evidence.score, evidence.inputs.arms.scaffold)


def noted(sign: Sign) -> str:
    """Whole: it is a sentence of ours, and what it quotes is short."""
    return one_line(sign[2], max_chars=NOTE_CHARS)


def _answer(told: Explanation) -> str:
    """`, 42393`, whatever letter stands for it."""
    answer = one_line(", ".join(answers_of(told)), max_chars=60)
    return f", {answer}" if answer else ""


def answers_of(told: Explanation) -> tuple[str, ...]:
    """The final answer, letters as the options that they stand for."""
    choices = told.question.choices
    letters = dict(zip(ascii_uppercase, choices, strict=False))
    return tuple(letters.get(each, each) for each in told.explained.evidence.score.extracted)


# Events.


def events_named(events: Sequence[int]) -> str:
    """`event 3`, `events 3 and 5`, of many the first."""
    if len(events) > MOST_NAMED:
        return f"events {', '.join(map(str, events[:MOST_NAMED]))} and {len(events) - MOST_NAMED} more"
    *some, last = map(str, events)
    return f"events {', '.join(some)} and {last}" if some else f"event {last}"


def _at(event: int | None) -> str:
    return "" if event is None else f" (event {event})"


def _tool(number: int, told: Explanation) -> str:
    event: Event | None = told.conversation[number] if number < len(told.conversation) else None
    if isinstance(event, ToolCall):
        return one_line(event.call.name)
    return next(
        (one_line(call.tool) for call in told.explained.evidence.signals.calls if call.event == number), "a tool"
    )


def reply_of(call: int, told: Explanation) -> int:
    """The event of the reply that makes a call, which holds what it says."""
    made = [at for at, event in enumerate(told.conversation[:call]) if isinstance(event, ModelCall)]
    return made[-1] if made else call


def own_events(cause: Mechanism, told: Explanation) -> tuple[int, ...]:
    """The event that shows it; of code also that of its result."""
    event = happened(cause, told).event
    if event is None:
        return ()
    later = told.conversation[event + 1 :]
    is_reply = any(isinstance(each, ModelCall) for each in told.conversation[event : event + 1])
    results = [at for at, each in enumerate(later, start=event + 1) if isinstance(each, ToolCall)]
    return (event, *(results[:1] if is_reply else ()))


def last_reply(told: Explanation) -> int | None:
    return next(
        (at for at, event in reversed(list(enumerate(told.conversation))) if isinstance(event, ModelCall)), None
    )


def reply_after(event: int, told: Explanation) -> int | None:
    """The first reply after an event."""
    return next((at for at, each in enumerate(told.conversation) if at > event and isinstance(each, ModelCall)), None)
