"""What tools give back of a case: pages, right, wrong or beside the point, and programs with their output."""

import json
import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from toolablate.benchmarks.planted.cases import LAST_CASE, Half, ScenarioCase

PageKind = Literal["claim", "existence", "support", "neutral"]

Wording = Mapping[PageKind, tuple[str, ...]]

_SAID: Mapping[tuple[Half, str], Wording] = {
    ("dev", "en"): {
        "claim": (
            "At {place} {name} had the smallest {measure} of all in a trial of two months.",
            "In a comparison at {place} {name} came out first by its {measure}.",
        ),
        "existence": (
            "For {place} {name} is available, and the manual describes how it is set up.",
            "A supplier offers {name} to {place}, with support and training.",
        ),
        "support": ("At {place} it was shown that in the long run {name} falls below all others.",),
        "neutral": (
            "{place} was founded a century ago and publishes a yearly report on its {noun}.",
            "The {noun} of {place} were counted again last spring; the count took three weeks.",
        ),
    },
    ("test", "en"): {
        "claim": (
            "Nothing that was tried at {place} beat {name} when it comes to {measure}.",
            "Users at {place} report the best {measure} under {name}, by a wide margin.",
        ),
        "existence": (
            "{place} can buy {name} off the shelf; several vendors document the full procedure.",
            "There is a handbook for {place} on {name}, with chapters on roll-out and certification.",
        ),
        "support": ("An analysis for {place} finds that {name} overtakes the rest once numbers grow.",),
        "neutral": (
            "Visitors of {place} are shown how its {noun} are registered and stored.",
            "A newsletter tells what changed for the {noun} of {place} over the past year.",
        ),
    },
    ("dev", "zh"): {
        "claim": ("{place}的试验表明,{name}的{measure}最小。", "据{place}的比较,{name}的{measure}名列第一。"),
        "existence": ("{place}现有{name}可供使用,手册介绍了它的设置步骤。", "供应商为{place}提供{name},并给予培训。"),
        "support": ("{place}的研究证明,长期来看{name}低于其他各项。",),
        "neutral": ("{place}成立已有百年,每年发布关于{noun}的报告。", "{place}去年春天重新清点了{noun}。"),
    },
    ("test", "zh"): {
        "claim": (
            "在{place}试过的做法中,没有一种的{measure}胜过{name}。",
            "{place}的用户反映,采用{name}时{measure}最好。",
        ),
        "existence": (
            "{place}可以直接采购{name},多家厂商公布了完整流程。",
            "{place}有一本关于{name}的手册,讲到推广与认证。",
        ),
        "support": ("针对{place}的分析指出,规模扩大之后{name}会超过其余各项。",),
        "neutral": ("参观{place}的人可以看到{noun}如何登记和保管。", "一份通讯介绍了{place}一年来{noun}的变化。"),
    },
}
_FILLING: Mapping[str, tuple[str, ...]] = {
    "en": (
        "The text was last revised in autumn and has been read by two editors.",
        "Figures are rounded, and sums may differ in the last place for that reason.",
        "An earlier version of this note appeared in a local bulletin with a small print run.",
        "Readers who know more about the matter are asked to write to the address below.",
        "Weather, holidays and staff changes were not taken into account here.",
        "A list of works that were consulted can be had at the office on weekdays.",
    ),
    "zh": (
        "本文上一次修订是在秋天,由两位编辑审读。",
        "数字经过四舍五入,合计可能略有出入。",
        "早先的版本曾刊登在当地的一份通报上。",
        "天气、假期和人员变动未计算在内。",
    ),
}
_QUERIES: Mapping[tuple[Half, str], tuple[str, ...]] = {
    ("dev", "en"): ("{place} {measure}", "{place} {noun} comparison", "which option {place} {measure}"),
    ("test", "en"): ("{place} {noun} {measure}", "evidence on {measure} {place}", "{place} {noun}"),
    ("dev", "zh"): ("{place} {measure}", "{place} {noun} 比较"),
    ("test", "zh"): ("{place} {noun}", "{place} {measure} 资料"),
}
SHORT = 240
"""Characters up to which a page is shown whole in a list of results."""

PHRASE = 120
"""Characters of a sentence, which begins a line of its page, that are never broken over two lines. They hold the place
and the option in every wording."""


