"""Code that a model writes for a case. All of it runs; what it prints is computed."""

import json
import random
from dataclasses import dataclass

from toolablate.benchmarks.planted.case import LAST_CASE, Case


@dataclass(frozen=True, slots=True)
class Shown:
    """Something that a model looks at: code, words to search for, or an address; `phrase` is in what comes back and in
    nothing else."""

    text: str
    phrase: str = ""


def stand_in(case: Case, rng: random.Random) -> Shown:
    """Looks at finitely many n alone, and so finds the tempting option."""
    name = case.name(case.tempting)
    kind = rng.choice(("loop", "draws", "grid"))
    last = rng.randrange(80, LAST_CASE)
    if kind == "loop":
        code = (
            f"{_lists(case)}wins = [0] * len(names)\nfor n in range(1, {last}):\n"
            "    values = [a + b * n for a, b in zip(start, growth)]\n    wins[values.index(min(values))] += 1\n"
            'print(f"smallest in {max(wins)} cases: {names[wins.index(max(wins))]}")'
        )
        return Shown(code, f"cases: {name}")
    if kind == "draws":
        code = (
            f"import random\n{_table(case)}random.seed({rng.randrange(100)})\ntally = {{}}\n"
            f"for _ in range({rng.randrange(200, 900)}):\n    n = random.uniform(1, {last})\n"
            "    best = min(options, key=lambda name: options[name][0] + options[name][1] * n)\n"
            "    tally[best] = tally.get(best, 0) + 1\n"
            'print("most often ahead over these draws:", max(tally, key=tally.get))'
        )
        return Shown(code, f"these draws: {name}")
    code = (
        f"import numpy as np\n{_lists(case)}grid = np.linspace(1, {last}, {rng.randrange(20, 90)})\n"
        "curves = np.array(start)[:, None] + np.array(growth)[:, None] * grid\n"
        'print("lowest on the grid:", names[int(curves.mean(axis=1).argmin())])'
    )
    return Shown(code, f"the grid: {name}")


def general(case: Case, rng: random.Random) -> Shown:
    """Compares growth, and so finds the right option."""
    name = case.name(case.right)
    if rng.random() < 0.5:
        code = f'{_table(case)}print("least growth, so ahead in the end:", min(options, key=lambda o: options[o][1]))'
        return Shown(code, f"in the end: {name}")
    code = (
        f"from fractions import Fraction\n{_lists(case)}slopes = [Fraction(str(b)) for b in growth]\n"
        'print("limit of value / n is least for:", names[slopes.index(min(slopes))])'
    )
    return Shown(code, f"least for: {name}")


def harmless(case: Case, rng: random.Random) -> Shown:
    """Prints numbers that speak for no option."""
    kind = rng.randrange(3)
    if kind == 0:
        return Shown(
            f"{_lists(case)}n = {rng.randrange(5, 60)}\nprint([round(a + b * n, 2) for a, b in zip(start, growth)])"
        )
    if kind == 1:
        return Shown(f"{_table(case)}print(sorted(b for _, b in options.values()))")
    first, second = rng.sample(case.figures, 2)
    return Shown(
        f"a, b = {first}, {second}\nprint('they cross near n =', round((a[0] - b[0]) / (b[1] - a[1] + 1e-9), 1))"
    )


def broken(case: Case, rng: random.Random) -> Shown:
    """Ends in an exception, whatever was run before it."""
    if rng.random() < 0.5:
        return Shown(f"{_lists(case)}print(sum(totals) / len(start))")
    return Shown(f"{_lists(case)}print([a / (b - b) for a, b in zip(start, growth)])")


def _lists(case: Case) -> str:
    start, growth = zip(*case.figures, strict=True)
    return f"names = {_literal(list(case.names))}\nstart = {list(start)}\ngrowth = {list(growth)}\n"


def _table(case: Case) -> str:
    return f"options = {_literal(dict(zip(case.names, map(list, case.figures), strict=True)))}\n"


def _literal(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
