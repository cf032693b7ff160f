r"""Scores mathematical answers: formulas in LaTeX or plain text, sets, intervals, matrices, equations, words."""

import re
import unicodedata
from dataclasses import dataclass, field
from itertools import pairwise

from toolablate.benchmarks.answer_extraction.announcements import ExtractedAnswer, normalised
from toolablate.benchmarks.answer_extraction.quantities import SCALES
from toolablate.benchmarks.answer_extraction.spans import read_text
from toolablate.benchmarks.scoring.math_worker import MathWorker, installed_versions
from toolablate.benchmarks.scoring.scorer import Unparsed, named, not_for, scored, unparsed, unscored
from toolablate.benchmarks.scoring.texts import accepted
from toolablate.traces.records import Question, Score

MAX_CHARS = 2_000
"""Of an answer; what is longer is no answer but a derivation, and is not compared."""

_FAULTS = {
    "unread": "it is no formula that can be read",
    "timeout": "comparing it takes too long",
    "memory": "comparing it takes too much memory",
    "crashed": "comparing it breaks the library",
}

_WRAPPED = re.compile(r"\\(?:text|textrm|textbf|textit|mbox|hbox|mathrm|mathbf|textnormal)\s?\{([^{}]{0,400})\}")
_SPACING = re.compile(r"\\[!,;:> ]|\\q?quad\b|~|\\(?:left|right|big|Big|bigg|Bigg)[lr]?(?![A-Za-z])|\\displaystyle\b")
_SEGMENT = re.compile(
    r"\$\$((?:[^$\\]|\\.){1,2000}?)\$\$|(?<!\\)\$((?:[^$\\]|\\.){1,2000}?)(?<!\\)\$"
    r"|\\\[((?:[^\\]|\\(?!\])){1,2000})\\\]|\\\(((?:[^\\]|\\(?!\))){1,2000})\\\)",
    re.DOTALL,
)
# "####" ends the solutions of GSM8K; a heading has words.
_GSM8K = re.compile(r"^####(?=[ \t]{0,4}(?:[^A-Za-z\n\\]|\\[A-Za-z]{1,20}){1,80}$)", re.MULTILINE)
_ABOUT = re.compile(
    r"^(?:(?:it\sis\s)?(?:approximately|approx\.?|about|around|roughly|exactly|nearly|ca\.?)\s|[≈~]|\\approx\b)\s*",
    re.IGNORECASE,
)
_ASIDE = re.compile(
    r"(?<=[^\s,;(])(?:\s|[,;]\s?){1,3}\(?(?:not|since|because|rather\sthan|instead\sof)\s[^$\\]{0,400}$", re.IGNORECASE
)
_VULGAR = re.compile("[¼-¾⅐-⅞]")
_CONNECTIVE = re.compile(r"[\s,;&]*(?:\b(?:and|or)\b)?[\s,;]*", re.IGNORECASE)
_JOINED = re.compile(r",?\s*(?:\\text\s?\{\s*,?\s*(?:and|or)\s*\}|\b(?:and|or)\b)\s*,?")
_SENTENCE_END = re.compile(r"(?<=[^\s.])[.](?=\s+[A-Z(\\$]|\s*$)")
_WORD = re.compile(r"(?<![\\A-Za-z])[A-Za-z]{3,}")
_NO_WORDS = re.compile(
    r"(?:arc)?(?:sin|cos|tan)h?|cot|sec|csc|log|exp|sqrt|max|min|gcd|lcm|det|mod|inf|infty|infinity|and", re.IGNORECASE
)
_UNIT = re.compile(r"(?<=[0-9})\]])\s+(?:[A-Za-z]{2,}(?:\^?[23²³])?\.?(?:\s+|$)){1,4}$")
_MIXED = re.compile(r"(?<![0-9.,])([0-9]{1,9})\s+([0-9]{1,9})\s?/\s?([0-9]{1,9})(?![0-9.])")
_GROUPS = re.compile(r"(?<![0-9.])[0-9]{1,3}(?:\s[0-9]{3}){1,9}(?![0-9])")
_UNIT_OF_LATEX = re.compile(r"(?<=[0-9})\]])\s+[A-Za-z]{4,20}(?:\s[A-Za-z]{2,20}){0,3}\.?$")
_SCALE = "(thousand|million|billion|trillion)(?![A-Za-z])"
_SCALED = re.compile(
    rf"(?<=[0-9])(?:\\?[ ,;~]){{0,4}}(?:\\(?:text|mbox|mathrm)\s?\{{\s{{0,4}}{_SCALE}[^{{}}]{{0,40}}\}}"
    rf"|{_SCALE}(?:(?:\s[A-Za-z]{{2,20}}){{1,4}}\.?$)?)"
)
_APART = re.compile(r"[0-9]\s+[0-9]")
_OR = re.compile(r"\\(?:text|mbox|textrm)\s?\{\s{0,4},?\s{0,4}or\s{0,4}\}|\\(?:lor|vee|cup)(?![A-Za-z])|[∪∨]|\bor\b")
_INEQUALITY = re.compile(r"[<>≤≥]|\\(?:le|ge|lt|gt)(?:q|qslant)?(?![A-Za-z])")
_QUANTITY = re.compile(
    r"(?<=[0-9}])\s{0,4}\\(?:text|mbox|mathrm|textrm)\s?\{\s{0,4}([A-Za-z]{1,30}[^{}]{0,60})\}(?=(\s{0,4}[0-9])?)"
)
_ROWS = re.compile(r"\[\s{0,4}\[[^\[\]]{0,400}\](?:\s{0,4},\s{0,4}\[[^\[\]]{0,400}\]){0,40}\s{0,4}\]")
_MEMBER = re.compile(r"^[A-Za-z]\s?\\in\s{0,4}(?=(?:\\left\s?)?[(\[])")
_SET = re.compile(r"\\?\{.*\}", re.DOTALL)
_TUPLE = re.compile(r"\(.*,.*\)", re.DOTALL)
_BASE = re.compile(r"[0-9A-F]+_\{?([0-9]{1,2})\}?")
_EXPONENT = re.compile(r"(?<![A-Za-z0-9])([0-9.]{1,40})[eE]([-+]?[0-9]{1,4})(?![A-Za-z0-9])")
_SQRT = re.compile(r"(?<![\\A-Za-z])sqrt\s?\(")
_NAMED = re.compile(r"(?<![\\A-Za-z])(pi|infinity|infty|inf|oo|sin|cos|tan|cot|sec|csc|log|ln|exp)(?![A-Za-z])")
_SYMBOLS = {
    "√": r"\sqrt", "π": r"\pi ", "∞": r"\infty ", "∪": r"\cup ", "∩": r"\cap ", "≤": r"\le ", "≥": r"\ge ",
    "≠": r"\ne ", "×": r"\times ", "·": r"\cdot ", "÷": r"\div ", "±": r"\pm ", "∈": r"\in ", "∅": r"\emptyset ",
    "−": "-", "–": "-", "°": r"^\circ ", "θ": r"\theta ", "α": r"\alpha ", "β": r"\beta ", "λ": r"\lambda ",
    "⟨": "(", "⟩": ")",
}  # fmt: skip
_SUPERSCRIPT = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹⁻]{1,9}")
_PLAIN_DIGITS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")


