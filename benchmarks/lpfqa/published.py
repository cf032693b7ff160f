"""Reads published questions of LPFQA: the reference, its letters, the options of the prompt, the judge's prompt."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path
from typing import Annotated, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from toolablate.benchmarks.prompt import LETTERS
from toolablate.benchmarks.questions import language_of
from toolablate.benchmarks.rows.row_errors import Identities, LineError, at, shown
from toolablate.benchmarks.rows.sources import typed_rows
from toolablate.traces.records import ChoiceTarget, JudgePrompt, Question, ReferenceTarget, Rubric

FEWEST = 2

_MARK = re.compile(
    r"(?<![A-Za-z0-9._\\$^{(（\-/'’&+=<])"
    r"(?:^[ \t]{0,8}[-*•·][ \t]{1,4})?\*{0,2}(?:选项|Option )?"
    r"(?:[(（](?P<bracketed>[A-Z])[)）]|(?P<bare>[A-Z])(?P<sign>[.．、:：)）]))[.．:：]?\*{0,2}[ \t]*",
    re.MULTILINE,
)
_SAME_SIGN = str.maketrans("．：）", ".:)")
_PARAGRAPH_END = re.compile(r"\n[ \t\r]*\n")
_QUESTION = re.compile(r"[?？]")
_JOINING = re.compile(r"(?:\b(?:and|or)|[和或与及、])$")
_TAG = re.compile(r"</?[a-z]{1,10}\s?/?>", re.IGNORECASE)
_AROUND = " \t\r\n;；,，*"


@dataclass(frozen=True, slots=True)
class PublishedOptions:
    """Options from A on. `texts` is empty where it is not certain where each begins and ends."""

    count: int
    texts: tuple[str, ...]


class _OptionMark(NamedTuple):
    letter: str
    start: int
    end: int
    begins_line: bool


def listed_options(prompt: str) -> PublishedOptions | None:
    """None where the prompt lists none: at least two marks of one form, with consecutive letters from A on, that no
    question of the same paragraph follows. What stands before a question may be what it is about."""
    lists = [marks for marks in _marks(prompt) if _length(marks) >= FEWEST and not _is_asked_about(prompt, marks)]
    if not lists:
        return None
    lined = [found for marks in lists if (found := _on_lines(marks))]
    marks = lined[0] if len(lined) == 1 else lists[0] if not lined and len(lists) == 1 and _is_exact(lists[0]) else ()
    return (
        PublishedOptions(len(marks), _texts(prompt, marks)) if marks else PublishedOptions(max(map(_length, lists)), ())
    )


def has_mark(text: str) -> bool:
    """Whether there is anything that could be the mark of an option."""
    return _MARK.search(text) is not None


def _marks(prompt: str) -> Iterator[Sequence[_OptionMark]]:
    """The marks of each form."""
    found: defaultdict[str, list[_OptionMark]] = defaultdict(list)
    for match in _MARK.finditer(prompt):
        form = match["sign"].translate(_SAME_SIGN) if match["sign"] else "("
        line = prompt.rfind("\n", max(0, match.start() - 16), match.start()) + 1
        begins_line = not prompt[line or max(0, match.start() - 16) : match.start()].strip()
        found[form].append(_OptionMark(match["bracketed"] or match["bare"], match.start(), match.end(), begins_line))
    yield from found.values()


def _is_asked_about(prompt: str, marks: Sequence[_OptionMark]) -> bool:
    *others, last = _pieces(prompt, marks)
    return bool(_QUESTION.search(last)) and not all(map(_QUESTION.search, others))


def _pieces(prompt: str, marks: Sequence[_OptionMark]) -> list[str]:
    """What follows each mark; behind the last one, up to an empty line."""
    texts = [prompt[mark.end : following.start].strip(_AROUND) for mark, following in pairwise(marks)]
    return [*texts, _PARAGRAPH_END.split(prompt[marks[-1].end :].strip(_AROUND), maxsplit=1)[0].strip(_AROUND)]


def _length(marks: Sequence[_OptionMark]) -> int:
    """How many letters from A on follow each other, with anything between."""
    count = 0
    for mark in marks:
        if count < len(LETTERS) and mark.letter == LETTERS[count]:
            count += 1
    return count


def _is_exact(marks: Sequence[_OptionMark]) -> bool:
    """Whether the letters are there once each, in their order, and no others."""
    return "".join(mark.letter for mark in marks) == LETTERS[: len(marks)]


def _on_lines(marks: Sequence[_OptionMark]) -> Sequence[_OptionMark]:
    """Those that begin a line, if these are a list by themselves that does not go on within a line."""
    found = [mark for mark in marks if mark.begins_line]
    following = LETTERS[len(found) : len(found) + 1]
    is_list = len(found) >= FEWEST and _is_exact(found) and all(mark.letter != following for mark in marks)
    return found if is_list else ()


def _texts(prompt: str, marks: Sequence[_OptionMark]) -> tuple[str, ...]:
    # What follows the last option after an empty line is no part of it, unless options hold such lines themselves.
    *texts, last = _pieces(prompt, marks)
    lines = {text.count("\n") for text in texts}
    is_certain = (
        all((*texts, last))
        and last.count("\n") in lines
        and not any(_PARAGRAPH_END.search(text) or _JOINING.search(text) for text in texts)
        and not any(map(_TAG.search, (*texts, last)))
    )
    return (*texts, last) if is_certain else ()


# The letters that a reference names, where it is certain that it names letters.


_INTRODUCTION = re.compile(
    r"(?:(?:正确|参考|最终|标准|本题){0,2}(?:答案|选项|选择)\s{0,2}(?:应该|应)?(?:是|为|选)?|(?:应该|应|故)?选(?!项|择)"
    r"|(?:the\s)?(?:(?:correct|right|final)\s)?(?:answers?|options?|choices?)(?:\s(?:is|are))?)\s{0,2}[:：]?\s{0,4}",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\d{1,3}\s{0,2}[.．、)）]\s{0,4}")
_LETTER = r"[(（\[【\"“'*]{0,3}(?:选项|Option )?([A-Z])(?![A-Za-z0-9_'’^])[\])）】\"”'*]{0,3}"
_ONE = re.compile(_LETTER)
# Not a line's end: what stands on lines of its own may answer one question each.
_SEPARATOR = re.compile(r"[ \t]{0,3}(?:[,，、;；&]|以及|和|与|及|\band\b|[ \t])[ \t]{0,3}(?:and[ \t]|以及|和)?")
_RUN = re.compile(r"[*(（\"“]{0,3}([A-Z]{2,26})(?![A-Za-z0-9_'’^-])[*)）\"”]{0,3}")
_SMALL = re.compile(r"[(（]?([a-z])[)）]?[.。]?")
_END = re.compile(r"(?:项|选项)?(?:都?是?(?:正确|对)的?|(?:is|are)\scorrect)?[\s.。!！;；]*")
_STRONG = re.compile(r"[ \t]?(?:。|——)|[ \t]—[ \t]|[ \t]{0,4}[.．、]?[ \t]{0,4}\n")
_WEAK = re.compile(r"\s?(?:[.．、:：]|[-–]\s)\s{0,4}|\s{0,2}(?=[(（])|(?<=[)）\]】*])\s{0,4}")
_PART_END = re.compile(r"[\n;；]")
_VERDICT = re.compile(
    r"错误|有误|不对|不正确|否|[×✗✘]|\b(?:wrong|incorrect|false|no|not\s(?:right|correct|true))\b", re.IGNORECASE
)
_JOINS = re.compile(r"[\s,，、;；]{0,4}(?:[和或与及]|以及|(?:and|or)\b)", re.IGNORECASE)
_AROUND_LETTERS = " \t\n.。,，;；:：*()（）[]【】"
_NEXT_PART = re.compile(r"[(（]?[2２][)）]?\s?[.．、)）:：]|②|第二")
_NAMED = re.compile(r"(?<![A-Za-z0-9_'’^])([A-Z]{1,26})(?![A-Za-z0-9_'’^])")
_ARTICLE = re.compile(r"A (?!(?:is|are|was|and|or|also|can|may|could|would|should|too|if)\b)[a-z]")
_DENIED = re.compile(
    r"(?:[A-Z](?:选?项)?\s?[、,，和与及]\s?){0,25}(?<![A-Za-z0-9])[A-Z]{1,26}(?:选?项)?"
    r"(?:\s?[均都]?是?(?:错|有误|不正确|不对)|\s(?:is|are)\s(?:wrong|incorrect|false))"
)
_TOKEN = re.compile(r"[\u4e00-\u9fff]|[^\W_\u4e00-\u9fff]+")


def right_letters(reference: str, options: PublishedOptions) -> tuple[str, ...]:
    """In alphabetical order; () where the reference is anything but letters of these options.

    After a letter the text of its option may stand, and after a full stop or on further lines anything that names no
    other letter but to deny it: else it may be an exception, a correction or a second answer. Several letters are
    taken only for options that can be told apart, and none that are out of order: they may answer several questions,
    or one for an order.
    """
    text = reference.replace("\r\n", "\n").strip()
    introduction = _INTRODUCTION.match(text, _skipped(_NUMBER, text, 0))
    start = introduction.end() if introduction else _skipped(_NUMBER, text, 0)
    letters = _from_parts(text, options) or _read(text[start:].strip(), options)
    in_order = all(one < other for one, other in pairwise(letters))
    is_certain = len(letters) < 2 or bool(options.texts)
    are_there = all(letter in LETTERS[: options.count] for letter in letters)
    return tuple(letters) if in_order and is_certain and are_there else ()


def _skipped(pattern: re.Pattern[str], text: str, position: int) -> int:
    match = pattern.match(text, position)
    return match.end() if match else position


def _read(text: str, options: PublishedOptions) -> str:
    """Letters at the beginning, and after them nothing, the one letter's text, or what is no other answer."""
    if small := _SMALL.fullmatch(text):
        return "" if _is_said_by_option(small[1].upper(), options) else small[1].upper()
    run = _RUN.match(text)
    letters, end = (run[1], run.end()) if run else _listed(text)
    if not letters or _END.fullmatch(text[end:].lstrip()):
        return "" if _is_said_by_option(letters, options) or (run and _is_word(letters, options)) else letters
    if strong := _STRONG.match(text, end):
        rest = text[strong.end() :].strip()
        return "" if _is_other(rest, letters, options) or _answers_again(rest) else letters
    weak = _WEAK.match(text, end)
    if weak and len(letters) == 1:
        behind = _behind_text(text[weak.end() :], letters, options)
        return letters if behind is not None and not _takes_back(behind, letters, options) else ""
    return ""


