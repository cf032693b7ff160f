"""Threads on listing pages, in the forms in which common programs of forums write them."""

from datetime import date
from pathlib import Path

import pytest
from tests.experiments.construction.test_captures import Site, capture, serving

from toolablate.experiments.construction.sources.forum_listing import Listed, listed_pages, next_page, read_listing
from toolablate.tools.web import LiveHttpClient
from toolablate.tools.web.policy import WebPolicy


def threads_on(page: str, url: str) -> list[Listed]:
    return [*read_listing(page, url).threads]


TITLES = [
    "Why does my still leak?",
    "Copper or steel for a column",
    "Gasket of the lid is dry",
    "Cleaning with vinegar",
]
AT = "https://forum.example/"


def phpbb(number: int, title: str) -> str:
    return (
        f'<li class="row bg{number % 2}"><dl><dt><a href="./viewtopic.php?f=2&amp;t={number}&amp;sid=ab{number}" '
        f'class="topictitle">{title}</a><a href="./memberlist.php?mode=viewprofile&amp;u={number}">Ann {number}</a> '
        f'<time datetime="2026-0{number}-11T10:00:00+00:00">then</time> in <a href="./viewforum.php?f=2">Stills</a>'
        f'<a href="./viewtopic.php?f=2&amp;t={number}&amp;start=20">2</a></dt><dd><a href="./viewtopic.php?f=2&amp;t='
        f'{number}&amp;p=9#p9">last post</a></dd></dl></li>'
    )


def xenforo(number: int, title: str) -> str:
    slug = title.lower().rstrip("?").replace(" ", "-")
    return (
        f'<div class="structItem"><a href="/members/bob.{number}/">Bob the {number}th distiller</a><div>'
        f'<a href="/threads/{slug}.{number}/">{title}</a></div><a href="/threads/{slug}.{number}/latest"><time '
        f'datetime="2026-0{number}-11T10:00:00+0100">Monday</time></a></div>'
    )


def vbulletin(number: int, title: str) -> str:
    return (
        f'<tr><td><a href="showthread.php?{number}-x" id="thread_title_{number}">{title}</a></td>'
        f'<td><a href="member.php?{number}-ann">Ann</a></td><td><a href="showthread.php?{number}-x&amp;p=7">»</a></td></tr>'
    )


def fluxbb(number: int, title: str) -> str:
    return f'<tr><td><a href="viewtopic.php?id={number}">{title}</a> by Ann</td><td><a href="viewtopic.php?pid=9{number}#p9">then</a></td></tr>'


def chinese(number: int, title: str) -> str:
    return f'<div><a href="/thread-{number}-1-1.html">为什么第{number}个蒸馏器漏水了</a><a href="/space-{number}.html">王明</a></div>'


FORUMS = {
    "phpbb": (phpbb, "viewtopic.php?f=2&t={}", "<a rel=next href='./viewforum.php?f=2&amp;start=25&amp;sid=q'>2</a>"),
    "xenforo": (xenforo, "threads/", "<a class=jump href='/f/page-2'>Next</a>"),
    "vbulletin": (vbulletin, "showthread.php?{}-x", "<a href='forumdisplay.php?f=2&amp;page=2'>›</a>"),
    "fluxbb": (fluxbb, "viewtopic.php?id={}", "<a href='viewforum.php?id=1&amp;p=2'>Weiter</a>"),
    "chinese": (chinese, "thread-{}-1-1.html", "<a href='forum-2-2.html'>下一页</a>"),
}
MENU = "".join(f"<li><a href='/{word}.php'>{word} of this forum</a></li>" for word in ("Search", "Rules", "Help"))
MENU += "".join(f"<li><a href='viewforum.php?f={n}'>All about the {n}th kind of still</a></li>" for n in range(3, 40))


@pytest.mark.parametrize("name", FORUMS)
def test_threads_and_the_next_page_are_found_on_listings_of_any_forum(name: str) -> None:
    write, form, onward = FORUMS[name]
    rows = "".join(write(number, title) for number, title in enumerate(TITLES, start=1))
    page = f"<ul>{MENU}</ul><a href='https://elsewhere.example/t/1'>A sponsor of ours</a><div>{rows}</div>{onward}"
    found = threads_on(page, f"{AT}viewforum.php?f=2")
    assert len(found) == 4
    if name != "chinese":
        assert [each.title for each in found] == TITLES
    for number, each in enumerate(found, start=1):
        assert each.url.startswith(AT + form.format(number))
        assert each.url.endswith("/") == (name == "xenforo")
    days = [date(2026, number, 11) for number in range(1, 5)] if name in ("phpbb", "xenforo") else [None] * 4
    assert [each.last for each in found] == days
    onward_to = next_page(page, f"{AT}viewforum.php?f=2")
    assert onward_to is not None
    assert "2" in onward_to
    assert "sid" not in onward_to


