"""Reads letters that a reply calls right without announcing an answer: "option C is correct", "I choose (C)"."""

import re
from collections.abc import Mapping

from toolablate.benchmarks.extraction.heads import judged
from toolablate.benchmarks.extraction.letters import BRACKETED
from toolablate.benchmarks.extraction.markers import before_another_question
from toolablate.benchmarks.extraction.reading import Reading
from toolablate.benchmarks.extraction.wording import TOLD_APART, is_complete, normalised

_RIGHT = (
    r"(?:the\s)?(?:most\s|only\s)?(?:correct|right|best|appropriate|accurate|true|closest|(?<=the\s)answer)\b"
    # Not for itself: "correct only if", "the closest to being wrong".
    r"(?!\s(?:only\s)?(?:if|except|unless|to\sbeing)\b)"
)
_SURELY = r"(?:(?:therefore|thus|indeed)\s)?"
# Bare, a letter is an option's only where it begins a clause: "vitamin C is the best" names none.
_CLAUSE = r"(?:^|[.,;:!?*-]\s{0,2}|\b(?:[Ss]o|[Tt]hus|[Tt]herefore|[Hh]ence|that|think|believe|conclude)\s)"
# "Choose C = 5", "choose A or B".
_CHOSEN = r"(?![\w'’-]|\)?\s?[=≈<>/]|\)?,?\s(?:to\sbe|such|so\sthat|from|or|and)\b)"
_LOOSE = re.compile(
    rf"\b(?:[Oo]ption|[Cc]hoice|[Aa]nswer|[Ss]tatement)\s\(?([A-Z])\)?,?\s(?:is|as)\s{_SURELY}{_RIGHT}"
    rf"|(?<!\w)\(([A-Z])\)\sis\s{_SURELY}{_RIGHT}"
    rf"|{_CLAUSE}([A-Z])\sis\s{_SURELY}{_RIGHT}"
    rf"|\b(?:choose|select|pick|chose|selected|go\swith)\s(?:option\s|choice\s|answer\s)?\(?([A-Z]){_CHOSEN}"
    r"|(?<![和与及或、])([A-Z])\s?(?:选?项)?(?:是|为)?(?:正确|对)(?:(?:的|答案|选项)|(?=[\s.,;!]|$))",
    re.MULTILINE,
)
# What is like an option may be anything that is talked about, and is the answer only where the reply comes to its end.
_LIKE = re.compile(
    r"\b(?:corresponds?|corresponding|equivalent|closest)\sto\s(?:option|answer|choice)\s\(?([A-Z])(?![\w'’-])"
    r"|\b(?:aligns\swith|matches|(?:is|be))\s(?:option|answer|choice)\s\(([A-Z])\)"
    r"|\bas\s(?:stated|described|mentioned|given|shown|listed|indicated|suggested|explained|noted|outlined|seen)\s(?:in|by)\s"
    r"(?:option|answer|choice)\s\(?([A-Z])(?![\w'’-])"
    r"|对应的?(?:是|为)?(?:选项|答案)(?:是|为)?\s?\(?([A-Z])(?![A-Za-z])"
)
# "The stage is: J. Resolution": the text of the letter's own choice has to follow.
_LETTERED = re.compile(r"\b(?:the|is|be|was|as|called):?\s{1,3}[(\[]?(?P<letter>[A-Z])[)\].:]{1,2}\s{1,3}(?=\S)")
_LISTED = re.compile(r"\b(?:options|choices|statements|first|next)\b", re.IGNORECASE)
_CLOSING = re.compile(r"\b(?:is|are|was|were|be|as|or\sanswer)\s\(([A-Z])\)(?=[\s.,:]|$)")
_ASSESSED = re.compile(
    r"(?<!\w)\(?([A-Z])\)?\s(?:is|are|was|would\sbe)\s(?:not\s)?(?:in)?(?:correct|right|wrong|false|true)\b"
)
_DENIED = re.compile(r"\b(?:not|incorrect|wrong|false|less)\b|n't\b", re.IGNORECASE)
_SENTENCE_END = re.compile(r"[.!?](?=\s)")
_LAST_SENTENCES = 3


def read_loose(text: str, allowed: str, texts: Mapping[str, str]) -> Reading | None:
    """Weaker announcements: "option C is correct", "I choose (C)", "the best explanation is (C)." at the very end, "it
    is C. Wheat" with the text of the choice.

    Several letters that are called right stand beside each other, and none is the answer. A reply that broke off while
    it went through the options might have called more of them right.
    """
    text = before_another_question(text)
    last = _closing(text.rpartition("\n")[2])
    if last is not None:
        return judged([last[1]], "", allowed)
    found = list(_LOOSE.finditer(text))
    letters = sorted({letter for match in found for letter in match.groups() if letter})
    if not letters:
        like = next(_LIKE.finditer(text, _start_of_last(text)), None)
        return (
            judged([letter for letter in like.groups() if letter], "", allowed) if like else _read_lettered(text, texts)
        )
    if len(letters) > 1:
        return Reading(None, f"the reply calls several letters right: {', '.join(letters)}")
    if not is_complete(text) and _ASSESSED.search(text, found[-1].end()):
        return None
    return judged(letters, "", allowed)


def _read_lettered(text: str, texts: Mapping[str, str]) -> Reading | None:
    """The one letter that stands beside the text of its choice, in the last sentences."""
    found: set[str] = set()
    for match in list(_LETTERED.finditer(text, _start_of_last(text)))[-len(texts) :]:
        letter, own = match["letter"], texts.get(match["letter"], "")
        before = text[max(0, match.start() - 100) : match.start("letter")].rpartition(". ")[2]
        if not own or not normalised(text[match.end() : match.end() + 100]).startswith(own[:TOLD_APART]):
            continue
        if _DENIED.search(before) or _LISTED.search(before) or _is_contested(letter, text[match.end() :]):
            return None
        found.add(letter)
    return Reading((found.pop(),)) if len(found) == 1 else None


def _start_of_last(text: str) -> int:
    """Where the last sentences begin: the answer, and perhaps a remark on it."""
    ends = [match.end() for match in _SENTENCE_END.finditer(text)]
    return ends[-_LAST_SENTENCES] if len(ends) >= _LAST_SENTENCES else 0


def _closing(line: str) -> re.Match[str] | None:
    """The last "is (C)" of a line, unless its sentence has another or a later one speaks for another letter."""
    found = list(_CLOSING.finditer(line))[-2:]
    if not found or _is_contested(found[-1][1], line[found[-1].end() :]):
        return None
    before, last = found[0], found[-1]
    if before[1] != last[1] and not _SENTENCE_END.search(line, before.end(), last.start()):
        return None
    return last


def _is_contested(letter: str, rest: str) -> bool:
    """Whether a later sentence speaks for another letter."""
    for sentence in _SENTENCE_END.split(rest):
        others = {bracket["letter"] for bracket in BRACKETED.finditer(sentence)} - {letter, None}
        if others and not _DENIED.search(sentence):
            return True
    return False
