"""What is checked without a model: of each question, and over all of them."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from toolablate.benchmarks.judging.answers import Ask
from toolablate.benchmarks.prompt import LETTERS
from toolablate.experiments.construction.known_names import NO_NAMES, KnownNames
from toolablate.experiments.construction.languages import another_language
from toolablate.experiments.construction.personal_data import addresses_in, personal_data_in
from toolablate.experiments.construction.stages import Content, Dropped, Kept, NoContext, Outcome

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FEWEST_OPTIONS, MOST_OPTIONS = 5, 7
MOST_POINTS = 5
_LEAK_CHARS = 12
"""Shorter answers, such as a unit or a year, may stand in a question by chance."""

_ALL_OR_NONE = re.compile(
    r"\b(?:all|none|both|neither|any)\s+of\s+(?:the\s+)?(?:above|these|others?|them|options)\b|以上(?:都|皆|均)|都不(?:是|对)",
    re.IGNORECASE,
)
_ON_LINES = re.compile(r"^[ \t]*[(（]?A[)）.．、:：].*\n+[ \t]*[(（]?B[)）.．、:：]", re.MULTILINE)
_IN_A_LINE = (
    re.compile(r"(?:(?<![\w(（])[(（]?(?P<first>A)|(?<![A-Za-z0-9(（])[(（]?(?P<next>[BC]))[)）．、]"),
    # "A." where a sentence begins: "vitamin A. Vitamin B." lists nothing.
    re.compile(r"(?:(?:^|[?？:：.。!！])[ \t]{0,9}(?P<first>A)|\s(?P<next>[BC]))\. "),
)
_LETTERED = re.compile(r"\s*[(（]?([A-Ga-g])(?:[)）．、：]|[.:](?=\s))\s*")
_MAYBE_INITIAL = re.compile(r"\s*[A-G]\.\s+[a-z]")
_NAMES_A_LETTER = re.compile(
    # "A" before a word is mostly the article, where it begins a sentence.
    r"(?<![A-Za-z0-9])(?:[B-G]|A(?! [a-z])|(?<=[a-z,;] )A|A(?= (?:and|or|is|are|was|has|does|cannot)\b))(?![A-Za-z0-9])"
)


def normal(text: str) -> str:
    """As two options are compared: compatibility forms, case, blanks and a final stop do not count."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(folded.split()).rstrip(".。 ")


def faults_of(content: Content, asked: Mapping[str, Any]) -> list[str]:
    """What is wrong with a question as it is to be asked, as it can be said to who wrote it; `content` is what it was
    made of."""
    question = asked["question"]
    faults = [] if question.strip() else ["question: is blank"]
    if another_language(question, content["question"]):
        faults.append("question: is in another language than the original")
    names = KnownNames.read(content.get("names", {}))
    known = "\n".join(content.get(key, "") for key in ("title", "question", "answer", "explanation"))
    for key, text in texts_of(asked):
        faults += personal_faults(key, text, known, names)
    if "options" in asked:
        return [*faults, *_option_faults(asked)]
    if not asked["answer"].strip():
        faults.append("answer: is blank")
    elif _gives_away(question, asked["answer"]):
        faults.append("question: holds the answer")
    if not 1 <= len(asked["points"]) <= MOST_POINTS or not all(map(str.strip, asked["points"])):
        faults.append(f"points: 1 to {MOST_POINTS} statements, none blank")
    return faults


