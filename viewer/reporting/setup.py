"""What the trials of a report stood on, and how they ended."""

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from toolablate.analysis.selection import Ending
from toolablate.reports.report.records import Setup
from toolablate.traces.records import Condition, Model, Run, Trial
from toolablate.traces.store import Observation, Store
from toolablate.viewer.keeping.trials import Trials

DIGEST_CHARS = 16
_UNTOLD = {
    *("version", "name", "price", "capabilities", "api_key_env", "concurrency", "timeout_seconds"),
    *("requests_per_minute", "tokens_per_minute", "script", "playbook", "scenes"),
}
"""What makes no other model of one, and paths of the machine that it ran on."""


@dataclass(frozen=True, slots=True)
class ArmEndings:
    """How the trials of one model under one condition ended, by their names in tables."""

    model: str
    condition: str
    endings: Mapping[Ending, int]


def endings_of(trials: Trials) -> Iterator[ArmEndings]:
    arms: dict[tuple[str, str], Counter[Ending]] = defaultdict(Counter)
    for seen in trials.observations:
        arms[seen.model, seen.condition][_ending(seen)] += 1
    for model in trials.models:
        for condition in trials.conditions:
            if (model, condition) in arms:
                yield ArmEndings(model, condition, dict(arms[model, condition]))


def _ending(seen: Observation) -> Ending:
    if seen.outcome == "failed":
        return "failed"
    if seen.outcome == "budget" and seen.verdict != "correct":
        return "budget"
    return seen.verdict or "unscored"


def setup_of(store: Store, trials: Trials) -> Setup:
    runs = [each for each in store.runs() if trials.run in (None, each.id)]
    called = [trial for each in runs for trial in store.trials_of(each.id)]
    return Setup(
        facts=tuple((name, value) for name, value in _facts(store, runs, called, trials) if value),
        models=tuple(
            sorted(_described(store.model(identity)) for identity in dict.fromkeys(each.model for each in called))
        ),
        conditions=tuple(
            (label, _described(each)[1]) for label, each in store.conditions_of(trials.observations).items()
        ),
    )


def _facts(store: Store, runs: Sequence[Run], called: Sequence[Trial], trials: Trials) -> Iterator[tuple[str, str]]:
    last = runs[-1]
    yield ("Run", last.id[:10]) if len(runs) == 1 else ("Runs", f"{len(runs):,}")
    yield "Started", runs[0].started_at.isoformat(sep=" ", timespec="seconds")
    yield "toolablate", ", ".join(dict.fromkeys(each.toolablate for each in runs))
    questions = sorted({each.question for each in called})
    digest = hashlib.sha256("\n".join(questions).encode()).hexdigest()[:DIGEST_CHARS]
    yield "Questions", f"{len(questions):,} (digest {digest})"
    yield "Trials ended", f"{len(trials.observations):,}"
    yield "Baseline", trials.baseline
    yield "Scored by", trials.scorer or ", ".join(last.scorers or store.scorers())
    for name, value in last.world.items():
        yield name.replace("_", " ").capitalize(), value


def _described(record: Model | Condition) -> tuple[str, str]:
    """Its name, and what of it is not as by default."""
    content = record.model_dump(mode="json", exclude_defaults=True, exclude=_UNTOLD)
    # A prompt is the longest of all, and may be cut.
    content["prompt"] = content.pop("prompt", None)
    said = (
        f"{name.replace('_', ' ')}: {_text(value)}" for name, value in content.items() if name not in _UNTOLD and value
    )
    return record.name, "; ".join(said) or "nothing but the question"


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
