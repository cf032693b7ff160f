"""Which addresses and URLs may be fetched."""

import asyncio
import socket

import pytest

from toolablate.tools.browser.addresses import is_public
from toolablate.tools.browser.page import PageUnreadableError
from toolablate.tools.browser.policy import FetchPolicy, check, parse_url


@pytest.mark.parametrize(
    "address",
    ["8.8.8.8", "1.1.1.1", "172.15.255.255", "100.128.0.1", "2606:4700::1111", "64:ff9b::808:808", "::ffff:8.8.8.8"],
)
def test_public_addresses(address: str) -> None:
    assert is_public(address)


NOT_PUBLIC = """
0.0.0.0 10.1.2.3 100.64.0.1 100.127.255.255 127.0.0.1 127.255.255.255 169.254.169.254 172.16.0.1 172.31.255.255
192.0.0.9 192.0.0.170 192.0.2.1 192.88.99.1 192.168.1.1 198.18.0.1 198.19.255.255 198.51.100.1 203.0.113.1
224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255
:: ::1 ::127.0.0.1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:0:127.0.0.1 64:ff9b::7f00:1 64:ff9b::a9fe:a9fe
64:ff9b:1::808:808 100::1 2001::1 2001:2::1 2001:20::1 2001:db8::1 2002:7f00:1:: 2002:808:808:: 3fff::1 5f00::1
fc00::1 fd12:3456::1 fe80::1 fe80::1%eth0 fec0::1 ff02::1 ff0e::1 4000::1 2606:4700::1111%eth0
localhost 8.8.8 8.8.8.8.8 0x7f.0.0.1 -1
"""


@pytest.mark.parametrize("address", [*NOT_PUBLIC.split(), "", " 8.8.8.8"])
def test_addresses_that_are_not_of_the_open_internet(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("ftp://example.org/", "bad_url"),
        ("file:///etc/passwd", "bad_url"),
        ("javascript:alert(1)", "bad_url"),
        ("//example.org/", "bad_url"),
        ("example.org", "bad_url"),
        ("", "bad_url"),
        ("http://", "bad_url"),
        ("http:///path", "bad_url"),
        ("http://[::1", "bad_url"),
        ("http://[", "bad_url"),
        ("http://a b.org/", "bad_url"),
        ("http://%31%32%37.0.0.1/", "bad_url"),
        ("http://ho%00st.org/", "bad_url"),
        ("http://[fe80::1%25eth0]/", "bad_url"),
        ("http://[8.8.8.8]/", "bad_url"),
        ("http://8.8.8.8\n/", "bad_url"),
        ("http://8.8.8.8/" + "a" * 3_000, "bad_url"),
        ("http://①②⑦.0.0.1/", "bad_url"),
        ("http://me@8.8.8.8/", "blocked"),
        ("http://me:secret@8.8.8.8/", "blocked"),
        ("http://8.8.8.8\\@127.0.0.1/", "blocked"),
        ("http://8.8.8.8:22/", "blocked"),
        ("http://8.8.8.8:0/", "blocked"),
        ("http://8.8.8.8:99999/", "blocked"),
        ("http://localhost/", "blocked"),
        ("http://127.0.0.1/", "blocked"),
        ("http://127.1/", "blocked"),
        ("http://0x7f.1/", "blocked"),
        ("http://2130706433/", "blocked"),
        ("http://017700000001/", "blocked"),
        ("http://0/", "blocked"),
        ("http://169.254.169.254/latest/meta-data/", "blocked"),
        ("http://[::1]/", "blocked"),
        ("http://[::ffff:127.0.0.1]/", "blocked"),
        ("http://[64:ff9b::7f00:1]/", "blocked"),
        ("https://[fec0::1]/", "blocked"),
    ],
)
async def test_urls_that_are_not_fetched(url: str, code: str) -> None:
    with pytest.raises(PageUnreadableError) as refused:
        await check(parse_url(url), FetchPolicy())
    assert refused.value.code == code
    assert len(refused.value.message) < 500


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("http://8.8.8.8/", "8.8.8.8"),
        ("HTTPS://8.8.8.8:8443/a b?ü#c", "8.8.8.8"),
        ("http://8.8.8.8#@127.0.0.1/", "8.8.8.8"),
        ("http://[2606:4700::1111]:80/", "2606:4700::1111"),
    ],
)
async def test_urls_that_pass_carry_the_address_that_was_checked(url: str, address: str) -> None:
    assert (await check(parse_url(url), FetchPolicy())).addresses == (address,)


async def test_one_private_address_among_public_ones_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    async def resolve(host: str, port: int, **_: object) -> list[object]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (ip, port)) for ip in ("8.8.8.8", "10.0.0.1")]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", resolve)
    with pytest.raises(PageUnreadableError) as refused:
        await check(parse_url("http://rebinding.example/"), FetchPolicy())
    assert refused.value.code == "blocked"


async def test_the_allow_list_is_for_one_host_and_port() -> None:
    policy = FetchPolicy(allow=frozenset({"127.0.0.1:9999"}))
    assert (await check(parse_url("http://127.0.0.1:9999/"), policy)).addresses == ("127.0.0.1",)
    for url in ("http://127.0.0.1/", "http://127.0.0.2:9999/", "http://localhost:9999/"):
        with pytest.raises(PageUnreadableError):
            await check(parse_url(url), policy)
