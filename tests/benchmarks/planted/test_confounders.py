"""What would mislead a method that goes by looks is there, and in scenarios of all kinds."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, get_args

import pytest

from toolablate.benchmarks.planted.cases import Half
from toolablate.benchmarks.planted.composing import TURNS, Planted, compose

MARKS = ("wins[", "tally[", "np.linspace", "leads[", "average.get", "worst.get")
"""Of programs that look at finitely many cases."""

BROKEN = ("sum(totals)", "(b - b)", "given[len(given)]", "growth_of_all")


@pytest.fixture(scope="module", params=get_args(Half))
def planted(request: pytest.FixtureRequest) -> Sequence[Planted]:
    half: Half = request.param
    return compose(half, 800)


def turns(each: Planted, toolset: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = each.scenario["scripts"][toolset]["turns"]
    return found


def texts(each: Planted, toolset: str) -> list[str]:
    return [call["text"] for turn in turns(each, toolset) for call in turn["calls"]]


def share(planted: Sequence[Planted], holds: Callable[[Planted], bool]) -> float:
    return sum(holds(each) for each in planted) / len(planted)


def test_stand_ins_run_where_nothing_comes_of_them(planted: Sequence[Planted]) -> None:
    others = [each for each in planted if each.stories["code"] not in ("lock_in", "availability")]
    assert share(others, lambda each: any(mark in text for text in texts(each, "code") for mark in MARKS)) > 0.3


def test_errors_are_recovered_from(planted: Sequence[Planted]) -> None:
    def recovers(each: Planted) -> bool:
        code = texts(each, "code")
        broken = [place for place, text in enumerate(code) if any(mark in text for mark in BROKEN)]
        return bool(broken) and broken[-1] < len(code) - 1

    assert share(planted, recovers) > 0.1
    assert share(planted, lambda each: any("-gone-" in text for text in texts(each, "search")[:-1])) > 0.05


def test_some_runs_nearly_use_up_their_budget(planted: Sequence[Planted]) -> None:
    for toolset in ("code", "search"):
        assert share(planted, lambda each, of=toolset: len(turns(each, of)) == TURNS - 1) > 0.03


def test_budgets_run_out_in_vain(planted: Sequence[Planted]) -> None:
    """Of scripts that the budget stops, not all have anything beyond it that would help."""
    for toolset in ("code", "search"):
        stopped = [each for each in planted if len(turns(each, toolset)) >= TURNS]
        assert 0.3 < share(stopped, lambda each, of=toolset: each.stories[of] != "budget") < 0.8


def test_beliefs_break_and_are_repaired(planted: Sequence[Planted]) -> None:
    def repaired(each: Planted) -> bool:
        if each.stories["code"] != "fine":
            return False
        moves = [reaction["moves"] for reaction in each.scenario["scripts"]["code"]["reactions"]]
        total = Counter[str]()
        for move in moves:
            total.update(move)
        return len(moves) == 2 and all(abs(nats) < 1e-9 for nats in total.values())

    assert share(planted, repaired) > 0.1


def test_some_have_two_causes(planted: Sequence[Planted]) -> None:
    assert share(planted, lambda each: each.nature == "tools" and each.scenario["loses_format"] > 0) > 0.02

    def offered_too(each: Planted) -> bool:
        scripts = each.scenario["scripts"]
        return any(scripts[of]["offered"] and each.stories[of] != "availability" for of in scripts)

    assert share(planted, offered_too) > 0.03


def test_reasons_given_may_name_a_cause_that_is_none(planted: Sequence[Planted]) -> None:
    """No words are said by one cause alone."""
    by_words: dict[str, set[str]] = {}
    for each in planted:
        cause = each.stories["search"] if each.nature == "tools" else each.nature
        for words in each.scenario["says"]:
            by_words.setdefault(words, set()).add(cause)
    assert all(len(causes) >= 3 for causes in by_words.values())
