"""What a program printed, swapped for what another one did that has nothing to do with the question."""

import re
from functools import lru_cache

from toolablate.tools.donors import Donor, TrialDonors, python_bank
from toolablate.tools.frame import Printed
from toolablate.tools.interventions.standins.fitting import StandIn, Wanted, fitting
from toolablate.tools.interventions.standins.withheld import Withheld
from toolablate.tools.python import TRUNCATED
from toolablate.tools.tool import ToolResult

BANK = "bank"

_SINGLE = ("integer", "decimal", "boolean", "word", "figure")
_NUMBER = re.compile(r"[-+]?(?:\d+(?:[.,]\d+)*|\.\d+)(?:[eE][-+]?\d+)?j?%?(?:/\d+)?")
_BETWEEN = re.compile(r"(?:[\s\[\](){},;:]|\b(?:array|np\.\w+)\b)+")
_COLUMNS = re.compile(r"\S(?: {2,}|\t+)\S")
_INTERRUPTED = re.compile(r"^-{20,}\nKeyboardInterrupt\s+Traceback \(most recent call last\)$", re.MULTILINE)
_STAND_IN_INTERRUPTED = (
    f"{'-' * 75}\nKeyboardInterrupt{' ' * 25}Traceback (most recent call last)\n\nKeyboardInterrupt: "
)


def code_stand_in(
    result: ToolResult, printed: Printed, tool: str, seed: str, donors: TrialDonors, withheld: Withheld
) -> StandIn | None:
    """Of the same kind and of similar length, else of another kind. What the sandbox says behind it stays; of a cell
    that was stopped, that it was interrupted, but not where. None where nothing is to be had."""
    if printed.note in ("", TRUNCATED):
        swapped = _swapped(printed.text, result.error, tool, seed, donors, withheld)
        return swapped and StandIn("\n".join(filter(None, (swapped.output, printed.note))), swapped.source)
    # A program may write such a heading itself: what stands behind it is left out all the same.
    interrupted = _INTERRUPTED.search(printed.text)
    before = printed.text[: interrupted.start() if interrupted else None].rstrip("\n")
    swapped = _swapped(before, "", tool, seed, donors, withheld) if before else StandIn("", "")
    said = (_STAND_IN_INTERRUPTED if interrupted else "", printed.note)
    return swapped and StandIn("\n".join(filter(None, (swapped.output, *said))), swapped.source)


def kind_of(output: str, error: str) -> str:
    """Of what kind an output is: an exception of this name, one integer or decimal, numbers, a table, a plot, text."""
    if error:
        return f"error {error}"
    text = output.strip()
    if text in ("True", "False"):
        return "boolean"
    if text.startswith("<Figure"):
        return "figure"
    if _NUMBER.fullmatch(text):
        return "integer" if text.lstrip("+-").isdigit() else "decimal"
    parts = [part for part in _BETWEEN.split(text[:20_000]) if part]
    if parts and all(map(_NUMBER.fullmatch, parts)):
        return "numbers"
    lines = text.splitlines()
    columned = sum(_COLUMNS.search(line) is not None for line in lines)
    if len(lines) > 2 and columned > 0.6 * len(lines):
        return "table"
    return "word" if text.isalpha() else "text"


def _swapped(output: str, error: str, tool: str, seed: str, donors: TrialDonors, withheld: Withheld) -> StandIn | None:
    # Of two truth values the one that is not real would tell the real one.
    kind = "word" if (real := kind_of(output, error)) == "boolean" else real
    wanted = Wanted(output, seed, keep_end=bool(error), composed=not error and kind not in _SINGLE)
    earlier, bank = donors.kept(tool), _bank()
    same = [donor for donor in earlier if kind_of(donor.output, donor.error) == kind]
    same_in_bank = [donor for donor in bank if kind_of(donor.output, donor.error) == kind]
    alike = [
        donor
        for donor in (*earlier, *bank)
        if bool(donor.error) == bool(error) and kind_of(donor.output, donor.error) != "boolean"
    ]
    return (
        fitting(same, wanted, withheld, strict=True)
        or fitting(same_in_bank, wanted, withheld, strict=True)
        or fitting([*same, *same_in_bank], wanted, withheld)
        or fitting(alike, wanted, withheld)
    )


@lru_cache(maxsize=1)
def _bank() -> tuple[Donor, ...]:
    return tuple(
        Donor(f"{BANK} {number}", example.output, example.error)
        for number, example in enumerate(python_bank(), start=1)
    )
