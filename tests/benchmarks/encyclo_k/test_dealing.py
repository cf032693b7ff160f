"""Points of knowledge are dealt evenly, and questions that share any are few and known."""

from collections import Counter
from collections.abc import Sequence
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.benchmarks.encyclo_k.synthetic import subfield

from toolablate.benchmarks.encyclo_k.composing import clusters, compose
from toolablate.benchmarks.encyclo_k.statements import Statement
from toolablate.traces.errors import InputError
from toolablate.traces.records import Question


def uses(questions: Sequence[Question], points: dict[str, str]) -> Counter[str]:
    return Counter(points[str(each)] for question in questions for each in question.metadata["statements"])  # type: ignore[union-attr]


def test_points_are_dealt_evenly_and_few_questions_share_any(all_statements: list[Statement]) -> None:
    law = [each for each in all_statements if each.discipline == "Law"]
    points = {each.id: each.point for each in law}
    few = compose(law, 3, 80)
    assert set(uses(few, points).values()) == {1}
    assert {question.cluster for question in few} == {""}, "no two have anything in common"
    many = compose(law, 3, 189)
    counted = uses(many, points)
    assert max(counted.values()) - min(counted[point] for point in points.values()) <= 2
    assert max(Counter(question.cluster for question in many).values()) <= 5
    of_cluster = {question.id: question.cluster or question.id for question in many}
    for one, other in combinations(many, 2):
        if uses([one], points).keys() & uses([other], points).keys():
            assert of_cluster[one.id] == of_cluster[other.id]


def test_a_cluster_is_small_in_a_set_as_large_as_the_papers(composed: tuple[Question, ...]) -> None:
    sizes = Counter(question.cluster or question.id for question in composed)
    assert len(sizes) > 900
    assert max(sizes.values()) <= 8


def test_clusters_are_what_hangs_together() -> None:
    shared = [["a", "b"], ["c"], ["d", "b"], ["e"], ["e", "f"], ["g", "d"]]
    assert clusters(shared, list("uvwxyz")) == ["u", "", "u", "x", "x", "u"]


@pytest.mark.parametrize(("correct", "incorrect"), [(10, 10), (8, 30), (30, 8)])
def test_even_the_scarcest_subfield_is_dealt(correct: int, incorrect: int) -> None:
    alone = [
        Statement(id=f"{kind}{place}", text=f"{kind} {place}", correct=kind == "c", discipline="Science")
        for kind, count in (("c", correct), ("i", incorrect))
        for place in range(count)
    ]
    paired = [*subfield("Optics 1", "Science", "en", 10, 10)]
    for found in (alone, paired):
        assert len(compose(found, 1, 60)) == 60


@settings(deadline=None)
@given(seed=st.integers(0, 99), alone=st.integers(0, 30), made=st.integers(0, 30), paired=st.integers(0, 30))
def test_whatever_a_subfield_has_is_dealt_or_refused(seed: int, alone: int, made: int, paired: int) -> None:
    found = [
        *subfield("Optics 1", "Science", "en", paired, paired),
        *(
            Statement(
                id=f"c{n}", text=f"c{n}", correct=True, discipline="Science", field="Science 1", subfield="Optics 1"
            )
            for n in range(alone)
        ),
        *(
            Statement(
                id=f"i{n}", text=f"i{n}", correct=False, discipline="Science", field="Science 1", subfield="Optics 1"
            )
            for n in range(made)
        ),
    ]
    enough = alone + made + paired >= 10 and min(alone, made) + paired >= 8
    try:
        questions = compose(found, seed, 25)
    except InputError:
        assert not enough
        return
    assert enough
    points = {each.id: each.point for each in found}
    assert all(max(uses([question], points).values()) == 1 for question in questions)


def test_a_text_that_is_correct_and_incorrect_is_refused() -> None:
    source = list(subfield("Optics 1", "Science", "en", 20, 20))
    doubled = source[0].model_copy(update={"id": "other", "correct": False})
    with pytest.raises(InputError, match=r'Optics 1 \(en\): .*"Optics 1-0" and "other" have the same text'):
        compose([*source, doubled], 1, 10)
    elsewhere = list(subfield("Optics 2", "Science", "en", 20, 20))
    elsewhere[0] = elsewhere[0].model_copy(update={"text": source[-1].text})
    assert compose([*source, *elsewhere], 1, 10)


def test_a_text_stands_once_in_a_question_and_joins_those_that_have_it() -> None:
    source = list(subfield("Optics 1", "Science", "en", 60, 60))
    twice = [
        each.model_copy(update={"id": f"{each.id} again", "of": each.of and f"{each.of} again"}) for each in source
    ]
    questions = compose([*source, *twice], 1, 30)
    for question in questions:
        lines = [line.partition(". ")[2] for line in question.prompt.splitlines()[1:]]
        assert len(set(lines)) == len(lines)
    for one, other in combinations(questions, 2):
        texts = [{line.partition(". ")[2] for line in each.prompt.splitlines()[1:]} for each in (one, other)]
        assert not texts[0] & texts[1] or one.cluster == other.cluster
