"""What is checked without a model: of each question, and over all of them."""

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from toolablate.benchmarks.judging.answers import Ask
from toolablate.benchmarks.lpfqa.published import LpfqaRow, has_mark, question_of_row
from toolablate.benchmarks.prompt import LETTERS
from toolablate.benchmarks.questions import language_of
from toolablate.benchmarks.rows.row_errors import LineError
from toolablate.experiments.construction.known_names import NO_NAMES, KnownNames
from toolablate.experiments.construction.languages import another_language, surely_another
from toolablate.experiments.construction.personal_data import addresses_in, personal_data_in
from toolablate.experiments.construction.stages import Content, Dropped, Kept, NoContext, Outcome
from toolablate.traces.records import ChoiceTarget, Rubric

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FEWEST_OPTIONS, MOST_OPTIONS = 5, 7
MOST_POINTS = 5
_LEAK_SIGNS = 3
"""Letters and figures of an answer. Shorter ones, such as a unit, may stand in a question by chance."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_OF_THE_ABOVE = re.compile(r"\b(?:all|none|both|neither|any) of the (?:above|foregoing)\b(?! \d)", re.IGNORECASE)
_ALL = _words(
    "all none any alle keine keiner keines tous toutes aucun aucune todos todas ninguno ninguna tutti tutte nessuno"
    " nessuna"
)
_BOTH = _words("both neither beide beides")
_OPTIONS = _words(
    "above below foregoing listed mentioned given option options answer answers choice choices these those them other"
    " others genannten obigen antwort antworten optionen davon dessus réponse réponses propositions précédentes"
    " anteriores respuesta respuestas opciones precedenti risposta risposte opzioni"
)
_STATEMENTS = _words("statement statements aussagen affirmations afirmaciones affermazioni")
_VERDICTS = _words(
    "correct right true wrong false incorrect apply applies richtig falsch korrekt trifft treffen correcte correctes"
    " exactes justes vraies fausses correctas correctos verdaderas falsas corrette vere giuste"
)
_BETWEEN = _words(
    "of the is are zu der die den von ist sind oben les des de ces ci sont est n las los estas son es le delle queste"
    " sono è"
)
_ALL_IN_CHINESE = re.compile(
    r"\W*(?:以上|上述|(?:全部?|所有|其[他它]|[都皆均])(?=.*[项案说是非对错确误]))[选项答案说法各所有全部两三者都皆均不是非对错正确误]+\W*"
)
_LABEL_OF_OPTION = re.compile(r"(?<![A-Za-z0-9])[(（]?[A-Ga-g][)）.．、:：] ?")
_ALL_WORDS = _OPTIONS | _STATEMENTS | _VERDICTS | _BETWEEN
_LETTERED = re.compile(r"\s*[(（]?([A-Ga-g])(?:[)）．、：]|[.:](?=\s))\s*")
_MAYBE_INITIAL = re.compile(r"\s*[A-G]\.\s+[a-z]")
_NAMES_A_LETTER = re.compile(
    # "A" before a word is mostly the article, where it begins a sentence.
    r"(?<![A-Za-z0-9])(?:[B-G]|A(?! [a-z])|(?<=[a-z,;] )A|A(?= (?:and|or|is|are|was|has|does|cannot)\b))(?![A-Za-z0-9])"
)


def normal(text: str) -> str:
    """As two options are compared: no compatibility forms, case, blanks, signs without width or final stop."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(without_unseen(folded).split()).rstrip(".。 ")


def _is_unseen(sign: str) -> bool:
    return unicodedata.category(sign) == "Cf"


def unseen_in(text: str) -> frozenset[str]:
    """The signs without width, such as marks of direction and soft hyphens."""
    return frozenset() if text.isascii() else frozenset(filter(_is_unseen, text))


def without_unseen(text: str) -> str:
    # ASCII has no such sign. Of tens of thousands of texts this look at each sign took most of the time.
    return text if text.isascii() else "".join(sign for sign in text if not _is_unseen(sign))


