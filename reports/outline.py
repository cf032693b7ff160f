"""What an outline says of an event in a line, and what each event took of its trial's time, tokens and cost."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from toolablate.reports import numbers
from toolablate.traces.records import Event, ToolRequest, Usage
from toolablate.traces.terminal_text import one_line

GIST_CHARS = 120
_TELLING = ("query", "url", "code", "pattern", "id")
"""Arguments that say what a call is for; of others the first text does, else all of them."""
_LONGEST_READ = 20_000
"""Characters of arguments that are taken apart."""


def gist(event: Event) -> str:
    """The query, the address or the first line of code of a call; of a reply its first words where it calls something,
    else its last ones, which are the answer. "" where there is nothing of the kind."""
    match event.kind:
        case "tool_call":
            return _of_call(event.call)
        case "model_call":
            message = event.reply.message
            said = _first(message.content) if message.tool_calls else _last(message.content)
            return said or (_of_call(message.tool_calls[0]) if len(message.tool_calls) == 1 else "")
        case "answer":
            return _last(event.text)
        case "failure":
            return _first(event.message)
        case _:
            return ""


def _of_call(call: ToolRequest) -> str:
    try:
        given = json.loads(call.arguments, strict=False) if len(call.arguments) <= _LONGEST_READ else None
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict):
        return _first(call.arguments)
    named = [given[name] for name in _TELLING if isinstance(given.get(name), str)]
    texts = named or [value for value in given.values() if isinstance(value, str)]
    # Of an address what all of them begin with would be the most that fits.
    return _first(texts[0] if texts else call.arguments if given else "").removeprefix("https://")


def _first(text: str) -> str:
    return next((_short(line) for line in text[:_LONGEST_READ].splitlines() if line.strip()), "")


def _last(text: str) -> str:
    return next((_short(line) for line in reversed(text[-_LONGEST_READ:].splitlines()) if line.strip()), "")


def _short(line: str) -> str:
    return one_line(line.strip()[: 2 * GIST_CHARS], max_chars=GIST_CHARS)


# What each event took.


Lane = Literal["time", "tokens", "cost"]
LEAST_DRAWN = 0.15
"""Percent of a lane: what is closer to what was drawn before it is not seen."""


@dataclass(frozen=True, slots=True)
class Spent:
    """What one event took of one lane: from `start` on, `width` wide, both in percent of the whole trial. `says` tells
    both and how much was taken when it ended."""

    lane: Lane
    start: float
    width: float
    says: str


@dataclass(frozen=True, slots=True)
class Took:
    """In figures: seconds, US dollars; `tokens` and `cost` are None where the event tells of none."""

    number: int
    kind: str
    at: float
    seconds: float
    tokens: int | None = None
    cost: float | None = None


@dataclass(frozen=True, slots=True)
class Timeline:
    """`totals` are the lanes that there are with what is at their ends; `events` what each event took, by number, and
    `kinds` what each is, as records call it."""

    totals: tuple[tuple[Lane, str], ...]
    events: Mapping[int, tuple[Spent, ...]]
    kinds: Mapping[int, str]

    def of(self, number: int) -> tuple[Spent, ...]:
        return self.events.get(number, ())

    def lane(self, name: Lane) -> Iterator[tuple[int, Spent]]:
        """With the numbers of events; of those that nobody would tell apart the first."""
        drawn = -LEAST_DRAWN
        for number, several in self.events.items():
            for each in several:
                end = each.start + each.width
                if each.lane == name and max(each.width, end - drawn) >= LEAST_DRAWN:
                    drawn = end
                    yield number, each


def tokens_of(usage: Usage) -> int | None:
    """In and out together; None where an endpoint told neither."""
    told = [count for count in (usage.input_tokens, usage.output_tokens) if count is not None]
    return sum(told) if told else None


def took(events: Sequence[Event]) -> Iterator[Took]:
    for number, event in enumerate(events):
        match event.kind:
            case "model_call":
                yield Took(number, event.kind, event.at, event.seconds, tokens_of(event.reply.usage), event.cost_usd)
            case "failure":
                yield Took(number, event.kind, event.at, event.seconds, None, event.cost_usd)
            case _:
                yield Took(number, event.kind, event.at, event.seconds)


def timeline(figures: Iterable[Took]) -> Timeline:
    found = tuple(figures)
    seconds = max((each.at + each.seconds for each in found), default=0.0)
    tokens = sum(each.tokens or 0 for each in found)
    cost = sum(each.cost or 0.0 for each in found)
    lanes: tuple[tuple[Lane, float, str], ...] = (
        ("time", seconds, numbers.duration(seconds)),
        ("tokens", tokens, f"{tokens:,}"),
        ("cost", cost, numbers.dollars(cost)),
    )
    events: dict[int, list[Spent]] = {each.number: [] for each in found}
    for lane, total, _ in lanes:
        if total:
            for number, spent in _along(lane, total, found):
                events[number].append(spent)
    return Timeline(
        totals=tuple((lane, said) for lane, total, said in lanes if total),
        events={number: tuple(several) for number, several in events.items() if several},
        kinds={each.number: each.kind for each in found},
    )


def _along(lane: Lane, total: float, figures: Sequence[Took]) -> Iterator[tuple[int, Spent]]:
    taken = 0.0
    for each in figures:
        own = {"time": each.seconds, "tokens": each.tokens, "cost": each.cost}[lane]
        begins = each.at if lane == "time" else taken
        if not own:
            continue
        taken = begins + own
        share, until = 100 * own / total, min(100 * taken / total, 100.0)
        says = f"{_figure(lane, own)}, {share:.0f} % of the {lane}; {until:.0f} % when it ended"
        yield each.number, Spent(lane, min(100 * begins / total, 100.0), min(share, 100.0), says)


def _figure(lane: Lane, value: float) -> str:
    if lane == "tokens":
        return f"{value:,.0f} tokens"
    return numbers.dollars(value) if lane == "cost" else numbers.duration(value)
