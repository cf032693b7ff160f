"""Captured pages: a real Chromium before a local forum, on pages that are long, hostile or none."""

import asyncio
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from warcio.archiveiterator import ArchiveIterator

from toolablate.cli import group
from toolablate.experiments.construction.sources.captures import load_capture_items, pictures_of
from toolablate.experiments.construction.sources.chromium import Limits, guarded_chromium, parts_of
from toolablate.experiments.record_file import RowFile
from toolablate.tools.archive import verify
from toolablate.tools.web import FetchError
from toolablate.tools.web.policy import WebPolicy
from toolablate.traces.errors import InputError

Answer = Callable[[], tuple[int, dict[str, str], bytes]]
PIXEL = b"GIF89a\1\0\1\0\x80\0\0\xff\0\0\0\0\0,\0\0\0\0\1\0\1\0\0\2\2D\1\0;"


class Site:
    """A server whose pages are given by path; `asked` are the paths in order."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.host = url.removeprefix("http://")
        self.asked: list[str] = []
        self.pages: dict[str, Answer] = {}

    def page(self, path: str, html: str, status: int = 200, **headers: str) -> None:
        given = {"Content-Type": "text/html; charset=utf-8"} | {key.replace("_", "-"): headers[key] for key in headers}
        self.pages[path] = lambda: (status, given, html.encode())


@contextmanager
def serving() -> Iterator[Site]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            site.asked.append(self.path)
            status, headers, body = site.pages.get(self.path, lambda: (404, {}, b"no"))()
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            with suppress(OSError):  # who has enough goes
                self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    site = Site(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def site() -> Iterator[Site]:
    with serving() as found:
        yield found


@pytest.fixture
def secret() -> Iterator[Site]:
    """On this machine, and nobody's business."""
    with serving() as found:
        yield found


@pytest.fixture
def _needs_chromium() -> None:
    if not shutil.which("chromium"):
        missing = "no Chromium on the PATH (apt-get install chromium)"
        if os.environ.get("TOOLABLATE_REQUIRE_BROWSER"):
            pytest.fail(missing)
        pytest.skip(missing)


def capture(folder: Path, site: Site, paths: list[str], code: int, more: str = "") -> Result:
    """Without `paths` the forums are those of `more`."""
    path = folder / "captures.toml"
    threads = json.dumps([site.url + each for each in paths])
    stills = f'[[forums]]\nname = "Stills"\nlicence = "CC0"\nthreads = {threads}\n' if paths or not more else ""
    path.write_text(
        f'{stills}{more}\n[web]\nallow = ["{site.host}"]\ndelay_seconds = 0.0\n',
        encoding="utf-8",
    )
    found = CliRunner().invoke(group, ["build", "capture", str(path)])
    assert found.exit_code == code, (found.output, found.exception)
    assert found.exception is None or isinstance(found.exception, SystemExit | InputError), found.exception
    return found


THREAD = """<!doctype html><title>{title}</title><link rel=stylesheet href=/s.css>
<body style="margin:0"><div style="position:fixed;top:0;height:40px;background:red;width:100%">Accept cookies</div>
<p>Why does the still <b>leak</b>?</p><img src=/i.gif><img src={secret}/steal.gif><img src=http://169.254.169.254/latest>
<iframe src={secret}/frame></iframe><p>Its gasket is dry.</p><div style="height:{height}px"></div><p>The end.</p>"""


