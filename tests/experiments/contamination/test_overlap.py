"""What chance gives, of whole texts: where nothing was memorised nothing is above it, however long the rests are."""

import sys
from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer

from toolablate.analysis.pairing import Unit
from toolablate.experiments.contamination import overlap as overlap_module
from toolablate.experiments.contamination.overlap import (
    Continued,
    Figure,
    contamination_results,
    difference_of,
    longest_run,
    mean_of,
    ngram_share,
    open_rouge,
    overlap,
    strangers,
    token_ends,
    tokens_of,
)
from toolablate.traces.errors import InputError
from toolablate.traces.installing import to_install
from toolablate.traces.records import Continuation

RUNS_OF_CHANCE = 200
QUESTIONS = 50
WORDS_OF_CHANCE = np.array([f"w{number}" for number in range(300)])
# As words are in a language: the second is half as frequent as the first (Zipf).
CHANCES = 1 / np.arange(1, len(WORDS_OF_CHANCE) + 1)


def written(rng: np.random.Generator, count: int) -> str:
    return " ".join(rng.choice(WORDS_OF_CHANCE, count, p=CHANCES / CHANCES.sum()))


def continuation(number: int, rest: str, text: str, cluster: str = "") -> Continuation:
    return Continuation(
        model="0" * 32,
        benchmark="B",
        question=f"q{number}",
        cluster=cluster,
        given="Given that",
        rest=rest,
        max_tokens=90,
        text=text,
        finish_reason="length",
        at=datetime(2026, 1, 2, tzinfo=UTC),
    )


def continued(rng: np.random.Generator, memorised: float) -> Continued:
    found = []
    for number in range(QUESTIONS):
        rest = written(rng, int(rng.integers(8, 40)))
        found.append(continuation(number, rest, rest if rng.random() < memorised else written(rng, 60)))
    return Continued("m", "B", QUESTIONS, 0, tuple(found))


