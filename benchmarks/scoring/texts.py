"""Scores texts by what they are made of: equal, contained, matched, or with words in common."""

import re
import string
from collections import Counter
from dataclasses import dataclass

import re2

from toolablate.benchmarks.answer_extraction.announcements import EMPTY, ExtractedAnswer, final_part, normalised
from toolablate.benchmarks.answer_extraction.spans import read_text
from toolablate.benchmarks.prompt import letters_for
from toolablate.benchmarks.scoring.scorer import Unparsed, named, not_for, scored, unparsed, unscored
from toolablate.traces.errors import ScoringError
from toolablate.traces.records import PatternTarget, Question, ReferenceTarget, Score, TextTarget

_LATEX_TEXT = re.compile(
    r"\\(?:text|textrm|textbf|textit|textsf|texttt|textnormal|mbox|mathrm|mathbf|mathit|emph|boxed)\s?\{([^{}]{0,400})\}"
)
_FORMULA = re.compile(r"\$\$?([^$]{1,2000}?)\$?\$|\\\((.{1,2000}?)\\\)|\\\[(.{1,2000}?)\\\]", re.DOTALL)
_TAG = re.compile(r"</?(?:b|i|u|em|strong|span|code|mark|p|div|sub|sup)(?:\s[^<>]{0,200})?>|<br\s?/?>", re.IGNORECASE)
_NUMBER_BEFORE = re.compile(r"(?<![\w)\]])[-−]$|\d\.$|(?<![\w.])\.$")
_NUMBER_AFTER = re.compile(r"\.\d|,\d{3}(?!\d)")
_GROUP = re.compile(r"\d{3}(?!\d)")
_NUMERIC = re.compile(r"[-+]?[\d.,]*\d")
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
_QUIET = re2.Options()
_QUIET.log_errors = False


def accepted(question: Question) -> tuple[str, ...]:
    """The texts of which each is right; none for a target that has no such texts."""
    if isinstance(question.target, TextTarget):
        return question.target.answers
    return (question.target.answer,) if isinstance(question.target, ReferenceTarget) else ()


@dataclass(frozen=True, slots=True)
class ExactScorer:
    """Right is one of the accepted texts, whatever the case, the width of characters, blanks, quotes around and a full
    stop after, and LaTeX or HTML that only changes how the text looks: `\\text{blue}`, `$3.5$`, `<b>Paris</b>`."""

    unparsed: Unparsed = "wrong"

    @property
    def name(self) -> str:
        return named("exact", unparsed="exclude" if self.unparsed == "exclude" else "")

    @property
    def version(self) -> int:
        return 1

    def score(self, question: Question, trial_id: str, answer: str | None) -> Score:
        if not (wanted := accepted(question)):
            return unscored(self, trial_id, not_for(self, question))
        reading = read_text(answer)
        if reading.value is None:
            return unparsed(self, trial_id, reading, self.unparsed)
        return scored(self, trial_id, 1.0 if _is_one_of(reading.value[0], wanted) else 0.0, reading.value)


@dataclass(frozen=True, slots=True)
class ContainsScorer:
    """Right is a reply that has one of the accepted texts in it, as whole words, compared as `exact` compares. What
    else the reply says does not matter, so a reply that lists all answers is right. A sign, decimals and groups of
    thousands belong to their number: neither "-5" nor "12.5" nor "12,500" has 5 or 12 in it."""

    unparsed: Unparsed = "wrong"

    @property
    def name(self) -> str:
        return named("contains", unparsed="exclude" if self.unparsed == "exclude" else "")

    @property
    def version(self) -> int:
        return 1

    def score(self, question: Question, trial_id: str, answer: str | None) -> Score:
        if not (wanted := accepted(question)):
            return unscored(self, trial_id, not_for(self, question))
        text = final_part(answer or "").strip()
        if not text:
            return unparsed(self, trial_id, ExtractedAnswer(None, EMPTY), self.unparsed)
        found = next(
            (each for each in wanted if any(_holds(normalised(way), normalised(each)) for way in _ways(text))), None
        )
        return scored(self, trial_id, 0.0 if found is None else 1.0, () if found is None else (found,))


@dataclass(frozen=True, slots=True)
class RegexScorer:
    """Right is a reply in which the target's pattern is found. With a `pattern` of the plan, the answer is what its
    first group (or all of it) matched last in the reply, and right is one of the accepted texts, as `exact` compares.

    Patterns are RE2's, which take time in the length of the reply, whatever the pattern. Raises ScoringError for one
    that RE2 does not take.
    """

    unparsed: Unparsed = "wrong"
    pattern: str = ""

    def __post_init__(self) -> None:
        compiled(self.pattern)

    @property
    def name(self) -> str:
        return named("regex", pattern=self.pattern, unparsed="exclude" if self.unparsed == "exclude" else "")

    @property
    def version(self) -> int:
        return 1

    def score(self, question: Question, trial_id: str, answer: str | None) -> Score:
        if self.pattern and (wanted := accepted(question)):
            reading = _matched(self.pattern, answer)
            if reading.value is None:
                return unparsed(self, trial_id, reading, self.unparsed)
            return scored(self, trial_id, 1.0 if _is_one_of(reading.value[0], wanted) else 0.0, reading.value)
        if not isinstance(question.target, PatternTarget):
            no_pattern = ", and the plan names no questions.pattern" if accepted(question) else ""
            return unscored(self, trial_id, not_for(self, question) + no_pattern)
        try:
            pattern = compiled(question.target.pattern)
        except ScoringError as error:
            return unscored(self, trial_id, error.message)
        text = final_part(answer or "").strip()
        if not text:
            return unparsed(self, trial_id, ExtractedAnswer(None, EMPTY), self.unparsed)
        found = pattern.search(text)
        return scored(self, trial_id, 0.0 if found is None else 1.0, () if found is None else (found.group(),))


