"""An archive of each test's own, and what is recorded into it: pages of a web server here, replies of a made-up provider."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pydantic import JsonValue
from tests.tools.web_server import WebServer

from toolablate.tools.archive import Archive, open_archive, seal
from toolablate.tools.browser.page import PageUnreadableError
from toolablate.tools.extraction import extract
from toolablate.tools.extraction.kinds import ExtractionOptions
from toolablate.tools.recorded import RecordedHttpClient, WebPages
from toolablate.tools.search.provider import Searched, SearchQuery
from toolablate.tools.web import LiveHttpClient, WebPolicy
from toolablate.traces.records import PageText, SearchReply, SearchResult, SearchStatus

PARAGRAPHS = (
    "The harmonic series is the sum of the reciprocals of all positive integers, and it diverges, as Oresme proved.",
    'Its partial sums grow like a logarithm; see <a href="/next">the page on growth</a> for how fast that is.',
)

LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "archive"


@pytest.fixture
def archive(folder: Path) -> Iterator[Archive]:
    """Being recorded into; see `sealed` for what comes after."""
    with open_archive(folder, write=True) as archive:
        yield archive


_SEALED = ExitStack()


@pytest.fixture(autouse=True)
def _close_what_was_sealed() -> Iterator[None]:
    with _SEALED:
        yield


def sealed(archive: Archive) -> Archive:
    """The same archive, sealed, until the test ends."""
    archive.close()
    seal(archive.path)
    return _SEALED.enter_context(open_archive(archive.path))


@dataclass
class Provider:
    """Finds one result that counts the searches, so that two searches are never alike. `statuses` go first."""

    statuses: list[SearchStatus] = field(default_factory=list)
    asked: list[SearchQuery] = field(default_factory=list)
    parameters: Mapping[str, JsonValue] = field(default_factory=lambda: {"region": "us-en"})
    name: str = "made-up"
    label: str = ""

    async def search(self, asked: SearchQuery) -> Searched:
        self.asked.append(asked)
        status = self.statuses.pop(0) if self.statuses else "ok"
        url = f"https://example.org/{self.label}{len(self.asked)}"
        reply = SearchReply(
            query=asked.query,
            fetched_at=datetime.now(UTC),
            provider=self.name,
            status=status,
            results=(SearchResult(rank=1, url=url, canonical_url=url, title=asked.query),) if status == "ok" else (),
        )
        return Searched(reply, f"raw {len(self.asked)}".encode())


@dataclass
class Reader:
    """Extracts in this process. `codes` are what the first documents come to instead of a text."""

    identity: str = "reader 1"
    codes: list[str] = field(default_factory=list)
    read: int = 0
    mark: str = ""

    async def extract(self, body: bytes, options: ExtractionOptions) -> PageText:
        self.read += 1
        if self.codes:
            code = self.codes.pop(0)
            return PageText(code=code, reason=f"it came to {code}")
        text = extract(body, options)
        return text.model_copy(update={"title": f"{text.title}{self.mark}"})


def policy_for(*servers: WebServer, **settings: object) -> WebPolicy:
    allow = frozenset(server.host for server in servers)
    return WebPolicy(allow=allow, robots=False, delay_seconds=0, **settings)  # type: ignore[arg-type]


def recording(archive: Archive, policy: WebPolicy, reader: Reader | None = None, *, refresh: bool = False) -> WebPages:
    client = RecordedHttpClient(archive, "record", LiveHttpClient(policy), language=policy.language, refresh=refresh)
    return WebPages(client, policy, reader or Reader())


def replaying(
    archive: Archive, policy: WebPolicy, reader: Reader | None = None, *, as_of: datetime | None = None
) -> WebPages:
    return WebPages(
        RecordedHttpClient(archive, "replay", as_of=as_of, language=policy.language), policy, reader or Reader()
    )


@pytest.fixture
def policy(web: WebServer) -> WebPolicy:
    return policy_for(web, seconds=5.0)


async def unreadable(pages: WebPages, url: str) -> PageUnreadableError:
    with pytest.raises(PageUnreadableError) as caught:
        await pages.read(url)
    return caught.value
