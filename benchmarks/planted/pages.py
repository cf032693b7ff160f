"""Pages of the corpus that speak of a case, and searches that find them."""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from toolablate.benchmarks.planted.case import Case
from toolablate.benchmarks.planted.templates import Half

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
class Document:
    """A page of the corpus; `phrase` is what it says of an option, "" where it speaks for none."""

    id: str
    url: str
    title: str
    text: str
    phrase: str


def page(case: Case, kind: PageKind, letter: str, rng: random.Random, number: int, *, short: bool = False) -> Document:
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
    return Document(
        id=identity,
        url=f"https://pages.example/{identity}",
        title=case.place,
        text=joined if not short or len(joined) <= SHORT else said,
        phrase="" if kind == "neutral" else said[:PHRASE].rstrip(".。 "),
    )


def query(case: Case, rng: random.Random) -> str:
    words = rng.choice(_QUERIES[case.half, case.template.language])
    return words.format(place=case.place, measure=case.template.measure, noun=case.template.noun)


def missing(case: Case, rng: random.Random) -> str:
    """An address at which nothing is."""
    return f"https://pages.example/{case.id}-gone-{rng.randrange(90)}"
