"""Search over a corpus, offline."""

import json
from pathlib import Path

import pytest
from tests.tools.conftest import DOCUMENTS, Caller

from toolablate.tools import CorpusSearch, Resources, load_corpus, open_toolset
from toolablate.tools.search.words import terms
from toolablate.traces.errors import InputError
from toolablate.traces.records import ToolUse


async def found(path: Path, query: str, limit: int = 10) -> list[str]:
    reply = await CorpusSearch.from_file(path).search(query, limit)
    return [result.url for result in reply.results]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("does the harmonic series diverge", "https://example.org/harmonic"),
        ("GEOMETRIC ratio", "https://www.example.org/geometric/"),
        ("ＧＥＯＭＥＴＲＩＣ", "https://www.example.org/geometric/"),
        ("公比", "https://example.org/zh?id=1"),
        ("调和级数发散吗", "https://example.org/zh?id=1"),
    ],
)
async def test_the_best_document_comes_first(corpus_file: Path, query: str, first: str) -> None:
    assert (await found(corpus_file, query))[0] == first


@pytest.mark.parametrize("query", ["zebra", "?!", "\u200b", "harmonicseries", "🙂"])
async def test_nothing_found_is_empty_and_no_failure(corpus_file: Path, query: str) -> None:
    reply = await CorpusSearch.from_file(corpus_file).search(query, 10)
    assert (reply.status, reply.results) == ("empty", ())


async def test_the_order_of_the_file_and_of_the_words_changes_nothing(tmp_path: Path) -> None:
    documents = [{"id": f"d{n}", "url": f"https://e.org/{n}", "text": "same words here"} for n in range(30)]
    one, other = tmp_path / "one.jsonl", tmp_path / "other.jsonl"
    one.write_text("\n".join(map(json.dumps, documents)))
    other.write_text("\n\n".join(map(json.dumps, reversed(documents))))
    expected = [f"https://e.org/{n}" for n in sorted(range(30), key=str)][:5]
    assert await found(one, "words same", 5) == await found(other, "same here words", 5) == expected


async def test_a_snippet_is_the_passage_that_matches(tmp_path: Path) -> None:
    text = "Nothing of note. " * 200 + "The zebra crosses. " + "And so on. " * 200
    path = tmp_path / "long.jsonl"
    path.write_text(json.dumps({"id": "a", "url": "https://e.org/", "text": text}))
    (result,) = (await CorpusSearch.from_file(path).search("zebra", 3)).results
    assert "The zebra crosses." in result.snippet
    assert result.snippet.startswith("…")
    assert len(result.snippet) < 300


def test_terms_of_several_scripts() -> None:
    assert terms("The U.S. GDP of 2024: 3.5%") == ["the", "u", "s", "gdp", "of", "2024", "3", "5"]
    assert terms("AI模型") == ["ai", "模", "模型", "型"]
    assert terms("snake_case") == ["snake", "case"]


async def test_what_the_model_sees(corpus_file: Path, call: Caller) -> None:
    async with open_toolset([ToolUse(name="search")], Resources(search=CorpusSearch.from_file(corpus_file))) as tools:
        shown = await call(tools, "web_search", query="harmonic", max_results=1)
        nothing = await call(tools, "web_search", query="zebra")
        blank = await call(tools, "web_search", query="  ")
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
    assert blank.status == "invalid"
    heading, position, *lines = page.output.split("\n")
    assert heading.endswith("] Harmonic series (https://example.org/harmonic)")
    assert position == "lines 0-1 of 2"
    assert lines[1] == "L1: Its partial sums grow like a logarithm."
    assert (other.status, other.error) == ("error", "not_in_corpus")
    assert "is not in this corpus" in other.output


LINE = json.dumps(DOCUMENTS[0])


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "holds no document"),
        ("\n \n", "holds no document"),
        (f"{LINE}\n{{", ":2: Invalid JSON"),
        (f"{LINE}\n\n{LINE}", ":3: id 'harmonic' was there on line 1 already"),
        (
            f'{LINE}\n{{"id": "x", "url": "http://example.org/harmonic/", "text": "t"}}',
            ":2: url 'example.org/harmonic'",
        ),
        ('{"id": "x", "url": "u"}', ":1: text: Field required"),
        ('{"id": "", "url": "u", "text": "t"}', ":1: id: "),
        ('{"id": 3, "url": "u", "text": "t"}', ":1: id: Input should be a valid string, found 3"),
        ('{"id": "x", "url": "u", "text": "t", "date": 1}', ":1: date: Extra inputs"),
        ("[]", ":1: "),
        ("null", ":1: "),
    ],
)
def test_a_wrong_corpus_names_the_line(tmp_path: Path, content: str, said: str) -> None:
    path = tmp_path / "corpus.jsonl"
    path.write_text(content)
    with pytest.raises(InputError) as refused:
        load_corpus(path)
    assert said in refused.value.message
    assert str(path) in refused.value.message


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "latin").write_bytes(b'{"id": "\xe4"}')
    for name, said in (("none", "there is no corpus"), (".", "cannot read"), ("latin", "cannot read")):
        with pytest.raises(InputError, match=said):
            load_corpus(tmp_path / name)


def test_a_bom_and_separators_inside_strings_are_no_trouble(tmp_path: Path) -> None:
    path = tmp_path / "corpus.jsonl"
    path.write_text('\ufeff{"id": "a", "url": "u", "text": "one\u2028two"}\r\n', encoding="utf-8")
    assert load_corpus(path).documents[0].text == "one\u2028two"
