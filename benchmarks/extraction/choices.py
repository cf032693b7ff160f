"""Reads the letters of the chosen options from a reply."""

import re
from collections.abc import Mapping, Sequence

from toolablate.benchmarks.extraction.letters import BRACKETED, HEDGE, match_letters
from toolablate.benchmarks.extraction.markers import announcements, final_part
from toolablate.benchmarks.extraction.reading import EMPTY, NO_ANSWER, Reading
from toolablate.benchmarks.extraction.wording import is_text, match_text, normalised, without_markup

NOT_A_CHOICE = "an answer is announced, but it names no choice"
NONE_FITS = "the reply says that no choice fits"

_DECORATION = re.compile(r"(?:[\s:=>~\"'“”‘’_]|[-–—](?!\S))+")
_LEAD = re.compile(
    r"(?:\\f?boxed\s?\{|(?:the\s)?(?:options?|choices?|letters?|answers?)\b|both\b|either\b|(?:most\s)?likely\b|probably\b|clearly\b"
    r"|therefore\b|thus\b|indeed\b|(?:indicated|represented|given)\sby\b|选项|选择|应该|应|选|是|为)[\s,:]*",
    re.IGNORECASE,
)
_REFUSAL = re.compile(
    r"[(\[\"' ]{0,3}(?:n/?a\b|none\b|neither\b|nothing\b|unknown\b|undefined\b|undetermined\b|cannot\b|can't\b"
    r"|impossible\b|unable\b|(?:not|no)\s(?:\w{1,12}\s)?"
    r"(?:listed|given|provided|among|in|present|available|included|shown|one|any|possible|answer)\b|没有|无法|不存在)",
    re.IGNORECASE,
)
_TURN = re.compile(r"\b(?:but|however|although|though)\b|但|不过", re.IGNORECASE)
_NEGATION = re.compile(r"\b(?:not|neither|nor|except|incorrect|wrong|instead|than)\b|n't\b|不|非|错", re.IGNORECASE)
_LOOSE = re.compile(
    r"\b(?:option|choice|answer|statement)\s\(?([A-Z])\)?,?\s(?:is|as)\s(?:the\s)?(?:most\s)?"
    r"(?:correct|right|best|appropriate|accurate|true|closest)\b"
    r"|(?<!\w)\(?([A-Z])\)?\sis\s(?:(?:therefore|thus|indeed)\s)?(?:the\s)?(?:most\s)?(?:correct|right|best|closest)\b"
    r"|\b(?:choose|select|pick|chose|selected|go\swith)\s(?:option\s|choice\s|answer\s)?\(?([A-Z])(?![\w'’-])"
    r"|\b(?:corresponds?|corresponding|equivalent|closest)\sto\s(?:option|answer|choice)\s\(?([A-Z])(?![\w'’-])"
    r"|([A-Z])\s?(?:选?项)?(?:是|为)?(?:正确|对)(?:的|答案|选项)",
)
_CLOSING = re.compile(r"\b(?:is|are|be|as|or\sanswer)\s\(([A-Z])\)(?=[\s.,:]|$)")


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
    announced = False
    for head in announcements(text, window=window):
        announced = True
        reading = _read_head(_undecorated(head), allowed, texts)
        if reading is not None:
            return reading
    unread = Reading(None, NOT_A_CHOICE if announced else NO_ANSWER)
    return _read_loose(text, allowed) or _read_bare(text, allowed, texts) or unread


def _read_head(head: str, allowed: str, texts: Mapping[str, str]) -> Reading | None:
    """Reads what follows an announcement; None where that is prose that decides nothing."""
    refused = _REFUSAL.match(head) is not None
    spelled = match_text(head, texts)
    found, length = ([], 0) if refused else match_letters(head, texts)
    # "AB" may be two letters or a blood group; a single letter is always a letter.
    if spelled and spelled[1] >= length + (len(found) == 1):
        return Reading((spelled[0],))
    if found:
        return _judged(found, head[:length], allowed)
    aside = _read_aside(head.partition("\n")[0], allowed)
    return Reading(None, NONE_FITS) if refused and aside is None else aside


def _undecorated(head: str) -> str:
    for _ in range(8):
        start = len(head)
        for pattern in (_DECORATION, _LEAD):
            if match := pattern.match(head):
                head = head[match.end() :]
        if len(head) == start:
            break
    return head


def _judged(found: list[str], wording: str, allowed: str) -> Reading:
    beyond = next((letter for letter in found if letter not in allowed), None)
    if beyond is not None:
        return Reading(None, f"the answer {beyond} is none of {allowed[0]} to {allowed[-1]}")
    letters = tuple(sorted(set(found)))
    if len(letters) > 1 and HEDGE.search(wording):
        return Reading(None, f"undecided between {' and '.join(letters)}")
    return Reading(letters)


def _read_aside(line: str, allowed: str) -> Reading | None:
    """A single bracketed letter further on: "12 minutes (F)", "not listed, but closest to (B)"."""
    for turn in list(_TURN.finditer(line))[-1:]:
        line = line[turn.end() :]
    brackets = [match for match in BRACKETED.finditer(line) if match["letter"]]
    letters = {match["letter"] for match in brackets}
    if len(letters) != 1 or not letters <= set(allowed) or _NEGATION.search(line[: brackets[0].start()]):
        return None
    return Reading((letters.pop(),))


def _read_loose(text: str, allowed: str) -> Reading | None:
    """Weaker announcements: "option C is correct", "I choose (C)", "the best explanation is (C)." at the very end."""
    last = None
    for match in _LOOSE.finditer(text):
        last = match
    for match in _CLOSING.finditer(text.rpartition("\n")[2]):
        last = match
    if last is None:
        return None
    return _judged([group for group in last.groups() if group], "", allowed)


def _read_bare(text: str, allowed: str, texts: Mapping[str, str]) -> Reading | None:
    """A reply, or at least its last line, that is nothing but the answer."""
    *before, last = [line for line in text.splitlines() if line.strip()]
    head = _undecorated(last)
    for letter, choice in texts.items():
        if is_text(head, choice) and list(texts.values()).count(choice) == 1:
            return Reading((letter,))
    found, length = match_letters(head, texts)
    rest = head[length:].strip(" .,;:!)]}>\"'”’-")
    if before:
        decided = not rest and head[:length].isupper() and not _continues_list(before[-1], found)
    else:
        decided = not rest or (len(found) == 1 and is_text(rest, texts.get(found[0], "")))
    return _judged(found, head[:length], allowed) if found and decided else None


def _continues_list(before: str, found: Sequence[str]) -> bool:
    """Whether a last line is the next item of a list of options, where the reply broke off."""
    return len(found) == 1 and re.match(rf"\W*{chr(ord(found[0]) - 1)}[.):]", before) is not None
