"""What came of counterfactuals, beside what had come of the trial that they go on from."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.text import Text

from toolablate.experiments.replay.batch import Replayed
from toolablate.reports.numbers import counted
from toolablate.reports.terminal.problems import failures_view
from toolablate.traces.records import Outcome, Rebuilt, ToolCall, Trace, Verdict
from toolablate.traces.store import Store
from toolablate.traces.terminal_text import ID_CHARS, one_line


@dataclass(frozen=True, slots=True)
class TrialOutcome:
    """`verdict` and `extracted` are those of its first score, None and empty where there is none. `mismatches` counts
    the recorded calls that gave something else when they were made again, `misses` what was asked for in vain."""

    trial: str
    repeat: int
    outcome: Outcome
    verdict: Verdict | None
    extracted: tuple[str, ...]
    mismatches: int
    misses: int


def outcome_of(store: Store, trial: str) -> TrialOutcome:
    """Raises InputError where it has not ended."""
    trace = store.trace(trial)
    score = next(iter(store.scores(trial)), None)
    return TrialOutcome(
        trial=trial,
        repeat=trace.trial.repeat,
        outcome=trace.outcome,
        verdict=score.verdict if score else None,
        extracted=score.extracted if score else (),
        mismatches=_mismatches(trace),
        misses=sum(
            isinstance(each, ToolCall) and each.lookup is not None and bool(each.lookup.miss) for each in trace.events
        ),
    )


def replayed_json(replayed: Replayed, store: Path) -> str:
    with Store(store) as opened:
        ended = [outcome_of(opened, trial) for trial in replayed.trials if _has_ended(opened, trial)]
        parent = outcome_of(opened, replayed.parent)
    resumed = replayed.condition.resumed
    told = {
        "parent": asdict(parent),
        "condition": replayed.condition.name,
        "resumed": json.loads(resumed.to_json()) if resumed else None,
        "estimated_usd": replayed.estimated_usd,
        "missing": replayed.launched.missing,
        "trials": [asdict(each) for each in ended],
    }
    return json.dumps(told, ensure_ascii=False, indent=2)


def print_replayed(replayed: Replayed, store: Path, console: Console) -> None:
    with Store(store) as opened:
        parent = outcome_of(opened, replayed.parent)
        console.print(Text(f"recorded  {_line(parent)}"), soft_wrap=True)
        for trial in replayed.trials:
            if _has_ended(opened, trial):
                console.print(Text(f"replayed  {_line(outcome_of(opened, trial))}"), soft_wrap=True)
    launched = replayed.launched
    if launched.failures:
        console.print(failures_view(launched.failures))
    if launched.missing:
        console.print(f"{counted(launched.missing, 'replay')} missing; the same command tries again.", style="yellow")
    console.print(Text(f"Read one: toolablate show {store} TRIAL"), soft_wrap=True)


def _line(each: TrialOutcome) -> str:
    parts = [each.trial[:ID_CHARS], each.outcome, each.verdict or "not scored"]
    if each.extracted:
        parts.append(f"answered {', '.join(map(one_line, each.extracted))}")
    if each.mismatches:
        parts.append(f"{counted(each.mismatches, 'recorded call')} gave something else when made again")
    if each.misses:
        parts.append(f"asked for {counted(each.misses, 'thing')} that was not recorded")
    return "  ".join(parts)


def _has_ended(store: Store, trial: str) -> bool:
    return bool(store.attempts(trial))


def _mismatches(trace: Trace) -> int:
    return sum(len(event.mismatches) for event in trace.events if isinstance(event, Rebuilt))
