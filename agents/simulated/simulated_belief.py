"""What a simulated model believes, and how what a tool gave supports the answers it considers."""

import json
import math
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from toolablate.tools.guards.leaks import lettered
from toolablate.traces.records import (
    ChoiceTarget,
    NumberTarget,
    Question,
    ReferenceTarget,
    SimulatedModel,
    SpansTarget,
    TextTarget,
)

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_WRONG_SETS = 3
_NOTHING = "nothing of the kind"
_WRONG_FACTORS = (0.5, 2.0, 0.1, 10.0, 1.5, 0.75, -1.0)


@dataclass(frozen=True, slots=True)
class Candidate:
    """An answer as it would be written, the texts that support it, its value if it is a number, and its weight."""

    answer: str
    texts: tuple[str, ...] = ()
    value: float | None = None
    nats: float = 0.0


@dataclass(frozen=True, slots=True)
class Belief:
    candidates: tuple[Candidate, ...]

    def probabilities(self) -> tuple[float, ...]:
        """The softmax of the weights."""
        top = max(candidate.nats for candidate in self.candidates)
        weights = [math.exp(candidate.nats - top) for candidate in self.candidates]
        return tuple(weight / sum(weights) for weight in weights)

    def moved(self, nats: Sequence[float]) -> "Belief":
        pairs = zip(self.candidates, nats, strict=True)
        return Belief(tuple(replace(candidate, nats=candidate.nats + more) for candidate, more in pairs))

    def sample(self, rng: random.Random) -> Candidate:
        return rng.choices(self.candidates, self.probabilities())[0]


def opening_belief(question: Question, model: SimulatedModel, rng: random.Random, distractor: str | None) -> Belief:
    """The belief before any tool is used; the only place where a simulated model looks at the target.

    With probability `ability` the peak is at the right answer; else at the distractor, or at any wrong answer.
    """
    right, wrong = _candidates(question, rng)
    knows = rng.random() < model.ability
    tempting = next((candidate for candidate in wrong if candidate.answer == distractor), None)
    at_random = rng.choice(wrong) if wrong else right
    peak = right if knows else tempting or at_random
    ordered = sorted([right, *wrong], key=lambda candidate: candidate.answer)
    return Belief(
        tuple(replace(candidate, nats=model.confidence if candidate is peak else 0.0) for candidate in ordered)
    )


def _candidates(question: Question, rng: random.Random) -> tuple[Candidate, list[Candidate]]:
    target = question.target
    if isinstance(target, NumberTarget):
        wrong = [_number(value) for value in _wrong_values(target, rng)]
        return _number(target.value), wrong
    if isinstance(target, SpansTarget):
        return _spans(target.stated), [_spans(spans) for spans in _wrong_spans(target.stated)]
    if isinstance(target, ReferenceTarget):
        return _reference(target.answer), [_reference(_NOTHING)]
    if isinstance(target, TextTarget):
        return _reference(target.answers[0]), [_reference(_NOTHING)]
    if not isinstance(target, ChoiceTarget):
        # Neither a pattern nor tests say what would be right.
        return _reference(_NOTHING), []
    return _choices(question, target, rng)


def _choices(question: Question, target: ChoiceTarget, rng: random.Random) -> tuple[Candidate, list[Candidate]]:
    count = len(question.choices) or max(lettered(question.prompt), *(_LETTERS.find(x) + 1 for x in target.letters))
    texts = dict(zip(_LETTERS[:count], question.choices or [""] * count, strict=False))

    def choice(letters: tuple[str, ...]) -> Candidate:
        return Candidate(", ".join(letters), tuple(texts.get(letter, "") for letter in letters))

    right = tuple(sorted(target.letters))
    if len(right) == 1:
        return choice(right), [choice((letter,)) for letter in texts if letter != right[0]]
    wrong = {
        changed for changed in (_changed(right, list(texts), rng) for _ in range(_WRONG_SETS * 3)) if changed != right
    }
    return choice(right), [choice(letters) for letters in sorted(wrong)[:_WRONG_SETS]]


