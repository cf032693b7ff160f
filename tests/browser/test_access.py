"""Who is let in, by requests that an attacker would send."""

import pytest
from playwright.sync_api import Browser, expect
from tests.browser.conftest import Browse
from tests.browser.serving import TOKEN, Site
from tests.browser.wire import forwarding, get, raw

PROTECTED = ("/", "/questions", "/live", "/static/style.css", "/static/app.js", "/nowhere", "/question/x", "/trial/x")


@pytest.mark.parametrize("path", PROTECTED)
def test_nothing_is_told_to_whom_was_not_shown_the_token(site: Site, path: str) -> None:
    for cookie in ("", f"toolablate-{site.port}=", f"toolablate-{site.port}={TOKEN[:-1]}", f"toolablate-1={TOKEN}"):
        reply = get(site, path, let_in=False, Cookie=cookie)
        assert reply.status == 403
        assert "Open the address that toolablate printed" in reply.text
        assert site.view.store.name not in reply.text
        assert "/static/" not in reply.text


def test_the_token_lets_in_once_and_leaves_the_address(site: Site) -> None:
    reply = get(site, f"/questions?text=a%20b&token={TOKEN}&page=1", let_in=False)
    assert reply.status == 303
    assert reply.headers["location"] == "/questions?text=a+b&page=1"
    cookie = reply.headers["set-cookie"]
    assert cookie.startswith(f"toolablate-{site.port}={TOKEN};")
    assert "httponly" in cookie.lower()
    assert "samesite=lax" in cookie.lower()
    assert "domain" not in cookie.lower()
    assert get(site, "/questions").status == 200


def test_a_token_in_an_address_leads_to_no_other_site(site: Site) -> None:
    for path in ("//evil.example/", "/\\evil.example/", "//evil.example%2F..", "/%0d%0aSet-Cookie:%20a=b"):
        location = get(site, f"{path}?token={TOKEN}", let_in=False).headers["location"]
        assert location.startswith("/")
        assert not location.startswith(("//", "/\\"))
        assert "\r" not in location
        assert "\n" not in location


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:{port}",
        "127.0.0.1:",
        "127.0.0.1:1x",
        "127.0.0.1:123456",
        "127.0.0.1:-1",
        "127.0.0.2:{port}",
        "127.0.0.1.evil.example:{port}",
        "127.0.0.1:{port},evil.example",
        "127.0.0.1:²",
        "127.0.0.1:{port}.evil.example",
        "localhost.evil.example:{port}",
        "evil.example:99999999999",
        "127.0.0.1:{port}@evil.example",
        "evil.example@127.0.0.1:{port}",
        "[::1]:{port}",
        "0.0.0.0:{port}",
        "2130706433:{port}",
        "127.1:{port}",
        "",
    ],
)
def test_a_name_that_is_not_the_viewers_is_not_let_in_even_with_the_cookie(site: Site, host: str) -> None:
    sent = host.format(port=site.port)
    reply = raw(site, f"GET / HTTP/1.1\r\nHost: {sent}\r\nCookie: {site.cookie}\r\n\r\n".encode())
    assert reply.status in (400, 421)
    assert site.view.store.name.encode() not in reply.body


def test_two_hosts_are_none(site: Site) -> None:
    hosts = f"Host: 127.0.0.1:{site.port}\r\nHost: evil.example\r\n"
    assert raw(site, f"GET / HTTP/1.1\r\n{hosts}Cookie: {site.cookie}\r\n\r\n".encode()).status in (400, 421)
    assert raw(site, f"GET / HTTP/1.0\r\nCookie: {site.cookie}\r\n\r\n".encode()).status in (400, 421)


def test_localhost_is_the_same_viewer(site: Site) -> None:
    assert get(site, "/", Host=f"LocalHost:{site.port}").status == 200
    assert get(site, f"/?token={TOKEN}", let_in=False, Host=f"localhost:{site.port}").status == 303


def test_a_tunnel_has_another_port(site: Site) -> None:
    """`ssh -L 9000:127.0.0.1:PORT`: the browser says 9000, in `Host` and in `Origin`."""
    for host in ("127.0.0.1:9000", "localhost:9000", "127.0.0.1"):
        let_in = get(site, f"/questions?token={TOKEN}", let_in=False, Host=host)
        assert let_in.status == 303
        cookie = let_in.headers["set-cookie"].partition(";")[0]
        assert cookie == f"toolablate-{host.partition(':')[2] or 80}={TOKEN}"
        assert get(site, "/questions", let_in=False, Host=host, Cookie=cookie).status == 200
        assert get(site, "/questions", let_in=False, Host=host).status == 403
        for origin, status in ((host, 405), (f"127.0.0.1:{site.port}", 403), ("127.0.0.1:9001", 403)):
            own = {"Host": host, "Cookie": cookie, "Origin": f"http://{origin}"}
            assert get(site, "/questions", method="POST", let_in=False, **own).status == status