@pytest.mark.deep
def test_of_what_was_not_memorised_nothing_is_above_chance() -> None:
    rng, values, covered = np.random.default_rng(3), [], 0
    for run in range(RUNS_OF_CHANCE):
        (found,) = contamination_results([continued(rng, 0.0)], 0.4, seed=run // 50).results
        assert found.by_chance is not None
        assert found.above_chance is not None
        assert found.above_chance.ci95 is not None
        assert found.by_chance.value > 10
        values.append(found.above_chance.value)
        covered += found.above_chance.ci95[0] <= 0 <= found.above_chance.ci95[1]
    assert np.mean(values) == pytest.approx(0, abs=0.3), "a third of a point; shorter rests of others made it .9"
    assert 0.91 <= covered / RUNS_OF_CHANCE <= 0.99


@pytest.mark.deep
def test_what_was_memorised_is_above_chance_by_what_it_adds() -> None:
    rng = np.random.default_rng(4)
    found = [contamination_results([continued(rng, 0.3)], 0.4).results[0] for _ in range(40)]
    above = np.mean([each.above_chance.value for each in found if each.above_chance])
    chance = np.mean([each.by_chance.value for each in found if each.by_chance])
    assert above == pytest.approx(0.3 * (100 - chance), abs=1.5)


def test_a_stranger_is_never_of_the_own_cluster_nor_shorter_than_it_need_be() -> None:
    """Continuations are the rests of their own clusters, which chance must not meet."""
    letters = "abcdefghijklmn"
    rests = [" ".join(f"{name}{each}" for each in letters[: 4 + 5 * n]) for name in "xyz" for n in range(3)]
    own = tuple(
        continuation(number, rest, " ".join(rests[number // 3 * 3 : number // 3 * 3 + 3]), cluster=rest[0])
        for number, rest in enumerate(rests)
    )
    for seed in range(20):
        (found,) = contamination_results([Continued("m", "B", 9, 0, own)], 0.4, seed=seed).results
        assert all(each.chance is not None and each.chance.rouge_l == 0 for each in found.of_questions)
        assert all(each.chance is not None and each.chance.tokens == each.own.tokens for each in found.of_questions)


# The contamination test's estimators, on data of which the truth is known.


RUNS = 2_000
SHARED = 100
"""Runs that share resamples, which are drawn only once for them."""
MEMORISED = 0.1


def _rouge(rng: np.random.Generator, level: float, questions: int) -> list[float]:
    """Of which a tenth come back nearly whole, and the rest as unrelated text does."""
    babble = 100 * rng.beta(8 * level, 8 * (1 - level), size=questions)
    whole = 100 * rng.beta(40, 2, size=questions)
    return np.where(rng.random(questions) < MEMORISED, whole, babble).tolist()


def _truth(level: float) -> float:
    return 100 * (MEMORISED * 40 / 42 + (1 - MEMORISED) * level)


def _alone(questions: int) -> list[Unit]:
    return [("question", str(number)) for number in range(questions)]


def _holds(figure: Figure, truth: float) -> bool:
    return figure.ci95 is not None and figure.ci95[0] <= truth <= figure.ci95[1]


@pytest.mark.deep
@pytest.mark.parametrize(("here", "there"), [(150, 150), (300, 80)])
def test_intervals_of_a_mean_and_of_a_difference_cover_the_truth(here: int, there: int) -> None:
    rng, covered = np.random.default_rng(here), np.zeros(2)
    for run in range(RUNS):
        one, other = (
            mean_of(_rouge(rng, level, count), _alone(count), seed=run // SHARED, resamples=500)
            for level, count in ((0.25, here), (0.15, there))
        )
        covered += [_holds(one, _truth(0.25)), _holds(difference_of(one, other), _truth(0.25) - _truth(0.15))]
    assert covered / RUNS == pytest.approx([0.95, 0.95], abs=0.015)


@pytest.mark.deep
def test_the_interval_of_what_is_above_chance_covers_it_in_clusters_with_partners_drawn() -> None:
    """Each rest serves twice, for its own question and as another's chance; some rests are easier to hit than others,
    and some continuations likelier to hit any."""
    rng, covered = np.random.default_rng(7), 0
    units = [unit for cluster in range(60) for unit in [("cluster", str(cluster))] * (1 + cluster % 4)]
    sizes = np.unique([name for _, name in units], return_inverse=True)[1]
    for run in range(RUNS):
        easy, likely = (rng.normal(0, 4, size=60)[sizes] + rng.normal(0, 3, size=len(units)) for _ in range(2))
        own = 30 + easy + likely + rng.normal(0, 5, size=len(units))
        drawn = strangers(units, seed=run)
        assert drawn is not None
        partners = [next(others) for others in drawn]
        chance = 18 + easy[partners] + likely + rng.normal(0, 5, size=len(units))
        covered += _holds(mean_of((own - chance).tolist(), units, seed=run // SHARED, resamples=500), 12)
    assert covered / RUNS >= 0.93


def test_the_ends_of_a_difference_are_those_of_lopsided_intervals() -> None:
    found = difference_of(Figure(50.0, (47.0, 58.0)), Figure(40.0, (34.0, 44.0)))
    assert found == Figure(10.0, (10.0 - 5.0, 10.0 + 10.0))
    assert difference_of(Figure(50.0, None), Figure(40.0, (34.0, 44.0))) == Figure(10.0, None)


@given(st.lists(st.integers(0, 6), max_size=40), st.integers(0, 99))
def test_a_stranger_is_of_another_unit_and_nobody_is_met_twice(clusters: list[int], seed: int) -> None:
    units: list[Unit] = [("cluster", str(each)) if each else ("question", str(n)) for n, each in enumerate(clusters)]
    drawn = strangers(units, seed)
    largest = max((units.count(unit) for unit in units), default=0)
    if not units or 2 * largest > len(units):
        assert drawn is None
        return
    assert drawn is not None
    others = [list(each) for each in drawn]
    assert sorted(each[0] for each in others) == list(range(len(units)))
    for place, each in enumerate(others):
        assert len(set(each)) == len(each)
        assert all(units[place] != units[other] for other in each)
    again = strangers(units, seed)
    assert again is not None
    assert [list(each) for each in again] == others


def test_another_seed_draws_other_strangers() -> None:
    first, second = ([next(each) for each in strangers(_alone(30), seed) or ()] for seed in (1, 2))
    assert sorted(first) == sorted(second) == list(range(30))
    assert first != second


def test_there_is_no_mean_of_nothing() -> None:
    with pytest.raises(ValueError, match="no question"):
        mean_of([], [])


# What of a text comes back, token by token.


WORDS = st.lists(st.sampled_from(["alpha", "beta", "gamma", "delta"]), min_size=1, max_size=25)


def test_tokens_are_words_in_lower_case_and_single_han_and_kana() -> None:
    text = r"The MH370 flight, \frac{1}{20}; snake_case; Öl é 某公司在2023年 カナ 한국어 don't"
    assert tokens_of(text) == [
        *("the", "mh370", "flight", "frac", "1", "20", "snake", "case", "öl", "é"),
        *("某", "公", "司", "在", "2023", "年", "カ", "ナ", "한국어", "don", "t"),
    ]
    assert tokens_of(text, 3) == ["the", "mh370", "flight"]
    assert [text[:end][-2:] for end in token_ends(text)][:3] == ["he", "70", "ht"]
    assert tokens_of("") == tokens_of("?! —") == []


@given(WORDS, WORDS)
def test_it_is_what_rouge_score_makes_of_latin_words(rest: list[str], came: list[str]) -> None:
    theirs = RougeScorer(["rougeL"]).score(" ".join(rest), " ".join(came[: len(rest)]))["rougeL"]
    found = overlap(" ".join(rest), " ".join(came))
    assert (found.rouge_l, found.precision, found.recall) == pytest.approx(
        (100 * theirs.fmeasure, 100 * theirs.precision, 100 * theirs.recall)
    )


def test_chinese_counts_which_the_scorers_own_tokenizer_drops() -> None:
    assert RougeScorer(["rougeL"]).score("公司的收入", "公司的收入")["rougeL"].fmeasure == 0
    assert overlap("公司的收入是多少", "公司的收入有多少").rouge_l == pytest.approx(100 * 7 / 8)


def test_a_continuation_is_cut_to_the_rest() -> None:
    assert overlap("a b c", "a b c and then much more of it").rouge_l == 100
    short = overlap("a b c d", "a b")
    assert (short.rouge_l, short.precision, short.recall) == pytest.approx((200 / 3, 100, 50))
    assert overlap("a b c d", "").rouge_l == 0
    assert overlap("a b c d", "a b x", most=2) == overlap("a b", "a b")


@given(st.lists(st.integers(0, 2), max_size=12), st.lists(st.integers(0, 2), max_size=12))
def test_the_longest_run_is_the_longest_common_piece(one: list[int], other: list[int]) -> None:
    mine, theirs = ["".join(map(str, each)) for each in (one, other)]
    pieces = {mine[start:end] for start in range(len(mine)) for end in range(start, len(mine) + 1)}
    expected = max((len(piece) for piece in pieces if piece in theirs), default=0)
    assert longest_run(list(mine), list(theirs)) == expected


def test_a_hostile_continuation_is_compared_no_further_than_a_long_rest() -> None:
    """What took time by the square of these would not end within a test's limit."""
    assert overlap("the " * 20_000, "the " * 1_000_000).tokens == 500
    assert overlap("x" * 4_000_000, "x" * 4_000_000).run == 1


def test_without_rouge_score_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rouge_score.rouge_scorer", None)
    open_rouge.cache_clear()
    with pytest.raises(InputError, match="rouge-score") as caught:
        overlap_module.overlap("a", "a")
    assert caught.value.hint == to_install("contamination")


def test_ngrams_are_counted_where_they_stand() -> None:
    one = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"]
    assert ngram_share(one, one, 8) == 100
    assert ngram_share(one, ["x", *one[1:], "y"], 8) == pytest.approx(100 * 2 / 3)
    assert ngram_share(one, [*one[:5], "x", *one[5:]], 8) == 0
    assert ngram_share(one[:7], one, 8) is None


def test_what_was_memorised_shows_in_ngrams_and_chance_does_not() -> None:
    (found,) = contamination_results([continued(np.random.default_rng(5), 0.4)], 0.4).results
    eight, thirteen = found.ngrams
    assert (eight.length, eight.questions, thirteen.length) == (8, QUESTIONS, 13)
    assert eight.own is not None
    assert eight.by_chance is not None
    memorised = sum(each.own.rouge_l == 100 for each in found.of_questions)
    assert memorised > 5
    assert eight.own.value == pytest.approx(100 * memorised / QUESTIONS, abs=2)
    assert eight.by_chance.value < 2
    assert thirteen.questions == sum(each.own.tokens >= 13 for each in found.of_questions) < QUESTIONS
