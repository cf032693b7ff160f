"""Answers: their forms, when two are the same, which one a text supports, and right ones in another form."""

import json
import re
import string
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from toolablate.analysis.attribution.signals.signal_types import Answered, Misstated, MisstatedKind, Steps
from toolablate.traces.records import Question, Target, with_scale

Kind = Literal["letters", "number", "text"]

NUMERAL = r"[-+]?\$?(?:\d{1,3}(?:,\d{3}){1,9}|\d{1,30})(?:\.\d{1,30})?(?:[eE][-+]?\d{1,3})?"
NUMBER = re.compile(rf"(?<![\w.,]){NUMERAL}(?![\w])")
AMOUNT = re.compile(rf"(?P<number>{NUMERAL})(?:\s?(?P<scale>thousand|million|billion))?")
_LISTED = re.compile(r"(?<![A-Za-z0-9])([A-Z])\s?[.):、．）：]")
_PLAIN = {code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)} | {0x3000: " ", 0x2212: "-"}
_LONGEST_TEXT = 300


@dataclass(frozen=True, slots=True)
class AnswerForm:
    """What a question asks for. `letters` are those of its options, whose texts `options` holds where they are known
    by letter; `numbers` as `numbers_of` has them."""

    kind: Kind
    letters: str = ""
    options: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()

    @classmethod
    def of(cls, question: Question) -> "AnswerForm":
        if question.target.kind == "choice":
            return cls("letters", _letters(question), question.choices, numbers_of(question.choices))
        return cls("number" if question.target.kind == "number" else "text")


@lru_cache(maxsize=64)
def numbers_of(options: tuple[str, ...]) -> tuple[str, ...]:
    """The number that alone tells each option from the others, as it is written: "408.75" of "408.75 units", which
    programs print without the unit. Empty where an option has no number, or two, or the same as another, and where
    options are more than a number and its unit, unless their other words are the same."""
    texts = [plain(option) for option in options]
    found = [_OF_UNIT.findall(text) for text in texts]
    frames = [UNIT_WORD.findall(_OF_UNIT.sub(" ", text)) for text in texts]
    if {*map(len, found)} != {1} or (len({*map(tuple, frames)}) > 1 and max(map(len, frames)) > MOST_UNIT_WORDS):
        return ()
    numbers = tuple(number for (number,) in found)
    return numbers if len({*map(normal_number, numbers)}) == len(options) else ()


_OF_UNIT = re.compile(rf"(?<![\w.,^/:]){NUMERAL}(?![\d/:])")
"""A number, to which its unit may be joined: "12kg". That of "m/s^2" is none, nor are those of "8/17"."""
UNIT_WORD = re.compile(r"[^\W_][\w'’.-]*[^\W_]|[\u3400-\u9fff]+")
MOST_UNIT_WORDS = 3
"""Beside the number of an answer that is one: "12.5 kJ/mol", and no sentence that mentions it."""


def plain(text: str) -> str:
    """In plain characters, without the marks of bold type and of code."""
    bare = text.replace("*", "").replace("`", "")
    return bare if bare.isascii() else bare.translate(_PLAIN)


def normal_number(numeral: str) -> str:
    """One text for one number: "1,200.50" and "$1200.5" are the same."""
    value = float(numeral.replace(",", "").replace("$", ""))
    return f"{value:.12g}"


def normal_text(text: str) -> str:
    """Lower-cased, blanks as one, without a full stop or marks at its ends; a numeral as a number, with its scale."""
    bare = " ".join(text.casefold().split()).strip(" .\"'“”。*")
    amount = AMOUNT.fullmatch(bare.removesuffix("%").strip())
    return with_scale(normal_number(amount["number"]), amount["scale"] or "") if amount else bare


def texts_of(said: str) -> Answered:
    """A JSON list item by item, or such an `answer` with its `scale`; anything else of no great length as one text."""
    said = said.strip()
    if said.startswith(("[", "{")) and len(said) <= 20_000:
        try:
            parsed = json.loads(said)
        except (ValueError, RecursionError):
            parsed = None
        scale = ""
        if isinstance(parsed, dict):
            scale = parsed["scale"] if parsed.get("scale") in ("thousand", "million", "billion") else ""
            parsed = given if isinstance(given := parsed.get("answer"), list) else [given]
        if isinstance(parsed, list) and all(isinstance(item, str | int | float) for item in parsed):
            return tuple(sorted(text for item in parsed if (text := normal_text(with_scale(str(item), scale)))))
    text = normal_text(said) if len(said) <= _LONGEST_TEXT else ""
    return (text,) if text else ()


