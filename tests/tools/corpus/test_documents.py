"""What a corpus is made of: lines of JSON, or a folder of documents."""

import json
import os
from pathlib import Path

import pytest
from tests.tools.conftest import DOCUMENTS
from tests.tools.corpus.conftest import Opener, asked, found, written
from tests.tools.corpus.pdf import pdf_of

from toolablate.tools.browser.page import PageUnreadableError
from toolablate.tools.corpus import CorpusPages, corpus_digest
from toolablate.traces.errors import InputError
from toolablate.traces.records import digest_text

LINE = json.dumps(DOCUMENTS[0])


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", " holds no document"),
        ("\n \n", " holds no document"),
        (f"{LINE}\n{{", ":2: Invalid JSON"),
        (f"{LINE}\n\n{LINE}", ":3: id 'harmonic' is a duplicate: first at "),
        (
            f'{LINE}\n{{"id": "x", "url": "http://example.org/harmonic/", "text": "t"}}',
            ":2: url 'example.org/harmonic' is a duplicate: first at ",
        ),
        ('{"id": "x", "url": "u"}', ":1: text: Field required"),
        ('{"id": "", "url": "u", "text": "t"}', ":1: id: "),
        ('{"id": 3, "url": "u", "text": "t"}', ":1: id: Input should be a valid string, found 3"),
        ('{"id": "x", "url": "u", "text": "t", "date": 1}', ":1: date: Extra inputs"),
        ('{"id": "x", "text": "\\ud800"}', ":1: Invalid JSON"),
        ("[]", ":1: "),
        ("null", ":1: "),
    ],
)
def test_a_wrong_corpus_names_the_line(tmp_path: Path, opened: Opener, content: str, said: str) -> None:
    path = tmp_path / "corpus.jsonl"
    path.write_text(content)
    with pytest.raises(InputError) as refused:
        opened(path)
    assert f"{path}{said}" in refused.value.message
    if "already" in said:
        assert refused.value.message.endswith(f"at {path}:1")


def test_files_that_cannot_be_read(tmp_path: Path, opened: Opener) -> None:
    (tmp_path / "latin").write_bytes(b'\n{"id": "\xe4", "text": "t"}')
    (tmp_path / "empty").mkdir()
    for name, said in (("none", "there is no corpus"), ("empty", "holds no document"), ("latin", "latin:2: ")):
        with pytest.raises(InputError, match=said):
            opened(tmp_path / name)


async def test_a_bom_and_separators_inside_strings_are_no_trouble(tmp_path: Path, opened: Opener) -> None:
    path = tmp_path / "corpus.jsonl"
    path.write_text('\ufeff{"id": "a", "url": "u", "text": "one\u2028two"}\r\n', encoding="utf-8")
    document = opened(path).at("u")
    assert document is not None
    assert document.text == "one\u2028two"


async def test_documents_open_by_url_or_id_and_have_a_url_of_their_own(opened: Opener) -> None:
    corpus = opened([{"id": "a b/ä", "text": "first"}, {"id": "c", "url": "https://e.org/c", "text": "second"}])
    pages = CorpusPages(corpus)
    page = await pages.read("https://corpus.invalid/a%20b/%C3%A4")
    assert (page.url, page.title, page.text) == (
        "https://corpus.invalid/a%20b/%C3%A4",
        "https://corpus.invalid/a%20b/%C3%A4",
        "first\n",
    )
    assert page.lookup is not None
    assert (page.lookup.kind, page.lookup.key, page.lookup.miss) == ("page", digest_text(page.url), None)
    assert (await pages.read("a b/ä")).url == page.url
    assert (await pages.read("http://www.e.org/c/#part")).text == "second\n"
    for absent in ("https://e.org/d", "", "[", "\ud800", "https://e.org/" + "x" * 5_000):
        with pytest.raises(PageUnreadableError) as refused:
            await pages.read(absent)
        assert refused.value.code == "not_in_corpus"
        assert refused.value.lookup is not None


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "library"
    (root / "deep" / "er").mkdir(parents=True)
    (root / ".hidden").mkdir()
    written(root / "lines.jsonl", DOCUMENTS)
    (root / "deep" / "note.txt").write_text("A plain note on zebras.", encoding="utf-8")
    (root / "deep" / "er" / "Read Me.md").write_text("# Heading\n\nMarkdown on giraffes.", encoding="utf-8")
    (root / "page.html").write_text(
        "<html><head><title>Lions</title></head><body><article><p>Lions sleep for twenty hours of each day, "
        'says <a href="deep/note.txt">a note</a>, and hunt for the rest of it, mostly at night.</p></article></body>',
        encoding="utf-8",
    )
    (root / "paper.pdf").write_bytes(pdf_of("Elephants remember"))
    (root / ".hidden" / "secret.txt").write_text("hidden hippo", encoding="utf-8")
    (root / ".secret.txt").write_text("hidden hippo", encoding="utf-8")
    (root / "program.py").write_text("hippo", encoding="utf-8")
    return root


