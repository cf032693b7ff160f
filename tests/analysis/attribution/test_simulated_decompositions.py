"""Trials of which every term is known: chances of being right at every level, and what is drawn from them."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain as joined
from itertools import combinations

import numpy as np
import pytest

from toolablate.analysis.attribution.decomposition import (
    TERMS,
    Arms,
    Decomposition,
    DecompositionInputs,
    Replay,
    Scores,
    ToolKind,
    decompositions,
)
from toolablate.cli.attributing import attribute_command

POPULATION = 400
"""Kinds of questions; a run draws its questions from these, so that questions differ as they do in a benchmark."""

KINDS: tuple[frozenset[ToolKind], ...] = (
    frozenset(),
    frozenset({"search"}),
    frozenset({"code"}),
    frozenset({"search", "code"}),
)


@dataclass(frozen=True, slots=True)
class World:
    """What each factor does to a question's chance, and how often a trial is spoiled.

    base      a question's chance without tools, on average
    together  what search and code add where both were used
    volume    what long results do, whatever they are; at 0 all results are short
    """

    base: float = 0.5
    prompt: float = 0.0
    availability: float = 0.0
    calling: float = 0.0
    use: float = 0.0
    volume: float = 0.0
    search: float = 0.0
    code: float = 0.0
    together: float = 0.0
    fault: float = 0.0
    budget: float = 0.0
    format: float = 0.0
    spread: float = 0.0

    def kinds(self) -> "list[Question]":
        """Each with shifts of its own, of which the mean is the world's."""
        rng = np.random.default_rng(7)
        base = self.base * rng.uniform(0.8, 1.2, POPULATION)
        own = rng.uniform(-1, 1, (POPULATION, 5)) * self.spread
        own -= own.mean(axis=0)
        factors = np.array([self.prompt, self.availability, self.calling, self.use, self.search])
        return [
            Question(self, float(start), tuple((factors + shifts).tolist()))
            for start, shifts in zip(base, own, strict=True)
        ]

    def truth(self) -> dict[str, float]:
        """Every term and the content by kind of tool, in points, over kinds of questions and of trials."""
        search = (2 * self.search + self.together / 2) / 4
        code = (2 * self.code + self.together / 2) / 4
        shares = [question.chance(tools, tools) for question in self.kinds() for tools in KINDS]
        right = float(np.mean(shares))
        found = {
            "format": -self.format * right * (1 - self.fault) * (1 - self.budget),
            "budget": -self.budget * right * (1 - self.fault),
            "tool_fault": -self.fault * right,
            "sampling_noise": 0.0,
            "content": search + code,
            "volume": self.volume * 3 / 4,
            "use": self.use,
            "calling": self.calling,
            "availability": self.availability,
            "prompt": self.prompt,
            "unresolved": 0.0,
            "search": search,
            "code": code,
        }
        return {name: 100 * value for name, value in found.items()}


@dataclass(frozen=True, slots=True)
class Question:
    world: World
    base: float
    factors: tuple[float, ...]

    def arm(self, factors: int) -> float:
        """The chance with the first so many: none, prompt, availability, calling, use."""
        return self.base + sum(self.factors[:factors])

    def chance(self, real: frozenset[ToolKind], used: frozenset[ToolKind]) -> float:
        """With the results of these kinds of tools real, and those of the others that were used swapped."""
        both = self.world.together if len(real) == 2 else 0.0
        both += self.world.volume if used else 0.0
        return self.arm(4) + ("search" in real) * self.factors[4] + ("code" in real) * self.world.code + both


@dataclass(frozen=True, slots=True)
class Replaying:
    """With which probability a wrong trial and a right one are replayed, and with how many rollouts, `of_right` of a
    right one; as many as of a wrong one where that is 0."""

    wrong: float = 1.0
    right: float = 1.0
    rollouts: int = 6
    of_right: int = 0


def trials(
    kinds: list[Question], questions: int, replaying: Replaying, rng: np.random.Generator, *, repeats: int = 2
) -> Iterator[DecompositionInputs]:
    for number, kind in enumerate(rng.integers(0, len(kinds), questions).tolist()):
        question = kinds[kind]
        arms = Arms(
            none=_drawn(question.arm(0), 3, rng),
            scaffold=_drawn(question.arm(1), 2, rng),
            offered=_drawn(question.arm(2), 2, rng),
            sham=_drawn(question.arm(3), 2, rng),
        )
        for repeat in range(repeats):
            yield _trial(question, f"q{number:03}", repeat, arms, replaying, rng)


def _trial(
    question: Question, name: str, repeat: int, arms: Arms, replaying: Replaying, rng: np.random.Generator
) -> DecompositionInputs:
    world, tools = question.world, KINDS[int(rng.integers(len(KINDS)))]
    (repaired,) = _drawn(question.chance(tools, tools), 1, rng)
    extended = 0.0 if rng.random() < world.fault else repaired
    re_asked = 0.0 if rng.random() < world.budget else extended
    score = 0.0 if rng.random() < world.format else re_asked
    probability = replaying.right if score else replaying.wrong
    runs = replaying.of_right or replaying.rollouts if score else replaying.rollouts
    swaps = joined.from_iterable(combinations(sorted(tools), size) for size in range(len(tools) + 1))
    rollouts = {
        frozenset(swapped): _drawn(question.chance(tools - frozenset(swapped), tools), runs, rng) for swapped in swaps
    }
    # From a generator of its own, so that all else is drawn as in a world without volume.
    (apart,) = rng.spawn(1)
    short = _drawn(question.arm(4), runs, apart) if tools and world.volume else None
    replay = Replay(extended=(extended,), repaired=(repaired,), rollouts=rollouts, short=short)
    return DecompositionInputs(
        *("m", "T", name, ("question", name), f"{name}-{repeat}", score, arms, tools, re_asked, probability),
        replay=replay if rng.random() < probability else None,
    )


