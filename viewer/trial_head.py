"""What stands above the events of a trial: what it is, how it ended, and where else to look."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from toolablate.reports import numbers
from toolablate.reports.html.addresses import diff_address, trial_address
from toolablate.reports.html.cards import Text, cut
from toolablate.reports.html.durations import duration
from toolablate.reports.terminal.causes import right_answer, right_of
from toolablate.reports.terminal.events import answer_key_parts
from toolablate.reports.terminal.explanation import AS_IT_WAS, NO_RESULT, REASONED_AGAIN, SWAPPED
from toolablate.traces.plain import one_line
from toolablate.traces.records import Budget, Environment, ReplayChange, StandInName, SwapContent
from toolablate.traces.store import Counterfactual
from toolablate.viewer.glances import Mark, mark_of
from toolablate.viewer.index import QuestionRow, TrialRow
from toolablate.viewer.trial_reading import Reading

Fact = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Others:
    """The trials of the same question by one model under one condition; `here` where this one is among them."""

    model: str
    condition: str
    marks: tuple[Mark, ...]
    here: bool


@dataclass(frozen=True, slots=True)
class Replayed:
    """Replays from one event with one kind of change; `says` how many came out right."""

    event: int
    change: str
    marks: tuple[Mark, ...]
    says: str


def facts(reading: Reading) -> Iterator[Fact]:
    """How it went, in names and values."""
    trace = reading.trace
    yield "Outcome", {"answered": "answered", "budget": "ran out of budget", "failed": "failed"}[trace.outcome]
    limit = next((event.limit for event in reversed(trace.events) if event.kind == "answer"), None)
    if limit:
        yield "Limit", limit.replace("_", " ")
    if trace.seconds or not reading.imported:
        yield "Took", duration(trace.seconds)
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


def read_answers(reading: Reading) -> Iterator[tuple[str, str, str, str]]:
    """By each scorer: its name, the verdict, what it read, and why it read or scored nothing."""
    for score in reading.scores:
        value = "" if score.value in (None, 0, 1) else f" ({score.value:g})"
        read = one_line(", ".join(score.extracted), max_chars=300)
        yield score.scorer, f"{score.verdict}{value}", read, score.reason


def beside_the_answer(reading: Reading) -> Iterator[tuple[str, Text]]:
    """What answers are compared with, where it takes more than a line, and what judges said of this one."""
    if reading.scores:
        for title, text in answer_key_parts(reading.question):
            yield title.capitalize(), cut(text, "", "prose")
    for score in reading.scores:
        by = one_line(score.scorer, max_chars=80)
        if score.explanation:
            yield f"How {by} explains its score", cut(score.explanation, "", "prose")
        if score.metadata:
            yield f"What {by} adds", cut(json.dumps(score.metadata, indent=1, ensure_ascii=False), "", "prose")
        if score.judgement is not None:
            said = score.judgement.calls[-1].reply.message
            yield (
                f"What the judge {one_line(score.judgement.model.name, max_chars=80)} said",
                cut(said.content, "", "prose"),
            )


def right(reading: Reading) -> str:
    return right_answer(reading.question)


def surroundings(reading: Reading) -> Iterator[Fact]:
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


def replayed(reading: Reading) -> Iterator[Replayed]:
    """By event and change, in the order of events."""
    calls = {number for number, event in enumerate(reading.conversation) if event.kind == "tool_call"}

    def key(each: Counterfactual) -> tuple[int, str]:
        event, change = each.resumption.event, each.resumption.change
        return event, f"again, {AS_IT_WAS}" if change.kind == "again" and event in calls else change_name(change)

    for (event, change), group in groupby(sorted(reading.replays, key=key), key):
        several = list(group)
        marks = tuple(_mark(each) for each in several)
        scores = tuple(each.value for each in several if each.value is not None)
        yield Replayed(event, change, marks, right_of(scores) if scores else "not scored")


_CHANGES: Mapping[str, str] = {
    "again": "drawn anew",
    "say": "a message added",
    "drop": "the call left out",
    "answer_now": "asked for its answer at once",
    "set_aside": "told to set its tools' results aside",
    "extend": "another budget",
    "repair": "the call that went wrong mended",
}


_SWAPS: Mapping[SwapContent, str] = {
    "null": NO_RESULT,
    "placebo": f"the result {SWAPPED}",
    "gold": "with the right answer as the result there",
    "adversarial": "with a wrong answer as the result there",
    "text": "with a given text as the result there",
}
_STAND_INS: Mapping[StandInName, str] = {
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
                f"results of {tools} {_STAND_INS[change.stand_in]}" if change.stand_in else "",
                f"{numbers.counted(len(change.shown), 'result')} shown otherwise" if change.shown else "",
                "with another budget" if change.budget else "",
                "with tools that work" if change.sound else "",
            ]
            first = () if change.stand_in or change.shown else (REASONED_AGAIN,)
            return ", ".join((*first, *filter(None, parts)))
        case other:
            return _CHANGES[other]


def _mark(replay: Counterfactual) -> Mark:
    ending = "failed" if replay.outcome in (None, "failed") else replay.verdict or "unscored"
    answered = one_line(", ".join(replay.answered), max_chars=60)
    return Mark(trial_address(replay.trial), ending, f"replay {ending}{f', answered “{answered}”' if answered else ''}")
