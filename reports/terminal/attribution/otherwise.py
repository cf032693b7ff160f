"""What came of a trial with one thing changed."""

from collections.abc import Iterator
from dataclasses import dataclass

from toolablate.analysis.attribution.evidence import Evidence
from toolablate.analysis.attribution.ledger import Chain, Scores, ToolKind
from toolablate.analysis.attribution.spoiling import faults, ran_out
from toolablate.reports.terminal.attribution.wording import chance

_RESULTS: dict[ToolKind, str] = {
    "search": "what it found",
    "code": "what its code gave",
    "other": "what its other tools gave",
}
AS_IT_WAS, NO_RESULT = "the result as it was", "with no result there"
REASONED_AGAIN, SWAPPED = "reasoned again after the same results", "swapped for another question's"
SHOWN_RESULTS = 3
LEAST_SHOWN = 0.005


@dataclass(frozen=True, slots=True)
class Without:
    """Scores of runs in which `changed` is the one difference."""

    changed: str
    scores: Scores


def otherwise(evidence: Evidence) -> Iterator[Without]:
    """Nothing of what was not run."""
    found = (
        *_at_the_turn(evidence),
        *_rollouts(evidence),
        Without("told to set aside what its tools gave", evidence.set_aside),
        *_repaired(evidence),
        Without("asked once more after its final reply", evidence.closing),
        *_arms(evidence.chain),
    )
    yield from (each for each in found if each.scores)


def worths(evidence: Evidence) -> Iterator[str]:
    """What each result is worth, those first that cost most."""
    ordered = sorted(evidence.worth.items(), key=lambda item: item[1].value)
    for event, worth in ordered[:SHOWN_RESULTS]:
        sign = "+" if worth.value >= 0 else "\u2212"
        error = "" if worth.standard_error is None else f" ({_spread(worth.standard_error)})"
        yield f"The result of event {event} is worth {sign}{chance(abs(worth.value))} of being right{error}."


def _spread(standard_error: float) -> str:
    """Runs that all end alike have no spread, which does not make them certain."""
    return (
        f"standard error {chance(standard_error)}" if standard_error >= LEAST_SHOWN else "runs of a kind all end alike"
    )


def _at_the_turn(evidence: Evidence) -> Iterator[Without]:
    turning = evidence.turning
    if turning is not None:
        yield Without(f"from event {turning.event} on again, {AS_IT_WAS}", turning.kept)
        yield Without(f"from event {turning.event} on, {NO_RESULT}", turning.without)


def _rollouts(evidence: Evidence) -> Iterator[Without]:
    chain, replay = evidence.chain, evidence.chain.replay
    if replay is None:
        return
    # What spoiled the trial from outside is mended in them as well, so that they differ from it in more than one thing.
    budget = ("twice the budget",) if ran_out(evidence.signals) else ()
    tools = ("tools that work",) if faults(evidence.signals) else ()
    mended = f", with {' and '.join((*budget, *tools))}" if budget or tools else ""
    for swapped, scores in sorted(replay.rollouts.items(), key=lambda item: (len(item[0]), sorted(item[0]))):
        if not swapped:
            again = REASONED_AGAIN if chain.tools else "asked at once for its answer"
            yield Without(f"{again}{mended}", scores)
            continue
        named = " and ".join(_RESULTS[kind] for kind in sorted(swapped))
        only = "" if swapped == chain.tools else "only "
        yield Without(f"{only}{named} {SWAPPED}{mended}", scores)


def _repaired(evidence: Evidence) -> Iterator[Without]:
    replay = evidence.chain.replay
    if replay is None:
        return
    # Of any other trial these levels are the ones before them, and nothing was run.
    if ran_out(evidence.signals):
        yield Without("with twice the budget", replay.extended)
    if faults(evidence.signals):
        yield Without("with tools that work", replay.repaired)


def _arms(chain: Chain) -> Iterator[Without]:
    """From the start, as the ladder has them."""
    yield Without("from the start, its tools only offered", chain.arms.offered)
    yield Without("from the start, calls give nothing", chain.arms.sham)
    yield Without("from the start, results of another question", chain.arms.placebo)