@dataclass(frozen=True, slots=True)
class F1Scorer:
    """The F1 of the words that answer and accepted text have in common, the largest over the accepted texts.

    Normalisation (lower case, no ASCII punctuation, no a, an, the) and measure are those of SQuAD's evaluate-v1.1.py
    (Rajpurkar et al. 2016). An announced answer is taken, else the whole reply.
    """

    unparsed: Unparsed = "wrong"

    @property
    def name(self) -> str:
        return named("f1", unparsed="exclude" if self.unparsed == "exclude" else "")

    @property
    def version(self) -> int:
        return 1

    def score(self, question: Question, trial_id: str, answer: str | None) -> Score:
        if not (wanted := accepted(question)):
            return unscored(self, trial_id, not_for(self, question))
        reading = read_text(answer, unannounced="whole")
        if reading.value is None:
            return unparsed(self, trial_id, reading, self.unparsed)
        return scored(
            self, trial_id, max(f1(way, each) for each in wanted for way in _ways(reading.value[0])), reading.value
        )


def f1(given: str, wanted: str) -> float:
    """Harmonic mean of precision and recall of the words of `given`, as multisets; 0 where they share none."""
    ours, theirs = _words(given), _words(wanted)
    same = sum((Counter(ours) & Counter(theirs)).values())
    return 2 * same / (len(ours) + len(theirs)) if same else 0.0


def compiled(pattern: str) -> re2._Regexp:
    """Raises ScoringError for what RE2 does not take."""
    try:
        return re2.compile(pattern, _QUIET)
    except re2.error as error:
        said = error.args[0] if error.args else error
        said = said.decode(errors="replace") if isinstance(said, bytes) else said
        raise ScoringError(
            f"{pattern!r} is not a valid RE2 pattern: {said}",
            hint="RE2 has no look-around and no back-references.",
            code="bad_pattern",
        ) from error


def choice_in_words(question: Question, answer: str | None) -> ExtractedAnswer:
    """The letter of the one choice that the reply finally gives in words, compared as `exact` compares: of a model that
    was not shown the choices. Letters are texts like others: "B" may be a choice, and is no name of one."""
    reading = read_text(answer)
    if reading.value is None:
        return reading
    named = [
        letter
        for letter, choice in zip(letters_for(question), question.choices, strict=False)
        if _is_one_of(reading.value[0], (choice,))
    ]
    return ExtractedAnswer((named[0],)) if len(named) == 1 else ExtractedAnswer(None, NO_CHOICE)


NO_CHOICE = "the answer is in the words of no one choice"


def _is_one_of(given: str, wanted: tuple[str, ...]) -> bool:
    return not set(map(normalised, _ways(given))).isdisjoint(map(normalised, wanted))


def _ways(text: str) -> tuple[str, ...]:
    """A text as it stands, and without the LaTeX and HTML that only change how it looks."""
    bare = _TAG.sub(" ", text)
    for _ in range(4):
        bare = _LATEX_TEXT.sub(r"\1", bare)
    whole = _FORMULA.fullmatch(bare.strip().rstrip("."))
    bare = next(group for group in whole.groups() if group is not None) if whole else bare
    return text, bare


def _matched(pattern: str, answer: str | None) -> ExtractedAnswer:
    text = final_part(answer or "").strip()
    if not text:
        return ExtractedAnswer(None, EMPTY)
    matches = [match.group(1 if match.re.groups else 0) for match in compiled(pattern).finditer(text)]
    given = [match for match in matches if match]
    return (
        ExtractedAnswer((given[-1],))
        if given
        else ExtractedAnswer(None, "the plan's pattern is not found in the reply")
    )


def _holds(text: str, wanted: str) -> bool:
    place = text.find(wanted)
    while place >= 0 and wanted:
        end = place + len(wanted)
        if not (_joined(text, place - 1) or _joined(text, end - 1) or _within_number(text, place, end)):
            return True
        place = text.find(wanted, place + 1)
    return False


def _within_number(text: str, start: int, end: int) -> bool:
    """Whether a number goes on beyond where one was found: before it with a sign or digits, after it with digits."""
    if not _NUMERIC.fullmatch(text, start, end):
        return False
    before = _NUMBER_BEFORE.search(text[max(0, start - 8) : start])
    after = _NUMBER_AFTER.match(text, end)
    grouped = after and after[0].startswith(",") and not re.fullmatch(r"[-+]?\d{1,3}(?:,\d{3})*", text[start:end])
    in_groups = start > 1 and text[start - 1] == "," and text[start - 2].isdigit() and _GROUP.match(text, start)
    return bool(before or in_groups or (after and not grouped))


def _joined(text: str, place: int) -> bool:
    """Whether the characters at `place` and after it belong to one word. Chinese has no blanks between words."""
    if place < 0 or place + 1 >= len(text):
        return False
    return all(character.isalnum() and character < "\u2e80" for character in text[place : place + 2])


def _words(text: str) -> list[str]:
    return _ARTICLES.sub(" ", text.lower().translate(_NO_PUNCTUATION)).split()
