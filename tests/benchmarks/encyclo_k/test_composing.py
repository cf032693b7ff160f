"""Composed questions: one defensible option, chance that gives nothing away, shares, and the same for a seed for ever."""

import hashlib
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from itertools import combinations, pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare
from tests.benchmarks.encyclo_k.synthetic import DISCIPLINES, subfield

from toolablate.benchmarks.encyclo_k.composing import compose, draw_options, single_statements
from toolablate.benchmarks.encyclo_k.statements import Draws, Statement, numeral
from toolablate.benchmarks.prompt import LETTERS
from toolablate.benchmarks.questions import load_questions
from toolablate.traces.errors import InputError
from toolablate.traces.records import Question

DIGEST = "c3a30afabf996342"


def small(count: int = 40) -> list[Statement]:
    return [*subfield("Optics 1", "Science", "en", count, count), *subfield("光学 1", "Science", "zh", count, count)]


def right_place(question: Question) -> int:
    assert question.target.kind == "choice"
    (letter,) = question.target.letters
    return LETTERS.index(letter)


def places(question: Question) -> list[frozenset[int]]:
    numerals = {numeral(place + 1): place for place in range(39)}
    return [frozenset(numerals[each] for each in choice.split(", ")) for choice in question.choices]


def asked_for(question: Question) -> frozenset[int]:
    wanted = question.metadata["asked"] == "correct"
    correct = question.metadata["correct"]
    assert isinstance(correct, list)
    return frozenset(place for place, each in enumerate(correct) if each == wanted)


def digest(questions: Sequence[Question]) -> str:
    return hashlib.sha256("\n".join(each.to_json() for each in questions).encode()).hexdigest()[:16]


def assert_one_is_right(question: Question) -> None:
    options, truth, right = places(question), asked_for(question), right_place(question)
    assert options[right] == truth, "it lists all that is asked for, and nothing else"
    only_such = [place for place, option in enumerate(options) if option <= truth]
    all_such = [place for place, option in enumerate(options) if option >= truth]
    assert only_such == all_such == [right], "neither reading of the question leads elsewhere"
    assert len(set(options)) == len(options)


def test_exactly_one_option_can_be_defended_of_every_question(composed: tuple[Question, ...]) -> None:
    for question in composed:
        assert_one_is_right(question)


@settings(deadline=None)
@given(data=st.data(), seed=st.integers(), least=st.integers(2, 39), options=st.integers(2, 12))
def test_exactly_one_option_can_be_defended_whatever_the_form(
    data: st.DataObject, seed: int, least: int, options: int
) -> None:
    most = data.draw(st.integers(least, 39))
    small_option = data.draw(st.integers(1, least - 1))
    large_option = data.draw(st.integers(small_option, least - 1))
    try:
        questions = compose(
            small(60),
            seed,
            8,
            statements_per_question=(least, most),
            options=(2, options),
            combination=(small_option, large_option),
        )
    except InputError as refused:
        if refused.code != "no_options":
            raise
        return
    for question in questions:
        held = question.metadata["statements"]
        assert isinstance(held, list)
        assert len(set(held)) == len(held)
        assert least <= len(held) <= most
        assert_one_is_right(question)


@settings(deadline=None)
@given(
    seed=st.integers(),
    count=st.integers(4, 12),
    options=st.integers(2, 10),
    sizes=st.sampled_from([(1, 1), (1, 3), (2, 4), (2, 2), (3, 3)]),
)
def test_no_option_holds_another_whatever_the_form(seed: int, count: int, options: int, sizes: tuple[int, int]) -> None:
    try:
        found = draw_options(Draws(str(seed)), count, options, sizes)
    except InputError:
        assert options > count or count < 6, "there is room for so many"
        return
    assert len(found) == options
    assert not any(one <= other or other <= one for one, other in combinations(found, 2))
    assert all(sizes[0] <= len(each) <= sizes[1] and each <= set(range(count)) for each in found)


