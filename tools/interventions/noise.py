"""Results with errors strewn in by chance."""

import random
import re
import string
from dataclasses import replace
from typing import Literal

from pydantic import Field

from toolablate.tools.interventions.changing import changed
from toolablate.tools.interventions.intervention import Call, Proceed, Setting
from toolablate.tools.interventions.scope import OfCalls
from toolablate.tools.tool import ToolResult

_KINDS = {char: kind for kind in (string.ascii_lowercase, string.ascii_uppercase, string.digits) for char in kind}
_NUMBER = re.compile(r"(?<![A-Za-z0-9_.])([0-9]++(?:\.[0-9]++)?+)(?:[eE][-+]?[0-9]++)?+(?![A-Za-z0-9_])")


class NoiseOptions(OfCalls):
    """`rate` is the probability of an error in each part of a text, which are its `characters`, `numbers` or `lines`;
    the functions of these names say what an error is."""

    rate: float = Field(gt=0, le=1)
    of: Literal["characters", "numbers", "lines"]


class Noise:
    def __init__(self, options: NoiseOptions, setting: Setting) -> None:
        self._options = options

    async def apply(self, call: Call, proceed: Proceed) -> ToolResult:
        result = await proceed()
        noisy = {"characters": characters, "numbers": numbers, "lines": lines}[self._options.of]
        output, detail = noisy(result.output, self._options.rate, call.chance)
        if output == result.output:
            return result
        # A tool never shows nothing; what it says where there is nothing are its own words.
        return changed(replace(result, output=output or call.likeness.nothing(call.arguments)), "noise", detail)


def characters(text: str, rate: float, chance: random.Random) -> tuple[str, str]:
    """Letters and digits become others of their kind: a small letter of ASCII, a capital or a digit another such, any
    other letter another one of the text that is not ASCII, if there is one. Everything else stays."""
    foreign = "".join(sorted({char for char in text if _foreign(char)}))
    shown: list[str] = []
    many = of = 0
    for char in text:
        kind = _KINDS.get(char) or (foreign if _foreign(char) else "")
        of += bool(kind)
        hit = bool(kind) and chance.random() < rate and len(kind) > 1
        many += hit
        shown.append(_another(char, kind, chance) if hit else char)
    return "".join(shown), f"changed {many:,} of {of:,} letters and digits"


def numbers(text: str, rate: float, chance: random.Random) -> tuple[str, str]:
    """Decimal numbers that are no part of a word have one of their digits replaced by another: not a leading zero, nor
    one of an exponent, and the first never by a zero, so that length, sign and order of magnitude stay. Zero itself
    becomes another number of as many digits."""
    many = of = 0

    def read(number: re.Match[str]) -> str:
        nonlocal many, of
        of += 1
        if chance.random() >= rate:
            return number[0]
        many += 1
        return _misread(number[1], chance) + number[0][len(number[1]) :]

    return _NUMBER.sub(read, text), f"changed {many:,} of {of:,} numbers" if of else ""


def lines(text: str, rate: float, chance: random.Random) -> tuple[str, str]:
    """Lines that are not blank are left out."""
    kept: list[str] = []
    many = of = 0
    for line in text.split("\n"):
        hit = bool(line.strip()) and chance.random() < rate
        of += bool(line.strip())
        many += hit
        if not hit:
            kept.append(line)
    shown = "\n".join(kept) if any(map(str.strip, kept)) else ""
    return shown, f"left out {many:,} of {of:,} lines"


def _foreign(char: str) -> bool:
    return char.isalnum() and not char.isascii()


def _another(char: str, kind: str, chance: random.Random) -> str:
    return chance.choice(kind.replace(char, ""))


def _misread(number: str, chance: random.Random) -> str:
    digits = [place for place, char in enumerate(number) if char != "."]
    first = next((place for place in digits if number[place] != "0"), digits[-1])
    place = chance.choice([place for place in digits if place >= first])
    kind = string.digits[1:] if place == first else string.digits
    return number[:place] + _another(number[place], kind, chance) + number[place + 1 :]
