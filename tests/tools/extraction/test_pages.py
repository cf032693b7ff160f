"""What becomes of the parts of a page: links, bases, what is not shown, threads, frames."""

import pytest

from toolablate.tools.extraction import ExtractionOptions, extract
from toolablate.traces.records import PageText

URL = "https://site.example/guide/page.html?x=1"
SENTENCE = "The keeper of the tower wound the great clock every morning before the market opened. "


def page(content: str, head: str = "<title>A page</title>") -> PageText:
    html = f"<!DOCTYPE html><html><head>{head}</head><body><article>{content}</article></body></html>"
    return extract(html.encode(), ExtractionOptions(url=URL))


def anchors(text: PageText) -> list[tuple[str, str]]:
    return [(text.text[link.start : link.end], link.url) for link in text.links]


def test_links_are_absolute_by_the_url_of_the_page() -> None:
    text = page(
        f"<p>{SENTENCE * 4}<a href='other.html'>sibling</a>, <a href='/top'>root</a>, <a href='//cdn.example/x'>scheme</a>, "
        "<a href='?y=2'>query</a>, <a href=' https://far.example/a b '>far</a>.</p>"
    )
    assert anchors(text) == [
        ("sibling", "https://site.example/guide/other.html"),
        ("root", "https://site.example/top"),
        ("scheme", "https://cdn.example/x"),
        ("query", "https://site.example/guide/page.html?y=2"),
        ("far", "https://far.example/a%20b"),
    ]
    assert text.text.endswith("sibling, root, scheme, query, far.")


def test_the_base_of_a_page_counts() -> None:
    head = "<title>t</title><base href='/v2/'><base href='/ignored/'>"
    text = page(f"<p>{SENTENCE * 4}<a href='x'>link</a></p>", head)
    assert anchors(text) == [("link", "https://site.example/v2/x")]


@pytest.mark.parametrize(
    "href",
    ["javascript:alert(1)", "data:text/html,x", "mailto:a@b.example", "ftp://f.example/", "file:///etc/passwd",
     "http://[broken", "#below", "page.html?x=1#below", " JaVaScRiPt:x", "java\nscript:x"],
)  # fmt: skip
def test_what_leads_nowhere_is_text_and_no_link(href: str) -> None:
    text = page(f"<p>{SENTENCE * 4}<a href='{href}'>a word here</a> and <a href='/y'>another</a>.</p>")
    assert "a word here and another." in text.text
    assert anchors(text) == [("another", "https://site.example/y")]


def test_without_a_url_only_absolute_links_are_kept() -> None:
    html = f"<html><body><p>{SENTENCE * 4}<a href='/x'>near</a> <a href='http://far.example'>far</a></p></body></html>"
    assert anchors(extract(html.encode())) == [("far", "http://far.example/")]


def test_links_of_the_same_text_each_have_their_own_place() -> None:
    rows = "".join(f"<p>{SENTENCE}Read number {n} <a href='/n{n}'>here</a> please.</p>" for n in range(20))
    text = page(rows)
    assert anchors(text) == [("here", f"https://site.example/n{n}") for n in range(20)]
    assert all(text.text[: link.start].endswith(f"number {n} ") for n, link in enumerate(text.links))


def test_signs_around_the_words_of_a_link_belong_to_it() -> None:
    text = page(f"<p>{SENTENCE * 4}Learn <a href='/c'>C++</a>, or <a href='/n'>.NET</a> (<a href='/s'>(see)</a>).</p>")
    assert [anchor for anchor, _ in anchors(text)] == ["C++", ".NET", "(see)"]


def test_the_navigation_s_link_is_not_taken_for_the_one_in_the_text() -> None:
    nav = "<nav><ul><li><a href='/nav'>harbour bridge</a></li><li><a href='/b'>Sport</a></li></ul></nav>"
    html = (
        f"<html><body>{nav}<article><h1>News</h1><p>{SENTENCE * 3}</p><p>Today the <a href='/story'>harbour bridge</a> "
        f"opened. {SENTENCE}</p></article></body></html>"
    )
    text = extract(html.encode(), ExtractionOptions(url=URL))
    assert anchors(text) == [("harbour bridge", "https://site.example/story")]


def test_links_in_tables_and_lists_are_found() -> None:
    rows = "".join(f"<tr><td><a href='/r{n}'>Row number {n}</a></td><td>{SENTENCE}</td></tr>" for n in range(5))
    text = page(f"<p>{SENTENCE * 3}</p><table>{rows}</table><ul><li><a href='/i'>An item</a> of {SENTENCE}</li></ul>")
    expected = [(f"Row number {n}", f"https://site.example/r{n}") for n in range(5)]
    assert anchors(text) == [*expected, ("An item", "https://site.example/i")]


def test_scripts_and_styles_are_no_text() -> None:
    hidden = "<script>var secret='alpha';</script><style>.b{color:red}</style>"
    text = page(f"<p>{SENTENCE * 4}</p>{hidden}<p>{SENTENCE}</p>")
    assert not any(word in text.text for word in ("alpha", "color"))
    assert text.text.count("great clock") == 5


def test_a_page_that_needs_scripts_says_what_it_says() -> None:
    html = b"<html><head><title>App</title></head><body><div id=root></div><noscript>Please enable scripts</noscript></body></html>"
    assert "Please enable scripts" in extract(html).text


def test_a_page_without_text_gives_its_description_and_else_says_so() -> None:
    said = b"<html><head><title>App</title><meta name=description content='A map of wells'></head><body><div></div></body></html>"
    assert extract(said).text == "A map of wells"
    nothing = extract(b"<html><head><title>App</title></head><body><div><img src=x></div></body></html>")
    assert (nothing.text, nothing.code) == ("", "no_text")
    assert nothing.reason


