"""python -m bench.structural.attainable, from the project's root: how well a reader who knows how each cause acts names
causes from as many runs as the product makes by default, and from more. Trials and runs are drawn from the graph in
process, without a server.

The reader holds a bank of other wrong trials of the graph, and weighs those whose traces look alike by how well their
chances fit the counts (Bayes' rule by Monte Carlo). One reader knows the chances of each kind of question too; another
supposes them as the product does, so that it knows the graph alone.
"""

import argparse
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from random import Random
from statistics import fmean

import numpy as np
from bench.figures import macro_f1, print_tables
from bench.structural.graph import (
    ARMS,
    BUDGET,
    Arm,
    Question,
    Seen,
    Situation,
    Turn,
    action,
    answer,
    belief,
    calls_tool,
    loses_form,
    played,
    played_on,
    scores,
    shown,
    truth_of,
)
from bench.structural.questions import Tools, kinds_of, make_questions
from bench.structural.scoring import LABELS, oracle_of, right_names
from rich.console import Console

from toolablate.analysis.attribution.evidence import LONG_RESULTS
from toolablate.analysis.attribution.sequential import HIGH, LOW
from toolablate.analysis.statistics.intervals import Floats

CONDITIONS = ("real", "flaky")
RUNS: Mapping[str, int] = {
    **{"last reply": 3, "before any call": 4, "again": 1, "other search": 1, "other code": 1, "other results": 1},
    **{"short results": 1, "more room": 2, "repaired": 1},
    **{"none": 6, "scaffold": 6, "offered": 6, "sham": 2, "placebo": 4},
}
"""By level: what the product makes by default, on average, with all repeats and arms of a question."""
TIMES = (0, 1, 2, 4)
_REPEATS, _CONTINUED, _OF_ARMS, _DRAWS = 2, 24, 100, 20
_SHORT, _FORCING = 400, 0.2
_LEAST = 0.003
"""A chance is no nearer to 0 or 1."""


@dataclass(frozen=True, slots=True)
class Wrong:
    """A wrong trial: what its trace shows, its chances by level, and its causes."""

    question: tuple[int, str]
    trace: tuple[object, ...]
    chances: Mapping[str, float]
    label: str
    names: frozenset[str]
    oracle: str