def _is_other(rest: str, letters: str, options: PublishedOptions) -> bool:
    """Whether what stands apart from the letters makes another answer of them."""
    if _names_another(rest, letters, options) or _is_of_another(rest, letters, options):
        return True
    behind = _behind_text(rest, letters, options) if len(letters) == 1 else None
    return behind is not None and _takes_back(behind.partition("\n")[0], letters, options)


def _listed(text: str) -> tuple[str, int]:
    letters, position, end = "", 0, 0
    while len(letters) <= len(LETTERS) and (match := _ONE.match(text, position)):
        letters, end = letters + match[1], match.end()
        separator = _SEPARATOR.match(text, end)
        if separator is None:
            break
        position = separator.end()
    return letters, end


def _from_parts(text: str, options: PublishedOptions) -> str:
    """Several options, each with its letter and its text, on lines of their own or between semicolons."""
    letters = ""
    for part in filter(None, map(str.strip, _PART_END.split(text))):
        match = _ONE.match(part)
        weak = match and _WEAK.match(part, match.end())
        behind = _behind_text(part[weak.end() :], match[1], options) if match and weak else None
        if not match or behind is None or behind.strip(_AROUND_LETTERS) or len(letters) >= options.count:
            return ""
        letters += match[1]
    return letters


def _is_word(letters: str, options: PublishedOptions) -> bool:
    """Whether several letters are a word that an option says: "AC" of alternating current."""
    return len(letters) > 1 and any(letters in _TOKEN.findall(text) for text in options.texts)


