"""A made-up web: pages of 10 to 100 KB with the usual frame of menus and side bars, and searches that find them."""

import random
from datetime import UTC, datetime
from functools import cache

from toolablate.tools.search import Searched, SearchQuery
from toolablate.tools.web import Exchange
from toolablate.traces.records import SearchReply, SearchResult

PAGE_BYTES = (10_000, 100_000)
PARAMETERS = {"region": "us-en"}
_WHEN = datetime(2026, 1, 1, tzinfo=UTC)
_LETTERS = "etaoinshrdlucmfwypvbgk"


def url_of(number: int) -> str:
    return f"https://site{number % 50}.example.org/articles/{number}"


class Site:
    """Every eighth page is reached by a redirect; half of the pages are sent packed."""

    async def get(self, url: str) -> Exchange:
        import gzip

        number = int(url.rpartition("/")[2])
        if number % 8 == 0 and "/articles/" in url:
            return _reply(url, 301, url.replace("/articles/", "/a/"), b"", "")
        body = html(number).encode()
        return _reply(url, 200, "", gzip.compress(body), "gzip") if number % 2 else _reply(url, 200, "", body, "")


class Provider:
    name = "made-up"
    parameters = PARAMETERS

    async def search(self, asked: SearchQuery) -> Searched:
        draw = random.Random(asked.query)
        results = tuple(_result(rank, draw) for rank in range(1, asked.max_results + 1))
        reply = SearchReply(
            query=asked.query, fetched_at=_WHEN, provider=self.name, status="ok", results=results, parameters=PARAMETERS
        )
        return Searched(reply, reply.to_json().encode())


def html(number: int) -> str:
    draw = random.Random(number)
    wanted = draw.randint(*PAGE_BYTES)
    menu = "".join(f'<li class="menu-item"><a href="/section/{n}">{_words(draw, 2)}</a></li>' for n in range(30))
    side = "".join(f'<div class="card"><a href="/articles/{n}">{_words(draw, 6)}</a></div>' for n in range(15))
    head = (
        f'<!doctype html><html lang="en"><head><title>{_words(draw, 6)}</title><meta charset="utf-8">'
        f"<style>{'.card{margin:1px}' * 40}</style><script>{'var a=1;' * 100}</script></head>"
        f"<body><nav><ul>{menu}</ul></nav><main><article><h1>{_words(draw, 6)}</h1>"
    )
    foot = f"</article></main><aside>{side}</aside><footer>{_words(draw, 30)}</footer></body></html>"
    parts = [head]
    size = len(head) + len(foot)
    while size < wanted:
        part = _paragraph(draw)
        parts.append(part)
        size += len(part)
    return "".join((*parts, foot))


def _paragraph(draw: random.Random) -> str:
    link = f'<a href="/articles/{draw.randint(0, 999)}">{_words(draw, 3)}</a>'
    text = f"<p>{_words(draw, 40)}, {link}, {_words(draw, 40)}.</p>\n"
    return f"<h2>{_words(draw, 4)}</h2>{text}" if draw.random() < 0.1 else text


def _reply(url: str, status: int, location: str, body: bytes, encoding: str) -> Exchange:
    headers = {"Content-Type": "text/html; charset=utf-8", "Location": location, "Content-Encoding": encoding}
    return Exchange(url, status, "OK", tuple((k, v) for k, v in headers.items() if v), body, _WHEN)


def _result(rank: int, draw: random.Random) -> SearchResult:
    url = url_of(draw.randint(0, 999))
    return SearchResult(rank=rank, url=url, canonical_url=url, title=_words(draw, 7), snippet=_words(draw, 30))


def _words(draw: random.Random, count: int) -> str:
    return " ".join(draw.choices(_vocabulary(), k=count))


@cache
def _vocabulary() -> list[str]:
    draw = random.Random(0)
    return ["".join(draw.choices(_LETTERS, k=draw.randint(2, 11))) for _ in range(20_000)]