def says_the_same(one: str, other: str) -> bool:
    """But for quotation marks, hyphens between letters, signs of LaTeX and zeros that end a decimal."""
    return same_key(one) == same_key(other)


_UNSAID = re.compile(r"[\"'“”„‘’«»$\\{}]")
_HYPHEN = re.compile(r"(?<=[^\W\d_])[-‐‑](?=[^\W\d_])")
_LAST_ZEROS = re.compile(r"(?<![\d.,])(\d+)(?:\.0+|(\.\d*[1-9])0+)(?![\d.,])")


def same_key(text: str) -> str:
    """Equal of texts that say the same."""
    return _LAST_ZEROS.sub(r"\1\2", " ".join(_HYPHEN.sub(" ", _UNSAID.sub("", normal(text))).split()))


def faults_of(content: Content, asked: Mapping[str, Any]) -> list[str]:
    """What is wrong with a question as it is to be asked, as it can be said to who wrote it; `content` is what it was
    made of."""
    question = asked["question"]
    faults = [] if question.strip() else ["question: is blank"]
    if another_language(question, content["question"]):
        faults.append("question: is in another language than the original")
    faults += _language_faults(asked, question)
    for key, text in texts_of(asked):
        faults += faults_beside(content, key, text) + unseen_faults(key, text, _material(content))
    faults += _option_faults(asked) if "options" in asked else _answer_faults(asked)
    return faults or _form_faults(asked)


def _language_faults(asked: Mapping[str, Any], question: str) -> list[str]:
    """Of what is published beside the question. Few words may be terms or names that a language takes from another."""
    return [
        f"{key}: in another language than the question"
        for key, text in texts_of(asked)
        if key in ("options", "answer", "points")
        and len(re.findall(r"[^\W\d_]+", text)) >= _FEWEST_WORDS * len(text.splitlines())
        and surely_another(text, question)
    ]


_FEWEST_WORDS = 4
"""Of a line that is prose."""


def _answer_faults(asked: Mapping[str, Any]) -> list[str]:
    faults = []
    if not asked["answer"].strip():
        faults.append("answer: is blank")
    elif gives_away(asked["question"], asked["answer"], ()):
        faults.append("question: holds the answer")
    if not 1 <= len(asked["points"]) <= MOST_POINTS or not all(map(str.strip, asked["points"])):
        faults.append(f"points: 1 to {MOST_POINTS} statements, none blank")
    return faults


def lpfqa_texts(asked: Mapping[str, Any]) -> dict[str, str]:
    """Prompt and reference in LPFQA's published form."""
    if "options" not in asked:
        return _lpfqa_texts(asked, "")
    marks = _OPTION_MARKS[:1] if any(map(has_mark, asked["options"])) else _OPTION_MARKS
    texts = [_lpfqa_texts(asked, mark) for mark in marks]
    return next((each for each in texts if _is_read_back(asked, each)), texts[0])


_OPTION_MARKS = ("{}.", "({})", "{}:")
"""The first with which the options are read back: a line of the question may begin with "I." or "E. coli"."""


def _lpfqa_texts(asked: Mapping[str, Any], mark: str) -> dict[str, str]:
    points = ""
    if "options" in asked:
        letters = zip(LETTERS, asked["options"], strict=False)
        listed = [f"{mark.format(letter)} {text.strip()}" for letter, text in letters]
        # With its text: beside an option "Vitamin C" a letter alone could mean either.
        prompt, answer = "\n".join([asked["question"], *listed]), listed[LETTERS.index(letter_of(asked))]
    else:
        prompt, answer, points = asked["question"], asked["answer"].strip(), numbered(asked["points"])
    chinese = language_of(asked["question"]) == "zh"
    heads = ("<参考答案>", "<评估要点>") if chinese else ("<Reference Answer>", "<Evaluation Points>")
    parts = [f"{heads[0]}\n{answer}", *([f"{heads[1]}\n{points}"] if points else [])]
    return {"prompt": prompt, "response_reference": "\n".join(parts)}


