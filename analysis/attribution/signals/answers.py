"""The forms that answers take, and when two of them are the same."""

import json
import re
import string
from dataclasses import dataclass
from typing import Literal

from toolablate.analysis.attribution.signals.records import Answered
from toolablate.traces.records import Question, with_scale

Kind = Literal["letters", "number", "text"]

NUMERAL = r"[-+]?\$?(?:\d{1,3}(?:,\d{3}){1,9}|\d{1,30})(?:\.\d{1,30})?(?:[eE][-+]?\d{1,3})?"
NUMBER = re.compile(rf"(?<![\w.,]){NUMERAL}(?![\w])")
AMOUNT = re.compile(rf"(?P<number>{NUMERAL})(?:\s?(?P<scale>thousand|million|billion))?")
_LISTED = re.compile(r"(?<![A-Za-z0-9])([A-Z])\s?[.):、．）：]")
_PLAIN = {code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)} | {0x3000: " ", 0x2212: "-"}
_LONGEST_TEXT = 300


@dataclass(frozen=True, slots=True)
class AnswerForm:
    """What a question asks for. `letters` are those of its options, whose texts `options` holds where they are known
    by letter."""

    kind: Kind
    letters: str = ""
    options: tuple[str, ...] = ()

    @classmethod
    def of(cls, question: Question) -> "AnswerForm":
        if question.target.kind == "choice":
            return cls("letters", _letters(question), question.choices)
        return cls("number" if question.target.kind == "number" else "text")


def plain(text: str) -> str:
    """In plain characters, without the marks of bold type and of code."""
    bare = text.replace("*", "").replace("`", "")
    return bare if bare.isascii() else bare.translate(_PLAIN)


def normal_number(numeral: str) -> str:
    """One text for one number: "1,200.50" and "$1200.5" are the same."""
    value = float(numeral.replace(",", "").replace("$", ""))
    return f"{value:.12g}"


def normal_text(text: str) -> str:
    """Lower-cased, blanks as one, without a full stop or marks at its ends; a numeral as a number, with its scale."""
    bare = " ".join(text.casefold().split()).strip(" .\"'“”。*")
    amount = AMOUNT.fullmatch(bare.removesuffix("%").strip())
    return with_scale(normal_number(amount["number"]), amount["scale"] or "") if amount else bare


def texts_of(said: str) -> Answered:
    """A JSON list item by item, or such an `answer` with its `scale`; anything else of no great length as one text."""
    said = said.strip()
    if said.startswith(("[", "{")) and len(said) <= 20_000:
        try:
            parsed = json.loads(said)
        except (ValueError, RecursionError):
            parsed = None
        scale = ""
        if isinstance(parsed, dict):
            scale = parsed["scale"] if parsed.get("scale") in ("thousand", "million", "billion") else ""
            parsed = given if isinstance(given := parsed.get("answer"), list) else [given]
        if isinstance(parsed, list) and all(isinstance(item, str | int | float) for item in parsed):
            return tuple(sorted(text for item in parsed if (text := normal_text(with_scale(str(item), scale)))))
    text = normal_text(said) if len(said) <= _LONGEST_TEXT else ""
    return (text,) if text else ()


def _letters(question: Question) -> str:
    """As many as there are options; those that a prompt lists one after the other where it holds them itself."""
    if question.choices:
        return string.ascii_uppercase[: len(question.choices)]
    count = 0
    for found in _LISTED.finditer(question.prompt):
        count += count < 26 and found[1] == string.ascii_uppercase[count]
    return string.ascii_uppercase[: count if count > 1 else 26]
