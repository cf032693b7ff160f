"""What an attribution says, put to the events that it speaks of."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence

from markupsafe import Markup

from toolablate.analysis.attribution.belief import Belief
from toolablate.analysis.attribution.evidence import Explanation
from toolablate.reports.html.cards import Marks, Quote
from toolablate.reports.html.inert import inert
from toolablate.reports.html.quoting import quotes_of
from toolablate.reports.terminal.causes import attributed, chance, method_name

_EVENTS = re.compile(r"\bevents? \d{1,9}(?:(?:, | to | and )\d{1,9})*")
_NUMBER = re.compile(r"\d+")


def marks_of(told: Explanation) -> Mapping[int, Marks]:
    """By the numbers of events; those of which nothing is said are not among them."""
    evidence, attribution = told.explained.evidence, told.explained.attribution
    speaks: defaultdict[int, dict[str, list[str]]] = defaultdict(dict)
    for each in (() if attribution is None else (attribution,)) + told.explained.hypotheses:
        if each.mechanism != "unknown":
            for event in each.evidence:
                speaks[event].setdefault(attributed(each), []).append(method_name(each))
    for diagnosis in evidence.diagnoses:
        if diagnosis.error_type is not None:
            for event in diagnosis.evidence:
                speaks[event].setdefault(diagnosis.error_type.replace("_", " "), []).append("by a judge")
    falls = frozenset(falling(told))
    beliefs = {}
    if evidence.trajectory is not None:
        known = {each.step: each for each in evidence.trajectory.beliefs}
        beliefs = {event: known[step] for step, event in enumerate(evidence.steps) if step in known}
    quotes: defaultdict[int, list[Quote]] = defaultdict(list)
    for event, quote in quotes_of(told):
        quotes[event].append(quote)
    events = sorted({*speaks, *falls, *beliefs, *quotes})
    return {
        event: Marks(
            evidence=tuple(_evidence(name, methods) for name, methods in speaks[event].items()),
            belief=believed(beliefs[event]) if event in beliefs else "",
            falls=event in falls,
            quotes=tuple(dict.fromkeys(quotes[event])) if event in quotes else (),
        )
        for event in events
    }


def _evidence(name: str, methods: Sequence[str]) -> str:
    return f"evidence for {name}, {' and '.join(dict.fromkeys(methods))}"


def falling(told: Explanation) -> range:
    """The events between the last belief before the fall and the first after it."""
    flip, steps = told.explained.evidence.flip, told.explained.evidence.steps
    return range(0) if flip is None else range(steps[flip.after], steps[flip.step])


def believed(belief: Belief) -> str:
    """`.80 (.40 to .96)`, of samples at one step."""
    right = belief.right
    return f"{chance(right.mean)} ({chance(right.low)} to {chance(right.high)})"


def evidence_events(told: Explanation) -> Sequence[int]:
    """Of the attribution that counts, and where the belief falls."""
    attribution = told.explained.attribution
    return sorted({*(attribution.evidence if attribution else ()), *falling(told)[:1]})


def with_links(sentence: str, address: Callable[[int], str]) -> Markup:
    """A sentence of ours in which events that it names lead to them."""
    return Markup("").join(_linked(sentence, address))


def _linked(sentence: str, address: Callable[[int], str]) -> Iterator[Markup]:
    place = 0
    for named in _EVENTS.finditer(sentence):
        for number in _NUMBER.finditer(sentence, named.start(), named.end()):
            yield inert(sentence[place : number.start()])
            yield Markup('<a href="{}">{}</a>').format(address(int(number[0])), number[0])
            place = number.end()
    yield inert(sentence[place:])
