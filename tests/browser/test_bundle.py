"""A static copy of a store's pages: from a file, and from any web server's folder."""

import functools
import http.server
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, Request, expect
from tests.experiments.attribution.commands import called, said

from toolablate.traces.store import Store

SERIOUS = ("serious", "critical")


@pytest.fixture(scope="session")
def bundle(ran: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """In a folder of a folder, so that nothing may rest on the root of a server."""
    folder = tmp_path_factory.mktemp("sent") / "to" / "pages"
    said("view", ran, "--bundle", folder)
    return folder


@contextmanager
def _served(root: Path) -> Iterator[str]:
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(root))) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found = list[str]()
        self.ids = set[str]()
        self.forms = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        self.forms += tag == "form" and named.get("method") != "dialog"
        if named.get("id"):
            self.ids.add(str(named["id"]))
        if tag in ("a", "link", "script", "img"):
            self.found += [str(named[each]) for each in ("href", "src") if named.get(each)]


def _read(page: Path) -> _Links:
    links = _Links()
    links.feed(page.read_text(encoding="utf-8"))
    return links


def test_every_link_leads_to_a_file_that_is_there_and_nothing_tells_of_this_machine(bundle: Path, ran: Path) -> None:
    pages = {path: _read(path) for path in bundle.rglob("*.html")}
    with Store(ran) as store:
        assert len(list(bundle.glob("trial/*.html"))) == len(store.summaries())
    for path, links in pages.items():
        assert links.forms == 0
        for href in links.found:
            split = urlsplit(href)
            if split.scheme in ("http", "https", "data"):
                continue
            target = (path.parent / unquote(split.path)).resolve() if split.path else path
            assert target.is_file(), (path, href)
            assert not split.query, (path, href)
            if split.fragment and not split.path:
                assert split.fragment in links.ids, (path, href)
    for path in bundle.rglob("*"):
        if path.is_file():
            assert str(ran.parent) not in path.read_text(encoding="utf-8"), path


@pytest.mark.parametrize("served", [False, True], ids=["file", "server"])
def test_a_bundle_is_read_searched_and_walked(bundle: Path, chromium: Browser, served: bool) -> None:
    with _served(bundle.parent.parent) as base:
        home = f"{base}/to/pages/" if served else bundle.as_uri() + "/"
        context = chromium.new_context(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
        context.set_default_timeout(60_000)
        page, wrong, asked = context.new_page(), list[str](), list[Request]()
        page.on("console", lambda told: wrong.append(told.text) if told.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        # An icon that is still on its way when one goes on is no fault.
        page.on("requestfailed", lambda told: wrong.append(told.url) if told.failure != "net::ERR_ABORTED" else None)
        page.on("request", lambda request: asked.append(request))
        page.goto(f"{home}index.html")
        expect(page.locator("table.results")).to_be_visible()
        assert page.locator("figure svg").count() >= 3
        _clean(page)
        page.keyboard.press("g")
        page.keyboard.press("q")
        page.wait_for_url("**/questions.html")
        _clean(page)
        page.locator("tr[data-step] a[data-open]").first.click()
        page.locator("a.mono").first.click()
        page.wait_for_url("**/trial/*.html*")
        page.keyboard.press("j")
        assert page.evaluate("document.activeElement.dataset.event") is not None
        page.keyboard.press("d")
        page.wait_for_url("**/diff/*/*.html*")
        _clean(page)
        page.keyboard.press("n")
        page.keyboard.press("g")
        page.keyboard.press("f")
        page.wait_for_url("**/find.html")
        _clean(page)
        field = page.get_by_placeholder("Words")
        field.fill("simulated-credulous PYTHON print")
        expect(page.locator("[data-found]")).to_contain_text("pages")
        expect(page.locator(".found-hits mark").first).to_have_text(re.compile("python|print", re.IGNORECASE))
        page.locator(".found-hits a[href*='#event-']").first.click()
        page.wait_for_url("**/trial/*.html#event-*")
        assert all(each.url.startswith((home, "data:")) for each in asked)
        assert wrong == []
        context.close()


def _clean(page: Page) -> None:
    """By axe, which a content policy as strict as this one lets in by evaluation alone."""
    page.evaluate("for (const each of document.querySelectorAll('main details')) each.open = true")
    # Without reading style sheets again, which a page from a file may not.
    found = Axe().run(page, options={"preload": False}).response["violations"]
    assert [(each["id"], each["nodes"][0]["html"]) for each in found if each["impact"] in SERIOUS] == []
    page.evaluate("for (const each of document.querySelectorAll('main details')) each.open = false")


def test_without_scripts_all_of_it_can_be_read(bundle: Path, chromium: Browser) -> None:
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{bundle.as_uri()}/find.html")
    page.get_by_role("link", name="All questions").click()
    page.locator("a.mark").first.click()
    expect(page.locator("[data-event]").first).to_be_visible()
    context.close()


def test_a_part_holds_nothing_of_the_rest(ran: Path, tmp_path: Path) -> None:
    folder = tmp_path / "part"
    told = said("view", ran, "--bundle", folder, "--where", "model=simulated-steady", "--where", "condition=python")
    assert str(folder / "index.html") in told
    with Store(ran) as store:
        seen = store.summaries()
    inside = {each.trial for each in seen if each.model == "simulated-steady" and each.condition in ("none", "python")}
    assert {path.stem for path in (folder / "trial").glob("*.html")} == {each[:16] for each in inside}
    texts = "".join(path.read_text(encoding="utf-8") for path in folder.rglob("*") if path.is_file())
    assert not [each.trial for each in seen if each.trial not in inside and each.trial[:16] in texts]
    assert "condition = python" in (folder / "index.html").read_text(encoding="utf-8")
    # Wrong trials have filters of their own: where they do not know one, their page would show the rest.
    assert (folder / "failures.html").exists()
    part = tmp_path / "wrong"
    said("view", ran, "--bundle", part, "--where", "ending=wrong", "--where", "condition=python")
    assert not (part / "failures.html").exists()
    assert "failures.html" not in (part / "index.html").read_text(encoding="utf-8")
    # One may be made again in its place, but nobody's own files are lost.
    said("view", ran, "--bundle", folder, "--where", "condition=none")
    (folder / "mine.txt").write_text("kept")
    refused = called("view", ran, "--bundle", folder)
    assert refused.exit_code == 1
    assert "mine.txt" in str(refused.exception)
    for where in ("ending=splendid", "colour=red", "model"):
        assert called("view", ran, "--bundle", tmp_path / "none", "--where", where).exit_code == 1
    assert not (tmp_path / "none").exists()
