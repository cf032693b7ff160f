"""Matches letters at the beginning of a text: "C", "(C).", "A, C", "AC", "A and C", but not "A bird" or "F = ma"."""

import re
from collections.abc import Mapping

from toolablate.benchmarks.extraction.wording import TOLD_APART, normalised

BRACKETED = re.compile(
    r"[(\[{<]\s?(?:(?P<letter>[A-Z])\s?[)\]}>](?![a-z])|(?P<small>[a-z])\s?[)\]}>](?=[.,;\s]{0,3}(?:$|\n)))"
)
HEDGE = re.compile(r"\bor\b|或", re.IGNORECASE)

_OPENING = re.compile(r"[(\[{<\"'“‘「『\s]+")
_RUN = re.compile(r"([A-Z]{2,26}|[A-Z](?: [A-Z]){1,25})(?=\s*(?:$|\n|[.,;!?)\]}>\"'”’」』]))")
_BARE = re.compile(
    r"(?P<letter>[A-Z])(?![A-Za-z0-9'’^\\]|_(?!_{0,2}(?:[^\w({]|$))|-\w|\s?[=≈]|\s?<(?!/)|[/+]\s?[a-z0-9]|\([a-z]\))"
    r"|(?P<small>[a-z])(?=\s*[.)\]}]*\s*(?:$|\n))"
)
# Small letters are letters where they fill the line: "a, c".
_SMALL = r"[(\[\"'“]?[a-z][)\]\"'”]?"
_SMALL_LIST = re.compile(
    rf"(?P<letters>{_SMALL}(?:(?:\s?[,;、/&+]\s?(?:and\s|or\s)?|\s(?:and|or)\s|\s?[和与及或]\s?|\s)(?:{_SMALL})){{1,25}})"
    r"(?=[\s.)\]}]{0,8}(?:$|\n)|,?\s(?:because|since)\b)"
)
_SEPARATOR = re.compile(
    r"[\s)\]}>\"'”’」』]{0,4}(?:,\s{0,2}(?:and|or|以及)?|;|、|/|&|\+|\band\b|\bor\b|以及|和|与|及|或)\s{0,2}"
    r"(?:both\s|options?\s|choices?\s|选项)?[\"'“‘「『]?",
    re.IGNORECASE,
)
_LONE_SMALL = re.compile(r"(?<![a-z])[a-z](?![a-z])")
_PART = re.compile(r"(?<!\w)[a-z]\)")
_NEXT_WORD = re.compile(r"[ \t]+([A-Za-z][a-z]*)")
# fmt: off
_CONNECTIVES = frozenset((
    "and", "or", "because", "since", "as", "for", "is", "are", "was", "which", "that", "in", "due", "with", "given",
    "from", "but", "if", "when", "where", "while", "so", "only", "at", "by", "on", "of", "not", "rather", "based",
    "according", "who", "the", "this", "it", "i",
))
# fmt: on


def match_letters(head: str, texts: Mapping[str, str]) -> tuple[list[str], int]:
    """The letters at the beginning, in the order given, and how many characters they take; none is ([], 0).

    `texts` are the normalised choices by letter: "B cells" is letter B only where the text of B begins so.
    """
    run = _RUN.match(head, _after_opening(head, 0))
    if run and _is_run(run.group(1), texts):
        return list(run.group(1).replace(" ", "")), run.end()
    small = _SMALL_LIST.match(head)
    if small and not (")" in small[0] and any(_PART.search(text) for text in texts.values())):
        return [letter.upper() for letter in _LONE_SMALL.findall(small["letters"])], small.end()
    found: list[str] = []
    position = end = 0
    while match := _match_one(head, position, texts, first=not found):
        found.append((match["letter"] or match["small"]).upper())
        end = match.end()
        separator = _SEPARATOR.match(head, end)
        if separator is None:
            break
        position = separator.end()
    return found, end


def _is_run(run: str, texts: Mapping[str, str]) -> bool:
    letters = run.replace(" ", "")
    return len(set(letters)) == len(letters) and (not texts or set(letters) <= set(texts))


def _after_opening(head: str, position: int) -> int:
    opening = _OPENING.match(head, position)
    return opening.end() if opening else position


def _match_one(head: str, position: int, texts: Mapping[str, str], *, first: bool) -> re.Match[str] | None:
    if bracketed := BRACKETED.match(head, position):
        return bracketed
    match = _BARE.match(head, _after_opening(head, position))
    if match is None or match["small"] or _is_letter(match["letter"], head, match.end(), texts, first=first):
        return match
    return None


def _is_letter(letter: str, head: str, end: int, texts: Mapping[str, str], *, first: bool) -> bool:
    """Whether a capital is a letter of a choice rather than an article, a pronoun or a name ("A bird", "B cells")."""
    word = _NEXT_WORD.match(head, end)
    if word is None:
        return True
    if word.group(1) in _CONNECTIVES:
        return first or letter not in "AI"
    own_text = texts.get(letter, "")
    if own_text and normalised(head[end : end + 40]).startswith(own_text[:TOLD_APART]):
        return True
    return word.group(1)[0].isupper() and letter not in "AI"