def _letters(question: Question) -> str:
    """As many as there are options; those that a prompt lists one after the other where it holds them itself."""
    if question.choices:
        return string.ascii_uppercase[: len(question.choices)]
    count = 0
    for found in _LISTED.finditer(question.prompt):
        count += count < 26 and found[1] == string.ascii_uppercase[count]
    return string.ascii_uppercase[: count if count > 1 else 26]


# Which answer a text supports: one that it announces ("Answer: C") or leans to ("I think it is C", "应该选C").


READ = 50_000
"""Characters of the end of a text that are read."""

_SURELY = (
    r"(?:(?:still|now|then|thus|therefore|so|likely|most\slikely|probably|clearly|definitely|also|indeed"
    r"|仍然?|就|还)\s?)?"
)
_BE = (
    r"(?:is|are|was|were|(?:should|would|must|will|could|might|may|can\sonly|has\sto)\s(?:then\s)?be"
    r"|(?:seems|appears)(?:\sto\sbe)?|remains|becomes)"
)
_OPTION = r"(?:the\s)?(?:option|choice|answer|statement|letter)?s?\s?"
_ANNOUNCED = (
    r"\b(?:answers?(?:\s(?:choice|option|letter)s?)?|(?:correct|right|best)\s(?:option|choice|statement|letter|one))"
    rf"\s?(?:{_BE}\s?:?|[:=→])\s?{_SURELY}"
    r"|\\f?boxed\s?\{\s?(?:\\(?:text|mathrm|mathbf|textbf)\s?\{)?"
    r"|答案(?:应该|应当|应|可能|大概|或许|仍然|仍|还|就|只能)?(?:是|为|选|:)\s?:?\s?"
)
_LEANT = (
    r"\b(?:I|we)(?:\s(?:would|will|am|now|still|strongly|also|therefore)|'d|'ll|'m|’d|’ll|’m){0,3}\s"
    r"(?:think|believe|guess|suspect|say|choose|pick|select|prefer|favou?r|conclude|go\swith|going\swith|answer"
    r"|lean(?:ing)?(?:\stowards?|\sto)?|inclined\sto(?:\ssay)?)\s"
    rf"(?:that\s)?(?:(?:it|this|the\s(?:right\s|correct\s)?answer)(?:'s|’s|\s{_BE})\s)?{_SURELY}"
    rf"|\bleaning\s(?:towards?|to)\s|\bgo(?:ing)?\swith\s"
    r"|(?:我|应该?|故|因此|所以|还是|改)(?:还是|仍|更)?(?:认为|觉得|猜|会|应该?|倾向于?)?(?:是|选择?|答案是)\s?"
)
_LEANT_LETTER = rf"|\b(?:it|this)(?:'s|’s|\s{_BE})\s{_SURELY}|倾向于?\s?|而是\s?"

