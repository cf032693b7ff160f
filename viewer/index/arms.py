"""How far each arm is and how it did."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from toolablate.analysis.pairing import mean
from toolablate.traces.store import Observation, Outline, TrialCounts
from toolablate.viewer.index.figures import Place, Standing
from toolablate.viewer.index.records import ArmCounts, ending_of

SHORT_ID = 8


def arm_places(outlines: Mapping[str, Outline], observations: Iterable[Observation]) -> dict[tuple[str, str], Place]:
    """What the models and conditions of planned trials are called, by their ids: as observations call them, and where
    no trial of theirs has ended by a name that is not taken."""
    models: dict[str, str] = {}
    conditions: dict[str, str] = {}
    for seen in observations:
        outline = outlines[seen.trial]
        models[outline.model], conditions[outline.condition] = seen.model, seen.condition
    named = {
        (outline.model, outline.condition): (outline.model_name, outline.condition_name)
        for outline in outlines.values()
    }
    for (model, condition), (model_name, condition_name) in named.items():
        if model not in models:
            models[model] = _free(model_name, model, models)
        if condition not in conditions:
            conditions[condition] = _free(condition_name, condition, conditions)
    return {(model, condition): (models[model], conditions[condition]) for model, condition in named}


def arm_rows(
    counts: Iterable[TrialCounts],
    observations: Iterable[Observation],
    planned: Mapping[Place, int],
    standings: Mapping[str, Mapping[Place, Standing]],
) -> list[ArmCounts]:
    """By the store's counts, the ended trials, how many are planned of each arm, and how each question's arms stand."""
    running = {(row.model, row.condition): row.running for row in counts}
    ended: dict[Place, list[Observation]] = defaultdict(list)
    for seen in observations:
        ended[seen.model, seen.condition].append(seen)
    scores: dict[Place, list[float]] = defaultdict(list)
    for arms in standings.values():
        for place, arm in arms.items():
            if arm.score is not None:
                scores[place].append(arm.score)
    return [
        _arm(place, number, running.get(place, 0), ended[place], scores[place]) for place, number in planned.items()
    ]


def _arm(place: Place, planned: int, running: int, ended: Sequence[Observation], scores: Sequence[float]) -> ArmCounts:
    tokens = [seen.tokens for seen in ended if seen.tokens is not None]
    costs = [seen.cost_usd for seen in ended if seen.cost_usd is not None]
    return ArmCounts(
        model=place[0],
        condition=place[1],
        planned=planned,
        ended=len(ended),
        running=running,
        questions=len({seen.question for seen in ended}),
        score=mean(scores) if scores else None,
        endings=Counter(ending_of(seen.outcome, seen.verdict) for seen in ended),
        tokens=sum(tokens) if tokens else None,
        cost_usd=sum(costs) if costs else None,
    )


def _free(name: str, identity: str, taken: Mapping[str, str]) -> str:
    return f"{name}@{identity[:SHORT_ID]}" if name in taken.values() else name
