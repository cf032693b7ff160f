"""Whether a text says an answer, found by hand-written forms and by brute force: nothing here is of the code that is
tested."""

import re
from collections.abc import Iterator

from toolablate.traces.records import NumberTarget, Question, SpansTarget

WORDS = {
    7: "seven", 12: "twelve", 17: "seventeen", 20: "twenty", 42: "forty-two", 60: "sixty", 99: "ninety nine",
}  # fmt: skip
CHINESE = {7: "七", 12: "十二", 17: "十七", 20: "二十", 42: "四十二", 60: "六十", 99: "九十九", 2018: "二〇一八"}
_NUMBER = re.compile(r"\d+(\.\d+|/\d+)?")
RAISED = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


def number_forms(value: float) -> Iterator[str]:
    """As pages and programs write a positive number."""
    whole = value.is_integer()
    if value < 1e15:
        yield from (f"{value:,}", f"{value!r}")
        yield from (plain for plain in (f"{value:.0f}", f"{value:.6f}") if float(plain) == value)
        yield from (f"{value:,.2f}", f"{value:.2f}") if whole else ()
    mantissa, _, power = f"{value:.12e}".partition("e")
    short = mantissa.rstrip("0").rstrip(".")
    exponent = int(power)
    yield from (f"{short}e{exponent}", f"{short}E+{exponent:02}" if exponent >= 0 else f"{short}E{exponent:03}")
    yield from (f"{short} × 10^{exponent}", f"{short}×10{str(exponent).translate(RAISED)}", f"{short}*10**{exponent}")
    yield rf"{short} \times 10^{{{exponent}}}"
    if whole and value >= 1000 and value < 1e15:
        yield from (f"{value:,.0f}".replace(",", mark) for mark in (" ", "'", ".", "_", "\u202f"))
    for words, scale in ((("thousand", "k"), 1e3), (("million", "M", "m"), 1e6), (("billion", "bn"), 1e9), (("万",), 1e4), (("亿",), 1e8)):  # fmt: skip
        scaled = f"{value / scale:.6f}".rstrip("0").rstrip(".")
        if 1 <= value / scale < 1000 and float(scaled) * scale == value:
            yield from (f"{scaled}{'' if len(word) < 3 else ' '}{word}" for word in words)
    if 1e-3 < value < 10:
        percent = f"{value * 100:.6f}".rstrip("0").rstrip(".")
        yield from (f"{percent}%", f"{percent} %", f"{percent} percent", f"{percent} per cent")
    if value in WORDS:
        yield from (WORDS[int(value)], WORDS[int(value)].title())
    if value in CHINESE:
        yield CHINESE[int(value)]


def surrounded(form: str) -> Iterator[str]:
    """In lists, dates, sentences, names and addresses."""
    yield from (form, f"it is {form}.", f"[1,{form},3]", f"(1, {form})", f"x={form};", f"|{form}|", f"共{form}元")
    yield from (f"-{form}", f"~{form}")
    if form[0].isdigit():
        yield from (f"USD{form}", f"No.{form}", f"answer...{form}", f"Area_{form}")
    if form[-1].isdigit():
        yield f"{form}kg"


def says(text: str, question: Question) -> bool:
    """By the forms of each number with no digit beside them, and each text letter by letter."""
    target = question.target
    texts = [*question.choices, *(target.spans if isinstance(target, SpansTarget) else ())]
    numbers = [_value(each) for each in texts if _NUMBER.fullmatch(each)]
    if isinstance(target, NumberTarget):
        numbers.append(abs(target.value))
    if any(re.search(rf"(?<![\d.]){re.escape(each)}(?!\d)", text) for each in texts if "/" in each):
        return True
    for number in numbers:
        forms = set(number_forms(number)) if number else {"0", "0.0", "zero"}
        if any(re.search(rf"(?<![\d.]){re.escape(form)}(?![\d]|[.,]\d)", text) for form in forms):
            return True
    wordy = [each for each in texts if any(map(str.isalpha, each)) and sum(map(str.isalnum, each)) > 1]
    return any(_spelled(each, text) for each in wordy)


def _value(text: str) -> float:
    above, _, below = text.partition("/")
    return float(above) / float(below or 1)


def _spelled(wanted: str, text: str) -> bool:
    letters = r"[\W_]*".join(re.escape(each) for each in wanted.casefold() if each.isalnum())
    return re.search(rf"(?<![^\W_]){letters}(?![^\W_])", text.casefold()) is not None