def test_frames_are_links() -> None:
    html = b"<html><frameset cols='1,2'><frame src='menu.html'><FRAME SRC=main.html name=m></frameset></html>"
    text = extract(html, ExtractionOptions(url="http://old.example/a/"))
    assert anchors(text) == [
        ("menu.html", "http://old.example/a/menu.html"),
        ("main.html", "http://old.example/a/main.html"),
    ]


POST = f"<article class='message'><div class='message-body'><div class='bbWrapper'>{SENTENCE * 6}</div></div></article>"
TWO_POSTS = POST + POST.replace("keeper", "sailor")


def xenforo(content: str) -> PageText:
    html = (
        f'<html id="XF" data-template="thread_view"><head><title>A thread</title></head><body>{content}</body></html>'
    )
    return extract(html.encode(), ExtractionOptions(url=URL))


def test_a_thread_of_one_post_is_read_as_an_article() -> None:
    assert xenforo(POST).method == "trafilatura"
    two = xenforo(TWO_POSTS)
    assert two.method == "resiliparse"
    assert two.text.count("keeper") == two.text.count("sailor") == 6


def test_the_class_names_of_a_forum_make_no_thread() -> None:
    assert page(TWO_POSTS).method == "trafilatura"


@pytest.mark.parametrize(
    "comments",
    [
        "<div class='commtext'>{}</div>",
        "<div class='reply_content'>{}</div>",
        "<div class='usertext-body'><div class='md'>{}</div></div>",
        "<div class='answer-item'><article class='article-content'>{}</article></div>",
        "<div id='post_message_1'>{}</div>",
    ],
)
def test_an_article_stays_where_there_are_comments(comments: str) -> None:
    said = "".join(comments.format(text) for text in ("Nice to hear it at last.", "About time, I say to that."))
    article = "".join(f"<p>{SENTENCE.replace('keeper', keeper)}</p>" for keeper in ("smith", "baker", "monk", "miller"))
    for read in (page, xenforo):
        text = read(f"<article><h1>Bridge</h1>{article}</article>{said}").text
        assert text.count("great clock") == 4


@pytest.mark.parametrize(("place", "method"), [("sidebar", "trafilatura"), ("box", "resiliparse")])
def test_where_trafilatura_chooses_nothing_no_prose_is_left_out(place: str, method: str) -> None:
    """Of a page with hardly any text it takes everything; resiliparse's choice counts if it has the prose of that."""
    menu = "".join(f"<li><a href='/{n}'>Entry {n}</a></li>" for n in range(6))
    sailor = SENTENCE.replace("keeper", "sailor")
    html = (
        f"<html><body><nav><ul>{menu}</ul></nav><div>{SENTENCE}</div><div class='{place}'>{sailor}</div></body></html>"
    )
    text = extract(html.encode())
    assert text.method == method
    assert text.text.count("keeper") == text.text.count("sailor") == 1


def test_signs_that_are_spelling_are_kept_and_invisible_ones_are_not() -> None:
    persian = "می\u200cخواهم کتاب\u200cهای تازه را بخوانم و درباره\u200cی آن\u200cها بنویسم. "
    family = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
    text = page(f"<p>{persian * 6}<a href='/k'>کتاب&zwnj;ها</a> {family} soft\u00adhyphen zero\u200bwidth</p>")
    assert persian.strip() in text.text
    assert family in text.text
    assert "softhyphen zerowidth" in text.text
    assert anchors(text) == [("کتاب\u200cها", "https://site.example/k")]


def test_text_is_in_composed_form_and_without_controls() -> None:
    text = page(f"<p>{SENTENCE * 4}Cafe\u0301 &#1;&#x7f;\x00\x1b[31mred&#8232;end <a href='/c'>cafe\u0301</a></p>")
    assert "Café [31mred" in text.text
    assert anchors(text) == [("café", "https://site.example/c")]


def test_long_text_is_cut_and_its_links_with_it() -> None:
    html = "<html><body><article>" + f"<p>{SENTENCE}<a href='/x'>link</a></p>" * 100 + "</article></body></html>"
    text = extract(html.encode(), ExtractionOptions(url=URL, max_chars=1_000))
    assert len(text.text) <= 1_000
    assert text.links
    assert all(text.text[link.start : link.end] == "link" for link in text.links)


@pytest.mark.parametrize(
    ("head", "title"),
    [
        ("<title>One &amp;\n two</title>", "One & two"),
        ("<meta property='og:title' content='Shared'>", "Shared"),
        ("", "Heading"),
        (f"<title>{'x' * 500}</title>", "x" * 199 + "…"),
    ],
)
def test_titles(head: str, title: str) -> None:
    assert page(f"<h1>Heading</h1><p>{SENTENCE * 4}</p>", head).title == title


@pytest.mark.parametrize(
    ("head", "date"),
    [
        ("<meta name='pubdate' content='2020年3月5日'>", "2020-03-05"),
        ("<meta itemprop='datePublished' content='2021/1/2 10:30'>", "2021-01-02T10:30"),
        ("<script type='application/ld+json'>{\"datePublished\": \"2019-07-08T01:02:03.456Z\"}</script>", "2019-07-08T01:02:03Z"),
        ("<meta name='date' content='2020-02-31'>", ""),
        ("<meta name='date' content='yesterday'>", ""),
    ],
)  # fmt: skip
def test_dates(head: str, date: str) -> None:
    assert page(f"<p>{SENTENCE * 4}</p>", head).published_at == date


def test_the_same_bytes_give_the_same_text() -> None:
    html = f"<html><body><article><p>{SENTENCE * 9}<a href='/x'>link</a></p></article></body></html>".encode()
    assert extract(html, ExtractionOptions(url=URL)) == extract(html, ExtractionOptions(url=URL))
