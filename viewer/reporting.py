"""What a report is made of, read from a store, and the files it is written to."""

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

from pydantic import JsonValue

from toolablate.analysis.attribution.evidence import Explanation, Outlined
from toolablate.analysis.findings import nothing_found
from toolablate.analysis.flips import flips
from toolablate.analysis.selection import Ending
from toolablate.experiments.attribution.readings_cache import readings_of
from toolablate.experiments.attribution.store_report import read_explanation, read_report
from toolablate.reports.plots.drawing import boxes_note, require_matplotlib, write_figure
from toolablate.reports.plots.figures import Plate, plates
from toolablate.reports.report.contents import Choice, Report, ReportTrial, Setup, TrialPair, telling
from toolablate.reports.report.latex import as_latex
from toolablate.reports.report.markdown import as_markdown
from toolablate.traces.errors import InputError
from toolablate.traces.installing import to_install
from toolablate.traces.output import export, make_folder, refuse_store
from toolablate.traces.records import Condition, Model, Run, Trial
from toolablate.traces.store import Store, TrialSummary
from toolablate.viewer.keeping.shown_trials import ViewedTrials, findings_of, read_trials, with_why

# What the trials of a report stood on, and how they ended.


DIGEST_CHARS = 16
_UNTOLD = {
    *("version", "name", "price", "capabilities", "api_key_env", "concurrency", "timeout_seconds"),
    *("requests_per_minute", "tokens_per_minute", "batch", "script", "playbook", "scenarios"),
}
"""What makes no other model of one, and paths of the machine that it ran on."""


@dataclass(frozen=True, slots=True)
class ArmEndings:
    """How the trials of one model under one condition ended, by their names in tables."""

    model: str
    condition: str
    endings: Mapping[Ending, int]


def endings_of(trials: ViewedTrials) -> Iterator[ArmEndings]:
    arms: dict[tuple[str, str], Counter[Ending]] = defaultdict(Counter)
    for seen in trials.summaries:
        arms[seen.model, seen.condition][_ending(seen)] += 1
    for model in trials.models:
        for condition in trials.conditions:
            if (model, condition) in arms:
                yield ArmEndings(model, condition, dict(arms[model, condition]))


def _ending(seen: TrialSummary) -> Ending:
    if seen.outcome == "failed":
        return "failed"
    if seen.outcome == "budget" and seen.verdict != "correct":
        return "budget"
    return seen.verdict or "unscored"


def setup_of(store: Store, trials: ViewedTrials) -> Setup:
    runs = [each for each in store.runs() if trials.run in (None, each.id)]
    called = [trial for each in runs for trial in store.trials_of(each.id)]
    return Setup(
        facts=tuple((name, value) for name, value in _facts(store, runs, called, trials) if value),
        models=tuple(
            sorted(_described(store.model(identity)) for identity in dict.fromkeys(each.model for each in called))
        ),
        conditions=tuple((label, _described(each)[1]) for label, each in store.conditions_of(trials.summaries).items()),
    )


def _facts(
    store: Store, runs: Sequence[Run], called: Sequence[Trial], trials: ViewedTrials
) -> Iterator[tuple[str, str]]:
    last = runs[-1]
    yield ("Run", last.id[:10]) if len(runs) == 1 else ("Runs", f"{len(runs):,}")
    yield "Started", runs[0].started_at.isoformat(sep=" ", timespec="seconds")
    yield "toolablate", ", ".join(dict.fromkeys(each.toolablate for each in runs))
    questions = sorted({each.question for each in called})
    digest = hashlib.sha256("\n".join(questions).encode()).hexdigest()[:DIGEST_CHARS]
    yield "Questions", f"{len(questions):,} (digest {digest})"
    yield "Trials ended", f"{len(trials.summaries):,}"
    yield "Baseline", trials.baseline
    yield "Scored by", trials.scorer or ", ".join(last.scorers or store.scorers())
    for name, value in last.fingerprint.items():
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


# Reads a store for a report: findings, what the trials stood on, and the trials that it shows.


@dataclass(frozen=True, slots=True)
class ReportSelection:
    """Which trials a report shows: `traces` and pairs of `beside`, by the beginnings of their ids, and so many more
    that are `telling`, each also beside one of the baseline."""

    traces: tuple[str, ...] = ()
    beside: tuple[tuple[str, str], ...] = ()
    telling: int = 0