def test_numbers_and_the_right_place_are_uniform(composed: tuple[Question, ...]) -> None:
    counted = [
        Counter(len(places_of) for places_of in (question.metadata["statements"] for question in composed)),  # type: ignore[arg-type]
        Counter(len(question.choices) for question in composed),
        Counter(len(option) for question in composed for option in places(question)),
        Counter(len(asked_for(question)) for question in composed),
        Counter(str(question.metadata["asked"]) for question in composed),
    ]
    assert [sorted(each) for each in counted[:4]] == [[8, 9, 10], [4, 5, 6, 7, 8], [2, 3, 4], [2, 3, 4]]
    for letters in range(4, 9):
        counted.append(Counter(right_place(each) for each in composed if len(each.choices) == letters))
        assert len(counted[-1]) == letters
    for each in counted:
        assert chisquare(list(each.values())).pvalue > 0.001, each


def test_what_options_share_gives_nothing_away(composed: tuple[Question, ...]) -> None:
    """A guesser who takes the option whose statements stand in most options, or in fewest, is right as often as any."""
    chance = sum(1 / len(question.choices) for question in composed)
    for sign in (1, -1):
        hits = 0.0
        for question in composed:
            options = places(question)
            often = Counter(place for option in options for place in option)
            marks = [sign * sum(often[place] for place in option) / len(option) for option in options]
            best = [place for place, mark in enumerate(marks) if mark == max(marks)]
            hits += (right_place(question) in best) / len(best)
        assert abs(hits - chance) < 3.5 * (chance * 0.8) ** 0.5


def test_shares_follow_the_printed_counts(composed: tuple[Question, ...], all_statements: list[Statement]) -> None:
    assert len(all_statements) == 43_019
    assert sum(each.correct for each in all_statements) == 21_525
    found = Counter(question.domain for question in composed)
    printed = {name: figures[-1] for name, figures in DISCIPLINES.items()}
    assert sum(printed.values()) == 5038
    # How large the subfields are is not printed, so that those of several may be off by what is rounded up.
    assert all(abs(found[name] - printed[name]) <= 3 for name in printed), (found, printed)
    assert {name for name in printed if found[name] == printed[name]} >= {"Law", "Agriculture", "History", "Education"}
    assert 5000 <= len(composed) < 5000 + 62


def test_a_question_is_of_one_subfield_and_language_and_no_point_twice(
    composed: tuple[Question, ...], all_statements: list[Statement]
) -> None:
    known = {each.id: each for each in all_statements}
    for question in composed:
        held = [known[str(each)] for each in question.metadata["statements"]]  # type: ignore[union-attr]
        assert len({each.point for each in held}) == len(held)
        assert {(each.discipline, each.field, each.subfield, each.language) for each in held} == {
            (question.domain, question.metadata["field"], question.metadata["subfield"], question.language)
        }
        assert [each.correct for each in held] == question.metadata["correct"]
        lines = question.prompt.splitlines()[1:]
        assert lines == [f"{numeral(place)}. {each.text}" for place, each in enumerate(held, start=1)]


def test_wording_varies_in_both_languages() -> None:
    questions = compose(small(), 1, 200)
    assert {question.language for question in questions} == {"en", "zh"}
    for language, least in (("en", 50), ("zh", 30)):
        assert len({each.prompt.splitlines()[0] for each in questions if each.language == language}) >= least
    for question in questions:
        assert ("陈述" in question.prompt.splitlines()[0]) == (question.language == "zh")


@pytest.mark.deep
def test_a_seed_gives_the_same_in_whatever_process_and_order(tmp_path: Path) -> None:
    expected = digest(compose(small(), 11, 50))
    assert expected == DIGEST, "another version of Python, or of this code, composes otherwise"
    assert digest(compose(small()[::-1], 11, 50)) == expected
    assert digest(compose(small(), 12, 50)) != expected
    script = "from tests.benchmarks.encyclo_k.test_composing import *; print(digest(compose(small(), 11, 50)))"
    for hash_seed in ("0", "4711"):
        ran = subprocess.run(
            [sys.executable, "-c", script],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(Path(__file__).parents[3])},
        )
        assert ran.stdout.strip() == expected


