"""The stages of questions that models do: assess what came in, filter for quality and difficulty, convert to options or
to a short answer."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, get_args

from pydantic import Field

from toolablate.benchmarks.judging.answers import Ask
from toolablate.experiments.construction.json_replies import ReplyForm, ask_for, request_for
from toolablate.experiments.construction.question_checks import (
    FEWEST_OPTIONS,
    MOST_OPTIONS,
    address_faults,
    faults_beside,
    faults_of,
    says_the_same,
    texts_of,
    without_letters,
)
from toolablate.experiments.construction.stages import Content, Dropped, Kept, NoContext, Outcome, Role

QuestionKind = Literal["knowledge", "reasoning", "computation"]
CLARITY = range(1, 6)


# Whether there is a question with an answer at all.


class Assessment(ReplyForm):
    defined_question: bool
    valid_answer: bool
    disputed: bool
    wrong_replies: tuple[int, ...]
    reason: str


ASSESS_PROMPT = """You check material for a benchmark of professional questions. You see a question from a forum, the \
answer that its discussion settled on, and the other replies, each with its number. Decide:
- defined_question: it asks one definite thing, and says all that is needed to answer it.
- valid_answer: the answer answers this question, completely and without doubt.
- disputed: other replies contradict the answer with reasons that were not refuted.
- wrong_replies: the numbers of replies that answer the question and are wrong. [] where there are none.
- reason: one sentence; "" where nothing is wrong."""


@dataclass(frozen=True, slots=True)
class Assess(NoContext):
    """Drops what has no defined question or no valid, undisputed answer; keeps the texts of wrong replies apart."""

    asks: int
    prompt: str
    name: ClassVar[str] = "assess"
    version: ClassVar[int] = 2
    role: ClassVar[Role] = "writer"

    def settings(self) -> Mapping[str, Any]:
        return {"words": self.prompt}

    async def take(self, item: str, content: Content, context: Any, ask: Ask) -> Outcome:
        replies: Sequence[str] = content["replies"]
        parts = _material(content)
        parts += [(f"reply {number}", text) for number, text in enumerate(replies, start=1)]

        def faults(found: Assessment) -> list[str]:
            unknown = [number for number in found.wrong_replies if not 1 <= number <= len(replies)]
            if unknown:
                return [f"wrong_replies: there is no reply {unknown[0]}"]
            right = [number for number in found.wrong_replies if says_the_same(replies[number - 1], content["answer"])]
            return [f"wrong_replies: reply {right[0]} is the answer, word for word"] if right else []

        request = request_for(Assessment, self.prompt, parts, "Assess this question and answer.")
        found = await ask_for(request, Assessment, ask, self.asks, faults)
        if not found.defined_question:
            return Dropped("no defined question", found.reason)
        if not found.valid_answer:
            return Dropped("no valid answer", found.reason)
        if found.disputed:
            return Dropped("disputed answer", found.reason)
        wrong = [replies[number - 1] for number in dict.fromkeys(found.wrong_replies)]
        return Kept({**content, "wrong_replies": wrong})


def _material(content: Content) -> list[tuple[str, str]]:
    """The explanation has marks of its own: else it is taken for a part of the answer, and published so."""
    explanation = [("explanation", content["explanation"])] if content["explanation"] else []
    return [("question", _titled(content)), ("answer", content["answer"]), *explanation]


def _titled(content: Content) -> str:
    return "\n\n".join(filter(None, (content["title"], content["question"])))


# Whether it is good and hard enough.


class Filtering(ReplyForm):
    accurate: bool
    complete: bool
    professional: bool
    timeless: bool
    special_knowledge: bool
    several_steps: bool
    synthesis: bool
    uncommon_approach: bool
    domain: Annotated[str, Field(min_length=1)]
    kind: QuestionKind
    clarity: Annotated[int, Field(ge=CLARITY[0], le=CLARITY[-1])]
    reason: str


QUALITY = {
    "accurate": "not accurate",
    "complete": "not complete",
    "professional": "not professional",
    "timeless": "bound to a time",
}
DIFFICULTY = ("special_knowledge", "several_steps", "synthesis", "uncommon_approach")

# The four criteria of quality and four of difficulty are those of the paper on LPFQA (appendix, quality filter).
FILTER_PROMPT = """You select questions for a benchmark of professional knowledge. You see a question with its answer. \
Decide for each criterion whether it holds:
- accurate: what the question takes for given is right.
- complete: it holds all that is needed, and nothing that is not.
- professional: it needs training in a field, and is no trivia.
- timeless: its answer does not change with time.
- special_knowledge: it needs specialised or recent knowledge of a field.
- several_steps: its solution has several steps.
- synthesis: it needs abstraction, or facts of several kinds put together.
- uncommon_approach: the obvious way leads astray.
Also give:
- domain: {domains}.
- kind: "knowledge" (it has to be known), "reasoning" (it has to be thought out) or "computation" (it has to be \
computed).
- clarity: 1 (can be read in several ways) to 5 (in one way only).
- reason: one sentence on what fails; "" where nothing does."""


@dataclass(frozen=True, slots=True)
class Filter(NoContext):
    """Drops what fails a criterion of quality, has fewer than `difficulty` criteria of difficulty, or is not clear
    enough; labels the rest."""

    asks: int
    prompt: str
    domains: tuple[str, ...]
    clarity: int
    difficulty: int
    name: ClassVar[str] = "filter"
    version: ClassVar[int] = 5
    role: ClassVar[Role] = "checker"

    def settings(self) -> Mapping[str, Any]:
        return {"words": self.prompt, "clarity": self.clarity, "difficulty": self.difficulty}

    async def take(self, item: str, content: Content, context: Any, ask: Ask) -> Outcome:
        def faults(found: Filtering) -> list[str]:
            return _domain_faults(found.domain, self.domains, content)

        parts = _material(content)
        request = request_for(Filtering, self.prompt, parts, "Judge this question.")
        found = await ask_for(request, Filtering, ask, self.asks, faults)
        said = found.model_dump()
        for criterion, reason in QUALITY.items():
            if not said[criterion]:
                return Dropped(reason, found.reason)
        hard = [criterion for criterion in DIFFICULTY if said[criterion]]
        if len(hard) < self.difficulty:
            return Dropped("too easy", found.reason)
        if found.clarity < self.clarity:
            return Dropped("not clear", found.reason)
        labels = {"domain": found.domain, "kind": found.kind, "clarity": found.clarity, "difficulty": hard}
        return Kept({**content, **labels})


_LONGEST_DOMAIN = 100


def _domain_faults(domain: str, domains: Sequence[str], content: Content) -> list[str]:
    if domains:
        return [] if domain in domains else [f"domain: {domain!r} is none of {', '.join(domains)}"]
    if not domain.isprintable() or not domain.strip() or len(domain) > _LONGEST_DOMAIN:
        return [f"domain: one line of words, {_LONGEST_DOMAIN} characters at most"]
    return faults_beside(content, "domain", domain)


def label_faults(content: Content, domains: Sequence[str]) -> list[str]:
    """What is wrong with labels that people mended; `domains` are those that there may be, () for any."""
    faults = _domain_faults(content["domain"], domains, content)
    if content["kind"] not in get_args(QuestionKind):
        faults.append(f"kind: one of {', '.join(get_args(QuestionKind))}")
    if content["clarity"] not in CLARITY:
        faults.append(f"clarity: {CLARITY[0]} to {CLARITY[-1]}")
    if not all(map(str.strip, content["wrong_replies"])):
        faults.append("wrong_replies: one is blank")
    asked = content["asked"]
    right = asked["right"] if "options" in asked else asked["answer"]
    if any(says_the_same(each, text) for each in content["wrong_replies"] for text in (right, content["answer"])):
        faults.append("wrong_replies: one is the answer, word for word")
    for each in content["wrong_replies"]:
        # What the thread had was cleaned as it came in, so that it is what it may say.
        faults += faults_beside(content, "wrong_replies", each) if each not in content.get("replies", ()) else []
    return faults


# The form in which it is asked.


class Choices(ReplyForm):
    question: Annotated[str, Field(min_length=1)]
    options: tuple[str, ...]
    correct_answer: str
    explanation: str


class ShortAnswer(ReplyForm):
    question: Annotated[str, Field(min_length=1)]
    answer: Annotated[str, Field(min_length=1)]
    points: Annotated[tuple[str, ...], Field(min_length=1, max_length=5)]
    explanation: str


_KEEP = """Keep the language of the question, its facts and its difficulty. Do not mention the forum, its people or \
that this was a discussion."""
_QUESTION = """- question: the question, in other words where it is not understood by itself. It must not give its \
answer away"""

OPTIONS_PROMPT = f"""You turn a question with its answer into a multiple-choice question.
{_QUESTION}, nor list the options.
- options: {FEWEST_OPTIONS} to {MOST_OPTIONS} texts without letters, alike in length and form, exactly one right, none \
"all of the above" or "none of the above". Make wrong ones of the wrong replies where there are some.
- correct_answer: the right option, word for word.
- explanation: why it is right, and why the others are not.
{_KEEP}"""

SHORT_ANSWER_PROMPT = f"""You turn a question with its answer into a question with a short answer.
{_QUESTION}.
- answer: the shortest full answer.
- points: 1 to 5 statements that an answer has to make to be right, each checkable by itself.
- explanation: how one gets there.
{_KEEP}"""


@dataclass(frozen=True, slots=True)
class Convert(NoContext):
    """Knowledge becomes a multiple-choice question, reasoning and computation a short answer with evaluation points.
    The question may be reworded, as what it is made of stays beside it: reviewers see both.
    The order of options is drawn by `seed` and item: a writer's own order favours places."""

    asks: int
    options_prompt: str
    short_answer_prompt: str
    seed: int
    name: ClassVar[str] = "convert"
    version: ClassVar[int] = 7
    role: ClassVar[Role] = "writer"

    def settings(self) -> Mapping[str, Any]:
        return {"words": [self.options_prompt, self.short_answer_prompt], "seed": self.seed}

    async def take(self, item: str, content: Content, context: Any, ask: Ask) -> Outcome:
        parts = _material(content)
        parts += [("wrong reply", text) for text in content["wrong_replies"]]
        made = (
            await self._choices(item, content, parts, ask)
            if content["kind"] == "knowledge"
            else await self._short(content, parts, ask)
        )
        return Kept({**content, "asked": made})

    async def _choices(self, item: str, content: Content, parts: Sequence[tuple[str, str]], ask: Ask) -> Content:
        def written(found: Choices) -> dict[str, Any]:
            options = without_letters(found.options, found.explanation)
            right = dict(zip(found.options, options, strict=True)).get(found.correct_answer, found.correct_answer)
            random.Random(f"options {self.seed} {item}").shuffle(options)  # noqa: S311 - an order, not a secret
            return {"question": found.question, "options": options, "right": right, "explanation": found.explanation}

        request = request_for(Choices, self.options_prompt, parts, "Write the multiple-choice question.")
        found = await ask_for(request, Choices, ask, self.asks, lambda each: _faults(content, parts, written(each)))
        return written(found)

    async def _short(self, content: Content, parts: Sequence[tuple[str, str]], ask: Ask) -> Content:
        request = request_for(ShortAnswer, self.short_answer_prompt, parts, "Write the question with its short answer.")
        found = await ask_for(
            request, ShortAnswer, ask, self.asks, lambda each: _faults(content, parts, each.model_dump(mode="json"))
        )
        return found.model_dump(mode="json")


def _faults(content: Content, parts: Sequence[tuple[str, str]], asked: Mapping[str, Any]) -> list[str]:
    """People may write an address into a question; a model repeats those of its material."""
    known = "\n".join(text for _, text in parts)
    made_up = [fault for key, text in texts_of(asked) for fault in address_faults(key, text, known)]
    return [*faults_of(content, asked), *made_up]
