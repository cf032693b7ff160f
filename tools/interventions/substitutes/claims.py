"""Sham, oracle and adversarial: tools that say nothing, the right answer, or a wrong one that looks like it."""

import itertools
import math
import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from itertools import combinations, islice

from toolablate.tools.corpus import DOCUMENT_TOOLS
from toolablate.tools.corpus.inverted_index import spaced
from toolablate.tools.corpus.question_documents import parts_of
from toolablate.tools.guards.leaks import lettered
from toolablate.tools.interventions.intervention import Call, InterventionSetting, Options, Proceed, changed
from toolablate.tools.interventions.substitutes.numerals import searched, stated
from toolablate.tools.interventions.substitutes.withheld import Withheld
from toolablate.tools.placebo_sources import same_words
from toolablate.tools.placebo_sources.sources import is_other
from toolablate.tools.tool import ToolResult
from toolablate.traces.errors import InputError, InternalError
from toolablate.traces.records import (
    ChecklistTarget,
    ChoiceTarget,
    NumberTarget,
    Question,
    ReferenceTarget,
    SpansTarget,
    TextTarget,
)

_NUMBER = re.compile(r"\d+(?:[,']\d{3})*(?:\.\d+)?")
_SPAN_FACTORS = (0.6, 0.7, 0.8, 1.2, 1.3, 1.4, 1.6, 1.7, 2.0, 0.5, 3.0)
_NEAREST = 0.03
"""What share of itself a number is off at least."""

_MOST_TRIED = 200
_MOST_NAMES = 4
_OPPOSITES = (
    ("yes", "no"),
    ("true", "false"),
    ("correct", "incorrect"),
    ("increase", "decrease"),
    ("是", "否"),
    ("对", "错"),
    ("真", "假"),
    ("有", "没有"),
    ("正确", "错误"),
)
_NAMES = ("Alder", "Marlow", "Tessin", "Quarles", "Brandt", "Lindholm", "Ostrava", "Corwin")
_CHINESE_NAMES = ("林河", "秦安", "白石", "陆远", "青州", "周明")


def wrong_spans(right: Sequence[str], others: Iterable[Sequence[str]], rng: random.Random) -> list[str]:
    """As many at most: numbers changed, opposites of what has one, else the spans of another question, else names that
    nobody asked for. None of them says what a right one does, nor what another of them does."""
    said = {words for span in right for words in _words(span)}
    words = iter(_wrong_words([span for span in right if not _number(span)], said, others, rng))
    taken = [value for span in right if _number(span) for value in _values(searched(span))]
    wrong: list[str] = []
    for span in right:
        number = _number(span)
        if number is None:
            wrong.extend(islice(words, 1))
            continue
        changed = _changed(number, said, taken, rng)
        said |= _words(changed)
        taken += _values(changed)
        wrong.append(changed)
    return wrong


def _words(span: str) -> set[str]:
    return {same_words(span), same_words(searched(span))}


def _number(span: str) -> re.Match[str] | None:
    return _NUMBER.search(searched(span))


def _wrong_words(
    right: Sequence[str], said: Set[str], others: Iterable[Sequence[str]], rng: random.Random
) -> Sequence[str]:
    """In place of the right ones without a number."""
    if not right:
        return ()
    if opposite := _free(map(_opposite, right), said):
        return opposite
    for spans in others:
        if usable := _free((span for span in spans if not _number(span)), said):
            return usable[: len(right)]
    names = list(_NAMES if all(span.isascii() for span in right) else _CHINESE_NAMES)
    rng.shuffle(names)
    free = (name for name in _combined(names) if not _words(name) & said)
    return list(islice(free, min(len(right), _MOST_NAMES)))


def _free(candidates: Iterable[str], said: Set[str]) -> list[str]:
    """Those that say something, and neither what is said already nor what one before them does, not even between
    others in a list."""
    found: list[str] = []
    taken = {"", *said}
    for span in candidates:
        parts = {words for part in (span, *span.split(";")) for words in _words(part)}
        if not parts & taken:
            found.append(span)
            taken |= parts
    return found


