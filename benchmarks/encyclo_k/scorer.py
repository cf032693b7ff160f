"""Scores the one letter that a reply commits to, read in the tiers of Encyclo-K's protocol or as its published code
does."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from toolablate.benchmarks.answer_extraction.announcements import (
    EMPTY,
    NO_ANSWER,
    ExtractedAnswer,
    before_another_question,
    before_next_question,
    final_part,
    is_announced,
    is_complete,
    normalised_choice,
    without_markup,
)
from toolablate.benchmarks.answer_extraction.letter_patterns import read_loose, without_denials
from toolablate.benchmarks.answer_extraction.letters import (
    NOT_A_CHOICE,
    own_answer,
    read_announced,
    read_bare,
    read_refusal,
)
from toolablate.benchmarks.encyclo_k.statements import MOST_STATEMENTS, numeral
from toolablate.benchmarks.prompt import letters_for
from toolablate.benchmarks.scoring.scorer import Unparsed, named, not_for, scored, unparsed, unscored
from toolablate.traces.records import Question, Score

SHORTEST = 4
"""Shorter texts ("3", "60") stand in too many sentences that decide nothing."""

_SENTENCE_END = re.compile(r"[.!?](?=\s)")
_NEGATION = re.compile(
    r"\b(?:not|no|none|neither|nor|never|except|incorrect|wrong|false|instead|unlike|than|if|or|but|however)\b|n't\b"
    r"|不|非|错|但",
)
# Chinese has no blanks between words: only Latin letters and digits can go on beyond the text.
_NAMED = re.compile(r"\s\((?:option\s)?(?P<letter>[a-z])\)?$")
_BEFORE = re.compile(r"(?<![A-Za-z0-9_.,^×*/\\-])(?<![\^×*/\\-]\s)")
_AFTER = re.compile(r"(?![A-Za-z0-9_^×*/])(?![.,]\w)(?!\s[\^×*/+-])(?!,\s[ivx\d])(?!\s(?:and|or)\b)")


def read_content(text: str, texts: Mapping[str, str]) -> str | None:
    """The letter of the one option whose whole text stands in the reply's last sentence.

    A reply that broke off has none: it might have gone on. Nor has a sentence that denies, or that holds two options
    of which neither is a part of the other.
    """
    if not is_complete(text):
        return None
    sentence = _last_sentence(text)
    if named := _NAMED.search(sentence):
        letter = named["letter"].upper()
        # "... due to the need for a defence (E).": the letter stands behind its own text.
        return letter if texts.get(letter) and sentence[: named.start()].endswith(texts[letter]) else None
    found = {letter: own for letter, own in texts.items() if len(own) >= SHORTEST and _stands_in(own, sentence)}
    longest = max(found.values(), key=len, default="")
    letters = [letter for letter, own in found.items() if own == longest]
    if len(letters) != 1 or any(own not in longest for own in found.values()):
        return None
    # The option's own words may deny.
    return None if _NEGATION.search(sentence.replace(longest, " ")) else letters[0]


def _last_sentence(text: str) -> str:
    line = text.rpartition("\n")[2]
    start = max((match.end() for match in _SENTENCE_END.finditer(line)), default=0)
    return normalised_choice(line[start:])


def _stands_in(own: str, sentence: str) -> bool:
    start = sentence.find(own)
    # No pattern: it would try all of a long option at each character of a long reply.
    while start >= 0:
        end = start + len(own)
        if _BEFORE.match(sentence, start) and _AFTER.match(sentence, end):
            return True
        start = sentence.find(own, end)
    return False


# Combinations of statements, "I, III, VI" or "i, iii, vi": the contents of Encyclo-K's options.


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


# The tiers of answer extraction of Encyclo-K (section 4.2 of the paper), and where this departs from them.


def read_letter(reply: str | None, allowed: str, choices: Sequence[str] = ()) -> ExtractedAnswer:
    """The one letter that the reply commits to, as a tuple of one; or None with the reason.

    As in the paper, the last line is read first and then the whole text: standard forms ("the answer is: A"),
    simplified forms ("Answer: A"), isolated letters ("A", "(B)"); then the text of an option; else it is a miss.
    Other than in the paper,

    - of standard and simplified forms in one part the later counts, so that a reply may correct itself;
    - isolated letters and texts of options count only where they close the reply, since anywhere in the text they
      are mostly what is talked about;
    - a reply that names two letters, doubts, refuses, or names a letter beyond the options is a miss with that
      reason, and not its first letter;
    - a letter that is named to be denied ("if the answer is A", "closest to B, but it is wrong") is passed over;
    - a reply that goes on to answer other questions ends where it does so (`own_answer`).
    """
    text = without_denials(without_markup(final_part(reply or "")).strip())
    if not text:
        return ExtractedAnswer(None, EMPTY)
    combined = are_combinations(choices)
    if combined:
        choices = [spelled_alike(choice.strip()) for choice in choices]
        text = without_others(text, choices)
    texts = {letter: normalised_choice(choice) for letter, choice in zip(allowed, choices, strict=False)}
    window = max(400, 2 * max(map(len, texts.values()), default=0))
    # A statement ("the correct one is I") is no answer yet; without numerals, the text is as long as before.
    own = own_answer(without_numerals(text) if combined else text, texts, window)
    text = before_next_question(text[: len(own)]).strip()
    reading = _read_tiers(text, allowed, texts, window, loose=without_numerals(text) if combined else text)
    if reading is None:
        return ExtractedAnswer(None, NOT_A_CHOICE if is_announced(text) else NO_ANSWER)
    if reading.value is not None and len(reading.value) > 1:
        return ExtractedAnswer(None, f"the reply names several letters: {', '.join(reading.value)}")
    return reading


def _read_tiers(
    text: str, allowed: str, texts: Mapping[str, str], window: int, *, loose: str
) -> ExtractedAnswer | None:
    last = text.rpartition("\n")[2]
    if read_announced(last, allowed, texts, window) is None:
        reading = read_bare(text, allowed, texts)
        if reading is not None:
            return reading
    reading = read_refusal(text) or read_announced(text, allowed, texts, window) or read_loose(loose, allowed, texts)
    if reading is not None:
        return reading
    letter = read_content(before_another_question(text), texts)
    return ExtractedAnswer((letter,)) if letter else None


# Reads a letter as Encyclo-K's published evaluation does, faults included, so that its accuracies can be recomputed.


LETTERS = "ABCDEFGHIJ"
"""Of every question, however many options it has."""

MISSED = "the published patterns find no letter and no option's text"

_NAME = r"(?:boxed|mathbf|mathrm|text)\{"
_COMMAND = rf"\\{_NAME}"
_MARK = rf"(?:{_COMMAND}|[*${{(\[\\])"
_END = r"[\\}$)\]]*(?:[\s:.*)]|$)"
_THE_ANSWER = r"[Tt]he\s+(?:\w+\s+)?(?:answer|option)(?:\w+\s)?\s+"
_LETTER = (
    re.compile(rf"{_THE_ANSWER}is?:?\s*(?:{_MARK}+\s*)?([{LETTERS}]){_END}", re.IGNORECASE),
    re.compile(rf"answer[*\s]*:\s*(?:{_MARK}+\s*)?([{LETTERS}]){_END}", re.IGNORECASE),
    re.compile(
        rf"^(?:[^\w\r\n\\]|\\(?!{_NAME}))*+(?:{_COMMAND}{_MARK}*)?\s*([{LETTERS}]){_END}",
        re.IGNORECASE,
    ),
)
_CONTENT = (
    rf"{_THE_ANSWER}is:?\s*(?:{_MARK}+?\s*)??",
    rf"(?i:answer)\s*(?:{_MARK}+?\s*)??",
    rf"^[^\w\r\n]*(?:{_COMMAND}{_MARK}*?\s*|[\r\n]\s*)?",
)


def read_official(reply: str | None, choices: Sequence[str] = ()) -> ExtractedAnswer:
    """The letter that the published evaluation takes from a reply, as a tuple of one; or None where it counts a miss.

    The last line is searched first and then the whole reply, each for "the answer is A", "Answer: A" and a letter at
    its beginning, of which the first match counts; then in the same way for the text of an option. A small letter is
    taken as such ("The answer is a matter of ..." gives "a"), and is never right.
    """
    text = (reply or "").rstrip()
    if not text:
        return ExtractedAnswer(None, EMPTY)
    parts = (text.rpartition("\n")[2], text)
    for part in parts:
        for pattern in _LETTER:
            if match := pattern.search(part):
                return ExtractedAnswer((match[1],))
    options = "|".join(map(re.escape, choices))
    for part in parts:
        for before in _CONTENT:
            if match := re.search(f"{before}({options}){_END}", part):
                return (
                    ExtractedAnswer((chr(ord("A") + choices.index(match[1])),))
                    if match[1]
                    else ExtractedAnswer(None, MISSED)
                )
    return ExtractedAnswer(None, MISSED)


@dataclass(frozen=True, slots=True)
class EncycloKScorer:
    """Right is the one right letter, read by Encyclo-K's protocol. A target with several letters is unscored.

    `official` reads as the published evaluation does, faults included.
    """

    unparsed: Unparsed = "wrong"
    official: bool = False

    @property
    def name(self) -> str:
        excluded = "exclude" if self.unparsed == "exclude" else ""
        return named("encyclo-k-official" if self.official else "encyclo-k", unparsed=excluded)

    @property
    def version(self) -> int:
        return 1 if self.official else 3

    def score(self, question: Question, trial_id: str, answer: str | None) -> Score:
        if question.target.kind != "choice":
            return unscored(self, trial_id, not_for(self, question))
        allowed = letters_for(question)
        right = question.target.letters
        if len(set(right)) > 1 or right[0] not in allowed:
            return unscored(
                self, trial_id, f"the target {', '.join(right)} is not one of {allowed[0]} to {allowed[-1]}"
            )
        reading = self._read(answer, allowed, question.choices)
        if reading.value is None:
            return unparsed(self, trial_id, reading, self.unparsed)
        return scored(self, trial_id, 1.0 if reading.value[0] == right[0] else 0.0, reading.value)

    def _read(self, answer: str | None, allowed: str, choices: Sequence[str]) -> ExtractedAnswer:
        return read_official(answer, choices) if self.official else read_letter(answer, allowed, choices)


OfficialScorer = partial(EncycloKScorer, official=True)
