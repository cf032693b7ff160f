"""A program that asks for pages and searches, in an order of its own, and prints a digest of each answer.

python -m tests.tools.recorded.calling FOLDER < order.json
"""

import asyncio
import json
import os
import random
import socket
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from toolablate.tools.archive import Archive, open_archive
from toolablate.tools.browser.page import PageUnreadableError
from toolablate.tools.extraction import ExtractionWorker
from toolablate.tools.recorded import Mode, RecordedHttpClient, RecordedSearch, WebPages
from toolablate.tools.search.provider import SearchQuery
from toolablate.tools.web import LiveHttpClient, WebPolicy
from toolablate.traces.records import digest_json, digest_text

NETWORK_CLIENTS = ("httpx2", "httpx", "httpcore", "httpcore2", "ddgs", "mcp", "aiohttp", "requests", "urllib3")


@dataclass(frozen=True)
class Order:
    """`calls` calls, drawn evenly from the URLs and queries, by `workers` at once. `held_chars` is the room for pages."""

    urls: tuple[str, ...]
    queries: tuple[str, ...]
    calls: int
    workers: int
    seed: int
    allow: tuple[str, ...] = ()
    held_chars: int = 30_000_000
    mode: Mode = "replay"


@dataclass(frozen=True)
class Answers:
    """`digests` maps what was asked to all that came of it; more than one digest is a contradiction."""

    digests: dict[str, list[str]]
    calls: int
    clients: list[str]
    interfaces: list[str]


async def answered(archive: Archive, order: Order) -> Answers:
    policy = WebPolicy(allow=frozenset(order.allow), robots=False, delay_seconds=0)
    extractor = ExtractionWorker(processes=1)
    client, search = sources(archive, order, policy)
    pages = WebPages(client, policy, extractor, held_chars=order.held_chars)
    asked = [("open", url) for url in order.urls] + [("search", query) for query in order.queries]
    drawn = [asked[number % len(asked)] for number in range(order.calls)]
    random.Random(order.seed).shuffle(drawn)
    digests: dict[str, set[str]] = {}

    async def work(number: int) -> None:
        for kind, what in drawn[number :: order.workers]:
            answer = await (opened(pages, what) if kind == "open" else found(search, what))
            digests.setdefault(f"{kind} {what}", set()).add(answer)
            await asyncio.sleep(0)

    try:
        await asyncio.gather(*(work(number) for number in range(order.workers)))
    finally:
        await extractor.close()
    clients = [name for name in NETWORK_CLIENTS if name in sys.modules]
    interfaces = [name for _, name in socket.if_nameindex()]
    return Answers({key: sorted(values) for key, values in digests.items()}, len(drawn), clients, interfaces)


def sources(archive: Archive, order: Order, policy: WebPolicy) -> tuple[RecordedHttpClient, RecordedSearch]:
    if order.mode == "replay":
        return RecordedHttpClient(archive, "replay"), RecordedSearch("made-up", {"region": "us-en"}, archive, "replay")
    from tests.tools.recorded.conftest import Provider

    provider = Provider(label=f"{os.getpid()}-")
    search = RecordedSearch(provider.name, provider.parameters, archive, "record", provider)
    return RecordedHttpClient(archive, "record", LiveHttpClient(policy)), search


async def opened(pages: WebPages, url: str) -> str:
    try:
        page = await pages.read(url)
    except PageUnreadableError as error:
        lookup = error.lookup.to_json() if error.lookup else ""
        return digest_json(["error", error.code, error.message, lookup])
    links = [link.to_json() for link in page.links]
    return digest_json([page.id, page.url, page.title, page.lines, links, page.lookup and page.lookup.to_json()])


async def found(search: RecordedSearch, query: str) -> str:
    answer = await search.find(SearchQuery(query))
    return digest_text(answer.message + answer.lookup.to_json() + (answer.reply.to_json() if answer.reply else ""))


def main() -> None:
    order = Order(**json.load(sys.stdin))
    with open_archive(Path(sys.argv[1]), write=order.mode == "record") as archive:
        answers = asyncio.run(answered(archive, order))
    json.dump(asdict(answers), sys.stdout)


if __name__ == "__main__":
    main()
