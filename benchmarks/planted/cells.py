"""Code that a model writes for a case, in other words in each half. All of it runs; what it prints is computed."""

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
    name, kind = case.name(case.tempting), rng.randrange(3)
    last = rng.randrange(80, LAST_CASE)
    return (_dev_stand_in if case.half == "dev" else _test_stand_in)(case, name, kind, last, rng)


def _dev_stand_in(case: Case, name: str, kind: int, last: int, rng: random.Random) -> Shown:
    if kind == 0:
        code = (
            f"{_lists(case)}wins = [0] * len(names)\nfor n in range(1, {last}):\n"
            "    values = [a + b * n for a, b in zip(start, growth)]\n    wins[values.index(min(values))] += 1\n"
            'print(f"smallest in {max(wins)} cases: {names[wins.index(max(wins))]}")'
        )
        return Shown(code, f"cases: {name}")
    if kind == 1:
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


def _test_stand_in(case: Case, name: str, kind: int, last: int, rng: random.Random) -> Shown:
    if kind == 0:
        code = (
            f"{_given(case)}leads = dict.fromkeys(given, 0)\nn = 1\nwhile n < {last}:\n"
            "    ahead = sorted(given, key=lambda each: given[each][0] + given[each][1] * n)[0]\n"
            f"    leads[ahead] += 1\n    n += {rng.randrange(1, 5)}\n"
            'print("leads at the most sizes tried ->", max(leads, key=leads.get))'
        )
        return Shown(code, f"sizes tried -> {name}")
    if kind == 1:
        code = (
            f"from random import Random\nfrom statistics import mean\n{_given(case)}"
            f"sizes = [Random(k).randint(1, {last}) for k in range({rng.randrange(150, 600)})]\n"
            "average = {each: mean(a + b * n for n in sizes) for each, (a, b) in given.items()}\n"
            'print("the lowest average belongs to", min(average, key=average.get))'
        )
        return Shown(code, f"average belongs to {name}")
    code = (
        f"import numpy as np\n{_given(case)}sizes = np.arange(1, {last}, {rng.randrange(1, 6)})\n"
        "worst = {each: float((a + b * sizes).max()) for each, (a, b) in given.items()}\n"
        'print("mildest worst case:", min(worst, key=worst.get))'
    )
    return Shown(code, f"worst case: {name}")


def general(case: Case, rng: random.Random) -> Shown:
    """Compares growth, and so finds the right option."""
    name, first = case.name(case.right), rng.random() < 0.5
    if case.half == "test" and first:
        code = (
            f'{_given(case)}print("grows least, hence best eventually:", sorted(given, key=lambda o: given[o][1])[0])'
        )
        return Shown(code, f"best eventually: {name}")
    if case.half == "test":
        code = (
            f"{_given(case)}best, *others = given\nfor other in others:\n"
            "    if given[other][1] < given[best][1]:\n        best = other\n"
            'print("nothing overtakes it from some n on ->", best)'
        )
        return Shown(code, f"some n on -> {name}")
    if first:
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
    if case.half == "test":
        return _test_harmless(case, kind, rng)
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


def _test_harmless(case: Case, kind: int, rng: random.Random) -> Shown:
    if kind == 0:
        size = rng.randrange(5, 60)
        return Shown(f"{_given(case)}print('all at {size}:', *(round(a + b * {size}, 1) for a, b in given.values()))")
    if kind == 1:
        return Shown(f"{_given(case)}growths = [b for _, b in given.values()]\nprint(max(growths) - min(growths))")
    first, second = rng.sample(case.figures, 2)
    return Shown(f"first, second = {first}, {second}\nprint('apart at first by', round(first[0] - second[0], 2))")


def broken(case: Case, rng: random.Random) -> Shown:
    """Ends in an exception, whatever was run before it."""
    first = rng.random() < 0.5
    if case.half == "test":
        return Shown(f"{_given(case)}print({'given[len(given)]' if first else 'sum(given) + growth_of_all'})")
    if first:
        return Shown(f"{_lists(case)}print(sum(totals) / len(start))")
    return Shown(f"{_lists(case)}print([a / (b - b) for a, b in zip(start, growth)])")


def _lists(case: Case) -> str:
    start, growth = zip(*case.figures, strict=True)
    return f"names = {_literal(list(case.names))}\nstart = {list(start)}\ngrowth = {list(growth)}\n"


def _table(case: Case) -> str:
    return f"options = {_literal(dict(zip(case.names, map(list, case.figures), strict=True)))}\n"


def _given(case: Case) -> str:
    return f"given = {_literal(dict(zip(case.names, map(list, case.figures), strict=True)))}\n"


def _literal(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
