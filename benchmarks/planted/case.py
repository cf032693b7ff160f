"""A question of a template with its slots filled in, and what its options come to."""

import math
import random
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from toolablate.benchmarks.planted.templates import Half, Template
from toolablate.traces.records import ChoiceTarget, Question

Figures = tuple[float, float]
"""What an option comes to with n: the first, plus n times the second."""

LAST_CASE = 240
"""No check that a program makes goes beyond this n; up to it the tempting option is ahead."""

_SYLLABLES: Mapping[Half, tuple[str, ...]] = {
    "dev": (
        "nor",
        "tes",
        "vale",
        "brin",
        "ka",
        "lor",
        "mi",
        "dun",
        "sel",
        "ra",
        "wick",
        "o",
        "har",
        "fen",
        "ul",
        "gar",
    ),
    "test": (
        "zel",
        "qua",
        "pir",
        "an",
        "thos",
        "eb",
        "rin",
        "ju",
        "mar",
        "cot",
        "ley",
        "vi",
        "stra",
        "plo",
        "ix",
        "emb",
    ),
}
_CHINESE: Mapping[Half, str] = {"dev": "云岭清河松柏长青石桥南溪", "test": "海棠白鹭金沙临江紫薇东湖"}


@dataclass(frozen=True, slots=True)
class Case:
    """`names` are the options in their order. `right` has the least growth, so that it is ahead in the end; `tempting`
    is ahead for every n up to LAST_CASE; `lure` is the wrong option that pages speak for. All three are letters."""

    half: Half
    template: Template
    number: int
    place: str
    prompt: str
    names: tuple[str, ...]
    figures: tuple[Figures, ...]
    right: str
    tempting: str
    lure: str

    @property
    def id(self) -> str:
        return f"{self.half}-{self.number:05d}"

    @property
    def letters(self) -> str:
        return string.ascii_uppercase[: len(self.names)]

    def name(self, letter: str) -> str:
        return self.names[self.letters.index(letter)]

    def question(self) -> Question:
        return Question(
            id=self.id,
            prompt=self.prompt,
            choices=self.names,
            target=ChoiceTarget(letters=(self.right,)),
            domain=self.template.domain,
            language=self.template.language,
            source="planted",
        )


def make_case(half: Half, template: Template, number: int, rng: random.Random, *, elaborate_lure: bool) -> Case:
    """`elaborate_lure`: what pages speak for is more elaborate than the right option."""
    count = rng.randint(4, 6)
    elaborate = rng.sample(template.elaborate, 2)
    simple = rng.sample(template.simple, count - len(elaborate))
    plain_right = elaborate_lure or rng.random() < 0.8
    right = simple[0] if plain_right else elaborate[0]
    wrong = [name for name in (*simple, *elaborate) if name != right]
    lure = elaborate[1] if elaborate_lure else rng.choice(wrong)
    tempting = rng.choice(wrong)
    names = [right, *wrong]
    rng.shuffle(names)
    letters = dict(zip(names, string.ascii_uppercase, strict=False))
    figures = tuple(_figures(name, right, tempting, rng) for name in names)
    place = _place(half, template, number, rng)
    prompt = rng.choice(template.prompts).format(
        place=place, measure=template.measure, figures=_written(figures, template.language)
    )
    return Case(
        half=half,
        template=template,
        number=number,
        place=place,
        prompt=prompt[0].upper() + prompt[1:],
        names=tuple(names),
        figures=figures,
        right=letters[right],
        tempting=letters[tempting],
        lure=letters[lure],
    )


def _figures(name: str, right: str, tempting: str, rng: random.Random) -> Figures:
    if name == right:
        start, growth = rng.uniform(60, 90), rng.uniform(0.02, 0.05)
    elif name == tempting:
        start, growth = rng.uniform(1, 3), rng.uniform(0.08, 0.12)
    else:
        start, growth = rng.uniform(20, 40), rng.uniform(0.15, 0.3)
    return round(start, 1), round(growth, 3)


def _written(figures: Sequence[Figures], language: str) -> str:
    mark = "、" if language == "zh" else "; "
    return mark.join(f"{start:g} + {growth:g} n" for start, growth in figures)


def _place(half: Half, template: Template, number: int, rng: random.Random) -> str:
    """No two questions have one: the number is in the name, as syllables."""
    suffix = rng.choice(template.suffixes)
    if template.language == "zh":
        signs = _CHINESE[half]
        return "".join(_digits(number + len(signs), signs)) + suffix
    syllables = _SYLLABLES[half]
    return "".join(_digits(number + len(syllables) ** 2, syllables)).capitalize() + " " + suffix


def _digits(number: int, signs: Sequence[str]) -> list[str]:
    found: list[str] = []
    while number:
        number, digit = divmod(number, len(signs))
        found.append(signs[digit])
    return found


def weight_for(share: float, others: Sequence[float]) -> float:
    """The weight, in nats, with which an answer has this probability beside others of these weights (softmax)."""
    return math.log(share / (1 - share)) + math.log(math.fsum(math.exp(other) for other in others))