def numbered(points: Iterable[str]) -> str:
    return "\n".join(f"{number}. {point.strip()}" for number, point in enumerate(points, start=1))


def _form_faults(asked: Mapping[str, Any]) -> list[str]:
    """Of what LPFQA's importer would not read back as it is: a form that is published has to be read by others."""
    if _is_read_back(asked, lpfqa_texts(asked)):
        return []
    if "options" in asked:
        plain = [f"text {number}" for number in range(len(asked["options"]))]
        others = {**asked, "options": plain, "right": plain[0]}
        if not _is_read_back(others, lpfqa_texts(others)):
            return ["question: has lines that would be read as options: write it without letters of a list"]
        return [f"options: {_why_not_read(option)}: {option!r}" for option in _not_read(asked)[:_TOLD]] or [
            "options: cannot be told apart again where question and options are one text: write each in a line"
        ]
    return ["answer: cannot be told from the points again: leave out headings in brackets, and list no options"]


def _not_read(asked: Mapping[str, Any]) -> list[str]:
    """The options without which the others are read back, or else those that are not among plain ones."""
    options = asked["options"]

    def is_read(kept: Collection[int]) -> bool:
        tried = [text if place in kept else f"text {place}" for place, text in enumerate(options)]
        other = {**asked, "options": tried, "right": tried[options.index(asked["right"])]}
        return _is_read_back(other, lpfqa_texts(other))

    places = range(len(options))
    without = [options[place] for place in places if is_read({*places} - {place})]
    return without[:1] or [options[place] for place in places if not is_read({place})]


_WHY_NOT_READ = (
    (re.compile(r"```"), "write this one without fences"),
    (re.compile(r"\n\s*\n"), "this one has a blank line, which would end it: leave that out"),
    (re.compile(r"\n"), "this one has several lines: write it in one"),
    (re.compile(r"[?？]"), "this one would be read as the question: write it without a question mark"),
    (re.compile(r"</?[a-z]{1,10}\s?/?>", re.IGNORECASE), "this one has a tag: leave it out"),
)


def _why_not_read(option: str) -> str:
    return next(
        (told for pattern, told in _WHY_NOT_READ if pattern.search(option)),
        "this one cannot be told from the next where all are one text: write it in other words",
    )


def _is_read_back(asked: Mapping[str, Any], texts: Mapping[str, str]) -> bool:
    try:
        read = question_of_row(LpfqaRow(prompt_id="-", **texts))
    except LineError:
        return False
    if "options" in asked:
        options, right = tuple(map(str.strip, asked["options"])), (letter_of(asked),)
        return read.choices == options and isinstance(read.target, ChoiceTarget) and read.target.letters == right
    return not read.choices and read.rubric == Rubric(
        reference=asked["answer"].strip(), points=numbered(asked["points"])
    )


