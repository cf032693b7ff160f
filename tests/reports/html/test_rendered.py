import re
import sys
from html import unescape
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.reports.html.hostile_documents import DOCUMENTS, TABLES

from toolablate.reports.html.cards import Links, MarkedSpan
from toolablate.reports.html.environment import environment
from toolablate.reports.html.events import event_cards
from toolablate.reports.html.formulas import ATTRIBUTES, TAGS, mathml
from toolablate.reports.html.rendered import MOST_COLUMNS, rendered, rich
from toolablate.reports.html.safe_html import Unsafe, letters, safe, said
from toolablate.traces.records import Event, Message, ModelCall, ModelReply, ModelRequest, ToolCall, ToolRequest

ELEMENTS = set(TAGS) | set(
    re.findall(
        r"\w+",
        "a b blockquote br caption code del div em hr i li mark ol p pre small span strong sub sup table tbody td tfoot th"
        " thead tr u ul",
    )
)
GIVEN = set(ATTRIBUTES) | {"class", "colspan", "rowspan", "scope", "display", "encoding", "value"}
OURS = {"href", "rel", "target", "tabindex", "role", "aria-label"}
CLASS = re.compile(r"(?:md-[a-z0-9-]+ ?)+|k-[a-z]+|wide|pad|unseen")
CASES = [(name, number) for name, documents in DOCUMENTS.items() for number in range(len(documents))]


class Reader(HTMLParser):
    """What a parser of HTML finds in it."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.text: list[str] = []
        self.links: list[str] = []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in ELEMENTS, tag
        given = dict(attrs)
        assert set(given) <= GIVEN | OURS, (tag, attrs)
        assert CLASS.fullmatch(given.get("class") or "wide"), given
        if tag == "a":
            assert re.match("https?://", given["href"] or "")
            assert given["rel"] == "nofollow noopener noreferrer"
            self.links.append(given["href"] or "")
        else:
            assert "href" not in given
        if tag not in ("br", "hr"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    def handle_comment(self, data: str) -> None:
        pytest.fail(f"a comment: {data[:40]}")

    handle_decl = unknown_decl = handle_pi = handle_comment


@pytest.mark.parametrize(("construct", "number"), CASES)
def test_hostile_documents_are_text_and_nothing_else(construct: str, number: int) -> None:
    text = DOCUMENTS[construct][number]
    made = rendered(text)
    if made.html is None:
        assert made.reason
        return
    read = Reader(str(made.html))
    assert (
        re.search(
            "[\x00-\x08\x0b-\x1f\x7f\u200b\u202a-\u202e\u2066-\u2069\ud800-\udfff\U000e0000-\U0010ffff]", made.html
        )
        is None
    )
    # Each link is followed by where it leads, or says it.
    shown = "".join(read.text)
    assert all(link in shown for link in read.links)


@pytest.mark.parametrize("number", range(len(TABLES)))
def test_hostile_tables_are_tables_and_nothing_else(number: int) -> None:
    made = rich("text/html", TABLES[number])
    if made.html is None:
        assert made.note
        return
    read = Reader(str(made.html))
    assert read.links == []
    assert re.search("[\x00-\x08\u202a-\u202e]", made.html) is None


MEANT = r"""# Head **bold**

