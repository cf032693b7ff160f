"""What robots.txt asks for is done."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest
from protego import Protego
from tests.servers.packing import packed
from tests.tools.web.sizes import size
from tests.tools.web_server import Drip, WebServer, redirect, reply

from toolablate.tools.web import FetchError, LiveHttpClient, WebPolicy, follow
from toolablate.tools.web.follow import page_budget
from toolablate.tools.web.robots import ROBOTS_BYTES, Robots

Opening = Callable[..., LiveHttpClient]
Failure = Callable[[Awaitable[object]], Awaitable[FetchError]]


@pytest.fixture
def heeding(policy: WebPolicy) -> WebPolicy:
    return replace(policy, robots=True, wire_bytes=10_000_000, decoded_bytes=10_000_000)


def rules(*lines: str) -> bytes:
    return reply("\n".join(lines), kind="text/plain")


def paths(web: WebServer) -> list[str]:
    return [path for path, _ in web.requests]


@pytest.mark.parametrize(
    ("robots", "allowed"),
    [
        (rules(), True),
        (rules("User-agent: *", "Disallow:"), True),
        (rules("User-agent: *", "Disallow: /page"), False),
        (rules("User-agent: *", "Disallow: /", "Allow: /page"), True),
        (rules("User-agent: other", "Disallow: /"), True),
        (rules("User-agent: Toolablate", "Disallow: /"), False),
        (rules("User-agent: toolablate/2.0 (robot)", "Disallow: /"), False),
        (rules("User-agent: toolablatex", "Disallow: /"), True),
        (rules("User-agent: toolablate", "Allow: /", "", "User-agent: *", "Disallow: /"), True),
        (rules("User-agent: *", "Disallow: /", "", "User-agent: other", "Allow: /"), False),
        (rules("User-agent: other", "User-agent: *", "Disallow: /page"), False),
        (rules("User-agent: *", "Disallow: /*?x="), False),
        (rules("user-agent : * # all", "DISALLOW: /page # this"), False),
        (reply("\ufeffUser-agent: *\r\nDisallow: /\r\n", kind="text/plain"), False),
        (rules("User-agent: x\rUser-agent: toolablate/2.0\rDisallow: /p\r"), False),
        (rules("User-agent: *\rDisallow: /other\rAllow: /page"), True),
        (rules("User-agent: *\r\n\r\nDisallow: /page\r\rAllow: /other"), False),
        (rules("User-agent: *\nDisallow: /\u2028User-agent: other\nDisallow: /page"), False),
        (reply(b"\xff\xfe\0" + b"\nUser-agent: *\nDisallow: /\n"), False),
        (reply(packed(b"User-agent: *\nDisallow: /"), Content_Encoding="gzip"), False),
        (reply("<html><body>no rules", kind="text/html"), True),
        (reply("User-agent: *\nDisallow: /", status="404 Not Found"), True),
        (reply("User-agent: *\nDisallow: /", status="403 Forbidden"), True),
        (reply(status="304 Not Modified"), True),
        (rules(*["# fill"] * 100_000, "User-agent: *", "Disallow: /"), True),
        (rules("User-agent: *", "Disallow: /", *["# fill"] * 100_000), False),
        (reply(b"User-agent: *\nDisallow: /\n" + b"x" * ROBOTS_BYTES * 3, Content_Encoding="identity"), False),
    ],
    ids=size,
)
async def test_rules(
    web: WebServer, heeding: WebPolicy, live: Opening, failure: Failure, robots: bytes, allowed: bool
) -> None:
    web.pages = {"/robots.txt": robots, "/page": reply("x")}
    attempt = follow(web.url("/page?x=1"), live(heeding), heeding)
    if allowed:
        assert (await attempt).body == b"x"
        assert paths(web) == ["/robots.txt", "/page?x=1"]
    else:
        failed = await failure(attempt)
        assert (failed.code, failed.policy, failed.transient) == ("robots", True, False)
        assert paths(web) == ["/robots.txt"]


@pytest.mark.parametrize(
    "robots",
    [
        reply(status="500 Oops"),
        reply(status="503 Busy"),
        Drip((b"HTTP/1.1 200 OK\r\n\r\n", *[b"#\n"] * 50), 0.1),
        reply("broken", Content_Encoding="gzip"),
        b"no HTTP at all\r\n\r\n",
        redirect("/robots.txt"),
        redirect("http://127.0.0.1:1/robots.txt"),
        redirect("ftp://8.8.8.8/robots.txt"),
    ],
)
async def test_rules_that_cannot_be_had_keep_us_out_for_a_while(
    web: WebServer, heeding: WebPolicy, live: Opening, failure: Failure, robots: bytes | Drip
) -> None:
    web.pages = {"/robots.txt": robots, "/page": reply("x")}
    client = live(replace(heeding, seconds=0.5) if isinstance(robots, Drip) else heeding)
    for _ in range(2):
        failed = await failure(client.get(web.url("/page")))
        assert (failed.code, failed.policy, failed.transient) == ("robots", True, True)
    assert set(paths(web)) == {"/robots.txt"}
    assert len(paths(web)) == (6 if robots == redirect("/robots.txt") else 1)


async def test_rules_take_no_longer_than_the_page(
    web: WebServer, heeding: WebPolicy, live: Opening, failure: Failure
) -> None:
    """However often they redirect, and that of each site of the page."""
    heeding = replace(heeding, seconds=0.8)
    web.pages = {f"/{n}": slow(redirect(f"/{n + 1}"), 0.3) for n in range(9)}
    web.pages |= {"/robots.txt": slow(redirect("/0"), 0.3), "/page": reply("x")}
    failed = await failure(follow(web.url("/page"), live(heeding), heeding))
    assert (failed.code, failed.transient) == ("robots", True)
    assert len(paths(web)) <= 3


async def test_a_page_that_has_no_time_left_for_rules_says_nothing_of_the_site(
    web: WebServer, heeding: WebPolicy, live: Opening, failure: Failure
) -> None:
    web.pages = {"/robots.txt": slow(rules(), 0.5), "/page": slow(reply("x"), 0.1)}
    client = live(heeding)
    with page_budget(0.3):
        assert (await failure(client.get(web.url("/page")))).code == "timeout"
    assert (await follow(web.url("/page"), client, heeding)).body == b"x"


def slow(page: bytes, seconds: float) -> Drip:
    """Begins to answer after a while."""
    return Drip((b"", page), seconds)


async def test_redirected_rules_are_followed(
    web: WebServer, heeding: WebPolicy, live: Opening, failure: Failure
) -> None:
    web.pages = {"/robots.txt": redirect("/rules"), "/rules": rules("User-agent: *", "Disallow: /b")}
    web.pages |= {"/a": reply("a"), "/b": reply("b")}
    client = live(heeding)
    assert (await client.get(web.url("/a"))).body == b"a"
    assert (await failure(client.get(web.url("/b")))).code == "robots"
    assert paths(web) == ["/robots.txt", "/rules", "/a"]


async def test_a_redirect_to_what_is_not_allowed_is_not_followed(
    web: WebServer, heeding: WebPolicy, live: Opening, failure: Failure
) -> None:
    web.pages = {"/robots.txt": rules("User-agent: *", "Disallow: /b"), "/a": redirect("/b"), "/b": reply("b")}
    assert (await failure(follow(web.url("/a"), live(heeding), heeding))).code == "robots"
    assert paths(web) == ["/robots.txt", "/a"]


async def test_rules_are_read_once_however_many_ask(web: WebServer, heeding: WebPolicy, live: Opening) -> None:
    web.pages = {"/robots.txt": rules("User-agent: *", "Disallow: /b"), "/a": reply("a")}
    client = live(heeding)
    await asyncio.gather(*(client.get(web.url("/a")) for _ in range(20)))
    assert sorted(paths(web)) == ["/a"] * 20 + ["/robots.txt"]


async def test_whoever_gives_up_reading_leaves_it_to_the_next(
    web: WebServer, heeding: WebPolicy, live: Opening
) -> None:
    web.pages = {"/robots.txt": Drip((rules("User-agent: *", "Disallow: /b"),), 0.3), "/a": reply("a")}
    client = live(heeding)
    first = asyncio.create_task(client.get(web.url("/a")))
    await asyncio.sleep(0.02)
    second = asyncio.create_task(client.get(web.url("/a")))
    await asyncio.sleep(0.02)
    first.cancel()
    assert (await second).body == b"a"


async def test_a_crawl_delay_is_kept_up_to_a_limit(web: WebServer, heeding: WebPolicy, live: Opening) -> None:
    web.pages = {"/robots.txt": rules("User-agent: *", "Crawl-delay: 0.3"), "/a": reply("a")}
    client = live(heeding)
    begin = time.monotonic()
    await client.get(web.url("/a"))
    await client.get(web.url("/a"))
    assert time.monotonic() - begin > 0.29
    for asked, kept in (("1000000", 10.0), ("nan", 0.0), ("-5", 0.0), ("inf", 0.0), ("9" * 5_000, 0.0)):
        web.pages["/robots.txt"] = rules("User-agent: *", f"Crawl-delay: {asked}")
        unlimited = live(replace(heeding, robots=False))
        assert await Robots(unlimited.get).delay(web.url("/a")) == kept


async def test_a_host_that_is_not_there_is_said_to_be_that(live: Opening, heeding: WebPolicy, failure: Failure) -> None:
    async def unknown(host: str, port: int) -> list[str]:
        raise OSError("Name or service not known")

    assert (await failure(live(heeding, resolve=unknown).get("http://page.example/"))).code == "no_host"


HOSTILE = {
    "agents times rules": "\n".join(
        [*(f"User-agent: a{n}" for n in range(15_000)), *(f"Disallow: /{n}" for n in range(15_000))]
    ),
    "agents with stars": "\n".join(
        [*(f"User-agent: t{'*' * (n % 90)}oolablate{n}" for n in range(6_000)), *["Disallow: /x"] * 10_000]
    ),
    "many stars": "User-agent: *\n" + "\n".join(["Disallow: /" + "*a" * 200 + "b"] * 1_000),
    "one long pattern": "User-agent: *\nDisallow: /" + "*a" * 240_000,
    "dollars": "User-agent: *\n" + "Disallow: /$" * 40_000,
    "blanks": "User-agent" + " " * 450_000,
    "lines of blanks": "\n".join(["User-agent" + " " * 40] * 9_000),
    "agents times rules, ends of Macintosh lines": "\r".join(
        [*(f"User-agent: a{n}" for n in range(2_500)), *(f"Disallow: /{n}" for n in range(2_500))]
    ),
    "agents times rules, other ends of lines": "\u2028".join(
        [*(f"User-agent: a{n}" for n in range(2_500)), *(f"Disallow: /{n}" for n in range(2_500))]
    ),
    "agents times rules, other blanks": "\n".join(
        [*(f"\u3000User-agent\xa0: a{n}" for n in range(2_500)), *(f"Disallow: /{n}" for n in range(2_500))]
    ),
    "agents times rules, after a path": "\n".join(
        [*(f"Disallow: /\x0bUser-agent: a{n}" for n in range(2_500)), *(f"Disallow: /{n}" for n in range(2_500))]
    ),
    "percent": "User-agent: *\nDisallow: /" + "%" * 450_000,
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
async def test_malicious_rules_take_no_long_time(web: WebServer, heeding: WebPolicy, live: Opening, text: str) -> None:
    web.pages = {"/robots.txt": reply(text), "/page": reply("x")}
    await live(heeding).get(web.url("/page?" + "a" * 3_000))


async def test_rules_are_parsed_once_and_those_of_many_long_ones_again(
    web: WebServer, heeding: WebPolicy, live: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    parse, parsed = Protego.parse, list[str]()

    def counted(text: str) -> Protego:
        parsed.append(text)
        return parse(text)

    monkeypatch.setattr(Protego, "parse", counted)
    web.pages = {"/robots.txt": rules("User-agent: *", "Disallow: /b"), "/a": reply("a")}
    client = live(heeding)
    await asyncio.gather(*(client.get(web.url("/a")) for _ in range(20)))
    assert len(parsed) == 1
    web.pages["/robots.txt"] = rules("User-agent: *", "Disallow: /b", "#" * 400_000)
    unlimited = live(replace(heeding, robots=False))
    robots = Robots(lambda url: unlimited.get(web.url("/robots.txt")))
    for host in "abcabc":
        assert await robots.delay(f"http://{host}.example/a") == 0.0
    assert len(parsed) == 7
