import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

from toolablate.reports.html.marking import inert, shown, without_colours

TAG = re.compile(r"<(?!/?span)")


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("a < b & 'c' \"d\"", "a &lt; b &amp; &#39;c&#39; &#34;d&#34;"),
        ("a\u202eb", 'a<span class="unseen">U+202E</span>b'),
        ("\u200b" * 500, '<span class="unseen">U+200B ×500</span>'),
        ("\u200b\u200c", '<span class="unseen">U+200B</span><span class="unseen">U+200C</span>'),
        ("\x00\x1b[2J", '<span class="unseen">U+0000</span><span class="unseen">U+001B</span>[2J'),
        ("\ud800", '<span class="unseen">U+D800</span>'),
        ("one\r\ntwo\tthree", "one\ntwo\tthree"),
    ],
)
def test_text_is_escaped_and_what_nobody_sees_is_named(text: str, html: str) -> None:
    assert inert(text) == Markup(html)


def test_colours_of_a_terminal_go_and_other_sequences_stay() -> None:
    assert without_colours("\x1b[0;31mred\x1b[0m \x1b]0;title\x07") == "red \x1b]0;title\x07"


@given(st.text(st.characters(exclude_categories=())), st.sampled_from(["prose", "code", "json", "output"]))
def test_no_text_of_any_form_becomes_an_element(text: str, form: str) -> None:
    html = str(shown(text, form))  # type: ignore[arg-type]
    assert not TAG.search(html)
    assert not re.search(r"<span (?!class=\"[\w -]+\">)", html)
    assert re.search("[\x00-\x08\x0b-\x1f\u202a-\u202e\ud800-\udfff]", html) is None
    html.encode()


def test_code_says_in_colours_what_it_says_without() -> None:
    code = 'def f(x):\n    """<b>"""\n    return x + 1  # \u202enot\n'
    html = str(shown(code, "code"))
    assert '<span class="k-word">def</span>' in html
    assert re.sub("<[^>]*>", "", html) == re.sub("<[^>]*>", "", str(inert(code)))


def test_long_code_keeps_one_colour() -> None:
    assert "k-word" in shown("pass\n" * 100, "code")
    assert "k-word" not in shown("pass\n" * 10_000, "code")
    assert "k-word" not in shown("x = " + "(" * 5_000, "code")


def test_results_and_pages_show_titles_and_addresses_and_link_nowhere() -> None:
    results = shown("Results for 'x':\n1. A <title>\n    https://a.example/\n    what it says", "output")
    assert '<span class="found-title">1. A &lt;title&gt;</span>' in results
    assert '<span class="found-url">    https://a.example/</span>' in results
    page = shown("[0a1b2c3d] A title (https://a.example/)\nlines 0-1 of 2\nL0: one\nL1: 2. two", "output")
    assert '<span class="found-heading">[0a1b2c3d] A title (https://a.example/)</span>' in page
    assert '<span class="found-number">L1: </span>2. two' in page
    assert "<a" not in results + page
