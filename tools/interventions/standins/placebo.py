"""The real tool is called, and what it gave is swapped for what it gave, or gives, under another question."""

from dataclasses import replace

from toolablate.tools.donors import TrialDonors
from toolablate.tools.interventions.changing import changed
from toolablate.tools.interventions.intervention import Call, Options, Proceed, Setting
from toolablate.tools.interventions.standins.browsing import Browsing
from toolablate.tools.interventions.standins.code import code_stand_in
from toolablate.tools.interventions.standins.echo import echoes
from toolablate.tools.interventions.standins.fitting import StandIn, Wanted, fitting
from toolablate.tools.interventions.standins.results import Listing, listing_stand_in
from toolablate.tools.interventions.standins.withheld import Withheld
from toolablate.tools.likeness import NO_OUTPUT
from toolablate.tools.misses import told
from toolablate.tools.tool import ToolResult
from toolablate.traces.errors import InternalError, ToolError

_NOT_TO_BE_HAD = told("this is not to be had")


class Placebo:
    """Time, cost, state and the kind of outcome are those of the real tool; of what it found nothing is left. Raises
    ToolError where no other result can be had: what is real is never shown for want of another."""

    def __init__(self, options: Options, setting: Setting) -> None:
        self._setting = setting
        self._opened: tuple[TrialDonors, Withheld, Browsing] | None = None

    async def apply(self, call: Call, proceed: Proceed) -> ToolResult:
        result = await proceed()
        donors, withheld, browsing = self._trial()
        ours = result.status == "invalid" or (result.status == "error" and call.likeness.form not in ("code", "plain"))
        if ours:
            return _our_words(result, call, withheld)
        seed = f"{self._setting.seed} placebo {call.number}"
        wanted = Wanted(len(result.output), seed)
        stand_in: StandIn | None
        match call.likeness.form:
            case "code":
                if result.output == NO_OUTPUT:
                    return result
                stand_in = code_stand_in(result, call.tool, seed, donors, withheld)
            case "results":
                if "\n" not in result.output:
                    return _our_words(result, call, withheld)
                stand_in = await listing_stand_in(result.output, call.arguments, call.tool, wanted, donors, withheld)
                browsing.leads_to(Listing.read(stand_in.output).urls if stand_in else ())
            case "page":
                stand_in = await browsing.opened(result.output, call.arguments, call.tool, wanted)
            case "matches":
                stand_in = await browsing.found(result.output, call.arguments)
            case "plain":
                stand_in = _of_own_tool(result, call.tool, wanted, donors, withheld)
        if stand_in is None:
            raise _no_donor(call.tool)
        return _swapped(result, stand_in)

    def _trial(self) -> tuple[TrialDonors, Withheld, Browsing]:
        """Taking a question apart can wait until its first call."""
        if self._opened is None:
            question, donors = self._setting.question, self._setting.donors
            if question is None or donors is None:
                raise InternalError("placebo: the trial's question and its donors are not known")
            withheld = Withheld(question)
            self._opened = donors, withheld, Browsing(donors, withheld)
        return self._opened


def _swapped(result: ToolResult, stand_in: StandIn) -> ToolResult:
    """Markers and artifacts are of what was real, and are no more shown."""
    return changed(
        replace(result, output=stand_in.output, markers=(), artifacts=()), "placebo", stand_in.source or "unchanged"
    )


def _our_words(result: ToolResult, call: Call, withheld: Withheld) -> ToolResult:
    """What says that there is nothing, or what is wrong with a call, stays, unless it says what is withheld and the
    call does not."""
    if not withheld.holds(result.output, echoes(call.arguments)):
        return result
    return changed(replace(result, output=_NOT_TO_BE_HAD), "placebo", "words of the call left out")


def _of_own_tool(
    result: ToolResult, tool: str, wanted: Wanted, donors: TrialDonors, withheld: Withheld
) -> StandIn | None:
    """Of the same outcome; an error that no other question had is one without a reason."""
    kept = [donor for donor in donors.kept(tool) if bool(donor.error) == bool(result.error)]
    alike = [donor for donor in kept if donor.error == result.error]
    found = fitting(alike, wanted, withheld) or fitting(kept, wanted, withheld)
    return found or (StandIn(_NOT_TO_BE_HAD, "nobody") if result.error else None)


def _no_donor(tool: str) -> ToolError:
    return ToolError(
        f"placebo: no result of {tool} under another question is free of this question's answer and choices",
        hint='name a store of an earlier run with more questions: [donors] store = "pilot.sqlite"',
        code="no_donor",
    )
