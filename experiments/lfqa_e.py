"""`lfqa-e run`: judges and reward models on LFQA-E's comparisons, by a plan of its own."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from toolablate.agents import ModelSource
from toolablate.agents.endpoint.rewards import RewardApi, RewardEndpoint
from toolablate.analysis.preference import CheckedVerdict
from toolablate.benchmarks.judging.pair_metrics import (
    ASKS_FOR,
    PointwiseJudge,
    RewardModel,
    TrainedFormat,
    TrainedJudge,
)
from toolablate.benchmarks.judging.pairs import (
    ComparedTexts,
    PairJudge,
    PairMode,
    better,
    by_text,
    of_both_orders,
    stated_preference,
)
from toolablate.benchmarks.lfqa_e.comparisons import VERDICTS, Comparison, drawn, load_comparisons
from toolablate.benchmarks.lfqa_e.metrics import FAILED, UNREAD, MetricVerdicts, by_difference, with_fitted_tau
from toolablate.experiments.diagnosing import refuse_too_dear
from toolablate.experiments.pair_judging import (
    PairMetric,
    PairReading,
    PairWork,
    VerdictFile,
    estimated_cost,
    judge_pairs,
    lacking,
)
from toolablate.experiments.plans.plan import RunnerSection
from toolablate.experiments.plans.sections import (
    JudgeModel,
    RepliesSection,
    Section,
    valid_plan,
)
from toolablate.experiments.plans.written import plan_content, plan_text
from toolablate.experiments.running.progress import RunProgress
from toolablate.reports.numbers import counted
from toolablate.traces.errors import InputError
from toolablate.traces.records import Condition, Model, OpenAIModel, PairVerdict
from toolablate.traces.validation import why_unreadable


class _Judged(Section):
    judge: str
    swap: bool = True


class PairsMetric(_Judged):
    """`swap`: both orders are asked, and a verdict that turns is a tie."""

    kind: Literal["pairs"]
    mode: PairMode = "reasons"


class PointsMetric(_Judged):
    kind: Literal["points"]
    swap: Literal[False] = False


class TrainedMetric(_Judged):
    """`template`: a file with the prompt that the judge was trained with, with {question}, {a}, {b} and {reference};
    `system`: a file with its system message."""

    kind: Literal["trained"]
    form: TrainedFormat
    template: str = Field(min_length=1)
    system: str = ""


class RewardMetric(Section):
    """`endpoint` without the path: that is `api`."""

    kind: Literal["reward"]
    name: str = Field(min_length=1)
    endpoint: str
    api: RewardApi = "pooling"
    model: str = ""
    api_key_env: str = ""
    tau: float = Field(default=0.0, ge=0)
    concurrency: int = Field(default=8, gt=0)


Metric = Annotated[PairsMetric | PointsMetric | TrainedMetric | RewardMetric, Field(discriminator="kind")]


class LfqaPlan(Section):
    """A validated plan; paths in it are absolute.

    `comparisons` is a file of LFQA-E, `verdicts` what keeps the verdicts. `limit` draws so many comparisons at random,
    by `seed`. `context` "omit" leaves a question's material out, as the published script does. `asks` is how often a
    judge is asked at most until its reply can be read.
    """

    comparisons: str = Field(min_length=1)
    verdicts: str = Field(min_length=1)
    limit: int | None = Field(default=None, gt=0)
    seed: int = 0
    context: Literal["show", "omit"] = "show"
    asks: int = Field(default=3, gt=0)
    metrics: tuple[Metric, ...] = Field(min_length=1)
    judges: tuple[JudgeModel, ...] = ()
    replies: RepliesSection = RepliesSection()
    runner: RunnerSection = RunnerSection()

    @property
    def models(self) -> tuple[Model, ...]:
        return ()

    @model_validator(mode="after")
    def _judges_are_there(self) -> Self:
        names = [judge.name for judge in self.judges]
        rewards = [metric.name for metric in self.metrics if isinstance(metric, RewardMetric)]
        twice = sorted({name for name in (*names, *rewards) if (*names, *rewards).count(name) > 1})
        if twice:
            raise ValueError(f"judges: the name {twice[0]!r} is used twice; names must be distinct")
        for metric in self.metrics:
            if not isinstance(metric, RewardMetric) and metric.judge not in names:
                raise ValueError(f"metrics: there is no judge {metric.judge!r}; there are {', '.join(names) or 'none'}")
        return self


def load_lfqa_plan(path: Path) -> LfqaPlan:
    """Reads a plan; relative paths in it are relative to its folder. Raises InputError that names the key, what was
    found and what is allowed."""
    content = plan_content(plan_text(path), path)
    content.setdefault("verdicts", f"runs/{path.stem}.verdicts.jsonl")
    plan = valid_plan(LfqaPlan, content, path)
    folder = path.parent.resolve()
    metrics = tuple(
        each.model_copy(
            update={
                "template": str(folder / each.template),
                "system": str(folder / each.system) if each.system else "",
            }
        )
        if isinstance(each, TrainedMetric)
        else each
        for each in plan.metrics
    )
    replies = plan.replies.model_copy(update={"file": str(folder / plan.replies.file)})
    anchored = {"comparisons": str(folder / plan.comparisons), "verdicts": str(folder / plan.verdicts)}
    return plan.model_copy(update={**anchored, "metrics": metrics, "replies": replies})


@dataclass(frozen=True, slots=True)
class LfqaRun:
    """`judged` are the verdicts of all metrics on `comparisons`; `missing` counts those that could not be had."""

    comparisons: tuple[Comparison, ...]
    judged: tuple[MetricVerdicts, ...]
    work: PairWork
    missing: int


def run_lfqa(plan: LfqaPlan, *, max_cost: float | None = None, progress: RunProgress | None = None) -> LfqaRun:
    """Asks for the verdicts that the plan's file does not hold yet. Raises ToolablateError; what can be refused is
    refused before anything is spent."""
    progress = progress or RunProgress()
    comparisons = drawn(load_comparisons(plan.comparisons), plan.limit, plan.seed)
    metrics = [_metric(plan, each) for each in plan.metrics]
    if not all(each.reference for each in comparisons):
        _refuse_those_that_need_references([metric for metric, _ in metrics])
    readings = {metric.name: [_readings(plan, metric, swap, each) for each in comparisons] for metric, swap in metrics}
    if len(readings) < len(metrics):
        raise InputError("metrics: two are the same", hint="leave one out", code="bad_plan")
    rewards: list[tuple[OpenAIModel, Callable[[], ModelSource]]] = [
        (model := _reward_model(each), partial(RewardEndpoint, model, each.api))
        for each in plan.metrics
        if isinstance(each, RewardMetric)
    ]
    taus = {
        metric.name: each.tau
        for each, (metric, _) in zip(plan.metrics, metrics, strict=True)
        if isinstance(each, RewardMetric)
    }
    everything = [reading for of in readings.values() for pair in of for reading in pair]
    with VerdictFile(Path(plan.verdicts), in_use='name another file in the plan: verdicts = "FILE"') as kept:
        wanted = lacking(everything, kept.found)
        judges = [each for each in wanted if not isinstance(each.metric, RewardModel)]
        cost = estimated_cost(plan, judges)
        if wanted:
            dear = "at unknown cost: a judge has no price" if cost is None else f"for about ${cost:.4g}"
            progress.tell(f"{counted(len(wanted), 'verdict')} to be asked for, {dear}")
        refuse_too_dear(cost, max_cost)
        work = judge_pairs(plan, wanted, kept, progress, max_cost, others=rewards)
        judged = [_verdicts(name, of, kept.found, taus.get(name, 0.0)) for name, of in readings.items()]
    missing = sum(int((each.codes == FAILED).sum()) for each in judged)
    fitted = [with_fitted_tau(each, comparisons) for each in judged if each.is_scored]
    return LfqaRun(comparisons, (*judged, *fitted), work, missing)


def _metric(plan: LfqaPlan, metric: Metric) -> tuple[PairMetric, bool]:
    """And whether both orders are asked."""
    if isinstance(metric, RewardMetric):
        return RewardModel(_reward_model(metric), "" if metric.api == "pooling" else metric.api), False
    judge = next(each for each in plan.judges if each.name == metric.judge)
    if isinstance(metric, PairsMetric):
        return PairJudge(judge, metric.mode, plan.asks), metric.swap
    if isinstance(metric, PointsMetric):
        return PointwiseJudge(judge, plan.asks), False
    system = _text("system", Path(metric.system)) if metric.system else ""
    template = _template(Path(metric.template))
    mark = ASKS_FOR[metric.form]
    if mark not in template and mark not in system:
        raise InputError(
            f"metrics.template: {metric.template} does not ask for '{mark}', by which form = \"{metric.form}\" is read",
            hint="use the prompt that the judge was trained with; a system message has a file of its own: system",
            code="bad_template",
        )
    return TrainedJudge(judge, metric.form, template, plan.asks, system), metric.swap


def _refuse_those_that_need_references(metrics: Sequence[PairMetric]) -> None:
    for each in metrics:
        is_filled_in = isinstance(each, TrainedJudge) and "{reference}" in each.template
        if isinstance(each, PointwiseJudge) or is_filled_in:
            raise InputError(
                f"metrics: {each.name} needs reference answers, which the comparisons lack",
                hint='use kind = "pairs" or "reward", or a template without {reference}',
                code="no_reference",
            )


def _reward_model(metric: RewardMetric) -> OpenAIModel:
    return OpenAIModel(
        name=metric.name,
        endpoint=metric.endpoint,
        model=metric.model,
        api_key_env=metric.api_key_env,
        concurrency=metric.concurrency,
    )


def _text(key: str, path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"metrics.{key}: cannot read {path}: {why_unreadable(error)}", code="unreadable") from None


def _template(path: Path) -> str:
    text = _text("template", path)
    for place in ("{question}", "{a}", "{b}"):
        if place not in text:
            raise InputError(
                f"metrics.template: {path} has no {place}",
                hint="a template has {question}, {a} and {b}; it may have {reference}",
                code="bad_template",
            )
    return text


_NO_TOOLS = Condition(name="lfqa-e")


def _readings(plan: LfqaPlan, metric: PairMetric, swap: bool, each: Comparison) -> list[PairReading]:
    context = each.context if plan.context == "show" else ""
    texts = ComparedTexts(each.asked, each.a, each.b, each.reference, context, each.language)
    orders = (False, True) if swap else (False,)
    return [PairReading(metric, each.id, texts, order, each.question, _NO_TOOLS) for order in orders]


def _verdicts(
    name: str, readings: Sequence[Sequence[PairReading]], found: Mapping[object, PairVerdict], tau: float
) -> MetricVerdicts:
    """`tau`: up to which two scores are the same, of a metric that gives scores."""
    said = [[found.get(each.key) for each in pair] for pair in readings]
    codes = np.array([_code(each) for each in said])
    scores = np.array([_scores(each) for each in said])
    scored = ~np.isnan(scores).any(axis=1)
    if scored.any():
        codes[scored] = by_difference(name, scores[scored], tau).codes
    in_both = any(len(each) > 1 for each in said)
    judged = any(isinstance(each.metric, PairJudge) for pair in readings for each in pair)
    contradicted = np.array([any(each is not None and _contradicts_itself(each) for each in pair) for pair in said])
    turned = np.array([{"a", "b"} == {one.verdict for one in each if one is not None} for each in said])
    again = np.array([any(each is not None and _was_asked_again(each) for each in pair) for pair in said])
    return MetricVerdicts(
        name,
        codes,
        scores if scored.any() else None,
        (tau, tau) if scored.any() else None,
        turned=turned if in_both else None,
        contradicted=contradicted if judged else None,
        asked_again=again if judged else None,
    )


def _scores(said: Sequence[PairVerdict | None]) -> tuple[float, float]:
    """Of a and b; not a number where the verdict is no difference of scores, or there is none."""
    first = said[0] if len(said) == 1 else None
    return first.scores if first is not None and first.scores is not None else (math.nan, math.nan)


def _contradicts_itself(said: PairVerdict) -> bool:
    if said.verdict is None:
        return False
    stated = stated_preference(said.calls[-1].reply)
    return stated is not None and by_text(stated, exchanged=said.exchanged) != said.verdict


def _was_asked_again(said: PairVerdict) -> bool:
    return said.verdict is None or len(said.calls) > 1


def _code(said: Sequence[PairVerdict | None]) -> int:
    known = [each for each in said if each is not None]
    if len(known) < len(said):
        return FAILED
    verdicts = [each.verdict for each in known if each.verdict is not None]
    if len(verdicts) < len(known):
        return UNREAD
    verdict = verdicts[0] if len(verdicts) == 1 else of_both_orders(verdicts)[0]
    return VERDICTS.index(verdict)


def checked_verdicts(plan: LfqaPlan, judge: PairJudge, *, swap: bool) -> list[CheckedVerdict]:
    """What a judge said in a run of the plan, beside the experts: on pairs of two models' answers, as an ablation
    compares them, and where the file has none on all. Raises InputError where it said nothing."""
    path = Path(plan.verdicts)
    comparisons = drawn(load_comparisons(plan.comparisons), plan.limit, plan.seed)
    comparisons = tuple(each for each in comparisons if each.setting == "model_vs_model") or comparisons
    found = []
    if path.exists():
        with VerdictFile(path, in_use="leave out --calibration") as kept:
            for each in comparisons:
                code = _code([kept.found.get(reading.key) for reading in _readings(plan, judge, swap, each)])
                if code not in (FAILED, UNREAD):
                    longer = better(len(each.a) - len(each.b))
                    found.append(CheckedVerdict(each.label, VERDICTS[code], longer, ("cluster", each.cluster)))
    if not found:
        raise InputError(
            f"--calibration: {path} has no verdicts of {judge.name}",
            hint="run the plan first, with the same judge, mode and orders: toolablate lfqa-e run PLAN",
            code="no_calibration",
        )
    return found
