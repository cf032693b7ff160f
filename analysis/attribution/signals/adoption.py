"""Whether the final answer stands in a tool's result, and had not been said before."""

import re
from bisect import bisect_left
from collections.abc import Sequence
from functools import cached_property

from toolablate.analysis.attribution.signals.answers import (
    AMOUNT,
    NUMBER,
    AnswerForm,
    normal_number,
    normal_text,
    plain,
)
from toolablate.analysis.attribution.signals.leaning import READ, leaning
from toolablate.analysis.attribution.signals.records import Adoption, Answered, Leaning
from toolablate.analysis.attribution.signals.steps import Call, Steps

_RELATIVE = 1e-6
_TELLING_CHARS = 6
_LAST_LINES = 5
_ANNOUNCING = ("answer", "option", "choice", "correct", "boxed", "答案", "选", "正确")
"""A result without any of these words announces no letter, which is found out sooner than read."""


def adoption(steps: Steps, form: AnswerForm, final: Answered, said: Sequence[Leaning], prompt: str) -> Adoption | None:
    """None where no result holds the answer. A number of one digit counts in the last lines of a program's output
    alone, since pages are full of them."""
    if not final:
        return None
    shown = [_Shown(call, form) for call in steps.calls]
    holding = [each for each in shown if each.text and each.holds_answer(form, final)]
    if not holding:
        return None
    first = holding[0].call
    return Adoption(
        answer=final,
        event=first.event,
        form=first.form,
        results=tuple(each.call.event for each in holding),
        last=holding[-1].call.event == steps.calls[-1].event,
        said_before=next((each.event for each in said if each.event < first.event and each.answer == final), None),
        in_question=form.kind != "letters" and _is_asked(prompt, final),
        others=holding[0].others(form, final),
    )


def _is_asked(prompt: str, final: Answered) -> bool:
    text = as_words(prompt)
    numbers = _numbers(text)
    amounts = [(item, AMOUNT.fullmatch(item)) for item in final]
    return all(has_number(numbers, found["number"]) if found else has_text(text, item) for item, found in amounts)


class _Shown:
    """A result in the forms in which answers are looked for; what a call that failed says is no source of any."""

    def __init__(self, call: Call, form: AnswerForm) -> None:
        self.call = call
        worked = call.made.status == "ok"
        self.text = as_words(call.output) if worked else ""
        last = "\n".join(call.output[-READ:].strip().splitlines()[-_LAST_LINES:])
        self._result = _numbers(plain(last)) if worked and call.form == "code" else []
        announces = form.kind == "letters" and any(word in self.text for word in _ANNOUNCING)
        ends = {call.output[-READ:], call.output[:READ]} if announces else ()
        self.announced = {leaning(end, form, reported=True) for end in ends} - {()}

    @cached_property
    def _numbers(self) -> list[float]:
        return _numbers(self.text)

    def holds(self, item: str) -> bool:
        if amount := AMOUNT.fullmatch(item):
            number = amount["number"]
            return has_number(self._result, number) or (len(_digits(number)) > 1 and has_number(self._numbers, number))
        return has_text(self.text, item)

    def holds_option(self, form: AnswerForm, letter: str) -> bool:
        """By its text, where that is long enough to tell anything, or its number."""
        place = form.letters.find(letter)
        if not 0 <= place < len(form.options):
            return False
        option = normal_text(plain(form.options[place]))
        telling = NUMBER.fullmatch(option) or len(option) >= _TELLING_CHARS or not option.isascii()
        return bool(telling) and self.holds(option)

    def holds_answer(self, form: AnswerForm, final: Answered) -> bool:
        if form.kind != "letters":
            return all(map(self.holds, final))
        return final in self.announced or all(self.holds_option(form, letter) for letter in final)

    def others(self, form: AnswerForm, final: Answered) -> int:
        """Options besides the answer that the result holds; none where it announces the answer by its letter."""
        if form.kind != "letters" or final in self.announced:
            return 0
        return sum(self.holds_option(form, letter) for letter in form.letters if letter not in final)


def as_words(text: str) -> str:
    """Plain, in lower case, with one blank between words."""
    return " ".join(plain(text).casefold().split())


def _numbers(text: str) -> list[float]:
    return sorted(float(normal_number(found[0])) for found in NUMBER.finditer(text))


def has_text(text: str, item: str) -> bool:
    """As whole words, not as a part of one; scripts that write no blanks have no such bounds."""
    start = text.find(item)
    while start >= 0:
        before, after = text[start - 1 : start], text[start + len(item) : start + len(item) + 1]
        if not any(end.isalnum() and end.isascii() for end in (before, after)):
            return True
        start = text.find(item, start + len(item))
    return False


def has_number(numbers: Sequence[float], wanted: str) -> bool:
    """Whether one of the numbers, in order, is this one, or is this one once rounded to its decimals."""
    value = float(wanted)
    decimals = len(wanted.rpartition(".")[2]) if "." in wanted and "e" not in wanted else 0
    near = max(_RELATIVE * abs(value), 0.5 * 10.0**-decimals if decimals else 0.0)
    place = bisect_left(numbers, value - near)
    return place < len(numbers) and numbers[place] <= value + near


def _digits(numeral: str) -> str:
    return re.sub(r"e.*$|\D", "", numeral).strip("0")
