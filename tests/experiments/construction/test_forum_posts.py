"""The posts of a thread from its page: on real threads, on forums without classes, and on hostile pages."""

import gzip
import html
import json
import os
import random
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from toolablate.cli import group
from toolablate.experiments.construction.sources.forum_posts import PICTURE, posts_of
from toolablate.traces.errors import InputError

DATA = Path(os.environ.get("TOOLABLATE_DATA", Path(__file__).parents[4] / "shared" / "data"))
THREADS = DATA / "web_forum_gold.jsonl.gz"
WORDS = [
    "the",
    "motor",
    "driver",
    "overheats",
    "when",
    "current",
    "rises",
    "because",
    "resistor",
    "value",
    "is",
    "low",
    "and",
    "you",
    "should",
    "check",
    "datasheet",
    "before",
    "use",
    "of",
    "any",
    "heat",
    "sink",
    "though",
    "mine",
    "works",
    "fine",
    "since",
    "winter",
]


_NOT_MARKED = re.compile(rf"{re.escape(PICTURE)}| \(https?://\S+?\)|https?://\S+(?: \.\.\. \S+)?")
"""Those who marked posts by hand left no mark for a picture, and of an address what the page shows."""


def squeezed(text: str) -> str:
    return re.sub(r"[\s\u200b\ufeff]+", "", _NOT_MARKED.sub("", html.unescape(text)))


def is_whole(gold: str, found: str) -> bool:
    middle = len(gold) // 2
    return all(part in found for part in (gold[:30], gold[max(0, middle - 15) : middle + 15], gold[-30:]))


def shares(threads: Path) -> tuple[float, float]:
    """The share of posts found whole (first, middle and last 30 signs) and of signs that are in none."""
    whole = posts = signs = foreign = 0
    for line in gzip.decompress(threads.read_bytes()).decode().splitlines():
        thread = json.loads(line)
        gold = [squeezed(post["post_text"] or "") for post in thread["posts"]]
        found = [squeezed(post) for post in posts_of(thread["html"])]
        whole += sum(any(is_whole(each, text) for text in found) for each in gold)
        posts += len(gold)
        everything = " ".join([*gold, *map(squeezed, thread.get("remarks", []))])
        grams = {everything[place : place + 8] for place in range(len(everything))}
        for text in found:
            known = [text[place : place + 8] in grams for place in range(len(text))]
            foreign += sum(not any(known[max(0, place - 7) : place + 1]) for place in range(len(text)))
            signs += len(text)
    return whole / posts, foreign / signs


@pytest.mark.skipif(not THREADS.exists(), reason=f"{THREADS.name} is not in {DATA} (set TOOLABLATE_DATA)")
def test_posts_of_real_threads_are_found_whole_and_little_else() -> None:
    """24 threads, 207 posts."""
    whole, foreign = shares(THREADS)
    assert (whole >= 0.96, foreign <= 0.003) == (True, True), (whole, foreign)


def test_posts_of_many_engines_are_found_whole_and_little_else() -> None:
    """Invented threads of five posts in the markup of 16 engines, from phpBB 2 to GitHub, in three languages. Remarks on
    an answer are neither wanted nor foreign."""
    whole, foreign = shares(Path(__file__).with_name("forum_engines.jsonl.gz"))
    assert (whole >= 0.9, foreign <= 0.05) == (True, True), (whole, foreign)


def table(user: str, date: str, post: str) -> str:
    return f"<tr><td><b>{user}</b><br>Posts: 12<br>Joined: {date}</td><td>{post}</td></tr>"


