"""Questions composed of statements, from a seed."""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from math import comb

from toolablate.benchmarks.encyclo_k.statements import (
    JUDGED,
    MOST_STATEMENTS,
    Asked,
    Draws,
    Statement,
    ask,
    numeral,
    spoken,
)
from toolablate.benchmarks.prompt import LETTERS
from toolablate.benchmarks.rows.row_errors import shown
from toolablate.traces.errors import InputError
from toolablate.traces.records import ChoiceTarget, Question


def clusters(shared: Sequence[Sequence[Hashable]], names: Sequence[str]) -> list[str]:
    """Of each question, the name of the first of those that it hangs together with: by what `shared` says that they
    have in common, or by way of others. Empty for a question that has nothing in common with any other."""
    parents = list(range(len(shared)))

    def root(place: int) -> int:
        while parents[place] != place:
            parents[place] = parents[parents[place]]
            place = parents[place]
        return place

    first: dict[Hashable, int] = {}
    for place, parts in enumerate(shared):
        for part in parts:
            one, other = sorted((root(first.setdefault(part, place)), root(place)))
            parents[other] = one
    roots = [root(place) for place in range(len(shared))]
    several = {one for place, one in enumerate(roots) if place != one}
    return [names[one] if one in several else "" for one in roots]


# The options of a question: sets of its statements, any of which could be the right one.


DRAWS_OF_ONE = 200
DRAWS_OF_ALL = 200

Bounds = tuple[int, int]
"""The least and the most, both allowed."""


def draw_options(draws: Draws, statements: int, options: int, sizes: Bounds) -> list[frozenset[int]]:
    """So many sets of the places 0 .. statements - 1, of which none holds another; sizes are uniform over their range,
    as far as there is room for all.

    Which of them is right is drawn afterwards, and the truth of the statements follows from it: those of the right
    option are what is asked for, and all others are not. Then

    - only one option can be defended: it has all statements that are asked for and no other, while every other option
      has one that is not; so that neither "all that" nor "only such that" leads elsewhere;
    - how the options look says nothing about which is right: whatever the sets are, each is as likely.

    Raises InputError where so many such sets were not found.
    """
    for _ in range(DRAWS_OF_ALL):
        found: list[frozenset[int]] = []
        for size in [draws.between(sizes) for _ in range(options)]:
            if (drawn := _apart(draws, statements, size, found)) is None:
                break
            found.append(drawn)
        else:
            return found
    raise InputError(
        f"{options} options of {_range(sizes)} of {statements} statements, none of which holds another, were not found",
        hint="Ask for fewer options, more statements, or more statements in an option.",
        code="no_options",
    )


def _apart(draws: Draws, statements: int, size: int, found: list[frozenset[int]]) -> frozenset[int] | None:
    for _ in range(DRAWS_OF_ONE):
        drawn = frozenset(draws.several(range(statements), size))
        if not any(drawn <= other or other <= drawn for other in found):
            return drawn
    return None


def check_options(statements: Bounds, options: Bounds, combination: Bounds, letters: int) -> None:
    """Raises InputError for numbers that no question could have."""
    for name, (low, high), least, most in (
        ("statements per question (--statements)", statements, 2, MOST_STATEMENTS),
        ("options (--options)", options, 2, letters),
        ("statements in an option (--combination)", combination, 1, statements[0] - 1),
    ):
        if not least <= low <= high <= most:
            raise InputError(
                f"{name}: {low} to {high} is not possible",
                hint=f"Allowed are two whole numbers from {least} to {most}, the smaller first.",
                code="bad_range",
            )
    for size in range(combination[0], combination[1] + 1):
        if comb(statements[0], size) < options[1]:
            raise InputError(
                f"there are no {options[1]} different options of {size} out of {statements[0]} statements",
                hint="Ask for fewer --options, more --statements, or another --combination.",
                code="no_options",
            )


def _range(bounds: Bounds) -> str:
    return str(bounds[0]) if bounds[0] == bounds[1] else f"{bounds[0]} to {bounds[1]}"


# Deals the statements of one subfield to its questions, as evenly as packs of cards.


