"""Reads a store for `attribute`, `show --why` and `agreement --labels`."""

import json
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import ValidationError

from toolablate.analysis.arms import has_ladder
from toolablate.analysis.attribution.decomposition import Decomposition, ToolKind
from toolablate.analysis.attribution.evidence import Explanation
from toolablate.analysis.attribution.identified import (
    ConditionDesign,
    DesignReach,
    identified,
    repeats_of,
    smallest_effects,
    wrong_trials,
)
from toolablate.analysis.attribution.judge_labels import error_types, judged_distractions
from toolablate.analysis.attribution.report import FORM_NAMES, AttributionReport, ResultLengths
from toolablate.analysis.attribution.signals.signal_types import Form
from toolablate.analysis.calibration import calibrated, calibrations
from toolablate.analysis.flips import Floor, floors
from toolablate.analysis.from_store import chosen_run, observe, paired
from toolablate.analysis.labels.held import AttributedCause, held
from toolablate.analysis.labels.report import LabelReport, label_report
from toolablate.analysis.pairing import counts, mean
from toolablate.experiments.attribution.cases import kinds_of, provider_kinds
from toolablate.experiments.attribution.explained import explained, outlined
from toolablate.experiments.attribution.readings_cache import KeptReadings, Known, TraceReading, readings_of
from toolablate.experiments.attribution.replay_evidence import arms_below
from toolablate.experiments.plans.written import plan_content
from toolablate.reports.numbers import counted, dollars
from toolablate.reports.terminal.problems import cut_notes, refused_notes
from toolablate.traces.errors import InputError
from toolablate.traces.output import export
from toolablate.traces.records import Condition, Diagnosis, JudgeMatrix, Rerun, Resumption, Run, Trace, digest_text
from toolablate.traces.store import Counterfactual, Store
from toolablate.traces.store.summaries import TrialSummary
from toolablate.traces.terminal_text import ID_CHARS, one_line
from toolablate.traces.validation import explain

if TYPE_CHECKING:
    from toolablate.experiments.attribution.replay_rounds import Attributed

_HINT = "it is the file that `toolablate planted score STORE --judges FILE` writes"


def write_matrices(matrices: Iterable[JudgeMatrix], path: Path) -> None:
    """A JSON list, one matrix for each judge and wording. Raises InputError where it cannot be written."""
    rows = [each.model_dump(mode="json") for each in matrices]
    export(json.dumps(rows, ensure_ascii=False, indent=2) + "\n", path, "--judges")


