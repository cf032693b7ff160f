"""python -m bench.structural.allocation, from the project's root: how far the decomposition's shares err by what is
replayed, and what that costs. Trials, arms and replays are drawn from the graph in process, without a server."""

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from statistics import fmean

from bench.figures import print_tables
from bench.structural.graph import (
    ARMS,
    BUDGET,
    NOTHING,
    Arm,
    Question,
    Removed,
    Situation,
    Turn,
    action,
    belief,
    expected,
    loses_form,
    played,
    played_on,
    scores,
    shares,
    shown,
)
from bench.structural.questions import make_questions
from bench.structural.scoring import drawn_terms
from rich.console import Console

from toolablate.analysis.attribution.decomposition import Arms, DecompositionInputs, Replay, Scores, decompositions
from toolablate.analysis.attribution.evidence import LONG_RESULTS

FORM, OVER = frozenset({"format"}), frozenset({"format", "budget"})
_SHORT = 400
_PERFECT = 12
"""Continuations whose chances of being right stand for a perfect replay."""


@dataclass(frozen=True, slots=True)
class Allocation:
    """The share of right trials that is replayed, all wrong ones being, and the runs of each; `perfect` ones are known
    by their chances."""

    name: str
    successes: float
    of_wrong: int
    of_right: int
    perfect: bool = False


ALLOCATIONS = (
    Allocation("30 % of the right once, the wrong twice", 0.3, 2, 1),
    Allocation("the right once, the wrong twice", 1.0, 2, 1),
    Allocation("all once", 1.0, 1, 1),
    Allocation("all twice", 1.0, 2, 2),
    Allocation("perfect replays of all", 1.0, 1, 1, perfect=True),
)


@dataclass(slots=True)
class Run:
    """One store: its draws, and what it has cost."""

    allocation: Allocation
    random: Random
    requests: int = 0
    wrong: int = 0
    _marks: Iterator[int] = field(default_factory=lambda: iter(range(10**9)))

    def mark(self) -> str:
        return f"{self.random.getrandbits(60)}/{next(self._marks)}"

    def arm(self, q: Question, name: str, repeats: int) -> Scores:
        return tuple(self._drawn(belief(played(q, ARMS[name], self.mark()), FORM)) for _ in range(repeats))

    def runs(self, continued: Callable[[], tuple[Situation, int]], runs: int, removed: Removed) -> Scores:
        """Of a level: how the trial ends where it goes on, and the requests of that."""
        found = []
        for number in range(_PERFECT if self.allocation.perfect else runs):
            s, requests = continued()
            self.requests += requests if number < runs else 0
            found.append(belief(s, removed) if self.allocation.perfect else self._drawn(belief(s, removed)))
        return tuple(found)

    def _drawn(self, chance: float) -> float:
        return float(self.random.random() < chance)


def continued(s: Situation, first: Turn, mark: str, arm: Arm, chars: int | None = None) -> tuple[Situation, int]:
    """The trial from its first call on, with twice the budget, and its requests from there."""
    begun = replace(s, mark=f"{mark}-1", turns=(first,), forced="", chance=None)
    ended = played_on(begun, arm, mark, budget=2 * BUDGET, chars=chars)
    return ended, len(ended.turns)


def replayed(run: Run, s: Situation, runs: int, tools: frozenset[str]) -> Replay:
    """Round one of a trial; its early answers are left out."""
    re_asked: Scores = ()
    if loses_form(s):
        re_asked = run.runs(lambda: (replace(s, forced="now"), 1), runs, FORM)
    level = re_asked or (float(scores(s)),)
    if not s.turns:
        again = run.runs(lambda: (replace(s, mark=run.mark()), 1), runs, FORM)
        return Replay(extended=level, repaired=level, rollouts={frozenset(): again}, re_asked=re_asked, short=None)
    if s.forced:
        level = run.runs(lambda: (replace(s, forced=""), 3), runs, OVER)

    def swapped(arm: Arm, chars: int | None = None) -> Scores:
        before = replace(s, turns=(), mark=s.turns[0].mark, forced="")
        first = Turn(before.mark, shown(before, action(before), arm))
        return run.runs(lambda: continued(s, first, run.mark(), arm, chars), runs, OVER)

    long = sum(turn.seen.chars for turn in s.turns if turn.seen) >= LONG_RESULTS
    rollouts = {frozenset(): swapped(ARMS["real"]), tools: swapped(ARMS["placebo"])}
    short = swapped(ARMS["placebo"], _SHORT) if long else None
    return Replay(extended=level, repaired=level, rollouts=rollouts, re_asked=re_asked, short=short)  # type: ignore[arg-type]


