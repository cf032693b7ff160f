"""What of failures with tools is attributed to chance, where it is known how many would have been failures without."""

from collections.abc import Callable, Mapping

import numpy as np
import pytest

from toolablate.analysis.attribution.expected_failures import Pool, Tally
from toolablate.analysis.statistics.intervals import Floats

Draw = Callable[[np.random.Generator, int], Floats]

QUESTIONS = 60
FAILING: Mapping[str, Draw] = {
    "one chance": lambda rng, count: np.full(count, 0.2),
    "a beta": lambda rng, count: rng.beta(0.5, 1.5, count),
    "three kinds": lambda rng, count: rng.choice([0.02, 0.3, 0.95], count, p=[0.6, 0.25, 0.15]),
}
EFFECTS: Mapping[str, Draw] = {
    "none": lambda rng, count: np.zeros(count),
    "small": lambda rng, count: np.full(count, 0.1),
    "large": lambda rng, count: np.full(count, 0.3),
    "large in a third": lambda rng, count: np.where(rng.random(count) < 1 / 3, 0.9, 0),
    "both ways": lambda rng, count: rng.choice([0.7, 0.0, -0.7], count, p=[0.2, 0.6, 0.2]),
}


def failures(failing: str, effect: str, repeats: int, rng: np.random.Generator) -> Floats:
    """Of the questions of one store that have any: the probability that such a failure is chance's, sampling noise's, what is
    said of both, and how many failures there are."""
    chances, effects = FAILING[failing](rng, QUESTIONS), EFFECTS[effect](rng, QUESTIONS)
    still = chances * (1 - np.maximum(-effects, 0))
    with_tools = still + (1 - chances) * np.maximum(effects, 0)
    right, right_with = rng.binomial(repeats, 1 - chances), rng.binomial(repeats, 1 - with_tools)
    tallies = [Tally(int(each), repeats, int(beside), repeats) for each, beside in zip(right, right_with, strict=True)]
    pool = Pool(tallies)
    said = {tally: pool.expected(tally) for tally in set(tallies)}
    anyway = still / with_tools
    rows = [
        (chance, chance * (fails < 0.5), 1 - said[tally].beyond, said[tally].sampling_noise, repeats - tally.right_with)
        for tally, chance, fails in zip(tallies, anyway, chances, strict=True)
        if tally.right_with < repeats
    ]
    return np.array(rows)


@pytest.fixture(scope="module", params=[1, 3, 10])
def judged(request: pytest.FixtureRequest) -> tuple[int, dict[tuple[str, str], Floats]]:
    rng = np.random.default_rng(request.param)
    worlds = [(failing, effect) for failing in FAILING for effect in EFFECTS]
    found = {world: np.vstack([failures(*world, request.param, rng) for _ in range(12)]) for world in worlds}
    return request.param, found


def test_chance_gets_the_share_of_failures_that_is_its_own(
    judged: tuple[int, dict[tuple[str, str], Floats]],
) -> None:
    """A single trial on either side does not tell chance from harm and help that cancel out."""
    repeats, found = judged
    for world, rows in found.items():
        true, said = (np.average(rows[:, column], weights=rows[:, 4]) for column in (0, 2))
        assert abs(said - true) <= (0.25 if repeats == 1 else 0.13), (world, said, true)
        # Much harm is never called chance.
        if world[1].startswith("large"):
            assert said <= true + 0.1, (world, said, true)


def test_the_probability_of_chance_is_how_often_it_is_chance(
    judged: tuple[int, dict[tuple[str, str], Floats]],
) -> None:
    repeats, found = judged
    rows = np.vstack(list(found.values()))
    errors = []
    bins = np.minimum((10 * rows[:, 2]).astype(int), 9)
    for place in set(bins):
        held = rows[bins == place]
        off = np.average(held[:, 2], weights=held[:, 4]) - np.average(held[:, 0], weights=held[:, 4])
        errors.append(abs(off) * held[:, 4].sum() / rows[:, 4].sum())
    assert sum(errors) <= (0.08 if repeats == 1 else 0.03)


def test_noise_is_as_sure_as_it_is_often_noise(judged: tuple[int, dict[tuple[str, str], Floats]]) -> None:
    """Of what is called sampling noise where a trace shows no sign."""
    repeats, found = judged
    rows = np.vstack(list(found.values()))
    called = rows[(rows[:, 3] > 1 - rows[:, 2]) & (rows[:, 3] > rows[:, 2] - rows[:, 3])]
    true, said = (np.average(called[:, column], weights=called[:, 4]) for column in (1, 3))
    assert abs(said - true) <= (0.12 if repeats == 1 else 0.06), (said, true)


def test_with_many_trials_it_is_the_attributable_fraction() -> None:
    """p_fail(none) / p_fail(tool) of the one question there is."""
    own = Tally(80, 100, 20, 100)
    found = Pool([own]).expected(own)
    assert found.sampling_noise == pytest.approx(0.2 / 0.8, abs=0.03)
    assert found.own_error == pytest.approx(0, abs=0.01)
    better = Tally(30, 100, 60, 100)
    assert Pool([better]).expected(better).own_error == pytest.approx(1, abs=0.02)
    many = Tally(8_000, 10_000, 2_000, 10_000)
    assert Pool([many]).expected(many).sampling_noise == pytest.approx(0.2 / 0.8, abs=0.05)


@pytest.mark.parametrize("questions", [60, 600, 5_000])
def test_one_spoiled_question_is_seen_among_many_that_nothing_happens_to(questions: int) -> None:
    untouched, spoiled = Tally(10, 10, 10, 10), Tally(10, 10, 0, 10)
    pool = Pool([*[untouched] * (questions - 1), spoiled])
    assert pool.expected(spoiled).beyond > 0.95


def test_a_single_slip_among_many_right_answers_is_chance() -> None:
    untouched, slipped = Tally(10, 10, 10, 10), Tally(10, 10, 9, 10)
    assert Pool([*[untouched] * 599, slipped]).expected(slipped).sampling_noise > 0.9


@pytest.mark.parametrize("trials", [1, 3, 10])
@pytest.mark.parametrize("count", [1, 5, 60])
def test_what_is_wrong_on_one_side_alone_is_not_called_chance(trials: int, count: int) -> None:
    """Nor the condition's where everything is wrong without tools as well."""
    spoiled, hopeless = Tally(trials, trials, 0, trials), Tally(0, trials, 0, trials)
    assert Pool([spoiled] * count).expected(spoiled).beyond > 0.55
    assert Pool([hopeless] * count).expected(hopeless).own_error > 0.85