def _combined(names: Sequence[str]) -> Iterator[str]:
    """Without an end: the names, then any two of them, and so on."""
    for count in itertools.count(1):
        yield from map(" ".join, itertools.product(names, repeat=count))


def _changed(number: re.Match[str], said: Set[str], taken: Sequence[float], rng: random.Random) -> str:
    """A span with another number in the place of this one, and with its sign, its currency and what stands around."""
    before, after = number.string[: number.start()], number.string[number.end() :]
    for text in _other_numbers(number[0], rng):
        changed = f"{before}{text}{after}"
        near = (math.isclose(value, other, rel_tol=_NEAREST) for value in _values(changed) for other in taken)
        if not _words(changed) & said and not any(near):
            return changed
    more = (f"{before}{'9' * count}{number[0]}{after}" for count in itertools.count(1))
    return next(changed for changed in more if not _words(changed) & said)


def _values(span: str) -> Sequence[float]:
    """What it states; where it states nothing, as the name of a room, the number that is in it."""
    number = _NUMBER.search(span)
    return stated(span) or ((float(_plain(number[0])),) if number else ())


def _plain(number: str) -> str:
    return number.replace(",", "").replace("'", "")


def _other_numbers(text: str, rng: random.Random) -> Iterable[str]:
    plain = _plain(text)
    decimals = len(plain.partition(".")[2])
    comma = "," if "," in text else ""
    values = [float(plain) * factor for factor in rng.sample(_SPAN_FACTORS, len(_SPAN_FACTORS))]
    for value in (*values, *(float(plain) + more for more in range(1, _MOST_TRIED))):
        if math.isfinite(value) and abs(value - float(plain)) > _NEAREST * abs(float(plain)):
            yield f"{value:{comma}.{decimals}f}"


def _opposite(span: str) -> str:
    """Empty where it has none."""
    said = same_words(span)
    for one, other in _OPPOSITES:
        if said in (one, other):
            opposite = other if said == one else one
            return opposite.capitalize() if span[:1].isupper() else opposite
    return ""


# The right answer of a question in words, and a wrong one that looks like it.


_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_BETWEEN = "; "
_FACTORS = (0.6, 0.7, 0.8, 1.2, 1.3, 1.4, 1.6, 1.7)
_LAST_FACTORS = (2.0, 0.5, 3.0, 0.3, 5.0, 0.1, 9.0)
_FAR = 3.0
"""How many times the tolerance a wrong number is off if there is room for it."""

_SETS_DRAWN_FROM = 12
_NO_WORDS = "a target of kind {!r} has no answer in words"


def right_answer(question: Question) -> str:
    """The texts of the right choices, the number, the spans, the first of the texts, the reference answer, or what the
    reference has of a checklist, a line for each item. Raises InputError where the target has no answer in words: a
    pattern, tests of code, or a checklist of which the reference has nothing."""
    target = question.target
    if isinstance(target, NumberTarget):
        return written(target.value)
    if isinstance(target, SpansTarget):
        return _BETWEEN.join(target.stated)
    if isinstance(target, ReferenceTarget):
        return target.answer
    if isinstance(target, TextTarget):
        return target.answers[0]
    if isinstance(target, ChoiceTarget):
        return _spoken(question, target.letters)
    if isinstance(target, ChecklistTarget) and any(item.said for item in target.items):
        return _listed({item.name: item.said for item in target.items})
    raise InputError(
        f"question {question.id!r}: an oracle has nothing to say, since {_NO_WORDS.format(target.kind)}",
        hint='give the question a text for it: metadata = {"oracle": "..."}, or leave out the condition',
        code="no_right_answer",
    )


