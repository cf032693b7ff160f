"""The reader that knows how each cause acts: its probabilities by hand, and the chances that it goes by."""

import pytest
from bench.structural.attainable import Reader, World, Wrong
from tests.bench.test_structural import question


def wrong(name: str, chance: float) -> Wrong:
    return Wrong((0, "q"), ("python",), {"none": chance}, name, frozenset({name}), name)


def test_what_it_names_is_bayes_rule_over_trials_that_look_alike() -> None:
    reader = Reader([wrong("lock_in", 0.9), wrong("own_error", 0.1)])
    found = reader.names(("python",), {"none": (2, 0)})
    assert found == pytest.approx({"lock_in": 0.81 / 0.82, "own_error": 0.01 / 0.82})
    assert reader.names(("search",), {"none": (2, 0)}) == {}


def test_its_chances_rise_where_the_cause_is_gone() -> None:
    """A page that is always believed does nothing in runs with other results, and is there still in the last reply."""
    q = question("wrong_page", plan=("search", "open"), page_role="page", trust=1.0, call_rate=1.0)
    trials = [each for each in World("w").wrong([q], 0) if each.trace[0] == "real"]
    assert {each.label for each in trials} == {"retrieval_distraction", "sampling_noise"}
    for each in trials:
        with_it, without = ("last reply", "again"), ("other results", "none", "sham")
        assert [each.chances[level] for level in with_it] == pytest.approx([0.1, 0.1])
        assert [each.chances[level] for level in without] == pytest.approx([0.8, 0.8, 0.8])