@dataclass(frozen=True, slots=True)
class MathScorer:
    r"""Right is what equals one of the accepted answers as mathematics, by math-verify: `\frac{\sqrt{3}}{2}` and
    `sqrt(3)/2`, sets in any order, tuples in theirs, intervals with their ends, equations up to a factor. A decimal is
    right that agrees to six places. Answers in words are compared as `exact` compares.

    Beyond the limits of `MathWorker` a reply is `unparsed`. `score` raises ScoringError where the worker is lost.
    """

    unparsed: Unparsed = "wrong"
    worker: MathWorker = field(default_factory=MathWorker, compare=False)

    @property
    def name(self) -> str:
        return named("math", unparsed="exclude" if self.unparsed == "exclude" else "")

    @property
    def version(self) -> int:
        """Of our rules, of math-verify and of sympy, which decide together: 1_000900_011400 for 1, 0.9.0 and 1.14.0."""
        version = RULES
        for part in installed_versions():
            version = version * 100 + part
        return version

    def __post_init__(self) -> None:
        installed_versions()

    def refusal(self, question: Question) -> str:
        return "" if accepted(question) else not_for(self, question)

    async def open(self) -> None:
        await self.worker.open()

    async def score(self, question: Question, trial_id: str, answer: str | None) -> Score:
        if refusal := self.refusal(question):
            return unscored(self, trial_id, refusal)
        reading = read_text(answer, extra=_GSM8K)
        if reading.value is None:
            return unparsed(self, trial_id, reading, self.unparsed)
        given, fault = reading.value[0], ""
        for gold in accepted(question):
            verdict = await self._compared(gold, given)
            if verdict == "right":
                return scored(self, trial_id, 1.0, reading.value)
            fault = fault or _FAULTS.get(verdict, "")
        if fault:
            return unparsed(self, trial_id, ExtractedAnswer(None, f"{fault}: {given[:60]!r}"), self.unparsed)
        return scored(self, trial_id, 0.0, reading.value)

    async def close(self) -> None:
        await self.worker.close()

    async def _compared(self, gold: str, given: str) -> str:
        if len(given) > MAX_CHARS:
            return "unread"
        if plain(gold) == plain(given):
            return "right"
        if is_words(gold):
            return "right" if words(gold) == words(given) else "wrong"
        wanted, ways = formula(gold), alternatives(given, gold)
        if are_several(gold) or are_several(given):
            return "right" if words(gold) == words(given) else "unread" if are_several(given) else "wrong"
        if is_words(ways[0]) or _APART.search(ways[0]):
            return "unread"
        bases = _BASE.fullmatch(wanted), _BASE.fullmatch(ways[0])
        if bases[0] and bases[1] and bases[0][1] != bases[1][1]:
            return "wrong"  # math-verify passes over subscripts
        if _TUPLE.fullmatch(plain(wanted)) and _SET.fullmatch(plain(formula(given))):
            return "wrong"  # math-verify takes a set for a tuple
        return "right" if plain(wanted) in map(plain, ways) else await self.worker.compare(wanted, ways)


