"""Results of the user's own functions and of MCP servers, swapped for those that they gave before."""

from toolablate.tools.donors import TrialDonors
from toolablate.tools.interventions.standins.fitting import StandIn, Wanted, fitting, is_structured
from toolablate.tools.interventions.standins.withheld import Withheld
from toolablate.tools.misses import MISS_MESSAGES, told
from toolablate.tools.tool import ToolResult

NOT_TO_BE_HAD = told("this is not to be had")
"""What a model is told in place of an error that no other question had: an error without a reason."""


def own_stand_in(result: ToolResult, tool: str, seed: str, donors: TrialDonors, withheld: Withheld) -> StandIn | None:
    """Of the same outcome and if it can be of the same build: JSON for JSON, a word for a word, a text in the same
    script. A line is shown whole or not at all."""
    failed = result.status != "ok"
    kept = [donor for donor in donors.kept(tool) if bool(donor.error) == failed]
    if failed:
        kept = [donor for donor in kept if donor.error == result.error] or kept
    wanted = Wanted(result.output, seed, whole_lines=True)
    alike = [donor for donor in kept if _build(donor.output) == _build(result.output)]
    for chosen, strict in ((alike, True), (kept, True), (alike, False), (kept, False)):
        if found := fitting(chosen, wanted, withheld, strict=strict):
            return found
    return StandIn(NOT_TO_BE_HAD, "nobody") if failed else None


def is_ours(result: ToolResult) -> bool:
    """Whether it says no more than that the archive or a guard has nothing to give."""
    return any(result.output == told(message) for message in MISS_MESSAGES.values())


def _build(output: str) -> str:
    if is_structured(output):
        return "structured"
    return "word" if len(output.split()) == 1 else "text"
