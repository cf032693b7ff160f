"""Documents that are no pages: text, feeds, what is no text, nothing."""

import json

import pytest
from tests.servers.packing import packed

from toolablate.tools.extraction import ExtractionOptions, extract
from toolablate.traces.records import PageText

RSS = """<?xml version="1.0" encoding="UTF-8"?><!-- made by hand -->
<rss version="2.0"><channel><title>Tower news</title><link>https://tower.example/</link>
<item><title>The clock strikes again</title><link>https://tower.example/1</link><pubDate>Mon, 05 Feb 2024</pubDate>
<description><![CDATA[<p>After <b>nine</b> years of silence.</p>]]></description></item>
<item><title>Stairs closed</title><link>https://tower.example/2</link></item></channel></rss>"""
ATOM = """<feed xmlns="http://www.w3.org/2005/Atom"><title>Log</title>
<entry><title>Entry one</title><link href="https://log.example/one"/><summary>First &amp; last.</summary></entry></feed>"""


def read(body: bytes, content_type: str = "") -> PageText:
    return extract(body, ExtractionOptions(url="https://x.example/file", content_type=content_type))


@pytest.mark.parametrize(
    "content_type", ["text/plain", "text/markdown; charset=utf-8", "text/csv", "", "application/octet-stream"]
)
def test_text_is_text(content_type: str) -> None:
    body = "# Title\r\n\r\nSee https://a.example/x, or (https://b.example/y).\r\nEnd\x07\n\n"
    text = read(body.encode(), content_type)
    assert text.text == "# Title\n\nSee https://a.example/x, or (https://b.example/y).\nEnd"
    assert [text.text[link.start : link.end] for link in text.links] == ["https://a.example/x", "https://b.example/y"]
    assert text.method == "text"


@pytest.mark.parametrize("content_type", ["application/json", "application/ld+json", "text/json"])
def test_json_stays_as_it_is(content_type: str) -> None:
    body = json.dumps({"name": "塔", "n": [1, 2]}, ensure_ascii=False, indent=1)
    assert read(body.encode(), content_type).text == body


def test_feeds_are_their_entries() -> None:
    for content_type in ("application/rss+xml", "text/xml", "", "text/plain"):
        text = read(RSS.encode(), content_type)
        assert text.title == "Tower news"
        assert (
            "The clock strikes again\nhttps://tower.example/1\nMon, 05 Feb 2024\nAfter nine years of silence."
            in text.text
        )
        assert "<" not in text.text
        assert [link.url for link in text.links] == [f"https://tower.example/{end}" for end in ("", "1", "2")]
    atom = read(ATOM.encode(), "application/atom+xml")
    assert "Entry one\nhttps://log.example/one\nFirst & last." in atom.text


def test_xml_that_is_none_stays_as_it_is() -> None:
    assert read(b"no xml at all", "application/xml").text == "no xml at all"


@pytest.mark.parametrize(
    "bomb",
    [
        "<!DOCTYPE a [<!ENTITY x0 'ha'>"
        + "".join(f"<!ENTITY x{n} '{f'&x{n - 1};' * 10}'>" for n in range(1, 12))
        + "]><a>shown &x11;</a>",
        "<!DOCTYPE a [<!ENTITY f SYSTEM 'file:///etc/passwd'>]><a>shown &f;</a>",
        f"<!DOCTYPE a [<!ENTITY b '{'x' * 100_000}'>]><a>shown {'&b;' * 10_000}</a>",
    ],
    ids=["laughs", "file", "quadratic"],
)
def test_entities_neither_grow_nor_read_files(bomb: str) -> None:
    for content_type in ("application/xml", "text/html"):
        text = read(f"<?xml version='1.0'?>{bomb}".encode(), content_type)
        assert len(text.text) < 200_000
        assert "root:" not in text.text


@pytest.mark.parametrize(
    "body",
    [
        b"\x89PNG\r\n\x1a\n" + bytes(100),
        packed(b"words " * 99),
        b"PK\x03\x04" + bytes(40),
        bytes(range(256)) * 10,
        b"\x00" * 50,
        b"text with\x00\x01\x02\x03\x04\x05\x06 codes",
    ],
)
@pytest.mark.parametrize("content_type", ["application/octet-stream", "text/plain", "image/png", ""])
def test_what_is_no_text_says_so(body: bytes, content_type: str) -> None:
    text = read(body, content_type)
    assert (text.code, text.text) == ("not_text", "")
    assert text.reason


@pytest.mark.parametrize("content_type", ["image/svg2", "video/mp4", "application/zip", "font/woff2"])
def test_other_types_are_believed(content_type: str) -> None:
    assert read(b"words", content_type).code == "not_text"


@pytest.mark.parametrize("content_type", ["image/png", "application/octet-stream", "text/plain", "", "application/pdf"])
def test_a_page_is_a_page_whatever_it_is_called(content_type: str) -> None:
    body = b"\xef\xbb\xbf\n<!-- x --><!DOCTYPE html><html><head><title>T</title></head><body><p>Some words.</p></body></html>"
    assert read(body, content_type).text == "Some words."


@pytest.mark.parametrize("body", [b"", b"  \n\t "])
def test_nothing_is_said_to_be_nothing(body: bytes) -> None:
    assert read(body, "text/html").code == "empty"


@pytest.mark.parametrize("content_type", ["text/html", "text/plain", "application/xml", "application/pdf", ""])
@pytest.mark.parametrize(
    "body",
    [b"<", b"<html", b"<html>", b"</html>", b"<!DOCTYPE html>", b"<body></p></p>", b"%PDF-", b"<?xml", b"\xff\xfe", b"\xef\xbb\xbf",
     b"&#0;", b"<!--", b"<![CDATA[", b"<a href=", b"<title>", b"\x1b[2J", "\ud800".encode("utf-8", "surrogatepass")],
)  # fmt: skip
def test_scraps_have_text_or_a_reason(body: bytes, content_type: str) -> None:
    text = read(body, content_type)
    assert bool(text.text.strip()) != bool(text.code and text.reason)