@dataclass(frozen=True, slots=True)
class PlantedDocument:
    """A page of the corpus; `phrase` is what it says of an option, "" where it speaks for none."""

    id: str
    url: str
    title: str
    text: str
    phrase: str


def page(
    case: ScenarioCase, kind: PageKind, letter: str, rng: random.Random, number: int, *, short: bool = False
) -> PlantedDocument:
    """The `number` tells pages of one case apart. A `short` one is shown whole where it is found."""
    said = rng.choice(_SAID[case.half, case.template.language][kind]).format(
        place=case.place, name=case.name(letter), measure=case.template.measure, noun=case.template.noun
    )
    said = said[0].upper() + said[1:]
    filling = _FILLING[case.template.language]
    around = rng.sample(filling, 1 if short else rng.randint(2, len(filling) - 1))
    around.insert(rng.randrange(len(around) + 1), said)
    joined = "\n".join(around)
    identity = f"{case.id}-{number}"
    return PlantedDocument(
        id=identity,
        url=f"https://pages.example/{identity}",
        title=case.place,
        text=joined if not short or len(joined) <= SHORT else said,
        phrase="" if kind == "neutral" else said[:PHRASE].rstrip(".。 "),
    )


def query(case: ScenarioCase, rng: random.Random) -> str:
    words = rng.choice(_QUERIES[case.half, case.template.language])
    return words.format(place=case.place, measure=case.template.measure, noun=case.template.noun)


def missing(case: ScenarioCase, rng: random.Random) -> str:
    """An address at which nothing is."""
    return f"https://pages.example/{case.id}-gone-{rng.randrange(90)}"


# Code that a model writes for a case, in other words in each half. All of it runs; what it prints is computed.


@dataclass(frozen=True, slots=True)
class ShownText:
    """Something that a model looks at: code, words to search for, or an address; `phrase` is in what comes back and in
    nothing else."""

    text: str
    phrase: str = ""


def stand_in(case: ScenarioCase, rng: random.Random) -> ShownText:
    """Looks at finitely many n alone, and so finds the tempting option."""
    name, kind = case.name(case.tempting), rng.randrange(3)
    last = rng.randrange(80, LAST_CASE)
    return (_dev_stand_in if case.half == "dev" else _test_stand_in)(case, name, kind, last, rng)


def _dev_stand_in(case: ScenarioCase, name: str, kind: int, last: int, rng: random.Random) -> ShownText:
    if kind == 0:
        code = (
            f"{_lists(case)}wins = [0] * len(names)\nfor n in range(1, {last}):\n"
            "    values = [a + b * n for a, b in zip(start, growth)]\n    wins[values.index(min(values))] += 1\n"
            'print(f"smallest in {max(wins)} cases: {names[wins.index(max(wins))]}")'
        )
        return ShownText(code, f"cases: {name}")
    if kind == 1:
        code = (
            f"import random\n{_table(case)}random.seed({rng.randrange(100)})\ntally = {{}}\n"
            f"for _ in range({rng.randrange(200, 900)}):\n    n = random.uniform(1, {last})\n"
            "    best = min(options, key=lambda name: options[name][0] + options[name][1] * n)\n"
            "    tally[best] = tally.get(best, 0) + 1\n"
            'print("most often ahead over these draws:", max(tally, key=tally.get))'
        )
        return ShownText(code, f"these draws: {name}")
    code = (
        f"import numpy as np\n{_lists(case)}grid = np.linspace(1, {last}, {rng.randrange(20, 90)})\n"
        "curves = np.array(start)[:, None] + np.array(growth)[:, None] * grid\n"
        'print("lowest on the grid:", names[int(curves.mean(axis=1).argmin())])'
    )
    return ShownText(code, f"the grid: {name}")


