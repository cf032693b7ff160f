from dataclasses import dataclass

from toolablate.traces.records import Outcome, Resumption, Verdict


@dataclass(frozen=True, slots=True)
class Counterfactual:
    """What came of one trial that goes on from an event of another one.

    `trial` is its id; `resumption` names its parent, the event and the change, and is shared by its repeats. `outcome`
    is None where no attempt at it has ended. `value` is in [0, 1], or None where there is no score, as where it failed;
    `answered` is the answer as the scorer read it.
    """

    trial: str
    resumption: Resumption
    outcome: Outcome | None
    value: float | None
    verdict: Verdict | None
    answered: tuple[str, ...] = ()
