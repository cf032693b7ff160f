"""Whether the final answer and reply come from tool results, and what the results say of the answer."""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property, lru_cache
from itertools import pairwise

from toolablate.analysis.attribution.signals.answers import (
    AMOUNT,
    NUMBER,
    READ,
    AnswerForm,
    leaning,
    normal_number,
    normal_text,
    plain,
)
from toolablate.analysis.attribution.signals.signal_types import (
    Adoption,
    Answered,
    Backing,
    CallSignal,
    Echo,
    EchoRun,
    Leaning,
    NormHint,
    Steps,
)

_RELATIVE = 1e-6
_TELLING_CHARS = 6
_OF_PAGES = 2
"""Digits that stand in many pages."""
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

    def __init__(self, call: CallSignal, form: AnswerForm) -> None:
        self.call = call
        worked = call.made.status == "ok"
        self.text = as_words(call.output) if worked else ""
        last = "\n".join(call.output[-READ:].strip().splitlines()[-_LAST_LINES:])
        self._result = _numbers(plain(last)) if worked and call.form == "code" else []
        alone = NUMBER.fullmatch(plain(last.rpartition("\n")[2]).strip()) if self._result else None
        self._last = float(normal_number(alone[0])) if alone else None
        announces = form.kind == "letters" and any(word in self.text for word in _ANNOUNCING)
        ends = {call.output[-READ:], call.output[:READ]} if announces else ()
        self.announced = {leaning(end, form, reported=True) for end in ends} - {()}

    @cached_property
    def _numbers(self) -> list[float]:
        return _numbers(self.text)

    def holds(self, item: str) -> bool:
        if amount := AMOUNT.fullmatch(item):
            number = amount["number"]
            return self._gives(number) or (len(_digits(number)) > 1 and has_number(self._numbers, number))
        return has_text(self.text, item)

    def _gives(self, number: str) -> bool:
        """Whether it is a program's result, or the last one without its minus, which sentences leave out."""
        lost = self._last is not None and self._last < 0 and has_number([-self._last], number)
        return lost or has_number(self._result, number)

    def holds_option(self, form: AnswerForm, letter: str) -> bool:
        """By its text, where that is long enough to tell anything, or its number, of which a page has to give the unit
        or three digits."""
        place = form.letters.find(letter)
        if not 0 <= place < len(form.options):
            return False
        option = normal_text(plain(form.options[place]))
        number = normal_number(form.numbers[place]) if form.numbers else ""
        if number and (self.call.form == "code" or len(_digits(number)) > _OF_PAGES) and self.holds(number):
            return True
        telling = NUMBER.fullmatch(option) or len(option) >= _TELLING_CHARS or not option.isascii()
        return bool(telling) and self.holds(option)

    def holds_answer(self, form: AnswerForm, final: Answered) -> bool:
        if form.kind != "letters":
            return all(map(self.holds, final))
        if final in self.announced:
            return True
        # A list of all options, as of a model's own input that its program prints, singles out none.
        held = {letter for letter in form.letters if self.holds_option(form, letter)}
        return held.issuperset(final) and (held == {*final} or len(held) < len(form.letters))

    def others(self, form: AnswerForm, final: Answered) -> int:
        """Options besides the answer that the result holds; none where it announces the answer by its letter."""
        if form.kind != "letters" or final in self.announced:
            return 0
        return sum(self.holds_option(form, letter) for letter in form.letters if letter not in final)


# Whether a program computed an answer, or has it written in it.


def gives(call: CallSignal, form: AnswerForm, answer: Answered) -> bool:
    """Whether a result has the answer, and of options no other. An option that is announced by its letter does not
    count: that is a model's word, which its program prints."""
    shown = _Shown(call, form)
    if form.kind != "letters":
        return bool(shown.text) and all(map(shown.holds, answer))
    return bool(shown.text) and all(shown.holds_option(form, each) == (each in answer) for each in form.letters)


def states(code: str, form: AnswerForm, answer: Answered) -> bool:
    """Whether a part of the answer stands in the code: a text, a number of two digits or more, or one that is
    printed."""
    text = as_words(code)
    numbers = _numbers(text)
    for item in answer:
        if form.kind == "letters":
            place = form.letters.index(item)
            item = normal_number(form.numbers[place]) if form.numbers else normal_text(plain(form.options[place]))
        amount = AMOUNT.fullmatch(item)
        if amount is None:
            stated = has_text(text, item)
        elif len(_digits(number := amount["number"])) > 1:
            stated = has_number(numbers, number)
        else:
            stated = re.search(rf"print\(\s*['\"]?{re.escape(number)}(?:\.0*)?['\"]?\s*[,)]", text) is not None
        if stated:
            return True
    return False


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


