"""Runs of a scene in closed form: every way a trial can go, with its probability, and what the model then believes."""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from toolablate.agents.simulated.planted.mind import (
    Influence,
    Situation,
    believed,
    fits,
    influences,
    script_turns,
)
from toolablate.agents.simulated.planted.scene import TOOLSET_OF, CallKind, Scene, Toolset, Turn
from toolablate.experiments.planted.outputs import Made, Mode, Offers, Outputs
from toolablate.tools.interventions.built_in import FailOptions
from toolablate.traces.errors import InputError
from toolablate.traces.records import Budget, Condition, Limit

STAND_INS = frozenset({"sham", "placebo"})
_HARMLESS = frozenset({"fail", "delay"}) | STAND_INS


@dataclass(frozen=True, slots=True)
class Run:
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
class World:
    """One question under one condition with tools."""

    scene: Scene
    right: str
    condition: Condition
    offers: Offers
    outputs: Outputs
    _levels: dict[object, float] = field(default_factory=dict, compare=False)

    def believed(self, run: Run, without: Sequence[Influence] = ()) -> dict[str, float]:
        """The probability of each letter at the end of a run, without some of what moved it there."""
        return believed(self.scene, (each for each in self.influences(run) if each not in without))

    def influences(self, run: Run) -> tuple[Influence, ...]:
        return influences(self.scene, self.situation(run))

    def situation(self, run: Run) -> Situation:
        results = tuple(made.result for made in run.made)
        return Situation(bool(self.condition.prompt), frozenset(self.offers), run.turns, results)

    def in_form(self, run: Run) -> float:
        """The probability that its answer is in the form that was asked for."""
        return 1 - self.scene.loses_format if run.turns and run.limit is None else 1.0

    def level(self, way: "Way") -> float:
        """The mean score of runs that go this way, with lost forms mended."""
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


def runs(world: World, way: Way) -> list[tuple[float, Run]]:
    """All runs with their probabilities, which sum to 1; of runs that come to the same, one stands for all. Of limits
    those of turns and of tool calls are known."""
    turns = [turn for _, turn in script_turns(world.scene, frozenset(world.offers))]
    going, ended = [(1.0, Run())], list[tuple[float, Run]]()
    for turn in turns:
        if all(run.turns >= way.budget.turns for _, run in going):
            break
        after = [(p * q, more) for p, run in going for q, more in _through(world, way, run, turn)]
        ended += [(p, run) for p, run in after if run.limit]
        going = [(p, run) for p, run in after if not run.limit]
    return ended + [(p, replace(run, limit=_before_answer(run, way.budget))) for p, run in going]


def _before_answer(run: Run, budget: Budget) -> Limit | None:
    return "turns" if run.turns >= budget.turns else None


def _through(world: World, way: Way, run: Run, turn: Turn) -> Iterator[tuple[float, Run]]:
    """One more reply with the calls that it makes, each of which may fail."""
    branches = [(1.0, run.made)]
    left = max(way.budget.tool_calls - len(run.made), 0)
    for call in turn.calls[:left]:
        branches = _merged(
            world,
            [
                (p * q, (*made, more))
                for p, made in branches
                for q, more in _called(world, way, call.kind, call.text, made)
            ],
        )
    limit: Limit | None = "tool_calls" if left < len(turn.calls) else None
    for p, made in branches:
        yield p, Run(run.turns + 1, made, limit)


def _merged(world: World, branches: Sequence[tuple[float, tuple[Made, ...]]]) -> list[tuple[float, tuple[Made, ...]]]:
    """One for all that move the belief alike, before their first fault and in all."""
    if len(branches) < 2:
        return list(branches)
    found: dict[object, tuple[float, tuple[Made, ...]]] = {}
    for p, made in branches:
        marks = _marks(world, made), *(_fault_of(world, made, kind) for kind in sorted(world.offers))
        before, kept = found.get(marks, (0.0, made))
        found[marks] = (before + p, kept)
    return list(found.values())


def _fault_of(world: World, made: tuple[Made, ...], kind: CallKind) -> object:
    place = _last_fault(made, kind)
    return None if place is None else (place, _marks(world, made[:place]))


def _last_fault(made: Sequence[Made], kind: CallKind) -> int | None:
    """The first call of a kind that an intervention broke, of those after which none of that kind worked."""
    found: int | None = None
    for place, each in enumerate(made):
        if each.kind == kind:
            found = None if not each.result.failed else place if found is None and each.broken else found
    return found


def _marks(world: World, made: Sequence[Made]) -> tuple[object, ...]:
    """What results do to a belief, now and as far as it depends on what is still to come."""
    results = [each.result for each in made]
    reactions = (each for script in world.scene.scripts.values() for each in script.reactions)
    last = {each.kind: each.failed for each in results}
    return (tuple(fits(each, results) for each in reactions), tuple(sorted(last.items())))


def _called(
    world: World, way: Way, kind: CallKind, asked: str, before: tuple[Made, ...]
) -> Iterator[tuple[float, Made]]:
    if (given := way.given.get(len(before))) is not None:
        yield 1.0, given
        return
    broken, message = _failing(world, way, kind, before) if way.fails else (0.0, "")
    if broken:
        yield broken, Made(kind, asked, message, broken=True)
    if broken < 1:
        mode = way.modes.get(TOOLSET_OF[kind], "real")
        yield 1 - broken, Made(kind, asked, world.outputs.of(world.scene, mode, kind, asked))


def _failing(world: World, way: Way, kind: CallKind, before: Sequence[Made]) -> tuple[float, str]:
    """The probability that the next call fails, and what the model is shown then: the last intervention says it."""
    works, message = 1.0, ""
    failing = (use for use in world.condition.interventions if use.name == "fail")
    for place, use in enumerate(failing):
        options = FailOptions.model_validate(dict(use.options))
        tools = options.tools
        in_scope = [made for made in before if tools is None or world.offers[made.kind].tool in tools]
        ours = tools is None or world.offers[kind].tool in tools
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
