"""Search over a corpus, offline."""

import random
from datetime import UTC, date, datetime
from itertools import pairwise
from pathlib import Path

import pytest
from tests.tools.conftest import Caller
from tests.tools.corpus.conftest import Opener, asked, found

from toolablate.tools import Resources, open_toolset
from toolablate.tools.corpus import CorpusPages, CorpusSearch
from toolablate.tools.corpus.inverted_index import LARGE, MAX_QUERY_TERMS
from toolablate.tools.search.provider import LiveSearch
from toolablate.traces.records import ToolUse


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("does the harmonic series diverge", "https://example.org/harmonic"),
        ("GEOMETRIC ratio", "https://www.example.org/geometric/"),
        ("ＧＥＯＭＥＴＲＩＣ", "https://www.example.org/geometric/"),
        ("géométric", "https://www.example.org/geometric/"),
        ("公比", "https://example.org/zh?id=1"),
        ("调和级数发散吗", "https://example.org/zh?id=1"),
    ],
)
async def test_the_best_document_comes_first(corpus_file: Path, opened: Opener, query: str, first: str) -> None:
    assert (await found(opened(corpus_file), query))[0] == first


@pytest.mark.parametrize("query", ["zebra", "?!", "\u200b", "harmonicseries", "🙂", "", "x" * 70_000])
async def test_nothing_found_is_empty_and_no_failure(corpus_file: Path, opened: Opener, query: str) -> None:
    reply = await asked(opened(corpus_file), query)
    assert (reply.status, reply.results) == ("empty", ())


HOSTILE = [
    'harmonic AND (title:"x" OR [a TO b}',
    'harmonic~2^9999 +-!(){}[]^"~*?:\\/',
    "harmonic \ud800 \x00 \x1b[31m",
    "terms:harmonic published:[0 TO 9] /.*/",
    "harmonic " * 220,
    "harmonic " + " ".join(f"word{n}" for n in range(300)),
    "harmonic " + "级" * 1_900,
]


@pytest.mark.parametrize("query", HOSTILE)
async def test_a_query_is_words_and_never_a_language(corpus_file: Path, opened: Opener, query: str) -> None:
    assert "https://example.org/harmonic" in await found(opened(corpus_file), query)


async def test_what_the_envelope_tells(corpus_file: Path, opened: Opener) -> None:
    corpus = opened(corpus_file)
    before = datetime.now(UTC)
    reply = await asked(corpus, "harmonic logarithm", 1)
    assert (reply.provider, reply.engine, reply.query, reply.status) == (
        "corpus",
        "tantivy",
        "harmonic logarithm",
        "ok",
    )
    assert reply.parameters == {"corpus": corpus.digest[:12], "index": 1} == CorpusSearch(corpus).parameters
    assert before <= reply.fetched_at <= datetime.now(UTC)
    (result,) = reply.results
    assert (result.rank, result.title, result.url) == (1, "Harmonic series", "https://example.org/harmonic")
    assert (result.published_at, result.published_from) == ("2020-01-02", "published")


async def test_the_order_of_the_file_and_of_the_words_changes_nothing(opened: Opener) -> None:
    documents = [{"id": f"d{n}", "text": "same words here"} for n in range(30)]
    one, other = opened(documents, "one.jsonl"), opened(reversed(documents), "other.jsonl")
    expected = [f"https://corpus.invalid/d{n}" for n in sorted(range(30), key=str)][:5]
    assert await found(one, "words same", 5) == await found(other, "same here words", 5) == expected


async def test_documents_that_say_the_same_come_in_the_order_of_their_ids(opened: Opener) -> None:
    draw = random.Random(3)
    words = [f"w{n}" for n in range(400)]
    weights = [1 / (n + 1) for n in range(400)]
    texts = [" ".join(draw.choices(words, weights, k=draw.choice([20, 60]))) for _ in range(300)]
    drawn = [draw.choice(texts) for _ in range(3_000)]
    corpus = opened({"id": f"{n:04d}", "text": text} for n, text in enumerate(drawn))
    for _ in range(60):
        query = " ".join(draw.sample(words, draw.randint(2, 12)))
        longer = [int(url[-4:]) for url in await found(corpus, query, 40)]
        assert [int(url[-4:]) for url in await found(corpus, query, 7)] == longer[:7]
        for one, other in pairwise(longer):
            assert drawn[one] != drawn[other] or other > one
        # All copies of what comes first come first, and none was left out for a later one.
        first = [n for n, text in enumerate(drawn) if longer and text == drawn[longer[0]]]
        tied = [n for n in longer if drawn[n] == drawn[longer[0]]]
        assert tied == first[: len(tied)]


async def test_a_word_in_the_title_counts_more(opened: Opener) -> None:
    corpus = opened(
        [
            {"id": "a", "title": "other", "text": "zebra lion tiger bear"},
            {"id": "b", "title": "zebra", "text": "other lion tiger bear"},
            {"id": "c", "text": "nothing of the kind"},
        ]
    )
    assert await found(corpus, "zebra") == ["https://corpus.invalid/b", "https://corpus.invalid/a"]