def texts_of(asked: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Of a question as it is to be asked, each with its key."""
    found = [(key, asked.get(key, "")) for key in ("question", "options", "answer", "points", "explanation")]
    return [(key, said if isinstance(said, str) else "\n".join(said)) for key, said in found]


def personal_faults(key: str, text: str, known: str = "", names: KnownNames = NO_NAMES) -> list[str]:
    """What came in has no such thing any more: who writes it made it up, or knows more than the material says."""
    found = personal_data_in(text, known, names)
    return [f"{key}: leave out {found[0]!r}, which may be a person's address, number or name"] if found else []


def address_faults(key: str, text: str, known: str) -> list[str]:
    """Addresses of the web that a model made up."""
    found = addresses_in(text, known)
    return [f"{key}: leave out {found[0]!r}, an address that is not in the material"] if found else []


def _option_faults(asked: Mapping[str, Any]) -> list[str]:
    options = asked["options"]
    faults = []
    if not FEWEST_OPTIONS <= len(options) <= MOST_OPTIONS:
        faults.append(f"options: {FEWEST_OPTIONS} to {MOST_OPTIONS}, found {len(options)}")
    alike = Counter(map(normal, options))
    if "" in alike:
        faults.append("options: one is blank")
    if twice := next((option for option in options if option.strip() and alike[normal(option)] > 1), None):
        faults.append(f"options: two are the same: {twice!r}")
    if not alike[normal(asked["right"])]:
        faults.append("correct_answer: it has to be exactly one of the options, word for word")
    if any(_ALL_OR_NONE.search(option) for option in options):
        faults.append('options: none may say "all of the above" or "none of the above"')
    if lettered := next(filter(_LETTERED.match, options), None):
        faults.append(f"options: leave out the letters that they begin with, and write initials in full: {lettered!r}")
    if _lists_options(asked["question"]):
        faults.append("question: lists options, which belong into `options` alone")
    if _gives_away(asked["question"], asked["right"]):
        faults.append("question: holds the right option")
    return faults


def _lists_options(question: str) -> bool:
    """On lines of their own, or three of them in one line."""
    lines = question.splitlines()
    return bool(_ON_LINES.search(question)) or any(_in_order(line, label) for label in _IN_A_LINE for line in lines)


def _in_order(line: str, label: re.Pattern[str]) -> bool:
    """Whether A, B and C stand in it, with words between them."""
    begin, wanted = 0, list("ABC")
    for found in label.finditer(line):
        named = found["first"] or found["next"]
        if named == wanted[0] and (named == "A" or re.search(r"\w", line[begin : found.start()])):
            wanted.pop(0)
            begin = found.end()
            if not wanted:
                return True
    return False


def without_letters(options: Sequence[str], explanation: str) -> list[str]:
    """Options as they are kept. Where all begin with the letters of a list, in its order, these go: each letter comes
    from the place that an option is shown at. They stay, and are a fault, where an option or the explanation may name
    another option by its letter ("both A and B"), or where they may be a name's ("E. coli")."""
    found = [_LETTERED.match(option) for option in options]
    listed = [each[1] for each in found if each]
    if not options or listed != list(LETTERS[: len(options)]) or any(map(_MAYBE_INITIAL.match, options)):
        return list(options)
    bare = [option[each.end() :] for option, each in zip(options, found, strict=True) if each]
    return list(options) if any(map(_NAMES_A_LETTER.search, (*bare, explanation))) else bare


def _gives_away(question: str, answer: str) -> bool:
    said = normal(answer)
    return len(said) >= _LEAK_CHARS and said in normal(question)


def letter_of(asked: Mapping[str, Any]) -> str:
    """Of the right option."""
    return LETTERS[[normal(option) for option in asked["options"]].index(normal(asked["right"]))]


@dataclass(frozen=True, slots=True)
class Check(NoContext):
    """Drops what is faulty, with the first fault as the reason. What a writer could mend it was asked to."""

    name: ClassVar[str] = "check"
    version: ClassVar[int] = 2
    role: ClassVar[None] = None

    def settings(self) -> Mapping[str, Any]:
        return {}

    async def take(self, item: str, content: Content, context: Any, ask: Ask) -> Outcome:
        faults = faults_of(content, content["asked"])
        return Dropped(faults[0].partition(":")[0], "; ".join(faults)) if faults else Kept(content)


@dataclass(frozen=True, slots=True)
class SetChecks:
    """Of all multiple-choice questions: how often the right option is the longest, beside what chance gives, with the
    two-sided p-value of that; how often each letter is right, with the p-value that all are alike. None where there are
    too few questions to tell (under 20)."""

    questions: int
    longest: int
    longest_expected: float
    longest_p: float | None
    letters: Mapping[str, int]
    letters_p: float | None


_FEWEST = 20


def sum_of_chances(chances: Sequence[float]) -> "NDArray[np.float64]":
    """How probable 0, 1, ... successes are of independent trials with these chances (Poisson-binomial)."""
    import numpy as np

    found = np.array([1.0])
    for chance in chances:
        found = np.convolve(found, [1 - chance, chance])
    return found


def checks_of(asked: Iterable[Mapping[str, Any]]) -> SetChecks:
    """Where the longest options tie in length none is the longest. P-values are exact: of a Poisson-binomial sum, and
    of 10,000 draws (seed 0) of letters by the options that there are, compared by their largest excess."""
    import numpy as np

    rows = [each for each in asked if "options" in each]
    longest, chances = 0, []
    for row in rows:
        lengths = [len(option) for option in row["options"]]
        right = lengths[LETTERS.index(letter_of(row))]
        longest += right == max(lengths) and lengths.count(max(lengths)) == 1
        chances.append(1 / len(lengths) if lengths.count(max(lengths)) == 1 else 0.0)
    letters = Counter(letter_of(row) for row in rows)
    expected = float(sum(chances))
    if len(rows) < _FEWEST:
        return SetChecks(len(rows), longest, expected, None, dict(sorted(letters.items())), None)
    counts = sum_of_chances(chances)
    longest_p = float(counts[counts <= counts[longest] * (1 + 1e-9)].sum())
    rng = np.random.default_rng(0)
    sizes = np.array([len(row["options"]) for row in rows])
    mean = np.array([(1 / sizes[sizes > place]).sum() for place in range(sizes.max())])
    drawn = rng.integers(0, sizes, size=(10_000, len(sizes)))
    excess = np.stack([(drawn == place).sum(1) for place in range(sizes.max())], 1) - mean
    seen = np.array([letters[LETTERS[place]] for place in range(sizes.max())]) - mean
    letters_p = float((1 + (excess.max(1) >= seen.max() - 1e-9).sum()) / 10_001)
    return SetChecks(len(rows), longest, expected, min(1.0, longest_p), dict(sorted(letters.items())), letters_p)