QUESTIONS_AT_ONCE = 2
"""A pack has the points for so many questions without any of them in two: enough to mix them in ever new ways, and
questions that share a point are few."""

Point = Mapping[bool, Sequence[Statement]]
"""What is known of one thing: statements of it by whether they are correct."""
Need = dict[bool, int]


class Pack:
    """Some points of knowledge. None is dealt again, as it stands or made incorrect, before all have been, unless those
    that are left lack what is needed; and none is dealt twice to one question."""

    def __init__(self, points: Sequence[Point], draws: Draws) -> None:
        self._points = points
        self._draws = draws
        self._left: Sequence[Point] = []

    def deal(self, need: Need) -> dict[bool, list[Statement]]:
        """So many correct (True) and incorrect (False) statements, each of another point."""
        dealt_before = [point for point in self._points if not any(point is other for other in self._left)]
        again = [*self._left, *self._draws.shuffled(dealt_before)]
        # Points that are only correct or only incorrect first: then there is enough of both wherever there can be.
        for points in (self._left, again, sorted(again, key=len)):
            dealt = self._from(points, dict(need))
            if dealt is not None:
                found, self._left = dealt
                return found
        raise AssertionError("`packs` has seen that there is enough")

    def _from(self, points: Sequence[Point], need: Need) -> tuple[dict[bool, list[Statement]], list[Point]] | None:
        found: dict[bool, list[Statement]] = {True: [], False: []}
        passed: list[Point] = []
        for place, point in enumerate(points):
            if not any(need.values()):
                return found, [*passed, *points[place:]]
            kinds = [kind for kind in (True, False) if kind in point and need[kind]]
            if not kinds:
                passed.append(point)
                continue
            kind = kinds[0] if len(kinds) == 1 else self._draws.below(sum(need.values())) < need[True]
            found[kind].append(self._draws.one(point[kind]))
            need[kind] -= 1
        return None if any(need.values()) else (found, passed)


