"""Takes a trial up again at one of its events, with one thing changed."""

from os import PathLike

from toolablate.experiments.counterfactual.batch import Replayed, replay_many
from toolablate.experiments.counterfactual.wanted import Content, RefusedError, Wanted
from toolablate.experiments.running.watcher import Watcher
from toolablate.traces.records import Again, ReplayChange


def replay(
    store: str | PathLike[str],
    trial: str,
    event: int,
    change: ReplayChange | Content | None = None,
    *,
    repeats: int = 1,
    plan: str | PathLike[str] | None = None,
    max_cost: float | None = None,
    live: bool = False,
    watcher: Watcher | None = None,
) -> Replayed:
    """Goes on with a trial of a store from an event of its conversation, counted from 0, and stores what comes of it as
    trials of their own: nothing that is recorded is changed, and repeats that are there are not run again.

    Before the event everything is as it was recorded. Then `change` is made: by default none, so that what follows is
    drawn anew; `null`, `placebo`, `gold` or `adversarial` stand for a swap of the tool call's result. After it a call
    in the words of the record gets the recorded result, and what else is asked of the web comes from the plan's
    archive, or, where `live` allows it, from the web itself.

    `plan` names the plan where its paths have moved. `max_cost` is in US dollars. Raises ToolablateError; what can be
    refused is refused before anything is spent or written.
    """
    wanted = Wanted(trial, event, change or Again(), repeats)
    try:
        batch = replay_many(store, [wanted], plan=plan, max_cost=max_cost, live=live, watcher=watcher)
    except RefusedError as refused:
        raise refused.refusals[0].error from None
    return batch.replayed[0]