def _changed(right: tuple[str, ...], letters: list[str], rng: random.Random) -> tuple[str, ...]:
    """A set of letters that differs in one of them."""
    return tuple(sorted(set(right) ^ {rng.choice(letters)}))


def _number(value: float) -> Candidate:
    return Candidate(written(value), value=value)


def written(value: float) -> str:
    """A number as a model writes it: plain digits where that is short."""
    short = f"{value:.10g}"
    return short if "e" not in short else f"{value:.6e}"


def _wrong_values(target: NumberTarget, rng: random.Random) -> Iterator[float]:
    """Two values that are wrong by the target's own tolerance."""
    allowed = max(target.absolute, target.relative * abs(target.value))
    given = 0
    for factor in rng.sample(_WRONG_FACTORS, len(_WRONG_FACTORS)):
        value = target.value * factor if target.value else factor
        if abs(value - target.value) > allowed and math.isfinite(value) and given < 2:
            given += 1
            yield value


def _spans(spans: tuple[str, ...]) -> Candidate:
    return Candidate(json.dumps(list(spans), ensure_ascii=False), spans)


def _reference(answer: str) -> Candidate:
    return Candidate(answer, (answer,))


def _wrong_spans(spans: tuple[str, ...]) -> list[tuple[str, ...]]:
    return [(_NOTHING,), spans[1:] or (spans[0] * 2,)]


# How what a tool gave supports the answers that a simulated model considers.


Kind = Literal["code", "query", "open"]

_READ_CHARACTERS = 20_000
_NUMBER = re.compile(
    r"(?<![\w.])[-+]?(?:\d{1,3}(?:,\d{3})+|\d{1,30})(?:\.\d{1,30})?(?:[eE][-+]?\d{1,3})?(?:/\d{1,15})?(?![\w])"
)
_WORD = re.compile(r"\w{2,}")
_STOP_WORDS = frozenset(
    _WORD.findall(
        "the and for are was were that this with from into than then its not but has have had can will would there"
        " which their they them these those when where who whom whose what why how all any each every some such only"
        " same other an as at be by do if in is it no of on or so to we"
    )
)
_CLEAR_SHARE = 0.6
_RELATIVE = 0.005


@dataclass(frozen=True, slots=True)
class Finding:
    """A call that was made, of which kind, with what text, and what came back."""

    kind: Kind
    asked: str
    output: str

    @property
    def failed(self) -> bool:
        return "Traceback (most recent call last)" in self.output or self.output.lstrip().startswith("Error")


def persuade(belief: Belief, findings: Sequence[Finding], trust: float) -> Belief:
    """The belief after these findings: `trust` nats for a clear match, shared where several answers match.

    The same answer is not believed more for being computed or read twice; code and reading add up.
    """
    useful = [finding for finding in findings if not finding.failed]
    belief = _with_computed_value(belief, useful)
    strongest = {"code": [0.0] * len(belief.candidates), "read": [0.0] * len(belief.candidates)}
    for finding in useful:
        source = strongest["code" if finding.kind == "code" else "read"]
        source[:] = map(max, source, _shares(support(belief.candidates, finding)))
    return belief.moved([trust * (code + read) for code, read in zip(*strongest.values(), strict=True)])


def _with_computed_value(belief: Belief, findings: Sequence[Finding]) -> Belief:
    """A number that a program ends on is an answer to consider, where numbers are asked for, right or not."""
    if all(candidate.value is None for candidate in belief.candidates):
        return belief
    candidates = list(belief.candidates)
    for finding in findings:
        values = _numbers(_last_line(finding.output)) if finding.kind == "code" else []
        known = [candidate.value for candidate in candidates if candidate.value is not None]
        if values and not any(_close(values[-1], value) for value in known):
            candidates.append(Candidate(written(values[-1]), value=values[-1]))
    return Belief(tuple(candidates))


