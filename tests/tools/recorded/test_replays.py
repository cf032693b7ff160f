"""Replays in other orders, other processes and without a network."""

import asyncio
import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.tools.recorded.calling import Answers, Order, answered
from tests.tools.recorded.conftest import Provider, Reader
from tests.tools.web_server import Drip, WebServer, article, reply

from toolablate.tools.archive import open_archive, seal
from toolablate.tools.browser.page import PageUnreadableError
from toolablate.tools.recorded import RecordedHttpClient, RecordedSearch, WebPages
from toolablate.tools.search.provider import SearchQuery
from toolablate.tools.web import Exchange, FetchError, WebPolicy

ROOT = Path(__file__).parents[3]
PAGES, QUERIES = 500, 100
WITHOUT_NETWORK = (
    ["unshare", "--net"],
    ["unshare", "--net", "--map-root-user"],
    ["bwrap", "--dev-bind", "/", "/", "--unshare-net"],
)


class Site:
    """A web of pages of many kinds: every tenth redirects, some are not there, some give no reply."""

    async def get(self, url: str) -> Exchange:
        number = int(url.rpartition("/")[2])
        match number % 20:
            case 3 | 13:
                return self._reply(url, 301, f"/{number + 1}", b"")
            case 7:
                return self._reply(url, 404, "", b"no such page")
            case 11:
                raise FetchError(f"{url} took longer than 30 seconds", code="timeout", transient=True)
            case 17:
                return self._reply(url, 200, "", b"<html><body></body></html>")
        lines = [f"Paragraph {line} of page {number}, 第{line}段。" for line in range(20)]
        if number % 2:
            return self._reply(url, 200, "", "\n".join(lines).encode(), kind="text/plain")
        body = article(f"Page {number}", *(f'{line} <a href="/{number + 1}">the next page</a>' for line in lines))
        return self._reply(url, 200, "", body.encode())

    def _reply(self, url: str, status: int, location: str, body: bytes, kind: str = "text/html") -> Exchange:
        headers = [("Content-Type", f"{kind}; charset=utf-8")] + ([("Location", location)] if location else [])
        return Exchange(url, status, "Reason", tuple(headers), body, datetime.now(UTC))


def url_of(number: int) -> str:
    return f"https://example.org/{number}"


def order(**settings: int) -> Order:
    urls = [url_of(number) for number in range(PAGES + 20)] + ["http://10.0.0.1/", "https://u:p@example.org/"]
    queries = [f"query {number}" for number in range(QUERIES + 5)]
    defaults = Order(tuple(urls), tuple(queries), calls=len(urls) + len(queries), workers=1, seed=0)
    return replace(defaults, **settings)


@pytest.fixture(scope="module")
def frozen(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sealed archive of all pages and queries but the last few, and of two pages whose text was not extracted."""
    folder = tmp_path_factory.mktemp("frozen") / "archive"
    asyncio.run(_record(folder))
    seal(folder)
    return folder


async def _record(folder: Path) -> None:
    with open_archive(folder, write=True) as archive:
        client = RecordedHttpClient(archive, "record", Site())
        pages = WebPages(client, WebPolicy(), Reader())
        provider = Provider()
        search = RecordedSearch(provider.name, provider.parameters, archive, "record", provider)
        for number in range(QUERIES):
            await search.find(SearchQuery(f"query {number}"))
        for number in range(PAGES):
            if number % 250 == 100:
                await client.get(url_of(number))
                continue
            try:
                await pages.read(url_of(number))
            except PageUnreadableError:
                continue


def begin(folder: Path, what: Order, wrapper: Sequence[str] = ()) -> "subprocess.Popen[str]":
    command = [*wrapper, sys.executable, "-m", "tests.tools.recorded.calling", str(folder)]
    process = subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdin is not None
    process.stdin.write(json.dumps(asdict(what)))
    process.stdin.close()
    process.stdin = None
    return process


def ended(process: "subprocess.Popen[str]") -> Answers:
    output, errors = process.communicate(timeout=100)
    assert process.returncode == 0, errors
    return Answers(**json.loads(output))


@pytest.mark.deep
async def test_ten_thousand_calls_in_any_order_from_many_workers_and_two_processes_are_identical(frozen: Path) -> None:
    processes = [
        begin(frozen, order(calls=10_000, workers=8, seed=1)),
        begin(frozen, order(calls=10_000, workers=8, seed=2, held_chars=200_000)),
    ]
    with open_archive(frozen) as archive:
        expected = await answered(archive, order())
    assert len(expected.digests) == PAGES + QUERIES + 27
    assert all(len(digests) == 1 for digests in expected.digests.values())
    for process in processes:
        answers = ended(process)
        assert answers.calls == 10_000
        assert answers.digests == expected.digests


@dataclass(frozen=True)
class Held:
    path: str


class HeldPages(dict[str, bytes | Drip]):
    def get(self, path: str, default: object = None) -> Any:
        return Held(path)


class Crossing(WebServer):
    """Answers a path when it was asked for twice, and each time differently: both who asked have a page of their own."""

    def __init__(self) -> None:
        super().__init__(pages=HeldPages())
        self.answered = 0
        self._asked: dict[str, asyncio.Event] = {}

    async def _send(self, page: Any, writer: asyncio.StreamWriter) -> None:
        if page.path in self._asked:
            self._asked[page.path].set()
        await self._asked.setdefault(page.path, asyncio.Event()).wait()
        self.answered += 1
        await super()._send(
            reply(article(f"Answer {self.answered}", f"This is answer number {self.answered}.")), writer
        )


@pytest.mark.deep
async def test_two_processes_that_record_the_same_at_the_same_time_see_the_same(tmp_path: Path) -> None:
    folder = tmp_path / "archive"
    async with Crossing().running() as server:
        urls = tuple(server.url(f"/{number}") for number in range(24))
        queries = tuple(f"query {number}" for number in range(24))
        what = Order(urls, queries, calls=48, workers=8, seed=0, allow=(server.host,), mode="record")
        processes = [begin(folder, what) for _ in range(2)]
        first, second = await asyncio.gather(*(asyncio.to_thread(ended, process) for process in processes))
        assert server.answered == 48
    assert first.digests == second.digests
    assert len(first.digests) == 48
    seal(folder)
    assert ended(begin(folder, replace(what, mode="replay", seed=1))).digests == first.digests


@pytest.mark.deep
async def test_a_replay_needs_no_network_and_builds_no_client(frozen: Path) -> None:
    answers = ended(begin(frozen, order(), wrapper()))
    assert answers.clients == []
    assert answers.interfaces in ([], ["lo"])
    with open_archive(frozen) as archive:
        assert answers.digests == (await answered(archive, order())).digests


def wrapper() -> Sequence[str]:
    """What runs a command in a network namespace of its own, in which not even the loopback is up."""
    for command in WITHOUT_NETWORK:
        if shutil.which(command[0]) and not subprocess.run([*command, "true"], capture_output=True).returncode:
            return command
    pytest.fail("neither unshare nor bwrap makes a network namespace here")