@pytest.mark.deep
@pytest.mark.usefixtures("_needs_chromium")
def test_threads_become_pictures_and_nothing_private_is_asked(tmp_path: Path, site: Site, secret: Site) -> None:
    title = "<script>alert(1)</script> & more"
    given = {"title": title.replace("<", "&lt;"), "secret": secret.url}
    site.page("/t/1", THREAD.format(height=3_000, **given))
    site.page("/t/tall", THREAD.format(height=60_000, **given))
    site.page("/s.css", "p { font: 20px sans-serif }", Content_Type="text/css")
    site.pages["/i.gif"] = lambda: (302, {"Location": f"{secret.url}/redirected.gif"}, b"")
    site.page("/moved", "", status=302, Location="/t/1")
    site.page("/away", "", status=302, Location="http://169.254.169.254/latest/meta-data")
    site.page("/gone", "<title>gone</title>", status=404)
    site.page("/file", "<p>a file", Content_Disposition="attachment; filename=x.exe")
    site.pages["/pdf"] = lambda: (200, {"Content-Type": "application/pdf"}, b"%PDF-1.4 \xff\xfe")
    site.page("/refresh", f"<meta http-equiv=refresh content='0;url={secret.url}/refreshed'><p>Still here.")
    site.pages["/huge.gif"] = lambda: (200, {"Content-Type": "image/gif"}, PIXEL + bytes(50_000_000))
    site.page("/heavy", "<p>Before the picture.</p><img src=/huge.gif>")
    fine = ["/t/1", "/t/tall", "/moved", "/refresh", "/heavy"]
    refused = {
        "/away": "not on the public internet",
        "/gone": "HTTP 404",
        "/file": "is a download",
        "/pdf": "is no page",
    }
    rows = "".join(
        f"<li><a href='/topic/{n}-x'>Why does still {n} leak?</a><a href='/member/{n}'>Ann</a>" for n in range(5)
    )
    site.page("/forum/1", f"<ul>{rows}</ul>")
    for number in range(5):
        site.page(f"/topic/{number}-x", f"<p>Still {number} leaks.")
    listed = f'[[forums]]\nname = "Listed"\nlisting = "{site.url}/forum/1"\nlimit = 2\n'
    told = capture(tmp_path, site, [*fine, *refused], code=1, more=listed).stderr
    for path, why in refused.items():
        assert any(f"{site.url}{path}" in line and why in line for line in told.splitlines()), (path, told)
    assert "4 pages not captured" in told
    assert secret.asked == []

    kept = load_capture_items(tmp_path / "captures.jsonl").values()
    assert [each["text"] for each in kept if each["forum"] == "Listed"] == ["Still 0 leaks.", "Still 1 leaks."]
    items = {each["url"].removeprefix(site.url): each for each in kept if each["forum"] == "Stills"}
    assert list(items) == fine
    first = items["/t/1"]
    assert (first["title"], first["forum"], first["licence"]) == (title, "Stills", "CC0")
    assert "Why does the still leak?" in first["text"]
    assert "Its gasket is dry." in first["text"]
    tiles = pictures_of(tmp_path, first["tiles"])
    assert [tile.width for tile in tiles] == [1280] * 3
    assert tiles[0].height == tiles[1].height == 1_500
    assert len(items["/t/tall"]["tiles"]) == len(parts_of(20_000)) == 15
    assert "cut at 20,000 of 60," in told
    assert "Still here." in items["/refresh"]["text"]
    # What Chromium was given is kept as WARC, which other programs read; what was refused is not.
    urls = warc_urls(tmp_path)
    assert {"/t/1", "/s.css", "/moved", "/topic/0-x"} <= {each.removeprefix(site.url) for each in urls}
    assert urls.count(f"{site.url}/s.css") == 1
    assert not [each for each in urls if secret.url in each or each.endswith(("/gone", "/huge.gif"))]
    assert verify(tmp_path / "web").ok
    assert _reds(tiles[0].content) == 0, "the bar that stays in place is hidden"

    asked = list(site.asked)
    assert "not captured" in capture(tmp_path, site, [*fine, "/gone"], code=1).stderr
    assert site.asked == [*asked, "/robots.txt", "/gone"], "what is there is not captured again"


def warc_urls(folder: Path) -> list[str]:
    """Of the replies, as a reader of other makers finds them."""
    found = []
    for file in sorted((folder / "web" / "warc").glob("*.warc.gz")):
        with file.open("rb") as stream:
            found += [
                record.rec_headers.get_header("WARC-Target-URI")
                for record in ArchiveIterator(stream)
                if record.rec_type == "response"
            ]
    return found