Some *text*, `code` & a < b, [link](http://a.example/x?a=1&b=2 "title"), <https://u.example/>, ![alt](http://e.example/x).
A formula $x^2$ and \(a_1\); $5 and $6 are money.

\[
a
= b
- c
\]

| a | 中文 |
|:--|--:|
| 1 | 2 |

3. three
7. seven

```python
def f(x): return "<b>"
```

~~no~~ &nbsp; \* <b>
second line
"""


def test_markdown_is_laid_out() -> None:
    html = str(rendered(MEANT).html)
    for part in (
        '<p class="md-heading md-h1">Head <strong>bold</strong></p>',
        "<em>text</em>",
        "<code>code</code> &amp; a &lt; b",
        'href="http://a.example/x?a=1&amp;b=2" target="_blank" rel="nofollow noopener noreferrer">link</a>'
        '<span class="md-url"> (http://a.example/x?a=1&amp;b=2 title)</span>',
        ">https://u.example/</a>,",
        '<span class="md-image">alt http://e.example/x</span>',
        '<math display="inline">',
        "$5 and $6 are money",
        '<math display="block">',
        '<td class="md-right">2</td>',
        '<li value="3">three</li>\n<li value="7">seven</li>',
        '<span class="k-word">def</span>',
        "<del>no</del> &amp;nbsp; * &lt;b&gt;<br>\nsecond line",
    ):
        assert part in html, part


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("结论：**正确：**是", "结论：<strong>正确：</strong>是"),
        ("他说**“对”**的", "他说<strong>“对”</strong>的"),
        ("**粗**和*斜*", "<strong>粗</strong>和<em>斜</em>"),
        ("a ** b **c", "a ** b **c"),
        ("2*3*4", "2<em>3</em>4"),
    ],
)
def test_stress_needs_no_blanks_in_chinese(text: str, html: str) -> None:
    assert rendered(text).html == f"<p>{html}</p>\n"


TEXTS = st.text(
    st.one_of(
        st.sampled_from("ab1 \n\t*_`~#>-+|[]()!<>\\$&;:{}^\"'=.,/中文"),
        st.characters(exclude_categories=()),
    ),
    max_size=300,
)


@given(TEXTS)
def test_nothing_that_was_written_is_lost(text: str) -> None:
    made = rendered(text)
    if made.html is None:
        assert made.reason
        return
    Reader(str(made.html))
    assert letters(_without_names(str(made.html))) == letters(text)


def _without_names(html: str) -> str:
    html = re.sub('<span class="unseen">U[^<]*</span>', "", html)
    html = re.sub("<math[^>]*>.*?<annotation[^>]*>", "", html, flags=re.DOTALL)
    html = re.sub('<li value="([0-9]+)">', r"\1", html)
    # In a formula no element may be: what is not seen there is named by its code point alone.
    return unescape(re.sub("<[^>]*>", "", html))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("> " * 100 + "deep", "would not be shown"),
        ("*a **b " * 40 + "c** d*" * 40, "nested too deeply"),
        ("|" + "a|" * 10_000 + "\n|" + "-|" * 10_000, f"more than {MOST_COLUMNS} columns"),
        ("| a |\n|---|\n| b | lost |", "would not be shown"),
        ("x" * 1_000_000, "characters"),
        ("a \U000f0041 b", "private use"),
    ],
)
def test_what_cannot_be_laid_out_is_raw_and_says_why(text: str, reason: str) -> None:
    made = rendered(text)
    assert made.html is None
    assert reason in made.reason


def test_a_text_that_takes_too_many_steps_is_raw() -> None:
    assert rendered("[" * 20_000).reason == "it takes too long to read as Markdown"
    assert rendered("[" * 500).html is not None


def test_without_the_extra_texts_are_raw_and_name_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from toolablate.reports.html import safe_html

    monkeypatch.setitem(sys.modules, "nh3", None)
    safe_html._cleaner.cache_clear()
    assert rendered("**read without nh3**").reason == "nh3 is not installed (pip install 'toolablate[view]')"
    assert rich("text/html", "<table><tr><td>without nh3</td></tr></table>").html is None


def test_marks_are_where_they_were_in_what_was_written() -> None:
    text = "So **the ans**wer is `42`, since $x=42$.\n\n- answer: 42"
    start, end = text.index("ans**wer"), text.index("`,") + 1
    html = str(rendered(text, [MarkedSpan(start, end, "why <b>", "event-1-quote")]).html)
    assert '<strong>the <mark id="event-1-quote" title="why &lt;b&gt;">ans</mark></strong>' in html
    assert '<mark title="why &lt;b&gt;">wer is</mark> <code><mark title="why &lt;b&gt;">42</mark></code>' in html
    assert html.count("event-1-quote") == 1
    start = text.index("x=42")
    html = str(rendered(text, [MarkedSpan(start, start + 4, "it", "here")]).html)
    assert '<mark id="here" title="it"><math' in html
    assert "</math></mark>" in html


def test_a_mark_of_signs_alone_is_shown_raw() -> None:
    assert rendered("a = b", [MarkedSpan(2, 3, "sign")]).html is None


def test_what_is_not_in_the_lists_is_refused_whatever_the_sanitizer_says(monkeypatch: pytest.MonkeyPatch) -> None:
    from toolablate.reports.html import safe_html

    class Careless:
        def clean(self, markup: str) -> str:
            return markup

    monkeypatch.setattr(safe_html, "_cleaner", lambda kind: Careless())
    for markup in (
        "<script>x</script>",
        "<p onclick=x>",
        '<p style="x">',
        '<p id="x">',
        '<p class="hidden">',
        '<a href="javascript:x" target="_blank" rel="nofollow noopener noreferrer">',
        "<img>",
        "<!-- x -->",
        "a < b",
    ):
        with pytest.raises(Unsafe):
            safe(markup, "prose")


def test_tables_of_pandas_keep_their_cells_and_leave_their_style() -> None:
    data = (
        "<div>\n<style scoped>\n .dataframe td {x: y}\n</style>\n"
        '<table border="1" class="dataframe"><thead><tr style="text-align: right;"><th></th><th>姓名</th></tr></thead>'
        '<tbody><tr><th>0</th><td colspan="2">张三 &lt;b&gt;</td></tr></tbody></table></div>'
    )
    made = rich("text/html", data)
    assert made.note == "left out: style"
    html = str(made.html)
    assert "<td></td>" in html
    assert '<th>0</th><td colspan="2">张三 &lt;b&gt;</td>' in html
    assert "dataframe" not in html
    assert "style" not in html


def test_latex_of_a_tool_is_a_formula() -> None:
    made = rich("text/latex", r"$\displaystyle \frac{1}{2}$")
    assert "<mfrac>" in str(made.html)
    assert rich("image/svg+xml", "<svg/>").html is None


@pytest.mark.parametrize(
    "source",
    [r"\def\a{\a\a}\a", r"\newcommand{\a}{x}\a", "{" * 500, "x" * 3_000, r"\href{javascript:x}{y}", r"\sqrt" * 300, ""],
)
def test_formulas_that_are_none_are_shown_as_their_source(source: str) -> None:
    made = mathml(source, display=False)
    assert made is None or source == ""


@pytest.mark.parametrize(
    ("source", "shows"),
    [
        ("50% of x", "<mn>50</mn><mi>%</mi>"),
        (r"\text{<b>&}", "<mtext>&lt;b&gt;&amp;"),
        (r"\binom{n}{k}", 'linethickness="0"'),
        (r"\begin{align} a &= b \end{align}", "<mtable"),
        (r"\color{red}{x}", "<mi>x</mi>"),
    ],
)
def test_formulas_become_mathml(source: str, shows: str) -> None:
    html = str(mathml(source, display=False))
    assert shows in html
    assert "style" not in html.replace("mstyle", "").replace("displaystyle", "")
    assert said(html) == letters(source)


def _card(event: Event, *, raw: bool = False) -> str:
    links = Links(
        lambda number: f"#event-{number}", lambda number, part: "", raw, lambda number: f"?raw=1#event-{number}"
    )
    (card,) = event_cards([event])
    return str(environment().get_template("events.html").module.event_card(card, links))  # type: ignore[attr-defined]


def _reply(text: str) -> ModelCall:
    said = ModelReply(message=Message(role="assistant", content=text), finish_reason="stop")
    return ModelCall(at=0, request=ModelRequest(messages=()), reply=said)


def test_a_reply_is_laid_out_unless_it_is_asked_for_raw() -> None:
    assert "<strong>so</strong>" in _card(_reply("**so**"))
    assert 'href="?raw=1#event-0" data-switch>raw<' in _card(_reply("**so**"))
    raw = _card(_reply("**so**"), raw=True)
    assert "**so**</pre>" in raw
    assert "<strong>" not in raw


def test_a_reply_that_cannot_be_laid_out_says_so() -> None:
    html = _card(_reply("> " * 100 + "deep"))
    assert "<b>Shown raw</b>: as Markdown some of it would not be shown" in html
    assert "&gt; deep</pre>" in html


def test_a_long_reply_is_laid_out_up_to_where_it_is_cut() -> None:
    html = _card(_reply("**so**\n\n" + "x " * 20_000 + "**end**"))
    assert "<strong>so</strong>" in html
    assert "characters are left out here" in html
    assert "**end**</pre>" in html


def test_what_a_tool_gave_is_not_read_as_markdown() -> None:
    call = ToolRequest(id="1", name="python", arguments="{}")
    html = _card(ToolCall(at=0, call=call, output="**so** 1. x"))
    assert "**so** 1. x</pre>" in html


def test_reports_show_what_was_written() -> None:
    assert Links(lambda number: "", lambda number, part: "").raw
