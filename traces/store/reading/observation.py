from dataclasses import dataclass

from toolablate.traces.records import Limit, MissKind, Outcome, Refusal, Verdict


@dataclass(frozen=True, slots=True)
class Observation:
    """One trial as a comparison sees it.

    `trial` is its id. `question`, `model` and `condition` are names as a table shows them. Where two records of a store
    share a name (a condition whose prompt was edited), each carries the beginning of its id: `cot@1a2b3c4d`.
    `value` is in [0, 1], or None where there is no score; `verdict` is None where no scorer has looked at it. `tokens`
    and `cost_usd` are None where they are unknown. `cluster` is empty for a question that stands alone; `domain`,
    `difficulty` and `language` are empty where the question does not say; `kind` is how it is answered: `choice`,
    `several` (of the choices), `number`, `spans` or `reference`. `limit` is what ran out where the outcome is `budget`.
    `lookups` counts what was asked of the web or its archive, `misses` those that were not there, by kind; `leaks`
    counts results that held the question's answer, `withheld` those of which the plan's policy kept something from the
    model. `refused` has how often each tool was called that could not be called, with why and its name.
    """

    question: str
    model: str
    condition: str
    repeat: int = 0
    outcome: Outcome = "answered"
    value: float | None = None
    verdict: Verdict | None = None
    cluster: str = ""
    domain: str = ""
    difficulty: str = ""
    language: str = ""
    kind: str = ""
    tokens: int | None = None
    cost_usd: float | None = None
    simulated: bool = False
    trial: str = ""
    limit: Limit | None = None
    lookups: int = 0
    misses: tuple[tuple[MissKind, int], ...] = ()
    leaks: int = 0
    withheld: int = 0
    refused: tuple[tuple[Refusal, str, int], ...] = ()