_MORE = r"(?:\s?(?:,|and|&|、|和|与|及)\s?(?:and\s)?\(?[A-Z](?![\w'’]|\s[a-z])\)?){0,25}"
# "A" and "I" are words: after them only what goes on about an answer, or nothing.
_ON = r"(?:because|since|as|is|was|with|for|and|but|by|from|given|which|so|then|based|due|or|not)\b"
_ALONE = rf"(?![A-Za-z0-9_'’])(?!\s(?!{_ON})[a-z])"
_LETTER = re.compile(
    rf"(?i:(?:{_ANNOUNCED}|{_LEANT}{_LEANT_LETTER}){_OPTION}|选(?!项)择?\s?:?\s?)"
    rf"[(\[]?(?P<first>[A-Z]){_ALONE}[)\]]?(?P<more>{_MORE})"
    r"|(?<![\w'’-])(?i:(?:option|choice|answer|statement|选项)\s?)[(\[]?(?P<named>[A-Z])[)\]]?,?\s"
    rf"(?i:{_BE}\s{_SURELY}(?:the\s)?(?:most\s(?:likely\s)?)?(?:correct|right|best|true)\b(?!\s(?:only\s)?(?:if|unless)\b))"
    r"|(?:^|[.,;:]\s|\b(?:[Ss]o|[Tt]hus|[Tt]herefore|[Hh]ence|think|believe|that)\s)\(?(?P<clause>[A-Z])\)?\s"
    rf"(?i:{_BE}\s{_SURELY}(?:the\s)?(?:most\s(?:likely\s)?)?(?:correct|right|best|true)\b(?!\s(?:only\s)?(?:if|unless)\b))"
    r"|(?<![\w和与及或、])(?P<right>[A-Z])\s?(?:选?项)?(?:是|为)?(?:正确的|正确|对的)(?:选项|答案)?(?=[\s.,;!。,;]|$)",
    re.MULTILINE,
)
_NUMBER = re.compile(
    rf"(?i:(?:{_ANNOUNCED}|{_LEANT})(?:about\s|around\s|approximately\s|≈\s?)?)(?P<number>{NUMERAL})(?![\w])"
)
_LETTER_ALONE = re.compile(rf"[A-Z](?![A-Za-z0-9_'’])(?!\s(?!(?i:{_ON}|{_BE}))[a-z])")
"""Stands in whatever `_LETTER` finds, as a digit that begins a number does in what `_NUMBER` finds."""

_FIRST_DIGIT = re.compile(r"(?<!\d)\d")
_LONGEST = 500
"""Characters, at least, of what these two find, with what they look at after it."""

_TEXT = re.compile(r"(?i:\banswers?\s?(?:(?:is|are)\s?:?|[:=])|答案(?:是|为|:)\s?:?)\s{0,3}(?P<text>[^\n]{1,2000})")
_WEIGHED = re.compile(
    r"\s?(?:or|versus|vs|instead\sof|and\snot|or\s(?:option|choice))\b|\s?(?:还是|或|吗|\?)", re.IGNORECASE
)

_SENTENCE = re.compile(r"[.!?;。;]\s|[。;!\n]|\b(?:but|however|yet|though)\b|但|不过|然而", re.IGNORECASE)
_CLAUSE = re.compile(r"[,:]\s?|\band\b|\bso\b|\bthus\b|\btherefore\b", re.IGNORECASE)
_HEAD = 160
_DENIED = re.compile(
    r"\b(?:not|never|no|nor|cannot|hardly|neither|rather\sthan|wrong)\b|n['’]t\b|不|并非|没|错误", re.IGNORECASE
)
_SUPPOSED = re.compile(
    r"\b(?:if|whether|suppose|supposing|assuming|unless|were|check\sthat|either)\b|假设|如果|要是|假如|是否|若",
    re.IGNORECASE,
)
_REPORTED = re.compile(
    r"\b(?:pages?|sources?|sites?|snippets?|forums?|posts?|articles?|documents?|authors?|websites?|they|some|someone|people"
    r"|users?|wikipedia|blog|key)\b[^\n]{0,60}\b(?:say|says|said|claims?|claimed|states?|stated|suggests?|gives?|gave|lists?"
    r"|thinks?|believes?|has|have|insists?|answered)\b|\baccording\sto\b|声称|据说|据称|有人|网页|页面|文章|来源",
    re.IGNORECASE,
)
_TAKEN_BACK = re.compile(
    r"(?i:\b(?:not|n['’]t(?:\sbe)?|ruled?\sout|reject(?:ed)?)\s(?:the\s)?(?:option\s|choice\s|answer\s)?)\(?(?P<denied>[A-Z])\)?(?![\w'’])"
    r"|(?<![\w'’-])(?P<wrong>[A-Z])\)?\s(?i:(?:(?:is|was|must\sbe)\s(?:wrong|incorrect|false|not\b)|(?:cannot|can['’]t)\sbe\b))"
    r"|不(?:是|选|能选)\s?\(?(?P<not>[A-Z])(?![A-Za-z])|(?<![A-Za-z])(?P<bad>[A-Z])\)?\s?(?:项|选项)?(?:是)?(?:错|不对|不正确)"
)