def wrong_answer(question: Question, setting: InterventionSetting) -> str:
    """The same in all trials of a question: other choices, a number of the same sign and size that is off by more than
    three times the tolerance, spans of another question or changed ones, another question's reference answer, or its
    texts of a checklist.

    Raises InputError where nothing is wrong: of one choice, of choices that all say the same, of a number with a
    tolerance that takes all numbers, of a reference answer or a checklist where no other question has another."""
    rng = random.Random(f"adversarial {question.id} {question.identity()}")  # noqa: S311 - a draw, not a secret
    target = question.target
    if isinstance(target, NumberTarget):
        return written(_wrong_number(question, target, rng))
    if isinstance(target, ChoiceTarget):
        return _spoken(question, _wrong_letters(question, target, rng))
    others = setting.placebo_sources.others(f"adversarial {question.id}") if setting.placebo_sources else []
    if isinstance(target, SpansTarget):
        spans = (other.target.stated for other in others if isinstance(other.target, SpansTarget))
        return _BETWEEN.join(wrong_spans(target.stated, spans, rng))
    if isinstance(target, TextTarget):
        texts = (other.target.answers[:1] for other in others if isinstance(other.target, TextTarget))
        return wrong_spans(target.answers[:1], texts, rng)[0]
    if isinstance(target, ChecklistTarget):
        return _listed(other_items(question, _near(question, others)))
    if not isinstance(target, ReferenceTarget):
        raise _nothing_wrong(question, _NO_WORDS.format(target.kind))
    return other_reference(question, _near(question, others))


def _near(question: Question, others: Iterable[Question]) -> list[Question]:
    """Those in its language and of its domain first; else in the order that was drawn."""
    return sorted(others, key=lambda each: (each.language != question.language, each.domain != question.domain))


def _listed(items: Mapping[str, str]) -> str:
    return "\n".join(f"{name}: {said}" for name, said in items.items() if said)


def other_reference(question: Question, others: Iterable[Question]) -> str:
    """The first reference answer of others that does not say what is right. Raises InputError where there is none."""
    withheld = Withheld(question)
    texts = (each.target.answer for each in others if isinstance(each.target, ReferenceTarget))
    found = next((text for text in texts if not withheld.holds(text)), None)
    if found is None:
        raise _nothing_wrong(question, "no other question has another reference answer")
    return found


def other_items(question: Question, others: Iterable[Question]) -> dict[str, str]:
    """By the name of each item that the reference has the first text that another reference has for an item of that
    name, else for any item, and that does not say what is right; none is said twice. Raises InputError where there is
    none at all."""
    withheld = Withheld(question)
    theirs = [each.target for each in others if isinstance(each.target, ChecklistTarget)]
    taken, found = set[str](), dict[str, str]()
    for item in question.target.items if isinstance(question.target, ChecklistTarget) else ():
        if not item.said or item.literal:
            continue
        alike = (other.said for target in theirs for other in target.items if other.name == item.name)
        texts = itertools.chain(alike, (text for target in theirs for text in target.texts))
        wrong = next((text for text in texts if text and text not in taken and not withheld.holds(text)), None)
        if wrong is not None:
            taken.add(wrong)
            found[item.name] = wrong
    if not found:
        raise _nothing_wrong(question, "no other question's checklist has another reference")
    return found


def written(value: float) -> str:
    """The shortest text of exactly this number, without an exponent where it is short."""
    if value.is_integer() and abs(value) < 1e15:
        return f"{value:.0f}"
    return repr(value)


def _spoken(question: Question, letters: Sequence[str]) -> str:
    """The texts of choices; letters where the choices stand in the prompt alone."""
    texts = dict(zip(_LETTERS, question.choices, strict=False))
    return _BETWEEN.join(texts.get(letter, letter) for letter in sorted(letters))


def _wrong_letters(question: Question, target: ChoiceTarget, rng: random.Random) -> tuple[str, ...]:
    """As many as are right; another number of them where all of that number are right."""
    count = len(question.choices) or max(lettered(question.prompt), *(_LETTERS.index(x) + 1 for x in target.letters))
    right = _meaning(question, target.letters)
    for size in (len(target.letters), *range(1, count + 1)):
        drawn = list(_LETTERS[:count])
        rng.shuffle(drawn)
        sets: Iterator[tuple[str, ...]] = combinations(drawn[:_SETS_DRAWN_FROM], size)
        for letters in sets:
            if _meaning(question, letters) != right:
                return letters
    raise _nothing_wrong(question, "its choices all say what is right")


