"""The letters that a reference names, where it is certain that it names letters."""

import re
from itertools import islice, pairwise

from toolablate.benchmarks.lettering import LETTERS
from toolablate.benchmarks.lpfqa.options import Options, has_mark

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
_AROUND = " \t\n.。,，;；:：*()（）[]【】"
_NEXT_PART = re.compile(r"[(（]?[2２][)）]?\s?[.．、)）:：]|②|第二")
_NAMED = re.compile(r"(?<![A-Za-z0-9_'’^])([A-Z]{1,26})(?![A-Za-z0-9_'’^])")
_ARTICLE = re.compile(r"A (?!(?:is|are|was|and|or|also|can|may|could|would|should|too|if)\b)[a-z]")
_DENIED = re.compile(
    r"(?:[A-Z](?:选?项)?\s?[、,，和与及]\s?){0,25}(?<![A-Za-z0-9])[A-Z]{1,26}(?:选?项)?"
    r"(?:\s?[均都]?是?(?:错|有误|不正确|不对)|\s(?:is|are)\s(?:wrong|incorrect|false))"
)
_TOKEN = re.compile(r"[\u4e00-\u9fff]|[^\W_\u4e00-\u9fff]+")


def right_letters(reference: str, options: Options) -> tuple[str, ...]:
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


def _read(text: str, options: Options) -> str:
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


def _is_other(rest: str, letters: str, options: Options) -> bool:
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


def _from_parts(text: str, options: Options) -> str:
    """Several options, each with its letter and its text, on lines of their own or between semicolons."""
    letters = ""
    for part in filter(None, map(str.strip, _PART_END.split(text))):
        match = _ONE.match(part)
        weak = match and _WEAK.match(part, match.end())
        behind = _behind_text(part[weak.end() :], match[1], options) if match and weak else None
        if not match or behind is None or behind.strip(_AROUND) or len(letters) >= options.count:
            return ""
        letters += match[1]
    return letters


def _is_word(letters: str, options: Options) -> bool:
    """Whether several letters are a word that an option says: "AC" of alternating current."""
    return len(letters) > 1 and any(letters in _TOKEN.findall(text) for text in options.texts)


def _is_said_by_option(letters: str, options: Options) -> bool:
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


def _names_another(rest: str, letters: str, options: Options) -> bool:
    there = set(LETTERS[: options.count])
    named = (set(run) for run in _letters_in(_DENIED.sub(" ", rest)))
    return any(run <= there and not run <= set(letters) for run in named)


def _is_of_another(rest: str, letters: str, options: Options) -> bool:
    others = [text for letter, text in zip(LETTERS, options.texts, strict=False) if letter not in letters]
    return any(_agree(rest, text) for text in others)


def _behind_text(said: str, letter: str, options: Options) -> str | None:
    """What is said after the text of the letter's option, or the beginning of that text; None where another is said."""
    place = LETTERS.index(letter)
    text = options.texts[place] if place < len(options.texts) else ""
    if not text or not _agree(said, text):
        return None
    length = len(_TOKEN.findall(text))
    ends = [token.end() for token in islice(_TOKEN.finditer(said), length)]
    return said[ends[-1] if ends else len(text) :]


def _takes_back(behind: str, letters: str, options: Options) -> bool:
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
    return one[:length] == other[:length] if length else said.strip(_AROUND) == text.strip(_AROUND)
