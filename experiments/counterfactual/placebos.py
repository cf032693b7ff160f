"""Whether placebos can be had for the tools of a trial that is taken up again."""

from toolablate.experiments.counterfactual.opening import ReplayWorld
from toolablate.experiments.counterfactual.taking_up import TakenUp
from toolablate.experiments.plans.plan import Plan
from toolablate.experiments.world.donors import donors_world, require_results
from toolablate.tools import expanded_uses, resource_of
from toolablate.traces.errors import InputError
from toolablate.traces.records import Condition, Rerun

_DONORS = (
    '[donors] with store = "pilot.sqlite", the store of an earlier run with these tools, in the plan, and the plan run'
    " so into this store, which does no trial anew"
)


def refuse_without_placebo(taken: TakenUp, world: ReplayWorld) -> None:
    """Raises InputError where a `Rerun` wants placebos of a tool that may not be asked, or of which nobody has results
    under other questions."""
    change = taken.resumption.change if taken.resumption else None
    if not isinstance(change, Rerun) or change.stand_in != "placebo" or not taken.calls:
        return
    opened = world.open_tools(taken.parent, taken.condition)
    for name in change.tools:
        if name not in opened.askable:
            raise InputError(
                f"rerun: a placebo is made from what {name!r} really gives, which may not be asked again",
                hint=f"--live allows it; a tool that is not built in wants donors as well: {_DONORS}",
                code="not_recorded",
            )
    try:
        require_results(taken.condition, change.tools, world.donors)
    except InputError as error:
        raise InputError(error.message, hint=_DONORS, code=error.code) from None
    _require_source(world.plan, taken.condition, change)


def _require_source(plan: Plan, condition: Condition, change: Rerun) -> None:
    """Of the built-in tools; others have their results from a store of donors alone."""
    uses = (use for use in expanded_uses(condition.tools) if resource_of(use) not in ("mcp", None))
    named = tuple(use for use in uses if use.name in change.tools or resource_of(use) == "search")
    donors_world(plan, [condition.model_copy(update={"tools": named})])