def _meaning(question: Question, letters: Sequence[str]) -> set[str]:
    """Two choices may say the same."""
    return {same_words(_spoken(question, [letter])) for letter in letters}


def _wrong_number(question: Question, target: NumberTarget, rng: random.Random) -> float:
    value = target.value
    tolerance = max(target.absolute, target.relative * abs(value))
    for candidate in _candidates(value, tolerance, rng):
        if math.isfinite(candidate) and candidate != value and abs(candidate - value) > tolerance:
            return candidate
    raise _nothing_wrong(question, f"its tolerance of {tolerance:g} takes every number")


def _candidates(value: float, tolerance: float, rng: random.Random) -> Sequence[float]:
    """From the most alike on: near by, else as near as the tolerance lets it be, else on the other side of zero."""
    far = _FAR * tolerance
    if not value:
        return (far * 2 or 1.0, tolerance * 2)
    decimals = len(repr(value).partition(".")[2]) if "e" not in repr(value) and not value.is_integer() else 0
    factors = (*rng.sample(_FACTORS, len(_FACTORS)), *_LAST_FACTORS)
    near = [value * factor if "e" in repr(value) else round(value * factor, decimals) for factor in factors]
    # A product of the two would come to nothing where both are tiny.
    alike = [wrong for wrong in near if wrong and (wrong > 0) == (value > 0) and abs(wrong - value) > far]
    sign = math.copysign(1.0, value)
    return (*alike, value + sign * far * 2, value + sign * tolerance * 1.5, -value, -value * 1.5, -sign * tolerance)


def _nothing_wrong(question: Question, why: str) -> InputError:
    return InputError(
        f"question {question.id!r}: an adversary finds nothing wrong to say, since {why}",
        hint='give the question a text for it: metadata = {"adversarial": "..."}, or leave out the condition',
        code="no_wrong_answer",
    )


class Claim:
    """The tool is not called. The question's metadata may hold a text of its own under the name of the
    intervention."""

    def __init__(
        self, name: str, answer: Callable[[Question, InterventionSetting], str], setting: InterventionSetting
    ) -> None:
        self._name = name
        self._answer = answer
        self._setting = setting

    async def apply(self, call: Call, proceed: Proceed) -> ToolResult:
        text = self._text(call)
        return changed(ToolResult(call.template.finding(call.arguments, text)), self._name, text)

    def _text(self, call: Call) -> str:
        question = self._setting.question
        if question is None:
            raise InternalError(f"{self._name}: the trial's question is not known")
        if own := own_text(question, self._name):
            return own
        answer = self._answer(question, self._setting)
        if call.tool in DOCUMENT_TOOLS and (passages := self._passages(question, answer)):
            return passages
        if call.template.form == "code":
            return answer
        return f"答案：{answer}" if question.language.lower().startswith("zh") else f"Answer: {answer}"

    def _passages(self, question: Question, answer: str) -> str:
        """What a document would say; "" where none can be had."""
        return ""


def own_text(question: Question, name: str) -> str:
    """What the question's metadata has for the intervention; empty for none."""
    own = question.metadata.get(name)
    return own if isinstance(own, str) and own.strip() else ""


def refuse_without_wrong_answer(questions: Sequence[Question], others: Sequence[Question] = ()) -> None:
    """Raises InputError for a question that an adversary finds nothing wrong to say of. `others` are questions of the
    plan that are not asked."""
    references = [each for each in (*questions, *others) if isinstance(each.target, ReferenceTarget | ChecklistTarget)]
    words = {each.id: same_words(each.prompt) for each in references}
    for question in questions:
        # Of texts there are always others, and finding them takes a look at all questions.
        if isinstance(question.target, SpansTarget | TextTarget) or own_text(question, "adversarial"):
            continue
        if isinstance(question.target, ReferenceTarget | ChecklistTarget):
            apart = (each for each in references if is_other(question, each.id, words[each.id], each.cluster))
            (other_reference if isinstance(question.target, ReferenceTarget) else other_items)(question, apart)
        else:
            wrong_answer(question, InterventionSetting(question=question))


