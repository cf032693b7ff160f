"""What the analyses say of replies whose making is known, by hand and by simulation."""

import random
from collections.abc import Sequence
from typing import Any

import pytest
from rich.cells import cell_len
from tests.benchmarks.encyclo_k.made_replies import drawn, fair, groups, levels, question, reply
from tests.traces.pages import shown

from toolablate.analysis.effect import accuracy
from toolablate.benchmarks.encyclo_k.analyses import Reply, statement_count, tables
from toolablate.benchmarks.encyclo_k.terminal_tables import encyclo_k_view
from toolablate.traces.records import Question


def test_each_group_weighs_the_same_at_its_level() -> None:
    places = [
        ("Science", "Physics", "Optics", "A"),
        ("Science", "Physics", "Optics", "B"),
        ("Science", "Physics", "Heat", "B"),
        ("Science", "Botany", "Optics", "A"),
        ("Law", "Law", "Torts", "A"),
    ]
    asked = [
        question(n, discipline=discipline, field=field, subfield=name)
        for n, (discipline, field, name, _) in enumerate(places)
    ]
    (arm,) = tables([reply(each, place[-1]) for each, place in zip(asked, places, strict=True)]).arms
    assert levels(arm) == {
        "sample": (1, pytest.approx(60)),
        "subfield": (4, pytest.approx((50 + 0 + 100 + 100) / 4)),
        "field": (3, pytest.approx((100 / 3 + 100 + 100) / 3)),
        "discipline": (2, pytest.approx(75)),
    }
    assert groups(arm, "subfield")["Science > Botany > Optics"] == (1, 100)
    assert groups(arm, "discipline") == {"Law": (1, 100), "Science": (4, 50)}
    assert all(each.accuracy.small for each in arm.levels)


def test_repeats_are_averaged_first_and_what_has_no_score_is_left_out() -> None:
    one, other, third = question(1), question(2), question(3)
    (arm,) = tables(
        [
            reply(one, "A"),
            reply(one, "B", repeat=1),
            reply(other, ""),
            reply(other, "B", repeat=1),
            reply(other, "A", repeat=2, outcome="failed"),
            reply(third, "A", value=None, verdict="unscored"),
            reply(question(4).model_copy(update={"source": "elsewhere"}), "A"),
        ]
    ).arms
    assert levels(arm)["sample"] == (1, 25)
    assert (arm.trials, arm.missed) == (4, 1)


def test_accuracy_is_given_by_options_and_statements_in_order_of_number() -> None:
    asked = [question(n, options=4 + n % 7, statements=[str(each) for each in range(8 + n % 3)]) for n in range(42)]
    (arm,) = tables([reply(each, "A" if len(each.choices) < 6 else "B") for each in asked]).arms
    assert groups(arm, "options") == {str(count): (6, 100 if count < 6 else 0) for count in range(4, 11)}
    assert list(groups(arm, "options")) == ["4", "5", "6", "7", "8", "9", "10"]
    assert [found for found, _ in groups(arm, "statements").values()] == [14, 14, 14]


def test_statements_of_published_questions_are_counted_by_their_numerals() -> None:
    prompt = "Which hold?\ni. One.\nIt goes on.\nii. Two: i. is no new one.\niii. Three\n i) a list\nIV) Four"
    asked = question(1).model_copy(update={"prompt": prompt})
    assert statement_count(asked) == 4
    assert statement_count(question(1)) is None
    assert groups(tables([reply(question(1), "A")]).arms[0], "statements") == {}


def test_an_interval_rests_on_clusters() -> None:
    alone = [question(n) for n in range(80)]
    shared = [each.model_copy(update={"cluster": f"c{n // 8}"}) for n, each in enumerate(alone)]

    def sample(asked: Sequence[Question]) -> Any:
        return (
            tables([reply(each, "A" if n % 16 < 8 else "B") for n, each in enumerate(asked)]).arms[0].levels[0].accuracy
        )

    free, tied = sample(alone), sample(shared)
    assert (free.clusters, tied.clusters, free.small, tied.small) == (80, 10, False, True)
    assert tied.ci95[1] - tied.ci95[0] > 2 * (free.ci95[1] - free.ci95[0])