# Wording that goes from what is possible or described to what should be: a hint that what exists was taken for a norm.


POSSIBLE = re.compile(
    r"\b(?:can\sbe\s(?:done|used|achieved|implemented|applied|performed)|(?:is|are)\s(?:supported|available|documented|possible)"
    r"|(?:documentation|docs|manual|page|article|source|paper|tutorial|example)s?\s(?:describes?|shows?|mentions?|lists?|says"
    r"|explains?|recommends?|documents?)|supports?|provides?|offers?|sells?|allows?|there\s(?:is|are)\sa)\b"
    r"|(?:文档|资料|网页|文章|手册|教程)[^。\n]{0,12}(?:描述|说明|提到|介绍|列出|指出)|可以(?:用|通过|使用|采用)|支持|提供|可供",
    re.IGNORECASE,
)
_NORM = re.compile(
    r"\b(?:should|must|ought\sto|recommended|best\spractice|standard\s(?:approach|practice|method)|preferred|the\s(?:right|proper"
    r"|correct)\s(?:way|approach|method)|required)\b|应该|应当|应采用|应使用|推荐|建议|必须|最佳(?:做法|实践)|标准做法",
    re.IGNORECASE,
)
NEAR = 200
"""Characters between what is possible and what should be."""

_MOST = 3
_READ = 20_000


def norm_hints(steps: Steps) -> tuple[NormHint, ...]:
    """In the final reply of a trial that searched or read."""
    sources = any(call.form in ("search", "page", "other") for call in steps.calls)
    if steps.ended is None or not sources:
        return ()
    text, found, end = steps.final[-_READ:], list[NormHint](), 0
    for possible in POSSIBLE.finditer(text):
        norm = _NORM.search(text, possible.end(), possible.end() + NEAR) if possible.start() >= end else None
        if norm:
            end = norm.end()
            found.append(NormHint(steps.ended, " ".join(text[possible.start() : end].split())))
    return tuple(found[:_MOST])


# What results say of the answer that a trial gave: that it is better than others, or only that it is there.


_CLAIMS = re.compile(
    r"\b(?:than|best|better|first\s(?:by|in|among|of|place)|most|least|fewest|fewer|small(?:er|est)|larg(?:er|est)|low(?:er|est)"
    r"|high(?:er|est)|fast(?:er|est)|cheap(?:er|est)|superior|optimal|outperform\w*|beats?|wins?|won|correct|proven?|preferred"
    r"|recommended)\b|最|第一|优于|胜|更[好大小高低多少快优]|[高低多少]于|正确|推荐",
    re.IGNORECASE,
)
"""Comparisons and verdicts. What should be done, and in which order, manuals say of whatever they describe."""

_SENTENCE = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？；])|\n+")
_TELLING = 6
"""Characters of an answer that are not met by chance; of a script that writes no blanks fewer are enough."""

_SHOWN = 300
"""Characters of a sentence that are kept."""


def backing(steps: Steps, form: AnswerForm, final: Answered) -> tuple[Backing, ...]:
    """Of what was searched or read, in order, by the sentences that name the answer. Of a result that says both it is
    the claim, which is the better reason. A result that announces the answer by its letter says that it is right."""
    named = tuple(_names(form, final))
    sources = [call for call in steps.calls if call.form != "code" and call.made.status == "ok"]
    found = (_backing(call, form, final, named) for call in sources if final)
    return tuple(each for each in found if each is not None)


def _backing(call: CallSignal, form: AnswerForm, final: Answered, named: tuple[str, ...]) -> Backing | None:
    shown = call.output[:READ]
    if form.kind == "letters" and final == leaning(shown, form, reported=True):
        return Backing(call.event, "claimed", "")
    offered: str | None = None
    for sentence in filter(None, map(as_words, _SENTENCE.split(shown))):
        rest = _besides(sentence, named)
        if rest is not None and _CLAIMS.search(rest):
            return Backing(call.event, "claimed", sentence[:_SHOWN])
        if rest is not None and offered is None and POSSIBLE.search(rest):
            offered = sentence[:_SHOWN]
    return None if offered is None else Backing(call.event, "offered", offered)


