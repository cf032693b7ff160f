"""The levels of the decomposition for one run of a scenario, in closed form, and the terms that they come to."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations

from toolablate.agents.simulated.planted.mind import TOOLSETS, Influence, Situation, believed, influences
from toolablate.agents.simulated.planted.scenario import TOOLSET_OF, Toolset
from toolablate.analysis.arms import ArmKind
from toolablate.analysis.attribution.decomposition import (
    Arms,
    DecompositionInputs,
    EffectMechanism,
    Replay,
    Signal,
    Term,
    mechanisms,
    terms,
)
from toolablate.experiments.planted.setups import Mode, ScenarioRun, ScenarioSetup, Way, doubled
from toolablate.traces.records import Budget

FALL = 0.3
"""By how much at least a belief in the right answer falls, or rises, for its cause to get a name."""


@dataclass(frozen=True, slots=True)
class Levels:
    """Mean scores of one trial with one more thing changed each, as the decomposition's `DecompositionInputs` and
    `Replay` have them.

    arms      from the start, by the arms of the ladder; with lost forms re-asked, as all but `observed`
    observed  before its answer is drawn, and so is `re_asked`
    rollouts  by the toolsets that give placebos
    aside     where it is told to set aside what tools did
    """

    arms: Mapping[ArmKind, float]
    observed: float
    re_asked: float
    extended: float
    repaired: float
    rollouts: Mapping[frozenset[Toolset], float]
    aside: float


@dataclass(frozen=True, slots=True)
class Parts:
    """What a difference to no tools is made of, in shares of one."""

    terms: Mapping[Term, float]
    mechanisms: Mapping[EffectMechanism, float]


def levels(setup: ScenarioSetup, run: ScenarioRun, trial: str = "") -> Levels:
    """Of a run of the trial `trial`, whose replays draw what fails as it did; on the average over trials where it is
    ""."""
    believes = setup.believed(run)[setup.right]
    extended = setup.level(extension(setup, run, trial)) if run.limit else believes
    repaired = setup.level(repair(setup, run, trial)) if run.fault is not None else extended
    return Levels(
        arms=arms(setup),
        observed=believes * setup.in_form(run),
        re_asked=believes,
        extended=extended,
        repaired=repaired,
        rollouts={swapped: setup.level(rollout(setup, run, swapped, trial)) for swapped in _subsets(run.toolsets)},
        aside=believed(setup.scenario, setup.influences(run), aside=True)[setup.right],
    )


def arms(setup: ScenarioSetup) -> dict[ArmKind, float]:
    def from_start(mode: Mode) -> float:
        return setup.level(Way(setup.condition.budget, modes=dict.fromkeys(TOOLSETS, mode)))

    def untouched(*, prompted: bool, offered: bool) -> float:
        now = Situation(prompted, frozenset(setup.offers) if offered else frozenset(), 0, ())
        return believed(setup.scenario, influences(setup.scenario, now))[setup.right]

    prompted = bool(setup.condition.prompt)
    return {
        "none": untouched(prompted=False, offered=False),
        "scaffold": untouched(prompted=prompted, offered=False),
        "offered": untouched(prompted=prompted, offered=True),
        "sham": from_start("sham"),
        "placebo": from_start("placebo"),
        "real": from_start("real"),
    }


def extension(setup: ScenarioSetup, run: ScenarioRun, trial: str = "") -> Way:
    """The run gone on with within twice its budget."""
    return Way(doubled(setup.condition.budget), dict(enumerate(run.made)), trial=trial)


def repair(setup: ScenarioSetup, run: ScenarioRun, trial: str = "") -> Way:
    """The run from its first fault on, with tools that work, and with twice its budget where that ran out."""
    return Way(_budget(setup, run), dict(enumerate(run.made[: run.fault])), fails=False, trial=trial)


def rollout(setup: ScenarioSetup, run: ScenarioRun, swapped: frozenset[Toolset], trial: str = "") -> Way:
    """The run from its first result on: with the results that it had, or with sound ones where there is a fault, and
    placebos for those of some toolsets."""
    modes: dict[Toolset, Mode] = dict.fromkeys(swapped, "placebo")
    if run.fault is not None:
        return Way(_budget(setup, run), modes=modes, fails=False, trial=trial)
    given = {place: made for place, made in enumerate(run.made) if TOOLSET_OF[made.kind] not in swapped}
    return Way(_budget(setup, run), given, modes, trial=trial)


def parts(
    setup: ScenarioSetup, run: ScenarioRun, found: Levels, score: float, re_asked: float, there: frozenset[ArmKind]
) -> Parts:
    """Of a trial with this score, by the decomposition's own rules; `there` are the arms that it has runs of."""
    given: dict[ArmKind, tuple[float, ...]] = {arm: (found.arms[arm],) for arm in found.arms if arm in there}
    # Where no answer was wrong by its form or its budget or its tools, these levels are that of the answer itself.
    extended = found.extended if run.limit else re_asked
    repaired = found.repaired if run.fault is not None else extended
    inputs = DecompositionInputs(
        model="",
        condition=setup.condition.name,
        question=setup.scenario.question,
        unit=("question", setup.scenario.question),
        trial="",
        score=score,
        arms=Arms(
            none=(found.arms["none"],),
            scaffold=given.get("scaffold", ()),
            offered=given.get("offered", ()),
            sham=given.get("sham", ()),
            placebo=given.get("placebo", ()),
        ),
        tools=frozenset(run.toolsets),
        re_asked=re_asked,
        inclusion_probability=1.0,
        replay=Replay(
            extended=(extended,),
            repaired=(repaired,),
            rollouts={frozenset(swapped): (level,) for swapped, level in found.rollouts.items()},
            # What scenes show is short.
            short=None,
            signals=signals(setup, run, found),
        ),
    )
    summed = terms(inputs, inputs.replay, calling="sham" in there)
    return Parts(summed, mechanisms(inputs, inputs.replay, summed))


def signals(setup: ScenarioSetup, run: ScenarioRun, found: Levels) -> frozenset[Signal]:
    """Which names the contents of a run deserve: by what the belief in the right answer is without them."""
    names: set[Signal] = set()
    shapley = {
        toolset: found.re_asked - setup.believed(run, moved_by(setup, run, toolset))[setup.right]
        for toolset in TOOLSETS
    }
    if shapley["code"] <= -FALL and found.aside - found.re_asked >= FALL / 2:
        names.add("lock_in")
    if shapley["code"] >= FALL:
        names.add("computed")
    if shapley["search"] >= FALL:
        names.add("retrieved")
    return frozenset(names)


def moved_by(setup: ScenarioSetup, run: ScenarioRun, toolset: Toolset) -> tuple[Influence, ...]:
    """What a toolset's results and the replies that asked for them did to the belief; what a fault of the tool did is
    not among them."""
    of_content = {"commits", "holds"} if run.fault is not None else {"commits", "holds", "fail"}
    return tuple(each for each in setup.influences(run) if each.toolset == toolset and each.source in of_content)


def _budget(setup: ScenarioSetup, run: ScenarioRun) -> Budget:
    return doubled(setup.condition.budget) if run.limit else setup.condition.budget


def _subsets(toolsets: frozenset[Toolset]) -> Iterator[frozenset[Toolset]]:
    ordered = [toolset for toolset in TOOLSETS if toolset in toolsets]
    for size in range(len(ordered) + 1):
        yield from (frozenset(chosen) for chosen in combinations(ordered, size))
