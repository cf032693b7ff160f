"""Reads the letters that a reply commits to."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from toolablate.benchmarks.answer_extraction.announcements import (
    EMPTY,
    MAX_ANNOUNCEMENTS,
    NEXT_QUESTION,
    NO_ANSWER,
    ExtractedAnswer,
    announcement_spans,
    announcements,
    final_part,
    is_announced,
    is_text,
    normalised_choice,
    without_markup,
)
from toolablate.benchmarks.answer_extraction.letter_patterns import (
    BRACKETED,
    CORRECTION,
    DENIED,
    NONE_FITS,
    is_foreign,
    judged,
    match_letters,
    read_head,
    read_loose,
    read_part,
    undecorated,
    without_contrasts,
    without_denials,
)

# What only another question has, or a summary of several.
_ANOTHER = re.compile(
    rf"{NEXT_QUESTION}|\n{{5}}"
    r"|^[ \t#*]{0,8}\d{1,3}[.)][ \t][^\n]{1,400}\?[ \t*]{0,4}$"
    r"|\b(?:all|each)\s(?:of\s)?(?:the\s|these\s|our\s|my\s)?(?:final\s|above\s|correct\s)?(?:answers|questions?|problems?)\b"
    r"|\b(?:combin|summari[sz]|compil|collect|gather)\w{0,3}\s(?:up\s)?(?:the|these|our|my)\s(?:\w{1,12}\s)?(?:answers?|results)\b"
    r"|\b(?:answers|solutions)\s(?:to|for|of)\s(?:the\s|these\s)?(?:\w{1,12}\s)?(?:questions|problems)\b"
    r"|(?:所有|以上|每个|每道|各)(?:的)?(?:小?题|问题|题目|答案)",
    re.IGNORECASE | re.MULTILINE,
)
_OPTIONS = re.compile(
    r"^[ \t]{0,4}\(?A[.):][ \t]?(?P<text>[^\n]{1,400})\n{1,2}[ \t]{0,4}\(?B[.):][ \t]?\S", re.MULTILINE
)

# Who corrects themselves says so.
_CORRECTED = re.compile(
    r"\b(?:wait(?=\s?[,.!…:—–-]|\sa\s)|hold\son|sorry(?=\s?[,.!…:—–-])|(?:I['’]?m|I\sam|so)\ssorry"
    r"|revised|corrected|updated|amended|(?:I|my)\sapologi\w{2,4}|correction\s?:|(?:my|made\san?)\s(?:mistake|error)"
    r"|(?:I|we)\s(?:was|were)\s(?:wrong|mistaken)|mistakenly|second\sthoughts?|scratch\sthat|hmm+|oops"
    r"|(?:that|this|my(?:\s\w{1,12}){1,2})(?:['’]s|\sis|\swas)\s(?:wrong|incorrect|not\s(?:correct|right))"
    r"|(?:let\sme|let['’]s|let\sus|I(?:['’]ll|\swill|\sshould|\s(?:need|have)\sto|\smust)?)\s(?:\w{1,10}\s)?"
    r"(?:correct|verify|check|revise|redo|go\sback)"
    r"|(?:double|re)-?\s?check\w{0,3}|re-?(?:consider|evaluat|examin|calculat|comput|assess|visit|think|analy[sz]|read)\w{0,5}"
    r"|(?:upon|on|after)\s(?:closer|further|careful)\s\w{1,14})\b"
    r"|等等|等一下|不对|更正|重新|错了|有误|抱歉|纠正|修正|再(?:检查|想|看|算)|仔细(?:检查|看|想)"
    rf"|{DENIED}",
    re.IGNORECASE,
)
_TURNED = re.compile(
    r"(?:^|[.!?\n])\s{0,4}[*\"'(]{0,3}(?:(?:however|but|although|though|actually|no|yet|alternatively|instead|nevertheless|still"
    r"|on\sthe\sother\shand)\b|但|然而|不过|其实|实际上|可是)",
    re.IGNORECASE,
)
TURN_WITHIN = 200
"""A "however" takes an answer back where it follows soon, or begins the sentence of the next one."""

_LINE_END = re.compile(r"\n|<\|")
_FIRST = re.compile(r"\b(?:initial|first|preliminary|tentative|original|previous)\s(?:\w{1,8}\s)?\Z", re.IGNORECASE)
_PROSE = re.compile(r"[^.!?\n]{25}")
_SENTENCE_END = re.compile(r"[.!?](?=\s)|\n")
_ENDS = re.compile(r"[)\]}\"' ]{0,4}(?:[.!?](?=\s)|[.!?]?<\|)")
_CONDITION = re.compile(
    r"\W*(?:if|when|assuming|suppos\w{1,3}|unless|for(?!\s(?:this|that|these|all)\b))\s|如果|若", re.IGNORECASE
)
_NEXT_PART = re.compile(r"[\s.]{0,6}\(?[b-e]\)\s")
_ANSWER_LINE = re.compile(
    r"[ \t#>-]{0,8}(?:final\s)?(?:answer|最终答案|答案)[ \t]{0,3}:[ \t]{0,3}[(\[]?[A-Z][)\].]{0,3}\Z", re.IGNORECASE
)
_CLOSERS = " \t.:!)]}>\"'”’」』_~"


class _AnnouncedLetters(NamedTuple):
    """Letters as announced, from `start` to `end`; `with_text` is with the text of their choice, or its beginning."""

    letters: tuple[str, ...]
    start: int
    end: int
    ends_line: bool
    ends_sentence: bool
    with_text: bool
    is_correction: bool
    is_boxed: bool


def own_answer(text: str, texts: Mapping[str, str], window: int) -> str:
    """The text without the answers to other questions that follow its own; all of it where none do.

    An answer is the reply's own where it is one letter that ends its line ("The answer is (J)."), with the text of the
    letter's choice or without. What gives another letter afterwards is about another question, invented or repeated
    from the examples ("Now, combining all the answers, we have: The answer is C."), unless the reply corrects itself:

    - it says so in between ("wait", "however", "let me check", 不对);
    - it puts the later letter in a box or tag, in a last line "Answer: D", or beside the text of that letter's choice;
    - the first holds for a condition or a part ("if it grows, the answer is A");
    - it began with the first letter, and what follows is the reasoning that leads to the only other one.

    A first line that is nothing but a letter, with the text of its choice or without, is an answer too.
    Whatever follows a heading for another question or a summary of several ("Question:") is left out as well.
    """
    opening = opening_letter(text, texts)
    if opening and (cut := _another(text, opening[1], len(text), texts)):
        text = text[:cut].rstrip()
    given: _AnnouncedLetters | None = None
    answers = list(_answers(text, texts, window))
    for place, answer in enumerate(answers):
        if given is not None:
            if cut := _another(text, given.end, answer.start, texts):
                return text[:cut].rstrip()
            if answer.letters != given.letters and not _takes_over(text, given, answers[place:]):
                return text[: given.end]
        given = answer if answer.ends_sentence and len(answer.letters) == 1 else None
    cut = _another(text, given.end, len(text), texts) if given else None
    return text[:cut].rstrip() if cut else text


def opening_letter(text: str, texts: Mapping[str, str]) -> tuple[str, int] | None:
    """The letter of a first line that is nothing else, or has its choice's text as well, and where the line ends."""
    line = _LINE_END.split(text, maxsplit=1)[0]
    head = undecorated(line)
    letters, length = match_letters(head, texts)
    rest = without_contrasts(head[length:]).strip(_CLOSERS)
    if len(letters) != 1 or not (rest == "" or normalised_choice(rest.lstrip(" -–—,;:")) == texts.get(letters[0])):
        return None
    return letters[0], len(line)


