"""What the other repeats of a trial tell of it."""

from dataclasses import replace

import numpy as np
from tests.traces.attribution.cases import evidence, steady

from toolablate.analysis.attribution.evidence import Evidence
from toolablate.experiments.attribution.explained import beside_repeats


def trials(*names: str) -> list[Evidence]:
    rng = np.random.default_rng(4)
    drawn = [evidence(steady(chance, "search"), rng) for chance in (1.0, 0.0, 1.0)]
    return [
        replace(each, chain=replace(each.chain, trial=name))
        for name, each in zip(names, drawn[: len(names)], strict=True)
    ]


def test_each_has_what_the_others_of_its_question_and_condition_were_asked() -> None:
    one, other, third = beside_repeats(trials("a", "b", "c"))
    assert one.outset == (0.0,) * 8 + (1.0,) * 8
    assert other.outset == (1.0,) * 16
    assert one.repeats == (0.0, 0.0)
    assert sorted(third.outset) == sorted(one.outset)


def test_another_question_condition_or_model_is_another_start() -> None:
    one, other, third = trials("a", "b", "c")
    apart = [one, replace(other, question="another"), replace(third, condition="another")]
    assert [(each.outset, each.repeats) for each in beside_repeats(apart)] == [((), ())] * 3
    assert beside_repeats([one, replace(other, trajectory=None)])[0].outset == ()
