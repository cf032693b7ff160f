"""Where a trial's wrong answer stands in its trace: lines that a page quotes."""

import re
from collections.abc import Iterator, Mapping, Sequence
from string import ascii_uppercase

from toolablate.analysis.attribution.evidence import Explanation
from toolablate.analysis.attribution.signals.answers import numbers_of
from toolablate.analysis.attribution.signals.signal_types import Form
from toolablate.reports.why.causes import first_of, with_chance
from toolablate.reports.why.happened import (
    FORMS_OF,
    OF_FORMS,
    Apart,
    Said,
    answers_of,
    happened,
    last_reply,
    reply_of,
    stands_in_none,
)
from toolablate.reports.why.quoted import BARE_ANSWER, telling_line
from toolablate.traces.records import Mechanism, ModelCall, ToolCall
from toolablate.traces.terminal_text import one_line, plain_text

_SENTENCE = re.compile(r"(?<=[.!?。！？])\s+|\n+")
LEAST_CHARS, LEAST_DIGITS = 2, 3
"""A shorter answer stands in many texts; so does a number without its unit."""


def answer_source(cause: Mechanism, told: Explanation, *, quoted: int | None) -> Iterator[Said]:
    """The line of the first result that has the final answer, unless it is the one that is `quoted` already, or of
    another cause's tools. Where no result has it, this is said, if it does not speak against the cause (`unsourced`).
    Nothing of an answer that no scorer reads."""
    wanted = _looked_for(told)
    if not wanted:
        return
    at = _first_result(told, wanted, happened(cause, told).event)
    if at is not None and at != quoted and (cause == "interaction" or shows(at, told) == cause):
        yield f"{stands_in(at, told)}."
        yield _of_result(at, told, wanted)
    if cause not in FORMS_OF:
        yield from in_no_result(told)


def unsourced(cause: Mechanism, told: Explanation) -> Iterator[Said]:
    """Of a cause by results that no such result has the final answer; with one that has a single other wrong option,
    which a later reply names."""
    wanted, adopted = _looked_for(told), told.explained.evidence.signals.adoption
    in_question = adopted is not None and adopted.in_question
    if cause not in FORMS_OF or not wanted or in_question or [*_results_with(told, wanted, FORMS_OF[cause])]:
        return
    answer = one_line(", ".join(wanted), max_chars=60)
    yield f"No result of {_WHOSE[cause]} has its answer, “{answer}”, in these words: how these led to it is not shown."
    yield from _another_taken_up(cause, told, wanted)


_WHOSE: Mapping[Mechanism, str] = {
    "lock_in": "its code",
    "retrieval_distraction": "its searches and pages",
    "other_results": "the other tools",
}


def in_no_result(told: Explanation) -> Iterator[str]:
    """That no result names its answer, or gives it alone; nothing where one does, or nothing was called."""
    wanted = _looked_for(told)
    if not wanted or not told.explained.evidence.signals.calls or _first_result(told, wanted, None) is not None:
        return
    answer = one_line(", ".join(wanted), max_chars=60)
    if stands_in_none(told):
        yield f"No result names its answer, {answer}."
    elif told.question.target.kind == "choice":
        yield f"No result gives its answer, {answer}, alone."


def result_with_answer(told: Explanation) -> int | None:
    """The event of the first result that has the final answer; None where none has, or the question's prompt does."""
    adopted = told.explained.evidence.signals.adoption
    wanted = _looked_for(told)
    return None if adopted is not None and adopted.in_question else next(_results_with(told, wanted), None)


def shows(at: int, told: Explanation) -> Mechanism | None:
    """Of which cause a result with the wrong answer is a sign."""
    form = next((call.form for call in told.explained.evidence.signals.calls if call.event == at), None)
    return None if form is None else OF_FORMS[form]


def stands_in(at: int, told: Explanation) -> str:
    return f"Its answer, {one_line(', '.join(answers_of(told)), max_chars=60)}, stands in the result of event {at}"


def _looked_for(told: Explanation) -> list[str]:
    """The final answer, as far as it is long enough to be looked for."""
    return [each for each in answers_of(told) if len(each.strip()) >= LEAST_CHARS]


def _first_result(told: Explanation, wanted: Sequence[str], named: int | None) -> int | None:
    """The one that is named, or that of the call that is, where it has the answer; else the first that has. None where
    the question's prompt has it."""
    adopted = told.explained.evidence.signals.adoption
    if adopted is not None and adopted.in_question:
        return None
    found = sorted({*(() if adopted is None else adopted.results), *_results_with(told, wanted)})
    # Where it is code that is named, its own result.
    own = (each for each in found if named in (each, reply_of(each, told)))
    return next(own, found[0] if found else None)


def _results_with(told: Explanation, wanted: Sequence[str], forms: Sequence[Form] = ()) -> Iterator[int]:
    """What failed is a source of nothing: a traceback shows the model's own code. Nor is a list of all options."""
    form_of = {call.event: call.form for call in told.explained.evidence.signals.calls}
    options = _options(told).values()
    for number, event in enumerate(told.conversation):
        if isinstance(event, ToolCall) and event.status == "ok" and (not forms or form_of.get(number) in forms):
            output = plain_text(event.output)
            listed = bool(options) and all(_holds(output, each, told) for each in options)
            if not listed and any(_holds(output, each, told) for each in wanted):
                yield number


def _holds(text: str, wanted: str, told: Explanation) -> bool:
    """As a word or number of its own; scripts that write no blanks have no such bounds."""
    return any(
        re.search(rf"(?<![a-z0-9_.]){re.escape(each)}(?![a-z0-9_]|\.\d)", text, re.IGNORECASE)
        for each in _ways(wanted, told)
    )