RULES = 1
"""Rises where the rules of this module would score the same reply differently."""


def plain(text: str) -> str:
    """What is left of a formula without what only changes its looks; equal texts are equal answers."""
    text = (
        _SPACING.sub("", _WRAPPED.sub(r"\1", _undollared(text)))
        .replace(r"\dfrac", r"\frac")
        .replace(r"\tfrac", r"\frac")
    )
    return re.sub(r"(?<![0-9])\s+|\s+(?![0-9])|\\(?=[$%])", "", text).replace("{,}", ",").rstrip(".")


def is_words(text: str) -> bool:
    r"""Whether the answer is words and no formula: `\text{east}`, `Evelyn`, `June 20`; `5\text{ cm}` is none."""
    bare = _undollared(text)
    wrapped = _WRAPPED.fullmatch(bare)
    if wrapped:
        return any(character.isalpha() for character in wrapped[1])
    if "\\" in bare or re.search(r"[=^_{}<>+*/]", bare):
        return False
    found = [word for word in _WORD.findall(bare) if not _NO_WORDS.fullmatch(word)]
    return bool(found) and not re.match(r"[-+(\[]?\s?[0-9.]", bare)


def are_several(text: str) -> bool:
    r"""Whether the answer is a quantity of several parts, `6\text{ feet }3\text{ inches}`, of which math-verify would
    read the first. `3\text{ cm}, 4\text{ cm}` is a list."""
    found = list(_QUANTITY.finditer(text))
    units = {re.sub(r",|\band$", "", each[1].strip()).strip().lower().removesuffix("s") for each in found}
    return len(units) > 1 or any(each[2] and not each[1].rstrip().endswith((",", "and", "or")) for each in found)


def words(text: str) -> str:
    """In lower case, without brackets around a letter and without an article before."""
    bare = normalised(_SPACING.sub(" ", _WRAPPED.sub(r"\1", _undollared(text))))
    bare = re.sub(r"[(\[]([a-z])[)\]]", r"\1", bare)
    return re.sub(r"^(?:an?|the)\s+(?=\w{2})", "", bare)