def leaning(text: str, form: AnswerForm, *, reported: bool = False) -> Answered:
    """The answer that a text supports in the end; () where it supports none. `reported` counts what it says that
    a source says as well."""
    text = plain(text[-READ:])
    if form.kind == "letters":
        return _last_letters(text, form.letters, reported)
    matches = _near(_FIRST_DIGIT, _NUMBER, text) if form.kind == "number" else _TEXT.finditer(text)
    found = [match for match in matches if _is_own(text, match, reported)]
    if not found:
        return ()
    last = found[-1]
    return (normal_number(last["number"]),) if form.kind == "number" else texts_of(last["text"])


def final_answer(text: str, form: AnswerForm) -> Answered:
    """The same of a final reply, which may be the answer and nothing else, or name an option by its place."""
    said = leaning(text, form) or leaning(text, form, reported=True)
    if said or not text:
        return said
    bare = plain(text[-READ:]).strip()
    if form.kind == "text":
        return texts_of(bare)
    last = bare.rpartition("\n")[2].strip(" .()[]$")
    if form.kind == "letters":
        return (last,) if len(last) == 1 and last in form.letters else named_by_place(text, form)
    return (normal_number(last),) if re.fullmatch(NUMERAL, last) else ()


def can_hold_answer(text: str, form: AnswerForm) -> bool:
    """Whether anything in a reply could be an answer, however it is put."""
    bare = plain(text[-READ:])
    if form.kind == "letters":
        lower = bare.casefold()
        named = any(re.search(rf"(?<![A-Za-z0-9]){letter}(?![A-Za-z0-9])", bare) for letter in form.letters)
        return named or any(option.casefold() in lower for option in form.options if option.strip())
    return re.search(r"[0-9]", bare) is not None if form.kind == "number" else bool(bare.strip())


def _last_letters(text: str, letters: str, reported: bool) -> Answered:
    """Of those that are not taken back later on."""
    matches = list(_near(_LETTER_ALONE, _LETTER, text))
    taken_back = _TAKEN_BACK.finditer(text) if matches else ()
    denied = {next(filter(None, found.groups())): found.start() for found in taken_back}
    for match in reversed(matches):
        named = match["first"] or match["named"] or match["clause"] or match["right"]
        more = re.findall(r"[A-Z]", match["more"] or "")
        chosen = {named, *more}
        stays = all(denied.get(letter, -1) <= match.start() for letter in chosen)
        if chosen <= set(letters) and stays and _is_own(text, match, reported):
            return tuple(sorted(chosen))
    return ()