@pytest.mark.parametrize("query", ["lighthouse keeper", "keeper lighthouse", "lighthouse"])
async def test_a_word_that_all_documents_have_finds_all(opened: Opener, query: str) -> None:
    corpus = opened([{"id": "1", "text": "the lighthouse keeper"}, {"id": "2", "text": "the lighthouse"}])
    assert sorted(await found(corpus, query)) == ["https://corpus.invalid/1", "https://corpus.invalid/2"]


async def test_stop_words_of_a_large_corpus_count_where_too_few_documents_have_other_words(opened: Opener) -> None:
    """A hundred short documents would come before the long zebras if `the` counted."""
    long = " filler" * 200
    texts = {
        n: f"the zebra{long}" if n % 500 == 7 else "the end" if n % 50 == 8 else f"the words{long}"
        for n in range(LARGE)
    }
    corpus = opened({"id": f"{n:04d}", "text": text} for n, text in texts.items())
    zebras = [f"https://corpus.invalid/{n:04d}" for n in range(7, LARGE, 500)]
    assert await found(corpus, "the zebra") == zebras
    assert await found(corpus, "the zebra", 5) == zebras[:5]
    more = await found(corpus, "the zebra", 20)
    assert len(more) == 20
    assert more[:10] == zebras
    assert len(await found(corpus, "the")) == 10


async def test_all_words_of_a_long_query_count_where_the_rarest_find_too_few(opened: Opener) -> None:
    rare = " ".join(f"rare{n}" for n in range(MAX_QUERY_TERMS))
    corpus = opened(
        [{"id": "all", "text": f"{rare} zebra"}, {"id": "zebra", "text": "zebra"}, {"id": "no", "text": "lion"}]
    )
    assert await found(corpus, f"{rare} zebra") == ["https://corpus.invalid/all", "https://corpus.invalid/zebra"]


async def test_before_leaves_out_what_is_known_to_be_later(opened: Opener) -> None:
    dates = {
        "year": "2024",
        "month": "2024-05",
        "day": "2024-05-31T23:00:00+02:00",
        "old": "1999-12-31",
        "none": "",
        "words": "last Tuesday",
        "no-day": "2024-13-45",
    }
    corpus = opened({"id": key, "text": "zebra", "published": value} for key, value in dates.items())

    async def left(day: date) -> set[str]:
        return {url.rpartition("/")[2] for url in await found(corpus, "zebra", before=day)}

    unknown = {"none", "words", "no-day"}
    assert await left(date(1999, 12, 31)) == unknown
    assert await left(date(2024, 1, 1)) == unknown | {"old"}
    assert await left(date(2024, 5, 2)) == unknown | {"old", "year", "month"}
    assert await left(date(2024, 6, 1)) == set(dates)


async def test_a_snippet_is_the_passage_that_matches(opened: Opener) -> None:
    text = "Nothing of note. " * 200 + "The Zebra crosses. " + "And so on. " * 200
    (result,) = (await asked(opened([{"id": "a", "text": text}]), "zebra", 3)).results
    assert "The Zebra crosses." in result.snippet
    assert result.snippet.startswith("…")
    assert result.snippet.endswith("…")
    assert len(result.snippet) < 300


async def test_the_passage_of_a_chinese_text(opened: Opener) -> None:
    text = "没有什么可说的。" * 300 + "斑马穿过马路。" + "等等。" * 300
    (result,) = (await asked(opened([{"id": "a", "text": text}]), "斑马")).results
    assert "斑马穿过马路" in result.snippet


async def test_what_the_model_sees(corpus_file: Path, opened: Opener, call: Caller) -> None:
    corpus = opened(corpus_file)
    resources = Resources(search=LiveSearch(CorpusSearch(corpus)), pages=CorpusPages(corpus))
    async with open_toolset([ToolUse(name="search")], resources) as tools:
        shown = await call(tools, "web_search", query="harmonic", max_results=1)
        nothing = await call(tools, "web_search", query="zebra")
        page = await call(tools, "browser_open", url="http://example.org/harmonic#proof")
        other = await call(tools, "browser_open", url="https://en.wikipedia.org/wiki/Series")
    assert shown.output == (
        "Results for 'harmonic':\n"
        "1. Harmonic series (2020-01-02)\n"
        "    https://example.org/harmonic\n"
        "    The harmonic series is the sum of the reciprocals of the integers. It diverges. "
        "Its partial sums grow like a logarithm."
    )
    assert (nothing.status, nothing.output) == ("ok", "No results for 'zebra'.")
    heading, position, *lines = page.output.split("\n")
    assert heading.endswith("] Harmonic series (https://example.org/harmonic)")
    assert position == "lines 0-1 of 2"
    assert lines[1] == "L1: Its partial sums grow like a logarithm."
    assert (other.status, other.error) == ("error", "not_in_corpus")
    assert "is not in this corpus" in other.output
