"""Deals the statements of one subfield to its questions, as evenly as packs of cards."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from toolablate.benchmarks.encyclo_k.draws import Draws
from toolablate.benchmarks.encyclo_k.options import Bounds
from toolablate.benchmarks.encyclo_k.sharing import clusters
from toolablate.benchmarks.encyclo_k.statements import Statement
from toolablate.benchmarks.line_error import shown
from toolablate.traces.errors import InputError

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