def trials(run: Run, questions: Sequence[Question], repeats: int) -> Iterator[tuple[DecompositionInputs, Situation]]:
    allocation = run.allocation
    for q in questions:
        arms = Arms(*(run.arm(q, name, repeats) for name in ("none", "scaffold", "offered", "sham", "placebo")))
        for repeat in range(repeats):
            s = played(q, ARMS["real"], run.mark())
            right = scores(s)
            run.wrong += not right
            probability = allocation.successes if right else 1.0
            sampled = run.random.random() < probability
            # That search and code are swapped one by one as well is for mechanisms, and for no term.
            tools = frozenset({"search"} if s.turns else ())
            runs = allocation.of_right if right else allocation.of_wrong
            yield (
                DecompositionInputs(
                    *("m", "real", q.id, q.id, f"{q.id}-{repeat}", float(right), arms, tools),  # type: ignore[arg-type]
                    re_asked=None if loses_form(s) else float(right),
                    inclusion_probability=probability,
                    replay=replayed(run, s, runs, tools) if sampled else None,
                    sampled=sampled,
                ),
                s,
            )


def error(run: Run, questions: Sequence[Question], repeats: int) -> float:
    """Mean over terms of the distance to what is true of these trials, in points."""
    made = list(trials(run, questions, repeats))
    (found,) = decompositions([each for each, _ in made], resamples=2)
    true = [{**_shares(s.question), **drawn_terms(s, _reached(s.question))} for _, s in made]
    terms = [term for term in found.terms if term.name != "unresolved"]
    return fmean(abs(term.points - 100 * fmean(each.get(term.name, 0.0) for each in true)) for term in terms)


_KEPT: dict[str, dict[str, float]] = {}
_REACHED: dict[str, tuple[float, float]] = {}


def _shares(q: Question) -> dict[str, float]:
    if q.prompt not in _KEPT:
        _KEPT[q.prompt] = shares(q, ARMS["real"])
    return _KEPT[q.prompt]


def _reached(q: Question) -> tuple[float, float]:
    if q.prompt not in _REACHED:
        lost = frozenset({"format", "budget", "tool_fault"})
        _REACHED[q.prompt] = expected(q, ARMS["real"], lost), expected(q, ARMS["none"], NOTHING)
    return _REACHED[q.prompt]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.structural.allocation", description=__doc__)
    parser.add_argument("--questions", type=int, default=24, help="(%(default)s)")
    parser.add_argument("--repeats", type=int, default=2, help="of each question and arm (%(default)s)")
    parser.add_argument("--runs", type=int, default=20, help="stores of each allocation (%(default)s)")
    parser.add_argument("--seed", type=int, default=5, help="of questions and draws (%(default)s)")
    options = parser.parse_args()
    questions = make_questions(options.questions, options.seed, "all", 0.2)
    rows = []
    for allocation in ALLOCATIONS:
        runs = [Run(allocation, Random(f"{options.seed} {number}")) for number in range(options.runs)]
        off = fmean(error(run, questions, options.repeats) for run in runs)
        cost = sum(run.requests for run in runs) / max(1, sum(run.wrong for run in runs))
        rows.append((allocation.name, f"{off:.1f}", f"{cost:.1f}"))
    columns = ("replayed", "share error, points", "requests per wrong trial")
    print_tables([(f"{options.questions} questions, {options.repeats} repeats", columns, rows)], Console(width=120))


if __name__ == "__main__":
    main()
