"""Runs of a scenario in closed form: every way a trial can go, with its probability and what its tools give."""

import json
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from toolablate.agents.simulated.planted.mind import (
    Influence,
    Situation,
    ToolOutcome,
    believed,
    fits,
    influences,
    script_turns,
)
from toolablate.agents.simulated.planted.scenario import TOOLSET_OF, CallKind, Scenario, Toolset, Turn
from toolablate.agents.simulated.policy import Offer, understood
from toolablate.tools.interventions.built_in import FailOptions
from toolablate.traces.errors import InputError
from toolablate.traces.records import Budget, Condition, Limit, ModelCall, ToolCall, Trace

Mode = Literal["real", "placebo", "sham"]
Offers = Mapping[CallKind, Offer]

_Key = tuple[str, Mode, CallKind, str]

INJECTED = "injected_failure"
"""The error of a call that the intervention `fail` answers in place of its tool."""


@dataclass(frozen=True, slots=True)
class Made:
    """A call of a script and what came back; `broken` where an intervention made it fail, so that its tool was not
    called."""

    kind: CallKind
    asked: str
    output: str
    broken: bool = False

    @property
    def result(self) -> ToolOutcome:
        return ToolOutcome(self.kind, self.output)


class Outputs:
    """Of the calls of one store's trials, by question, under real tools and substitutes.

    A cell of code may depend on the cells before it. Of several outputs of one cell that after the most of them counts,
    so a cell that needs another one should not be in a scenario whose calls fail at random.
    """

    def __init__(self, traces: Iterable[tuple[Trace, str, Condition]]) -> None:
        """`traces` with the id of their question's record and their condition."""
        self._known: dict[_Key, tuple[int, str]] = {}
        for trace, question, condition in traces:
            for key, cells, output in _given(trace, question, condition):
                if key not in self._known or self._known[key][0] < cells:
                    self._known[key] = (cells, output)

    def of(self, scenario: Scenario, mode: Mode, kind: CallKind, asked: str) -> str:
        """What a call gives.

        What no trial has seen lies beyond every budget. Where tools are real, the last such call of a script is taken
        to hold the phrases that nothing seen holds, and the others to hold none; under a placebo a call fails as the
        real one does and holds nothing else; as a sham it is empty.
        """
        key = (scenario.question, mode, kind, asked)
        if key in self._known:
            return self._known[key][1]
        if mode == "real":
            return "\n".join(self._unseen(scenario, kind)) if asked == _last(scenario, kind) else ""
        real = ToolOutcome(kind, self.of(scenario, "real", kind, asked)) if mode == "placebo" else None
        return "Error: " if real is not None and real.failed else ""

    def _unseen(self, scenario: Scenario, kind: CallKind) -> Iterator[str]:
        """The phrases that no result of such a call has held."""
        seen = [
            output.casefold()
            for (question, mode, of, _), (_, output) in self._known.items()
            if (question, mode, of) == (scenario.question, "real", kind)
        ]
        for phrase in _phrases(scenario, kind):
            if not any(phrase.casefold() in output for output in seen):
                yield phrase


def offers_of(trace: Trace) -> Offers:
    """The tools that the model of a trial was told of, by the kinds of calls that they take."""
    return next((understood(event.request.tools) for event in trace.events if isinstance(event, ModelCall)), {})


def calls_of(trace: Trace) -> Iterator[tuple[ToolCall, Made]]:
    """The calls of a trial in order, by what the model was shown for them."""
    kinds = {offer.tool: (kind, offer.argument) for kind, offer in offers_of(trace).items()}
    for event in trace.events:
        if isinstance(event, ToolCall) and event.call.name in kinds:
            kind, argument = kinds[event.call.name]
            asked = str(json.loads(event.call.arguments)[argument])
            yield event, Made(kind, asked, event.output, broken=event.error == INJECTED)


def _given(trace: Trace, question: str, condition: Condition) -> Iterator[tuple[_Key, int, str]]:
    """What each call gave, and how many cells of code had been run before."""
    names = {use.name for use in condition.interventions}
    mode: Mode = "sham" if "sham" in names else "placebo" if "placebo" in names else "real"
    if names & {"oracle", "adversarial"}:
        return
    cells = 0
    for event, made in calls_of(trace):
        if made.broken:
            continue
        yield (question, mode, made.kind, made.asked), cells, made.output
        if mode == "placebo":
            real = event.original.output if event.original else event.output
            yield (question, "real", made.kind, made.asked), cells, real
        cells += made.kind == "code"