def _reds(png: bytes) -> int:
    """Pixels of the first rows in pure red."""
    import io

    from PIL import Image

    with Image.open(io.BytesIO(png)) as image:
        colours = image.convert("RGB").crop((0, 0, 600, 30)).getcolors() or []
        return sum(count for count, colour in colours if colour == (255, 0, 0))


@pytest.mark.deep
@pytest.mark.usefixtures("_needs_chromium")
async def test_scripts_reach_nothing_past_the_guard_and_never_hold_it_up(site: Site, secret: Site) -> None:
    refused: list[str] = []

    def once_refused() -> tuple[int, dict[str, str], bytes]:
        # The page waits for this picture, and it for the socket's end.
        until = time.monotonic() + 25
        while not any(secret.host in line for line in refused) and time.monotonic() < until:
            time.sleep(0.01)
        return 200, {"Content-Type": "image/gif"}, PIXEL

    site.pages["/wait.gif"] = once_refused
    site.page(
        "/scripts",
        f"""<p id=p>Nothing.</p><img src=/wait.gif><script>
        p.textContent = "Scripts ran.";
        new WebSocket("ws://{secret.host}/socket");
        fetch("{secret.url}/fetched").catch(() => 0);
        fetch("/posted", {{method: "POST", body: "x"}}).catch(() => 0);
        navigator.sendBeacon("{secret.url}/beacon");
        window.open("{secret.url}/popup");
        navigator.serviceWorker && navigator.serviceWorker.register("/worker.js").catch(() => 0);
        Object.defineProperty(Document.prototype, "title", {{get: () => {{ throw 1 }}}});
        addEventListener("scroll", () => document.body.append("more"));
        </script>""",
    )
    site.page("/loop", "<p>Text.</p><script>while (true) {}</script>")
    policy = WebPolicy(allow=frozenset({site.host}), delay_seconds=0.0, robots=False)
    async with guarded_chromium(policy, Limits(scripts=True)) as chromium:
        watching = asyncio.create_task(_copy(chromium.refused, refused))
        found = await chromium.capture(f"{site.url}/scripts")
        watching.cancel()
    assert found.text == "Scripts ran."
    assert any(secret.host in line for line in refused)
    assert secret.asked == []
    assert set(site.asked) == {"/scripts", "/wait.gif"}
    async with guarded_chromium(policy, Limits(scripts=True, seconds=2.0)) as chromium:
        with pytest.raises(FetchError) as error:
            await chromium.capture(f"{site.url}/loop")
        assert error.value.code == "timeout"


@pytest.mark.deep
@pytest.mark.usefixtures("_needs_chromium")
async def test_webrtc_sends_nothing_past_the_guard(site: Site) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as private:
        private.bind(("127.0.0.1", 0))
        private.setblocking(False)
        address = f"127.0.0.1:{private.getsockname()[1]}"
        done = threading.Event()

        def once_done() -> tuple[int, dict[str, str], bytes]:
            # The page waits for this picture, and it for the end of what WebRTC sends.
            done.wait(25)
            return 200, {"Content-Type": "image/gif"}, PIXEL

        def is_done() -> tuple[int, dict[str, str], bytes]:
            done.set()
            return 200, {"Content-Type": "image/gif"}, PIXEL

        site.pages |= {"/wait.gif": once_done, "/done.gif": is_done}
        site.page(
            "/calls",
            f"""<p id=p>Nothing.</p><img src=/wait.gif><script>
            const servers = [{{urls: "stun:{address}"}}, {{urls: "turn:{address}", username: "a", credential: "b"}}];
            const call = new RTCPeerConnection({{iceServers: servers}});
            call.onicegatheringstatechange = () => {{
              if (call.iceGatheringState !== "complete") return;
              p.textContent = "Gathered.";
              new Image().src = "/done.gif";
            }};
            call.createDataChannel("x");
            call.createOffer().then((offer) => call.setLocalDescription(offer));
            </script>""",
        )
        policy = WebPolicy(allow=frozenset({site.host}), delay_seconds=0.0, robots=False)
        async with guarded_chromium(policy, Limits(scripts=True)) as chromium:
            found = await chromium.capture(f"{site.url}/calls")
        assert found.text == "Gathered."
        with pytest.raises(BlockingIOError):
            private.recv(100)


