"""What a trial's page shows first, and how the trial is read for it."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from string import ascii_uppercase

from toolablate.analysis.attribution.evidence import Explanation
from toolablate.analysis.attribution.levels import AGAIN
from toolablate.reports import numbers
from toolablate.reports.cause_wording import right_answer, right_of
from toolablate.reports.html.cards import Card, Text, cut
from toolablate.reports.html.events import event_cards
from toolablate.reports.outline import Timeline, timeline, took
from toolablate.reports.terminal.trace_lines import answer_key_parts
from toolablate.reports.why.changed_runs import AFTER_FIRST, AS_IT_WAS, NO_RESULT
from toolablate.traces.errors import InputError
from toolablate.traces.records import (
    Budget,
    Condition,
    Environment,
    Event,
    ImportedModel,
    Model,
    Question,
    ReplayChange,
    Resumption,
    Score,
    SubstituteName,
    SwapContent,
    Trace,
)
from toolablate.traces.store import Counterfactual, Store
from toolablate.traces.terminal_text import one_line
from toolablate.viewer.index import QuestionRow, TrialRow
from toolablate.viewer.rendering import View
from toolablate.viewer.selection import TrialMark, diff_address, mark_of, trial_address

REMEMBERED = 8


@dataclass(frozen=True, slots=True)
class TrialReading:
    """
    conversation  events of the trace, after those of its parents that it goes on from
    own           the number of its first own event
    attempts      how many there were, this one among them
    replays       what came of those that go on from it
    line          what each event took of the time, the tokens and the cost
    """

    trace: Trace
    conversation: tuple[Event, ...]
    own: int
    cards: tuple[Card, ...]
    question: Question
    model: Model
    condition: Condition
    scores: tuple[Score, ...]
    attempts: int
    replays: tuple[Counterfactual, ...]
    line: Timeline

    @property
    def resumed(self) -> Resumption | None:
        return self.condition.resumed

    @property
    def imported(self) -> bool:
        return isinstance(self.model, ImportedModel)


def read(view: View, trial: str, attempt: int | None) -> TrialReading:
    """Of a trial by its whole id. Raises InputError where there is no such trial or attempt, StoreError."""
    return _read(view.store, trial, attempt, view.index.version())


@lru_cache(maxsize=REMEMBERED)
def recorded(path: Path, trial: str, attempt: int | None, _version: int) -> tuple[Trace, Condition, tuple[Event, ...]]:
    """A trace, its condition, and the events of the trace after those of its parents that it goes on from: what takes
    longest to read, and pages of one trial and of two have in common. Raises InputError, StoreError."""
    with Store(path) as store, store.at_one_moment():
        trace = store.trace(trial, attempt=attempt)
        condition = store.condition(trace.trial.condition)
        # A trial of a plan is the whole of its conversation, and large ones take long to read.
        whole = trace.events if condition.resumed is None else store.conversation(trial, attempt=attempt)
    return trace, condition, whole


@lru_cache(maxsize=REMEMBERED)
def _read(path: Path, trial: str, attempt: int | None, _version: int) -> TrialReading:
    """`_version` is of the index: where it rose, the store may hold something else."""
    with Store(path) as store, store.at_one_moment():
        trace, condition, conversation = recorded(path, trial, attempt, _version)
        model = store.model(trace.trial.model)
        current = trace if attempt is None else store.trace(trial)
        return TrialReading(
            trace=trace,
            conversation=conversation,
            own=len(conversation) - len(trace.events),
            cards=event_cards(conversation, imported=isinstance(model, ImportedModel)),
            question=store.question(trace.trial.question),
            model=model,
            condition=condition,
            scores=store.scores(trial) if current.attempt == trace.attempt else (),
            attempts=max(current.attempt, trace.attempt),
            replays=_replays(store, trial, condition),
            line=timeline(took(conversation)),
        )


def row_of(view: View, trial: str) -> TrialRow | None:
    """None for a replay, which is in no table."""
    try:
        return view.index.trial(trial)
    except InputError:
        return None


@lru_cache(maxsize=REMEMBERED)
def explained(view: View, trial: str, _version: int) -> Explanation | str | None:
    """Or why it cannot be explained, as where several scorers disagree about it."""
    try:
        return view.explain(trial)
    except InputError as error:
        return f"{error.message}. {error.hint}".strip()


def whole_id(view: View, beginning: str) -> str:
    """Raises InputError where no trial begins so, or several; StoreError."""
    with Store(view.store) as store:
        return store.find_trial(beginning)


def _replays(store: Store, trial: str, condition: Condition) -> tuple[Counterfactual, ...]:
    if condition.resumed is not None or not store.resumptions(trial):
        return ()
    found: Mapping[str, Sequence[Counterfactual]] = store.counterfactuals(scorers=store.scorers()[:1], trial=trial)
    return tuple(each for several in found.values() for each in several)


Fact = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Others:
    """The trials of the same question by one model under one condition; `here` where this one is among them."""

    model: str
    condition: str
    marks: tuple[TrialMark, ...]
    here: bool


@dataclass(frozen=True, slots=True)
class ReplaySummary:
    """Replays from one event with one kind of change; `says` how many came out right."""

    event: int
    change: str
    marks: tuple[TrialMark, ...]
    says: str


def facts(reading: TrialReading) -> Iterator[Fact]:
    """How it went, in names and values."""
    trace = reading.trace
    yield "Outcome", {"answered": "answered", "budget": "ran out of budget", "failed": "failed"}[trace.outcome]
    limit = next((event.limit for event in reversed(trace.events) if event.kind == "answer"), None)
    if limit:
        yield "Limit", limit.replace("_", " ")
    if trace.seconds or not reading.imported:
        yield "Took", numbers.duration(trace.seconds)
    usage = trace.usage
    if usage.input_tokens is not None:
        yield (
            "Tokens in",
            f"{usage.input_tokens:,}" + (f" ({usage.cached_tokens:,} cached)" if usage.cached_tokens else ""),
        )
    if usage.output_tokens is not None:
        thought = f" ({usage.reasoning_tokens:,} reasoning)" if usage.reasoning_tokens else ""
        yield "Tokens out", f"{usage.output_tokens:,}{thought}"
    if trace.cost_usd is not None:
        yield "Cost", numbers.dollars(trace.cost_usd)
    calls = sum(event.kind == "tool_call" for event in reading.conversation)
    yield "Events", f"{len(reading.conversation):,}" + (f" ({numbers.counted(calls, 'tool call')})" if calls else "")
    yield "Repeat", str(trace.trial.repeat)
    if reading.attempts > 1:
        yield "Attempt", f"{numbers.ordinal(trace.attempt)} of {reading.attempts}"


def read_answers(reading: TrialReading) -> Iterator[tuple[str, str, str, str]]:
    """By each scorer: its name, the verdict, what it read, and why it read or scored nothing."""
    for score in reading.scores:
        value = "" if score.value in (None, 0, 1) else f" ({score.value:g})"
        read = one_line(", ".join(score.extracted), max_chars=300)
        yield score.scorer, f"{score.verdict}{value}", read, score.reason


def beside_the_answer(reading: TrialReading) -> Iterator[tuple[str, Text]]:
    """What answers are compared with, where it takes more than a line, and what judges said of this one."""
    if reading.scores:
        for title, text in answer_key_parts(reading.question):
            yield title.capitalize(), cut(text, "", "prose")
    for score in reading.scores:
        by = one_line(score.scorer, max_chars=80)
        if score.explanation:
            yield f"How {by} explains its score", cut(score.explanation, "", "prose")
        if score.metadata:
            yield f"What {by} adds", cut(json.dumps(score.metadata, indent=1, ensure_ascii=False), "", "json")
        if score.judgement is not None:
            said = score.judgement.calls[-1].reply.message
            yield (
                f"What the judge {one_line(score.judgement.model.name, max_chars=80)} said",
                cut(said.content, "", "prose"),
            )


@dataclass(frozen=True, slots=True)
class Option:
    """What a question offers: its letter, its text, whether it is right, and whether it was the answer."""

    letter: str
    text: str
    right: bool
    given: bool


OPTION_CHARS, PROMPT_CHARS = 600, 4_000


def options(reading: TrialReading) -> Iterator[Option]:
    question, target = reading.question, reading.question.target
    right = target.letters if target.kind == "choice" else ()
    given = {item.strip() for score in reading.scores for item in score.extracted}
    for letter, text in zip(ascii_uppercase, question.choices, strict=False):
        yield Option(letter, text[:OPTION_CHARS], letter in right, letter in given)


def asked(reading: TrialReading) -> str:
    """The question, as much of it as a reader keeps in sight."""
    prompt = reading.question.prompt
    return prompt if len(prompt) <= PROMPT_CHARS else f"{prompt[:PROMPT_CHARS]} …"


def right(reading: TrialReading) -> str:
    return right_answer(reading.question)


def surroundings(reading: TrialReading) -> Iterator[Fact]:
    """What it ran on, and with what settings."""
    trace, environment = reading.trace, reading.trace.environment
    yield "Trial", trace.trial.id
    yield "Started", trace.started_at.isoformat(sep=" ", timespec="seconds")
    yield "Model", reading.model.to_json()
    yield "Budget", ", ".join(_limits(reading.condition.budget)) or "none"
    yield from _environment(environment)


def _limits(budget: Budget) -> Iterator[str]:
    for name in Budget.model_fields:
        if (value := getattr(budget, name)) is not None:
            yield f"{name.replace('_', ' ')} {value:g}"


def _environment(environment: Environment) -> Iterator[Fact]:
    if environment.sandbox:
        yield "Sandbox", environment.sandbox
    if environment.search:
        yield "Search", environment.search
    for name, versions in (("Software", environment.versions), ("In the sandbox", environment.kernel_versions)):
        if versions:
            yield name, ", ".join(f"{package} {version}" for package, version in versions.items())


def others(
    row: TrialRow, question: QuestionRow, fitting: Collection[str], query: str, *, blind: bool
) -> Iterator[Others]:
    """This one among them, each with the selection that its page goes on with; `fitting` are those that it means."""
    for glance in question.glances:
        marks = tuple(mark_of(each, fitting, query=query, blind=blind) for each in glance.trials)
        here = any(each.trial == row.trial for each in glance.trials)
        yield Others(glance.model, glance.condition, marks, here)


def diff_of(row: TrialRow, question: QuestionRow, baseline: str) -> str:
    """The address of this trial beside one without tools, or of one without tools beside one with; the first that ended
    otherwise, if any did. "" where there is no other."""
    glances = [each for each in question.glances if each.model == row.model]
    if row.condition == baseline:
        found = [trial for each in glances if each.condition != baseline for trial in each.trials]
        return diff_address(row.trial, _telling(found, row).trial) if found else ""
    found = [trial for each in glances if each.condition == baseline for trial in each.trials]
    return diff_address(_telling(found, row).trial, row.trial) if found else ""


def _telling(trials: Sequence[TrialRow], row: TrialRow) -> TrialRow:
    ordered = sorted(
        trials, key=lambda each: ((each.ending == "correct") == (row.ending == "correct"), each.repeat != row.repeat)
    )
    return ordered[0]


def replayed(reading: TrialReading) -> Iterator[ReplaySummary]:
    """By event and change, in the order of events."""
    calls = {number for number, event in enumerate(reading.conversation) if event.kind == "tool_call"}

    def key(each: Counterfactual) -> tuple[int, str]:
        event, change = each.resumption.event, each.resumption.change
        if change.kind == "again" and event in calls:
            return event, f"again, {AS_IT_WAS}"
        name = change_name(change)
        return event, name.replace(AGAIN, AFTER_FIRST) if event == min(calls, default=-1) else name

    for (event, change), group in groupby(sorted(reading.replays, key=key), key):
        several = list(group)
        marks = tuple(_mark(each) for each in several)
        scores = tuple(each.value for each in several if each.value is not None)
        yield ReplaySummary(event, change, marks, right_of(scores) if scores else "not scored")


_CHANGES: Mapping[str, str] = {
    "again": "drawn anew",
    "say": "a message added",
    "drop": "the call left out",
    "answer_now": "asked for its answer at once",
    "ignore_tools": "told to ignore its tool results",
    "extend": "another budget",
    "repair": "the failed call repaired",
}


SWAPPED = "swapped for another question's"
_SWAPS: Mapping[SwapContent, str] = {
    "null": NO_RESULT,
    "placebo": f"the result {SWAPPED}",
    "gold": "with the right answer as the result there",
    "adversarial": "with a wrong answer as the result there",
    "text": "with a given text as the result there",
}
SUBSTITUTES: Mapping[SubstituteName, str] = {
    "sham": "emptied",
    "placebo": SWAPPED,
    "oracle": "swapped for the right answer",
    "adversarial": "swapped for a wrong answer",
}


def change_name(change: ReplayChange) -> str:
    """What is changed, in a few words: those of what happens otherwise, where that tells of it."""
    match change.kind:
        case "swap":
            return _SWAPS[change.content]
        case "rerun":
            tools = ", ".join(map(one_line, change.tools)) or "its tools"
            parts = [
                f"results of {tools} {SUBSTITUTES[change.substitute]}" if change.substitute else "",
                f"{numbers.counted(len(change.shown), 'result')} shown otherwise" if change.shown else "",
                "with another budget" if change.budget else "",
                "with tools that work" if change.sound else "",
            ]
            first = () if change.substitute or change.shown else (AGAIN,)
            return ", ".join((*first, *filter(None, parts)))
        case other:
            return _CHANGES[other]


def _mark(replay: Counterfactual) -> TrialMark:
    ending = "failed" if replay.outcome in (None, "failed") else replay.verdict or "unscored"
    answered = one_line(", ".join(replay.answered), max_chars=60)
    return TrialMark(
        trial_address(replay.trial), ending, f"replay {ending}{f', answered “{answered}”' if answered else ''}"
    )
