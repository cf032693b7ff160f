"""Items that change between conditions: counted by hand, and held to simulations whose truth is known."""

import random
from collections.abc import Iterable, Sequence

import pytest

from toolablate.analysis.checklist_flips import CheckedTrial, ChecklistEffect, checklist_effects
from toolablate.traces.errors import InputError
from toolablate.traces.records import ItemScore


def item(said: str, name: str = "A") -> ItemScore:
    """By letters: E expected, F filled, P and R as they are."""
    return ItemScore(
        item=name, expected="E" in said, mapped="x" if "F" in said else "", precision="P" in said, recall="R" in said
    )


def trials(condition: str, *runs: Sequence[ItemScore], question: str = "q") -> list[CheckedTrial]:
    return [CheckedTrial("m", condition, question, question, tuple(run)) for run in runs]


def one(found: Iterable[CheckedTrial], resamples: int = 0) -> ChecklistEffect:
    (effect,) = checklist_effects(found, "none", resamples=resamples)
    return effect


def shares(effect: ChecklistEffect) -> dict[str, float]:
    return {change.event: change.share for change in effect.changes if change.share}


@pytest.mark.parametrize(
    ("before", "after", "happened"),
    [
        ("EFPR", "EFPR", set()),
        ("EF", "EFPR", {"gained"}),
        ("E", "EFPR", {"gained", "newly_filled"}),
        ("EFPR", "E", {"lost", "newly_silent"}),
        ("EFPR", "EFR", {"lost", "falsified"}),
        ("EFP", "EF", {"falsified"}),
        ("EFPR", "EFP", {"lost"}),
        ("E", "EF", {"newly_filled"}),
        ("PR", "F", {"overfilled"}),
        ("F", "PR", set()),
    ],
)
def test_what_became_of_an_item(before: str, after: str, happened: set[str]) -> None:
    effect = one([*trials("none", [item(before)]), *trials("search", [item(after)])])
    assert set(shares(effect)) == happened
    assert {change.noise for change in effect.changes} == {None}


def test_shares_are_expected_over_the_choice_of_runs_and_noise_is_between_two_of_the_baseline() -> None:
    right, wrong = item("EFPR"), item("EF")
    effect = one([*trials("none", [right], [right], [wrong]), *trials("search", [wrong], [right])])
    lost = next(change for change in effect.changes if change.event == "lost")
    assert lost.share == pytest.approx(2 / 3 * 1 / 2)
    assert lost.noise == pytest.approx(2 / 6)
    assert lost.excess.value == pytest.approx(0)
    assert (effect.repeated, effect.questions) == (1, 1)
    assert effect.by_item["A"][1] == lost


def test_a_sign_that_depends_on_the_rule_is_told() -> None:
    """Search fills one of two items that the reference has, and one of four that it has not."""
    names = "ABCDEF"
    silent = [item("E" if name < "C" else "PR", name) for name in names]
    filled = [item({"A": "EFPR", "B": "E", "C": "F", "D": "F"}.get(name, "PR"), name) for name in names]
    effect = one([*trials("none", silent), *trials("search", filled)])
    by_rule = {rule.na: rule for rule in effect.rules}
    assert by_rule["published"].difference.value == pytest.approx(3 / 6 - 4 / 6)
    assert by_rule["out"].difference.value == pytest.approx(0.5)
    assert effect.sign_depends
    assert by_rule["published"].silent == pytest.approx(4 / 6)


def test_a_baseline_that_has_no_checklist() -> None:
    with pytest.raises(InputError, match="Conditions with scored checklists: search"):
        checklist_effects(trials("search", [item("E")]), "none")


# Simulated answers: 6 items a question, of which each has a chance of its own to be filled, and to be right if filled.


def drawn(rng: random.Random, fill: Sequence[float], right: Sequence[float]) -> list[ItemScore]:
    found = []
    for place, (chance, precise) in enumerate(zip(fill, right, strict=True)):
        filled, is_right = rng.random() < chance, rng.random() < precise
        found.append(item("EFPR" if filled and is_right else "EF" if filled else "E", str(place)))
    return found


def world(rng: random.Random, how: str, questions: int = 40, repeats: int = 2) -> list[CheckedTrial]:
    """`null`: search changes nothing; `harder`: it fills items of which fewer are right, and harms none; `distracted`:
    it fills more, and what was right is falsified."""
    found = []
    for number in range(questions):
        skill = rng.uniform(0.4, 0.9)
        fill, right = [0.8, 0.8, 0.8, 0.2, 0.2, 0.2], [skill] * 3 + [skill / 3] * 3
        more = fill if how == "null" else [0.8, 0.8, 0.8, 0.6, 0.6, 0.6]
        worse = [chance * 0.6 for chance in right] if how == "distracted" else right
        for condition, filling, being in (("none", fill, right), ("search", more, worse)):
            runs = [drawn(rng, filling, being) for _ in range(repeats)]
            found += trials(condition, *runs, question=f"q{number}")
    return found


@pytest.mark.deep
def test_the_signature_is_that_of_retrieval_distraction_alone() -> None:
    """Of 120 worlds each: without effect at most 2.5 % have it, where search fills harder items it is hardly more, and
    where it falsifies most have it."""
    rng, flagged = random.Random(11), {"null": 0, "harder": 0, "distracted": 0}
    for how in flagged:
        for _ in range(120):
            flagged[how] += bool(one(world(rng, how), resamples=500).signature)
    assert flagged["null"] <= 3
    assert flagged["harder"] <= 9
    assert flagged["distracted"] >= 100


@pytest.mark.deep
def test_excess_over_noise_covers_its_truth() -> None:
    """Without an effect 95 % intervals of each event's excess hold 0 in 90 to 99 % of 200 worlds, and its mean is 0."""
    rng, held, known, sums = random.Random(12), 0, 0, dict[str, float]()
    for _ in range(200):
        for change in one(world(rng, "null"), resamples=500).changes:
            if change.excess.ci95 is None or change.excess.value is None:
                continue
            known += 1
            held += change.excess.ci95[0] <= 0 <= change.excess.ci95[1]
            sums[change.event] = sums.get(change.event, 0.0) + change.excess.value / 200
    assert 0.90 <= held / known <= 0.99
    assert all(abs(mean) < 0.005 for mean in sums.values()), sums


def test_few_questions_have_no_signature() -> None:
    assert one([*trials("none", [item("E")]), *trials("search", [item("EF")])], resamples=200).signature is None
