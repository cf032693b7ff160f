"""Pairs of long answers with an expert's verdict, as LFQA-E publishes them in two forms, and as Xu et al. (2023), "A
Critical Evaluation of Evaluations for Long-form Question Answering", ACL, publish theirs (without references), and in
the pairs of Feedback-Bench (Kim et al. 2024, "Prometheus 2", EMNLP)."""

import json
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from toolablate.benchmarks.questions import language_of
from toolablate.benchmarks.rows.row_errors import Identities, LineError, at, shown
from toolablate.benchmarks.rows.sources import rows_of
from toolablate.traces.errors import InputError
from toolablate.traces.records import Preferred, Question, ReferenceTarget, digest_text

Setting = Literal["human_vs_human", "human_vs_model", "model_vs_model"]
VERDICTS: tuple[Preferred, ...] = get_args(Preferred)
SETTINGS: tuple[Setting, ...] = get_args(Setting)
SOURCE = "LFQA-E"
ID_CHARS = 12
NO_REFERENCE = " "
"""A question has a target; a blank one measures nothing, which `is_measured` knows."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two answers to one question, `a` and `b`, and which of them an expert holds for the better.

    question  its prompt has the material, if any, before the question; its target is the reference
    asked     the question without its material, `context`
    reference "" where the file has none
    topic     "" where the row has none
    cluster   the question's id: comparisons of one question share texts
    """

    id: str
    question: Question
    asked: str
    context: str
    reference: str
    a: str
    b: str
    setting: Setting
    label: Preferred
    topic: str
    language: str
    cluster: str


Text = Annotated[str, Field(min_length=1)]
_LABELS: dict[str, Preferred] = {"response_a": "a", "response_b": "b", "same": "same"}
_ANSWER = re.compile(r"(?P<who>student|model)_answer_[ab]")
_VERSUS = re.compile(rf"(?P<one>{_ANSWER.pattern})_vs_(?P<other>{_ANSWER.pattern})".replace("?P<who>", "?:"))
_TEXT = "a text in quotes that is not empty"
_KEYS = {
    "id": _TEXT,
    "question": _TEXT,
    "context": "a text in quotes, or null",
    "type": "a text in quotes, or null",
    "reference": _TEXT,
    "Concise_Reference": _TEXT,
    "response_a": "a text in quotes",
    "response_b": "a text in quotes",
    "compare_type": " or ".join(map(repr, SETTINGS)),
    "label": " or ".join(map(repr, _LABELS)),
    "answer_a": "a text in quotes",
    "answer_b": "a text in quotes",
    "answer_a_type": "a model's name or 'human'",
    "answer_b_type": "a model's name or 'human'",
    "orig_instruction": _TEXT,
    "orig_criteria": _TEXT,
    "orig_reference_answer": _TEXT,
    "orig_response_A": "a text in quotes",
    "orig_response_B": "a text in quotes",
    "orig_preference": "'A' or 'B'",
    "overall_preference": "-1 (a is better), 0 or 1 (b is better)",
}
_FORMS = (
    "A row has id, question, context, reference, response_a, response_b, compare_type and label, or, in the older form,"
    " question, Concise_Reference, two of student_answer_a, student_answer_b, model_answer_a and model_answer_b, and a"
    " key such as student_answer_a_vs_model_answer_a; in that of Xu et al. (2023) question, answer_a, answer_b,"
    " answer_a_type, answer_b_type and overall_preference; in pairs of Feedback-Bench orig_instruction, orig_criteria,"
    " orig_reference_answer, orig_response_A, orig_response_B and orig_preference."
)


