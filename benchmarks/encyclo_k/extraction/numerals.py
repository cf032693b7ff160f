"""Combinations of statements, "I, III, VI" or "i, iii, vi": the contents of Encyclo-K's options."""

import re
from collections.abc import Sequence

_NUMERALS = {
    numeral: rank for rank, numeral in enumerate(("I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X"))
}
_NUMERAL = r"(?<![A-Za-z0-9_'’.\\])(?:VI{0,3}|I{1,3}|I[VX]|X)(?![A-Za-z0-9_'’=^(])"
_JOINT = r"\s?(?:,\s?(?:and\s)?|、|;|\band\s|&|和|与|及)\s?"
_COMBINATION = re.compile(rf"{_NUMERAL}(?:{_JOINT}{_NUMERAL}){{1,9}}", re.IGNORECASE)
_LONE = re.compile(r"(?<!option )(?<!choice )(?<![A-Za-z0-9_(])[IVX](?![A-Za-z0-9_])", re.IGNORECASE)
_BETWEEN = re.compile(r"[^IVX]+")
NO_OPTION = "#"


def are_combinations(choices: Sequence[str]) -> bool:
    return bool(choices) and all(_COMBINATION.fullmatch(choice.strip()) for choice in choices)


def spelled_alike(text: str) -> str:
    """Writes each combination in order, as "I, III, VI": "III、I和VI" and "I, III, and VI" become the same text."""
    return _COMBINATION.sub(lambda match: _spelled(match[0]), text)


def without_others(text: str, choices: Sequence[str]) -> str:
    """The text spelled alike, and without combinations that are no choice: their "I" is no letter."""
    known = set(choices)
    return _COMBINATION.sub(lambda match: own if (own := _spelled(match[0])) in known else NO_OPTION, text)


def without_numerals(text: str) -> str:
    """The text without lone "I", "V" and "X", which are statements and no options."""
    return _LONE.sub(NO_OPTION, text)


def _spelled(combination: str) -> str:
    return ", ".join(sorted(set(_BETWEEN.split(combination.upper())), key=_NUMERALS.__getitem__))