def _shares(weights: Sequence[float]) -> list[float]:
    total = sum(weights)
    return [weight * weight / total if total else 0.0 for weight in weights]


def support(candidates: Sequence[Candidate], finding: Finding) -> list[float]:
    """For each candidate how well a finding fits it, from 0 to 1."""
    output = finding.output[:_READ_CHARACTERS]
    if any(candidate.value is not None for candidate in candidates):
        return _support_of_numbers(candidates, finding.kind, output)
    texts = sorted({text for candidate in candidates for text in candidate.texts if text})
    fits = dict(zip(texts, _fit_of_texts(texts, finding, output), strict=True))
    return [_mean([fits.get(text, 0.0) for text in candidate.texts]) for candidate in candidates]


def _support_of_numbers(candidates: Sequence[Candidate], kind: Kind, output: str) -> list[float]:
    # A program's last number is its result; a page is full of numbers, and short ones in it mean nothing.
    found = _numbers(_last_line(output))[-1:] if kind == "code" else [x for x in _numbers(output) if _digits(x) > 1]
    return [
        float(any(_close(x, candidate.value) for x in found)) for candidate in candidates if candidate.value is not None
    ]


def _fit_of_texts(texts: Sequence[str], finding: Finding, output: str) -> list[float]:
    """For code a last line that has an option's text or numbers decides alone; else texts and their own words count."""
    if finding.kind == "code":
        for part in (_last_line(output), output):
            plain, numbers = _plain(part), _numbers(part)
            verbatim = [float(_occurs(_plain(text), plain)) for text in texts]
            fits = verbatim if any(verbatim) else [_share_of_numbers(text, numbers) for text in texts]
            if any(fits):
                return fits
    plain = _plain(output)
    words = [set(_WORD.findall(_plain(text))) - _STOP_WORDS for text in texts]
    seen = set(_WORD.findall(plain)) - set(_WORD.findall(_plain(finding.asked)))
    return [
        1.0 if _occurs(_plain(text), plain) else _word_fit(own, [w for w in words if w is not own], seen)
        for text, own in zip(texts, words, strict=True)
    ]


def _share_of_numbers(text: str, found: Sequence[float]) -> float:
    """The share of an option's numbers that is among those found."""
    return _mean([float(any(_close(x, value) for x in found)) for value in _values_of(text)])


def _occurs(text: str, output: str) -> bool:
    return (
        len(text) > 2
        and not _NUMBER.fullmatch(text)
        and re.search(rf"(?<!\w){re.escape(text)}(?!\w)", output) is not None
    )


def _word_fit(own: set[str], others: list[set[str]], seen: set[str]) -> float:
    """The share of a text's own words that was seen; words that other texts have too tell nothing."""
    telling = own.difference(*others) if others else own
    share = len(telling & seen) / len(telling) if telling else 0.0
    return 0.8 * share if share >= _CLEAR_SHARE else 0.0


def _values_of(text: str) -> list[float]:
    """The numbers of an option; in a longer one only those with several digits."""
    numbers = _numbers(text)
    return numbers if len(_WORD.findall(text)) <= 4 else [x for x in numbers if _digits(x) > 1]


def _numbers(text: str) -> list[float]:
    found = []
    for match in _NUMBER.finditer(text):
        above, _, below = match[0].replace(",", "").partition("/")
        value = float(above) / (float(below or 1) or math.nan)
        if math.isfinite(value):
            found.append(value)
    return found


def _close(x: float, y: float | None) -> bool:
    return y is not None and math.isclose(x, y, rel_tol=_RELATIVE, abs_tol=1e-9)


def _digits(value: float) -> int:
    return len(f"{abs(value):.6g}".replace(".", "").strip("0"))


def _last_line(output: str) -> str:
    lines = output.strip().splitlines()
    return lines[-1][-_READ_CHARACTERS:] if lines else ""


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


def _mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else 0.0
