"""Writes the logs that `inspect view` opens, one for each model and condition."""

import json
import re
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from toolablate.analysis.pairing import mean
from toolablate.formats.exporting import Exported
from toolablate.traces.errors import InputError
from toolablate.traces.installing import to_install
from toolablate.traces.records import Condition, Model, digest_json

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog, EvalResults, EvalSample, EvalScore
    from inspect_ai.model import ModelUsage

KEY = "toolablate"
"""Of the metadata of a log, a sample, an event, a message or a score: what an import reads again."""

COUNTED = "score"
"""The one scorer of a log where those of a run are several, each for its kind of question: the score that counts."""


# One log for each model and condition.


SUFFIX = ".eval"
_SLUG = re.compile(r"[^A-Za-z0-9.]+")
_SLUG_CHARS = 60


@dataclass(slots=True)
class _ExportedArm:
    """One model under one condition, its samples one a line in a file of its own until all are there."""

    model: Model
    condition: Condition
    called: tuple[str, str]
    file: BinaryIO
    trials: list[str] = field(default_factory=list)
    questions: dict[str, None] = field(default_factory=dict)
    began: list[str] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)
    epochs: int = 1
    failed: int = 0
    values: dict[str, dict[str, list[float]]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(list)))
    usage: dict[str, "ModelUsage"] = field(default_factory=dict)


def is_export(path: Path) -> bool:
    """Whether `write_logs` wrote this file: Inspect's own logs end alike, and are nothing that may be replaced."""
    from inspect_ai.log import read_eval_log

    if path.suffix != SUFFIX or not path.is_file():
        return False
    try:
        header = read_eval_log(str(path), header_only=True)
    except Exception:  # noqa: BLE001 - a file of any content may make Inspect raise anything
        return False
    return KEY in (header.eval.metadata or {})


def require_inspect() -> None:
    """Raises InputError where Inspect is not installed."""
    try:
        import inspect_ai  # noqa: F401
    except ImportError:
        raise InputError("inspect_ai is not installed", hint=to_install("inspect"), code="no_inspect") from None


def write_logs(
    trials: Iterable[Exported],
    folder: Path,
    *,
    name: str,
    baseline: str = "",
    scorers: Sequence[str] = (),
    models: Sequence[str] = (),
    conditions: Sequence[str] = (),
) -> list[Path]:
    """Writes a log of Inspect for each model and condition into a folder that is there.

    `name` is the logs' task, `scorers` those whose scores count: theirs is the first score of a log. `models` and
    `conditions` are identities, in the order in which tables show them. What an import reads again is in the logs'
    metadata: the questions, the condition and its place, the scores' verdicts. Holds one sample at a time; the samples
    wait in files beside the logs until an arm is whole.
    """
    with ExitStack() as stack:
        waiting = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=folder)))
        arms: dict[tuple[str, str], _ExportedArm] = {}
        for exported in trials:
            key = exported.trace.trial.model, exported.trace.trial.condition
            if key not in arms:
                file = stack.enter_context((waiting / str(len(arms))).open("w+b"))
                called = exported.called.model, exported.called.condition
                arms[key] = _ExportedArm(exported.model, exported.condition, called, file)
            _enter(arms[key], exported, scorers)
        kept = {"baseline": baseline, "scorers": list(scorers)}
        return [
            _write(arm, folder, kept | {"place": [_place(model, models), _place(condition, conditions)]}, name)
            for (model, condition), arm in arms.items()
        ]


def _place(identity: str, among: Sequence[str]) -> int:
    """After all others where it is not among them."""
    return among.index(identity) if identity in among else len(among)


def _enter(arm: _ExportedArm, exported: Exported, scorers: Sequence[str]) -> None:
    from inspect_ai.log import condense_sample

    from toolablate.formats.inspect.export_samples import sample_of, scores_told

    scores = scores_told(exported, scorers)
    sample = sample_of(exported, scores)
    arm.trials.append(exported.trial)
    arm.questions[exported.called.question] = None
    arm.began.append(str(sample.started_at))
    arm.ended.append(str(sample.completed_at))
    arm.epochs = max(arm.epochs, sample.epoch)
    arm.failed += sample.error is not None
    for scorer, score in scores.items():
        if score.value is not None and exported.trace.outcome != "failed":
            arm.values[scorer][exported.called.question].append(score.value)
    for model, usage in sample.model_usage.items():
        arm.usage[model] = arm.usage[model] + usage if model in arm.usage else usage
    arm.file.write(condense_sample(sample).model_dump_json(exclude_none=True).encode() + b"\n")


