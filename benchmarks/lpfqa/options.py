"""The options that a prompt lists itself: "A. ... B. ... C. ...", each on a line of its own or all in one."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from toolablate.benchmarks.lettering import LETTERS

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
class Options:
    """Options from A on. `texts` is empty where it is not certain where each begins and ends."""

    count: int
    texts: tuple[str, ...]


class _Mark(NamedTuple):
    letter: str
    start: int
    end: int
    begins_line: bool


def listed_options(prompt: str) -> Options | None:
    """None where the prompt lists none: at least two marks of one form, with consecutive letters from A on, that no
    question of the same paragraph follows. What stands before a question may be what it is about."""
    lists = [marks for marks in _marks(prompt) if _length(marks) >= FEWEST and not _is_asked_about(prompt, marks)]
    if not lists:
        return None
    lined = [found for marks in lists if (found := _on_lines(marks))]
    marks = lined[0] if len(lined) == 1 else lists[0] if not lined and len(lists) == 1 and _is_exact(lists[0]) else ()
    return Options(len(marks), _texts(prompt, marks)) if marks else Options(max(map(_length, lists)), ())


def has_mark(text: str) -> bool:
    """Whether there is anything that could be the mark of an option."""
    return _MARK.search(text) is not None


def _marks(prompt: str) -> Iterator[Sequence[_Mark]]:
    """The marks of each form."""
    found: defaultdict[str, list[_Mark]] = defaultdict(list)
    for match in _MARK.finditer(prompt):
        form = match["sign"].translate(_SAME_SIGN) if match["sign"] else "("
        line = prompt.rfind("\n", max(0, match.start() - 16), match.start()) + 1
        begins_line = not prompt[line or max(0, match.start() - 16) : match.start()].strip()
        found[form].append(_Mark(match["bracketed"] or match["bare"], match.start(), match.end(), begins_line))
    yield from found.values()


def _is_asked_about(prompt: str, marks: Sequence[_Mark]) -> bool:
    *others, last = _pieces(prompt, marks)
    return bool(_QUESTION.search(last)) and not all(map(_QUESTION.search, others))


def _pieces(prompt: str, marks: Sequence[_Mark]) -> list[str]:
    """What follows each mark; behind the last one, up to an empty line."""
    texts = [prompt[mark.end : following.start].strip(_AROUND) for mark, following in pairwise(marks)]
    return [*texts, _PARAGRAPH_END.split(prompt[marks[-1].end :].strip(_AROUND), maxsplit=1)[0].strip(_AROUND)]


def _length(marks: Sequence[_Mark]) -> int:
    """How many letters from A on follow each other, with anything between."""
    count = 0
    for mark in marks:
        if count < len(LETTERS) and mark.letter == LETTERS[count]:
            count += 1
    return count


def _is_exact(marks: Sequence[_Mark]) -> bool:
    """Whether the letters are there once each, in their order, and no others."""
    return "".join(mark.letter for mark in marks) == LETTERS[: len(marks)]


def _on_lines(marks: Sequence[_Mark]) -> Sequence[_Mark]:
    """Those that begin a line, if these are a list by themselves that does not go on within a line."""
    found = [mark for mark in marks if mark.begins_line]
    following = LETTERS[len(found) : len(found) + 1]
    is_list = len(found) >= FEWEST and _is_exact(found) and all(mark.letter != following for mark in marks)
    return found if is_list else ()


def _texts(prompt: str, marks: Sequence[_Mark]) -> tuple[str, ...]:
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