def _is_said_by_option(letters: str, options: PublishedOptions) -> bool:
    """Whether the letters could be the text of another option, or name it: a grade, "type B", "both A and B"."""
    for letter, text in zip(LETTERS, options.texts, strict=False):
        tokens = [token.upper() for token in _TOKEN.findall(text)]
        named = "".join(token for token in tokens if token in LETTERS and len(token) == 1)
        is_said = named == letters and (len(letters) > 1 or len(tokens) == 1)
        if letter != letters and (is_said or letters in _letters_in(text)):
            return True
    return False


def _letters_in(text: str) -> list[str]:
    """Capitals that stand by themselves, one or several in one, but for an article."""
    return [found[1] for found in _NAMED.finditer(text) if not _ARTICLE.match(text, found.start())]


def _answers_again(rest: str) -> bool:
    """Whether the answer to a second part follows, or what is said of the letter, or a line begins with letters too: a
    question of several parts, or a word on the other options."""
    if _NEXT_PART.match(rest) or _VERDICT.match(rest):
        return True
    for line in map(str.strip, rest.split("\n")):
        match = _ONE.match(line, _skipped(_NUMBER, line, 0))
        if match and (_WEAK.match(line, match.end()) or _END.fullmatch(line[match.end() :].lstrip())):
            return True
    return has_mark(rest)