async def test_a_folder_of_documents(folder: Path, opened: Opener) -> None:
    corpus = opened(folder)
    assert len(corpus) == len(DOCUMENTS) + 4
    assert corpus.skipped == ()
    for query, url in (
        ("zebras", "https://corpus.invalid/deep/note.txt"),
        ("giraffes", "https://corpus.invalid/deep/er/Read%20Me.md"),
        ("lions", "https://corpus.invalid/page.html"),
        ("elephants", "https://corpus.invalid/paper.pdf"),
        ("harmonic", "https://example.org/harmonic"),
    ):
        assert await found(corpus, query) == [url]
    assert await found(corpus, "hippo") == []
    page = await CorpusPages(corpus).read("https://corpus.invalid/page.html")
    assert page.title == "Lions"
    (link,) = page.links
    assert (link.url, page.text[link.start : link.end]) == ("https://corpus.invalid/deep/note.txt", "a note")
    assert (await CorpusPages(corpus).read(link.url)).text == "A plain note on zebras.\n"


def test_what_cannot_be_read_is_skipped_and_told(folder: Path, opened: Opener) -> None:
    (folder / "broken.pdf").write_bytes(b"%PDF-1.7\nnot really")
    (folder / "empty.html").write_text("", encoding="utf-8")
    (folder / "absent.txt").symlink_to(folder / "nowhere.txt")
    os.mkfifo(folder / "pipe.txt")
    corpus = opened(folder)
    assert len(corpus) == len(DOCUMENTS) + 4
    assert [skipped.path for skipped in corpus.skipped] == ["absent.txt", "broken.pdf", "empty.html", "pipe.txt"]
    assert all(skipped.reason for skipped in corpus.skipped)
    assert opened(folder).skipped == corpus.skipped


def test_a_folder_of_which_nothing_can_be_read_is_refused(tmp_path: Path, opened: Opener) -> None:
    (tmp_path / "library").mkdir()
    (tmp_path / "library" / "broken.pdf").write_bytes(b"%PDF-1.7\nnot really")
    with pytest.raises(InputError, match=r"no readable document; broken\.pdf: "):
        opened(tmp_path / "library")


@pytest.mark.parametrize("inside", [False, True])
def test_links_may_not_lead_out_of_the_folder(folder: Path, tmp_path: Path, opened: Opener, inside: bool) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "private.txt").write_text("private", encoding="utf-8")
    if inside:
        (folder / "again.txt").symlink_to(folder / "deep" / "note.txt")
        assert len(opened(folder)) == len(DOCUMENTS) + 5
        return
    for target, name in ((outside, "folder"), (outside / "private.txt", "file.txt")):
        link = folder / name
        link.symlink_to(target)
        with pytest.raises(InputError, match=f"{name} is a link that leads out of the folder"):
            opened(folder)
        link.unlink()


def test_an_id_that_is_in_two_files_is_refused(folder: Path, opened: Opener) -> None:
    written(folder / "more.jsonl", [{"id": "new", "text": "x"}, {"id": "zh", "text": "x"}])
    with pytest.raises(InputError) as refused:
        opened(folder)
    first, second = folder / "lines.jsonl", folder / "more.jsonl"
    assert refused.value.message == f"{second}:2: id 'zh' is a duplicate: first at {first}:3"
    written(folder / "more.jsonl", [{"id": "page.html", "text": "x"}])
    with pytest.raises(InputError, match=r"page\.html: id 'page\.html' is a duplicate: first at .*more\.jsonl:1"):
        opened(folder)


async def test_files_of_the_same_bytes_are_corpora_of_their_own(tmp_path: Path, opened: Opener) -> None:
    for name in ("one.txt", "other.txt", "other.html"):
        (tmp_path / name).write_text("<p>The <b>lighthouse</b> was lit in 1874.</p>")
    replies = {
        name: await asked(opened(tmp_path / name), "lighthouse") for name in ("one.txt", "other.txt", "other.html")
    }
    assert {name: reply.results[0].url for name, reply in replies.items()} == {
        name: f"https://corpus.invalid/{name}" for name in replies
    }
    assert "<b>" in replies["other.txt"].results[0].snippet
    assert "<b>" not in replies["other.html"].results[0].snippet
    assert len({corpus_digest(tmp_path / name) for name in replies}) == 3


def test_lines_are_the_same_corpus_wherever_they_are(tmp_path: Path) -> None:
    files = [written(tmp_path / name, [{"id": "a", "text": "zebra"}]) for name in ("one.jsonl", "other.jsonl")]
    assert corpus_digest(files[0]) == corpus_digest(files[1])


def test_the_digest_is_of_names_and_contents(folder: Path) -> None:
    digest = corpus_digest(folder)
    (folder / ".secret.txt").write_text("changed", encoding="utf-8")
    os.utime(folder / "page.html", (0, 0))
    assert corpus_digest(folder) == digest
    note = folder / "deep" / "note.txt"
    note.write_text("changed", encoding="utf-8")
    changed = corpus_digest(folder)
    note.rename(folder / "deep" / "other.txt")
    assert len({digest, changed, corpus_digest(folder)}) == 3