def _drawn(chance: float, count: int, rng: np.random.Generator) -> Scores:
    return tuple(rng.binomial(1, chance, count).astype(float).tolist())


# Bias, coverage and error rates of decompositions, on trials of which every term is known.


RUNS, QUESTIONS, RESAMPLES = 300, 100, 399
HARMED = World(
    prompt=-0.03, availability=-0.02, calling=-0.03, use=-0.04, volume=-0.03, search=-0.12, code=0.08, together=-0.06,
    fault=0.25, budget=0.25, format=0.25, spread=0.05,
)  # fmt: skip
MIXED = World(base=0.75, search=-0.2, code=-0.1, volume=-0.03, spread=0.03)
"""About as many right trials as wrong ones."""
NAMES = {"content": "content", "retrieval_distraction": "search", "computation_misled": "code"}
"""Mechanisms whose truth the world has under another name."""


def simulated(world: World, replaying: Replaying) -> list[Decomposition]:
    kinds = world.kinds()
    return [
        found
        for run in range(RUNS)
        for found in decompositions(
            trials(kinds, QUESTIONS, replaying, np.random.default_rng([run, 9])), seed=run, resamples=RESAMPLES
        )
    ]


@pytest.mark.deep
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "replaying",
    [Replaying(rollouts=1), Replaying(wrong=0.35, right=0.2)],
    ids=["as by default", "failures more often"],
)
def test_terms_are_unbiased_and_their_intervals_cover_the_truth(replaying: Replaying) -> None:
    truth = HARMED.truth()
    off: dict[str, list[float]] = defaultdict(list)
    covered: dict[str, list[tuple[bool, bool]]] = defaultdict(list)
    for found in simulated(HARMED, replaying):
        shown = [*found.terms, *(each for each in found.mechanisms if each.name in NAMES)]
        for each in shown:
            true = truth[NAMES.get(each.name, each.name)]
            off[each.name].append(each.points - true)
            if each.ci90 is not None and each.ci95 is not None:
                narrow, wide = each.ci90[0] <= true <= each.ci90[1], each.ci95[0] <= true <= each.ci95[1]
                covered[each.name].append((narrow, wide))
    assert off.keys() == {*TERMS, "retrieval_distraction", "computation_misled"}
    for name, values in off.items():
        assert abs(np.mean(values)) <= 3.5 * np.std(values) / np.sqrt(RUNS) + 1e-9, name
    # Where all are replayed nothing is unresolved, and that has no interval.
    assert covered.keys() == off.keys() - ({"unresolved"} if replaying.right == 1 else set())
    shares = {name: np.mean(values, axis=0) for name, values in covered.items()}
    assert np.mean(list(shares.values()), axis=0) == pytest.approx([0.9, 0.95], abs=0.02)
    for name, share in shares.items():
        assert share == pytest.approx([0.9, 0.95], abs=0.055), name


@pytest.mark.deep
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("world", "replaying"),
    [
        (World(volume=-1e-9), Replaying()),
        (World(base=0.05, volume=-1e-9), Replaying(wrong=0.45, right=0.15, rollouts=2)),
    ],
    ids=["all", "hardly any right, failures more often"],
)
def test_without_any_effect_at_most_one_mechanism_in_twenty_is_significant(world: World, replaying: Replaying) -> None:
    p_values: dict[str, list[float]] = defaultdict(list)
    corrected = []
    for found in simulated(world, replaying):
        tested = [each for each in found.mechanisms if each.p_value is not None]
        for each in tested:
            p_values[each.name].append(each.p_value or 0.0)
        corrected.append(min(each.p_holm or 0.0 for each in tested))
    # No trial was spoiled, so that these three are never there.
    spoiled = {"format_loss", "budget", "tool_fault"}
    rates = {name: np.mean(np.array(values) < 0.05) for name, values in p_values.items() if name not in spoiled}
    assert {min(p_values[name]) for name in spoiled} == {1.0}
    assert len(rates) == 7
    assert 0.015 <= np.mean(list(rates.values())) <= 0.06
    assert max(rates.values()) <= 0.085
    assert np.mean(np.array(corrected) < 0.05) <= 0.06


def usual() -> dict[str, float]:
    """What `attribute` replays unless it is told otherwise."""
    return {each.name: each.default for each in attribute_command.params if each.name in ("successes", "rollouts")}


@pytest.mark.deep
def test_one_run_of_every_trial_errs_less_than_two_of_the_wrong_and_one_of_a_third_of_the_right() -> None:
    """Neyman allocation: a trial more tells of the draws of trials as well, a run more of one trial does not."""
    default = Replaying(right=usual()["successes"], rollouts=int(usual()["rollouts"]))
    kinds, errors, runs = MIXED.kinds(), {}, {}
    more = Replaying(right=0.3, rollouts=2, of_right=1)
    for replaying in (default, more):
        found = [list(trials(kinds, 30, replaying, np.random.default_rng([run, 5]))) for run in range(60)]
        points = [each for of_run in found for each in decompositions(of_run, resamples=2)[0].terms]
        errors[replaying] = np.mean(
            [abs(each.points - MIXED.truth()["content"]) for each in points if each.name == "content"]
        )
        replayed = [each.replay for of_run in found for each in of_run if each.replay]
        runs[replaying] = sum(len(scores) for replay in replayed for scores in replay.rollouts.values())
    assert runs[default] < 0.95 * runs[more]
    assert errors[default] < 0.85 * errors[more]