@dataclass(slots=True)
class World:
    """Draws of trials; two of other seeds have none in common."""

    seed: str
    _marks: Iterator[int] = field(default_factory=count)

    def mark(self) -> str:
        return f"{self.seed}/{next(self._marks)}"

    def wrong(self, questions: Iterable[Question], seed: int) -> Iterator[Wrong]:
        """Of each trial every draw of its answer that is wrong."""
        for q in questions:
            of_arms = {name: self._mean(_OF_ARMS, self._played, q, ARMS[name]) for name in RUNS if name in ARMS}
            for name in CONDITIONS:
                for _ in range(_REPEATS):
                    s = self._played(q, ARMS[name])
                    draws = [replace(s, chance=(place + 0.5) / _DRAWS) for place in range(_DRAWS)]
                    cases = [each for each in draws if not scores(each)]
                    chances = of_arms | self._levels(s, ARMS[name]) if cases else {}
                    oracle = oracle_of(s) if cases else ""
                    for each in cases:
                        truth, trace = truth_of(each), (name, *_shown_by(each), *sorted(chances))
                        names = right_names(truth)
                        yield Wrong((seed, q.id), trace, chances, LABELS[truth.label], names, oracle)

    def _played(self, q: Question, arm: Arm) -> Situation:
        return played(q, arm, self.mark())

    def _mean(self, times: int, continued: Callable[..., Situation], *of: object) -> float:
        return fmean(belief(continued(*of)) for _ in range(times))

    def _levels(self, s: Situation, arm: Arm) -> dict[str, float]:
        found = {
            "last reply": lambda: replace(s, mark=self.mark()),
            "before any call": lambda: replace(s, turns=(), mark=self.mark(), forced="now"),
        }
        if s.turns:
            found |= self._after_calls(s, arm)
        return {name: self._mean(_CONTINUED, each) for name, each in found.items()}

    def _after_calls(self, s: Situation, arm: Arm) -> dict[str, Callable[[], Situation]]:
        results = [turn.seen for turn in s.turns if turn.seen]
        kinds = sorted({_kind(each) for each in results})
        found: dict[str, Callable[[], Situation]] = {
            "again": lambda: self._from_first(s, arm, ()),
            "other results": lambda: self._from_first(s, arm, kinds),
        }
        if len(kinds) > 1:
            found["other search"] = lambda: self._from_first(s, arm, ("search",))
            found["other code"] = lambda: self._from_first(s, arm, ("code",))
        if sum(each.chars for each in results) >= LONG_RESULTS:
            found["short results"] = lambda: self._from_first(s, arm, kinds, _SHORT)
        if s.forced:
            found["more room"] = lambda: played_on(replace(s, forced=""), arm, self.mark(), budget=2 * BUDGET)
        failed = [place for place, turn in enumerate(s.turns) if turn.seen and turn.seen.status == "error"]
        if failed:
            found["repaired"] = lambda: self._repaired(s, failed[0])
        return found

    def _from_first(self, s: Situation, arm: Arm, others: Sequence[str], chars: int | None = None) -> Situation:
        """From the first result on, with other results of these kinds of tools, and at most so many `chars`."""
        first, mark = s.turns[0], self.mark()
        s = replace(s, turns=(Turn(first.mark, _swapped(first.seen, others, chars)),), mark=f"{mark}-1", forced="")
        while calls_tool(s) and len(s.turns) < 2 * BUDGET:
            seen = _swapped(shown(s, action(s), arm), others, chars)
            s = replace(s, turns=(*s.turns, Turn(s.mark, seen)), mark=f"{mark}-{len(s.turns) + 1}")
        return s

    def _repaired(self, s: Situation, failed: int) -> Situation:
        mark = self.mark()
        before = replace(s, turns=s.turns[:failed], mark=s.turns[failed].mark, forced="")
        works = Turn(before.mark, shown(before, action(before), ARMS["real"]))
        return played_on(replace(before, turns=(*before.turns, works), mark=f"{mark}-{failed + 1}"), ARMS["real"], mark)


def _kind(seen: Seen) -> str:
    return "code" if seen.tool == "code" else "search"


def _swapped(seen: Seen | None, others: Sequence[str], chars: int | None) -> Seen | None:
    if seen is None or (seen.status == "ok" and _kind(seen) not in others):
        return seen
    letters = seen.letters if seen.status != "ok" else frozenset[str]()
    return replace(seen, letters=letters, chars=seen.chars if chars is None else min(seen.chars, chars))


def _shown_by(s: Situation) -> tuple[object, ...]:
    """What any reader of the trace sees: the tools that were called, whether one failed, whether it ended so, whether a
    limit ended it or the form was lost, and whether results of code or of pages have its answer, or the right one."""
    results, given, right = [turn.seen for turn in s.turns if turn.seen], answer(s), s.question.letters["right"]
    failed = [each.status == "error" for each in results]
    by = {kind: any(_kind(each) == kind and given in each.letters for each in results) for kind in ("code", "search")}
    there = any(right in each.letters for each in results)
    return any(failed), bool(failed) and failed[-1], s.forced, loses_form(s), by["code"], by["search"], there


def supposed(q: Question, random: Random) -> Question:
    """With chances as the product supposes them: high, low, and of what no cause moves any."""
    high, any_chance = random.betavariate(*HIGH), random.uniform(0.02, 0.98)
    gain = None if q.gain is None else random.betavariate(*HIGH)
    low, glum = random.betavariate(*LOW), random.betavariate(*LOW)
    return replace(q, base=high if q.causes else any_chance, low=low, glum=glum, gain=gain)