def test_a_browser_reads_through_a_tunnel(site: Site, chromium: Browser) -> None:
    with forwarding(site.port) as port, chromium.new_context() as context:
        page = context.new_page()
        page.goto(f"http://localhost:{port}/")
        expect(page.get_by_role("heading", level=1)).to_have_text("Open the address that toolablate printed")
        page.goto(f"http://localhost:{port}/questions?token={TOKEN}")
        assert page.url == f"http://localhost:{port}/questions"
        expect(page.get_by_role("heading", level=1)).to_contain_text("Questions")
        page.goto(f"http://localhost:{port}/")
        expect(page.locator("table.results")).to_be_visible()


@pytest.mark.parametrize(
    "origin",
    ["", "null", "http://evil.example", "https://127.0.0.1:{port}", "http://127.0.0.1:1", "http://localhost:{port}"],
)
def test_a_form_of_another_site_is_refused(site: Site, origin: str) -> None:
    sent = {"Origin": origin.format(port=site.port)} if origin else {}
    for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS"):
        reply = get(site, "/questions", method=method, **sent)
        assert reply.status == 403
        assert "access-control-allow-origin" not in reply.headers


def test_a_form_of_its_own_gets_as_far_as_the_page(site: Site) -> None:
    for name in ("127.0.0.1", "localhost"):
        host = f"{name}:{site.port}"
        assert get(site, "/questions", method="POST", Host=host, Origin=f"http://{host}").status == 405


def test_a_browser_says_where_its_own_forms_come_from(site: Site, browse: Browse, complaints: list[str]) -> None:
    """Under some referrer policies it says "null", and every form would be refused."""
    page = browse(site)
    page.evaluate("""() => {
        const form = document.createElement("form");
        form.method = "post";
        form.action = "/questions";
        document.body.append(form);
        form.submit();
    }""")
    page.wait_for_url("**/questions")
    assert page.get_by_role("heading", level=1).inner_text() == "Method Not Allowed"
    complaints.clear()


@pytest.mark.parametrize(
    "path",
    [
        "/static/../viewer/access.py",
        "/static/..%2Faccess.py",
        "/static/%2e%2e/access.py",
        "/static/%2e%2e%2faccess.py",
        "/static//etc/passwd",
        "/static/%2Fetc/passwd",
        "/static/..\\access.py",
        "/static/style.css%00",
        "/static/" + "a" * 5_000,
        "/static/",
        "/static",
    ],
)
def test_files_are_those_of_the_pages_alone(site: Site, path: str) -> None:
    reply = raw(site, f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{site.port}\r\nCookie: {site.cookie}\r\n\r\n".encode())
    assert reply.status in (307, 404)
    assert b"root:" not in reply.body
    assert b"class Access" not in reply.body


def test_headers_and_addresses_may_be_long_but_not_endless(site: Site) -> None:
    assert get(site, "/questions?text=" + "a" * 40_000).status == 414
    assert get(site, "/questions?text=" + "a" * 2_000_000).status in (0, 400, 414)
    assert get(site, "/", let_in=False, Cookie="a=" + "b" * 60_000).status in (400, 403, 431)
    assert get(site, "/").status == 200


def test_bytes_that_are_no_text_are_no_bug(site: Site) -> None:
    head = f" HTTP/1.1\r\nHost: 127.0.0.1:{site.port}\r\nCookie: {site.cookie}\r\n\r\n".encode()
    for path in (
        b"/?\xff\xfe",
        b"/\xff",
        b"/%ff%fe",
        b"/questions?text=%ff%00%f0",
        b"/questions?token=%ff",
        b"/question/%ff",
    ):
        assert raw(site, b"GET " + path + head).status in (200, 400, 404), path
    cookie = b"GET / HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nCookie: toolablate-%d=\xff\xfe\r\n\r\n" % (site.port, site.port)
    assert raw(site, cookie).status == 403


@pytest.mark.parametrize("path", ["/", "/questions", "/live", "/static/app.js", "/nowhere", "/questions?page=0"])
def test_head_says_what_get_says_without_a_body(site: Site, path: str) -> None:
    got, headed = get(site, path), get(site, path, method="HEAD")
    assert headed.status == got.status
    assert headed.body == b""
    assert headed.headers["content-type"] == got.headers["content-type"]


@pytest.mark.parametrize("path", ["/", "/questions", "/nowhere", "/live", "/static/style.css"])
def test_every_answer_forbids_what_pages_do_not_need(site: Site, path: str) -> None:
    for reply in (get(site, path), get(site, path, let_in=False)):
        policy = reply.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self';" in policy
        assert "frame-ancestors 'none'" in policy
        assert "http" not in policy
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert reply.headers["cache-control"] == "no-store"
        assert reply.headers["cross-origin-resource-policy"] == "same-origin"


def test_a_socket_is_not_opened(site: Site) -> None:
    wanted = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
    request = f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{site.port}\r\nCookie: {site.cookie}\r\n{wanted}\r\n"
    assert raw(site, request.encode()).status != 101


def test_what_browsers_ask_for_beside_a_plain_text_is_there(site: Site, browse: Browse) -> None:
    page = browse(site, "/")
    answer = page.request.get(f"{site.base}/favicon.ico")
    assert (answer.status, answer.headers["content-type"]) == (200, "image/svg+xml")