def _answers(text: str, texts: Mapping[str, str], window: int) -> Iterator[_AnnouncedLetters]:
    """The announcements that give letters, in their order."""
    found, corrections = announcement_spans(text, CORRECTION)
    for (start, stop), (following, _) in pairwise([*found[:MAX_ANNOUNCEMENTS], (len(text), len(text))]):
        given = text[stop : min(following, stop + window)]
        head = undecorated(given)
        letters, length = match_letters(head, texts)
        if not letters:
            continue
        end = stop + len(given) - len(head) + length
        line = text[end : end + window].partition("\n")[0]
        rest = line.strip(_CLOSERS)
        with_text = len(letters) == 1 and _is_own(rest, texts.get(letters[0], ""))
        yield _AnnouncedLetters(
            letters=tuple(letters),
            start=start,
            end=end + len(line) if with_text or not rest else end,
            ends_line=with_text or not rest,
            ends_sentence=with_text or not rest or _ENDS.match(line) is not None,
            with_text=with_text,
            is_correction=(start, stop) in corrections,
            is_boxed=text.startswith(("\\", "<"), start),
        )


def _is_own(rest: str, own: str) -> bool:
    """Whether what follows a letter is the text of its choice, or the beginning of it."""
    said = normalised_choice(rest.lstrip(" -–—,;:"))
    return bool(said and own) and (said.startswith(own) or own.startswith(said))


def _another(text: str, start: int, end: int, texts: Mapping[str, str]) -> int | None:
    """Where, between two places, another question or a summary of several begins."""
    another = _ANOTHER.search(text, start, end)
    options = _OPTIONS.search(text, start, end)
    if options and texts and _is_own(options["text"], texts.get("A", "")):
        options = None  # It goes through its own options again.
    return min((match.start() for match in (another, options) if match), default=None)


