"""The words of composed questions. Every one asks for exactly the statements of a kind: all of them, and no others."""

from collections.abc import Mapping, Sequence
from typing import Literal

from toolablate.benchmarks.encyclo_k.draws import Draws

Asked = Literal["correct", "incorrect"]
Language = Literal["en", "zh"]

ASKS: Mapping[Language, Sequence[str]] = {
    "en": (
        "Read the numbered statements. Which option lists all of those that {are}, and none of the others?",
        "Judge every statement by itself, then choose the option that names just the ones that {are}.",
        "Some of the statements here {are}. Which option has all of them and nothing else?",
        "Make a list of the statements that {are}. Which option matches it?",
        "One option brings together every one of the statements that {are}, and leaves out the rest. Which is it?",
        "Of the statements that follow, which {are}?",
        "Sort the statements into two groups. Which option is the group of those that {are}?",
    ),
    "zh": (
        "阅读下列编号的陈述。哪个选项恰好列出了其中所有{are}的陈述？",
        "请逐条判断下列陈述，再选出恰好由全部{are}的陈述组成的选项。",
        "下列陈述中有一部分{are}。哪个选项列全了这些陈述，又不含其他陈述？",
        "把{are}的陈述列成一份清单，哪个选项与这份清单一致？",
        "以下各条陈述里，{are}的是哪几条？",
    ),
}
KINDS: Mapping[Language, Mapping[Asked, Sequence[str]]] = {
    "en": {
        "correct": (
            "hold true",
            "are free of mistakes",
            "agree with the facts",
            "state the matter as it is",
            "say nothing wrong",
            "can be relied upon as written",
        ),
        "incorrect": (
            "do not hold true",
            "contain a mistake",
            "go against the facts",
            "misstate the matter",
            "say something wrong",
            "cannot be relied upon as written",
        ),
    },
    "zh": {
        "correct": ("内容属实", "没有错误", "符合事实", "能够成立", "表述无误"),
        "incorrect": ("内容不实", "含有错误", "与事实不符", "不能成立", "表述有误"),
    },
}
JUDGED: Mapping[Language, tuple[str, str, str]] = {
    "en": ("Does this statement hold true?", "It holds true.", "It does not hold true."),
    "zh": ("这条陈述是否成立？", "成立。", "不成立。"),
}
"""What is asked of a single statement, and the answers for a correct and for an incorrect one."""

_NUMERALS = ((10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"))
MOST_STATEMENTS = 39


def spoken(language: str) -> Language:
    """The language that a question's words are in: English where there are none in its own."""
    return "zh" if language.lower().startswith("zh") else "en"


def ask(draws: Draws, language: str, asked: Asked) -> str:
    words = spoken(language)
    sentence, are = draws.one(ASKS[words]), draws.one(KINDS[words][asked])
    return sentence.format(are=are)


def numeral(number: int) -> str:
    """In lower case, from 1 to 39: i, ii, iii, iv."""
    written = ""
    for value, sign in _NUMERALS:
        count, number = divmod(number, value)
        written += sign * count
    return written