def texts_of(asked: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Of a question as it is to be asked, each with its key."""
    found = [(key, asked.get(key, "")) for key in ("question", "options", "answer", "points", "explanation")]
    return [(key, said if isinstance(said, str) else "\n".join(said)) for key, said in found]


def faults_beside(content: Content, key: str, text: str) -> list[str]:
    """Personal data in a text that is to be published of an item, which its material has not."""
    names = KnownNames.read(content.get("names", {}))
    return personal_faults(key, text, _material(content), names)


def _material(content: Content) -> str:
    return "\n".join(content.get(each, "") for each in ("title", "question", "answer", "explanation"))


def personal_faults(key: str, text: str, known: str = "", names: KnownNames = NO_NAMES) -> list[str]:
    """What came in has no such thing any more: who writes it made it up, or knows more than the material says."""
    found = personal_data_in(text, known, names)
    return [f"{key}: leave out {_listed(found)}: each may be a person's address, number or name"] if found else []


def address_faults(key: str, text: str, known: str) -> list[str]:
    """Addresses of the web that a model made up."""
    found = addresses_in(text, known)
    return [f"{key}: leave out {_listed(found)}: no such address is in the material"] if found else []


def unseen_faults(key: str, text: str, known: str) -> list[str]:
    """Signs that nobody sees, and by which a program knows one text from the others."""
    found = sorted(unseen_in(text) - unseen_in(known))
    signs = ", ".join(f"U+{ord(sign):04X}" for sign in found[:_TOLD])
    return [f"{key}: holds signs that nobody sees, {signs}: leave them out"] if found else []


_TOLD = 10
"""Of what is wrong in one text: each that is not told costs another request."""


def _listed(found: Sequence[str]) -> str:
    told = list(dict.fromkeys(found))
    more = f" and {len(told) - _TOLD} more" if len(told) > _TOLD else ""
    return f"{', '.join(map(repr, told[:_TOLD]))}{more}"


def _option_faults(asked: Mapping[str, Any]) -> list[str]:
    options = asked["options"]
    faults = []
    if not FEWEST_OPTIONS <= len(options) <= MOST_OPTIONS:
        faults.append(f"options: {FEWEST_OPTIONS} to {MOST_OPTIONS}, found {len(options)}")
    alike, bare = Counter(map(normal, options)), Counter(map(same_key, options))
    if "" in alike:
        faults.append("options: one is blank")
    if twice := next((option for option in options if option.strip() and bare[same_key(option)] > 1), None):
        faults.append(f"options: two are the same: {twice!r}")
    if not alike[normal(asked["right"])]:
        faults.append("correct_answer: it has to be exactly one of the options, word for word")
    faults += _faults_of_reference(options, asked["question"])
    if _lists_options(asked["question"], options):
        faults.append("question: lists options, which belong into `options` alone")
    if gives_away(asked["question"], asked["right"], options):
        faults.append("question: holds the right option")
    return faults


def _faults_of_reference(options: Sequence[str], question: str) -> list[str]:
    """Of options that have letters of their own or speak of other options: their order is drawn."""
    faults = []
    if any(map(_speaks_of_all, options)):
        faults.append('options: none may say "all of the above" or "none of the above"')
    if lettered := next(filter(_LETTERED.match, options), None):
        faults.append(f"options: leave out the letters that they begin with, and write initials in full: {lettered!r}")
    elif _labelled(options):
        faults.append(f"options: leave out the letters or numbers that they begin with: {options[0]!r}")
    if naming := _naming_others(options, question):
        faults.append(f"options: each gets another letter, so name none by its letter: {naming!r}")
    return faults


def _speaks_of_all(option: str) -> bool:
    """Whether it says no more than that all or none of the options hold. "None", "Both are true" and "All primes below
    n" say something of what is asked."""
    first, *rest = re.findall(r"\w+", normal(option)) or [""]
    said = set(rest)
    if first in _ALL:
        whole = bool(said & (_OPTIONS | _STATEMENTS | _VERDICTS)) and said <= _ALL_WORDS
    else:
        whole = first in _BOTH and bool(said & _OPTIONS) and said <= _ALL_WORDS
    return whole or bool(_OF_THE_ABOVE.search(option) or _ALL_IN_CHINESE.fullmatch(option))


def _lists_options(question: str, options: Sequence[str]) -> bool:
    """Whether two of them stand behind letters of a list: what else has such letters are parts of the question."""
    text, said = normal(question), list(filter(None, map(normal, options)))
    found = {
        option
        for label in _LABEL_OF_OPTION.finditer(text)
        for option in said
        if text.startswith(option, label.end()) and not _BEGINS_WITH_SIGN.match(text, label.end() + len(option))
    }
    return len(found) > 1


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


_LABEL = re.compile(r"(\d{1,2}|[^\W\d_]{1,4})(\s*)([^\w\s]?)(\s*)(.*)", re.DOTALL)
_MARKS = frozenset(".:)]}、-–—")
_ORDERS = (("i", "ii", "iii", "iv", "v", "vi", "vii"), tuple("甲乙丙丁戊己庚"), tuple("一二三四五六七"))
"""What is counted with, where the signs do not follow each other in Unicode."""


def _labelled(options: Sequence[str]) -> bool:
    """Whether after the same beginning, as "Option " or "(", they have letters or numbers that follow each
    other, and the same mark after them. What would be left without them differs: "1 mg", "2 mg" are no labels."""
    spaced = (re.sub("([：．])", r"\1 ", option.replace("*", "")) for option in options)
    plain = [unicodedata.normalize("NFKC", option).strip() for option in spaced]
    begin = next((place for place, signs in enumerate(zip(*plain, strict=False)) if len(set(signs)) > 1), 0)
    found = [_LABEL.match(option, begin) for option in plain]
    parts = [each.groups() for each in found if each]
    if len(parts) < max(2, len(plain)) or len({normal(rest) for *_, rest in parts}) < len(parts):
        return False
    labels, marks = [label.casefold() for label, *_ in parts], {mark for _, _, mark, _, _ in parts}
    if not _follow(labels):
        return False
    if marks <= set(":-–—") and all(each.isdecimal() for each in (*labels, *(rest[:1] for *_, rest in parts))):
        return False  # "1 - 2 h" is a range, "1 : 2" a ratio.
    if marks <= _MARKS and len(marks) == 1:
        # "1:2", "1.5" and "1-butene" have no blank there.
        return marks <= set(")]}、") or all(after for *_, after, _ in parts)
    return not begin and min(labels) == "a" and all(before for _, before, *_ in parts)


def _follow(labels: Sequence[str]) -> bool:
    """In whichever order: that of options is drawn."""
    if all(label.isdecimal() for label in labels):
        values = sorted(map(int, labels))
    elif all(len(label) == 1 for label in labels):
        values = sorted(map(ord, labels))
    else:
        values = []
    in_turn = bool(values) and values == list(range(values[0], values[0] + len(values)))
    return in_turn or any(set(labels) == set(order[: len(labels)]) for order in _ORDERS)


def _naming_others(options: Sequence[str], question: str) -> str | None:
    """The first that names two letters of options, and little else, as in "both A and B". Where the question or most
    options name letters they are those of samples, vitamins or the like."""
    letters = LETTERS[: len(options)]
    named = [{each[0] for each in _NAMES_A_LETTER.finditer(option)} & set(letters) for option in options]
    if 2 * sum(map(bool, named)) > len(options):
        return None
    known = {each[0] for each in _NAMES_A_LETTER.finditer(question)}
    return next(
        (
            option
            for option, those in zip(options, named, strict=True)
            if len(those) > 1 and not those <= known and len(re.findall(r"\w+", option)) <= 2 * len(those) + 1
        ),
        None,
    )


def gives_away(question: str, answer: str, options: Sequence[str]) -> bool:
    """Whether the answer stands in the question, which neither offers it beside another nor holds all options."""
    said, text = normal(answer), normal(question)
    wide = sum(sign >= _WIDE for sign in said)
    # A shorter one may stand there by chance.
    if sum(map(str.isalnum, said)) + wide < _LEAK_SIGNS or not holds(question, answer):
        return False
    if sum(map(str.isalnum, said)) < _OFFERED_SIGNS and _is_offered(said, text):
        return False
    return not (options and all(_stands_in(normal(option), text) for option in options))


def holds(text: str, answer: str) -> bool:
    """Word for word, but for what `says_the_same` does not look at."""
    said = same_key(answer)
    return bool(said) and _stands_in(said, same_key(text))


_OFFERED_SIGNS = 12
"""Of longer answers more is said than "silver or copper?" asks."""
_OR = r"(?:or|oder|ou|o|или)"
_AND = r"(?:and|und|et|y|e)"


def _is_offered(said: str, text: str) -> bool:
    """As "silver or copper?", "which of silver and copper" and "silver, copper or tin?" do."""
    word = re.escape(said)
    others = r"(?:, ?[^,.;:?!]{1,30}){0,5}?,?"
    return any(
        re.search(pattern, text)
        for pattern in (
            rf"(?<!{_SIGN}){word}{others} {_OR} ",
            rf" {_OR} (?:(?:an?|the|der|die|das|une?|la|le|el|los|las) )?{word}(?!{_SIGN})",
            rf"\b(?:which|welche[rs]?|quel(?:le)?|lequel|cuál|quale) (?:of|von|de|di|entre|tra)\b[^.;:?!]{{0,60}}"
            rf"(?:(?<!{_SIGN}){word} {_AND} | {_AND} {word}(?!{_SIGN}))",
            rf"{word}(?:、[^，。？]{{1,12}}){{0,5}}(?:或|还是)|(?:或者?|还是){word}",
            rf"(?:{word}[和与][^，。？]{{1,12}}?|[和与]{word}[^，。？]{{0,4}}?)(?:哪|谁)",
        )
    )


_WIDE = "\u2e80"
"""Signs from here on, Chinese and Japanese ones, say more each, and have no blanks between words."""
_SIGN = rf"[^\W_{_WIDE}-\U0003ffff]"


_BEGINS_WITH_SIGN = re.compile(_SIGN)


def _stands_in(said: str, text: str) -> bool:
    """As whole words and whole numbers."""
    return bool(re.search(rf"(?<!{_SIGN})(?<!\d[.,]){re.escape(said)}(?!{_SIGN})(?![.,]\d)", text))


def letter_of(asked: Mapping[str, Any]) -> str:
    """Of the right option."""
    return LETTERS[[normal(option) for option in asked["options"]].index(normal(asked["right"]))]


@dataclass(frozen=True, slots=True)
class Check(NoContext):
    """Drops what is faulty, with the first fault as the reason. What a writer could mend it was asked to."""

    name: ClassVar[str] = "check"
    version: ClassVar[int] = 8
    role: ClassVar[None] = None

    def settings(self) -> Mapping[str, Any]:
        return {}

    async def take(self, item: str, content: Content, context: Any, ask: Ask) -> Outcome:
        faults = faults_of(content, content["asked"])
        return Dropped(faults[0].partition(":")[0], "; ".join(faults)) if faults else Kept(content)


@dataclass(frozen=True, slots=True)
class SetChecks:
    """Of all multiple-choice questions: how often the right option is the longest, of `longest_of` questions in which
    one option alone is, beside what chance gives, with the two-sided p-value of that; how often each letter is right,
    with the p-value that all are alike. None where there are too few questions to tell (under 20)."""

    questions: int
    longest: int
    longest_of: int
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
    of 10,000 draws (seed 0) of letters by the options that each question has, compared by their chi-square."""
    import numpy as np

    rows = [each for each in asked if "options" in each]
    longest, chances = 0, []
    for row in rows:
        lengths = [len(option) for option in row["options"]]
        right = lengths[LETTERS.index(letter_of(row))]
        longest += right == max(lengths) and lengths.count(max(lengths)) == 1
        chances.append(1 / len(lengths) if lengths.count(max(lengths)) == 1 else 0.0)
    right_ones = Counter(letter_of(row) for row in rows)
    letters = {
        letter: right_ones[letter] for letter in LETTERS[: max((len(row["options"]) for row in rows), default=0)]
    }
    told, expected = sum(map(bool, chances)), float(sum(chances))
    if len(rows) < _FEWEST:
        return SetChecks(len(rows), longest, told, expected, None, letters, None)
    counts = sum_of_chances(chances)
    longest_p = float(counts[counts <= counts[longest] * (1 + 1e-9)].sum())
    rng = np.random.default_rng(0)
    sizes = Counter(len(row["options"]) for row in rows)
    drawn = np.zeros((10_000, len(letters)))
    even = np.zeros(len(letters))
    for size, count in sorted(sizes.items()):
        drawn[:, :size] += rng.multinomial(count, [1 / size] * size, size=10_000)
        even[:size] += count / size
    apart = ((drawn - even) ** 2 / even).sum(1)
    seen = ((np.array(list(letters.values())) - even) ** 2 / even).sum()
    letters_p = float((1 + (apart >= seen - 1e-9).sum()) / 10_001)
    return SetChecks(len(rows), longest, told, expected, min(1.0, longest_p), letters, letters_p)
