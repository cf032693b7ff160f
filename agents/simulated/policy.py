"""Which tools a simulated model calls next, and what it writes."""

import json
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from toolablate.agents.simulated.simulated_belief import Finding, Kind
from toolablate.traces.records import Message, ToolSpec

Intent = tuple[Kind, ...]

_URL = re.compile(r"https?://[^\s<>\"')\]]+")
_DOCUMENT = re.compile(r"^<document name=.*>\n(.*(?:\n(?!</document>$).*)*)", re.MULTILINE)
_OPENS = 0.6
_BOTH_AT_ONCE = 0.3
_TWO_AT_ONCE = 0.3


@dataclass(frozen=True, slots=True)
class Offer:
    """A tool that the model understands, by the one argument that it would fill in."""

    tool: str
    argument: str


def understood(specs: Sequence[ToolSpec]) -> dict[Kind, Offer]:
    """The first tool of each kind: one that takes code, an address, or any other single text."""
    offers: dict[Kind, Offer] = {}
    for spec in specs:
        found = _understand(spec)
        if found:
            offers.setdefault(found[0], Offer(spec.name, found[1]))
    return offers


def _understand(spec: ToolSpec) -> tuple[Kind, str] | None:
    properties = spec.parameters.get("properties")
    required = spec.parameters.get("required")
    names = list(properties) if isinstance(properties, dict) else []
    needed = [str(name) for name in required] if isinstance(required, list) else []
    known: dict[str, Kind] = {"code": "code", "query": "query", "url": "open"}
    for name, kind in known.items():
        if name in names and set(needed) <= {name}:
            return kind, name
    return ("query", needed[0]) if len(needed) == 1 and len(names) == 1 else None


def intentions(
    offers: Mapping[Kind, Offer], programs: Sequence[str], eagerness: float, rng: random.Random, *, must: bool
) -> list[Intent]:
    """The turns with tool calls that a model has in mind before its first; `must` where it is required to call one."""
    # Every draw is made whether it is needed or not, so that what one tool does never depends on another being offered.
    coding, searching = rng.random() < eagerness, rng.random() < eagerness
    together, code_first, opening = rng.random() < _BOTH_AT_ONCE, rng.random() < 0.5, rng.random() < _OPENS
    can_code, can_search = "code" in offers and bool(programs), "query" in offers
    codes, searches = can_code and coding, can_search and searching
    if must and not (codes or searches):
        codes, searches = can_code, can_search and not can_code
    search_turns: list[Intent] = [("query",)]
    if opening and "open" in offers:
        search_turns.append(("open",))
    if not searches:
        return [("code",)] if codes else []
    if not codes:
        return search_turns
    if together:
        return [("query", "code"), *search_turns[1:]]
    return [("code",), *search_turns] if code_first else [*search_turns, ("code",)]


def findings(messages: Sequence[Message], offers: Mapping[Kind, Offer]) -> list[Finding]:
    """The documents that stand in the question, then the calls of a conversation with their results, in order."""
    kinds = {offer.tool: (kind, offer.argument) for kind, offer in offers.items()}
    found: list[Finding] = []
    calls: dict[str, tuple[Kind, str]] = {}
    for message in messages:
        if message.role == "user":
            found += [Finding("open", "", text) for text in _DOCUMENT.findall(message.content)]
        for call in message.tool_calls:
            kind, argument = kinds.get(call.name, ("query", ""))
            calls[call.id] = (kind, _argument(call.arguments, argument))
        if message.role == "tool" and message.tool_call_id in calls:
            kind, asked = calls[message.tool_call_id]
            found.append(Finding(kind, asked, message.content))
    return found


def _argument(arguments: str, name: str) -> str:
    try:
        parsed = json.loads(arguments)
    except ValueError:
        return arguments
    return str(parsed.get(name, "")) if isinstance(parsed, dict) else arguments


def next_calls(
    turns: Sequence[Intent],
    offers: Mapping[Kind, Offer],
    seen: Sequence[Finding],
    turn: int,
    programs: Sequence[str],
    queries: Sequence[str],
    rng: random.Random,
) -> list[tuple[str, dict[str, str]]]:
    """The calls of turn number `turn`, as (tool, arguments); none where the model would rather answer."""
    intent: Intent = turns[turn] if turn < len(turns) else ()
    if not intent and _failed_code(seen) and 0 < _count(seen, "code") < len(programs):
        intent = ("code",)
    calls: list[tuple[str, dict[str, str]]] = []
    for kind in intent:
        offer = offers[kind]
        calls += [(offer.tool, {offer.argument: text}) for text in _texts(kind, seen, programs, queries, rng)]
    if intent == ("open",) and not calls and turn + 1 < len(turns):
        return next_calls(turns[turn + 1 :], offers, seen, 0, programs, queries, rng)
    return calls


def _texts(
    kind: Literal["code", "query", "open"],
    seen: Sequence[Finding],
    programs: Sequence[str],
    queries: Sequence[str],
    rng: random.Random,
) -> list[str]:
    several = 2 if rng.random() < _TWO_AT_ONCE else 1
    if kind == "code":
        return [programs[_count(seen, "code") % len(programs)]]
    if kind == "query":
        return list(queries[:several])
    shown = [url for finding in seen if finding.kind == "query" for url in _URL.findall(finding.output)]
    return list(dict.fromkeys(shown))[:several]


def _count(seen: Sequence[Finding], kind: Kind) -> int:
    return sum(finding.kind == kind for finding in seen)


def _failed_code(seen: Sequence[Finding]) -> bool:
    ran = [finding for finding in seen if finding.kind == "code"]
    return bool(ran) and ran[-1].failed


# What a simulated model writes.


_BEFORE_CODE = ("Let me compute this.", "I will check this with a short program.", "A quick calculation should help.")
_BEFORE_SEARCH = ("Let me look this up.", "I will search for this.", "I should check the literature.")
_BEFORE_OPENING = ("I will read what was found.", "Let me open the most promising page.")
_FROM_MEMORY = ("From what I know of the matter, one answer stands out.", "This follows from first principles.")
_FROM_CODE = ("The program ended with this: {}", "The computation gives: {}")
_FROM_READING = ("What I found says: {}", "The sources have this: {}")
# Nothing here may hold a letter, a number or a choice's text that could be taken for an answer.
_CARELESS = (
    "I am fairly confident in my conclusion, as the reasoning above shows.",
    "It comes down to the point made above, and that settles it for me.",
)
_QUOTED_CHARACTERS = 160


def before_calls(kinds: Sequence[str], rng: random.Random) -> str:
    if "code" in kinds:
        return rng.choice(_BEFORE_CODE)
    return rng.choice(_BEFORE_OPENING if "open" in kinds else _BEFORE_SEARCH)


def final_reply(answer: str, seen: Sequence[Finding], rng: random.Random, *, careless: bool) -> str:
    """A short argument, then the answer in the form that is asked for, or so that it cannot be extracted."""
    useful = [finding for finding in seen if not finding.failed and finding.output.strip()]
    if careless:
        return rng.choice(_CARELESS)
    if not useful:
        return f"{rng.choice(_FROM_MEMORY)}\n\nAnswer: {answer}"
    last = useful[-1]
    lines = last.output.strip().splitlines()
    quoted = lines[-1] if last.kind == "code" else lines[min(1, len(lines) - 1)]
    argument = rng.choice(_FROM_CODE if last.kind == "code" else _FROM_READING)
    return f"{argument.format(quoted.strip()[:_QUOTED_CHARACTERS])}\n\nAnswer: {answer}"
