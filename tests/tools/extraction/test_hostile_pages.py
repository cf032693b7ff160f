"""Pages made to hurt: a wrong order of growth is more than the time limit of any test."""

import pytest

from toolablate.tools.extraction import ExtractionOptions, extract
from toolablate.tools.extraction.html import flattened
from toolablate.traces.records import PageText

SENTENCE = "The keeper of the tower wound the great clock every morning before the market opened. "
ARTICLE = (
    f"<h1>Tower</h1><p>{SENTENCE * 4}<a href='/w'>A link</a> follows.</p><ul><li>{SENTENCE}</li><li>{SENTENCE}</li></ul>"
    f"<p>{SENTENCE * 3}</p>"
)


def read(body: str) -> PageText:
    return extract(body.encode(), ExtractionOptions(url="https://x.example/", content_type="text/html"))


def nested(content: str, tags: str, depth: int) -> str:
    names = tags.split()
    opened = "".join(f"<{names[n % len(names)]}>" for n in range(depth))
    closed = "".join(f"</{names[n % len(names)]}>" for n in reversed(range(depth)))
    return (
        f"<html><head><title>t</title></head><body>{opened}{content}{closed}<p>{SENTENCE * 2}Behind.</p></body></html>"
    )


@pytest.mark.parametrize("depth", [200, 256, 400, 512, 5_000, 50_000])
@pytest.mark.parametrize("tags", ["div", "div span", "section b font"])
def test_deep_nesting_costs_no_text(depth: int, tags: str) -> None:
    text = read(nested(ARTICLE, tags, depth))
    shallow = read(nested(ARTICLE, tags, 1))
    assert text.text == shallow.text
    assert text.links == shallow.links
    assert len(text.links) == 1
    assert "Behind." in text.text


@pytest.mark.parametrize("tags", ["ul li", "table tr td", "blockquote", "p b", "dl dd", "q i"])
@pytest.mark.parametrize("depth", [600, 50_000])
def test_what_holds_text_may_be_deep_too(tags: str, depth: int) -> None:
    text = read(nested(ARTICLE, tags, depth))
    assert "wound the great clock" in text.text or text.code


@pytest.mark.parametrize("tag", ["div", "b", "a", "p", "li", "td", "table", "span", "form"])
def test_elements_that_are_never_closed(tag: str) -> None:
    text = read(f"<html><body><{tag}>" * 20_000 + ARTICLE)
    assert "wound the great clock" in text.text or text.code


@pytest.mark.parametrize("depth", [1, 3, 10])
def test_flattening_keeps_the_text_and_closes_what_it_leaves_open(depth: int) -> None:
    html = "<html><body><div><div><div>one<p>two</p></div>three<script>if (a < b) '</div>'</script></div></div>four</body></html>"
    flat = flattened(html, depth)
    assert all(word in flat for word in ("one", "two", "three", "four"))
    assert flat.count("<div") == flat.count("</div>") - flat.count("'</div>'")
    if depth == 10:
        assert flat.replace(" ", "") == html.replace(" ", "") or "'</div>'" in flat


@pytest.mark.deep
def test_one_line_of_five_megabytes() -> None:
    text = read(f"<html><body><p>{'word ' * 1_000_000}</p></body></html>")
    assert len(text.text) == 2_000_000 or len(text.text) == 1_999_999


@pytest.mark.deep
def test_a_hundred_thousand_links() -> None:
    text = read("<html><body>" + "".join(f"<p>{n} <a href='/x{n}'>link {n}</a></p>" for n in range(100_000)))
    assert len(text.links) == 20_000
    assert all(text.text[link.start : link.end] == f"link {link.url.rpartition('x')[2]}" for link in text.links)


def test_many_links_of_the_same_text() -> None:
    text = read("<html><body>" + "<p><a href='/x'>some text</a></p>" * 20_000)
    assert len(text.links) == 20_000


@pytest.mark.parametrize(
    "body",
    [
        "<table>" + ("<tr>" + "<td>cell</td>" * 100 + "</tr>") * 500 + "</table>",
        "<table><tr><td>" * 2_000 + "x",
        "<table><tr><td colspan=1000000 rowspan=1000000>wide</td><td>" + SENTENCE * 4 + "</td></tr></table>",
        "<select>" + "<option>x" * 5_000,
        "<p " + " ".join(f"a{n}=1" for n in range(5_000)) + ">" + SENTENCE * 4,
        "<" * 200_000 + SENTENCE,
        "<a <a <a " * 50_000,
        "&" * 500_000 + SENTENCE,
        "&#" + "9" * 200_000 + ";" + SENTENCE,
        "<!--" * 50_000 + SENTENCE,
        "<p>" + '"' * 200_000 + SENTENCE,
        "<frame src=" * 20_000,
        "<meta charset=" * 20_000,
        "<base href=x>" * 20_000 + f"<p>{SENTENCE * 4}<a href=y>z</a></p>",
        f"<p>{SENTENCE * 4}<a href='/x'>" + "!?" * 200_000 + "</a></p>",
        f"<p>{'a' * 2_000_000}</p>",
    ],
    ids=lambda body: body[:12],
)
def test_bombs_end_soon_with_text_or_a_reason(body: str) -> None:
    text = read(f"<html><body>{body}</body></html>")
    assert bool(text.text.strip()) != bool(text.code)