def _last(scenario: Scenario, kind: CallKind) -> str | None:
    """What the last call of a kind in a script asks for."""
    script = scenario.scripts.get(TOOLSET_OF[kind])
    turns = script.turns if script else ()
    return next((call.text for turn in reversed(turns) for call in reversed(turn.calls) if call.kind == kind), None)


def _phrases(scenario: Scenario, kind: CallKind) -> Iterator[str]:
    toolset = TOOLSET_OF[kind]
    reactions = scenario.scripts[toolset].reactions if toolset in scenario.scripts else ()
    yield from (reaction.phrase for reaction in reactions if reaction.kind == kind and reaction.when == "holds")


SUBSTITUTES = frozenset({"sham", "placebo"})
_HARMLESS = frozenset({"fail", "delay"}) | SUBSTITUTES


@dataclass(frozen=True, slots=True)
class ScenarioRun:
    """A trial as far as a belief depends on it: how many replies made calls, the calls that were executed, and the
    limit that ended it."""

    turns: int = 0
    made: tuple[Made, ...] = ()
    limit: Limit | None = None

    @property
    def toolsets(self) -> frozenset[Toolset]:
        """Those that gave results."""
        return frozenset(TOOLSET_OF[made.kind] for made in self.made)

    @property
    def fault(self) -> int | None:
        """The first call that failed by an intervention while no later call to its tool worked."""
        kinds = {made.kind for made in self.made}
        faults = (_last_fault(self.made, kind) for kind in kinds)
        return min((place for place in faults if place is not None), default=None)


@dataclass(frozen=True, slots=True)
class ScenarioSetup:
    """One question under one condition with tools."""

    scenario: Scenario
    right: str
    condition: Condition
    offers: Offers
    outputs: Outputs
    _levels: dict[object, float] = field(default_factory=dict, compare=False)

    def believed(self, run: ScenarioRun, without: Sequence[Influence] = ()) -> dict[str, float]:
        """The probability of each letter at the end of a run, without some of what moved it there."""
        return believed(self.scenario, (each for each in self.influences(run) if each not in without))

    def influences(self, run: ScenarioRun) -> tuple[Influence, ...]:
        return influences(self.scenario, self.situation(run))

    def situation(self, run: ScenarioRun) -> Situation:
        results = tuple(made.result for made in run.made)
        return Situation(bool(self.condition.prompt), frozenset(self.offers), run.turns, results)

    def in_form(self, run: ScenarioRun) -> float:
        """The probability that its answer is in the form that was asked for."""
        return 1 - self.scenario.loses_format if run.turns and run.limit is None else 1.0

    def level(self, way: "Way") -> float:
        """The mean score of runs that go this way, with lost forms re-asked."""
        if way.key not in self._levels:
            ended = runs(self, way)
            self._levels[way.key] = sum(probability * self.believed(run)[self.right] for probability, run in ended)
        return self._levels[way.key]


@dataclass(frozen=True, slots=True)
class Way:
    """How runs go on.

    given  results that are what they were, by the places of their calls among all
    modes  which results other calls have, real ones where it does not say
    fails  whether the condition makes some of these fail: as it does for the trial `trial`, and by chance where that is
           ""
    """

    budget: Budget
    given: Mapping[int, Made] = field(default_factory=dict)
    modes: Mapping[Toolset, Mode] = field(default_factory=dict)
    fails: bool = True
    trial: str = ""

    @property
    def key(self) -> object:
        limits = (self.budget.turns, self.budget.tool_calls)
        return (limits, frozenset(self.given.items()), frozenset(self.modes.items()), self.fails, self.trial)


def runs(setup: ScenarioSetup, way: Way) -> list[tuple[float, ScenarioRun]]:
    """All runs with their probabilities, which sum to 1; of runs that come to the same, one stands for all. Of limits
    those of turns and of tool calls are known."""
    turns = [turn for _, turn in script_turns(setup.scenario, frozenset(setup.offers))]
    going, ended = [(1.0, ScenarioRun())], list[tuple[float, ScenarioRun]]()
    for turn in turns:
        if all(run.turns >= way.budget.turns for _, run in going):
            break
        after = [(p * q, more) for p, run in going for q, more in _through(setup, way, run, turn)]
        ended += [(p, run) for p, run in after if run.limit]
        going = [(p, run) for p, run in after if not run.limit]
    return ended + [(p, replace(run, limit=_before_answer(run, way.budget))) for p, run in going]


def _before_answer(run: ScenarioRun, budget: Budget) -> Limit | None:
    return "turns" if run.turns >= budget.turns else None