def _names_another(rest: str, letters: str, options: PublishedOptions) -> bool:
    there = set(LETTERS[: options.count])
    named = (set(run) for run in _letters_in(_DENIED.sub(" ", rest)))
    return any(run <= there and not run <= set(letters) for run in named)


def _is_of_another(rest: str, letters: str, options: PublishedOptions) -> bool:
    others = [text for letter, text in zip(LETTERS, options.texts, strict=False) if letter not in letters]
    return any(_agree(rest, text) for text in others)


def _behind_text(said: str, letter: str, options: PublishedOptions) -> str | None:
    """What is said after the text of the letter's option, or the beginning of that text; None where another is said."""
    place = LETTERS.index(letter)
    text = options.texts[place] if place < len(options.texts) else ""
    if not text or not _agree(said, text):
        return None
    length = len(_TOKEN.findall(text))
    ends = [token.end() for token in islice(_TOKEN.finditer(said), length)]
    return said[ends[-1] if ends else len(text) :]


def _takes_back(behind: str, letters: str, options: PublishedOptions) -> bool:
    """Whether what follows an option's text makes another answer of it: no, "or B", "and delta ray", "is wrong"."""
    return bool(
        has_mark(behind)
        or _VERDICT.search(behind)
        or _names_another(behind, letters, options)
        or ((joined := _JOINS.match(behind)) and _is_of_another(behind[joined.end() :], letters, options))
    )


def _agree(said: str, text: str) -> bool:
    """Whether one begins with the other, word by word."""
    one, other = _TOKEN.findall(said.casefold()), _TOKEN.findall(text.casefold())
    length = min(len(one), len(other))
    return one[:length] == other[:length] if length else said.strip(_AROUND_LETTERS) == text.strip(_AROUND_LETTERS)


# A published reference: the answer, and the points that an answer has to meet.


_OPEN, _CLOSE = "<＜〈《【\\[［", ">＞〉》】\\]］"
_MARKER = re.compile(
    rf"[{_OPEN}]\s{{0,4}}(?:(?P<answer>参考答案|reference answer)|评估[要考]点|evaluation points)\s{{0,4}}[{_CLOSE}]"
    r"\s{0,4}[:：]?",
    re.IGNORECASE,
)
_NO_POINTS = frozenset({"", "无", "暂无", "none", "null", "n/a", "na", "nan", "-", "/"})


class Reference(NamedTuple):
    """`points` is "" where there are none."""

    answer: str
    points: str


def split_reference(text: str) -> Reference:
    """Takes apart what stands under `<参考答案>` and under `<评估要点>` (or `<评估考点>`), in any order, or under
    `<Reference Answer>` and `<Evaluation Points>`, as the papers print them.

    What stands before the first marker belongs to the answer, which is all of it where there is no marker.
    """
    answer: list[str] = []
    points: list[str] = []
    into, start = answer, 0
    for marker in _MARKER.finditer(text):
        into.append(text[start : marker.start()].strip())
        into, start = answer if marker["answer"] else points, marker.end()
    into.append(text[start:].strip())
    found = "\n".join(filter(None, points))
    return Reference("\n".join(filter(None, answer)), "" if found.rstrip("。.").casefold() in _NO_POINTS else found)


# A published judge prompt: a template in which what is known is filled in, and the answer is left open.


_RESPONSE = "response"
_PLACE = re.compile(r"\{(response|response_reference|prompt)\}")


