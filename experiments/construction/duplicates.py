"""Questions that say the same: shared 5-grams of characters, and a model's word on doubtful pairs."""

import re
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from heapq import nlargest
from itertools import groupby
from operator import itemgetter
from typing import Any, ClassVar, NamedTuple

from toolablate.benchmarks.judging.answers import Ask
from toolablate.benchmarks.prompt import LETTERS
from toolablate.benchmarks.questions import questions_of
from toolablate.experiments.construction.json_replies import ReplyForm, ask_for, request_for
from toolablate.experiments.construction.pipeline import DuplicatesSection
from toolablate.experiments.construction.question_checks import normal, same_key, says_the_same
from toolablate.experiments.construction.stages import Content, Dropped, Kept, Outcome, Role
from toolablate.traces.errors import InputError
from toolablate.traces.records import ChoiceTarget, Question, ReferenceTarget
from toolablate.traces.terminal_text import one_line

_GRAM = 5
_PERMUTATIONS = 256
_MARGIN = 0.15
"""MinHash estimates: what comes near the least similarity is measured exactly."""

MOST_NEAR = 20
"""Earlier texts that an item is compared with by a model, which is paid for each."""
_ANSWER_SHOWN = 200


class Same(ReplyForm):
    same: bool
    reason: str


SAME_PROMPT = """You compare two questions for a benchmark. They are the same where whoever knows the answer to one \
knows the answer to the other, whatever the wording.
- same: true or false.
- reason: one sentence."""


class _Compared(NamedTuple):
    text: str
    answer: str


@dataclass(frozen=True)
class Deduplicate:
    """Drops an item that repeats an earlier one or one of the named files: by itself where the same words have the same
    answer, else from `near` on where the checker says so. "Is it safe" and "Is it unsafe" are near, and "No" may answer
    both. Similarity is Jaccard's, of sets of 5-grams of characters (Broder 1997)."""

    section: DuplicatesSection
    asks: int
    prompt: str = SAME_PROMPT
    name: ClassVar[str] = "deduplicate"
    version: ClassVar[int] = 4
    role: ClassVar[Role] = "checker"

    def settings(self) -> Mapping[str, Any]:
        return {"words": self.prompt, "near": self.section.near}

    @cached_property
    def published(self) -> dict[str, _Compared]:
        """The questions of the named files. Raises InputError."""
        return {
            name: _Compared(question.prompt, _answer_of(question))
            for name, question in _named(self.section.against).items()
        }

    def context(self, contents: Mapping[str, Content]) -> Mapping[str, Any]:
        """For each item the one that it repeats without a doubt, or else the earlier ones that are near it, the nearest
        first and at most `MOST_NEAR`: name, similarity, text and answer; `asked` where the checker decides."""
        own = {item: _Compared(content["question"], content["answer"]) for item, content in contents.items()}
        every = {**self.published, **own}
        first: dict[tuple[str, str], str] = {}
        repeated = {}
        for name, each in every.items():
            earlier = first.setdefault((normal(each.text), same_key(each.answer)), name)
            if earlier != name:
                repeated[name] = [_told(every, earlier, 1.0, asked=False)]
        left = {name: each.text for name, each in every.items() if name not in repeated}
        found = {**repeated, **_to_ask(every, near_pairs(left, self.section.near), own)}
        return {item: near for item, near in found.items() if item in own}

    async def take(self, item: str, content: Content, context: Any, ask: Ask) -> Outcome:
        compared = _Compared(content["question"], content["answer"])
        return await _repeating(compared, context or (), self.prompt, self.asks, ask) or Kept(content)


def _named(files: Iterable[str]) -> dict[str, Question]:
    """The questions of files by file and id. Raises InputError."""
    return {f"{file}: {question.id}": question for file in files for question in questions_of(file)}


def _told(every: Mapping[str, _Compared], name: str, similarity: float, *, asked: bool) -> dict[str, Any]:
    return {"name": name, "similarity": round(similarity, 4), "asked": asked, **every[name]._asdict()}


def _to_ask(
    every: Mapping[str, _Compared], pairs: Iterable[tuple[str, str, float]], of: Container[str]
) -> dict[str, list[dict[str, Any]]]:
    """For each later item `of` pairs the nearest earlier ones, which a model is to compare it with."""
    found = {}
    for later, near in groupby(pairs, key=itemgetter(0)):
        if later in of:
            nearest = nlargest(MOST_NEAR, near, key=itemgetter(2))
            found[later] = [_told(every, earlier, similarity, asked=True) for _, earlier, similarity in nearest]
    return found


async def _repeating(
    compared: _Compared, others: Iterable[Mapping[str, Any]], prompt: str, asks: int, ask: Ask
) -> Dropped | None:
    """The first of the others that it repeats, without a doubt or by a model's word."""
    for other in others:
        told = f"{other['name']} ({other['similarity']:.2f})"
        if not other["asked"]:
            return Dropped("duplicate", f"repeats {told}", other["name"])
        parts = [("question 1", other["text"]), ("question 2", compared.text)]
        request = request_for(Same, prompt, parts, "Do they ask the same?")
        found = await ask_for(request, Same, ask, asks)
        if found.same:
            why = [f"asks the same as {told}{f': {found.reason}' if found.reason.strip() else ''}"]
            if other["answer"] and not says_the_same(other["answer"], compared.answer):
                why.append(f"answers differ: {one_line(other['answer'], max_chars=_ANSWER_SHOWN)!r}")
            return Dropped("duplicate", "; ".join(why), other["name"])
    return None