def _through(setup: ScenarioSetup, way: Way, run: ScenarioRun, turn: Turn) -> Iterator[tuple[float, ScenarioRun]]:
    """One more reply with the calls that it makes, each of which may fail."""
    branches = [(1.0, run.made)]
    left = max(way.budget.tool_calls - len(run.made), 0)
    for call in turn.calls[:left]:
        branches = _merged(
            setup,
            [
                (p * q, (*made, more))
                for p, made in branches
                for q, more in _called(setup, way, call.kind, call.text, made)
            ],
        )
    limit: Limit | None = "tool_calls" if left < len(turn.calls) else None
    for p, made in branches:
        yield p, ScenarioRun(run.turns + 1, made, limit)


def _merged(
    setup: ScenarioSetup, branches: Sequence[tuple[float, tuple[Made, ...]]]
) -> list[tuple[float, tuple[Made, ...]]]:
    """One for all that move the belief alike, before their first fault and in all."""
    if len(branches) < 2:
        return list(branches)
    found: dict[object, tuple[float, tuple[Made, ...]]] = {}
    for p, made in branches:
        marks = _marks(setup, made), *(_fault_of(setup, made, kind) for kind in sorted(setup.offers))
        before, kept = found.get(marks, (0.0, made))
        found[marks] = (before + p, kept)
    return list(found.values())


def _fault_of(setup: ScenarioSetup, made: tuple[Made, ...], kind: CallKind) -> object:
    place = _last_fault(made, kind)
    return None if place is None else (place, _marks(setup, made[:place]))


def _last_fault(made: Sequence[Made], kind: CallKind) -> int | None:
    """The first call of a kind that an intervention broke, of those after which none of that kind worked."""
    found: int | None = None
    for place, each in enumerate(made):
        if each.kind == kind:
            found = None if not each.result.failed else place if found is None and each.broken else found
    return found


def _marks(setup: ScenarioSetup, made: Sequence[Made]) -> tuple[object, ...]:
    """What results do to a belief, now and as far as it depends on what is still to come."""
    results = [each.result for each in made]
    reactions = (each for script in setup.scenario.scripts.values() for each in script.reactions)
    last = {each.kind: each.failed for each in results}
    return (tuple(fits(each, results) for each in reactions), tuple(sorted(last.items())))


def _called(
    setup: ScenarioSetup, way: Way, kind: CallKind, asked: str, before: tuple[Made, ...]
) -> Iterator[tuple[float, Made]]:
    if (given := way.given.get(len(before))) is not None:
        yield 1.0, given
        return
    broken, message = _failing(setup, way, kind, before) if way.fails else (0.0, "")
    if broken:
        yield broken, Made(kind, asked, message, broken=True)
    if broken < 1:
        mode = way.modes.get(TOOLSET_OF[kind], "real")
        yield 1 - broken, Made(kind, asked, setup.outputs.of(setup.scenario, mode, kind, asked))


def _failing(setup: ScenarioSetup, way: Way, kind: CallKind, before: Sequence[Made]) -> tuple[float, str]:
    """The probability that the next call fails, and what the model is shown then: the last intervention says it."""
    works, message = 1.0, ""
    failing = (use for use in setup.condition.interventions if use.name == "fail")
    for place, use in enumerate(failing):
        options = FailOptions.model_validate(dict(use.options))
        tools = options.tools
        in_scope = [made for made in before if tools is None or setup.offers[made.kind].tool in tools]
        ours = tools is None or setup.offers[kind].tool in tools
        if not ours or (options.calls is not None and len(in_scope) + 1 not in options.calls):
            continue
        draw = random.Random(f"{way.trial} fail {place} {len(before) + 1}").random()  # noqa: S311 - a simulation
        fails = float(draw < options.rate) if way.trial else options.rate
        works, message = works * (1 - fails), options.message if fails else message
    return 1 - works, message


def doubled(budget: Budget) -> Budget:
    return budget.model_copy(update={"turns": 2 * budget.turns, "tool_calls": 2 * budget.tool_calls})


def refuse_unknown(condition: Condition) -> None:
    """Raises InputError for a condition whose runs have no closed form here."""
    others = sorted({use.name for use in condition.interventions} - _HARMLESS)
    if others:
        found, hint = f"the intervention {others[0]!r}", f"known are {', '.join(sorted(_HARMLESS))}"
    elif condition.budget.tokens is not None or condition.budget.cost_usd is not None:
        found, hint = "a limit of tokens or cost_usd", "known are those of turns and tool_calls"
    else:
        return
    raise InputError(
        f"condition {condition.name!r} has {found}, under which no truth can be computed", hint=hint, code="no_truth"
    )
