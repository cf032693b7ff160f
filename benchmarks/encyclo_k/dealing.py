"""Deals the statements of one subfield to its questions, as evenly as a pack of cards."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from toolablate.benchmarks.encyclo_k.draws import Draws
from toolablate.benchmarks.encyclo_k.options import Bounds
from toolablate.benchmarks.encyclo_k.statements import Statement
from toolablate.traces.errors import InputError

Point = Mapping[bool, Sequence[Statement]]
"""What is known of one thing: statements of it by whether they are correct."""
Need = dict[bool, int]


class Pack:
    """The points of one subfield. No point is dealt again, as it stands or made incorrect, before all have been, and
    none twice to one question; but where no point that is left has what is needed, all are shuffled anew."""

    def __init__(self, statements: Iterable[Statement], draws: Draws) -> None:
        points: dict[str, dict[bool, list[Statement]]] = defaultdict(dict)
        for statement in statements:
            points[statement.point].setdefault(statement.correct, []).append(statement)
        self._points: list[Point] = list(points.values())
        self._draws = draws
        self._left: list[Point] = []

    def require(self, place: str, per_question: Bounds, combination: Bounds) -> None:
        """Raises InputError where a question could ask for more than there is."""
        one_kind = per_question[1] - combination[0]
        if len(self._points) < per_question[1]:
            raise InputError(
                f"{place} has statements on {len(self._points)} points of knowledge; a question takes"
                f" {per_question[1]}",
                hint="Leave its statements out, or ask for fewer statements in a question.",
                code="few_statements",
            )
        for correct, kind in ((True, "correct"), (False, "incorrect")):
            found = len([point for point in self._points if correct in point])
            if found < one_kind:
                raise InputError(
                    f"{place} has {found} {kind} statements; a question may take {one_kind}",
                    hint="Leave its statements out, or ask for fewer statements in a question.",
                    code="few_statements",
                )

    def deal(self, need: Need) -> dict[bool, list[Statement]]:
        """So many correct (True) and incorrect (False) statements, each of another point."""
        fresh = self._draws.shuffled(self._points)
        # Points that are only correct or only incorrect first: then there is enough of both wherever there can be.
        for points in (self._left, fresh, sorted(fresh, key=len)):
            dealt = self._from(points, dict(need))
            if dealt is not None:
                found, self._left = dealt
                return found
        raise AssertionError("`require` has seen that there is enough")

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