def _takes_over(text: str, given: _AnnouncedLetters, later: Sequence[_AnnouncedLetters]) -> bool:
    """Whether the first of the later answers is a second thought on the same question, or on another part of it."""
    answer = later[0]
    between = text[given.end : answer.start]
    sentence = _SENTENCE_END.split(text[max(0, given.start - 400) : given.start])[-1]
    if (
        not given.ends_line
        or _CONDITION.match(sentence)
        or _FIRST.search(sentence)
        or _NEXT_PART.match(text, given.end)
    ):
        return True
    if answer.is_correction or answer.is_boxed or answer.with_text or _CORRECTED.search(between):
        return True
    if _TURNED.search(between[:TURN_WITHIN]) or _TURNED.match(_SENTENCE_END.split(between[-TURN_WITHIN:])[-1]):
        return True
    if _ANSWER_LINE.match(text, text.rfind("\n", 0, answer.start) + 1):
        return True
    began_with_it = _SENTENCE_END.search(text, 0, given.start) is None
    return began_with_it and len({each.letters for each in later}) == 1 and _PROSE.search(between) is not None


NOT_A_CHOICE = "an answer is announced, but it names no choice"

_END_OF_SENTENCE = re.compile(r"[.!?](?=\s)")
_LETTERED_LINE = re.compile(r"^[^\w\n]{0,8}(?:option\s)?[A-Z](?:[.):]|\s*$)", re.IGNORECASE | re.MULTILINE)
_NONE_OF_THEM = re.compile(
    r"\bnone\sof\sthe\s(?:(?:given|provided|listed|above|available|answer)\s){0,2}(?:options?|choices|answers)\s"
    r"(?:(?:provided|given|listed|above)\s)?(?:is|are|match(?:es)?|seems?)\b",
    re.IGNORECASE,
)


def read_letters(reply: str | None, allowed: str, choices: Sequence[str] = ()) -> ExtractedAnswer:
    """The letters that the reply finally gives, in alphabetical order without repetition.

    The last announced answer counts, before the reply goes on to other questions: letters in many dresses, or the text
    of a choice, verbatim. Where none is announced, a sentence such as "option C is correct" or a last line that is
    nothing but letters will do. Nothing is read where the reply gives no answer, names a letter that is none of
    `allowed`, wavers ("B or C"), or says that no choice is right. A letter that is named to be
    denied ("closest to B, but it is wrong") is passed over.
    """
    text = without_denials(without_markup(final_part(reply or "")).strip())
    if not text:
        return ExtractedAnswer(None, EMPTY)
    texts = {letter: normalised_choice(choice) for letter, choice in zip(allowed, choices, strict=False)}
    window = max(400, 2 * max((len(choice) for choice in choices), default=0))
    text = own_answer(text, texts, window)
    return (
        read_refusal(text)
        or read_announced(text, allowed, texts, window)
        or read_loose(text, allowed, texts)
        or read_bare(text, allowed, texts)
        or _read_opening(text, allowed, texts)
        or ExtractedAnswer(None, NOT_A_CHOICE if is_announced(text) else NO_ANSWER)
    )


def read_refusal(text: str) -> ExtractedAnswer | None:
    """A last sentence that says that none of the options is right, and names none."""
    line = text.rpartition("\n")[2]
    start = max((match.end() for match in _END_OF_SENTENCE.finditer(line)), default=0)
    refused = _NONE_OF_THEM.search(line, start) and not BRACKETED.search(line, start)
    return ExtractedAnswer(None, NONE_FITS) if refused else None


def read_announced(text: str, allowed: str, texts: Mapping[str, str], window: int) -> ExtractedAnswer | None:
    """The last announcement that names choices, or says that there is none; None where all are prose.

    Letters with the text of no choice of this question count only where no other announcement names one.
    """
    doubted: ExtractedAnswer | None = None
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


def read_bare(text: str, allowed: str, texts: Mapping[str, str]) -> ExtractedAnswer | None:
    """A reply, or at least its last line, that is nothing but the answer."""
    *before, last = [line for line in text.splitlines() if line.strip()]
    head = undecorated(last)
    for letter, choice in texts.items():
        if is_text(head, choice) and list(texts.values()).count(choice) == 1:
            return ExtractedAnswer((letter,))
    found, length = match_letters(head, texts)
    rest = without_contrasts(head[length:]).strip(" .,;:!)]}>\"'”’-")
    if before:
        decided = not rest and head[:length].isupper() and not _continues_list(before[-1], found)
    else:
        decided = not rest or (len(found) == 1 and is_text(rest, texts.get(found[0], "")))
    return judged(found, head[:length], allowed) if found and decided else None


def _read_opening(text: str, allowed: str, texts: Mapping[str, str]) -> ExtractedAnswer | None:
    """A first line that is nothing but the answer, above its explanation, and not the first of several options."""
    found = opening_letter(text, texts)
    if found is None or _LETTERED_LINE.search(text, found[1]):
        return None
    return judged([found[0]], "", allowed)


def _continues_list(before: str, found: Sequence[str]) -> bool:
    """Whether a last line is the next item of a list of options, where the reply broke off."""
    return len(found) == 1 and re.match(rf"\W*{chr(ord(found[0]) - 1)}[.):]", before) is not None
