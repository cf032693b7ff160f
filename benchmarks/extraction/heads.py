"""Reads the letters of choices from what follows an announcement."""

import re
from collections.abc import Mapping

from toolablate.benchmarks.extraction.letters import BRACKETED, HEDGE, match_letters
from toolablate.benchmarks.extraction.reading import Reading
from toolablate.benchmarks.extraction.wording import match_text

NONE_FITS = "the reply says that no choice fits"

_DECORATION = re.compile(r"(?:[\s:=>~\"'“”‘’_]|[-–—](?!\S))+")
_LEAD = re.compile(
    r"(?:\\f?boxed\s?\{|(?:the\s)?(?:options?|choices?|letters?|answers?)\b|both\b|either\b|(?:most\s)?likely\b|probably\b|clearly\b"
    r"|therefore\b|thus\b|indeed\b|actually\b|really\b|perhaps\b|maybe\b|in\sfact\b"
    r"|(?:indicated|represented|given)\sby\b|选项|选择|应该|应|选|是|为)[\s,:]*",
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
_NONE_AFTER_ALL = re.compile(
    r"\b(?:none|neither|no\s(?:option|choice|answer)|wrong|incorrect|not\s(?:correct|right))\b", re.IGNORECASE
)
_CLOSEST = re.compile(r"\bclosest\s(?:(?:option|choice|answer|value|one)\s)?(?:to|is|would\sbe)\s", re.IGNORECASE)
_NEXT_PART = re.compile(r"[)\].\s]{0,6}(?:for\s(?:part\s)?)?\(?[b-e]\)\s", re.IGNORECASE)
_FURTHER = re.compile(
    r"[)\]]?,?\s(?:for|which)\b[^()\[\]\n]{1,160}?(?<!\.),?\s(?P<joint>and|or)\s[(\[](?P<letter>[A-Z])[)\]]"
)
_CONDITIONAL = re.compile(
    r"[)\]]?,?\s(?:if|when|unless)\b[^()\[\]\n]{1,160}?\s(?:and|or|but|otherwise|else)\s(?:it\s(?:is|would\sbe)\s)?"
    r"[(\[]?(?P<letter>[A-Z])[)\]]?(?=\s(?:if|when|otherwise)\b|[.,;\n]|$)"
)
_OR_ELSE = re.compile(r"[)\]]?,?\sor\s[(\[]")
_SMALL = re.compile(r"[(\[](?P<letter>[a-z])[)\]]\s")
_SMALL_LETTERED = re.compile(r"(?P<letter>[a-z])[).:]\s{1,2}(?=\S)")
_LETTERED_TEXT = re.compile(r"[)\]]?(?:[.:]\s|\)\s?)(?P<text>\S[^\n]{0,80})")
_WORD = re.compile(r"\w+")


def read_head(head: str, allowed: str, texts: Mapping[str, str]) -> Reading | None:
    """Reads what follows an announcement; None where that is prose that decides nothing."""
    refused = _REFUSAL.match(head) is not None
    spelled = match_text(head, texts)
    found, length = ([], 0) if refused else match_letters(head, texts)
    if not (found or refused):
        found, length = _match_small(head, texts)
    # "AB" may be two letters or a blood group; a single letter is always a letter.
    if spelled and spelled[1] >= length + (len(found) == 1):
        return Reading((spelled[0],))
    if found:
        further = _FURTHER.match(head, length) if len(found) == 1 else None
        if further:
            return judged([*found, further["letter"]], further["joint"], allowed)
        other = _CONDITIONAL.match(head, length)
        if other and other["letter"] != found[0]:
            return Reading(None, f"undecided between {found[0]} and {other['letter']}")
        if _OR_ELSE.match(head, length):
            return Reading(None, f"undecided between {found[0]} and something else")
        return judged(found, head[:length], allowed)
    aside = _read_aside(head.partition("\n")[0], allowed, texts)
    return Reading(None, NONE_FITS) if refused and aside is None else aside


def read_part(head: str, texts: Mapping[str, str]) -> str | None:
    """The letter that a head gives for one part of the question only: the next part begins right after it."""
    found, length = match_letters(head, texts)
    return found[0] if len(found) == 1 and _NEXT_PART.match(head, length) else None


def is_foreign(head: str, letter: str, texts: Mapping[str, str]) -> bool:
    """Whether a letter stands there with a text that shares no word with the letter's choice ("C. 15 N").

    It then belongs to another question, which the reply went on to; or the reply took the wrong letter.
    """
    _, length = match_letters(head, texts)
    lettered = _LETTERED_TEXT.match(head, length) if head[:length].rstrip(")]").endswith(letter) else None
    if lettered is None or not texts.get(letter):
        return False
    words, own = (set(_WORD.findall(text)) for text in (lettered["text"].casefold(), texts[letter]))
    return bool(words) and not words & own


def undecorated(head: str) -> str:
    for _ in range(8):
        start = len(head)
        for pattern in (_DECORATION, _LEAD):
            if match := pattern.match(head):
                head = head[match.end() :]
        if len(head) == start:
            break
    return head


def judged(found: list[str], wording: str, allowed: str) -> Reading:
    beyond = next((letter for letter in found if letter not in allowed), None)
    if beyond is not None:
        return Reading(None, f"the answer {beyond} is none of {allowed[0]} to {allowed[-1]}")
    letters = tuple(sorted(set(found)))
    if len(letters) > 1 and HEDGE.search(wording):
        return Reading(None, f"undecided between {' and '.join(letters)}")
    return Reading(letters)


def _match_small(head: str, texts: Mapping[str, str]) -> tuple[list[str], int]:
    """A small letter before the text of its choice; or in brackets, unless the choices use such letters for parts of
    their own ("(a) 2 m, (b) 3 m")."""
    lettered = _SMALL_LETTERED.match(head)
    if lettered and (letter := lettered["letter"].upper()) in texts:
        own = match_text(head[lettered.end() :], {letter: texts[letter]})
        return ([letter], lettered.end()) if own else ([], 0)
    small = _SMALL.match(head)
    if small is None or any(f"{small['letter']})" in text for text in texts.values()):
        return [], 0
    return [small["letter"].upper()], small.end()


def _read_aside(line: str, allowed: str, texts: Mapping[str, str]) -> Reading | None:
    """A single bracketed letter further on: "12 minutes (F)", "not listed, but closest to (B)" or to the text of B."""
    turns = list(_TURN.finditer(line))
    # A remark may follow: "not listed, but closest to (B). However, that is not exact."
    named = next((turn for turn in reversed(turns) if BRACKETED.search(line, turn.end())), None)
    if named and _NONE_AFTER_ALL.search(line, turns[-1].end()):
        return None
    for turn in turns[-1:]:
        line = line[(named or turn).end() :]
    closest = _CLOSEST.search(line)
    if closest and (spelled := match_text(line[closest.end() :], texts)):
        return Reading((spelled[0],))
    # Braces are LaTeX's: "21.4 ^{\\circ} {C}" names no choice.
    brackets = [match for match in BRACKETED.finditer(line) if match["letter"] and match[0][0] in "(["]
    letters = {match["letter"] for match in brackets}
    if len(letters) != 1 or not letters <= set(allowed) or _NEGATION.search(line[: brackets[0].start()]):
        return None
    return Reading((letters.pop(),))
