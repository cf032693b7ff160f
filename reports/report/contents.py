"""What a report contains: its records, the traces chosen for it, and its notes."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from toolablate.analysis.attribution.evidence import Explanation
from toolablate.analysis.findings import Findings
from toolablate.analysis.flips import Flip
from toolablate.analysis.pairing import RIGHT
from toolablate.reports.plots.scores import EndedArm
from toolablate.traces.records import Attribution, Condition, Event, ImportedModel, Model, Question, Score, Trace


@dataclass(frozen=True, slots=True)
class ReportTrial:
    """One trial as it went. `conversation` are its events after those that it goes on from; `explanation` is None where
    there is nothing to explain."""

    trace: Trace
    question: Question
    model: Model
    condition: Condition
    scores: tuple[Score, ...]
    conversation: tuple[Event, ...]
    explanation: Explanation | None = None

    @property
    def trial(self) -> str:
        return self.trace.trial.id

    @property
    def imported(self) -> bool:
        """Only a log of others tells of it, which may tell no times."""
        return isinstance(self.model, ImportedModel)


@dataclass(frozen=True, slots=True)
class TrialPair:
    """Two trials of one question."""

    left: ReportTrial
    right: ReportTrial


@dataclass(frozen=True, slots=True)
class Setup:
    """What the trials stood on, as names and values to read; `models` and `conditions` by their labels."""

    facts: tuple[tuple[str, str], ...]
    models: tuple[tuple[str, str], ...] = ()
    conditions: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """endings     how trials ended, by model and condition
    traces, beside  the trials that are shown, and those that are shown side by side; of each the first were asked for:
                    so many as `asked_traces` and `asked_pairs` say
    """

    title: str
    setup: Setup
    findings: Findings
    endings: Sequence[EndedArm] = ()
    traces: tuple[ReportTrial, ...] = ()
    beside: tuple[TrialPair, ...] = ()
    asked_traces: int = 0
    asked_pairs: int = 0


# What to know of a report's figures.


def simulated_note(findings: Findings) -> str:
    """ "" where every model is a real one."""
    if not findings.simulated:
        return ""
    names = ", ".join(sorted(findings.simulated))
    return f"Simulated, no measurement: {names}. Simulated models imitate one, and say nothing of any that exists."


def how_to_read(findings: Findings) -> Iterator[str]:
    if findings.comparisons:
        yield (
            "An effect is the difference of a condition from the baseline in percentage points, paired over the"
            " questions that are scored under both. Its interval is by a bootstrap over questions; p by a sign-flip"
            " test, and p Holm corrected for all comparisons of its table."
        )
        yield "Some questions flip between any two runs: flips tell of tools where they are more than chance gives."
    if findings.why is not None and findings.why.resolved:
        yield (
            "Mechanisms are shares of an effect that sum to it. What rests on arms or replays was measured; what rests"
            " on traces alone is a hypothesis; what was not replayed is unresolved, and hidden nowhere."
        )


def notes_of(findings: Findings) -> Iterator[str]:
    yield from findings.notes
    if findings.why is not None:
        yield from findings.why.notes
        if findings.why.unreplayed:
            yield "Missing replays: run toolablate attribute STORE --replay"


# Which trials a report shows where nobody says.


UNTELLING = ("own_error", "unknown", "")
"""What says nothing of tools comes last."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A trial, and one of the baseline on the same question to show it beside; by id."""

    trial: str
    baseline: str


def telling(
    flips: Iterable[Flip],
    attributions: Mapping[str, Attribution],
    values: Mapping[str, float | None],
    most: int,
) -> tuple[Choice, ...]:
    """At most so many wrong trials of questions that a condition turned from right to wrong, each of another question:
    in turns of each mechanism that they are attributed to, of each the surest first. `values` are scores of trials in
    [0, 1]."""
    by_mechanism: dict[str, list[_Candidate]] = defaultdict(list)
    for each in _candidates(flips, attributions, values):
        by_mechanism[each.mechanism].append(each)
    columns = [sorted(column, key=_surest_first) for column in by_mechanism.values()]
    columns.sort(key=lambda column: _surest_first(column[0]))
    in_turns = [each for turn in zip_longest(*columns) for each in turn if each is not None]
    in_turns.sort(key=lambda each: each.mechanism in UNTELLING)
    of_questions: dict[str, Choice] = {}
    for each in in_turns:
        of_questions.setdefault(each.question, each.choice)
    return tuple(of_questions.values())[:most]


@dataclass(frozen=True, slots=True)
class _Candidate:
    mechanism: str
    confidence: float
    question: str
    choice: Choice


def _surest_first(each: _Candidate) -> tuple[float, str, str]:
    return -each.confidence, each.question, each.choice.trial


def _candidates(
    flips: Iterable[Flip], attributions: Mapping[str, Attribution], values: Mapping[str, float | None]
) -> Iterator[_Candidate]:
    for flip in flips:
        if flip.direction != "right_to_wrong":
            continue
        right = [trial for trial in flip.baseline_trials if _is_right(values.get(trial))]
        for trial in flip.trials:
            if not _is_right(values.get(trial)):
                found = attributions.get(trial)
                mechanism, confidence = ("", 0.0) if found is None else (found.mechanism, found.confidence)
                choice = Choice(trial, (right or flip.baseline_trials)[0])
                yield _Candidate(mechanism, confidence, flip.question, choice)


def _is_right(value: float | None) -> bool:
    return value is not None and value >= RIGHT