def packs(
    statements: Iterable[Statement], draws: Draws, *, place: str, per_question: Bounds, combination: Bounds
) -> list[Pack]:
    """The points of one subfield in packs as small as questions allow, for its questions to be dealt from in turn.

    Questions of different packs share no point, so that those that are not independent form small clusters. That takes
    nothing from what a set can tell: how often each point is asked is the same. Raises InputError, which names `place`,
    where a question could ask for more than there is, or where two statements of one text contradict each other.
    """
    points = _points(place, statements)
    able = {kind: sum(kind in point for point in points) for kind in (True, False)}
    one_kind = per_question[1] - combination[0]
    _require(place, len(points), able, per_question[1], one_kind)
    count = max(
        1, min(len(points) // (QUESTIONS_AT_ONCE * per_question[1]), *(each // one_kind for each in able.values()))
    )
    # Those that are only correct, both, only incorrect: every pack gets its part of those that can be either.
    ordered = sorted(draws.shuffled(points), key=lambda point: (False in point) - (True in point))
    return [Pack(ordered[first::count], draws) for first in range(count)]


def _points(place: str, statements: Iterable[Statement]) -> list[Point]:
    """Statements of one text are of one point, too: a question that had both would ask the same twice."""
    found = list(statements)
    _require_one_truth(place, found)
    same = clusters([(("point", each.point), ("text", each.text)) for each in found], [each.id for each in found])
    points: dict[str, dict[bool, list[Statement]]] = defaultdict(dict)
    for statement, first in zip(found, same, strict=True):
        points[first or statement.id].setdefault(statement.correct, []).append(statement)
    return list(points.values())


def _require_one_truth(place: str, statements: Iterable[Statement]) -> None:
    first: dict[str, Statement] = {}
    for each in statements:
        other = first.setdefault(each.text, each)
        if each.correct != other.correct:
            raise InputError(
                f"{place}: the statements {shown(other.id)} and {shown(each.id)} have the same text,"
                " and only one of them is correct",
                hint="Leave out the one that is wrong about it.",
                code="contradiction",
            )


def _require(place: str, points: int, able: Mapping[bool, int], per_question: int, one_kind: int) -> None:
    if points < per_question:
        raise InputError(
            f"{place} has statements on {points} points of knowledge; a question takes {per_question}",
            hint="Leave its statements out, or ask for fewer statements in a question.",
            code="few_statements",
        )
    for correct, kind in ((True, "correct"), (False, "incorrect")):
        if able[correct] < one_kind:
            raise InputError(
                f"{place} has {kind} statements on {able[correct]} points of knowledge; a question may take {one_kind}",
                hint="Leave its statements out, or ask for fewer statements in a question.",
                code="few_statements",
            )


SOURCE = "encyclo-k"
BETWEEN_NUMERALS = ", "


@dataclass(frozen=True, slots=True, order=True)
class Subfield:
    """Where the statements of a question come from. Statements of one subfield in two languages are two of these."""

    discipline: str
    field: str
    name: str
    language: str

    def __str__(self) -> str:
        parts = [" ".join(part.split()) for part in (self.discipline, self.field, self.name) if part]
        return f"{' > '.join(parts)} ({self.language})"


@dataclass(frozen=True, slots=True)
class QuestionForm:
    """How many statements, options, and statements in an option a question has: each uniform over its range."""

    statements: Bounds = (8, 10)
    options: Bounds = (4, 8)
    combination: Bounds = (2, 4)


def compose(
    statements: Iterable[Statement],
    seed: int,
    questions: int,
    *,
    statements_per_question: Bounds = (8, 10),
    options: Bounds = (4, 8),
    combination: Bounds = (2, 4),
) -> tuple[Question, ...]:
    """Questions that ask which statements are correct, or which are incorrect.

    `questions` is how many are shared out: each subfield's part, proportional to its correct statements, is rounded up,
    so that there are more in the end, by less than there are subfields; 5,000 become the paper's 5,038. Statements of
    one subfield in two languages count as two. The order of the statements does not matter.

    Questions that share a point of knowledge (a statement, or one and what was made of it) are not independent, nor are
    those linked by others: they form a `cluster`. Points are dealt in small packs, evenly: where there are enough of
    them no question shares any, and where there are not, clusters have a handful of questions.

    Raises InputError for numbers that no question could have, for a subfield that has too few statements, and for two
    statements of a subfield with the same text, of which only one is correct.
    """
    form = QuestionForm(statements_per_question, options, combination)
    check_options(form.statements, form.options, form.combination, len(LETTERS))
    shares = share_out(by_subfield(statements), questions)
    composed = [
        drawn for subfield, found, share in shares for drawn in _of_subfield(subfield, found, share, seed, form)
    ]
    names = [f"{SOURCE}-{seed}-{place:04d}" for place in range(1, len(composed) + 1)]
    shared = clusters(
        [
            [key for each in drawn.statements for key in (("point", each.point), ("text", each.text))]
            for drawn in composed
        ],
        names,
    )
    return tuple(
        drawn.question(name, seed, cluster) for drawn, name, cluster in zip(composed, names, shared, strict=True)
    )


def by_subfield(statements: Iterable[Statement]) -> dict[Subfield, list[Statement]]:
    found: dict[Subfield, list[Statement]] = defaultdict(list)
    for each in sorted(statements, key=lambda statement: statement.id):
        found[Subfield(each.discipline, each.field, each.subfield, each.language)].append(each)
    return dict(sorted(found.items()))


def share_out(
    subfields: Mapping[Subfield, Sequence[Statement]], questions: int
) -> list[tuple[Subfield, Sequence[Statement], int]]:
    """How many questions each subfield gets, rounded up. Raises InputError where there is no correct statement."""
    points = {subfield: sum(each.correct for each in found) for subfield, found in subfields.items()}
    total = sum(points.values())
    if not total or questions < 1:
        raise InputError(
            f"{questions} questions cannot be shared out over {total} correct statements",
            hint="There must be at least one of each.",
            code="no_questions",
        )
    return [(subfield, found, -(-questions * points[subfield] // total)) for subfield, found in subfields.items()]


@dataclass(frozen=True, slots=True)
class Composed:
    """A question before it has a name: its statements in their order, its options as places of these."""

    subfield: Subfield
    statements: Sequence[Statement]
    options: Sequence[frozenset[int]]
    right: int
    asked: Asked
    words: str

    def question(self, name: str, seed: int, cluster: str) -> Question:
        lines = [f"{numeral(place)}. {each.text}" for place, each in enumerate(self.statements, start=1)]
        return Question(
            id=name,
            prompt="\n".join([self.words, *lines]),
            choices=tuple(BETWEEN_NUMERALS.join(numeral(at + 1) for at in sorted(each)) for each in self.options),
            target=ChoiceTarget(letters=(LETTERS[self.right],)),
            domain=self.subfield.discipline,
            language=self.subfield.language,
            cluster=cluster,
            source=SOURCE,
            metadata={
                "discipline": self.subfield.discipline,
                "field": self.subfield.field,
                "subfield": self.subfield.name,
                "statements": [each.id for each in self.statements],
                "correct": [each.correct for each in self.statements],
                "asked": self.asked,
                "seed": seed,
            },
        )


def _of_subfield(
    subfield: Subfield, statements: Sequence[Statement], questions: int, seed: int, form: QuestionForm
) -> Iterator[Composed]:
    if not questions:
        return
    parts = (str(seed), subfield.discipline, subfield.field, subfield.name, subfield.language)
    draws = Draws("\0".join(parts))
    dealt_from = packs(
        statements, draws, place=str(subfield), per_question=form.statements, combination=form.combination
    )
    for _, pack in zip(range(questions), cycle(dealt_from), strict=False):
        yield _composed(subfield, pack, draws, form)


def _composed(subfield: Subfield, pack: Pack, draws: Draws, form: QuestionForm) -> Composed:
    count = draws.between(form.statements)
    options = draw_options(draws, count, draws.between(form.options), form.combination)
    right = draws.below(len(options))
    asked: Asked = draws.one(("correct", "incorrect"))
    wanted = asked == "correct"
    held = len(options[right])
    dealt = pack.deal({wanted: held, not wanted: count - held})
    found = {kind: iter(draws.shuffled(each)) for kind, each in dealt.items()}
    statements = [next(found[wanted if place in options[right] else not wanted]) for place in range(count)]
    return Composed(subfield, statements, options, right, asked, ask(draws, subfield.language, asked))


# Statements judged one by one, to set beside the questions that they are composed into.


def single_statements(
    questions: Iterable[Question], statements: Iterable[Statement], seed: int
) -> tuple[Question, ...]:
    """One question for each statement of composed questions, in the order in which they first occur: does it hold true?

    Which of the two choices stands first is drawn for each. A statement and what was made of it are one cluster.
    Raises InputError where a question has a statement that is not among `statements`, or was not composed here.
    """
    known = {statement.id: statement for statement in statements}
    wanted: dict[str, Statement] = {}
    for question in questions:
        for identity in statement_ids(question):
            if identity not in known:
                raise InputError(
                    f"question {question.id!r} has the statement {identity!r}, which is not among those given",
                    hint="Give the statements that the questions were composed of.",
                    code="unknown_statement",
                )
            wanted[identity] = known[identity]
    return tuple(_judged(statement, seed) for statement in wanted.values())


def statement_ids(question: Question) -> Sequence[str]:
    """Of a composed question, in the order of their numerals; of any other none."""
    found = question.metadata.get("statements")
    return [str(each) for each in found] if isinstance(found, list) else []


def _judged(statement: Statement, seed: int) -> Question:
    sentence, holds, fails = JUDGED[spoken(statement.language)]
    first = Draws(f"{seed}\0{statement.id}").below(2) == 0
    right = LETTERS[0] if first == statement.correct else LETTERS[1]
    return Question(
        id=f"{SOURCE}-single-{statement.id}",
        prompt=f"{sentence}\n{statement.text}",
        choices=(holds, fails) if first else (fails, holds),
        target=ChoiceTarget(letters=(right,)),
        domain=statement.discipline,
        language=statement.language,
        cluster=statement.point,
        source=SOURCE,
        metadata={
            "discipline": statement.discipline,
            "field": statement.field,
            "subfield": statement.subfield,
            "statement": statement.id,
        },
    )