@pytest.mark.deep
@pytest.mark.usefixtures("_needs_chromium")
def test_pages_without_a_charset_are_drawn_as_what_they_are(tmp_path: Path, site: Site) -> None:
    said = "Ида пишет: нагрев 700 градусов, потом вода."
    body = f"<title>Ида</title><p>{said}</p>"
    site.page("/none", body, Content_Type="text/html")
    koi = {"Content-Type": "text/html; charset=koi8-r"}, body.encode("koi8-r")
    site.pages["/koi"] = lambda: (200, *koi)
    capture(tmp_path, site, ["/none", "/koi"], code=0)
    one, other = load_capture_items(tmp_path / "captures.jsonl").values()
    assert (one["title"], one["text"]) == (other["title"], other["text"]) == ("Ида", said)
    assert one["tiles"] == other["tiles"]


STARTS = """
import asyncio, time
from toolablate.experiments.construction.sources.chromium import Limits, guarded_chromium
from toolablate.tools.web.policy import WebPolicy

async def main():
    async with guarded_chromium(WebPolicy(), Limits()):
        print("started", flush=True)
        time.sleep(600)

asyncio.run(main())
"""


@pytest.mark.deep
def test_a_capture_that_is_killed_leaves_no_folder(tmp_path: Path) -> None:
    started = subprocess.Popen(
        [sys.executable, "-c", STARTS], stdout=subprocess.PIPE, env={**os.environ, "TMPDIR": str(tmp_path)}
    )
    assert started.stdout is not None
    assert started.stdout.readline() == b"started\n"
    assert [*tmp_path.glob("toolablate-*")]
    started.kill()
    started.wait()
    started.stdout.close()
    deadline = time.monotonic() + 60
    while [*tmp_path.glob("toolablate-*")] and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not [*tmp_path.glob("toolablate-*")]


@pytest.mark.deep
@pytest.mark.usefixtures("_needs_chromium")
async def test_a_page_that_ends_what_steers_chromium_costs_no_other(site: Site) -> None:
    site.page("/heavy", "<title>x</title><script>document.title = 'x'.repeat(4e8)</script>")
    site.page("/fine", "<p>Fine.")
    policy = WebPolicy(allow=frozenset({site.host}), delay_seconds=0.0, robots=False)
    async with guarded_chromium(policy, Limits(scripts=True, seconds=20.0)) as chromium:
        with pytest.raises(FetchError):
            await chromium.capture(f"{site.url}/heavy")
        assert (await chromium.capture(f"{site.url}/fine")).text == "Fine."


@pytest.mark.deep
@pytest.mark.usefixtures("_needs_chromium")
def test_a_page_is_told_with_its_pictures_and_waited_for_as_long_as_the_plan_says(tmp_path: Path, site: Site) -> None:
    given_up = threading.Event()
    site.page("/t/1", "<p>The gasket is dry.</p>")

    def never() -> tuple[int, dict[str, str], bytes]:
        given_up.wait(25)
        return 200, {"Content-Type": "text/html"}, b"<p>Late."

    site.pages["/slow"] = never
    told = capture(tmp_path, site, ["/t/1", "/slow"], code=1, more="[browser]\nseconds = 5").stderr
    given_up.set()
    assert f"Stills: {site.url}/t/1: 1 picture" in told
    assert "/slow took longer than 5 seconds" in told


