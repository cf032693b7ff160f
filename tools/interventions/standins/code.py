"""What a program printed, swapped for what another one did that has nothing to do with the question."""

import re
from functools import lru_cache

from toolablate.tools.donors import Donor, TrialDonors, python_bank
from toolablate.tools.interventions.standins.fitting import StandIn, Wanted, fitting
from toolablate.tools.interventions.standins.withheld import Withheld
from toolablate.tools.tool import ToolResult

BANK = "bank"

_SINGLE = ("integer", "decimal", "boolean", "figure")
_NUMBER = re.compile(r"[-+]?(?:\d+(?:[.,]\d+)*|\.\d+)(?:[eE][-+]?\d+)?j?%?(?:/\d+)?")
_BETWEEN = re.compile(r"(?:[\s\[\](){},;:]|\b(?:array|np\.\w+)\b)+")
_COLUMNS = re.compile(r"\S(?: {2,}|\t+)\S")
_NOTE = re.compile(r"^\[(?:interrupted after|the kernel died|output truncated)", re.MULTILINE)
_STOPPED = ("timeout", "died")


def code_stand_in(result: ToolResult, tool: str, seed: str, donors: TrialDonors, withheld: Withheld) -> StandIn | None:
    """Of the same kind and of similar length, else of another kind. What the sandbox says of a cell that it stopped
    stays; where the cell had printed something before, that is swapped. None where nothing is to be had."""
    if not result.error.startswith(_STOPPED):
        return _swapped(result.output, result.error, tool, seed, donors, withheld)
    note = _NOTE.search(result.output)
    printed = result.output[: note.start() if note else None].rstrip("\n")
    if not printed:
        return StandIn(result.output, "")
    swapped = _swapped(printed, "", tool, seed, donors, withheld)
    if swapped is None or note is None:
        return swapped
    return StandIn(f"{swapped.output}\n{result.output[note.start() :]}", swapped.source)


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
    return "table" if len(lines) > 2 and columned > 0.6 * len(lines) else "text"


def _swapped(output: str, error: str, tool: str, seed: str, donors: TrialDonors, withheld: Withheld) -> StandIn | None:
    kind = kind_of(output, error)
    wanted = Wanted(len(output), seed, keep_end=bool(error), composed=not error and kind not in _SINGLE)
    earlier, bank = donors.kept(tool), _bank()
    same = [donor for donor in earlier if kind_of(donor.output, donor.error) == kind]
    same_in_bank = [donor for donor in bank if kind_of(donor.output, donor.error) == kind]
    alike = [donor for donor in (*earlier, *bank) if bool(donor.error) == bool(error)]
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