def read_for_report(
    path: Path,
    wanted: ReportSelection,
    *,
    title: str = "",
    run: str = "latest",
    scorer: str | None = None,
    baseline: str | None = None,
    seed: int = 0,
) -> Report:
    """Of the trials that one run called for (`latest`, or the beginning of its id), or of `all`. Nothing is asked of
    anyone. Raises InputError where there is no ended trial, for a run, scorer, baseline or trial that is not there, and
    for two trials of different questions side by side; StoreError."""
    with Store(path) as store:
        trials = read_trials(store, run=run, scorer=scorer, baseline=baseline)
        if not trials.summaries:
            raise InputError(f"{path}: no trial has ended yet", hint="toolablate run PLAN", code="empty_store")
        named = _Named(store, wanted)
        findings = findings_of(trials, store.conditions_of(trials.summaries), seed=seed)
        setup = setup_of(store, trials)
    report = read_report(path, run=run, scorer=trials.scorer, kept=readings_of(path))
    attributed = {each.evidence.inputs.trial: each for each in report.explained}
    with Store(path) as store:
        explain = explaining(path, run=run, scorer=trials.scorer)
        reading = _TrialReading(store, path, lambda trial: explain(trial) if trial in attributed else None)
        choices = _telling(trials, attributed, wanted.telling)
        shown = dict.fromkeys((*named.traces, *(each.trial for each in choices)))
        pairs = dict.fromkeys((*named.beside, *((each.baseline, each.trial) for each in choices)))
        return Report(
            title=title or f"toolablate report: {path.stem}",
            setup=setup,
            findings=with_why(findings, report),
            endings=tuple(endings_of(trials)),
            traces=tuple(map(reading.told, shown)),
            beside=tuple(TrialPair(reading.told(left), reading.told(right)) for left, right in pairs),
            asked_traces=len(dict.fromkeys(named.traces)),
            asked_pairs=len(dict.fromkeys(named.beside)),
        )


def read_alone(
    path: Path, wanted: ReportSelection, explain: Callable[[str], Explanation | None], *, title: str = ""
) -> Report:
    """A report of the trials that are named, without any table: reads these alone, however large the store is.
    `explain` says why a trial went as it did. Raises InputError and StoreError as `read_for_report`."""
    with Store(path) as store:
        named = _Named(store, wanted)
        reading = _TrialReading(store, path, explain)
        traces = tuple(map(reading.told, dict.fromkeys(named.traces)))
        pairs = tuple(TrialPair(reading.told(left), reading.told(right)) for left, right in dict.fromkeys(named.beside))
    shown = {each.trial: each for each in (*traces, *(side for pair in pairs for side in (pair.left, pair.right)))}
    if not shown:
        raise InputError("--alone: no trial is named", hint="Name some by --trial or --diff.", code="usage")
    models = {each.model.identity(): each.model for each in shown.values()}.values()
    conditions = {each.condition.identity(): each.condition for each in shown.values()}.values()
    names = " beside ".join(each.condition.name for each in shown.values())
    return Report(
        title=title or f"{next(iter(shown.values())).question.id}: {names}",
        setup=Setup(
            facts=(("toolablate", version("toolablate")), ("Store", path.name)),
            models=tuple(map(_described, models)),
            conditions=tuple(map(_described, conditions)),
        ),
        findings=nothing_found({each.name for each in models if each.provider == "simulated"}),
        traces=traces,
        beside=pairs,
        asked_traces=len(traces),
        asked_pairs=len(pairs),
    )


def read_trial(path: Path, trial: str, *, run: str = "all", scorer: str | None = None) -> ReportTrial:
    """One trial by the beginning of its id, explained where there is something to explain. Raises InputError where
    there is none, or several, StoreError."""
    with Store(path) as store:
        identity = store.find_trial(trial)
        return _TrialReading(store, path, explaining(path, run=run, scorer=scorer)).told(identity)


class _Named:
    """Whole ids of the trials that were asked for, found before anything long begins."""

    def __init__(self, store: Store, wanted: ReportSelection) -> None:
        self.traces = tuple(store.find_trial(each) for each in wanted.traces)
        self.beside = tuple((store.find_trial(left), store.find_trial(right)) for left, right in wanted.beside)
        for left, right in self.beside:
            of = [store.trace(trial).trial.question for trial in (left, right)]
            if of[0] != of[1]:
                raise InputError(
                    f"--diff: the trials {left[:10]} and {right[:10]} are of different questions",
                    hint="Name two trials of one question: toolablate show STORE lists them.",
                    code="other_question",
                )


class _TrialReading:
    """Each trial is read once, however often it is shown."""

    def __init__(self, store: Store, path: Path, explain: Callable[[str], Explanation | None]) -> None:
        self._store, self._path, self._explain = store, path, explain
        self._known: dict[str, ReportTrial] = {}

    def told(self, trial: str) -> ReportTrial:
        if trial not in self._known:
            self._known[trial] = self._read(trial)
        return self._known[trial]

    def _read(self, trial: str) -> ReportTrial:
        store, trace = self._store, self._store.trace(trial)
        found = self._explain(trial)
        return ReportTrial(
            trace=trace,
            question=store.question(trace.trial.question),
            model=store.model(trace.trial.model),
            condition=store.condition(trace.trial.condition),
            scores=tuple(sorted(store.scores(trial), key=lambda score: (score.scorer, score.scorer_version))),
            conversation=store.conversation(trial),
            explanation=None if found is None else replace(found, store=self._path.name),
        )


def explaining(path: Path, *, run: str, scorer: str | None) -> Callable[[str], Explanation | None]:
    def explain(trial: str) -> Explanation | None:
        found = read_explanation(path, trial, run=run, scorer=scorer)
        return found if isinstance(found, Explanation) else None

    return explain


