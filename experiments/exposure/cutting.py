"""From questions to the beginnings of prompts that models are to go on with."""

import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from toolablate.analysis.exposure_overlap import IS_UNSPACED, MOST_TOKENS, token_ends
from toolablate.benchmarks.builtin import builtin_questions
from toolablate.benchmarks.questions import load_questions
from toolablate.experiments.exposure.plan import ExposurePlan
from toolablate.traces.records import Continuation, OpenAIModel, Question

FEWEST_TOKENS = 10
"""Of a prompt that can be cut in two parts of which either says something."""

# A token of a model has two bytes or more in all but random text: four in English, two in formulas, three in Chinese.
BYTES_PER_TOKEN = 2
FEWEST_ASKED, MOST_ASKED = 16, 4096

# What tokens leave out within a word or number: don't, x_max, 3.25.
_WITHIN = re.compile(r"['’_]|(?<=\d)\.(?=\d)")
_LETTER_OR_DIGIT = re.compile(r"[^\W_]")


@dataclass(frozen=True, slots=True)
class Beginning:
    """A prompt of a benchmark, cut in two; a model is to go on with `given` for at most `max_tokens` of its tokens."""

    benchmark: str
    question: Question
    given: str
    rest: str
    max_tokens: int

    def asked_of(self, model: OpenAIModel) -> tuple[str, str, str, str, str, int]:
        """As a `Continuation` of it by this model says it."""
        return (model.identity(), self.benchmark, self.question.id, self.given, self.rest, self.max_tokens)


@dataclass(frozen=True, slots=True)
class Prompts:
    """Those of one benchmark; `too_short` could not be cut."""

    benchmark: str
    beginnings: tuple[Beginning, ...]
    too_short: int

    def continued(
        self, model: OpenAIModel, found: Mapping[tuple[object, ...], Continuation]
    ) -> tuple[Continuation, ...]:
        asked = (beginning.asked_of(model) for beginning in self.beginnings)
        return tuple(found[key] for key in asked if key in found)


def read_prompts(plan: ExposurePlan) -> tuple[Prompts, ...]:
    """Of each benchmark of a plan. Raises InputError for a question file that cannot be read."""
    return tuple(_prompts(name, _questions(file)[: plan.limit], plan.share) for name, file in plan.benchmarks.items())


def _questions(file: str) -> tuple[Question, ...]:
    return builtin_questions() if file == "builtin" else load_questions(file)


def _prompts(benchmark: str, questions: Sequence[Question], share: float) -> Prompts:
    beginnings: list[Beginning] = []
    for question in questions:
        if (parts := cut(question.prompt, share)) is not None:
            beginnings.append(Beginning(benchmark, question, *parts, room_for(parts[1])))
    return Prompts(benchmark, tuple(beginnings), len(questions) - len(beginnings))


def cut(prompt: str, share: float) -> tuple[str, str] | None:
    """A prompt up to the end of the word or number that the first `share` of its tokens (rounded, and at least one on
    each side) ends in, and what follows, up to the last token that is compared. None of a prompt of fewer than
    FEWEST_TOKENS."""
    prompt = prompt.strip()
    ends = list(token_ends(prompt))
    if len(ends) < FEWEST_TOKENS:
        return None
    given = min(max(round(share * len(ends)), 1), len(ends) - 1)
    while given < len(ends) - 1 and _word_goes_on(prompt, ends[given - 1]):
        given += 1
    start, last = _past_marks(prompt, ends[given - 1]), given + MOST_TOKENS
    return prompt[:start], prompt[start : ends[last - 1] if last < len(ends) else len(prompt)]


def _word_goes_on(text: str, end: int) -> bool:
    """Whether a token ends within a word, a number, or a word of a script whose vowels are marks."""
    past = _past_marks(text, end)
    if within := _WITHIN.match(text, past):
        past = within.end()
    return past > end and bool(_LETTER_OR_DIGIT.match(text, past)) and not IS_UNSPACED.match(text, past)


def _past_marks(text: str, end: int) -> int:
    """Past accents and vowel signs, which are characters of their own but belong to the one before."""
    while end < len(text) and unicodedata.category(text[end]).startswith("M"):
        end += 1
    return end


def room_for(rest: str) -> int:
    """How many of its own tokens a model is given for a rest: enough for all of it."""
    return min(max(math.ceil(len(rest.encode()) / BYTES_PER_TOKEN), FEWEST_ASKED), MOST_ASKED)