def formula(text: str) -> str:
    """The answer as one formula in LaTeX: the formulas of a line in words, plain text as LaTeX."""
    text = unicodedata.normalize("NFC", text).strip()
    text = _ASIDE.sub("", _ABOUT.sub("", _VULGAR.sub(_as_fraction, text)))
    # math-verify passes over words, and over what one of these multiplies by.
    text = _SCALED.sub(lambda found: rf"\cdot {SCALES[found[1] or found[2]]} ", text)
    either = _OR.split(text)
    if len(either) > 1 and all(map(_INEQUALITY.search, either)):
        text = ", ".join(part.strip().strip("$") for part in either)
    segments = list(_SEGMENT.finditer(text))
    if segments:
        between = [text[one.end() : other.start()] for one, other in pairwise(segments)]
        if all(_CONNECTIVE.fullmatch(part) for part in between):
            found = [next(group for group in match.groups() if group is not None) for match in segments]
            return _tidied(", ".join(part.strip().rstrip(".,;") for part in found))
        text = text.replace("$", "")
    text = _SENTENCE_END.split(text, maxsplit=1)[0]
    return _tidied((_UNIT_OF_LATEX if "\\" in text else _UNIT).sub("", text))


def _as_fraction(found: re.Match[str]) -> str:
    over, _, under = unicodedata.normalize("NFKC", found[0]).partition("\u2044")
    return rf"\frac{{{over}}}{{{under}}}"


def alternatives(given: str, gold: str) -> list[str]:
    """The ways in which an answer can be meant: as it stands, and what an equation ends in where none is wanted."""
    text = formula(given)
    wanted = formula(gold)
    if (
        "," in text
        and not _INEQUALITY.search(text)
        and _TUPLE.fullmatch(_SPACING.sub("", wanted))
        and not re.match(r"\s*(?:\\left)?\s*(?:[(\[]|\\[a-z{])", text)
    ):
        text = f"({text})"  # the order counts where it does in the right one
    *before, last = re.split(r"=|\\approx\b|≈", text)
    # "x = 4, y = 5" does not end in one answer.
    return [text] if "=" in wanted or not last.strip() or "," in "".join(before) or not before else [text, last.strip()]


def _tidied(text: str) -> str:
    text = _SPACING.sub(lambda found: found[0] if found[0].startswith(("\\l", "\\r", "\\q", "\\ ")) else "", text)
    if _ROWS.fullmatch(text.strip()):
        rows = r" \\ ".join(row.replace(",", "&") for row in re.findall(r"\[([^\[\]]*)\]", text))
        text = rf"\begin{{pmatrix}} {rows} \end{{pmatrix}}"
    text = _JOINED.sub(", ", text)
    text = _GROUPS.sub(lambda found: "".join(found[0].split()), _MIXED.sub(r"\1\\frac{\2}{\3}", text))
    for symbol, command in _SYMBOLS.items():
        text = text.replace(symbol, command)
    text = _SUPERSCRIPT.sub(lambda found: f"^{{{found[0].translate(_PLAIN_DIGITS)}}}", text)
    text = re.sub(r"\\sqrt\s?([0-9]+|[a-z])(?![0-9])", r"\\sqrt{\1}", text)
    if "\\" not in text:
        text = text.replace("**", "^").replace("*", r"\cdot ")
        text = re.sub(r"\s[Uu]\s(?=[(\[])", r" \\cup ", text)
    text = _roots(_EXPONENT.sub(r"\1\\cdot 10^{\2}", text))
    text = _NAMED.sub(lambda found: rf"\{_COMMANDS.get(found[1], found[1])} ", text)
    text = re.sub(r"\^\(([^()]{1,40})\)", r"^{\1}", text)
    text = _MEMBER.sub("", text.strip())
    return text.replace("<=", r"\le ").replace(">=", r"\ge ").strip().rstrip(".").strip()


_COMMANDS = {"infinity": "infty", "inf": "infty", "oo": "infty"}


def _roots(text: str) -> str:
    r"""`sqrt(x)` as `\sqrt{x}`."""
    while found := _SQRT.search(text):
        depth, end = 1, found.end()
        while end < len(text) and depth:
            depth += (text[end] == "(") - (text[end] == ")")
            end += 1
        inside = text[found.end() : end - (not depth)]
        text = rf"{text[: found.start()]}\sqrt{{{inside}}}{text[end:]}"
    return text


def _undollared(text: str) -> str:
    text = text.strip().rstrip(".").strip()
    whole = _SEGMENT.fullmatch(text)
    return next(group for group in whole.groups() if group is not None).strip() if whole else text