@pytest.mark.parametrize("page", ["", "<p>No threads here.", f"<ul>{MENU}</ul>", "<a href='http://['>xx yy zz</a>" * 5])
def test_a_page_without_threads_has_none(page: str) -> None:
    assert threads_on(page, f"{AT}viewforum.php?f=2") == []
    assert next_page(page, f"{AT}viewforum.php?f=2") is None


async def test_listings_are_followed_to_their_end_and_no_further() -> None:
    with serving() as site:
        _listing(site)
        client = LiveHttpClient(policy := WebPolicy(allow=frozenset({site.host}), delay_seconds=0.0, robots=False))
        listing = f"{site.url}/viewforum.php?f=2"
        found = [page async for page in listed_pages(listing, client, policy)]
        assert ["".join(each.url[-1] for each in page.threads) for page in found] == ["1234", "56"]
        late = [page async for page in listed_pages(listing, client, policy, date(2026, 4, 1))]
        assert [(page.found, "".join(each.url[-1] for each in page.threads)) for page in late] == [(4, "4"), (2, "56")]
        await client.close()


def _listing(site: Site) -> None:
    """Two pages, of which the second has two threads, and leads to the first."""
    for page, numbers, onward in (("", range(1, 5), "&amp;start=4"), ("&start=4", range(5, 7), "")):
        rows = "".join(phpbb(number, f"Why does still {number} leak so much?") for number in numbers)
        site.page(f"/viewforum.php?f=2{page}", f"{rows}<a rel=next href='./viewforum.php?f=2{onward}'>on</a>")


# Titles of a row each; beside them stand who wrote and how many replied.
ADDRESSES = {
    "names": ["/t/a.html", "/t/b.html", "/t/valve.html", "/t/c.html"],
    "ids of letters": ["/t/abXyQ", "/t/kLmnP", "/t/zzRtW", "/t/oPqrS"],
    "a slug of one word": ["/t/why-it-leaks", "/t/copper-steel", "/t/dry-gasket", "/t/vinegar"],
    "a name among numbers": ["/t/1", "/t/2", "/t/3", "/t/my-old-thread.html"],
    "a slug of one word and a number": ["/t/why-it-leaks/1", "/t/copper-steel/2", "/t/dry-gasket/3", "/t/vinegar/4"],
}
ROWS = {
    "list": ("<ul>{}</ul>", "<li><a href='{}'>{}</a> by <a href='/u/ann{}'>Ann Lee {}</a></li>"),
    "table": (
        "<table>{}</table>",
        "<tr><td><a href='{}'>{}</a></td><td><a href='/t/by-ann{}'>Ann Lee {}</a></td><td>7</td></tr>",
    ),
}


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("addresses", ADDRESSES)
def test_threads_of_one_form_are_found_whatever_their_names(rows: str, addresses: str) -> None:
    around, row = ROWS[rows]
    if rows == "table" and addresses != "names":
        row = row.replace("/t/by-ann", "/u/ann")
    written = [row.format(*each, n, n) for n, each in enumerate(zip(ADDRESSES[addresses], TITLES, strict=True))]
    page = f"<ul>{MENU}</ul><a href='/t/rules'>Rules of all threads</a>{around.format(''.join(written))}"
    found = threads_on(page, f"{AT}viewforum.php?f=2")
    assert [each.url for each in found] == [f"{AT}{each[1:]}" for each in ADDRESSES[addresses]]
    assert [each.title for each in found] == TITLES


def test_the_forum_of_a_thread_beside_it_is_none() -> None:
    row = "<li><a href='/f/{}'>{}</a> in <a href='/f/stills'>All about stills</a></li>"
    slugs = ["why-it-leaks", "copper-steel", "dry-gasket", "with-vinegar"]
    page = f"<ul>{''.join(map(row.format, slugs, TITLES))}</ul>"
    assert [each.url for each in threads_on(page, AT)] == [f"{AT}f/{slug}" for slug in slugs]


@pytest.mark.parametrize("shape", ["/t/{}", "/t/x{}", "/t/why-it-leaks-{}"])
def test_the_form_of_pages_before_finds_the_two_threads_of_the_last(shape: str) -> None:
    def page(names: str) -> str:
        rows = (f"<tr><td><a href='{shape.format(name)}'>Still {name} leaks at its lid</a><td>7</tr>" for name in names)
        return f"<table>{''.join(rows)}</table>"

    first = read_listing(page("abcde"), f"{AT}list.html")
    assert first.form is not None
    known = first.form.address, first.form.places
    last = read_listing(page("fg"), f"{AT}list2.html", known)
    assert (len(first.threads), len(last.threads)) == (5, 2)
    assert read_listing(page("fg"), f"{AT}list2.html").form is None
    assert read_listing(f"<ul>{MENU}</ul>", f"{AT}list2.html", known).threads == ()


def test_a_forum_needs_threads_or_a_listing(tmp_path: Path) -> None:
    with serving() as site:
        error = capture(tmp_path, site, [], code=1).exception
    assert "listing" in str(error)
