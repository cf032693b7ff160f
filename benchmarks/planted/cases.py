"""One made-up matter: its figures, its words, and the templates that both come from."""

import json
import math
import random
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from toolablate.traces.records import ChoiceTarget, Question

Half = Literal["dev", "test"]


class Template(BaseModel):
    """A question with slots. `simple` and `elaborate` are names of options; `suffixes` end the name of a place that
    nothing else is called by."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    domain: str
    language: Literal["en", "zh"]
    suffixes: tuple[str, ...] = Field(min_length=1)
    prompts: tuple[str, ...] = Field(min_length=1)
    noun: str
    measure: str
    simple: tuple[str, ...] = Field(min_length=5)
    elaborate: tuple[str, ...] = Field(min_length=2)


@cache
def templates(half: Half) -> tuple[Template, ...]:
    text = (Path(__file__).parent / f"templates_{half}.jsonl").read_text(encoding="utf-8")
    return tuple(Template.model_validate(json.loads(line)) for line in text.splitlines() if line.strip())


# A question of a template with its slots filled in, and what its options come to.


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
class ScenarioCase:
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


def make_case(half: Half, template: Template, number: int, rng: random.Random, *, elaborate_lure: bool) -> ScenarioCase:
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
    return ScenarioCase(
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


# What a model says before its calls and at the end. Reasons that it gives at the end are more often than not those of
# its story, and may as well name a cause that is none; other words tell nothing.


Reason = Literal["own", "code", "source", "norm", "elaborate", "trouble"]

_BEFORE: Mapping[tuple[Half, str, str], tuple[str, ...]] = {
    ("dev", "en", "code"): (
        "Let me look at this with a few lines of code.",
        "I will put the figures into Python.",
        "A short program may help here.",
        "",
    ),
    ("dev", "en", "search"): (
        "Let me see what is known about this place.",
        "I will look this up.",
        "Perhaps somebody has written about it.",
        "",
    ),
    ("test", "en", "code"): (
        "Numbers first: I run a cell.",
        "Computing a little before I commit to anything.",
        "Time to try the interpreter.",
        "",
    ),
    ("test", "en", "search"): (
        "Some background reading could be useful.",
        "Checking sources now.",
        "I query the index about it.",
        "",
    ),
    ("dev", "zh", "code"): ("先用几行代码看看。", "把数据放进程序里。", ""),
    ("dev", "zh", "search"): ("先查一下资料。", "看看有没有相关的介绍。", ""),
    ("test", "zh", "code"): ("运行一段程序再说。", "下面做一点计算。", ""),
    ("test", "zh", "search"): ("去检索一下背景。", "找找有关的文献。", ""),
}
_REASONS: Mapping[tuple[Half, str], Mapping[Reason, tuple[str, ...]]] = {
    ("dev", "en"): {
        "own": (
            "What decides is the behaviour for large n, and so I take {text}.",
            "Weighing the options, {text} seems best.",
        ),
        "code": ("The program's result speaks for {text}.", "By the numbers that I computed it comes down to {text}."),
        "source": (
            "The page that I read speaks for {text}.",
            "Going by what is reported, I take {text}.",
            "The page shows {text} ahead, and that should hold here as well.",
        ),
        "norm": (
            "The manual describes {text}, so this is what should be used here.",
            "With {text} on offer and help at hand, there is little reason to look any further.",
        ),
        "elaborate": (
            "{text} is supported by suppliers. It must be set up in stages, with monitoring, a review of each stage and"
            " a fallback, and is the recommended approach.",
            "I would build on {text}, in stages, with somebody to watch each of them, a way back at every point, a"
            " yearly review, and reserves for what nobody thought of.",
        ),
        "trouble": ("The tools were of little use, and from memory I take {text}.",),
    },
    ("test", "en"): {
        "own": ("Growth is all that matters in the end; hence {text}.", "All told, {text} looks right to me."),
        "code": ("My cell settles it in favour of {text}.", "Since the computation points there, I go for {text}."),
        "source": (
            "Reports from there favour {text}.",
            "The literature that turned up leans towards {text}.",
            "The best record there is that of {text}; experience supports it, and it must be preferred.",
        ),
        "norm": (
            "Documentation exists for {text} and vendors provide it; it should therefore be adopted.",
            "As {text} comes ready-made, handbook and all, it is the natural choice.",
        ),
        "elaborate": (
            "A documented procedure allows {text}: first a pilot, then certification, then roll-out with telemetry and"
            " audits. The proper way must cover each of these layers.",
            "To be safe on all sides I settle on {text}, piloted at two sites, with certified operators, telemetry,"
            " audits twice a year, and a second line of control behind the first.",
        ),
        "trouble": ("With the tools failing me, I rely on what I know: {text}.",),
    },
    ("dev", "zh"): {
        "own": ("关键在于n很大时的情况,因此取{text}。", "综合考虑,{text}较为合适。"),
        "code": ("程序的结果支持{text}。",),
        "source": ("读到的页面支持{text}。", "文章说明{text}领先,这里应该也一样。"),
        "norm": ("手册介绍了{text},因此应当采用它。", "{text}有现成的,又有人帮忙,不必再看别的。"),
        "elaborate": (
            "供应商支持{text},应当分阶段实施,并配以监测、评审和备用方案。",
            "为稳妥起见取{text},逐级推进,每一级有人看管、复核,并留好退路。",
        ),
        "trouble": ("工具帮助不大,凭记忆取{text}。",),
    },
    ("test", "zh"): {
        "own": ("最终起作用的是增长快慢,故取{text}。", "总的来看,{text}更妥当。"),
        "code": ("计算指向{text}。",),
        "source": ("检索到的材料倾向于{text}。", "当地的经验支持{text},应该就是它。"),
        "norm": ("已有文档提供了{text},所以应采用它。", "{text}买来即用,连说明书都有,自然选它。"),
        "elaborate": (
            "有现成流程可以使用{text}:先试点,再认证,然后推广并加以审计,必须逐层落实。",
            "为求周全选{text},先在两处试行,操作人员持证,加上遥测与每年两次审计,后面再设一道防线。",
        ),
        "trouble": ("工具不起作用,只能依靠已有知识:{text}。",),
    },
}
_OF_STORY: Mapping[str, Reason] = {
    "lock_in": "code",
    "misleading_adoption": "source",
    "existence_as_norm": "norm",
    "over_engineering": "elaborate",
    "tool_fault": "trouble",
}
_TELLING = 0.6
"""How often a model's reason is the one that moved it, where there is one to tell."""


def before_calls(case: ScenarioCase, toolset: str) -> list[str]:
    return list(_BEFORE[case.half, case.template.language, toolset])


def final_words(case: ScenarioCase, stories: tuple[str, ...], rng: random.Random) -> list[str]:
    """Three variants; {text} stands for the option."""
    reasons = _REASONS[case.half, case.template.language]
    told = [_OF_STORY[story] for story in stories if story in _OF_STORY]
    found: list[str] = []
    for _ in range(3):
        reason = rng.choice(told) if told and rng.random() < _TELLING else rng.choice(list(reasons))
        found.append(rng.choice(reasons[reason]))
    return found