def test_another_subfield_leaves_a_subfields_draws_alone() -> None:
    optics = list(subfield("Optics 1", "Science", "en", 40, 40))
    law = list(subfield("Torts 1", "Law", "en", 40, 40))
    (alone, both) = compose(optics, 5, 10), compose([*optics, *law], 5, 20)
    assert [each.prompt for each in alone] == [each.prompt for each in both if each.domain == "Science"]


def test_questions_are_those_of_a_question_file(tmp_path: Path) -> None:
    questions = compose(small(), 2, 20)
    assert [each.id for each in questions[:2]] == ["encyclo-k-2-0001", "encyclo-k-2-0002"]
    path = tmp_path / "questions.jsonl"
    path.write_text("\n".join(each.to_json() for each in questions), encoding="utf-8")
    assert load_questions(path) == questions


def test_each_statement_becomes_one_true_or_false_question() -> None:
    source = small()
    questions = compose(source, 2, 12)
    single = single_statements(questions, source, 2)
    known = {each.id: each for each in source}
    held = [str(each) for question in questions for each in question.metadata["statements"]]  # type: ignore[union-attr]
    assert [each.metadata["statement"] for each in single] == list(dict.fromkeys(held))
    for each in single:
        statement = known[str(each.metadata["statement"])]
        assert each.prompt.endswith(f"\n{statement.text}")
        said = each.choices[right_place(each)]
        assert (
            said
            == {
                ("en", True): "It holds true.",
                ("en", False): "It does not hold true.",
                ("zh", True): "成立。",
                ("zh", False): "不成立。",
            }[statement.language, statement.correct]
        )
        assert each.cluster == statement.point
    assert 0.3 < sum(right_place(each) == 0 for each in single) / len(single) < 0.7
    with pytest.raises(InputError, match="not among those given"):
        single_statements(questions, source[:5], 2)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"options": (1, 4)}, r"options \(--options\): 1 to 4 is not possible"),
        ({"options": (4, 27)}, r"options \(--options\): 4 to 27"),
        ({"statements_per_question": (10, 8)}, r"statements per question \(--statements\): 10 to 8"),
        ({"combination": (2, 8)}, r"statements in an option \(--combination\): 2 to 8"),
        ({"statements_per_question": (4, 4), "options": (5, 5), "combination": (1, 1)}, "no 5 different options of 1"),
        ({"questions": 0}, "0 questions cannot be shared out"),
    ],
)
def test_impossible_forms_are_refused(changes: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        compose(small(), 1, **{"questions": 10, **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("correct", "incorrect", "said"),
    [
        (9, 9, r"Science > Science 1 > Optics 1 \(en\) has statements on 9 points"),
        (20, 7, "has incorrect statements on 7 points"),
    ],
)
def test_a_subfield_too_small_is_named(correct: int, incorrect: int, said: str) -> None:
    with pytest.raises(InputError, match=said):
        compose(subfield("Optics 1", "Science", "en", correct, incorrect), 1, 10)


def test_a_subfield_is_named_in_one_line() -> None:
    source = [each.model_copy(update={"subfield": "Optics\n1"}) for each in subfield("O 1", "Science", "en", 5, 5)]
    with pytest.raises(InputError, match=r"> Optics 1 \(en\) has statements on 5 points"):
        compose(source, 1, 10)


def test_numerals_are_roman() -> None:
    assert [numeral(n) for n in (1, 4, 6, 9, 10, 14, 39)] == ["i", "iv", "vi", "ix", "x", "xiv", "xxxix"]
    assert all(numeral(one) != numeral(other) for one, other in pairwise(range(1, 40)))