def read_matrices(path: Path) -> tuple[JudgeMatrix, ...]:
    """Raises InputError where the file cannot be read, is no such list, or has two of one judge and wording."""
    try:
        rows = json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise _refused(f"cannot read {path}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise _refused(f"{path} is no JSON: {error}") from None
    if not isinstance(rows, list) or not rows:
        raise _refused(f"{path} should hold a JSON list of matrices")
    found: dict[tuple[str, int], JudgeMatrix] = {}
    for number, row in enumerate(rows, 1):
        try:
            matrix = JudgeMatrix.model_validate(row)
        except ValidationError as error:
            raise _refused(f"{path}: matrix {number}: {explain(error, JudgeMatrix)}") from None
        if (matrix.judge, matrix.wording) in found:
            raise _refused(f"{path}: matrix {number}: there is one of {_named(matrix)} already")
        found[matrix.judge, matrix.wording] = matrix
    return tuple(found.values())


def refuse_other_judges(matrices: Sequence[JudgeMatrix], diagnoses: Iterable[Diagnosis]) -> None:
    """Raises InputError where no diagnosis is by a judge of a matrix, asked in the same wording: another judge, or the
    same one asked in other words, errs in other ways."""
    made = {(each.judge, each.wording): each for each in diagnoses}
    if any((each.judge, each.wording) in made for each in matrices):
        return
    if not made:
        raise InputError(
            "--judge-matrix: no judge has read a trial that is shown here",
            hint="add --judge NAME, to have a judge of the plan read wrong trials",
            code="no_labels",
        )
    of = ", ".join(map(_named, matrices)) or "no judge"
    raise InputError(
        f"--judge-matrix: it is of {of}; the labels here are of {', '.join(map(_named, made.values()))}",
        hint="have the same judge (model record and wording) read a store of synthetic failures: docs/attribution.md",
        code="other_judge",
    )


def _named(of: JudgeMatrix | Diagnosis) -> str:
    return f"{one_line(of.judge, max_chars=80)} (wording {of.wording})"


def _refused(said: str) -> InputError:
    return InputError(f"--judge-matrix: {said}", hint=_HINT, code="bad_matrix")


# Reads a store for `attribute` and `show --why`: what its tools did to scores, and why one trial went as it did.


Reason = Literal["counterfactual", "failed", "no_tools", "arm", "unscored", "no_baseline"]


@dataclass(frozen=True, slots=True)
class Unexplained:
    """A trial of which there is nothing to explain, and why; `parent` is the trial that a counterfactual goes on
    from, `event` from where."""

    trial: str
    reason: Reason
    parent: str = ""
    event: int = 0


def read_report(
    store: Path,
    *,
    run: str = "latest",
    models: Sequence[str] = (),
    conditions: Sequence[str] = (),
    scorer: str | None = None,
    matrices: Sequence[JudgeMatrix] = (),
    told: Callable[[int, int], None] | None = None,
    kept: Path | None = None,
) -> AttributionReport:
    """Of the trials that one run called for (`latest`, or the beginning of its id), or of `all` that the store holds.
    Judges' shares are corrected by what is known of them from `matrices`. Nobody is asked anything; `told` is called,
    and `kept` used, as by `explained`. Raises InputError for a run, scorer or name that is not there, and for matrices
    of other judges alone; StoreError."""
    with Store(store) as opened, opened.at_one_moment():
        trials = paired(opened, run=run, scorer=scorer)
        labelled = opened.conditions_of(trials.summaries)
        baseline = opened.runs()[-1].baseline
        reach = _reach(opened, trials.summaries, models, conditions)
    _require_known("--model", models, {seen.model for seen in trials.summaries})
    _require_known("--condition", conditions, {name for name, each in labelled.items() if has_ladder(each)})
    gathered = outlined(
        store, run=run, models=tuple(models), conditions=tuple(conditions), scorer=scorer, told=told, kept=kept
    )
    warned = (f"{trials.warning[:1].upper()}{trials.warning[1:]}.",) if trials.warning else ()
    diagnoses = [each for trial in gathered.explained for each in trial.evidence.diagnoses]
    if matrices:
        refuse_other_judges(matrices, diagnoses)
    by = {(each.judge, each.wording) for each in diagnoses}
    known = tuple(each for each in matrices if (each.judge, each.wording) in by)
    lengths = _lengths(store, trials.summaries, labelled, baseline, gathered.decompositions, kept)
    lengths_that_differ = [each for each in lengths if each.differs]
    return AttributionReport(
        design=gathered.design,
        decompositions=gathered.decompositions,
        floors=tuple(_floors(trials.summaries, labelled, baseline, gathered.decompositions)),
        explained=gathered.explained,
        unreplayed=gathered.unreplayed,
        judged=tuple(
            each
            for decomposition in gathered.decompositions
            for each in judged_distractions(decomposition, gathered.explained, known)
        ),
        errors=tuple(error_types(trials.summaries, diagnoses)),
        matrices=known,
        simulated=frozenset(seen.model for seen in trials.summaries if seen.simulated),
        notes=(
            *gathered.notes,
            *map(_differs, lengths_that_differ),
            *warned,
            *refused_notes(trials.refused_calls()),
            *cut_notes(trials.cut_inputs()),
        ),
        rates=gathered.rates,
        reach=reach,
        lengths=lengths,
    )


# How long real results and placebos are. Placebos are matched in length; what could not be is told.


_TRACES = 60
"""Trials that are read of each kind for the lengths of results: a mean over some hundred results is known well."""


def _lengths(
    path: Path,
    summaries: Sequence[TrialSummary],
    conditions: Mapping[str, Condition],
    baseline: str,
    found: Sequence[Decomposition],
    kept: Path | None,
) -> tuple[ResultLengths, ...]:
    """Of each decomposition: results of the condition beside those of its placebo arm, and of replayed trials beside
    those of their replays with placebos; of samples, by digest."""
    arms, lengths = arms_below(conditions, baseline), list[ResultLengths]()
    with Store(path) as store, KeptReadings(kept) as readings:
        # By any scorer: lengths have nothing to do with scores.
        replays = store.counterfactuals(scorers=store.scorers()[:1])
        swapped = {trial: own for trial, all_of in replays.items() if (own := _swapped(all_of))}
        known = Known(store, (), readings)
        for each in found:
            real_arm, placebo_arm = (
                _sampled(seen.trial for seen in summaries if (seen.model, seen.condition) == (each.model, label))
                for label in (each.condition, arms[each.condition].get("placebo", ""))
            )
            replayed = _sampled(
                seen.trial
                for seen in summaries
                if (seen.model, seen.condition) == (each.model, each.condition) and seen.trial in swapped
            )
            again = {trial: swapped[trial][0] for trial in replayed}
            known.turn_to({*real_arm, *placebo_arm, *again, *(placebos.trial for placebos in again.values())})
            real, placebo = dict[Form, list[int]](), dict[Form, list[int]]()
            if real_arm and placebo_arm:
                for into, trials in ((real, real_arm), (placebo, placebo_arm)):
                    for trial in trials:
                        _add(into, known.reading(trial), None)
            for trial, placebos in again.items():
                change = placebos.resumption.change
                assert isinstance(change, Rerun)
                _add(real, known.reading(trial), change.tools)
                _add(placebo, known.reading(placebos.trial), change.tools)
            known.keep()
            lengths += [
                ResultLengths(
                    *(each.model, each.condition, form, mean(real[form]), mean(placebo[form])),
                    *(len(real[form]), len(placebo[form])),
                )
                for form in real
                if form in placebo
            ]
    return tuple(lengths)


def _swapped(replays: Iterable[Counterfactual]) -> list[Counterfactual]:
    """Replays with placebos of the real length that have ended, those of most tools first."""
    found = [
        each
        for each in replays
        if isinstance(change := each.resumption.change, Rerun)
        and change.substitute == "placebo"
        and not change.result_chars
        and each.outcome not in (None, "failed")
    ]
    return sorted(found, key=lambda each: (-len(each.resumption.change.tools), each.trial))  # type: ignore[union-attr]


def _sampled(trials: Iterable[str]) -> list[str]:
    return sorted(trials, key=digest_text)[:_TRACES]


def _add(lengths: dict[Form, list[int]], reading: TraceReading, tools: Sequence[str] | None) -> None:
    """The lengths of what tools gave that worked: these ones, or all."""
    for call in reading.signals.calls:
        if call.worked and (tools is None or call.tool in tools):
            lengths.setdefault(call.form, []).append(call.chars)


def _differs(each: ResultLengths) -> str:
    shown = f"average {each.real:,.0f} characters, their placebos {each.placebo:,.0f}"
    return (
        f"{each.condition}, {each.model}: {FORM_NAMES[each.form]} {shown}: what content does is mixed with what volume"
        " does."
    )


def read_reach(
    store: Path,
    *,
    run: str = "latest",
    models: Sequence[str] = (),
    conditions: Sequence[str] = (),
    scorer: str | None = None,
) -> DesignReach:
    """What the design of these trials can tell apart, as `read_report` has it; no trace is read. Raises InputError for
    a run or scorer that is not there, StoreError."""
    with Store(store) as opened, opened.at_one_moment():
        trials = paired(opened, run=run, scorer=scorer)
        return _reach(opened, trials.summaries, models, conditions)


def _reach(
    store: Store, summaries: Sequence[TrialSummary], models: Sequence[str], conditions: Sequence[str]
) -> DesignReach:
    labelled = store.conditions_of(summaries)
    runs = store.runs()
    arms = arms_below(labelled, runs[-1].baseline)
    seen = [each for each in summaries if each.model in (models or (each.model,))]
    shown = {name: arms[name] for name in arms if name in (conditions or arms)}
    askable = {each.name for each in store.models() if each.provider != "scripted"}
    again = not any(run.imported for run in runs) and any(
        each.model in askable or each.model.rpartition("@")[0] in askable for each in seen
    )
    designs = [
        ConditionDesign(
            name,
            prompted=bool(labelled[name].prompt) and not labelled[below["none"]].prompt,
            arms=frozenset(below),
            repeats=repeats_of(each for each in seen if each.condition in (name, below["none"])),
            kinds=(kinds := kinds_of(labelled[name])),
            without_placebo=_without_placebo(kinds, [each for each in seen if each.condition == name], runs[-1]),
            asked_again=again,
            of_provider=provider_kinds(labelled[name]),
        )
        for name, below in shown.items()
    ]
    return DesignReach(
        identified(designs),
        wrong_trials(seen, shown),
        tuple(smallest_effects(seen, {name: below["none"] for name, below in shown.items()})),
    )


def _without_placebo(kinds: Set[ToolKind], seen: Sequence[TrialSummary], run: Run) -> frozenset[ToolKind]:
    """For code there is a bank. What else a tool gave has to come from another question, be it in another store."""
    others = len({each.cluster or each.question for each in seen}) > 1
    if others or _placebo_store(run.plan):
        return frozenset()
    return frozenset(kinds - {"code"})


def _placebo_store(plan: str) -> str:
    """That a plan names, "" where it names none or is none."""
    try:
        section = plan_content(plan, Path()).get("placebo")
    except InputError:
        return ""
    return str(section.get("store", "")) if isinstance(section, dict) else ""


def refuse_imported(store: Path) -> None:
    """Raises InputError for a store of imports: whoever measured its models could ask them, and nobody here."""
    with Store(store) as opened:
        if any(run.imported for run in opened.runs()):
            raise InputError(
                f"--replay: the trials of {store} were imported from logs: their models cannot be asked again",
                hint="what the traces tell is shown without --replay",
                code="imported",
            )


def refuse_scripted(store: Path, models: Sequence[str]) -> None:
    """A scripted model gives its script's next reply, whatever it is asked: what it would have said otherwise nobody
    knows. Raises InputError where one of the store is among `models`; none named are all."""
    with Store(store) as opened:
        scripted = [each.name for each in opened.models() if each.provider == "scripted"]
    for name in scripted:
        if not models or any(name in (label, label.rpartition("@")[0]) for label in models):
            raise InputError(
                f"--replay: the model {one_line(name, max_chars=80)!r} is scripted: its replies never change",
                hint="name other models with --model; what the traces tell is shown without --replay",
                code="scripted",
            )


def refuse_alone(store: Path, *, run: str = "latest", scorer: str | None = None) -> None:
    """Raises InputError where there are trials with tools and no condition without: whatever replays of them say, there
    is nothing that they could be set against."""
    with Store(store) as opened, opened.at_one_moment():
        labelled = opened.conditions_of(paired(opened, run=run, scorer=scorer).summaries)
        baseline = opened.runs()[-1].baseline
    if any(map(has_ladder, labelled.values())) and not arms_below(labelled, baseline):
        raise InputError(
            f"--replay: {store} has no scored trial without tools to compare with",
            hint="run the plan with a condition without tools as well, such as 'none'",
            code="no_baseline",
        )


def read_explanation(
    store: Path, trial: str, *, run: str = "latest", scorer: str | None = None
) -> Explanation | Unexplained:
    """Of the trial whose id begins so, among those that `run` stands for as in `read_report`; among all where it is
    none of them. Raises InputError where there is none, or several, and for a run or scorer that is not there;
    StoreError."""
    with Store(store) as opened:
        trace = opened.trace(trial)
        condition = opened.condition(trace.trial.condition)
        question = opened.question(trace.trial.question)
        provider = opened.model(trace.trial.model).provider
        chosen_run(opened, run)
        if scorer is not None:
            observe(opened, run=run, scorer=scorer, beside=trace.trial.id)  # refuses one that is not there
    if (nothing := _unexplained(trace, condition)) is not None:
        return nothing
    kept = readings_of(store)
    found = explained(store, run=run, scorer=scorer, trial=trace.trial.id, kept=kept)
    if not found.explained and run != "all":
        found = explained(store, run="all", scorer=scorer, trial=trace.trial.id, kept=kept)
    if not found.explained:
        named = scorer or (found.design.scorer if found.design else "")
        return Unexplained(trace.trial.id, "no_baseline" if _counts(store, trace.trial.id, named) else "unscored")
    return Explanation(
        explained=found.explained[0],
        question=question,
        conversation=trace.events,
        outcome=trace.outcome,
        repeat=trace.trial.repeat,
        store=str(store),
        provider=provider,
        design=found.design,
        rates=found.rates,
    )


def unexplained_json(of: Unexplained) -> str:
    return json.dumps({"trial": of.trial, "explained": None, "reason": of.reason, "parent": of.parent or None})


def _require_known(option: str, names: Sequence[str], there: Set[str]) -> None:
    for name in names:
        if name not in there:
            known = ", ".join(one_line(each, max_chars=80) for each in sorted(there)) or "none"
            raise InputError(
                f"{option}: no trial with tools to attribute of {one_line(name, max_chars=80)!r}",
                hint=f"Those that are there: {known}.",
                code=f"unknown_{option.removeprefix('--')}",
            )


def _unexplained(trace: Trace, condition: Condition) -> Unexplained | None:
    resumed: Resumption | None = condition.resumed
    if resumed is not None:
        return Unexplained(trace.trial.id, "counterfactual", resumed.trial, resumed.event)
    if not trace.scorable:
        return Unexplained(trace.trial.id, "failed")
    if not condition.has_tools:
        return Unexplained(trace.trial.id, "no_tools")
    return None if has_ladder(condition) else Unexplained(trace.trial.id, "arm")


def _counts(path: Path, trial: str, scorer: str) -> bool:
    """Whether the trial has a score by this scorer; "" is that of the latest run."""
    with Store(path) as store:
        return any(counts(seen) for seen in observe(store, scorer=scorer or None, beside=trial) if seen.trial == trial)


def _floors(
    summaries: Sequence[TrialSummary],
    conditions: Mapping[str, Condition],
    baseline: str,
    found: Sequence[Decomposition],
) -> Iterator[Floor]:
    """Of each decomposition, against the condition without tools that its effect is measured from."""
    arms = arms_below(conditions, baseline)
    for decomposition in found:
        both = (arms[decomposition.condition]["none"], decomposition.condition)
        seen = [each for each in summaries if each.model == decomposition.model and each.condition in both]
        yield from floors(seen, both[0])


def why_not(of: Unexplained, store: Path) -> Iterator[str]:
    """Sentences that say why there is nothing to explain, and what to look at."""
    at, trial = shlex.quote(str(store)), of.trial[:ID_CHARS]
    match of.reason:
        case "counterfactual":
            parent = of.parent[:ID_CHARS]
            yield f"Trial {trial} is a replay of trial {parent}, from its event {of.event} on with a change."
            yield f"What it was made for is explained there: toolablate show {at} {parent} --why"
        case "failed":
            yield f"Trial {trial} failed in infrastructure: nothing to attribute to the model or its tools."
            yield "Run it again: toolablate run PLAN"
        case "no_tools":
            yield f"Trial {trial} had no tools: nothing to attribute to tools."
            yield f"Trials with tools are listed by: toolablate attribute {at} --list"
        case "arm":
            yield f"Trial {trial} is of an arm whose tools were only offered or returned substitutes."
            yield f"Trials with real tools, compared with it: toolablate attribute {at} --list"
        case "unscored":
            yield f"Trial {trial} has no usable score: cannot be classified as right or wrong."
            yield f"Its trace: toolablate show {at} {trial}"
        case "no_baseline":
            yield f"Trial {trial} has no scored trial of its question without tools to compare with."
            yield "Run the plan with a condition without tools as well, such as 'none': toolablate run PLAN"


def replays_told(done: "Attributed") -> Iterator[str]:
    """What an attribution by replay has run, what it could not, and what is left."""
    cost = (
        "the cost of this run is not known"
        if done.estimated_usd is None
        else f"this run cost {dollars(done.spent_usd)}"
    )
    made = counted(done.replays - done.missing, "replay")
    yield f"{counted(done.chosen, 'trial')} sampled, {made} there; {cost}."
    for each in done.refused:
        why = one_line(each.message, max_chars=1_000)
        yield f"{counted(each.replays, 'replay')} ({each.purpose}) cannot be made: {why}"
    for failure in done.failures:
        why = one_line(failure.message, max_chars=1_000)
        yield f"{counted(failure.count, 'replay')} failed ({failure.code or 'no reason recorded'}): {why}"
    if done.missing:
        then = "tries those that failed again, and makes the rest" if done.failures else "resumes"
        yield f"{counted(done.missing, 'replay')} missing; the same command {then}."


# Reads out of a store what people hold for the causes of its trials, beside what is attributed to these now.


def read_labels(path: str | PathLike[str], *, people: Sequence[str] = (), scorer: str | None = None) -> LabelReport:
    """Of all people, or of those named. Of trials that are right or were never explained nothing is attributed. Nobody
    is asked anything. Raises InputError for a person who has given no label or a scorer that is not there, StoreError.
    """
    with Store(Path(path)) as store:
        labels = store.labels()
        known = {label.person for label in labels}
        for name in people:
            if name not in known:
                raise InputError(
                    f"{store.path} has no label by {name!r}",
                    hint=f"Labels were given by: {', '.join(map(repr, sorted(known))) or 'nobody yet'}.",
                    code="unknown_person",
                )
        labels = tuple(label for label in labels if not people or label.person in people)
        about = {trial: _question(store, trial) for trial in dict.fromkeys(label.trial for label in labels)}
        diagnoses = [each for trial in about for each in store.diagnoses(trial)]
        if not labels and scorer is not None:
            observe(store, scorer=scorer)  # refuses one that is not there, as `explained` does
    if labels:
        for each in outlined(path, scorer=scorer).explained:
            if each.attribution is not None and each.attribution.trial in about:
                about[each.attribution.trial] = replace(
                    about[each.attribution.trial], mechanism=each.attribution.mechanism, method=each.attribution.method
                )
    return label_report(held(labels, about.__getitem__), diagnoses)


def with_calibrated_confidences(path: Path, report: AttributionReport) -> AttributionReport:
    """As far as people decided of enough of its trials: see `analysis.calibration`. Raises StoreError."""
    with Store(path) as store:
        labels = store.labels()
        units = {trial: _question(store, trial).unit for trial in {label.trial for label in labels}}
    labelled = [each for each in report.explained if each.attribution and each.attribution.trial in units]
    found = calibrations(labelled, labels, units)
    return replace(report, explained=calibrated(report.explained, found), calibrations=found)


def _question(store: Store, trial: str) -> AttributedCause:
    question = store.question(store.trace(trial).trial.question)
    return AttributedCause(question.id, question.cluster or question.id, domain=question.domain)