def _besides(sentence: str, named: tuple[str, ...]) -> str | None:
    """A sentence that names the answer without its name: names may be worded as claims are."""
    held = [name for name in named if has_text(sentence, name)]
    for name in held:
        sentence = sentence.replace(name, " ")
    return sentence if held else None


def _names(form: AnswerForm, final: Answered) -> Iterator[str]:
    """The texts of the options that it is, or itself, where these are long enough to tell anything."""
    for item in final:
        if form.kind == "letters":
            place = form.letters.find(item)
            item = normal_text(plain(form.options[place])) if 0 <= place < len(form.options) else ""
        if len(item) >= _TELLING or (item and not item.isascii()):
            yield item


# How much of the final reply comes word for word from what tools returned, beside what comes from the question.


GRAM_WORDS = 5
GRAM_CHARACTERS = 8
"""A run counts from five words on, or eight characters of a script that writes no blanks; shorter ones are common
property."""

MOST_WORDS = 5_000
"""Of the end of a final reply, which are looked at."""

_RUNS = 5
_EXCERPT = 12
_UNSPACED = "\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W_{_UNSPACED}]+")
_WHOLE = GRAM_WORDS * GRAM_CHARACTERS

Gram = tuple[str, ...]
Spans = Mapping[Gram, Sequence[tuple[int, int]]]


def echo(steps: Steps, prompt: str) -> Echo:
    """Shares of the words of the final reply that lie in a run which a result, or the question, has too."""
    words = _words(steps.final)[-MOST_WORDS:]
    spans: dict[Gram, list[tuple[int, int]]] = {}
    for gram, start, stop in _grams(words, range(len(words))):
        spans.setdefault(gram, []).append((start, stop))
    begun = {gram[:2] for gram in spans}
    asked = _covered(spans, begun, _asked_words(prompt)) if spans else set()
    shown = {call.event: _covered(spans, begun, _words(call.output)) for call in steps.calls if spans}
    tools = set[int]().union(*shown.values())
    runs = [run for event, covered in shown.items() for run in _runs(event, covered, words)]
    size = max(len(words), 1)
    return Echo(
        words=len(words),
        from_tools=len(tools) / size,
        from_question=len(asked) / size,
        from_tools_alone=len(tools - asked) / size,
        by_event={event: len(covered) / size for event, covered in shown.items() if covered},
        runs=_longest(runs) + _longest(list(_runs(None, asked, words))),
    )


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


_asked_words = lru_cache(maxsize=8)(_words)
"""Those of a question, whose trials are read one after the other."""


def _grams(words: Sequence[str], starts: Iterable[int]) -> Iterator[tuple[Gram, int, int]]:
    """From each of these places the fewest words that make a whole one: five words, eight characters, or as much of
    both."""
    for start in starts:
        stop, weight = start, 0
        while weight < _WHOLE and stop < len(words):
            word = words[stop]
            weight += GRAM_WORDS if len(word) == 1 and word >= "\u3005" else GRAM_CHARACTERS
            stop += 1
        if weight >= _WHOLE:
            yield tuple(words[start:stop]), start, stop


def _covered(spans: Spans, begun: AbstractSet[Gram], words: Sequence[str]) -> set[int]:
    """The places of the final reply that lie in runs which a text of these words has too; `begun` are the first two
    words of each."""
    starts = (start for start, pair in enumerate(pairwise(words)) if pair in begun)
    # Each gram once: a reply and a result that say one word a million times must not be held against each other.
    both = {gram for gram, _, _ in _grams(words, starts) if gram in spans}
    return {place for gram in both for start, stop in spans[gram] for place in range(start, stop)}


def _runs(event: int | None, covered: set[int], words: Sequence[str]) -> Iterator[EchoRun]:
    """What lies together."""
    for start in sorted(place for place in covered if place - 1 not in covered):
        stop = start
        while stop in covered:
            stop += 1
        yield EchoRun(event, start, stop - start, " ".join(words[start : min(stop, start + _EXCERPT)]))


def _longest(runs: list[EchoRun]) -> tuple[EchoRun, ...]:
    return tuple(sorted(runs, key=lambda run: (-run.words, run.start))[:_RUNS])