def _near(first: re.Pattern[str], pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """What `pattern.finditer` gives, where each of it holds something that `first` finds: to look around that alone
    takes a small part of the time."""
    for start, stop in _around(first, text):
        for match in pattern.finditer(text, start, stop):
            # Nearer to its end a stretch breaks off what the text goes on with.
            if match.end() > stop - _LONGEST and stop < len(text):
                break
            yield match


def _around(first: re.Pattern[str], text: str) -> Iterator[tuple[int, int]]:
    """Stretches of a text that overlap nowhere, with as much beside each find as there can be of a match, and twice as
    much after it."""
    start = stop = 0
    for found in first.finditer(text):
        if found.start() - _LONGEST > stop:
            if stop:
                yield start, stop
            start = found.start() - _LONGEST
        stop = min(found.start() + 2 * _LONGEST, len(text))
    if stop:
        yield start, stop


def _is_own(text: str, match: re.Match[str], reported: bool) -> bool:
    """Whether the text says it for itself: no denial, no supposition, no report, and no second letter beside it."""
    head = _SENTENCE.split(text[max(match.start() - _HEAD, 0) : match.start()])[-1]
    if _SUPPOSED.search(head) or (_REPORTED.search(head) and not reported) or _DENIED.search(_CLAUSE.split(head)[-1]):
        return False
    return not _WEIGHED.match(text, match.end())


# Options that a reply names by their place in the list ("the third of them", "option 2", "第二个选项").


_COUNTED = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_CHINESE = "一二三四五六七八九十"
_PLACES = {said: place for words in (_COUNTED, _ORDINALS, tuple(_CHINESE)) for place, said in enumerate(words, start=1)}
_LISTED_THING = r"(?:option|choice|answer|possibilit(?:y|ie)|alternative|candidate|proposal|suggestion|statement)"
_ANY_THING = rf"(?:{_LISTED_THING}|one|entr(?:y|ie)|item|figure|number|value|total|amount)"
_BY_PLACE = re.compile(
    rf"(?<![\w-])(?:(?P<place>{'|'.join(_ORDINALS)}|last|\d{{1,2}}(?:st|nd|rd|th))\s"
    rf"(?:(?:listed\s|given\s|offered\s)?(?:(?P<sure>{_LISTED_THING})|{_ANY_THING})\b"
    rf"|of\s(?:them|these|those|(?:the|your)\s(?:\w+\s){{0,2}}{_ANY_THING}s)\b|(?:in|on)\s(?:the|your)\slist\b)"
    rf"|{_LISTED_THING}\s(?:number\s|no\.\s?|\#)?(?P<number>\d{{1,2}}|{'|'.join(_COUNTED)})(?![\w%]|[.,]\d))"
    rf"|第(?P<chinese>[{_CHINESE}]|\d{{1,2}})\s?(?:个(?P<named>选项|答案|选择)|项|个|种(?:可能|说法|选择))",
    re.IGNORECASE,
)
_SETTLES = re.compile(
    r"\b(?:go(?:ing)?\swith|take|pick|choose|select|prefer|favou?rs?|settles?|supports?|speaks?\sfor|points?\sto|concludes?"
    r"|leans?|agrees?|fits|matches|answer|best|right|correct|listed|on\soffer|(?:in|on)\s(?:the|your)\slist)\b|列表|列出|选|倾向|合理|正确|支持|答案",
    re.IGNORECASE,
)
"""Stands beside things that need not be options: the first number may be one of a computation."""

_BESIDE_ANOTHER = re.compile(r"\b(?:or|and|than|between)\s(?:the\s)?$|[和或与]$", re.IGNORECASE)
_RULED_OUT = re.compile(
    r"[^.;\n]{0,20}?\b(?:is|are|was|seems|looks|would\sbe|can|must\sbe|does|could)\s?(?:wrong|incorrect|false|unlikely|worse"
    r"|not\b|n['’]t|ruled|excluded)|cannot\b|[^。；，]{0,4}(?:不|错)",
    re.IGNORECASE,
)


def named_by_place(text: str, form: AnswerForm) -> Answered:
    """The option that the last sentence with any names by its place; () where it names several, or none."""
    for sentence in reversed(_ENDED.split(plain(text[-_READ_FOR_PLACES:]))):
        found = list(_BY_PLACE.finditer(sentence))
        if found:
            settled = _SETTLES.search(sentence) is not None
            own = [
                match
                for match in found
                if (settled or match["sure"] or match["number"] or match["named"])
                and _is_own(sentence, match, reported=True)
                and not _BESIDE_ANOTHER.search(sentence, max(match.start() - _HEAD, 0), match.start())
                and not _RULED_OUT.match(sentence, match.end())
            ]
            places = {_letter_at(match, form.letters) for match in own}
            return (letter,) if len(places) == 1 and (letter := places.pop()) else ()
    return ()


_READ_FOR_PLACES = 1_000
_ENDED = re.compile(r"(?<=[.!?])\s+|[。！？\n]+")


def _letter_at(match: re.Match[str], letters: str) -> str:
    """Empty where the list has no such place, or its length is not known."""
    said = next(filter(None, (match["place"], match["number"], match["chinese"]))).casefold()
    if said == "last":
        return letters[-1] if len(letters) < len(string.ascii_uppercase) else ""
    digits = re.match(r"\d+", said)
    # The pattern takes letters that are like one of these words for it: "fırst".
    place = int(digits[0]) if digits else _PLACES.get(said, 0)
    return letters[place - 1] if 1 <= place <= len(letters) else ""


# Answers that are the right one in another form: of another scale, not rounded, or with more or fewer words.


_SCALES = (1, 2, 3, 6, 9)
_TELLING_DIGITS = 2
_WORD = re.compile(r"(?:(?<!\w)-)?\d+(?:[.,]\d+)*|[\u3400-\u9fff]|[^\W\d\u3400-\u9fff]+")
_SMALL_WORDS = frozenset({"and", "the", "a", "an", "of", "in", "和", "与", "的"})


def misstated(steps: Steps, final: Answered, form: AnswerForm, target: Target) -> Misstated | None:
    """None where the answer is another one, where it is the right one as it stands, and for references. The only other
    form of a choice is its place."""
    if steps.ended is None or not final:
        return None
    match target.kind:
        case "choice":
            by_place = final == target.letters and final == named_by_place(steps.final, form)
            return Misstated(steps.ended, "place") if by_place and not leaning(steps.final, form) else None
        case "number":
            wanted: tuple[str, ...] = (repr(target.value),)
        case "spans":
            wanted = target.stated
        case "text" | "math":
            wanted = target.answers[:1]
        case _:
            return None
    kind = _number_kind(final, wanted) or _words_kind(final, wanted) or _same_kind(final, wanted)
    return Misstated(steps.ended, kind) if kind else None


def names_another(final: Answered, stated: Misstated | None, target: Target) -> bool:
    """Whether it is an option or a number that is not the right one in any form; never where nothing was read, and for
    texts, of which the whole reply is read as the answer."""
    if not final or stated is not None:
        return False
    match target.kind:
        case "choice":
            return set(final) != set(target.letters)
        case "number":
            off = abs(float(final[0]) - target.value)
            return off > max(target.absolute, target.relative * abs(target.value))
        case _:
            return False


def _number_kind(final: Sequence[str], wanted: Sequence[str]) -> MisstatedKind | None:
    """One number against one number, which may have a unit beside it ("$2.7 million")."""
    numerals = [found[0] for text in wanted for found in NUMBER.finditer(plain(text))]
    amount = AMOUNT.fullmatch(final[0]) if len(final) == 1 else None
    if len(numerals) != 1 or amount is None:
        return None
    given, right = float(amount["number"]), normal_number(numerals[0])
    if amount["scale"] and amount["scale"] not in " ".join(wanted).casefold() and _rounds_to(given, numerals[0]):
        return "scale"
    if given == float(right):
        return None
    if _rounds_to(given, numerals[0]):
        return "rounding"
    digits = re.sub(r"\D", "", numerals[0]).lstrip("0")
    # A point that was lost ("47" for "4.7") shows in two digits that are none of them 0 alone.
    scales = _SCALES if len(digits.rstrip("0")) >= _TELLING_DIGITS else _SCALES[1:]
    scaled = any(_rounds_to(given * 10.0**power, numerals[0]) for scale in scales for power in (scale, -scale))
    return "scale" if len(digits) >= _TELLING_DIGITS and scaled else None


def _same_kind(final: Sequence[str], wanted: Sequence[str]) -> MisstatedKind | None:
    """One number that is the wanted one, with the same unit or none."""
    numerals = [found[0] for text in wanted for found in NUMBER.finditer(plain(text))]
    amount = AMOUNT.fullmatch(final[0]) if len(final) == 1 else None
    if len(numerals) != 1 or amount is None:
        return None
    return "unread" if float(amount["number"]) == float(normal_number(numerals[0])) else None


def _rounds_to(given: float, numeral: str) -> bool:
    """Whether it is the number once it has as many decimals."""
    decimals = len(numeral.partition(".")[2]) if "e" not in numeral.lower() else 0
    return abs(given - float(normal_number(numeral))) <= 0.5 * 10.0**-decimals * (1 + 1e-9)


def _words_kind(final: Sequence[str], wanted: Sequence[str]) -> MisstatedKind | None:
    given, right = _words(final), _words(wanted)
    if not given or not right or not any(word.isalpha() for word in given | right):
        return None
    items, targets = set(final), set(map(normal_text, wanted))
    if items == targets or items < targets or targets < items:
        # A whole item too many, or too few, makes another answer.
        return None
    if given == right:
        return "wording"
    if right < given:
        return "more"
    return "part" if given < right else None


def _words(texts: Sequence[str]) -> set[str]:
    return {word for text in texts for word in _WORD.findall(text.casefold())} - _SMALL_WORDS