class _Samples(list[Any]):
    """Read from a file each time that they are gone through, since all of an arm may be more than fits."""

    def __init__(self, file: BinaryIO, count: int) -> None:
        super().__init__()
        self._file = file
        self._count = count

    def __len__(self) -> int:
        return self._count

    def __bool__(self) -> bool:
        return self._count > 0

    def __iter__(self) -> "Iterator[EvalSample]":
        from inspect_ai.log import EvalSample

        self._file.seek(0)
        for line in self._file:
            yield EvalSample.model_validate(json.loads(line))


def _write(arm: _ExportedArm, folder: Path, kept: dict[str, Any], name: str) -> Path:
    from inspect_ai.log import write_eval_log

    log = _log(arm, kept, name)
    log.samples = _Samples(arm.file, len(arm.trials))
    path = folder / _file_name(arm, log)
    write_eval_log(log, str(path.resolve()), format="eval")
    return path


def _log(arm: _ExportedArm, kept: dict[str, Any], name: str) -> "EvalLog":
    from inspect_ai.log import EvalConfig, EvalDataset, EvalLog, EvalPlan, EvalPlanStep, EvalSpec, EvalStats

    condition = arm.condition.model_dump(mode="json", exclude_defaults=True)
    model, called = arm.called
    identity = digest_json([arm.model.identity(), arm.condition.identity(), sorted(arm.trials)])
    began, ended = min(arm.began), max(arm.ended)
    simulated = arm.model.provider == "simulated"
    spec = EvalSpec(
        eval_id=identity,
        run_id=identity,
        task_id=identity,
        created=began,
        task=f"{name}/{called}",
        solver=called,
        dataset=EvalDataset(name=name, samples=len(arm.questions), sample_ids=list(arm.questions)),
        model=f"simulated/{model}" if simulated else model,
        config=EvalConfig(epochs=arm.epochs),
        packages={"toolablate": version("toolablate")},
        tags=["simulated"] if simulated else None,
        metadata={"condition": condition, KEY: kept | {"condition": condition, "model": _named(arm.model)}},
    )
    return EvalLog(
        status="success",
        eval=spec,
        plan=EvalPlan(name=called, steps=[EvalPlanStep(solver=called, params=condition)]),
        results=_results(arm, kept["scorers"]),
        stats=EvalStats(started_at=began, completed_at=ended, model_usage=arm.usage),
    )


def _named(model: Model) -> dict[str, Any]:
    """Of a model that was asked its name alone goes out; of a simulated one what it was made of, without paths."""
    if model.provider == "simulated":
        return model.model_dump(mode="json", exclude_defaults=True, exclude={"playbook", "scenarios"}) | {
            "provider": "simulated"
        }
    return {"name": model.name, "provider": model.provider}


def _results(arm: _ExportedArm, scorers: Sequence[str]) -> "EvalResults":
    from inspect_ai.log import EvalResults

    scored = len(arm.trials) - arm.failed
    ordered = sorted(arm.values, key=lambda scorer: (scorer != COUNTED, scorer not in scorers))
    return EvalResults(
        total_samples=len(arm.trials),
        completed_samples=scored,
        scores=[_result(scorer, list(arm.values[scorer].values()), scored) for scorer in ordered],
    )


def _result(scorer: str, of_questions: Sequence[Sequence[float]], scored: int) -> "EvalScore":
    """The accuracy is that of `compare`: the mean over questions of the mean of each one's trials."""
    from inspect_ai.log import EvalMetric, EvalScore

    count = sum(map(len, of_questions))
    return EvalScore(
        name=scorer,
        scorer=scorer,
        scored_samples=count,
        unscored_samples=scored - count,
        metrics={"accuracy": EvalMetric(name="accuracy", value=mean([mean(values) for values in of_questions]))},
    )


def _file_name(arm: _ExportedArm, log: "EvalLog") -> str:
    began = re.sub(r"[:+.]", "-", str(log.eval.created)[:19])
    model, condition = (_SLUG.sub("-", part).strip("-.")[:_SLUG_CHARS] or "unnamed" for part in arm.called)
    return f"{began}_{model}-{condition}_{log.eval.eval_id[:12]}{SUFFIX}"
