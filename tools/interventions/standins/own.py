"""Results of the user's own functions and of MCP servers, swapped for those that they gave before."""

from itertools import groupby

from toolablate.tools.donors import TrialDonors, same_words
from toolablate.tools.interventions.standins.fitting import StandIn, Wanted, fitting, in_script, is_structured
from toolablate.tools.interventions.standins.withheld import Withheld
from toolablate.tools.misses import MISS_MESSAGES, told
from toolablate.tools.tool import ToolResult

NOT_TO_BE_HAD = told("this is not to be had")
"""What a model is told in place of an error that no other question had: an error without a reason."""

ALWAYS_SAID = "unchanged: the tool says the same under every other question"


def own_stand_in(result: ToolResult, tool: str, seed: str, donors: TrialDonors, withheld: Withheld) -> StandIn | None:
    """Of the same outcome and if it can be of the same build: JSON for JSON, a text in the same script, a word for a
    word. A line is shown whole or not at all. What the tool says under every question, as that something is saved, is
    nothing that it found, and stays."""
    failed = result.status != "ok"
    kept = [donor for donor in donors.kept(tool) if bool(donor.error) == failed]
    if failed:
        kept = [donor for donor in kept if donor.error == result.error] or kept
    if {same_words(donor.output) for donor in kept} == {same_words(result.output)}:
        return None if withheld.holds(result.output) else StandIn(result.output, ALWAYS_SAID, markers=result.markers)
    wanted = Wanted(result.output, seed, whole_lines=True)
    by_likeness = sorted(kept, key=lambda donor: _unlike(donor.output, result.output))
    for _, chosen in groupby(by_likeness, key=lambda donor: _unlike(donor.output, result.output)):
        alike = list(chosen)
        found = fitting(alike, wanted, withheld, strict=True) or fitting(alike, wanted, withheld)
        if found:
            return found
    return StandIn(NOT_TO_BE_HAD, "nobody") if failed else None


def is_ours(result: ToolResult) -> bool:
    """Whether it says no more than that the archive or a guard has nothing to give."""
    return any(result.output == told(message) for message in MISS_MESSAGES.values())


def _unlike(output: str, real: str) -> tuple[bool, bool, bool]:
    """In what it differs: in that it is JSON, in its script, in that it is one word; the first weighs most."""
    return (
        is_structured(output) != is_structured(real),
        not in_script(output, real),
        (len(output.split()) == 1) != (len(real.split()) == 1),
    )
