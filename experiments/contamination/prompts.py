"""The plan of a contamination test, and the beginnings of prompts that models are to continue."""

import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from pydantic import Field, field_validator, model_validator

from toolablate.benchmarks.questions import questions_of
from toolablate.benchmarks.registry import is_question_set
from toolablate.experiments.contamination.overlap import IS_UNSPACED, MOST_TOKENS, token_ends
from toolablate.experiments.plans.sections import Section, valid_plan
from toolablate.experiments.plans.written import plan_content, plan_text
from toolablate.traces.records import Continuation, OpenAIModel, Question


class ContaminationPlan(Section):
    """A validated plan. Paths in it are absolute; a benchmark may be "hf:OWNER/NAME" or "builtin".

    `share` is how much of a prompt's tokens a model is given, `file` what keeps the continuations, `limit` how many
    questions of each benchmark are asked, from its beginning. `benchmarks` are question files by the names that
    they are shown under. `perplexity` also asks how likely the rests are. `seed` is that of chance's pairs of
    questions, and of the bootstrap.
    """

    share: float = Field(default=0.4, gt=0, lt=1)
    file: str = Field(min_length=1)
    limit: int | None = Field(default=None, gt=0)
    seed: int = 0
    perplexity: bool = False
    benchmarks: dict[str, str] = Field(min_length=1)
    models: tuple[OpenAIModel, ...] = Field(min_length=1)

    @field_validator("benchmarks")
    @classmethod
    def _benchmarks_have_names_and_files(cls, benchmarks: dict[str, str]) -> dict[str, str]:
        for name, file in benchmarks.items():
            if not name.strip() or not file:
                raise ValueError(f"benchmarks: {name!r} = {file!r}: both a name and a question file are needed")
        return benchmarks

    @model_validator(mode="after")
    def _names_are_distinct(self) -> Self:
        names = [model.name for model in self.models]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"models: the name {twice[0]!r} is used twice; names must be distinct")
        return self

    @model_validator(mode="after")
    def _texts_are_completed(self) -> Self:
        for model in self.models:
            if model.api != "chat":
                raise ValueError(
                    f"models: {model.name}: api = {model.api!r}: text completions are asked for here; leave it out"
                )
        return self


def load_contamination_plan(path: Path) -> ContaminationPlan:
    """Reads a plan; relative paths in it are relative to its folder. Raises InputError that names the key, what was
    found and what is allowed."""
    content = plan_content(plan_text(path), path)
    content.setdefault("file", f"runs/{path.stem}.jsonl")
    plan = valid_plan(ContaminationPlan, content, path)
    folder = path.parent.resolve()
    files = {name: _anchored(file, folder) for name, file in plan.benchmarks.items()}
    return plan.model_copy(update={"file": str(folder / plan.file), "benchmarks": files})


def _anchored(file: str, folder: Path) -> str:
    return file if file.startswith("hf:") or is_question_set(file) else str(folder / file)


# From questions to the beginnings of prompts that models are to go on with.


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

    def scored_as(self, model: OpenAIModel) -> tuple[str, str, str, str, str]:
        """As a `PromptScore` of it by this model says it."""
        return self.asked_of(model)[:-1]


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


def read_prompts(plan: ContaminationPlan) -> tuple[Prompts, ...]:
    """Of each benchmark of a plan. Raises InputError for a question file that cannot be read."""
    return tuple(_prompts(name, _questions(file)[: plan.limit], plan.share) for name, file in plan.benchmarks.items())


def _questions(file: str) -> tuple[Question, ...]:
    return questions_of(file)


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
