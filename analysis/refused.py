"""Calls of tools that a condition does not let a model call, and that its turns were spent on."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from toolablate.traces.records import Refusal
from toolablate.traces.store import Observation


@dataclass(frozen=True, slots=True)
class RefusedCalls:
    """Of one model under one condition, `called_in` of whose `trials` (those that have ended and did not fail) have
    such calls. `why` is `unknown_tool`, where the condition does not offer the tool, or `not_allowed`, where it offers
    the tool and bars all calls. `tools` has the number of calls by the name that the model gave, the most first, and
    `calls` is their sum."""

    model: str
    condition: str
    simulated: bool
    why: Refusal
    trials: int
    called_in: int
    calls: int
    tools: dict[str, int]


def refused_calls(observations: Iterable[Observation], order: Sequence[str] = ()) -> list[RefusedCalls]:
    """One row per model, condition and reason with such calls, by model, then in the given order of conditions."""
    arms: dict[tuple[str, str], list[Observation]] = defaultdict(list)
    for seen in observations:
        if seen.outcome != "failed":
            arms[seen.model, seen.condition].append(seen)
    places = {name: place for place, name in reversed(list(enumerate(order)))}
    return [
        row
        for model, condition in sorted(arms, key=lambda key: (key[0], places.get(key[1], len(places)), key[1]))
        for why in ("unknown_tool", "not_allowed")
        if (row := _refused(model, condition, why, arms[model, condition])).calls
    ]


def _refused(model: str, condition: str, why: Refusal, trials: Sequence[Observation]) -> RefusedCalls:
    tools: Counter[str] = Counter()
    for seen in trials:
        for reason, tool, count in seen.refused:
            if reason == why:
                tools[tool] += count
    return RefusedCalls(
        model=model,
        condition=condition,
        simulated=any(seen.simulated for seen in trials),
        why=why,
        trials=len(trials),
        called_in=sum(any(reason == why for reason, *_ in seen.refused) for seen in trials),
        calls=tools.total(),
        tools=dict(sorted(tools.items(), key=lambda each: (-each[1], each[0]))),
    )