class _Row(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    question: Text
    context: str | None = None
    type: str | None = None


class _Unified(_Row):
    id: Text
    reference: Text
    response_a: str
    response_b: str
    compare_type: Setting
    label: Literal["response_a", "response_b", "same"]


class _Older(_Row):
    id: Text | None = None
    Concise_Reference: Text


class _Xu(_Row):
    """What else their rows have (documents, preferences of other kinds, a justification) is not used."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)

    answer_a: str
    answer_b: str
    answer_a_type: Text
    answer_b_type: Text
    overall_preference: Literal[-1, 0, 1]


class _Feedback(BaseModel):
    """Their prompts, feedback and scores are not used."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)

    orig_instruction: Text
    orig_criteria: Text
    orig_reference_answer: Text
    orig_response_A: str
    orig_response_B: str
    orig_preference: Literal["A", "B"]


_PREFERENCES: dict[int, Preferred] = {-1: "a", 0: "same", 1: "b"}


def load_comparisons(path: str | Path) -> tuple[Comparison, ...]:
    """Those of a file in any of the published forms. Raises InputError that names the file, the row, the key, what was
    found and what is allowed."""
    identities, named = Identities("comparison"), Counter[str]()
    found = []
    for place, content in rows_of(path):
        try:
            comparison = _comparison(content)
            if "label" not in content:
                # These forms have no id of a comparison: that of the question, and who is compared.
                named[comparison.id] += 1
                again = named[comparison.id]
                comparison = comparison if again == 1 else replace(comparison, id=f"{comparison.id}#{again}")
            identities.take(comparison.id, place)
        except LineError as error:
            raise at(place, error) from error
        found.append(comparison)
    if not found:
        raise InputError(f"{path}: holds no comparison", hint=_FORMS, code="no_row")
    return tuple(found)


def drawn(comparisons: Sequence[Comparison], limit: int | None, seed: int) -> tuple[Comparison, ...]:
    """So many at random, in the file's order."""
    if limit is None or limit >= len(comparisons):
        return tuple(comparisons)
    chosen = sorted(random.Random(seed).sample(range(len(comparisons)), limit))  # noqa: S311 - a draw, not a secret
    return tuple(comparisons[place] for place in chosen)


def questions_of_comparisons(comparisons: Sequence[Comparison]) -> tuple[Question, ...]:
    """One for each distinct question with its material, with the reference of its first comparison."""
    return tuple({each.question.id: each.question for each in reversed(comparisons)}.values())[::-1]


def _comparison(content: dict[str, Any]) -> Comparison:
    if any(_VERSUS.fullmatch(key) for key in content):
        return _of_older(content)
    if {"response_a", "response_b", "label", "compare_type"} & content.keys():
        row = _checked(_Unified, content)
        return _made(row, row.id, row.reference, (row.response_a, row.response_b), row.compare_type, _LABELS[row.label])
    if "overall_preference" in content:
        return _of_xu(content)
    if "orig_preference" in content:
        return _of_feedback(content)
    raise LineError(f"a row of another form: its keys are {shown(list(content))}", _FORMS)


def _of_older(content: dict[str, Any]) -> Comparison:
    versus = [key for key in content if _VERSUS.fullmatch(key)]
    if len(versus) > 1:
        raise LineError(f"two verdicts: the keys {shown(versus[0])} and {shown(versus[1])}", _FORMS)
    match = _VERSUS.fullmatch(versus[0])
    assert match is not None
    one, other = match["one"], match["other"]
    answers = {key: content.get(key) for key in content if _ANSWER.fullmatch(key)}
    for key in answers:
        if key not in (one, other):
            raise LineError(f"the key {shown(key)} is not compared: the verdict is {shown(versus[0])}", _FORMS)
    texts = []
    for key in (one, other):
        if key not in content:
            raise LineError(f"the key '{key}' is missing", "It is a text in quotes.")
        if not isinstance(content[key], str):
            raise LineError(f"'{key}' must be a text in quotes; found {shown(content[key])}")
        texts.append(content[key])
    label = _older_label(content[versus[0]], versus[0], one, other)
    row = _checked(_Older, {key: value for key, value in content.items() if key not in (*answers, versus[0])})
    base = row.id or _question_id(_prompt(row))
    return _made(row, f"{base}/{versus[0]}", row.Concise_Reference, (texts[0], texts[1]), _setting(one, other), label)


def _of_xu(content: dict[str, Any]) -> Comparison:
    if isinstance(content["overall_preference"], bool):  # True is 1 to a literal
        raise LineError(f"'overall_preference' must be {_KEYS['overall_preference']}; found true or false")
    row = _checked(_Xu, content)
    humans = sum(kind.strip().lower() == "human" for kind in (row.answer_a_type, row.answer_b_type))
    identity = f"{_question_id(_prompt(row))}/{row.answer_a_type}_vs_{row.answer_b_type}"
    answers = (row.answer_a, row.answer_b)
    return _made(row, identity, "", answers, SETTINGS[2 - humans], _PREFERENCES[row.overall_preference])


def _of_feedback(content: dict[str, Any]) -> Comparison:
    """What the answers are compared by stands with the question, as its material."""
    given = _checked(_Feedback, content)
    row = _Row(question=given.orig_instruction, context=f"What counts: {given.orig_criteria}")
    label: Preferred = "a" if given.orig_preference == "A" else "b"
    answers = (given.orig_response_A, given.orig_response_B)
    identity = f"{_question_id(_prompt(row))}/{digest_text(json.dumps(answers))[:ID_CHARS]}"
    return _made(row, identity, given.orig_reference_answer, answers, "model_vs_model", label)


def _older_label(value: Any, key: str, one: str, other: str) -> Preferred:
    if value == one and one != other:
        return "a"
    if value == other:
        return "b"
    if isinstance(value, str) and re.search(r"same|equal", value, re.IGNORECASE):
        return "same"
    raise LineError(f"'{key}' must be '{one}', '{other}' or 'same'; found {shown(value)}")


def _setting(one: str, other: str) -> Setting:
    humans = sum(name.startswith("student") for name in (one, other))
    return SETTINGS[2 - humans]


RowKind = TypeVar("RowKind", bound=BaseModel)


def _checked(kind: type[RowKind], content: dict[str, Any]) -> RowKind:
    try:
        return kind.model_validate(content)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
    key = str(first["loc"][0])
    if first["type"] == "extra_forbidden":
        raise LineError(f"unknown key {shown(key)}", _FORMS)
    if first["type"] == "missing":
        raise LineError(f"the key '{key}' is missing", f"It is {_KEYS[key]}.")
    raise LineError(f"'{key}' must be {_KEYS[key]}; found {shown(content[key])}")


def _prompt(row: _Row) -> str:
    return f"{row.context}\n\n{row.question}" if row.context else row.question


def _question_id(prompt: str) -> str:
    return digest_text(prompt)[:ID_CHARS]


def _made(
    row: _Row, identity: str, reference: str, answers: tuple[str, str], setting: Setting, label: Preferred
) -> Comparison:
    language, topic, prompt = language_of(row.question), row.type or "", _prompt(row)
    question = Question(
        id=_question_id(prompt),
        prompt=prompt,
        target=ReferenceTarget(answer=reference or NO_REFERENCE),
        domain=topic,
        language=language,
        source=SOURCE,
    )
    return Comparison(
        id=identity,
        question=question,
        asked=row.question,
        context=row.context or "",
        reference=reference,
        a=answers[0],
        b=answers[1],
        setting=setting,
        label=label,
        topic=topic,
        language=language,
        cluster=question.id,
    )


# Whether an expert's verdicts on three answers, each compared with both others, fit together.


@dataclass(frozen=True, slots=True)
class Triples:
    """Closed triples: `consistent` with some order of the three in which ties are allowed, a strict `cycles`, or
    otherwise with no such order (`no_order`: two ties and a preference, say)."""

    consistent: int
    cycles: int
    no_order: int

    @property
    def closed(self) -> int:
        return self.consistent + self.cycles + self.no_order


def triples(comparisons: Sequence[Comparison]) -> Triples:
    """Of all questions; a pair that is compared twice counts by its first verdict."""
    by_question: dict[str, dict[tuple[str, str], int]] = defaultdict(dict)
    for each in comparisons:
        sign = {"a": 1, "b": -1, "same": 0}[each.label]
        known = by_question[each.cluster]
        known.setdefault((each.a, each.b), sign)
        known.setdefault((each.b, each.a), -sign)
    counts = Counter(kind for known in by_question.values() for kind in _kinds(known))
    return Triples(counts["consistent"], counts["cycle"], counts["no order"])


def _kinds(known: dict[tuple[str, str], int]) -> Iterator[str]:
    answers = sorted({answer for pair in known for answer in pair})
    for x, y, z in combinations(answers, 3):
        if (x, y) in known and (y, z) in known and (x, z) in known:
            yield _kind(known[x, y], known[y, z], known[z, x])


def _kind(xy: int, yz: int, zx: int) -> str:
    if xy == yz == zx != 0:
        return "cycle"
    signs = {xy, yz, zx}
    # Around the circle, a weak order has a step up and a step down, or is level throughout.
    return "consistent" if {1, -1} <= signs or signs == {0} else "no order"
