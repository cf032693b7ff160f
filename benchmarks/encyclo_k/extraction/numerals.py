"""Combinations of statements, "I, III, VI" or "i, iii, vi": the contents of Encyclo-K's options."""

import re
from collections.abc import Sequence

from toolablate.benchmarks.encyclo_k.wording import MOST_STATEMENTS, numeral

_RANKS = {numeral(rank): rank for rank in range(1, MOST_STATEMENTS + 1)}
_NUMERAL = r"(?<![A-Za-z0-9_'’.\\])(?=[IVX])X{0,3}(?:I[VX]|V?I{0,3})(?![A-Za-z0-9_'’=^(])"
_JOINT = r"\s?(?:,\s?(?:and\s)?|、|;|\band\s|&|和|与|及)\s?"
_COMBINATION = re.compile(rf"{_NUMERAL}(?:{_JOINT}{_NUMERAL}){{1,{MOST_STATEMENTS - 1}}}", re.IGNORECASE)
_CHINESE = "\u4e00-\u9fff"
# Chinese goes on without blanks, before and after.
_UNSPACED = re.compile(rf"(?<=[{_CHINESE}][,;:])(?=[IVX])", re.IGNORECASE)
_IN_TEXT = re.compile(rf"(?P<numerals>{_COMBINATION.pattern})(?P<runs_on>[,;:]?(?=[{_CHINESE}]))?", re.IGNORECASE)
_LONE = re.compile(r"(?<!option )(?<!choice )(?<![A-Za-z0-9_(])[IVX](?![A-Za-z0-9_])", re.IGNORECASE)
_BETWEEN = re.compile(r"[^ivx]+")
NO_OPTION = "#"


def are_combinations(choices: Sequence[str]) -> bool:
    return bool(choices) and all(_COMBINATION.fullmatch(choice.strip()) for choice in choices)


def spelled_alike(text: str) -> str:
    """Writes each combination as one word, in order: "VI、I和III" and "I, III, and VI" become "s1x3x6".

    As a word it ends where it ends: no shorter option is read from the beginning of a longer one, and the capital "I"
    that it may begin with is not taken for the letter of an option.
    """
    return _COMBINATION.sub(lambda match: _spelled(match[0]), text)


def without_others(text: str, choices: Sequence[str]) -> str:
    """The text spelled alike, and without combinations that are no choice: they name no option."""
    known = set(choices)

    def read(match: re.Match[str]) -> str:
        own = _spelled(match["numerals"])
        return f"{own if own in known else NO_OPTION}{'' if match['runs_on'] is None else ', '}"

    return _IN_TEXT.sub(read, _UNSPACED.sub(" ", text))


def without_numerals(text: str) -> str:
    """The text without lone "I", "V" and "X", which are statements and no options."""
    return _LONE.sub(NO_OPTION, text)


def _spelled(combination: str) -> str:
    ranks = sorted({_RANKS[each] for each in _BETWEEN.split(combination.lower())})
    return "s" + "x".join(map(str, ranks))
