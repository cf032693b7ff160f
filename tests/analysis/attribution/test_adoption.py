"""What results say of the answer that was given, and what that makes of a distraction."""

import pytest
from tests.analysis.attribution.stories import QUESTION, ended, opened, ran, read, searched

from toolablate.analysis.attribution.signals.signal_types import Signals
from toolablate.analysis.attribution.trace_rules import distraction

REPLY = ended("Answer: B")
OFFER = "Suppliers offer molecular nitrogen to growers."
CLAIM = "In a comparison molecular nitrogen was taken up best."


def backed(text: str) -> list[tuple[int, str]]:
    return [(each.event, each.kind) for each in read(*opened("u", text), *REPLY).backing]


def test_a_list_of_all_options_singles_out_none_and_what_a_failed_call_shows_is_no_source() -> None:
    listed = "; ".join(QUESTION.choices)
    assert read(*ran("f()", f"given = [{listed}]"), *REPLY).adoption is None
    assert (
        read(*ran("f()", "1 given = ['molecular nitrogen']", status="error", error="KeyError"), *REPLY).adoption is None
    )
    after = read(*ran("f()", listed), *ran("f(1)", "The lowest: molecular nitrogen"), *REPLY).adoption
    assert after is not None
    assert (after.event, after.results, after.others) == (3, (3,), 0)
    announced = read(*searched("gas", f"{listed}. The correct answer is B."), *REPLY).adoption
    assert announced is not None
    # Some of the options are no list of all.
    some = read(*searched("gas", "; ".join(QUESTION.choices[:2])), *REPLY).adoption
    assert some is not None
    assert some.others == 1


@pytest.mark.parametrize("text", [CLAIM, "Most plants take molecular nitrogen.", "The correct answer is B.", "分子 molecular nitrogen 最好。"])  # fmt: skip
def test_a_page_may_claim_the_answer(text: str) -> None:
    assert backed(f"Plants. {text} Gases are light.") == [(1, "claimed")]


@pytest.mark.parametrize("text", [OFFER, "The manual describes molecular nitrogen.", "供应商提供molecular nitrogen。"])
def test_a_page_may_only_offer_it(text: str) -> None:
    assert backed(f"It is the best page.\n{text}\nGases are light.") == [(1, "offered")]


def test_only_sentences_that_name_the_answer_count_and_a_claim_is_the_better_reason() -> None:
    assert backed("Carbon dioxide is better. Molecular nitrogen is a gas.") == []
    assert backed(f"{OFFER} {CLAIM}") == [(1, "claimed")]
    assert read(*ran("f()", CLAIM), *REPLY).backing == ()
    assert read(*opened("u", CLAIM, status="error", error="timeout"), *REPLY).backing == ()
    assert read(*opened("u", CLAIM), *ended("I do not know.")).backing == ()


def test_a_long_page_is_read_in_linear_time() -> None:
    assert backed("molecular nitrogen " * 200_000) == []


def both() -> Signals:
    norm = ended("The manual describes molecular nitrogen, so it should be used. Answer: B")
    return read(*searched("a", CLAIM), *searched("b", OFFER), *norm)


def test_what_was_read_where_the_belief_fell_says_how_it_went() -> None:
    first, second = (each.event for each in both().backing)
    assert distraction(both(), (), (), (first,)) == "misleading_adoption"
    assert distraction(both(), (), (), (second,)) == "existence_as_norm"
    assert distraction(both(), ()) == "misleading_adoption"


def test_what_was_read_goes_before_the_reason_that_is_given() -> None:
    norm = ended("The manual describes molecular nitrogen, so it should be used. Answer: B")
    assert distraction(read(*searched("a", CLAIM), *norm), ()) == "misleading_adoption"
    assert distraction(read(*searched("a", OFFER), *REPLY), ()) == "existence_as_norm"
    assert distraction(read(*searched("a", "Molecular nitrogen."), *norm), ()) == "existence_as_norm"
    assert distraction(read(*searched("a", "Molecular nitrogen."), *REPLY), ()) == "misleading_adoption"


def test_a_claim_elsewhere_is_not_the_reason_where_the_belief_fell_at_a_result_that_only_names_the_answer() -> None:
    signals = read(*searched("a", CLAIM), *searched("b", "Molecular nitrogen is kept in tanks."), *REPLY)
    (claim,) = (each.event for each in signals.backing)
    assert signals.adoption is not None
    (named,) = {*signals.adoption.results} - {claim}
    assert distraction(signals, (), (), (named,)) == "existence_as_norm"
    assert distraction(signals, (), (), (claim, named)) == "misleading_adoption"
    assert distraction(signals, (), (), (named + 10,)) == "misleading_adoption"
