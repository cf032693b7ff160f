"""What of a text comes back, token by token."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer

from toolablate.experiments.contamination import overlap as exposure_overlap
from toolablate.experiments.contamination.overlap import longest_run, open_rouge, overlap, token_ends, tokens_of
from toolablate.traces.errors import InputError
from toolablate.traces.installing import to_install

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
        exposure_overlap.overlap("a", "a")
    assert caught.value.hint == to_install("exposure")