@pytest.mark.deep
@pytest.mark.usefixtures("_needs_chromium")
def test_how_many_threads_a_listing_has_is_told_and_where_none_are_recognised(tmp_path: Path, site: Site) -> None:
    rows = "".join(f"<li><a href='/t/{name}'>Why does still {name} leak?</a> by Ann" for name in "abc")
    site.page("/pumps", f"<ul>{rows}</ul>")
    site.page("/none", "<ul><li><a href='/rules'>The rules of this forum</a><li><a href='/help'>Help</a></ul>")
    site.page("/t/a", "<p>Still a leaks.")
    listed = "".join(
        f'[[forums]]\nname = "{each}"\nlisting = "{site.url}/{each}"\nlimit = 1\n' for each in ("pumps", "none")
    )
    told = capture(tmp_path, site, [], code=1, more=listed).stderr
    assert f"pumps: {site.url}/pumps: 3 threads" in told
    assert f"{site.url}/none: no threads are recognised" in told
    capture(tmp_path, site, [], code=0, more=listed.partition('[[forums]]\nname = "none"')[0])


@pytest.mark.deep
@pytest.mark.usefixtures("_needs_chromium")
def test_what_is_not_captured_says_whether_it_may_be_had_later_and_what_to_change(tmp_path: Path, site: Site) -> None:
    site.page(
        "/typed", "<!doctype html><title>x</title><p>A page all the same.", Content_Type="application/octet-stream"
    )
    site.page("/gone", "", status=404)
    site.page("/busy", "", status=503)
    other = '[[forums]]\nname = "Port"\nthreads = ["http://127.0.0.1:9/t"]\n'
    told = capture(tmp_path, site, ["/typed", "/gone", "/busy"], code=1, more=other).stderr
    assert f"Stills: {site.url}/typed: 1 picture" in told
    (line,) = (each for each in told.splitlines() if "port 9 may not be opened" in each)
    assert "web.allow" in line
    assert line.count("127.0.0.1:9/t") == 1
    assert "3 pages not captured. 1 may be had later: the same command tries again; 2 cannot be captured" in told


def test_two_at_once_do_not_capture_into_one_output(tmp_path: Path, site: Site) -> None:
    with RowFile(tmp_path / "captures.jsonl", head=b"{"):
        found = capture(tmp_path, site, ["/t/1"], code=1).exception
    assert isinstance(found, InputError)
    assert (found.code, site.asked) == ("file_in_use", [])


async def _copy(source: list[str], into: list[str]) -> None:
    while True:
        into[:] = source
        await asyncio.sleep(0.01)


def test_without_chromium_the_remedy_is_told(tmp_path: Path, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    found = capture(tmp_path, site, ["/t/1"], code=1).exception
    assert isinstance(found, InputError)
    assert (found.code, found.hint) == ("no_browser", "apt-get install chromium")


@pytest.mark.parametrize("height", [1, 1_499, 1_500, 1_501, 2_900, 2_901, 20_000])
def test_tiles_cover_a_page_and_share_what_lies_between(height: int) -> None:
    parts = parts_of(height)
    assert parts[0][0] == 0
    assert sum(parts[-1]) == height
    assert all(0 < tall <= 1_500 for _, tall in parts)
    assert all(top == sum(before) - 100 for before, (top, _) in pairwise(parts))


@pytest.mark.usefixtures("_needs_chromium")
def test_of_a_proposed_forum_the_samples_alone_are_captured(tmp_path: Path, site: Site) -> None:
    for number in (1, 2):
        site.page(f"/t/{number}", "<!doctype html><title>A thread</title><p>It leaks.</p>")
    proposal = 'domain = "Physics"\npermission = "CC0"\nproposer = "ann"\n'
    forum = f'[[forums]]\nname = "Stills"\nthreads = ["{site.url}/t/1"]\nsamples = ["{site.url}/t/2"]\n{proposal}'
    told = capture(tmp_path, site, [], 0, forum).output
    assert "sample threads alone" in " ".join(told.split())
    assert "/t/1" not in site.asked
    assert "/t/2" in site.asked
    assert warc_urls(tmp_path) == [f"{site.url}/t/2"]