class Oracle(Claim):
    """Of a question's documents it gives the passages that hold the answer, where they do."""

    def __init__(self, options: Options, setting: InterventionSetting) -> None:
        super().__init__("oracle", lambda question, _: right_answer(question), setting)

    def _passages(self, question: Question, answer: str) -> str:
        return PASSAGES_APART.join(passages_of(question))


class Adversarial(Claim):
    """Of a question's documents it gives the passage that holds the answer, with the wrong one in its place; of a
    checklist each passage that holds an item, with the wrong ones in their places."""

    def __init__(self, options: Options, setting: InterventionSetting) -> None:
        super().__init__("adversarial", wrong_answer, setting)

    def _passages(self, question: Question, answer: str) -> str:
        if isinstance(question.target, ChecklistTarget):
            return self._falsified(question, question.target)
        for right, passage in zip(answer_parts(question), passages_of(question), strict=False):
            if (wrong := _replaced(passage, right, answer)) != passage:
                return wrong
        return ""

    def _falsified(self, question: Question, target: ChecklistTarget) -> str:
        sources = self._setting.placebo_sources
        wrong = other_items(question, _near(question, sources.others(f"adversarial {question.id}") if sources else []))
        withheld, found = Withheld(question), list[str]()
        for passage in passages_of(question):
            text = passage
            for item in target.items:
                if item.name in wrong:
                    text = _replaced(text, item.said, wrong[item.name])
            if text != passage and not withheld.holds(text):
                found.append(text)
        return PASSAGES_APART.join(found)


def _replaced(passage: str, right: str, wrong: str) -> str:
    """The passage itself where it does not say the right one literally."""
    return re.sub(rf"(?<!\w){re.escape(right)}(?!\w)", lambda _: wrong, passage, flags=re.IGNORECASE)


# The passages of a question's documents that hold its answer.


PASSAGES_APART = "\n\n[...]\n\n"
_SHARE = 0.5
"""What share of an answer's words a passage has at least, where none says it."""


def answer_parts(question: Question) -> tuple[str, ...]:
    """What a document would have to say: each right choice, the number, each span, the first text, the reference
    answer or each text of a checklist's reference."""
    target = question.target
    if isinstance(target, ChoiceTarget):
        return tuple(_spoken(question, [letter]) for letter in target.letters)
    if isinstance(target, SpansTarget):
        return target.spans
    if isinstance(target, ChecklistTarget):
        return target.texts
    return (right_answer(question),)


def passages_of(question: Question) -> list[str]:
    """For each part of the answer the passage that says it, of several the one that has most words of the question;
    else the one with most of its words, if that has half of them. None twice."""
    parts = [part for document in question.documents for part in parts_of(document.text)]
    words = [_terms(part) for part in parts]
    asked = _terms(question.prompt)
    found: list[str] = []
    for answer in answer_parts(question):
        wanted = _terms(answer)
        target = question.target if isinstance(question.target, NumberTarget) else SpansTarget(spans=(answer,))
        saying = Withheld(question.model_copy(update={"choices": (), "rubric": None, "target": target}))
        places = [place for place, part in enumerate(parts) if saying.holds(part)]
        if not places:
            best = max(range(len(parts)), key=lambda place: len(wanted & words[place]), default=None)
            places = [] if best is None or len(wanted & words[best]) < _SHARE * len(wanted) else [best]
        if places:
            found.append(parts[max(places, key=lambda place: len((asked | wanted) & words[place]))])
    return list(dict.fromkeys(found))


def _terms(text: str) -> set[str]:
    return set(re.findall(r"\w+", spaced(text)))


# A tool that is called in name only: what comes back is what it says where there is nothing.


class Sham:
    """The tool is not called, so that nothing is started and nobody is asked."""

    def __init__(self, options: Options, setting: InterventionSetting) -> None: ...

    async def apply(self, call: Call, proceed: Proceed) -> ToolResult:
        return changed(ToolResult(call.template.nothing(call.arguments)), "sham", "not called")
