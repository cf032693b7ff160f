"""A real store of a real run, a real server over it, a real Chromium that looks at it.

Where there is no Chromium the tests skip, unless TOOLABLATE_REQUIRE_BROWSER is set. Pictures go to the folder that
TOOLABLATE_SCREENSHOTS names, for a person to look at; else none are taken.
"""

import asyncio
import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, Page, Request, expect, sync_playwright
from tests.browser.hostile import done
from tests.browser.plans import PLAN, REPLAYED
from tests.browser.serving import Site, copied, indexed, serving, viewing
from tests.experiments.attribution.commands import run, toolablate
from tests.made_once import made_once
from tests.traces.samples import attempt, plan, score

from toolablate.traces.store import Recorder
from toolablate.viewer.index import ViewerIndex
from toolablate.viewer.label_session import LabelSession
from toolablate.viewer.rendering import View

PATIENCE = 60_000
"""In milliseconds, of whoever looks for something on a page: a busy machine takes long to draw one."""

expect.set_options(timeout=PATIENCE)

Browse = Callable[..., Page]
ServeView = Callable[[View], Site]
LookAt = Callable[..., None]


@pytest.fixture(scope="session")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of two simulated models without tools, with python and with search. Copy it before you write."""
    made = made_once(tmp_path_factory, "viewed", lambda folder: run(folder, PLAN, "viewed.sqlite"))
    return made / "viewed.sqlite"


@pytest.fixture(scope="session")
def index(ran: Path, tmp_path_factory: pytest.TempPathFactory) -> ViewerIndex:
    return indexed(ran, tmp_path_factory.mktemp("index") / "index.sqlite")


@pytest.fixture(scope="session")
def site(ran: Path, index: ViewerIndex) -> Iterator[Site]:
    """A viewer over that store, which nobody writes to."""
    with serving(viewing(ran, index)) as served:
        yield served


# Of few rounds.
RUNS = ("--rollouts", "2", "--successes", "0.3")


@pytest.fixture(scope="session")
def replayed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store whose wrong trials with tools were replayed."""

    def make(folder: Path) -> None:
        run(folder, REPLAYED, "r.sqlite")
        told = toolablate(folder, "attribute", "r.sqlite", "--replay", "--samples", "4", *RUNS)
        assert told.returncode == 0, told.stdout + told.stderr

    return made_once(tmp_path_factory, "viewed-replays", make) / "r.sqlite"


@pytest.fixture(scope="session")
def replays(replayed: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    index = indexed(replayed, tmp_path_factory.mktemp("replays") / "index.sqlite")
    with serving(viewing(replayed, index)) as served:
        yield served


@pytest.fixture
def serve_view() -> Iterator[ServeView]:
    """Serves a view until the pages of this test are closed: a page that outlives its server complains of that."""
    with ExitStack() as stack:
        yield lambda view: stack.enter_context(serving(view))


@pytest.fixture
def serve(ran: Path, index: ViewerIndex, tmp_path: Path, serve_view: ServeView) -> Callable[..., Site]:
    """Serves another store, or a copy of that one, for this test alone: `serve(store=None, why=True, blind=False)`."""

    def start(
        store: Path | None = None, *, why: bool = True, blind: bool = False, session: LabelSession | None = None
    ) -> Site:
        own = store or Path(shutil.copy(ran, tmp_path / "own.sqlite"))
        at = tmp_path / f"{own.stem}.index"
        known = indexed(own, at, why=why) if store or not why else copied(index, at)
        return serve_view(viewing(own, known, blind=blind, session=session))

    return start


async def _attempted(path: Path, turns: int) -> str:
    with Recorder(path) as recorder:
        first = plan(recorder)[0]
        await attempt(recorder, first, turns=turns)
        await recorder.score([score(first, 0.0)])
    return first.id


@pytest.fixture
def long_trial(tmp_path: Path) -> tuple[Path, str]:
    """A store, and its trial of 302 events."""
    path = tmp_path / "long.sqlite"
    return path, done(_attempted(path, 150))


@pytest.fixture(scope="session")
def _launched() -> Iterator[tuple[Browser, asyncio.AbstractEventLoop]]:
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        missing = "no Chromium on the PATH (apt-get install chromium)"
        if os.environ.get("TOOLABLATE_REQUIRE_BROWSER"):
            pytest.fail(missing)
        pytest.skip(missing)
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=arguments)
        loop = asyncio.get_running_loop()
        asyncio._set_running_loop(None)
        yield browser, loop
        asyncio._set_running_loop(loop)
        browser.close()


@pytest.fixture
def chromium(_launched: tuple[Browser, asyncio.AbstractEventLoop]) -> Iterator[Browser]:
    """Playwright's loop counts as running as long as a test uses it: those after it have loops of their own."""
    browser, loop = _launched
    asyncio._set_running_loop(loop)
    yield browser
    asyncio._set_running_loop(None)


@pytest.fixture
def complaints() -> list[str]:
    """What the browser complained of: errors of scripts, breaches of the content policy, what did not load. A test that
    means to cause some clears it."""
    return []


@pytest.fixture
def browse(chromium: Browser, complaints: list[str], serve_view: ServeView) -> Iterator[Browse]:
    """`browse(site, "/questions", width=1280, scheme="light")` opens a page as a browser that was let in. At the end no
    page may have complained."""
    contexts = []

    def failed(request: Request) -> None:
        # Who goes on to another page does not wait for what the last one still loads.
        if request.failure != "net::ERR_ABORTED":
            complaints.append(f"{request.url}: {request.failure}")

    def start(
        site: Site,
        path: str = "/",
        *,
        width: int = 1280,
        scheme: str = "light",
        scripts: bool = True,
        phone: bool = False,
    ) -> Page:
        context = chromium.new_context(
            viewport={"width": width, "height": 900},
            color_scheme=scheme,
            java_script_enabled=scripts,
            is_mobile=phone,
            has_touch=phone,
            reduced_motion="reduce",
        )
        contexts.append(context)
        context.set_default_timeout(PATIENCE)
        page = context.new_page()
        page.on("console", lambda said: complaints.append(said.text) if said.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("requestfailed", failed)
        name, _, value = site.cookie.partition("=")
        context.add_cookies([{"name": name, "value": value, "url": site.base, "httpOnly": True, "sameSite": "Strict"}])
        page.goto(site.base + path)
        return page

    yield start
    for context in contexts:
        context.close()
    assert complaints == []


def seen_as(page: Page, width: int, scheme: Literal["light", "dark"]) -> None:
    """As who opens it in a window of this width, with these colours; what is on the page stays as it is."""
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme)


SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")


@pytest.fixture
def look_at() -> LookAt:
    """`look_at(page, "overview-dark")` keeps a picture of the whole page, where somebody wants to see it."""
    folder = os.environ.get("TOOLABLATE_SCREENSHOTS")

    def shoot(page: Page, name: str) -> None:
        if folder:
            page.screenshot(path=Path(folder) / f"{re.sub(r'[^a-z0-9-]+', '-', name.lower())}.png", full_page=True)

    return shoot