def _answer_of(question: Question) -> str:
    target = question.target
    if isinstance(target, ChoiceTarget):
        return "\n".join(question.choices[LETTERS.index(letter)] for letter in target.letters)
    return target.answer if isinstance(target, ReferenceTarget) else ""


@dataclass(frozen=True)
class Distinct:
    """Drops a question that repeats an earlier one, or one of the named files, as it is to be published: what
    `Deduplicate` compared were the originals, which were converted and mended since. The same words repeat it whatever
    the answer, but for options of which neither has the other's answer: "Which of these is true?" asks of its options.
    Of words that are near, with the same answer and the same numbers, the checker decides: people accepted both, and
    converted questions are short, so that two that are near may differ in the one word that they ask of."""

    section: DuplicatesSection
    asks: int
    prompt: str = SAME_PROMPT
    name: ClassVar[str] = "distinct"
    version: ClassVar[int] = 5
    role: ClassVar[Role] = "checker"

    def settings(self) -> Mapping[str, Any]:
        return {"words": self.prompt, "same": self.section.same}

    @cached_property
    def published(self) -> dict[str, Question]:
        """The questions of the named files. Raises InputError."""
        return _named(self.section.against)

    def context(self, contents: Mapping[str, Content]) -> Mapping[str, Any]:
        """As `Deduplicate` has it."""
        every = {name: _Compared(each.prompt, _answer_of(each)) for name, each in self.published.items()}
        options = {name: {*map(same_key, each.choices)} for name, each in self.published.items()}
        every |= {item: _as_asked(content) for item, content in contents.items()}
        options |= {item: {*map(same_key, content["asked"].get("options", ()))} for item, content in contents.items()}
        repeated: dict[str, Any] = {}
        words: dict[str, list[str]] = defaultdict(list)
        for later, each in every.items():
            those = words[normal(each.text)]
            for earlier in those:
                one, other = options[later], options[earlier]
                if not (one and other) or same_key(each.answer) in other or same_key(every[earlier].answer) in one:
                    repeated[later] = [_told(every, earlier, 1.0, asked=False)]
                    break
            else:
                those.append(later)
        texts = {item: each.text for item, each in every.items() if item not in repeated}
        kinds = {item: _kind(each) for item, each in every.items()}
        found = {**repeated, **_to_ask(every, near_pairs(texts, self.section.same, kinds), contents)}
        return {item: near for item, near in found.items() if item in contents}

    async def take(self, item: str, content: Content, context: Any, ask: Ask) -> Outcome:
        return await _repeating(_as_asked(content), context or (), self.prompt, self.asks, ask) or Kept(content)


def _as_asked(content: Content) -> _Compared:
    asked = content["asked"]
    return _Compared(asked["question"], asked.get("right", asked.get("answer")))


def _kind(compared: _Compared) -> str:
    """Of two near questions of one kind the checker is asked: people who accepted both read the numbers."""
    return "\n".join([same_key(compared.answer), *_NUMBER.findall(same_key(compared.text))])


_NUMBER = re.compile(r"[-−]?\d+(?:[.,]\d+)*")


def near_pairs(
    texts: Mapping[str, str], least: float, kinds: Mapping[str, str] | None = None
) -> Iterator[tuple[str, str, float]]:
    """Each pair (later, earlier) of at least that similarity, with it. Where `kinds` are given, only pairs of one kind.
    MinHash finds candidates, sets decide."""
    try:
        from datasketch import MinHash, MinHashLSH
    except ImportError:
        raise InputError(
            "finding duplicates needs the package datasketch",
            hint="pip install 'toolablate[build]'",
            code="missing_package",
        ) from None
    grams = {name: _grams(text) for name, text in texts.items()}
    lsh = MinHashLSH(threshold=max(0.05, least - _MARGIN), num_perm=_PERMUTATIONS, weights=(0.1, 0.9))
    for name, own in grams.items():
        if not own:
            continue
        sketch = MinHash(num_perm=_PERMUTATIONS, seed=1)
        sketch.update_batch([gram.encode() for gram in own])
        near = lsh.query(sketch)
        for earlier in sorted(near if kinds is None else [each for each in near if kinds[each] == kinds[name]]):
            similarity = len(own & grams[earlier]) / len(own | grams[earlier])
            if similarity >= least:
                yield name, earlier, similarity
        lsh.insert(name, sketch)


def _grams(text: str) -> frozenset[str]:
    said = normal(text)
    return (
        frozenset(said[start : start + _GRAM] for start in range(max(1, len(said) - _GRAM + 1)))
        if said
        else frozenset()
    )