FORMS = {
    "table": ("<table>", table, "</table>"),
    "divs": ("<div>", lambda u, d, p: f"<div><span>{u} on {d}</span><div>{p}</div><a>Reply</a></div>", "</div>"),
    "list": ("<ol>", lambda u, d, p: f"<li><h4>{u}</h4><p>{p}</p><small>{d}</small></li>", "</ol>"),
    "articles": ("", lambda u, d, p: f"<article><header>{u}</header><p>{p}</p><footer>Report</footer></article>", ""),
    "pre": ("", lambda u, d, p: f"<hr>From: {u}<br>{d}<pre>{p}</pre>", ""),
    "own elements": ("", lambda u, d, p: f"<x-post><x-user>{u}</x-user><x-body>{p}</x-body></x-post>", ""),
    "side by side": ("", lambda u, d, p: f"<a name=p></a><b>{u} wrote on {d}</b><br>{p}<br><hr>", ""),
    "noscript": ("<noscript>", lambda u, d, p: f"<div itemprop='text'>{p}</div>", "</noscript>"),
    "numbered": (
        "",
        lambda u, d, p: f"<div id='p{len(p)}'><i>{u}</i><div id='post_message_{len(p)}'>{p}</div></div>",
        "",
    ),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("count", [2, 7])
def test_posts_of_forums_that_name_nothing(form: str, count: int) -> None:
    rng = random.Random(f"{form} {count}")
    begin, made, end = FORMS[form]
    posts = [" ".join(rng.choice(WORDS) for _ in range(rng.randrange(6, 150))) + "." for _ in range(count)]
    body = "".join(made(f"user{rng.randrange(99)}", f"3 May 20{rng.randrange(10, 24)}", post) for post in posts)
    page = (
        "<html><body><div><a href=/>Home</a> <a href=/f>Index</a> Welcome to our board about motors</div>"
        f"{begin}{body}{end}<div>Powered by a board, all rights reserved by us</div></body></html>"
    )
    found = posts_of(page)
    assert all(any(post in text for text in found) for post in posts)
    assert sum(map(len, found)) <= 1.3 * sum(map(len, posts)) + 40 * count


def test_posts_without_blanks_between_words_are_posts() -> None:
    said = ["换完以后排过空气吗？传感器附近有气泡就会这样。", "你说得对，是搭铁线松了，现在觉得自己有点傻。", "谢谢！"]
    cars = ["VW Golf IV 1.9", "Opel Corsa in red", "none since last spring"]
    rows = "".join(f"<div class=u>{car}</div><div class=p>{each}</div>" for each, car in zip(said, cars, strict=True))
    assert set(said) <= set(posts_of(f"<body><h1>水温</h1><div>{rows}</div></body>"))


def test_short_posts_with_panels_are_not_taken_for_one_block() -> None:
    said = [
        "搬到车库以后转盘低速时晃得厉害，应该先检查轴承还是皮带？",
        "先看地面平不平，车库的水泥地很少是水平的，脚下要垫一点东西。",
        "我去年也遇到过，是皮带放了一个冬天变形了，换一条新的就好了。",
        "果然是脚的问题，垫了一块皮子以后完全好了，谢谢大家。",
    ]
    rows = "".join(
        f"<div class=lou><div class=who><a>u{n}</a><p>积分 {n}</p></div><div class=right><div class=said>{each}</div>"
        f"<div class=xx>发表于 2026-3-{n} {n}楼 <a>回复</a></div></div></div>"
        for n, each in enumerate(said, start=1)
    )
    foot = "<div>All times are local to the club house. Run by volunteers of the pottery club.</div>"
    assert posts_of(f"<body><div><a href=/>Start</a></div><div class=all>{rows}</div>{foot}</body>") == said


def test_a_log_within_a_post_costs_no_post() -> None:
    log = "<br>".join(f"usb {n}-{n}: device error {n * 7} on the bus" for n in range(30))
    rows = "".join(
        f"<div class=q><div class=t>{each}<br>{log if not n else ''}</div></div>" for n, each in enumerate(REPLIES)
    )
    found = " ".join(posts_of(f"<body><div>Welcome to a board about printers</div>{rows}</body>"))
    assert all(each in found for each in REPLIES)
    assert "usb 29-29: device error 203 on the bus" in found


REPLIES = [
    "Have you bled the system since? Air near the sensor gives exactly that reading, and it takes three or four goes.",
    "You were right, the ground strap was loose; I feel rather silly now, since I had the whole dashboard out for it.",
    "Thanks!",
    "For what it is worth, the old one drew too much in standby, so the new one pays for itself within a year or two.",
    "The manual says five litres, but mine took nearly twice as much before the bubbles stopped, with the heater on.",
    "And yet nobody has answered the question whether it is the bearing or the shaft that was out of tolerance.",
]
ASKED = (
    "I replaced the thermostat and the gauge still climbs after ten minutes, so what did I miss? It is a 1.9 diesel."
)


def test_the_first_post_may_have_a_form_of_its_own() -> None:
    replies = "".join(
        f"<tr><td><a>user{n}</a> 3 May<div class=comment>{text}<p><a>reply</a></p></div></td></tr>"
        for n, text in enumerate(REPLIES)
    )
    page = (
        "<title>Ask: The gauge climbs | Workshop</title><body><table><tr><td>Ask: The gauge climbs</td></tr>"
        f"<tr><td>12 points by user9 | hide</td></tr><tr><td><div class=toptext>{ASKED}</div></td></tr></table>"
        f"<table>{replies}</table></body>"
    )
    assert posts_of(page) == [ASKED, *REPLIES]


@pytest.mark.parametrize("answers", [1, 2, 4])
@pytest.mark.parametrize("remarks", [[], ["Which pump is it, and how old?", "It is the P7 of last year."]])
def test_neither_the_head_of_a_question_s_page_nor_cards_nor_remarks_are_posts(
    answers: int, remarks: list[str]
) -> None:
    """Few posts have cards and remarks that repeat as little as they do."""

    def block(kind: str, number: int, text: str) -> str:
        below = "".join(f"<li>{each} – <a href=/users/9>pia_lo</a> {n} days ago</li>" for n, each in enumerate(remarks))
        card = f"<div class=card>{kind} Mar {number} at 10:1{number} <a href=/users/{number}>user{number}</a> 12{number}0</div>"
        votes = f"<div class=votes><button>up</button><span>{9 - number}</span></div>"
        return f"<div class={kind}>{votes}<div class=post-text>{text}</div>{card}<ul class=remarks>{below}</ul></div>"

    said = [ASKED, *REPLIES][: answers + 1]
    blocks = [block("answered" if number else "asked", number, text) for number, text in enumerate(said)]
    for facts in (
        "Asked 8 months ago",
        "Asked 8 years, 5 months ago · Modified 3 months ago · Viewed 23k times in all",
    ):
        head = f"<h1>The gauge climbs</h1><div>{facts}</div>{blocks[0]}<h2>{answers} Answers</h2>"
        page = f"<title>The gauge climbs - Overflow</title><body>{head}{''.join(blocks[1:])}<div>© us</div></body>"
        assert posts_of(page) == said


def test_a_post_of_nested_tables_ends_where_its_signature_begins() -> None:
    signatures = ["Golf IV and cables", "Life is too short for bad coffee.", "No help by PM", "https://builds.example"]

    def row(n: int, text: str) -> str:
        return (
            f"<tr><td class=row{1 + n % 2}><b>user{n}</b></td><td class=row{1 + n % 2}><table><tr><td>Posted: {n} May"
            f"</td></tr><tr><td><hr></td></tr><tr><td><span>{text}</span><br>_________________<br>{signatures[n % 4]}"
            "</td></tr></table></td></tr>"
        )

    rows = "".join(row(n, text) for n, text in enumerate([ASKED, *REPLIES]))
    assert posts_of(f"<body><table>{rows}</table></body>") == [ASKED, *REPLIES]


def test_rows_of_a_table_in_a_post_stay_rows() -> None:
    """But not those of a page's layout, whose cells have lines."""
    table = "<table><tr><th>cv2<th>numpy</tr><tr><td><b>4.9</b><td>1.26</tr><tr><td>4.10<td></tr></table>"
    layout = "<table><tr><td><p>One of them.</p><p>Another.</p></td><td>Beside it.</td></tr></table>"
    said = [f"<p>Which versions fit each other here?</p>{table}", f"<p>Those in a row, I should think.</p>{layout}"]
    page = "".join(f"<div class=post>{each}</div>" for each in said)
    assert posts_of(page) == [
        "Which versions fit each other here?\ncv2\tnumpy\n4.9\t1.26\n4.10",
        "Those in a row, I should think.\nOne of them.\nAnother.\nBeside it.",
    ]


def test_links_that_end_every_post_are_the_forum_s_whatever_their_addresses() -> None:
    said = [*REPLIES[:-1], f"{REPLIES[-1]} See <a href=https://a.example>this</a>."]
    reply = "<p><a href=https://f.example/reply?to={}>Reply</a></p>"
    page = "".join(f"<div class=post><p>{text}</p>{reply.format(n)}</div>" for n, text in enumerate(said))
    assert posts_of(page) == [*REPLIES[:-1], f"{REPLIES[-1]} See this (https://a.example)."]


def test_a_thread_within_a_block_named_after_quotes_is_no_quote() -> None:
    rows = "".join(
        f"<div class=item><b>user{n}</b> <div class=text>{text}</div></div>" for n, text in enumerate(REPLIES)
    )
    quote = (
        "<div class=text><div class=bbcode_quote>Have you bled the system?</div>Yes, twice, and it was no use.</div>"
    )
    found = posts_of(f"<body><div class=js-quote-selection-container>{rows}{quote}</div></body>")
    assert found == [*REPLIES, "Have you bled the system?\nYes, twice, and it was no use."]


def test_a_thread_of_one_post_is_that_post() -> None:
    parts = f"<div class=u>old_salt<br>Posts: 3</div><div class=t>{ASKED}</div><div class=b><a>Reply</a></div>"
    assert posts_of(f"<body><div><a>Home</a></div><div class=p>{parts}</div><div>3 guests</div></body>") == [ASKED]


BOARD = (
    "<body><div class=top><a href=/>Home</a> Welcome to our board about old cars and their engines</div>"
    "<div class=crumbs>You are here in the section on cooling and heating</div>{}"
    "<div class=foot>All times are in UTC and follow the clock of the server</div>"
    "<div class=foot>Powered by a board of our own, all rights are reserved</div></body>"
)
ALONE = {
    "schema.org": "<div><b>ann</b><div itemprop=text>{}</div></div>",
    "phpBB 3": "<div id=p7 class='post bg2'><dl class=postprofile>ann</dl><div class=postbody><div class=content>{}</div></div></div>",
    "XenForo": "<article class='message js-post'><div class=message-user>ann</div><div class=bbWrapper>{}</div></article>",
    "vBulletin 3": "<table id=post7><tr><td>ann</td><td><div id=post_message_7>{}</div></td></tr></table>",
    "Discourse": "<div class=topic-body><div class=names>ann</div><div class=cooked><p>{}</p></div></div>",
    "article": "<main><article><header>ann</header><p>{}</p></article></main>",
    "a name": "<section class=comment><small>ann</small><p>{}</p></section>",
}


@pytest.mark.parametrize("form", ALONE)
def test_a_thread_of_one_post_is_found_where_the_page_names_it(form: str) -> None:
    # Who wrote it may stay, where nothing sets what was written apart.
    assert [post.removeprefix("ann\n") for post in posts_of(BOARD.format(ALONE[form].format(ASKED)))] == [ASKED]
    # A reply of another form is not lost for it.
    reply = f"<div class=reply><i>bob</i><p>{REPLIES[1]}</p></div><div class=reply><i>eve</i><p>{REPLIES[0]}</p></div>"
    found = " ".join(posts_of(BOARD.format(ALONE[form].format(ASKED) + reply)))
    assert all(each in found for each in REPLIES[:2])


def test_hostile_pages_are_bounded() -> None:
    deep = "<div>" * 5_000 + "text" + "</div>" * 5_000
    assert isinstance(posts_of(f"<html><body>{deep}</body></html>"), list)
    assert posts_of("<p>Nothing repeats here.</p>") == []
    with pytest.raises(InputError, match="no elements"):
        posts_of("")
    with pytest.raises(InputError, match="at most"):
        posts_of("<i></i>" * 200_001)
    scripted = "<div class=post><script>alert(1)</script>It is the resistor that is too small.</div>" * 2
    assert "alert" not in "".join(posts_of(f"<body>{scripted.replace('small.', 'large, I think.', 1)}</body>"))


def test_the_command_prints_json_and_fails_where_there_is_no_thread(tmp_path: Path) -> None:
    page = tmp_path / "thread.html"
    text = "<div class=post>{}</div>"
    said = ["Why does it überheat in winter, of all times?", "Since the fan is off then, look at its curve."]
    page.write_bytes(f"<meta charset=latin-1>{''.join(map(text.format, said))}".encode("latin-1"))
    found = CliRunner().invoke(group, ["build", "posts", str(page), "--json"])
    assert (found.exit_code, [each["text"] for each in json.loads(found.stdout)["posts"]]) == (0, said)
    page.write_text("<p>404</p>", encoding="utf-8")
    none = CliRunner().invoke(group, ["build", "posts", str(page)])
    assert (none.exit_code, "no posts were found" in none.stderr, "build capture" in none.stderr) == (1, True, True)
    for content, why in (
        (b"html = '<div class=post>Why does it stop?</div>'", "does not begin with a tag"),
        (b'{"posts": ["<p>One.</p>"]}', "does not begin with a tag"),
        (b"%PDF-1.4", "a PDF file"),
        (b"\x89PNG\r\n\x1a\n\0\0\0", "it is"),
    ):
        page.write_bytes(content)
        refused = CliRunner().invoke(group, ["build", "posts", str(page)]).exception
        assert isinstance(refused, InputError)
        assert refused.code == "not_html"
        assert why in refused.message
    missing = CliRunner().invoke(group, ["build", "posts", str(tmp_path / "nothere.html")])
    assert isinstance(missing.exception, InputError)
    assert "nothere.html: No such file" in missing.exception.message


def test_what_is_marked_within_a_marked_post_is_no_post_of_its_own() -> None:
    said = ["Why does the cell swell in summer?", "Its salt is wet, as mine was.", "It was the salt, thank you all."]
    first, *others = (f"<div itemprop=text>{text}</div>" for text in said)
    page = f"<main><div itemprop=articleBody>{first}</div>{''.join(others)}</main>"
    assert posts_of(page) == said