def judge_prompt(system: str, template: str, *, prompt: str, reference: str) -> JudgePrompt | None:
    """The template with the question's prompt and whole reference in it, cut where the answer goes; None where there is
    no template. Braces that hold anything else stay as they are.

    Raises LineError where the template has no place for the answer, or several.
    """
    if not template.strip():
        return None
    known = {"prompt": prompt, "response_reference": reference}
    # Split at once, so that what is filled in is never searched for places itself.
    pieces = _PLACE.split(template)
    texts, names = pieces[::2], pieces[1::2]
    count = names.count(_RESPONSE)
    if count != 1:
        raise LineError(
            f"'judge_prompt_template' has {f'{count} places' if count else 'no place'} for the answer",
            "It needs {response} once, and may have {prompt} and {response_reference}.",
        )
    sides = [texts[0]]
    for name, text in zip(names, texts[1:], strict=True):
        if name == _RESPONSE:
            sides.append(text)
        else:
            sides[-1] += known[name] + text
    before, after = sides
    return JudgePrompt(system=system, before=before, after=after)


SOURCE = "lpfqa"

_TEXT = "a text in quotes"
_FULL = "a text in quotes that is not blank"
ALLOWED: Mapping[str, str] = {
    "prompt_id": "a text in quotes that is not empty, or a whole number",
    "prompt": _FULL,
    "response_reference": _FULL,
    "judge_system_prompt": _TEXT,
    "judge_prompt_template": _TEXT,
    "primary_domain": _TEXT,
    "secondary_domain": _TEXT,
}

_ASKS_ORDER = re.compile(
    r"顺序|排序|排列|次序|先后|依次|[由从].{1,8}到|配对|匹配|对应|连线|填[入空写]|横线"
    r"|\b(?:order|sequenc|rank|arrang|sort|match|pair|blank|respective)",
    re.IGNORECASE,
)
"""Or for a letter each of several things: the letters are no set then."""

FullText = Annotated[str, Field(pattern=r"\S")]


class LpfqaRow(BaseModel):
    """One row. Keys of other names are passed over."""

    model_config = ConfigDict(frozen=True)

    prompt_id: Annotated[str, Field(min_length=1)] | int
    prompt: FullText
    response_reference: FullText
    judge_system_prompt: str = ""
    judge_prompt_template: str = ""
    primary_domain: str = ""
    secondary_domain: str = ""


def load_lpfqa(path: str | Path) -> tuple[Question, ...]:
    """Reads one published question in each row of a source that `rows_of` reads.

    A question is asked as it is published. It has a choice target where its prompt lists options and its reference
    names letters of them, and its choices where the options can be told apart for certain; else its target is the
    reference. Its rubric holds reference and points, and its own judge prompt if it has one.

    Raises InputError that names the file, the row, the key, what was found and what is allowed.
    """
    questions: list[Question] = []
    identities = Identities("question", key="prompt_id")
    for place, row in typed_rows(path, LpfqaRow, ALLOWED):
        try:
            identities.take(str(row.prompt_id), place)
            questions.append(question_of_row(row))
        except LineError as error:
            raise at(place, error) from error
    return tuple(questions)


def question_of_row(row: LpfqaRow) -> Question:
    """Raises LineError."""
    reference, points = split_reference(row.response_reference)
    if not reference and not points:
        raise LineError(
            "'response_reference' has neither a reference answer nor points", f"Found {shown(row.response_reference)}."
        )
    asks = judge_prompt(
        row.judge_system_prompt, row.judge_prompt_template, prompt=row.prompt, reference=row.response_reference
    )
    target, choices = _choice(row.prompt, reference)
    return Question(
        id=str(row.prompt_id),
        prompt=row.prompt,
        choices=choices,
        as_is=True,
        target=target or ReferenceTarget(answer=reference or points),
        rubric=Rubric(reference=reference, points=points, prompt=asks),
        domain=row.primary_domain,
        language=language_of(row.prompt),
        source=SOURCE,
        metadata={"secondary_domain": row.secondary_domain} if row.secondary_domain else {},
    )


def _choice(prompt: str, reference: str) -> tuple[ChoiceTarget | None, tuple[str, ...]]:
    options = listed_options(prompt)
    letters = right_letters(reference, options) if options else ()
    if not options or not letters or (len(letters) > 1 and _ASKS_ORDER.search(prompt)):
        return None, ()
    return ChoiceTarget(letters=letters), options.texts