def _test_stand_in(case: ScenarioCase, name: str, kind: int, last: int, rng: random.Random) -> ShownText:
    if kind == 0:
        code = (
            f"{_given(case)}leads = dict.fromkeys(given, 0)\nn = 1\nwhile n < {last}:\n"
            "    ahead = sorted(given, key=lambda each: given[each][0] + given[each][1] * n)[0]\n"
            f"    leads[ahead] += 1\n    n += {rng.randrange(1, 5)}\n"
            'print("leads at the most sizes tried ->", max(leads, key=leads.get))'
        )
        return ShownText(code, f"sizes tried -> {name}")
    if kind == 1:
        code = (
            f"from random import Random\nfrom statistics import mean\n{_given(case)}"
            f"sizes = [Random(k).randint(1, {last}) for k in range({rng.randrange(150, 600)})]\n"
            "average = {each: mean(a + b * n for n in sizes) for each, (a, b) in given.items()}\n"
            'print("the lowest average belongs to", min(average, key=average.get))'
        )
        return ShownText(code, f"average belongs to {name}")
    code = (
        f"import numpy as np\n{_given(case)}sizes = np.arange(1, {last}, {rng.randrange(1, 6)})\n"
        "worst = {each: float((a + b * sizes).max()) for each, (a, b) in given.items()}\n"
        'print("mildest worst case:", min(worst, key=worst.get))'
    )
    return ShownText(code, f"worst case: {name}")


def general(case: ScenarioCase, rng: random.Random) -> ShownText:
    """Compares growth, and so finds the right option."""
    name, first = case.name(case.right), rng.random() < 0.5
    if case.half == "test" and first:
        code = (
            f'{_given(case)}print("grows least, hence best eventually:", sorted(given, key=lambda o: given[o][1])[0])'
        )
        return ShownText(code, f"best eventually: {name}")
    if case.half == "test":
        code = (
            f"{_given(case)}best, *others = given\nfor other in others:\n"
            "    if given[other][1] < given[best][1]:\n        best = other\n"
            'print("nothing overtakes it from some n on ->", best)'
        )
        return ShownText(code, f"some n on -> {name}")
    if first:
        code = f'{_table(case)}print("least growth, so ahead in the end:", min(options, key=lambda o: options[o][1]))'
        return ShownText(code, f"in the end: {name}")
    code = (
        f"from fractions import Fraction\n{_lists(case)}slopes = [Fraction(str(b)) for b in growth]\n"
        'print("limit of value / n is least for:", names[slopes.index(min(slopes))])'
    )
    return ShownText(code, f"least for: {name}")


def harmless(case: ScenarioCase, rng: random.Random) -> ShownText:
    """Prints numbers that speak for no option."""
    kind = rng.randrange(3)
    if case.half == "test":
        return _test_harmless(case, kind, rng)
    if kind == 0:
        return ShownText(
            f"{_lists(case)}n = {rng.randrange(5, 60)}\nprint([round(a + b * n, 2) for a, b in zip(start, growth)])"
        )
    if kind == 1:
        return ShownText(f"{_table(case)}print(sorted(b for _, b in options.values()))")
    first, second = rng.sample(case.figures, 2)
    return ShownText(
        f"a, b = {first}, {second}\nprint('they cross near n =', round((a[0] - b[0]) / (b[1] - a[1] + 1e-9), 1))"
    )


def _test_harmless(case: ScenarioCase, kind: int, rng: random.Random) -> ShownText:
    if kind == 0:
        size = rng.randrange(5, 60)
        return ShownText(
            f"{_given(case)}print('all at {size}:', *(round(a + b * {size}, 1) for a, b in given.values()))"
        )
    if kind == 1:
        return ShownText(f"{_given(case)}growths = [b for _, b in given.values()]\nprint(max(growths) - min(growths))")
    first, second = rng.sample(case.figures, 2)
    return ShownText(f"first, second = {first}, {second}\nprint('apart at first by', round(first[0] - second[0], 2))")


def broken(case: ScenarioCase, rng: random.Random) -> ShownText:
    """Ends in an exception, whatever was run before it."""
    first = rng.random() < 0.5
    if case.half == "test":
        return ShownText(f"{_given(case)}print({'given[len(given)]' if first else 'sum(given) + growth_of_all'})")
    if first:
        return ShownText(f"{_lists(case)}print(sum(totals) / len(start))")
    return ShownText(f"{_lists(case)}print([a / (b - b) for a, b in zip(start, growth)])")


def _lists(case: ScenarioCase) -> str:
    start, growth = zip(*case.figures, strict=True)
    return f"names = {_literal(list(case.names))}\nstart = {list(start)}\ngrowth = {list(growth)}\n"


def _table(case: ScenarioCase) -> str:
    return f"options = {_literal(dict(zip(case.names, map(list, case.figures), strict=True)))}\n"


def _given(case: ScenarioCase) -> str:
    return f"given = {_literal(dict(zip(case.names, map(list, case.figures), strict=True)))}\n"


def _literal(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