class Reader:
    def __init__(self, bank: Iterable[Wrong]) -> None:
        alike: dict[tuple[object, ...], list[Wrong]] = defaultdict(list)
        for each in bank:
            alike[each.trace].append(each)
        self._alike = {trace: (_chances_of(some), some) for trace, some in alike.items()}

    def names(self, trace: tuple[object, ...], counts: Mapping[str, tuple[int, int]]) -> dict[str, float]:
        """The probability of each right name, by right and wrong runs of each level; empty where no trial of the bank
        looks like it."""
        if trace not in self._alike:
            return {}
        chances, some = self._alike[trace]
        right, wrong = np.array([counts[level] for level in sorted(counts)]).T
        fits = np.log(chances) @ right + np.log(1 - chances) @ wrong
        weights = np.exp(fits - fits.max())
        found: dict[str, float] = defaultdict(float)
        for each, weight in zip(some, weights / weights.sum(), strict=True):
            for name in each.names:
                found[name] += float(weight)
        return found


def _chances_of(some: Sequence[Wrong]) -> Floats:
    """Trials x levels."""
    found = np.array([[each.chances[level] for level in sorted(each.chances)] for each in some])
    return np.clip(found, _LEAST, 1 - _LEAST)


def drawn(trial: Wrong, times: int, random: Random) -> dict[str, tuple[int, int]]:
    """Right and wrong runs of each level."""
    found = {}
    for level, chance in trial.chances.items():
        runs = times * RUNS[level]
        right = sum(random.random() < chance for _ in range(runs))
        found[level] = right, runs - right
    return found


def wrong_trials(seeds: range, tools: Tools, world: World, of: Callable[[Question], Question]) -> Iterator[Wrong]:
    for seed in seeds:
        questions = make_questions(len(kinds_of(tools)), seed, tools, _FORCING)
        yield from world.wrong([of(q) for q in questions], seed)


def compared(tools: Tools, bank: int, tested: int) -> list[tuple[str, ...]]:
    """Rows of who names, with how many runs, the share of right causes and macro-F1."""
    random = Random(0)
    every = list(wrong_trials(range(tested), tools, World("tested"), lambda q: q))
    # One draw of an answer in so many, so that a trial is there once on average.
    trials = [each for each in every if random.random() < 1 / _DRAWS]
    others = range(1_000_000, 1_000_000 + bank)
    readers = {
        "knows the graph and its chances": Reader(wrong_trials(others, tools, World("bank"), lambda q: q)),
        "knows the graph": Reader(wrong_trials(others, tools, World("any"), lambda q: supposed(q, random))),
    }
    rows = [_row("knows all but the draw of the answer", "", [(each, each.oracle) for each in trials])]
    for name, reader in readers.items():
        for times in TIMES:
            said = []
            for each in trials:
                likely = reader.names(each.trace, drawn(each, times, random))
                said.append((each, max(likely, key=lambda cause: (likely[cause], cause)) if likely else None))
            rows.append(_row(name, f"{times} x", said))
    return rows


def _row(who: str, runs: str, said: Sequence[tuple[Wrong, str | None]]) -> tuple[str, ...]:
    pairs = [(name if name is not None and name in each.names else each.label, name) for each, name in said]
    right = fmean(true == name for true, name in pairs)
    return who, runs, f"{right:.3f}", f"{macro_f1(pairs) or 0:.3f}", str(sum(name is None for _, name in said))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.structural.attainable", description=__doc__)
    parser.add_argument("--toolset", choices=("python", "search", "all"), default="all", help="(%(default)s)")
    parser.add_argument("--bank", type=int, default=60, help="questions of each kind that a reader knows (%(default)s)")
    parser.add_argument("--tested", type=int, default=20, help="others of each kind (%(default)s)")
    options = parser.parse_args()
    rows = compared(options.toolset, options.bank, options.tested)
    columns = ("reader", "runs", "cause right", "macro-F1", "nothing alike")
    print_tables([("causes that a reader of the default's runs names", columns, rows)], Console(width=120))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
