"""Reads the letters of the chosen options from a reply."""

import re
from collections.abc import Mapping, Sequence

from toolablate.benchmarks.extraction.heads import NONE_FITS, is_foreign, judged, read_head, read_part, undecorated
from toolablate.benchmarks.extraction.letters import BRACKETED, match_letters
from toolablate.benchmarks.extraction.markers import announcements, final_part, is_announced
from toolablate.benchmarks.extraction.reading import EMPTY, NO_ANSWER, Reading
from toolablate.benchmarks.extraction.run_on import without_other_answers
from toolablate.benchmarks.extraction.wording import is_text, normalised, without_markup

NOT_A_CHOICE = "an answer is announced, but it names no choice"

_LOOSE = re.compile(
    r"\b(?:option|choice|answer|statement)\s\(?([A-Z])\)?,?\s(?:is|as)\s(?:the\s)?(?:most\s)?"
    r"(?:correct|right|best|appropriate|accurate|true|closest)\b"
    r"|(?<!\w)\(?([A-Z])\)?\sis\s(?:(?:therefore|thus|indeed)\s)?(?:the\s)?(?:most\s)?(?:correct|right|best|closest)\b"
    r"|\b(?:choose|select|pick|chose|selected|go\swith)\s(?:option\s|choice\s|answer\s)?\(?([A-Z])(?![\w'’-])"
    r"|\b(?:corresponds?|corresponding|equivalent|closest)\sto\s(?:option|answer|choice)\s\(?([A-Z])(?![\w'’-])"
    r"|([A-Z])\s?(?:选?项)?(?:是|为)?(?:正确|对)(?:的|答案|选项)"
    r"|对应的?(?:是|为)?(?:选项|答案)(?:是|为)?\s?\(?([A-Z])(?![A-Za-z])",
)
_CLOSING = re.compile(r"\b(?:is|are|was|were|be|as|or\sanswer)\s\(([A-Z])\)(?=[\s.,:]|$)")
_SENTENCE_END = re.compile(r"[.!?](?=\s)")
_DENIED = re.compile(r"\b(?:not|incorrect|wrong|false|less)\b|n't\b", re.IGNORECASE)
_NONE_OF_THEM = re.compile(
    r"\bnone\sof\sthe\s(?:(?:given|provided|listed|above|available|answer)\s){0,2}(?:options?|choices|answers)\s"
    r"(?:(?:provided|given|listed|above)\s)?(?:is|are|match(?:es)?|seems?)\b",
    re.IGNORECASE,
)


def read_letters(reply: str | None, allowed: str, choices: Sequence[str] = ()) -> Reading:
    """The letters that the reply finally gives, in alphabetical order without repetition.

    The last announced answer counts: letters in many dresses, or the text of a choice, verbatim. Where none is
    announced, a sentence such as "option C is correct" or a last line that is nothing but letters will do. Nothing is
    read where the reply gives no answer, names a letter that is none of `allowed`, wavers ("B or C"), or says that no
    choice is right.
    """
    text = without_markup(final_part(reply or "")).strip()
    if not text:
        return Reading(None, EMPTY)
    texts = {letter: normalised(choice) for letter, choice in zip(allowed, choices, strict=False)}
    window = max(400, 2 * max((len(choice) for choice in choices), default=0))
    text = without_other_answers(text)
    return (
        read_refusal(text)
        or read_announced(text, allowed, texts, window)
        or read_loose(text, allowed)
        or read_bare(text, allowed, texts)
        or Reading(None, NOT_A_CHOICE if is_announced(text) else NO_ANSWER)
    )


def read_refusal(text: str) -> Reading | None:
    """A last sentence that says that none of the options is right, and names none."""
    line = text.rpartition("\n")[2]
    start = max((match.end() for match in _SENTENCE_END.finditer(line)), default=0)
    refused = _NONE_OF_THEM.search(line, start) and not BRACKETED.search(line, start)
    return Reading(None, NONE_FITS) if refused else None


def read_announced(text: str, allowed: str, texts: Mapping[str, str], window: int) -> Reading | None:
    """The last announcement that names choices, or says that there is none; None where all are prose.

    Letters with the text of no choice of this question count only where no other announcement names one.
    """
    doubted: Reading | None = None
    heads = (undecorated(head) for head in announcements(text, window=window))
    for head in heads:
        reading = read_head(head, allowed, texts)
        if reading is None:
            continue
        if reading.value is None:
            return doubted or reading
        if doubted is None and len(reading.value) == 1 and is_foreign(head, reading.value[0], texts):
            doubted = reading
            continue
        before = read_part(next(heads, ""), texts)
        return judged([*reading.value, before], "", allowed) if before else reading
    return doubted


def read_loose(text: str, allowed: str) -> Reading | None:
    """Weaker announcements: "option C is correct", "I choose (C)", "the best explanation is (C)." at the very end."""
    last = _closing(text.rpartition("\n")[2])
    if last is None:
        for match in _LOOSE.finditer(text):
            last = match
    if last is None:
        return None
    return judged([group for group in last.groups() if group], "", allowed)


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


def read_bare(text: str, allowed: str, texts: Mapping[str, str]) -> Reading | None:
    """A reply, or at least its last line, that is nothing but the answer."""
    *before, last = [line for line in text.splitlines() if line.strip()]
    head = undecorated(last)
    for letter, choice in texts.items():
        if is_text(head, choice) and list(texts.values()).count(choice) == 1:
            return Reading((letter,))
    found, length = match_letters(head, texts)
    rest = head[length:].strip(" .,;:!)]}>\"'”’-")
    if before:
        decided = not rest and head[:length].isupper() and not _continues_list(before[-1], found)
    else:
        decided = not rest or (len(found) == 1 and is_text(rest, texts.get(found[0], "")))
    return judged(found, head[:length], allowed) if found and decided else None


def _continues_list(before: str, found: Sequence[str]) -> bool:
    """Whether a last line is the next item of a list of options, where the reply broke off."""
    return len(found) == 1 and re.match(rf"\W*{chr(ord(found[0]) - 1)}[.):]", before) is not None
