"""What arms, and trials of the same tools that lack a sign, tell of wrong trials; on draws whose causes are known."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from tests.analysis.attribution.cases import FLAKY, REPLY, World, evidence, steady
from tests.analysis.attribution.stories import ended, read, searched

from toolablate.analysis.attribution.arm_rules import before_wrong, blame_by_arms, stepped_by_arms
from toolablate.analysis.attribution.change_rates import ChangeRates, Step, arm_rate, fitted_rates
from toolablate.analysis.attribution.decomposition import Arms, Scores
from toolablate.analysis.attribution.evidence import Evidence
from toolablate.analysis.attribution.expected_failures import Pool, Tally, tally
from toolablate.analysis.attribution.level_chances import FIRST_LOW
from toolablate.analysis.attribution.sequential import HIGH, LOW
from toolablate.analysis.attribution.sign_rates import SignSeen, fitted_sign_rate
from toolablate.analysis.attribution.trace_rules import beside_pool

SEARCHED = evidence(steady(0.5, "search"), np.random.default_rng(0))


def drawn(chance: float, runs: int, rng: np.random.Generator) -> Scores:
    return tuple(rng.binomial(1, chance, runs).astype(float).tolist())


def with_arms(each: Evidence, chances: Sequence[float], runs: int, rng: np.random.Generator) -> Evidence:
    """Chances of the condition, its placebo, sham and offered arms, and no tools."""
    repeats, placebo, sham, offered, none = (
        drawn(chance, size, rng) for chance, size in zip(chances, (runs - 1, runs, runs, runs, runs), strict=True)
    )
    arms = Arms(none=none, placebo=placebo, sham=sham, offered=offered)
    inputs = replace(each.inputs, score=0.0, arms=arms, replay=None)
    return replace(each, repeats=repeats, signed=(0.0, *repeats), inputs=inputs)


def test_arms_tell_what_needs_no_results() -> None:
    rng = np.random.default_rng(0)

    def likeliest(*chances: float) -> str:
        found = blame_by_arms(with_arms(SEARCHED, chances, 6, rng))
        assert found is not None
        assert math.isclose(math.fsum(found.shares.values()) + found.results, 1.0)
        of = {**found.shares, "results": found.results}
        return max(of, key=lambda each: of[each])

    assert [
        likeliest(*(0.0,) * low, *(1.0,) * (5 - low)) for low in range(1, 6)
    ] == ["results", "calling", "calling", "availability", "own_error"]  # fmt: skip
    alone = replace(SEARCHED, inputs=replace(SEARCHED.inputs, arms=Arms(none=(1.0,))))
    assert blame_by_arms(alone) is None
    # Where other conditions of the store have arms, rates tell what this one lacks.
    assert blame_by_arms(alone, ChangeRates(arms={("m", "T"): {}})) is not None


def test_long_placebos_that_do_what_results_do_are_volume() -> None:
    signals = read(*searched("gas", "1. Plants\n   " + "They take nitrogen. " * 500), *ended("Answer: C"))
    rng = np.random.default_rng(0)
    found = blame_by_arms(replace(with_arms(SEARCHED, (0, 0, 1, 1, 1), 6, rng), signals=signals))
    assert found is not None
    assert found.shares["volume"] > 0.5


PARTS = ("results", "calling", "calling", "availability")
STEPS: tuple[Step, ...] = (
    *(("search", "not_asked"), ("calling", "not_asked"), ("calling", "not_asked")),
    ("availability", "called"),
)


def test_what_arms_tell_is_as_likely_as_it_is_true() -> None:
    """Chances are drawn as the levels are thought to come about, and trials that come out right are left out."""
    rng = np.random.default_rng(3)
    said, true, trials = Counter[str](), Counter[str](), 0
    while trials < 600:
        high = rng.random() > before_wrong(FIRST_LOW)
        chances = [rng.beta(*(HIGH if high else LOW))]
        for step in STEPS:
            changes = rng.random() < arm_rate(step)
            high ^= changes
            chances.append(rng.beta(*(HIGH if high else LOW)) if changes else chances[-1])
        draw = rng.random()
        if draw < chances[0]:
            continue
        trials += 1
        found = blame_by_arms(with_arms(SEARCHED, chances, 3, rng))
        assert found is not None
        said.update({**found.shares, "results": found.results})
        part = next((part for part, chance in zip(PARTS, chances[1:], strict=True) if draw < chance), None)
        true[part or ("sampling_noise" if chances[-1] >= 0.5 else "own_error")] += 1
    for name in said:
        share = true[name] / trials
        error = 3 * math.sqrt(share * (1 - share) / trials) + 0.01
        assert abs(said[name] / trials - share) <= error, (name, said, true)


def of_question(chance: float, rng: np.random.Generator) -> tuple[list[Evidence], Tally]:
    """The wrong trials of two under a condition whose results do harm in 3 of 10 questions, with few runs of arms."""
    spoiled = chance * 0.1 if rng.random() < 0.3 else chance
    scores = drawn(spoiled, 2, rng)
    arms = Arms(**{name: drawn(chance, 2, rng) for name in ("none", "placebo", "sham", "offered")})
    inputs = replace(SEARCHED.inputs, score=0.0, arms=arms, replay=None)
    wrong = [
        replace(SEARCHED, signed=(0.0, other), repeats=(other,), inputs=inputs)
        for own, other in (scores, scores[::-1])
        if not own
    ]
    return wrong, tally(arms.none, scores)


def test_questions_that_are_mostly_right_are_seldom_an_own_error() -> None:
    rng = np.random.default_rng(3)
    chances = np.where(rng.random(120) < 0.7, 0.85, 0.1).tolist()
    questions = [of_question(chance, rng) for chance in chances]
    wrong = [each for trials, _ in questions for each in trials]
    rates = ChangeRates(
        arms=fitted_rates([found for each in wrong if (found := stepped_by_arms(each))], arm_rate).groups
    )
    pool, own = Pool(counts for _, counts in questions), list[float]()
    for (trials, counts), chance in zip(questions, chances, strict=True):
        for each in trials if chance > 0.5 else ():
            found = blame_by_arms(each, rates)
            assert found is not None
            own.append(beside_pool(found, pool.expected(counts))[0]["own_error"])
    assert np.mean(own) <= 0.12


# A sign from outside: trials that show it beside those of the same tools that do not.


FAILED = evidence(World("fails", [*FLAKY, *REPLY], [0.5] * 3, steady(0.5, "code").inputs | {"repaired": 0.5}, kind="code"), np.random.default_rng(0))  # fmt: skip


def of_fault(rng: np.random.Generator, harmful: float, unsigned: int) -> tuple[Evidence, bool]:
    """A wrong trial that shows a failed tool, and whether it needed that to be wrong. In a share of the questions a
    failure loses the answer, in all others it does nothing."""
    while True:
        chance = float(rng.beta(*HIGH))
        spoiled, draw = chance * 0.05 if rng.random() < harmful else chance, rng.random()
        if draw >= spoiled:
            break
    arms = Arms(*(drawn(chance, 3, rng) for _ in range(5)))
    found = replace(
        FAILED,
        signed=(0.0, *drawn(spoiled, 2, rng)),
        unsigned=drawn(chance, unsigned, rng),
        inputs=replace(FAILED.inputs, score=0.0, arms=arms, replay=None),
    )
    return found, bool(draw < chance)


@pytest.mark.parametrize(("harmful", "unsigned"), [(0.0, 3), (0.0, 0), (0.1, 3), (0.5, 3)])
def test_a_sign_is_blamed_as_often_as_it_did_it(harmful: float, unsigned: int) -> None:
    rng = np.random.default_rng(5)
    trials = [of_fault(rng, harmful, unsigned) for _ in range(150)]
    told = [stepped for each, _ in trials if (stepped := stepped_by_arms(each))]
    rates = ChangeRates(arms=fitted_rates(told, arm_rate).groups)
    found = [blame_by_arms(each, rates) for each, _ in trials]
    shares, did = np.array([each.shares["tool_fault"] for each in found if each]), np.array([did for _, did in trials])
    assert shares.mean() == pytest.approx(did.mean(), abs=0.1)
    blamed = shares > 0.5
    if harmful:
        assert did[blamed].mean() == pytest.approx(shares[blamed].mean(), abs=0.1)
    else:
        assert blamed.mean() <= 0.05


# A sign that an answer comes from results.


@pytest.mark.parametrize(("caused", "otherwise"), [(0.9, 0.1), (0.7, 0.4), (0.3, 0.3)])
def test_how_surely_a_sign_tells_is_recovered(caused: float, otherwise: float) -> None:
    rng = np.random.default_rng(6)
    likely = rng.beta(0.7, 1.5, 400)
    did = rng.random(400) < likely
    seen = rng.random(400) < np.where(did, caused, otherwise)
    found = fitted_sign_rate([SignSeen(bool(each), float(before)) for each, before in zip(seen, likely, strict=True)])
    assert (found.caused, found.otherwise) == (pytest.approx(caused, abs=0.1), pytest.approx(otherwise, abs=0.08))
    after = [
        before * (odds := found.odds(seen=bool(each))) / (1 + before * (odds - 1))
        for each, before in zip(seen, likely, strict=True)
    ]
    assert np.mean(after) == pytest.approx(did.mean(), abs=0.06)
    assert fitted_sign_rate([]).odds(seen=True) == pytest.approx(4)