def _ways(wanted: str, told: Explanation) -> Iterator[str]:
    """As it is, and of an option with a unit its number, where that has enough digits to be met by no chance."""
    yield wanted.strip()
    choices = told.question.choices
    numbers = numbers_of(choices)
    if numbers and wanted in choices:
        number = numbers[choices.index(wanted)]
        if sum(each.isdigit() for each in number) >= LEAST_DIGITS and number != wanted.strip():
            yield number


def _of_result(number: int, told: Explanation, wanted: Sequence[str]) -> Apart:
    event, ways = told.conversation[number], [way for each in wanted for way in _ways(each, told)]
    assert isinstance(event, ToolCall)
    return Apart(f"event {number}, {one_line(event.call.name)} gives: │ {telling_line(event.output, ways)}")


def _another_taken_up(cause: Mechanism, told: Explanation, wanted: Sequence[str]) -> Iterator[Said]:
    forms, question = FORMS_OF[cause], told.question
    if question.target.kind != "choice":
        return
    named = _options(told)
    for letter, option in named.items():
        if letter in question.target.letters or option in wanted:
            continue
        others = [each for each in named.values() if each != option]
        for number in _results_with(told, [option], forms):
            said = _named_in(told, [option], number)
            if said is not None and number not in {*_results_with(told, others, forms)}:
                wrong = one_line(option, max_chars=60)
                yield f"Another wrong answer, {wrong}, stands in the result of event {number}; event {said} names it."
                yield _of_result(number, told, [option])
                return


def _options(told: Explanation) -> Mapping[str, str]:
    """By their letters, those that are long enough to be looked for."""
    options = zip(ascii_uppercase, told.question.choices, strict=False)
    return {letter: option for letter, option in options if len(option.strip()) >= LEAST_CHARS}


def course(told: Explanation) -> Iterator[str]:
    """Which results gave one option alone, in their order, and which replies then named it; nothing where these are
    only results with the final answer, and the cause is what results gave: of that the page speaks anyway."""
    options, target = _options(told), told.question.target
    final, last = told.explained.evidence.score.extracted, last_reply(told)
    if target.kind != "choice" or last is None or len(final) != 1 or final[0] not in options:
        return
    gave = list(_given(told, options))
    attribution = told.explained.attribution
    by_results = attribution is not None and first_of(attribution) in (*OF_FORMS.values(), "interaction")
    if not gave or len(gave) > MOST_GIVEN or (by_results and all(letter == final[0] for _, letter in gave)):
        return
    said = []
    for (event, letter), after in zip(gave, [*(event for event, _ in gave[1:]), last], strict=True):
        which = "the right answer, " if letter in target.letters else ""
        taken = _named_in(told, [options[letter]], event)
        took = f", its next replies name it (event {taken})" if taken is not None and taken < after else ""
        option, call = one_line(options[letter], max_chars=60), told.conversation[event]
        tool = one_line(call.call.name) if isinstance(call, ToolCall) else ""
        said.append(f"{tool} gave one option alone, {which}{letter}, {option} (event {event}){took}")
    same = gave[-1][1] == final[0]
    end = ", and it answered that" if same else f"; it answered {final[0]} all the same"
    yield f"{'; '.join(said)}{end}{_is_sign(gave[-1][0], told) if same else ''}."


def _is_sign(event: int, told: Explanation) -> str:
    """Of which other cause a result with the wrong answer is a sign."""
    attribution, cause = told.explained.attribution, shows(event, told)
    if attribution is None or cause is None or cause == first_of(attribution):
        return ""
    return f", a sign of {with_chance(cause, told)}"


MOST_GIVEN = 4


def right_there(told: Explanation) -> str:
    """That a result of a wrong trial has the right answer, as a clause; empty where none has, or the question's own
    words do."""
    question, target = told.question, told.question.target
    right = [_options(told).get(each, "") for each in target.letters] if target.kind == "choice" else []
    if target.kind == "number" and len(f"{target.value:g}") >= LEAST_CHARS:
        right = [f"{target.value:g}"]
    wanted = [each for each in right if each and not _holds(question.prompt, each, told)]
    at = next(_results_with(told, wanted), None) if wanted else None
    if at is None:
        return ""
    return f"The result of event {at} has the right answer, {one_line(wanted[0], max_chars=60)}; it did not take it"


def _given(told: Explanation, options: Mapping[str, str]) -> Iterator[tuple[int, str]]:
    """Results that have one option alone, with its letter; of those in a row with the same one the first."""
    before = ""
    for number, event in enumerate(told.conversation):
        if isinstance(event, ToolCall) and event.status == "ok":
            output = plain_text(event.output)
            held = [letter for letter, option in options.items() if _holds(output, option, told)]
            if len(held) == 1 and held[0] != before:
                before = held[0]
                yield number, before


def _named_in(told: Explanation, wanted: Sequence[str], since: int) -> int | None:
    """The first reply from an event on that names one of these."""
    return next(
        (
            number
            for number in range(since, len(told.conversation))
            if any(_holds(sentence, each, told) for sentence in _sentences(told, number) for each in wanted)
        ),
        None,
    )


def _sentences(told: Explanation, number: int) -> Iterator[str]:
    """Of a reply, without a line that gives the answer alone; of other events none."""
    event = told.conversation[number]
    if isinstance(event, ModelCall):
        for sentence in _SENTENCE.split(plain_text(event.reply.message.content)):
            if sentence.strip() and not BARE_ANSWER.fullmatch(sentence.strip()):
                yield sentence.strip()
