"""Has judges compare the answers of each condition with those of the baseline, and says how often they prefer which."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from toolablate.analysis.from_store import Paired, means, paired, require_ended
from toolablate.analysis.pairing import Unit, counts, unit
from toolablate.analysis.preference import (
    Between,
    CheckedVerdict,
    JudgeCalibration,
    JudgedPair,
    PreferenceFigures,
    corrected_net,
    judge_calibration,
    preference_figures,
)
from toolablate.analysis.statistics.intervals import Interval
from toolablate.benchmarks.judging.answers import is_measured, reference_of, shown_question, words_for
from toolablate.benchmarks.judging.pairs import ComparedTexts, PairJudge, PairMode, by_text, of_both_orders
from toolablate.experiments.diagnosing import plan_with_judges, refuse_too_dear
from toolablate.experiments.lfqa_e import checked_verdicts, load_lfqa_plan
from toolablate.experiments.pair_judging import (
    PairReading,
    PairWork,
    VerdictFile,
    estimated_cost,
    judge_pairs,
    lacking,
)
from toolablate.experiments.running.progress import RunProgress
from toolablate.reports.numbers import counted
from toolablate.traces.errors import InputError
from toolablate.traces.records import PairVerdict, Preferred, digest_text
from toolablate.traces.store import Store
from toolablate.traces.store.summaries import TrialSummary
from toolablate.traces.thoughts import after_thoughts

Orders = Literal["both", "one"]


@dataclass(frozen=True, slots=True)
class AnswerPair:
    """Two trials of one model and question: `a` is the baseline's, `b` the condition's, or for the noise floor two
    repeats of the baseline. `ruled` is the verdict where no judge is needed."""

    id: str
    model: str
    condition: str
    question: str
    unit: Unit
    texts: ComparedTexts
    ruled: Preferred | None


@dataclass(frozen=True, slots=True)
class PreferenceRow:
    """One judge on one model and condition. `unread` pairs have a reading without a verdict and `missing` ones lack
    one; neither is counted. `one_sided` trials have no scored trial on the other side."""

    judge: str
    model: str
    condition: str
    figures: PreferenceFigures
    unread: int
    missing: int
    one_sided: int
    corrected_points: float | None = None
    corrected_ci95: Interval | None = None


@dataclass(frozen=True, slots=True)
class PreferenceReport:
    """`noise`: pairs of two repeats of the baseline, judged the same way, by judge and model. `calibrations`: what each
    judge is worth beside experts, where that was asked for; a judge that is too weak corrects nothing."""

    baseline: str
    orders: Orders
    rows: tuple[PreferenceRow, ...]
    noise: tuple[PreferenceRow, ...]
    verdicts: Path
    calibrations: dict[str, JudgeCalibration] = field(default_factory=dict)

    @property
    def missing(self) -> int:
        return sum(row.missing for row in (*self.rows, *self.noise))


def prefer(
    store: str | PathLike[str],
    *,
    baseline: str | None = None,
    judges: Sequence[str] = (),
    mode: PairMode = "reasons",
    orders: Orders = "both",
    scorer: str | None = None,
    models: Sequence[str] = (),
    conditions: Sequence[str] = (),
    run: str = "latest",
    plan: str | PathLike[str] | None = None,
    verdicts: str | PathLike[str] | None = None,
    calibration: str | PathLike[str] | None = None,
    max_cost: float | None = None,
    seed: int = 0,
    progress: RunProgress | None = None,
) -> tuple[PreferenceReport, PairWork]:
    """Asks the plan's judges, blind, which of two answers to one question is better by its reference: the baseline's or
    the condition's, repeat by repeat, and as the noise floor two repeats of the baseline.

    Verdicts are kept in `verdicts`, by default `STORE.preferences.jsonl`, and not asked for again. `orders` "one" asks
    in one order, which is drawn by the pair's id. `calibration` is a plan of `lfqa-e run` that was run with the same
    judges: by their verdicts there the net preference is corrected. Only trials that are scored are compared.

    Raises ToolablateError; what can be refused is refused before anything is spent.
    """
    progress, path = progress or RunProgress(), Path(store)
    with Store(path) as opened, opened.at_one_moment():
        seen = paired(opened, baseline=baseline, run=run, scorer=scorer)
        pairs, one_sided = _pairs(opened, seen, models, conditions)
        chosen = plan_with_judges(opened, seen.summaries[0].trial, Path(plan) if plan is not None else None, judges)
        asking = tuple(PairJudge(model, mode, chosen.judging.asks) for model in chosen.judges)
        checked = _checked(calibration, asking, orders)
        known = {name: judge_calibration(each, seed=seed) for name, each in checked.items()}
        readings = [each for pair in pairs for each in _readings(opened, pair, asking, orders)]
    kept_in = Path(verdicts) if verdicts is not None else path.with_name(f"{path.name}.preferences.jsonl")
    with VerdictFile(kept_in, in_use="name another file: --verdicts FILE") as kept:
        wanted = lacking(readings, kept.found)
        cost = estimated_cost(chosen, wanted)
        if wanted:
            dear = "at unknown cost: a judge has no price" if cost is None else f"for about ${cost:.4g}"
            progress.tell(f"{counted(len(wanted), 'verdict')} to be asked for, {dear}")
        refuse_too_dear(cost, max_cost)
        work = judge_pairs(chosen, wanted, kept, progress, max_cost)
        trusted = {name: each for name, each in checked.items() if not known[name].weak}
        rows, noise = _report(seen.baseline, pairs, one_sided, asking, readings, kept.found, trusted, seed)
    return PreferenceReport(seen.baseline, orders, tuple(rows), tuple(noise), kept_in, known), work


Arms = dict[tuple[str, str, str], dict[int, TrialSummary]]
"""Trials that count, by model, condition and question, then by repeat."""


def _pairs(
    store: Store, seen: Paired, models: Sequence[str], conditions: Sequence[str]
) -> tuple[list[AnswerPair], dict[tuple[str, str], int]]:
    """Those of conditions and of the noise floor, and how many trials have none on the other side. Trials are paired by
    the number of their repeat: one that is scored only later makes pairs of its own and moves no other."""
    arms = _arms(seen, models, conditions)
    found, one_sided = list[AnswerPair](), dict[tuple[str, str], int]()
    for (model, condition, question), trials in arms.items():
        base = arms.get((model, seen.baseline, question), {})
        if condition == seen.baseline:
            evens = sorted(repeat for repeat in base if repeat % 2 == 0 and repeat + 1 in base)
            found += [_pair(store, base[repeat], base[repeat + 1]) for repeat in evens]
        else:
            found += [_pair(store, base[repeat], trials[repeat]) for repeat in sorted(base.keys() & trials.keys())]
            one_sided.setdefault((model, condition), 0)
    for model, condition in one_sided:
        questions = {asked for of, arm, asked in arms if of == model and arm in (condition, seen.baseline)}
        for asked in questions:
            one, other = (arms.get((model, arm, asked), {}) for arm in (condition, seen.baseline))
            one_sided[model, condition] += len(one.keys() ^ other.keys())
    return found, one_sided


def _arms(seen: Paired, models: Sequence[str], conditions: Sequence[str]) -> Arms:
    """Those of the baseline and of what was asked for. Raises InputError for a name that stands for none."""
    for option, what, wanted in (("--model", "model", models), ("--condition", "condition", conditions)):
        for name in wanted:
            require_ended(option, what, name, {getattr(each, what) for each in seen.summaries})

    def is_wanted(name: str, wanted: Sequence[str]) -> bool:
        return not wanted or any(means(each, name) for each in wanted)

    arms: Arms = defaultdict(dict)
    for each in seen.summaries:
        is_arm = each.condition == seen.baseline or is_wanted(each.condition, conditions)
        if counts(each) and is_arm and is_wanted(each.model, models):
            arms[each.model, each.condition, each.question][each.repeat] = each
    if not any(condition == seen.baseline for _, condition, _ in arms):
        names = sorted({each.condition for each in seen.summaries})
        raise InputError(
            f"--baseline: no scored trial of a condition {seen.baseline!r}",
            hint=f"conditions with ended trials: {', '.join(names) or 'none yet'}; only scored answers are compared",
            code="unknown_baseline",
        )
    return arms


def _pair(store: Store, before: TrialSummary, after: TrialSummary) -> AnswerPair:
    question = store.question(store.trace(before.trial).trial.question)
    a, b = (_answer(store, each.trial) for each in (before, after))
    words = words_for(question.language)
    points = question.rubric.points.strip() if question.rubric is not None else ""
    reference = "\n\n".join(filter(None, [points, reference_of(question, words) if is_measured(question) else ""]))
    texts = ComparedTexts(shown_question(question), a, b, reference, language=question.language)
    pair = f"{before.trial}:{after.trial}"
    return AnswerPair(pair, after.model, after.condition, after.question, unit(after), texts, _ruled(a, b))


def _answer(store: Store, trial: str) -> str:
    """Thoughts that an endpoint left in a reply are no part of the answer."""
    return after_thoughts(store.trace(trial).answer or "").strip()


def _ruled(a: str, b: str) -> Preferred | None:
    if a == b:
        return "same"
    return None if a and b else "a" if a else "b"


# What is asked of each pair, and what comes of the replies.


def _readings(store: Store, pair: AnswerPair, judges: Sequence[PairJudge], orders: Orders) -> Iterator[PairReading]:
    if pair.ruled is not None:
        return
    trial = store.trace(pair.id.partition(":")[2]).trial
    question, condition = store.question(trial.question), store.condition(trial.condition)
    # The id is a digest: its last bit is as good as a coin, and the same in the next run.
    drawn = bool(int(digest_text(pair.id)[-1], 16) % 2)
    for judge in judges:
        for exchanged in (False, True) if orders == "both" else (drawn,):
            yield PairReading(judge, pair.id, pair.texts, exchanged, question, condition)


def _report(
    baseline: str,
    pairs: Sequence[AnswerPair],
    one_sided: Mapping[tuple[str, str], int],
    judges: Sequence[PairJudge],
    readings: Sequence[PairReading],
    found: Mapping[object, PairVerdict],
    trusted: Mapping[str, Sequence[CheckedVerdict]],
    seed: int,
) -> tuple[list[PreferenceRow], list[PreferenceRow]]:
    """Rows of conditions, and of the noise floor; `trusted` judges are corrected by their verdicts beside experts."""
    asked: dict[tuple[str, str], list[PairVerdict | None]] = defaultdict(list)
    for reading in readings:
        asked[reading.metric.name, reading.pair].append(found.get(reading.key))
    groups: dict[tuple[str, str], list[AnswerPair]] = defaultdict(list)
    for pair in pairs:
        groups[pair.model, pair.condition].append(pair)
    rows = []
    for judge in judges:
        for (model, condition), group in sorted(groups.items()):
            judged, unread, missing = list[JudgedPair](), 0, 0
            for pair in group:
                said = asked.get((judge.name, pair.id), [])
                known = [each for each in said if each is not None]
                if len(known) < len(said):
                    missing += 1
                elif any(each.verdict is None for each in known):
                    unread += 1
                else:
                    judged.append(_judged(pair, known))
            figures = preference_figures(judged, seed=seed)
            left = one_sided.get((model, condition), 0)
            net = corrected_net(judged, trusted[judge.name], seed=seed) if judge.name in trusted else None
            rows.append(
                PreferenceRow(judge.name, model, condition, figures, unread, missing, left, *(net or (None, None)))
            )
    return [row for row in rows if row.condition != baseline], [row for row in rows if row.condition == baseline]


def _checked(
    calibration: str | PathLike[str] | None, judges: Sequence[PairJudge], orders: Orders
) -> dict[str, list[CheckedVerdict]]:
    if calibration is None:
        return {}
    if orders != "both":
        raise InputError(
            "--calibration: it holds for both orders only",
            hint="leave out --one-order: in one order a verdict mixes what a judge prefers with what stands first",
            code="usage",
        )
    plan = load_lfqa_plan(Path(calibration))
    return {judge.name: checked_verdicts(plan, judge, swap=True) for judge in judges}


_VALUES = {"a": -1, "same": 0, "b": 1}


def _judged(pair: AnswerPair, said: Sequence[PairVerdict]) -> JudgedPair:
    verdict: Preferred
    between: Between
    if pair.ruled is not None:
        verdict, between = pair.ruled, "rule"
    else:
        verdicts = [each.verdict for each in said if each.verdict is not None]
        verdict, between = (verdicts[0], "once") if len(verdicts) == 1 else of_both_orders(verdicts)
    places = [by_text(each.verdict, exchanged=each.exchanged) for each in said if each.verdict is not None]
    return JudgedPair(
        question=pair.question,
        unit=pair.unit,
        value=_VALUES[verdict],
        between=between,
        first=tuple(-_VALUES[place] for place in places),
        length_before=len(pair.texts.a),
        length_after=len(pair.texts.b),
    )


def preference_json(report: PreferenceReport) -> dict[str, Any]:
    """The fields of the records, `figures` among those of their row; what is unknown is null."""

    def row(each: PreferenceRow) -> dict[str, Any]:
        content = asdict(each)
        found = content.pop("figures")
        return {**content, **found}

    return {
        "baseline": report.baseline,
        "orders": report.orders,
        "verdicts": str(report.verdicts),
        "conditions": [row(each) for each in report.rows],
        "noise": [row(each) for each in report.noise],
        "calibrations": {
            name: {**asdict(each), "weak": each.weak, "sees_ties": each.sees_ties}
            for name, each in report.calibrations.items()
        },
    }