def _telling(trials: ViewedTrials, attributed: Mapping[str, Outlined], most: int) -> tuple[Choice, ...]:
    if not most or not trials.comparable:
        return ()
    attributions = {trial: each.attribution for trial, each in attributed.items() if each.attribution is not None}
    values = {seen.trial: seen.value for seen in trials.summaries}
    found = flips(trials.summaries, trials.baseline, order=trials.conditions)
    return telling(found, attributions, values, most)


# A report as files: what `toolablate report` and `toolablate.report` share.


TELLING = 4


def make_report(
    path: Path,
    output: Path | None,
    figures: Path | None = None,
    *,
    alone: bool = False,
    traces: tuple[str, ...] = (),
    beside: tuple[tuple[str, str], ...] = (),
    telling: int | None = None,
    title: str = "",
    run: str = "latest",
    scorer: str | None = None,
    baseline: str | None = None,
    seed: int = 0,
) -> tuple[list[Path], str]:
    """Writes a report on the store at `path` to `output`, with the `traces` and pairs that are named and so many
    `telling` ones more (by default some where none are named), and its figures into a folder; `alone`: the named ones
    without tables and figures. Returns the files, and a warning of what no font has, "" where there is none. Raises
    InputError as `read_for_report` does, and before anything is read for what cannot be written."""
    if output is None and figures is None:
        raise InputError("--output: where to?", hint="-o report.html, .md or .tex; or --figures FOLDER", code="usage")
    if output is not None:
        refuse_output(output)
    if output is None or output.suffix.lower() != ".tex":
        require_matplotlib("report")
    html = output is not None and output.suffix.lower() == ".html"
    if not html and (traces or beside or telling):
        raise InputError(
            "--trial, --diff and --traces: traces are shown in HTML alone", hint="-o report.html", code="usage"
        )
    more = (0 if traces or beside else TELLING) if telling is None else telling
    wanted = ReportSelection(traces, beside, more if html else 0)
    if alone:
        if telling or figures is not None:
            raise InputError("--alone goes without --traces and --figures", hint="Leave one out.", code="usage")
        report = read_alone(path, wanted, explaining(path, run=run, scorer=scorer), title=title)
    else:
        report = read_for_report(path, wanted, title=title, run=run, scorer=scorer, baseline=baseline, seed=seed)
    written = [] if output is None else write_report(report, output)
    if figures is None:
        return written, ""
    drawn, missing = write_figures(report, figures)
    return [*written, *drawn], boxes_note(missing)


SUFFIXES = (".html", ".md", ".tex")
FIGURES = (".svg", ".png")


def refuse_output(path: Path) -> None:
    """Raises InputError where no report can be written to `path`: another kind of file, a store, or a page where what
    makes pages is not installed."""
    if path.suffix.lower() not in SUFFIXES:
        raise InputError(
            f"--output: {path} ends in {path.suffix or 'no suffix'!r}",
            hint=f"Allowed: {', '.join(SUFFIXES)}.",
            code="output",
        )
    refuse_store(path, "--output")
    if path.suffix.lower() == ".html":
        _require_pages()


def write_report(report: Report, path: Path) -> list[Path]:
    """By its suffix; of Markdown with its figures in a folder beside it. Returns the files that were written. Raises
    InputError where one cannot be."""
    match path.suffix.lower():
        case ".md":
            folder = path.with_name(f"{path.stem}_files")
            drawn = {plate.name: plate for plate in plates(report.findings, endings=report.endings)}
            written = [_write(plate, folder, ".svg", "--output")[0] for plate in drawn.values()]
            text = as_markdown(report, {name: f"{folder.name}/{name}.svg" for name in drawn})
        case ".tex":
            written, text = [], as_latex(report)
        case _:
            from toolablate.reports.report.html import as_html

            written, text = [], as_html(report)
    export(text, path, "--output")
    return [path, *written]


def write_figures(report: Report, folder: Path) -> tuple[list[Path], frozenset[str]]:
    """Every figure as SVG and PNG, and the letters that no font of this machine has. Raises InputError where one cannot
    be written."""
    written, missing = [], frozenset[str]()
    for plate in plates(report.findings, endings=report.endings):
        for suffix in FIGURES:
            path, lacking = _write(plate, folder, suffix, "--figures")
            written.append(path)
            missing |= lacking
    return written, missing


def _require_pages() -> None:
    try:
        import jinja2  # noqa: F401
    except ImportError:
        raise InputError(
            "--output: jinja2, which makes pages, is not installed",
            hint=f"{to_install('view')}, or -o report.tex",
            code="no_view",
        ) from None


def _write(plate: Plate, folder: Path, suffix: str, option: str) -> tuple[Path, frozenset[str]]:
    path = folder / f"{plate.name}{suffix}"
    refuse_store(path, option)
    make_folder(path, option)
    return path, write_figure(plate.drawing.figure, path, option=option)