@pytest.mark.deep
def test_the_interval_of_an_average_over_groups_holds_the_truth_as_often_as_it_says() -> None:
    sizes, chances = (12, 30, 30, 60, 90, 150, 300), (0.9, 0.3, 0.6, 0.5, 0.7, 0.4, 0.55)
    groups_of = [group for group, size in enumerate(sizes) for _ in range(size)]
    weights, units = [1 / sizes[group] for group in groups_of], [("question", str(n)) for n in range(len(groups_of))]
    truth, draws, held = 100 * sum(chances) / len(chances), random.Random(5), 0
    for seed in range(300):
        scores = [float(draws.random() < chances[group]) for group in groups_of]
        low, high = accuracy(scores, units, weights=weights, seed=seed).ci95 or (0, 0)
        held += low <= truth <= high
    assert 0.92 <= held / 300 <= 0.985


def of_seeds(right: dict[str, Sequence[int]], count: int = 10) -> list[Reply]:
    """Of each model, how many of `count` questions it gets right with seed 0, 1 ..."""
    return [
        reply(question(100 * seed + n, seed=seed), "A" if n < hits else "B", model=model)
        for model, of_seed in right.items()
        for seed, hits in enumerate(of_seed)
        for n in range(count)
    ]


def test_sets_of_several_seeds_give_a_mean_a_range_and_reversals() -> None:
    found = tables(of_seeds({"low": [4, 5, 6], "high": [8, 8, 5], "same": [4, 5, 6]}))
    assert {each.model: (each.mean, each.low, each.high) for each in found.stability} == {
        "high": (pytest.approx(70), 50, 80),
        "low": (pytest.approx(50), 40, 60),
        "same": (pytest.approx(50), 40, 60),
    }
    assert {(each.higher, each.lower): each.reversed for each in found.rankings} == {
        ("high", "low"): (2,),
        ("high", "same"): (2,),
        ("low", "same"): (),
    }
    assert tables(of_seeds({"once": [4]})).stability == ()


def test_length_of_replies_by_what_became_of_them() -> None:
    asked = [question(n) for n in range(6)]
    (found,) = tables(
        [
            reply(asked[0], "A", tokens=10),
            reply(asked[1], "A", tokens=40),
            reply(asked[2], "A", tokens=10),
            reply(asked[3], "B", tokens=100),
            reply(asked[4], "", tokens=4000),
            reply(asked[5], "A"),
        ]
    ).lengths
    assert (found.right.replies, found.right.mean, found.right.median) == (3, 20, 10)
    assert (found.wrong.mean, found.wrong.ci95, found.missed.mean, found.unknown) == (100, None, 4000, 1)


def test_single_statements_stand_beside_the_questions_that_hold_them() -> None:
    one, two, part = (question(n, statements=held) for n, held in enumerate((["a", "b"], ["b", "c"], ["c", "x"])))
    judged = [question(10 + n, options=2, statement=name) for n, name in enumerate("abc")]
    composed = [reply(one, "A"), reply(two, "B"), reply(part, "A")]
    single = [reply(judged[0], "A"), reply(judged[1], "A"), reply(judged[2], "B")]
    (found,) = tables([*composed, *single]).single
    assert (found.statements.questions, found.statements.percent) == (3, pytest.approx(200 / 3))
    assert (found.questions.questions, found.questions.percent) == (2, pytest.approx(75))
    assert (found.composed.questions, found.composed.percent) == (2, pytest.approx(50))
    (arm,) = tables([*composed, *single]).arms
    assert levels(arm)["sample"] == (1, pytest.approx(200 / 3)), "single statements are no part of the accuracy"
    assert tables(composed).single == ()
    assert tables(single).arms == ()


@pytest.mark.parametrize("width", [40, 60, 80, 100, 140, 200])
def test_the_view_fits_and_says_what_it_shows(width: int) -> None:
    replies = [*of_seeds({"low": [4, 5, 6], "[red]high\x1b[2J": [8, 8, 5]}), *drawn(300, fair, 1, model="drawn")]
    page = shown(encyclo_k_view(tables(replies)), width)
    assert max(map(cell_len, page.splitlines())) <= width
    assert "\x1b" not in page
    flat = "".join(page.split())
    for part in ("Accuracybydiscipline", "[red]high", "Holm", "Science", "in1of1pairofmodels", "1of3seeds:2."):
        assert part in flat, (part, page)
