"""Reads the letters of the chosen options from a reply."""

import re
from collections.abc import Mapping, Sequence

from toolablate.benchmarks.extraction.denials import CORRECTION, without_contrasts, without_denials
from toolablate.benchmarks.extraction.heads import NONE_FITS, is_foreign, judged, read_head, read_part, undecorated
from toolablate.benchmarks.extraction.letters import BRACKETED, match_letters
from toolablate.benchmarks.extraction.loose import read_loose
from toolablate.benchmarks.extraction.markers import announcements, final_part, is_announced
from toolablate.benchmarks.extraction.reading import EMPTY, NO_ANSWER, Reading
from toolablate.benchmarks.extraction.run_on import opening_letter, own_answer
from toolablate.benchmarks.extraction.wording import is_text, normalised, without_markup

NOT_A_CHOICE = "an answer is announced, but it names no choice"

_SENTENCE_END = re.compile(r"[.!?](?=\s)")
_LETTERED_LINE = re.compile(r"^[^\w\n]{0,8}(?:option\s)?[A-Z](?:[.):]|\s*$)", re.IGNORECASE | re.MULTILINE)
_NONE_OF_THEM = re.compile(
    r"\bnone\sof\sthe\s(?:(?:given|provided|listed|above|available|answer)\s){0,2}(?:options?|choices|answers)\s"
    r"(?:(?:provided|given|listed|above)\s)?(?:is|are|match(?:es)?|seems?)\b",
    re.IGNORECASE,
)


def read_letters(reply: str | None, allowed: str, choices: Sequence[str] = ()) -> Reading:
    """The letters that the reply finally gives, in alphabetical order without repetition.

    The last announced answer counts, before the reply goes on to other questions: letters in many dresses, or the text
    of a choice, verbatim. Where none is announced, a sentence such as "option C is correct" or a last line that is
    nothing but letters will do. Nothing is read where the reply gives no answer, names a letter that is none of
    `allowed`, wavers ("B or C"), or says that no choice is right. A letter that is named to be
    denied ("closest to B, but it is wrong") is passed over.
    """
    text = without_denials(without_markup(final_part(reply or "")).strip())
    if not text:
        return Reading(None, EMPTY)
    texts = {letter: normalised(choice) for letter, choice in zip(allowed, choices, strict=False)}
    window = max(400, 2 * max((len(choice) for choice in choices), default=0))
    text = own_answer(text, texts, window)
    return (
        read_refusal(text)
        or read_announced(text, allowed, texts, window)
        or read_loose(text, allowed, texts)
        or read_bare(text, allowed, texts)
        or _read_opening(text, allowed, texts)
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
    heads = (undecorated(head) for head in announcements(text, extra=CORRECTION, window=window))
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


def read_bare(text: str, allowed: str, texts: Mapping[str, str]) -> Reading | None:
    """A reply, or at least its last line, that is nothing but the answer."""
    *before, last = [line for line in text.splitlines() if line.strip()]
    head = undecorated(last)
    for letter, choice in texts.items():
        if is_text(head, choice) and list(texts.values()).count(choice) == 1:
            return Reading((letter,))
    found, length = match_letters(head, texts)
    rest = without_contrasts(head[length:]).strip(" .,;:!)]}>\"'”’-")
    if before:
        decided = not rest and head[:length].isupper() and not _continues_list(before[-1], found)
    else:
        decided = not rest or (len(found) == 1 and is_text(rest, texts.get(found[0], "")))
    return judged(found, head[:length], allowed) if found and decided else None


def _read_opening(text: str, allowed: str, texts: Mapping[str, str]) -> Reading | None:
    """A first line that is nothing but the answer, above its explanation, and not the first of several options."""
    found = opening_letter(text, texts)
    if found is None or _LETTERED_LINE.search(text, found[1]):
        return None
    return judged([found[0]], "", allowed)


def _continues_list(before: str, found: Sequence[str]) -> bool:
    """Whether a last line is the next item of a list of options, where the reply broke off."""
    return len(found) == 1 and re.match(rf"\W*{chr(ord(found[0]) - 1)}[.):]", before) is not None
