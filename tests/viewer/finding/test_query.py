"""Queries as they are typed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolablate.traces.errors import InputError
from toolablate.viewer.finding.query import FIELDS, LONGEST, Query, Term, compiled, literal_words, parse
from toolablate.viewer.finding.tokens import spans_of, to_index, tokens_of


def terms(text: str, field: str = "") -> list[list[tuple[str, str, str, bool]]]:
    return [
        [(term.field, term.kind, term.text, term.negative) for term in group] for group in parse(text, field).groups
    ]


def refusal(text: str, field: str = "") -> InputError:
    with pytest.raises(InputError) as raised:
        parse(text, field)
    return raised.value


def test_words_phrases_fields_and_joins() -> None:
    assert terms('tool:python status:error "log of" -code:try ener*') == [
        [("tool", "words", "python", False)],
        [("status", "words", "error", False)],
        [("", "words", "log of", False)],
        [("code", "words", "try", True)],
        [("", "prefix", "ener", False)],
    ]
    assert terms("a OR b c AND d") == [
        [("", "words", "a", False), ("", "words", "b", False)],
        [("", "words", "c", False)],
        [("", "words", "d", False)],
    ]
    assert terms('"OR" or') == [[("", "words", "OR", False)], [("", "words", "or", False)]]
    assert terms("np.log answer:3.5", "code") == [
        [("code", "words", "np.log", False)],
        [("answer", "words", "3.5", False)],
    ]
    assert parse("np.log").groups[0][0].tokens == ("np", "log")
    assert parse("对数").groups[0][0].tokens == ("对", "数")


def test_patterns_end_at_a_slash_that_is_not_escaped() -> None:
    assert terms(r"code:/a\/b\d+/ -/x y/") == [[("code", "regex", r"a/b\d+", False)], [("", "regex", "x y", True)]]


@pytest.mark.parametrize(
    ("text", "code", "says"),
    [
        ("bogus:x", "unknown_field", "bogus"),
        ("http://example.org", "unknown_field", "http"),
        ('"open', "query", "not closed"),
        ("/open", "query", "not closed"),
        ("/usr/bin", "query", "blank"),
        ("//", "query", "empty"),
        (r"/(a)\1/", "query", "RE2"),
        ("/a(?=b)/", "query", "RE2"),
        ("/((a{100}){100}){10}/", "query", "/((a"),
        ("/\ud800/", "query", "half a character"),
        ("OR a", "query", "left"),
        ("a OR", "query", "right"),
        ("a OR -b", "query", "minus"),
        ("", "query", "nothing"),
        ("   ", "query", "nothing"),
        ("===", "query", "no word"),
        ("a " * LONGEST, "query", "characters"),
        ("a " * 100, "query", "terms"),
    ],
)
def test_what_cannot_be_read_is_refused_with_a_remedy(text: str, code: str, says: str) -> None:
    refused = refusal(text)
    assert (refused.code, says in refused.message) == (code, True), refused.message
    assert refused.hint


def test_an_unknown_field_is_told_which_there_are() -> None:
    assert all(field in refusal("x", "bogus").hint for field in FIELDS)


@given(st.text(max_size=80))
def test_whatever_is_typed_is_read_or_refused(text: str) -> None:
    try:
        found = parse(text)
    except InputError:
        return
    assert isinstance(found, Query)
    assert all(isinstance(term, Term) for term in found.terms)


@pytest.mark.parametrize(
    ("pattern", "wanted"),
    [
        (r"np\.log\d+", [("log", "prefix")]),
        ("import numpy as", [("numpy", "words"), ("as", "prefix")]),
        ("a colou?r b", [("colo", "prefix"), ("b", "prefix")]),
        ("one two|three four", []),
        ("(?s)one two", []),
        ("one (two three) four five", [("four", "words"), ("five", "prefix")]),
        ("[a b] c", [("c", "prefix")]),
        (" a{2,3} b", [("b", "prefix")]),
    ],
)
def test_words_that_every_match_has(pattern: str, wanted: list[tuple[str, str]]) -> None:
    assert list(literal_words(pattern)) == wanted


PIECES = st.sampled_from(
    ["ab", " ", ".", r"\.", "x", "y*", "z?", "[ab ]", r"\d", "(a b)", "q+", "a{0,2}", "-", "Ab", "_", r"\b", "1"]
)


@given(st.lists(PIECES, min_size=1, max_size=6).map("".join), st.text(alphabet="abxyzqAB 1.-_", max_size=30))
def test_no_match_is_lost_to_them(pattern: str, text: str) -> None:
    if not compiled(pattern).search(text):
        return
    for word, kind in literal_words(pattern):
        assert list(spans_of(text, [word], prefix=kind == "prefix")), (pattern, text, word)


@given(st.text())
def test_texts_are_indexed_by_the_tokens_of_queries(text: str) -> None:
    indexed = to_index(text)
    if text.isascii():
        assert tokens_of(indexed) == tokens_of(text)
    else:
        assert indexed.split() == tokens_of(text)


def test_places_of_words() -> None:
    text = "Log(x) of LOGS 对数函数, straße"
    assert [text[a:b] for a, b in spans_of(text, ["log"], prefix=False)] == ["Log"]
    assert [text[a:b] for a, b in spans_of(text, ["log"], prefix=True)] == ["Log", "LOGS"]
    assert [text[a:b] for a, b in spans_of(text, ["数", "函"], prefix=False)] == ["数函"]
    assert [text[a:b] for a, b in spans_of(text, ["strasse"], prefix=False)] == ["straße"]
